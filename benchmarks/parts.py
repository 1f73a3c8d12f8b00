"""The gain of each part of `auto` on real vectors: scores on test pairs, each part with its defaults."""

from __future__ import annotations

import _data
from _benchmark import Benchmark
from _figures import Figure, new_figure, save
from _tables import both, pivot

from fipp import FIPP, Local, Procrustes, Ranking, SelfLearning, Spectral
from fipp.preprocess import Isotropic

COLUMNS = _data.columns(("en-fr",)) | _data.columns(("en-ru",), ("1k",))
PARTS = {
    "Procrustes": Procrustes(),
    "FIPP": FIPP(),
    "half-whitened": Spectral(0.5, 0.25, whiten=0.5, preprocess=Isotropic(2)),
    "spectral, not centred": Spectral(preprocess="unit"),
    "spectral, target fixed": Spectral(target="fixed"),
    "spectral": Spectral(),
    "spectral + local": Local(Spectral()),
    "spectral + ranking": Ranking(Spectral()),
    "spectral + self-learning, all found pairs alike": SelfLearning(Spectral(), learned_weight=0.3, weighting=None),
    "spectral + self-learning": SelfLearning(Spectral(), learned_weight=0.3),
    "spectral + self-learning + local": Local(SelfLearning(Spectral(), learned_weight=0.3)),
    "spectral + self-learning + 6 steps of ranking": SelfLearning(Spectral(), learned_weight=0.3, ranking_steps=6),
}


def measure(pair, size, part):
    alignment, seconds = _data.fitted(PARTS[part], pair, _data.seed_rows(pair, size))
    return {**_data.maps_with_intervals(alignment, pair), **seconds}


PLAN = [{**fields, "part": part} for fields in COLUMNS.values() for part in PARTS]
benchmark = Benchmark("parts", PLAN, measure, minutes=20, obstacle=_data.obstacle)


def scores_table():
    """Return scores by cosine / by CSLS."""

    def cell(part, column):
        return both(benchmark.get(**column, part=part))

    return pivot("part", {part: part for part in PARTS}, COLUMNS, cell)


def panels():
    """Return the scores with their intervals, panel by panel."""
    found = {
        column: {record["part"]: {way: record[way] for way in _data.WAYS} for record in benchmark.find(**fields)}
        for column, fields in COLUMNS.items()
    }
    return {column: parts for column, parts in found.items() if parts} or None


def draw(panels, path):
    names = [part for part in PARTS if any(part in parts for parts in panels.values())]
    figure = new_figure(1.9 * len(panels) + 3.2, 4.2)
    grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (title, parts) in zip(grid, panels.items(), strict=True):
        for way, colour, shift in (("cosine", "C0", -0.15), ("csls", "C1", 0.15)):
            places = [place + shift for place, name in enumerate(names) if name in parts]
            scores = [parts[name][way] for name in names if name in parts]
            axes.plot([score[0] for score in scores], places, "o", color=colour, markersize=4, label=way)
            for place, (_, *ends) in zip(places, scores, strict=True):
                if ends:
                    axes.plot(ends, [place, place], color=colour, linewidth=1)
        axes.set_title(title, fontsize=10)
        axes.grid(axis="x", alpha=0.3)
    grid[0].set_yticks(range(len(names)), names)
    grid[0].invert_yaxis()
    grid[0].legend(fontsize=8)
    figure.supxlabel("mean average precision, test pairs", fontsize=10)
    save(figure, path)


FIGURES = [Figure("parts.svg", panels, draw)]

if __name__ == "__main__":
    benchmark.main()
