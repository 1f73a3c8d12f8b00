"""The growth of time and memory with the numbers of pairs, words and dimensions, with fitted exponents.

Each work is measured in its own process, in processor seconds, beside the least that it could take: for a fit its
matrix products alone, for searches and `auto` one product of the two vocabularies, for loading the reading of the
bytes. The vectors are random, with a spectrum like that of word vectors. Exponents are slopes of straight lines through
the logarithms: 1 means twice the time for twice the size, 2 four times.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import fit
import numpy as np
from _benchmark import Benchmark, in_new_process
from _figures import Figure, new_figure, save
from _tables import count, table

import retrieve
from fipp import FIPP, Auto, Vectors
from fipp.experiments import PeakMemory

USUAL = {
    "fit": {"pairs": 4_000, "words": 16_000, "dimensions": 300},
    "cosine": {"words": 10_000, "dimensions": 300},
    "CSLS": {"words": 10_000, "dimensions": 300},
    "auto": {"pairs": 1_000, "words": 4_000, "dimensions": 300},
    "loading": {"words": 20_000, "dimensions": 300},
}
"""The sizes of each work while another one grows; words are those of each side."""
GROWING = {
    "fit": {"pairs": (1_000, 2_000, 4_000, 8_000, 16_000), "words": (8_000, 16_000, 32_000, 64_000)},
    "cosine": {"words": (5_000, 10_000, 20_000, 40_000)},
    "CSLS": {"words": (5_000, 10_000, 20_000, 40_000)},
    "auto": {"pairs": (500, 1_000, 2_000), "words": (2_000, 4_000, 8_000)},
    "loading": {"words": (10_000, 20_000, 40_000, 80_000)},
}
DIMENSIONS = (75, 150, 300, 600)
FLOORS = {
    "fit": "its products alone",
    "cosine": "one product of the vocabularies",
    "CSLS": "one product of the vocabularies",
    "auto": "one product of the vocabularies",
    "loading": "reading the bytes",
}
SHORT = 2.0
"""Work that takes fewer processor seconds is done three times, and the fastest time counts."""


def prepared(work, sizes, folder):
    """Return two functions without arguments: the work, and its floor."""
    X, Y, pairs = fit.synthetic(sizes["words"], sizes["dimensions"])
    if work == "loading":
        path = Path(folder, "vectors.vec")
        Vectors([f"word{row}" for row in range(len(X))], 0.1 * X).save(path)
        del X, Y
        return lambda: Vectors.load(path, cache=False), path.read_bytes
    if work in ("fit", "auto"):
        pairs = np.random.default_rng(1).permutation(pairs)[: sizes["pairs"]]
        aligner = FIPP() if work == "fit" else Auto()
        floor = fit.products(X, Y, pairs) if work == "fit" else lambda: retrieve.product(X, Y)
        return lambda: aligner.fit(X, Y, pairs), floor
    return lambda: retrieve.ours(X, Y, work.lower()), lambda: retrieve.product(X, Y)


def measure(work, against, size):
    return in_new_process(_measure_here, work, {**USUAL[work], against: size})


def _measure_here(work, sizes):
    with tempfile.TemporaryDirectory() as folder:
        small = {name: min(size, 1_000) for name, size in sizes.items()}
        for run in prepared("CSLS" if work == "auto" else work, small, folder):
            run()  # imports, compiled loops
        run, floor = prepared(work, sizes, folder)
        peak = PeakMemory()
        seconds = processor_seconds(run)
        memory = peak.growth()
        if seconds < SHORT:
            seconds = min(seconds, *(processor_seconds(run) for _ in range(2)))
        return {"processor": seconds, "floor": min(processor_seconds(floor) for _ in range(2)), "memory": memory}


def processor_seconds(run):
    start = time.process_time()
    run()
    return time.process_time() - start


PLAN = [
    {"work": work, "against": against, "size": size}
    for work, ranges in GROWING.items()
    for against, sizes in {**ranges, "dimensions": DIMENSIONS}.items()
    for size in sizes
]
benchmark = Benchmark("growth", PLAN, measure, minutes=10)


def series():
    """Return the records of each work and growing size, which are in the order of the sizes."""
    pairs = dict.fromkeys((key["work"], key["against"]) for key in PLAN)
    return {(work, against): benchmark.find(work=work, against=against) for work, against in pairs}


def exponent(records, name):
    """Return the slope of the straight line through the logarithms of the sizes and of one measurement."""
    sizes, values = ([record[field] for record in records] for field in ("size", name))
    return np.polyfit(np.log(sizes), np.log(values), 1)[0] if min(values) > 0 else None


def growth_table(against):
    """Return, for every work, how it grows with one size."""
    rows = []
    for (work, name), records in series().items():
        if name == against:
            first, last = records[0], records[-1]
            others = (f"{count(size)} {other}" for other, size in USUAL[work].items() if other != against)
            rows.append(
                [
                    f"{work} ({', '.join(others)})",
                    f"{count(first['size'])}–{count(last['size'])}",
                    f"{first['processor']:.2g}–{last['processor']:.2g}",
                    _shown(exponent(records, "processor")),
                    _shown(exponent(records, "floor")),
                    f"{first['processor'] / first['floor']:.1f}–{last['processor'] / last['floor']:.1f}",
                    f"{first['memory'] / 1e6:.0f}–{last['memory'] / 1e6:.0f}",
                    _shown(exponent(records, "memory")),
                ]
            )
    header = ["", against, "processor seconds", "exponent", "exponent of the floor", "time in floors"]
    return table([*header, "peak MB beyond the vectors", "exponent of memory"], rows)


def _shown(value):
    return "–" if value is None else f"{round(value, 1) + 0.0:.1f}"  # no minus before zero


def lines():
    """Return the points of each line: size, processor seconds, floor and megabytes."""
    points = {
        against: {
            work: [[record["size"], record["processor"], record["floor"], record["memory"] / 1e6] for record in records]
            for (work, name), records in series().items()
            if name == against and records
        }
        for against in ("pairs", "words", "dimensions")
    }
    return points if all(points.values()) else None


def draw(panels, path):
    """Draw seconds, with the floors dashed, and below them memory, against each size."""
    figure = new_figure(10, 6)
    axes = figure.subplots(2, len(panels), sharex="col", sharey="row")
    colours = {work: f"C{place}" for place, work in enumerate(panels["words"] | panels["pairs"])}
    for column, (against, works) in enumerate(panels.items()):
        time_axes, memory_axes = axes[:, column]
        for work, points in works.items():
            sizes, seconds, floor, memory = zip(*points, strict=True)
            colour = colours[work]
            time_axes.plot(sizes, seconds, color=colour, marker=".", label=work)
            time_axes.plot(sizes, floor, color=colour, linestyle="--", linewidth=1)
            memory_axes.plot(sizes, memory, color=colour, marker=".")
        ticks = sorted({point[0] for points in works.values() for point in points})[::3]
        memory_axes.set(xlabel=against, xscale="log", yscale="log")
        memory_axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks], minor=False)
        memory_axes.minorticks_off()
        time_axes.set(title=f"growing {against}", yscale="log")
        for each in (time_axes, memory_axes):
            each.grid(alpha=0.3)
    axes[0, 0].set_ylabel("processor seconds (dashed: the floor)")
    axes[1, 0].set_ylabel("peak MB beyond the vectors")
    axes[0, 1].legend(fontsize=8)
    save(figure, path)


FIGURES = [Figure("growth.svg", lines, draw)]

if __name__ == "__main__":
    benchmark.main()
