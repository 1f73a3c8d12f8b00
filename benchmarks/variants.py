"""Methods with settings other than their defaults, or on pairs where they fail: scores and seconds."""

from __future__ import annotations

import _data
from _benchmark import Benchmark
from _tables import both, table

from fipp import ICP, GromovWasserstein, VecMap
from fipp.aligners import METHODS

VARIANTS = {
    "VecMap, supervised": METHODS["vecmap"],
    "VecMap, supervised, `ridge=0`": VecMap(ridge=0),
    "VecMap, semi-supervised, 20,000 words a side": METHODS["vecmap-semi"],
    "VecMap, semi-supervised, 4,000 words a side": VecMap("semi-supervised", max_words=4000),
    "VecMap, unsupervised, 4,000 words a side": VecMap("unsupervised", max_words=4000),
    "ICP": ICP(),
    "Gromov-Wasserstein, 2,000 words a side": GromovWasserstein(),
    "Gromov-Wasserstein, 1,000 words a side": GromovWasserstein(max_words=1000),
    "MUSE, adversarial": METHODS["muse-adversarial"],
}
NONE = "none"
RUNS = {
    "VecMap, supervised": [("en-fr", "1k"), ("en-fr", "5k")],
    "VecMap, supervised, `ridge=0`": [("en-fr", "1k"), ("en-fr", "5k")],
    "VecMap, semi-supervised, 20,000 words a side": [("en-fr", "1k")],
    "VecMap, semi-supervised, 4,000 words a side": [("en-fr", "1k")],
    "VecMap, unsupervised, 4,000 words a side": [("en-fr", NONE), ("en-fi", NONE)],
    "ICP": [("en-fr", NONE), ("en100-fr", NONE), ("en-fi", NONE), ("en-ru", NONE)],
    "Gromov-Wasserstein, 2,000 words a side": [("en-fr", NONE)],
    "Gromov-Wasserstein, 1,000 words a side": [("en-fr", NONE)],
    "MUSE, adversarial": [("en-fr", NONE), ("en-fi", NONE)],
}


def measure(variant, pair, size):
    rows = None if size == NONE else _data.seed_rows(pair, size)
    alignment, seconds = _data.fitted(VARIANTS[variant], pair, rows)
    return {**_data.maps(alignment, pair), **seconds}


PLAN = [{"variant": variant, "pair": pair, "size": size} for variant, runs in RUNS.items() for pair, size in runs]
benchmark = Benchmark("variants", PLAN, measure, minutes=40, obstacle=_data.obstacle)


def of(prefix):
    """Return the scores of the variants whose names start with the prefix."""
    records = [record for record in benchmark.records if record["variant"].startswith(prefix)]
    rows = [
        [record["variant"], _data.arrow(record["pair"]), record["size"].replace("k", "K"), both(record)]
        for record in records
    ]
    return table(["", "vectors", "seed", "cosine / CSLS"], rows)


if __name__ == "__main__":
    benchmark.main()
