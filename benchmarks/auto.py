"""The accuracy of `auto` on real vectors: its choice on held-out seed pairs, and the score of that on test pairs."""

from __future__ import annotations

import _data
import compare
from _benchmark import Benchmark
from _tables import between, both, count, short, table

from fipp import Auto

PAIRS = tuple(pair for pair in _data.PAIRS if pair != "ru-en")
AUTO = Auto()


def measure(pair, size):
    rows = _data.seed_rows(pair, size)
    alignment, seconds = _data.fitted(AUTO, pair, rows)
    scores = _data.maps_with_intervals(alignment, pair)
    return {"pairs": len(rows), **scores, **seconds, "chosen": alignment.aligner.chosen_}


PLAN = [{"pair": pair, "size": size} for pair in PAIRS for size in _data.SIZES]
benchmark = Benchmark("auto", PLAN, measure, minutes=20, obstacle=_data.obstacle)


def accuracy_table():
    header = ["vectors", "seed", "pairs", "cosine", "CSLS", "best other", "processor seconds", "chosen"]
    rows = [
        [
            _data.arrow(record["pair"]),
            record["size"].upper(),
            count(record["pairs"]),
            *(between(record[way]) for way in _data.WAYS),
            compare.best_other(record["pair"], record["size"]),
            f"{record['processor']:.0f}",
            record["chosen"],
        ]
        for record in benchmark.records
    ]
    return table(header, rows)


def score(pair, size):
    """Return the scores by cosine and by CSLS."""
    return both(benchmark.one(pair=pair, size=size))


def by_cosine(pair, size):
    return short(benchmark.one(pair=pair, size=size)["cosine"][0])


if __name__ == "__main__":
    benchmark.main()
