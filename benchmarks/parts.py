"""What each part of `auto` is worth on real vectors: scores on test pairs, part by part, as a table and a figure.

    python benchmarks/parts.py [--pairs en-fr ...] [--sizes 1k 5k] [--keep parts.jsonl] [--figure parts.svg]

Reads the vectors and XLING dictionaries of ../shared/data. Every part has its default settings; nothing is chosen here.
Scores are mean average precisions over the whole target vocabulary by cosine and CSLS, with 95 % bootstrap intervals.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

from accuracy import PAIRS, dictionary, load

from fipp import FIPP, Alignment, FippWarning, Local, Procrustes, Ranking, SelfLearning, Spectral
from fipp.preprocess import Isotropic

PARTS = {
    "Procrustes": Procrustes(),
    "FIPP": FIPP(),
    "FIPP, then spectral": Spectral(base=FIPP()),
    "half-whitened": Spectral(0.5, 0.25, whiten=0.5, preprocess=Isotropic(2)),
    "spectral, not centred": Spectral(preprocess="unit"),
    "spectral, target fixed": Spectral(target="fixed"),
    "spectral": Spectral(),
    "spectral + local": Local(Spectral()),
    "spectral + ranking": Ranking(Spectral()),
    "spectral + self-learning, all found pairs alike": SelfLearning(Spectral(), learned_weight=0.3, weighting=None),
    "spectral + self-learning, filter's weights": SelfLearning(Spectral(), learned_weight=0.3, weighting="filter"),
    "spectral + self-learning": SelfLearning(Spectral(), learned_weight=0.3),
    "spectral + self-learning + local": Local(SelfLearning(Spectral(), learned_weight=0.3)),
    "spectral + self-learning + 6 steps of ranking": SelfLearning(Spectral(), learned_weight=0.3, ranking_steps=6),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", nargs="+", default=["en-fr", "en-ru", "en-fi"], choices=list(PAIRS))
    parser.add_argument("--sizes", nargs="+", default=["1k", "5k"])
    parser.add_argument("--keep", type=Path, help="keep results here; what it holds is not measured again")
    parser.add_argument("--figure", type=Path, help="draw the scores by CSLS here")
    given = parser.parse_args()
    warnings.simplefilter("ignore", FippWarning)
    kept = {}
    if given.keep and given.keep.exists():
        kept = {tuple(row["key"]): row for row in map(json.loads, given.keep.read_text().splitlines())}
    for pair in given.pairs:
        for size in given.sizes:
            for name in PARTS:
                if (pair, size, name) not in kept:
                    kept[pair, size, name] = measure(pair, size, name)
                    if given.keep:
                        with given.keep.open("a") as file:
                            file.write(json.dumps(kept[pair, size, name]) + "\n")
    columns = [(pair, size) for pair in given.pairs for size in given.sizes]
    print(table(kept, columns))
    if given.figure:
        draw(kept, columns, given.figure)


def measure(pair, size, name):
    source, target = load(PAIRS[pair][0]), load(PAIRS[pair][1])
    rows = dictionary(pair, f"train.{size}").lookup(source, target).rows
    started = time.process_time()
    alignment = Alignment(PARTS[name].fit(source.matrix, target.matrix, rows), source, target)
    row = {"key": [pair, size, name], "seconds": time.process_time() - started}
    for way in ("cosine", "csls"):
        result = alignment.evaluate(dictionary(pair, "test.2k"), retrieval=way)
        row[way] = [result.map, *result.interval("map")]
    return row


def table(kept, columns):
    lines = [f"| part | {' | '.join(f'{pair} {size}' for pair, size in columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name in PARTS:
        cells = []
        for column in columns:
            row = kept[(*column, name)]
            cells.append(" / ".join(f"{row[way][0]:.3f}".lstrip("0") for way in ("cosine", "csls")))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(kept, columns, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(columns), figsize=(2.2 * len(columns) + 2.5, 4), sharey=True, layout="constrained"
    )
    names = list(PARTS)
    for axis, column in zip(axes, columns, strict=True):
        for way, colour, shift in (("cosine", "tab:blue", -0.15), ("csls", "tab:orange", 0.15)):
            scores = [kept[(*column, name)][way] for name in names]
            middle, low, high = zip(*scores, strict=True)
            errors = [
                [m - b for m, b in zip(middle, low, strict=True)],
                [t - m for m, t in zip(middle, high, strict=True)],
            ]
            places = [place + shift for place in range(len(names))]
            axis.errorbar(middle, places, xerr=errors, fmt="o", ms=4, lw=1, color=colour, label=way)
        axis.set_title(f"{column[0]}, {column[1].upper()}", fontsize=10)
        axis.grid(axis="x", alpha=0.3)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    axes[0].legend(fontsize=8)
    figure.supxlabel("mean average precision, test pairs", fontsize=10)
    figure.savefig(path)


if __name__ == "__main__":
    main()
