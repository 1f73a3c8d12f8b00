"""The gain of refinement by ranking on real vectors, from several starts.

The number of steps is chosen on held-out pairs of the training dictionary; the test dictionary is used once.
"""

from __future__ import annotations

import _data
from _benchmark import Benchmark
from _tables import both, short, table

from fipp import FIPP, Procrustes, Ranking, Spectral

STARTS = {"fipp": FIPP(), "spectral": Spectral(), "procrustes": Procrustes()}
COLUMNS = {("en-fr", "1k"): 3, ("en-fr", "5k"): 3, ("en-ru", "5k"): 2, ("en-fi", "5k"): 2}
"""The number of starts for each pair and size."""


def measure(pair, size, start):
    rows = _data.seed_rows(pair, size)
    before, _ = _data.fitted(STARTS[start], pair, rows)
    after, seconds = _data.fitted(Ranking(STARTS[start]), pair, rows)
    held_out = after.aligner.holdout_scores_
    return {
        "steps": after.aligner.n_steps_,
        "held out": [held_out[0], held_out[after.aligner.n_steps_]],
        "before": _data.maps(before, pair),
        "after": _data.maps(after, pair),
        **seconds,
    }


PLAN = [
    {"pair": pair, "size": size, "start": start}
    for (pair, size), starts in COLUMNS.items()
    for start in list(STARTS)[:starts]
]
benchmark = Benchmark("ranking", PLAN, measure, minutes=15, obstacle=_data.obstacle)


def scores_table():
    header = ["pairs", "start", "steps", "held-out: start", "held-out: refined", "test: start", "test: refined"]
    rows = [
        [f"{record['pair']} {record['size'].upper()}", record["start"], record["steps"]]
        + [short(score, 4) for score in record["held out"]]
        + [both(record["before"], 4), both(record["after"], 4), f"{record['processor']:.0f}"]
        for record in benchmark.records
    ]
    return table([*header, "seconds"], rows)


if __name__ == "__main__":
    benchmark.main()
