"""FIPP by number of pairs: mean average precision by cosine, learned from the first c pairs of the 5K dictionary."""

from __future__ import annotations

import _data
from _benchmark import Benchmark
from _figures import Figure, new_figure, save
from _tables import count, pivot, short

from fipp import FIPP, Procrustes

PAIRS = ("en-fr", "en-ru", "ru-en", "fi-fr")
COUNTS = (50, 100, 150, 200, 280, 300, 330, 400, 600, 987, 2000, 4513)
SETTINGS = {
    "Procrustes, isotropic": Procrustes(preprocess="isotropic"),
    "FIPP": FIPP(),
    "FIPP as published": FIPP.published(),
}


def measure(pair, pairs, setting):
    rows = _data.seed_rows(pair, "5k")[:pairs]
    alignment, _ = _data.fitted(SETTINGS[setting], pair, rows)
    return {"used": len(rows), "cosine": alignment.evaluate(_data.dictionary(pair, "test.2k")).map}


PLAN = [
    {"pair": pair, "pairs": pairs, "setting": setting} for pair in PAIRS for pairs in COUNTS for setting in SETTINGS
]
benchmark = Benchmark("curve", PLAN, measure, minutes=10, obstacle=_data.obstacle)


def scores_table():
    """Return the scores of every language pair; the last column uses all pairs if there are fewer."""

    def cell(row, pairs):
        record = benchmark.get(**row, pairs=pairs)
        return record and short(record["cosine"])

    rows = {f"{pair}, {setting}": {"pair": pair, "setting": setting} for pair in PAIRS for setting in SETTINGS}
    *counts, last = map(count, COUNTS)
    return pivot("pairs", rows, dict(zip([*counts, f"{last} or all"], COUNTS, strict=True)), cell)


def panels():
    """Return the points of each line of each panel."""
    lines = {
        pair: {
            setting: [[record["used"], record["cosine"]] for record in benchmark.find(pair=pair, setting=setting)]
            for setting in SETTINGS
        }
        for pair in PAIRS
        if benchmark.find(pair=pair)
    }
    return lines or None


def draw(panels, path):
    """Draw a panel for each pair of languages, its lines labelled where they are farthest apart."""
    figure = new_figure(3.1 * len(panels) + 0.6, 3.2)
    for axes, (pair, lines) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        for place, (setting, points) in enumerate(lines.items()):
            # The first line is broad, so that it shows where another lies upon it.
            width, alpha = (4, 0.4) if place == 0 else (1.4, 1)
            axes.plot(*zip(*points, strict=True), color=f"C{place}", marker=".", linewidth=width, alpha=alpha)
            axes.annotate(
                setting,
                (0.98, 0.04 + 0.075 * (len(lines) - 1 - place)),
                **{"xycoords": "axes fraction", "ha": "right", "color": f"C{place}", "fontsize": 8},
            )
        dimensions = " → ".join(name[-3:] for name in _data.PAIRS[pair][:2])
        axes.set(xscale="log", title=f"{_data.named(pair)} ({dimensions})", xlabel="pairs", ylim=(0, None))
        axes.set_xticks([50, 100, 300, 1000, 4500], ["50", "100", "300", "1,000", "4,500"], minor=False)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("mean average precision")
    save(figure, path)


FIGURES = [Figure("curve.svg", panels, draw)]

if __name__ == "__main__":
    benchmark.main()
