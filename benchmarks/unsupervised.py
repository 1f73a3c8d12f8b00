"""How accurate alignment without known pairs is on real vectors, start by start, as a Markdown table.

    python benchmarks/unsupervised.py [--pairs en-fr ...] [--starts auto spelling similarities] [--shuffled]

Reads the vectors of ../shared/data, and the XLING test dictionaries to score what was found; nothing is learned from
them. With --shuffled, the words spelled alike are paired with each other at random, which must be refused.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time

import numpy as np
from accuracy import DATA, PAIRS, dictionary, load

from fipp import Alignment, FippError, Unsupervised
from fipp._inputs import words_spelled_alike

STARTS = ["auto", "spelling", "similarities", "gromov-wasserstein"]
COLUMNS = ["vectors", "start", "words spelled alike", "consistency", "from random pairs", "cosine", "CSLS", "seconds"]


def measure(pair, start, shuffled):
    """Give a row of the table."""
    source, target = load(PAIRS[pair][0]), load(PAIRS[pair][1])
    began = time.process_time()
    guesses = words_spelled_alike(source, target).lookup(source, target).rows
    if shuffled:
        guesses = np.stack([guesses[:, 0], np.random.default_rng(0).permutation(guesses[:, 1])], axis=1)
    try:
        aligner = Unsupervised(start=start).fit(source.matrix, target.matrix, guesses=guesses)
    except FippError as refused:
        figures = re.findall(r"(\d\.\d\d) from", str(refused))
        seconds = f"{time.process_time() - began:.0f}"
        return [start, f"{len(guesses):,}", ", ".join(figures[:-1]), figures[-1], "refused", "refused", seconds]
    seconds = f"{time.process_time() - began:.0f}"
    alignment = Alignment(aligner, source, target)
    scores = [alignment.evaluate(dictionary(pair, "test.2k"), retrieval=way).map for way in ("cosine", "csls")]
    tried = ", ".join(f"{each['start']} {each['consistency']:.3f}" for each in json.loads(aligner.starts_))
    chance, name = f"{aligner.chance_consistency_:.3f}", start if start != "auto" else f"auto: {aligner.start_}"
    return [name, f"{aligner.n_guesses_:,}", tried, chance, *(f"{score:.4f}" for score in scores), seconds]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=list(PAIRS))
    parser.add_argument("--starts", nargs="+", choices=STARTS, default=["auto"])
    parser.add_argument("--shuffled", action="store_true", help="pair words spelled alike at random")
    arguments = parser.parse_args()
    if not DATA.exists():
        sys.exit("there is no data in ../shared/data")
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" * len(COLUMNS) + "|")
    for pair in arguments.pairs:
        for start in arguments.starts:
            print(f"| {pair} | " + " | ".join(measure(pair, start, arguments.shuffled)) + " |", flush=True)


if __name__ == "__main__":
    main()
