"""The gain of each correction for hubs on real vectors.

The map is Procrustes with isotropic preprocessing. β of the inverted softmax is chosen by the mean reciprocal rank of a
fifth of the training dictionary, held out from a first map; then the map is fitted on the whole dictionary and scored
on the test dictionary. Nothing is chosen on the test dictionary.
"""

from __future__ import annotations

import _data
import numpy as np
from _benchmark import Benchmark
from _tables import count, short, table
from sklearn.base import clone

from fipp import Procrustes
from fipp.linalg import ordered_map, row_blocks

BETAS = (10, 15, 20, 30, 45)
WAYS = ("cosine", "csls", "isf", "dualis")
MAP = Procrustes(preprocess="isotropic")


def unit(matrix):
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True).clip(1e-9)).astype(np.float32)


def log_means(keys, bank):
    """Return log(mean of exp(β cos)) / β for all β and keys at once; float32 is precise enough for choosing."""

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
    """Return β of the inverted softmax over one bank and over two, chosen on held-out pairs."""
    words = np.unique(pairs[:, 0])
    held = np.isin(pairs[:, 0], np.random.default_rng(0).permutation(words)[: len(words) // 5])
    fitted = clone(MAP).fit(source.matrix, target.matrix, pairs[~held])
    queries, keys = unit(fitted.transform(source.matrix)), unit(fitted.transform_target(target.matrix))
    cosines, golds = queries[pairs[held, 0]] @ keys.T, pairs[held, 1]
    of_queries = log_means(keys, queries)
    of_both = (of_queries + log_means(keys, keys)) / 2
    return {
        way: BETAS[int(np.argmax([reciprocal_rank(cosines, golds, offsets) for offsets in table]))]
        for way, table in (("isf", of_queries), ("dualis", of_both))
    }


def measure(pair, size):
    source, target = _data.sides(pair)
    rows = _data.seed_rows(pair, size)
    betas = choose(source, target, rows)
    alignment, _ = _data.fitted(MAP, pair, rows)
    results = {
        way: alignment.evaluate(_data.dictionary(pair, "test.2k"), retrieval=way, beta=betas.get(way, 30.0))
        for way in WAYS
    }
    return {"words": results["cosine"].n_queries, **{way: result.mrr for way, result in results.items()}, "β": betas}


PLAN = [{"pair": pair, "size": size} for pair in _data.VISIBLE for size in _data.SIZES]
benchmark = Benchmark("hubs", PLAN, measure, minutes=30, obstacle=_data.obstacle)


def corrections_table():
    rows = [
        [f"{record['pair']} {record['size'].upper()}", count(record["words"]), *(short(record[way], 4) for way in WAYS)]
        + [record["β"][way] for way in ("isf", "dualis")]
        for record in benchmark.records
    ]
    return table(["seed", "test words", *WAYS, "β of isf", "β of dualis"], rows)


if __name__ == "__main__":
    benchmark.main()
