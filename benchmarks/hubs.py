"""How much each correction for hubs helps on real vectors, as a Markdown table.

    python benchmarks/hubs.py [--pairs en-fr en-fi] [--sizes 1k 5k]

Reads the vectors and XLING dictionaries of ../shared/data. The map is Procrustes after isotropic preprocessing. β of
the inverted softmax is chosen for each column by the mean reciprocal rank of a fifth of the training dictionary, held
out from a first map; then the map is fitted to all of it and the test dictionary ranked. Nothing is chosen on the test
dictionary.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
from accuracy import DATA, PAIRS, dictionary, load

from fipp import Alignment, FippWarning, Procrustes
from fipp.linalg import ordered_map, row_blocks

BETAS = (10, 15, 20, 30, 45)


def unit(matrix):
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True).clip(1e-9)).astype(np.float32)


def log_means(keys, bank):
    """Give log(mean of exp(β cos)) / β for every β and key at once; float32 will do to choose."""

    def work(rows):
        total = np.zeros((len(BETAS), rows.stop - rows.start))
        for part in row_blocks(len(bank), 1024):
            cosine = keys[rows] @ bank[part].T
            total += [np.exp(beta * (cosine - 1)).sum(axis=1, dtype=np.float64) for beta in BETAS]
        return 1 + np.log(total / len(bank)) / np.array(BETAS)[:, None]

    return np.concatenate(list(ordered_map(work, row_blocks(len(keys), 1024))), axis=1)


def reciprocal_rank(cosines, golds, offsets):
    scores = cosines - offsets.astype(np.float32)
    return np.mean(1 / (scores >= scores[np.arange(len(golds)), golds][:, None]).sum(axis=1))


def choose(source, target, pairs):
    """Give β of the inverted softmax over one bank and over two, chosen on pairs held out of these."""
    words = np.unique(pairs[:, 0])
    held = np.isin(pairs[:, 0], np.random.default_rng(0).permutation(words)[: len(words) // 5])
    fitted = Procrustes(preprocess="isotropic").fit(source.matrix, target.matrix, pairs[~held])
    queries, keys = unit(fitted.transform(source.matrix)), unit(fitted.transform_target(target.matrix))
    cosines, golds = queries[pairs[held, 0]] @ keys.T, pairs[held, 1]
    of_queries = log_means(keys, queries)
    of_both = (of_queries + log_means(keys, keys)) / 2
    return {
        way: BETAS[int(np.argmax([reciprocal_rank(cosines, golds, offsets) for offsets in table]))]
        for way, table in (("isf", of_queries), ("dualis", of_both))
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=["en-fr", "en-fi"])
    parser.add_argument("--sizes", nargs="+", choices=["1k", "5k"], default=["1k", "5k"])
    arguments = parser.parse_args()
    if not DATA.exists():
        sys.exit("there is no data in ../shared/data")
    warnings.simplefilter("ignore", FippWarning)
    print("| seed | test words | cosine | csls | isf | β | dualis | β |\n|---" + "|---" * 7 + "|", flush=True)
    for pair in arguments.pairs:
        source, target = load(PAIRS[pair][0]), load(PAIRS[pair][1])
        test = dictionary(pair, "test.2k")
        for size in arguments.sizes:
            pairs = np.asarray(dictionary(pair, f"train.{size}").lookup(source, target).rows)
            betas = choose(source, target, pairs)
            fitted = Procrustes(preprocess="isotropic").fit(source.matrix, target.matrix, pairs)
            alignment = Alignment(fitted, source, target)
            results = {
                way: alignment.evaluate(test, retrieval=way, beta=betas.get(way, 30.0))
                for way in ("cosine", "csls", "isf", "dualis")
            }
            cells = [f"{result.mrr:.4f}" for result in results.values()]
            cells.insert(3, str(betas["isf"]))
            row = [f"{pair} {size}", str(results["cosine"].pairs), *cells, str(betas["dualis"])]
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
