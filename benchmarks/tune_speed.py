"""The time to choose ε and λ, compared with a single fit and with separate fits for all settings.

All times are processor seconds. All hold out the same 20 % of the source words and rank the whole target vocabulary for
them.
"""

from __future__ import annotations

import _data
import numpy as np
from _benchmark import Benchmark
from _tables import table
from fit import best_of, english_french, seconds_of

from fipp import FIPP
from fipp.aligners import held_out_parts, reciprocal_ranks
from fipp.experiments import combinations, tune_arrays
from fipp.retrieve import ranks_of_gold

GRID = {name: list(values) for name, values in FIPP.default_grid.items()}
ROWS = {
    "single": "a single fit",
    "grid": "fitting the 5 × 5 grid in one pass",
    "ranking": "ranking for all 25 maps",
    "select": "`fipp.tune`, without the final fit",
    "apart": "25 separate fits and rankings",
}


def naive(X, Y, learned, holdout):
    """Fit and rank every setting separately."""
    scores = []
    for settings in combinations(GRID):
        aligner = FIPP(**settings).fit(X, Y, learned)
        ranks = ranks_of_gold(aligner.transform(X), aligner.transform_target(Y), holdout[:, 0], holdout[:, 1])
        scores.append(np.mean(1 / ranks))
    return scores


def measure(pair):
    X, Y, pairs = english_french()
    (part,) = held_out_parts(pairs[:, 0])
    learned, holdout = pairs[~part], pairs[part]
    settings = combinations(GRID)
    fitted = FIPP().fit_many(X, Y, learned, settings=settings)
    return {
        "learned": len(learned),
        "held out": len(holdout),
        "single": best_of(lambda: FIPP().fit(X, Y, learned), 5),
        "grid": best_of(lambda: FIPP().fit_many(X, Y, learned, settings=settings), 3),
        "ranking": best_of(lambda: reciprocal_ranks(fitted, X, Y, holdout), 3),
        "select": best_of(lambda: tune_arrays(X, Y, pairs, refit=False), 3),
        "apart": seconds_of(lambda: naive(X, Y, learned, holdout)),
    }


benchmark = Benchmark("tune_speed", [{"pair": "en-fr"}], measure, minutes=2, obstacle=_data.obstacle)


def seconds_table():
    record = benchmark.one(pair="en-fr")
    rows = [[label, f"{record[name]:.2f}", ratio(name)] for name, label in ROWS.items()]
    return table(["", "processor seconds", "single fits"], rows)


def ratio(name):
    """Return a processor time in single fits."""
    record = benchmark.one(pair="en-fr")
    return f"{record[name] / record['single']:.1f}"


if __name__ == "__main__":
    benchmark.main()
