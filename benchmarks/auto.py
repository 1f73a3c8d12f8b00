"""How accurate `auto` is on real vectors: what it chose on held-out seed pairs, and what that scores on test pairs.

    python benchmarks/auto.py [--pairs en-fr ...] [--sizes 1k 5k] [--seeds 0]

Reads the vectors and XLING dictionaries of ../shared/data. With --seeds N, as many random pairs of the 1k dictionary
are the seed, drawn ten times for `--draws 10`. Scores are mean average precisions over the whole target vocabulary by
cosine and CSLS, with 95 % bootstrap intervals.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from accuracy import PAIRS, dictionary, load

from fipp import Alignment, Auto, FippWarning


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", nargs="+", default=list(PAIRS), choices=list(PAIRS))
    parser.add_argument("--sizes", nargs="+", default=["1k", "5k"])
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--draws", type=int, default=1)
    given = parser.parse_args()
    warnings.simplefilter("always", FippWarning)
    print("| pair | seed | pairs | MAP cosine | MAP CSLS | seconds | processor seconds | chosen |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for pair in given.pairs:
        for size in given.sizes:
            for draw in range(given.draws):
                print(row(pair, size, given.seeds, draw), flush=True)


def row(pair, size, seeds, draw):
    source, target = load(PAIRS[pair][0]), load(PAIRS[pair][1])
    rows = dictionary(pair, f"train.{size}").lookup(source, target).rows
    if seeds:
        rows = rows[np.random.default_rng(draw).permutation(len(rows))[:seeds]]
    wall, processor = time.perf_counter(), time.process_time()
    aligner = Auto().fit(source.matrix, target.matrix, rows)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    alignment, test = Alignment(aligner, source, target), dictionary(pair, "test.2k")
    results = [alignment.evaluate(test, retrieval=way) for way in ("cosine", "csls")]
    scores = []
    for result in results:
        low, high = result.interval("map")
        scores.append(f"{result.map:.4f} ({low:.3f}–{high:.3f})")
    name = f"{size}, draw {draw}" if seeds else size
    return (
        f"| {pair} | {name} | {len(rows):,} | {' | '.join(scores)} | {wall:.0f} | {processor:.0f} | {aligner.chosen_} |"
    )


if __name__ == "__main__":
    main()
