"""What refinement by ranking is worth on real vectors, from several starts and by both losses, as a Markdown table.

    python benchmarks/ranking.py [--csls] [--pairs en-fr ...] [--sizes 1k 5k]

Reads the vectors and XLING dictionaries of ../shared/data. The number of steps is chosen on held-out pairs of the
training dictionary; the test dictionary is looked at once for each row (mean reciprocal rank over the whole target
vocabulary by cosine, with --csls by CSLS too).
"""

from __future__ import annotations

import argparse
import time
import warnings

from accuracy import PAIRS, dictionary, load
from sklearn.base import clone

from fipp import FIPP, Alignment, FippWarning, Procrustes, Ranking, Spectral

STARTS = {"fipp": FIPP(), "spectral": Spectral(), "procrustes": Procrustes()}
LOSSES = ("contrastive", "rcsls")


def fitted(aligner, pair, size):
    source, target = load(PAIRS[pair][0]), load(PAIRS[pair][1])
    rows = dictionary(pair, f"train.{size}").lookup(source, target).rows
    start = time.process_time()
    alignment = Alignment(clone(aligner).fit(source.matrix, target.matrix, rows), source, target)
    return alignment, time.process_time() - start


def scores(alignment, pair, ways):
    test = dictionary(pair, "test.2k")
    return " / ".join(f"{alignment.evaluate(test, retrieval=way).mrr:.4f}".lstrip("0") for way in ways)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csls", action="store_true", help="score by CSLS as well")
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=["en-fr", "en-ru", "en-fi"])
    parser.add_argument("--sizes", nargs="+", choices=["1k", "5k"], default=["1k", "5k"])
    parser.add_argument("--starts", nargs="+", choices=STARTS, default=list(STARTS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", FippWarning)
    ways = ["cosine", "csls"] if arguments.csls else ["cosine"]

    print("| pairs | start | loss | steps | held-out MRR: start | refined | test MRR: start | refined | seconds |")
    print("|---" * 9 + "|")
    for pair, size in ((pair, size) for pair in arguments.pairs for size in arguments.sizes):
        for start in arguments.starts:
            before = scores(fitted(STARTS[start], pair, size)[0], pair, ways)
            for loss in LOSSES:
                alignment, seconds = fitted(Ranking(STARTS[start], loss=loss), pair, size)
                refined = alignment.aligner
                curve = refined.validation_scores_
                held_out = " | ".join(f"{value:.4f}".lstrip("0") for value in (curve[0], curve[refined.n_steps_]))
                after = scores(alignment, pair, ways)
                row = [f"{pair} {size}", start, loss, refined.n_steps_, held_out, before, after, f"{seconds:.0f}"]
                print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
