"""The accuracy of `auto` from 25 and from 100 random pairs of the 1K seed, for several draws."""

from __future__ import annotations

import warnings
from statistics import fmean

import _data
import numpy as np
from _benchmark import Benchmark
from _tables import both, table
from auto import AUTO

from fipp import FippWarning

DRAWS = {("en-fr", 25): 10, ("en-ru", 25): 2, ("en-fi", 25): 2, ("en-ru", 100): 2, ("en-fi", 100): 2}


def measure(pair, pairs, draw):
    rows = _data.seed_rows(pair, "1k")
    chosen = rows[np.random.default_rng(draw).permutation(len(rows))[:pairs]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FippWarning)
        alignment, seconds = _data.fitted(AUTO, pair, chosen)
    return {**_data.maps(alignment, pair), **seconds, "warned": bool(caught)}


PLAN = [{"pair": pair, "pairs": pairs, "draw": draw} for (pair, pairs), draws in DRAWS.items() for draw in range(draws)]
benchmark = Benchmark("few", PLAN, measure, minutes=15, obstacle=_data.obstacle)


def draws_table():
    """Return the mean and minimum over the draws for each language pair."""
    rows = []
    for pair, pairs in DRAWS:
        records = benchmark.find(pair=pair, pairs=pairs)
        if not records:
            continue
        means, least = ({way: of([each[way] for each in records]) for way in _data.WAYS} for of in (fmean, min))
        recorded = all("warned" in each for each in records)
        warned = sum(each["warned"] for each in records) if recorded else "not recorded"
        rows.append([_data.arrow(pair), pairs, len(records), both(means), both(least), warned])
    return table(["vectors", "pairs", "draws", "mean", "minimum", "draws with a warning"], rows)


if __name__ == "__main__":
    benchmark.main()
