"""The accuracy of `auto` from no pairs to whole dictionaries, as `fipp align` fits it, for several draws.

A draw puts the pairs of the 1K dictionary in random order and takes the first of them, so that each size contains the
smaller ones. Beside few pairs, `fipp align` looks for words spelled alike, and so does this benchmark. The scores
without pairs and from the whole dictionaries are those of `unsupervised` and `auto`.
"""

from __future__ import annotations

import warnings
from functools import cache
from statistics import fmean

import _data
import auto
import numpy as np
import unsupervised
from _benchmark import Benchmark
from _figures import Figure, new_figure, save
from _tables import both, count, short, table

from fipp import FippError, FippWarning
from fipp._inputs import words_spelled_alike

SIZES = (5, 10, 25, 50, 100, 200, 500)
WHOLE = {1000: "1k", 5000: "5k"}
CURVE = (0, *SIZES, *WHOLE)
DRAWS = {"en-fr": 3, "en-ru": 3}
"""Draws for each pair of languages."""


@cache
def spelled_alike(pair):
    source, target = _data.sides(pair)
    return words_spelled_alike(source, target).lookup(source, target).rows


def measure(pair, pairs, draw):
    rows = _data.seed_rows(pair, "1k")
    rows = rows[np.random.default_rng(draw).permutation(len(rows))[:pairs]]
    few = len(np.unique(rows[:, 0])) < auto.AUTO.guesses_below
    more = {"guesses": spelled_alike(pair)} if few else {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FippWarning)
        try:
            alignment, seconds = _data.fitted(auto.AUTO, pair, rows, **more)
        except FippError as refused:
            return {"refused": str(refused)}
    return {
        **_data.maps(alignment, pair),
        **seconds,
        "warnings": [str(each.message) for each in caught],
        "chosen": alignment.aligner.chosen_,
    }


PLAN = [
    {"pair": pair, "pairs": pairs, "draw": draw}
    for pair, draws in DRAWS.items()
    for draw in range(draws)
    for pairs in SIZES
]
benchmark = Benchmark("few", PLAN, measure, minutes=25, obstacle=_data.obstacle)


def scores(pair, pairs):
    """Return the scores of each draw, or those without pairs or from a whole dictionary."""
    if pairs in WHOLE:
        record = auto.benchmark.one(pair=pair, size=WHOLE[pairs])
        return [{way: record[way][0] for way in _data.WAYS}]
    if not pairs:
        return unsupervised.benchmark.find(pair=pair, guesses="found")
    return benchmark.find(pair=pair, pairs=pairs)


def mean(pair, pairs):
    """Return the mean over the draws by each measure."""
    return {way: fmean(each[way] for each in scores(pair, pairs)) for way in _data.WAYS}


def draws_table():
    """Return the mean and the range over the draws for each number of pairs."""
    rows = []
    for pair in DRAWS:
        for pairs in CURVE:
            records = scores(pair, pairs)
            low, high = ({way: of(each[way] for each in records) for way in _data.WAYS} for of in (min, max))
            warned = sum(bool(each["warnings"]) for each in records) if pairs in SIZES else "not recorded"
            shown = [count(pairs), len(records), both(mean(pair, pairs)), both(low), both(high), warned]
            rows.append([_data.arrow(pair), *shown])
    return table(["vectors", "pairs", "draws", "mean", "lowest", "highest", "draws with a warning"], rows)


def largest_fall(pair, way):
    """Return how far a mean is at most below the best one of fewer pairs, and both numbers of pairs."""
    means = {pairs: mean(pair, pairs)[way] for pairs in CURVE}
    best = {pairs: max((fewer for fewer in means if fewer <= pairs), key=means.get) for pairs in means}
    return max((means[fewer] - means[pairs], fewer, pairs) for pairs, fewer in best.items())


def falls_table():
    """Return the largest fall below the best mean of fewer pairs, for each pair of languages and each measure."""
    rows = []
    for pair in DRAWS:
        for way in _data.WAYS:
            fall, fewer, pairs = largest_fall(pair, way)
            where = f"from {count(fewer)} to {count(pairs)} pairs" if fall else "nowhere"
            rows.append([_data.arrow(pair), way, short(round(fall, 6)), where])
    return table(["vectors", "by", "largest fall", "where"], rows)


def panels():
    """Return the points of the draws and their means by each measure, for each pair of languages."""
    lines = {
        pair: {
            way: [[pairs, mean(pair, pairs)[way], [each[way] for each in scores(pair, pairs)]] for pairs in CURVE]
            for way in _data.WAYS
        }
        for pair in DRAWS
        if benchmark.find(pair=pair)
    }
    return lines or None


def draw(panels, path):
    """Draw a panel for each pair of languages: lines through the means, and a dot for each draw."""
    figure = new_figure(3.4 * len(panels) + 0.6, 3.2)
    for axes, (pair, lines) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        for place, (way, points) in enumerate(lines.items()):
            axes.plot([CURVE.index(pairs) for pairs, _, _ in points], [y for _, y, _ in points], color=f"C{place}")
            dots = [(CURVE.index(pairs), y) for pairs, _, draws in points for y in draws]
            axes.scatter(*zip(*dots, strict=True), color=f"C{place}", s=9, label={"csls": "CSLS"}.get(way, way))
        axes.set_xticks(range(len(CURVE)), [f"{pairs // 1000}K" if pairs in WHOLE else pairs for pairs in CURVE])
        axes.set(title=_data.named(pair), xlabel="known pairs")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    figure.axes[0].set_ylabel("mean average precision")
    save(figure, path)


FIGURES = [Figure("few.svg", panels, draw)]

if __name__ == "__main__":
    benchmark.main()
