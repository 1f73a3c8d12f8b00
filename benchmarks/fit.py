"""The speed of FIPP: the default solver compared with the published algorithm and with its matrix products alone.

All times are processor seconds, end to end (including preprocessing) and the best of several repetitions; ratios are
from one run. The floor is the time of the same matrix products alone. Peak memory is measured in a fresh process that
only fits, minus what it used before. The published algorithm runs only on the smaller dictionary: with the larger one
it takes many minutes.
"""

from __future__ import annotations

import multiprocessing
import time

import _data
import numpy as np
from _benchmark import Benchmark
from _tables import table

from fipp import FIPP
from fipp.experiments import PeakMemory
from fipp.linalg import n_threads

EPSILONS, LAMS = [0.01, 0.025, 0.05, 0.10, 0.15], [0.25, 0.5, 0.75, 1.0, 1.25]
GRID = [{"epsilon": epsilon, "lam": lam} for epsilon in EPSILONS for lam in LAMS]
SMALLER = 4_513
COLUMNS = {SMALLER: f"{SMALLER:,} pairs (en-fr)", 15_000: "15,000 pairs"}
MANY = 50_000
DENSE = FIPP(solver="eigen", eigen_method="dense")


def english_french():
    """Return real vectors and their 4,513 seed pairs."""
    source, target = _data.sides("en-fr")
    return source.matrix, target.matrix, _data.seed_rows("en-fr", "5k")


def synthetic(n, d=300, seed=0):
    """Return two related spaces with a spectrum like that of word vectors; every row is a pair."""
    rng = np.random.default_rng(seed)
    scale = (np.arange(1, d + 1) ** -0.4).astype(np.float32)
    X = rng.standard_normal((n, d), dtype=np.float32) * scale
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0].astype(np.float32)
    Y = X @ turn + 0.7 * rng.standard_normal(X.shape, dtype=np.float32) * scale[::-1].mean()
    return X, Y, np.stack([np.arange(n)] * 2, axis=1)


def products(X, Y, pairs):
    """Return a function that computes only the matrix products of a default fit: the floor."""
    d1, c = X.shape[1], len(pairs)
    stacked = np.concatenate([X[pairs[:, 0]], Y[pairs[:, 1]]], axis=1)
    Q = stacked[:, :d1].copy()
    size = 2048
    tile = np.empty((size, size), dtype=np.float32)
    out = np.empty((size, d1), dtype=np.float32)

    def run():
        X.T @ X
        Y.T @ Y
        Q.T @ Q
        Q.T @ Q  # the basis Q from X_s
        stacked[:, :d1].T @ stacked[:, d1:]
        for i in range(0, c, size):
            for j in range(i, c, size):
                left, right = stacked[i : i + size], stacked[j : j + size]
                part = tile[: len(left), : len(right)]
                if i == j:
                    # Half of a tile on the diagonal is enough.
                    half = (len(left) + 1) // 2
                    np.matmul(left, right[:half].T, out=part[:, :half])
                    np.matmul(part[:half], Q[j : j + size], out=out[:half])
                else:
                    np.matmul(left, right.T, out=part)
                    np.matmul(part, Q[j : j + size], out=out[: len(left)])
            out[: len(left)].T @ Q[i : i + size]

    return run


def best_of(run, repetitions):
    """Return the processor seconds of the fastest run, after a warm-up run."""
    run()
    return min(seconds_of(run) for _ in range(repetitions))


def seconds_of(run):
    """Return the processor seconds of one run: other work on the machine hardly changes them."""
    start = time.process_time()
    run()
    return time.process_time() - start


def peak_memory(aligner, X, Y, pairs):
    """Return the memory that a fit adds to its data, measured in its own process, and its processor seconds."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()

    def work():
        peak, start = PeakMemory(), time.process_time()
        aligner.fit(X, Y, pairs)
        queue.put((peak.growth(), time.process_time() - start))

    process = context.Process(target=work)
    process.start()
    told = queue.get()
    process.join()
    return told


def measure(pairs):
    X, Y, rows = english_french() if pairs == SMALLER else synthetic(pairs)
    if pairs == MANY:
        memory, seconds = peak_memory(FIPP(max_memory="2GB"), X, Y, rows)
        return {"threads": n_threads(), "processor": seconds, "memory": memory}
    few = pairs == SMALLER
    linear = best_of(lambda: FIPP().fit(X, Y, rows), 7 if few else 2)
    floor = best_of(products(X, Y, rows), 7 if few else 2)
    grid = best_of(lambda: FIPP().fit_many(X, Y, rows, settings=GRID), 5 if few else 1)
    memory, _ = peak_memory(FIPP(), X, Y, rows)
    return {
        "threads": n_threads(),
        "processor": linear,
        "to products": linear / floor,
        **({"dense": seconds_of(lambda: DENSE.fit(X, Y, rows)) / linear} if few else {}),
        "grid": grid / linear,
        "memory": memory,
    }


PLAN = [{"pairs": pairs} for pairs in (*COLUMNS, MANY)]
benchmark = Benchmark("fit", PLAN, measure, minutes=8, obstacle=_data.obstacle)
ROWS = {
    "default solver": ("processor", "{:.2g} processor seconds"),
    "memory beyond the vectors": ("memory", "{:,.0f} MB"),
    "time relative to its matrix products alone": ("to products", "{:.1f} ×"),
    "time of the published algorithm (dense), relative to the default": ("dense", "{:.0f} ×"),
    "time of a 5 × 5 grid of ε and λ, in single fits": ("grid", "{:.1f}"),
}


def speed_table():
    rows = [[label, *(shown(pairs, name) for pairs in COLUMNS)] for label, (name, _) in ROWS.items()]
    return table(["", *COLUMNS.values()], rows)


def shown(pairs, name):
    """Return one figure as in the table."""
    value = benchmark.one(pairs=pairs).get(name)
    template = next(template for field, template in ROWS.values() if field == name)
    return "–" if value is None else template.format(value / 1e6 if name == "memory" else value)


if __name__ == "__main__":
    benchmark.main()
