"""The time and memory of `auto` with up to 200,000 × 200,000 words of 300 dimensions, the size of published studies.

The real vocabularies are smaller. They are continued with made words: each is a mixture of a real word and one of its
nearest neighbours, with noise of the vocabulary's own covariance in place of the variance that mixing takes away. The
real words come first, as the more frequent ones, so that the known pairs stay what they are. The fit runs in a process
of its own. One product of the vocabularies is timed in the same process, with a part of the source words.
"""

from __future__ import annotations

import time

import _data
import auto
import numpy as np
from _benchmark import Benchmark, in_new_process
from _tables import count, table

import retrieve
from fipp.experiments import PeakMemory
from fipp.linalg import n_threads
from fipp.retrieve import neighbours

PAIR, SIZE = "en-fi", "5k"
WORDS = (50_000, 100_000, 200_000)
NEAREST = 10
PART = 10
"""One of so many source words is multiplied with all target words to time the product."""


def grown(matrix, n, seed=0):
    """Return the first rows of a matrix, n in all, continued with mixtures of neighbours if there are fewer."""
    real = matrix[:n].astype(np.float32)
    rng = np.random.default_rng(seed)
    first = rng.integers(0, len(real), n - len(real))
    if not len(first):
        return real
    near = neighbours(real, real, NEAREST + 1).indices  # the word itself is one of them
    second = near[first, rng.integers(1, NEAREST + 1, len(first))]
    share = rng.uniform(0.3, 0.7, (len(first), 1)).astype(np.float32)
    centre = real.mean(axis=0, dtype=np.float64).astype(np.float32)
    made = share * real[first] + (1 - share) * real[second]
    missing = 1 - np.square(made - centre).sum(axis=1).mean() / np.square(real - centre).sum(axis=1).mean()
    root = np.linalg.cholesky(missing * np.cov(real[::PART], rowvar=False) + 1e-9 * np.eye(real.shape[1]))
    made += rng.standard_normal(made.shape, dtype=np.float32) @ root.T.astype(np.float32)
    return np.concatenate([real, made])


def measure(words):
    return in_new_process(_measure_here, words)


def _measure_here(words):
    X, Y = (grown(side.matrix, words) for side in _data.sides(PAIR))
    _data.load.cache_clear()
    pairs = _data.seed_rows(PAIR, SIZE)
    _data.load.cache_clear()
    retrieve.product(X[:2000], Y[:2000])
    return _figures(X, Y, pairs)


def _figures(X, Y, pairs):
    peak = PeakMemory()
    clock, processor = time.perf_counter(), time.process_time()
    fitted = auto.AUTO.fit(X, Y, pairs)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    memory = peak.growth()
    start = time.process_time()
    retrieve.product(X[::PART], Y)
    product = PART * (time.process_time() - start)
    return {
        "seconds": clock,
        "processor": processor,
        "threads": n_threads(),
        "product": product,
        "memory": memory,
        "vectors": X.nbytes + Y.nbytes,
        "chosen": fitted.chosen_,
    }


PLAN = [{"words": words} for words in WORDS]
benchmark = Benchmark("large", PLAN, measure, minutes=8, obstacle=_data.obstacle)


def growth_table():
    """Return seconds, products and memory for each number of words."""
    rows = [
        [
            count(record["words"]),
            f"{record['seconds']:.0f}",
            f"{record['processor']:.0f}",
            f"{record['processor'] / record['product']:.1f}",
            f"{record['memory'] / 1e6:,.0f}",
            f"{record['vectors'] / 1e6:,.0f}",
            record["chosen"],
        ]
        for record in benchmark.records
    ]
    header = ["words of each side", "seconds", "processor seconds", "products", "peak MB beside the vectors"]
    return table([*header, "MB of the vectors", "chosen"], rows)


if __name__ == "__main__":
    benchmark.main()
