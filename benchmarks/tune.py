"""The gain of choosing settings on held-out seed pairs: the choice and the defaults on the test dictionary."""

from __future__ import annotations

import _data
from _benchmark import Benchmark
from _tables import short, table

from fipp import align, tune

PAIRS = ("en-fr", "en-fi", "fi-fr")
GRIDS = {"ε, λ": None, "components, ε, λ": [1, 2, 3, 4, 5, 6]}


def measure(pair, size, grid):
    source, target = _data.sides(pair)
    seed, test = (_data.dictionary(pair, part) for part in (f"train.{size}", "test.2k"))
    tuning = tune(source, target, seed, components=GRIDS[grid])
    return {
        "held out": tuning.holdout,
        "chosen": list(tuning.best_params.values()),
        "near": [sum(score.within_error for score in tuning.table) - 1, len(tuning.table) - 1],
        "held-out MRR": [tuning.best_score, tuning.best.standard_error],
        "test MAP": tuning.alignment.evaluate(test).map,
        "defaults": [tuning.defaults.mrr, align(source, target, seed, "fipp").evaluate(test).map],
    }


PLAN = [{"pair": pair, "size": size, "grid": grid} for pair in PAIRS for size in _data.SIZES for grid in GRIDS]
benchmark = Benchmark("tune", PLAN, measure, minutes=8, obstacle=_data.obstacle)


def choices_table():
    header = ["pair", "held out", "grid", "chosen", "near", "held-out MRR", "test MAP"]
    rows = [
        [f"{record['pair']} {record['size'].upper()}", record["held out"], record["grid"]]
        + [", ".join(f"{value:g}" for value in record["chosen"]), "{} of {}".format(*record["near"])]
        + [" ± ".join(short(value, 4) for value in record["held-out MRR"]), short(record["test MAP"], 4)]
        + [short(value, 4) for value in record["defaults"]]
        for record in benchmark.records
    ]
    return table([*header, "defaults: held-out MRR", "defaults: test MAP"], rows)


if __name__ == "__main__":
    benchmark.main()
