"""The accuracy of `auto` on real vectors: its choice on held-out seed pairs, and the score of that on test pairs.

The time is given as a multiple of one product of both vocabularies in the smaller of both dimensions, which is timed
before and after the fit in the same process. Compare processor seconds: other work on the machine delays both.
"""

from __future__ import annotations

import time

import _data
import compare
import numpy as np
from _benchmark import Benchmark
from _tables import between, both, count, short, table

import retrieve
from fipp import Auto

PAIRS = tuple(pair for pair in _data.PAIRS if pair != "ru-en")
AUTO = Auto()


def measure(pair, size):
    rows = _data.seed_rows(pair, size)
    before = product_seconds(*_data.sides(pair))
    alignment, seconds = _data.fitted(AUTO, pair, rows)
    products = np.mean([before, product_seconds(*_data.sides(pair))], axis=0)
    scores = _data.maps_with_intervals(alignment, pair)
    ratios = np.array([seconds["seconds"], seconds["processor"]]) / products
    scores["unseen"] = _data.unseen_maps(alignment, pair)
    told = {"product": products.tolist(), "products": ratios.tolist(), "chosen": alignment.aligner.chosen_}
    return {"pairs": len(rows), **scores, **seconds, **told}


def product_seconds(source, target):
    """Return the wall and processor seconds of one product of both vocabularies."""
    d = min(source.matrix.shape[1], target.matrix.shape[1])
    sides = [np.ascontiguousarray(side.matrix[:, :d]) for side in (source, target)]
    clock, processor = time.perf_counter(), time.process_time()
    retrieve.product(*sides)
    return time.perf_counter() - clock, time.process_time() - processor


PLAN = [{"pair": pair, "size": size} for pair in PAIRS for size in _data.SIZES]
benchmark = Benchmark("auto", PLAN, measure, minutes=20, obstacle=_data.obstacle)


def accuracy_table():
    header = ["vectors", "seed", "pairs", "cosine", "CSLS", "not in the seed", "best other", "processor seconds"]
    header += ["products", "chosen"]
    rows = [
        [
            _data.arrow(record["pair"]),
            record["size"].upper(),
            count(record["pairs"]),
            *(between(record[way]) for way in _data.WAYS),
            both(record["unseen"]) if "unseen" in record else "not measured",
            compare.best_other(record["pair"], record["size"]),
            f"{record['processor']:.0f}",
            "/".join(f"{ratio:.1f}" for ratio in record["products"]) if "products" in record else "not measured",
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
