"""How long FIPP takes to fit: the default solver against the published route and against its own matrix products.

    python benchmarks/fit.py [--quick]

Every figure is measured in this one run, end to end (preprocessing included), best of several repetitions; ratios are
of those. The floor is the time of the same matrix products alone. Peak memory is that of a fresh process which does
only that fit, less what it held before.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import threading
import time
from pathlib import Path

import numpy as np

from fipp import FIPP
from fipp.linalg import n_threads

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
EPSILONS, LAMS = [0.01, 0.025, 0.05, 0.10, 0.15], [0.25, 0.5, 0.75, 1.0, 1.25]


def english_french():
    """Real vectors and their 4,513 seed pairs, or rows of the same shape where the data is not there."""
    if not DATA.exists():
        return *synthetic(16_086, 17_676), np.stack([np.arange(4_513)] * 2, axis=1), "synthetic rows"
    from fipp import Lexicon, Vectors

    source, target = (Vectors.load(DATA / "vectors" / f"{name}.npy") for name in ("en.spacymd300", "fr.spacymd300"))
    pairs = Lexicon.load(DATA / "xling/en-fr/train.5k.tsv").lookup(source, target).rows
    return source.matrix, target.matrix, pairs, "en.spacymd300 → fr.spacymd300"


def synthetic(n, m=None, d=300, seed=0):
    """Two related spaces with a spectrum that falls as those of word vectors do."""
    rng = np.random.default_rng(seed)
    scale = (np.arange(1, d + 1) ** -0.4).astype(np.float32)
    X = rng.standard_normal((n, d), dtype=np.float32) * scale
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0].astype(np.float32)
    Y = X[: m or n] @ turn if (m or n) <= n else np.concatenate([X, X[: m - n]]) @ turn
    return X, Y + 0.7 * rng.standard_normal(Y.shape, dtype=np.float32) * scale[::-1].mean()


def products(X, Y, pairs):
    """Give a function that does the matrix products of a default fit and nothing else: the floor."""
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
    run()
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def _measure(make_data, run, queue):
    data = make_data()
    before, peak, done = _resident(), [0], threading.Event()

    def watch():
        while not done.wait(0.005):
            peak[0] = max(peak[0], _resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    run(*data)
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    high_water = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    queue.put((max(peak[0], 0) - before, high_water, seconds))


def _resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_memory(make_data, run):
    """Bytes that ``run`` adds to what its data takes, in a process of its own, and its seconds."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_measure, args=(make_data, run, queue))
    process.start()
    added, _, seconds = queue.get()
    process.join()
    return added, seconds


def megabytes(size):
    return f"{size / 1e6:,.0f} MB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out the 15,000 and 100,000 pairs")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    arguments = parser.parse_args()
    figures = {"threads": n_threads()}
    print(f"{n_threads()} threads, numpy {np.__version__}\n")

    X, Y, pairs, name = english_french()
    print(f"{name}: {len(X):,} × {len(Y):,} words, {X.shape[1]} → {Y.shape[1]} dimensions, {len(pairs):,} pairs")
    linear = best_of(lambda: FIPP().fit(X, Y, pairs), 7)
    floor = best_of(products(X, Y, pairs), 7)
    dense = best_of(lambda: FIPP(solver="eigen", eigen_method="dense").fit(X, Y, pairs), 1)
    subspace = best_of(lambda: FIPP(solver="eigen", eigen_method="subspace").fit(X, Y, pairs), 1)
    grid = best_of(lambda: FIPP().fit_path(X, Y, pairs, epsilons=EPSILONS, lams=LAMS), 5)
    memory, _ = peak_memory(lambda: (X, Y, pairs), lambda X, Y, pairs: FIPP().fit(X, Y, pairs))
    dense_memory, _ = peak_memory(
        lambda: (X, Y, pairs), lambda X, Y, pairs: FIPP(solver="eigen", eigen_method="dense").fit(X, Y, pairs)
    )
    print(f"  default solver           {linear:7.3f} s, {megabytes(memory)} beside the vectors")
    print(f"  its products alone       {floor:7.3f} s: the fit takes {linear / floor:.2f} times as long")
    print(f"  eigen, dense             {dense:7.3f} s: {dense / linear:.1f} times as long, {megabytes(dense_memory)}")
    print(f"  eigen, subspace          {subspace:7.3f} s: {subspace / linear:.1f} times as long")
    print(f"  5 × 5 grid of ε and λ    {grid:7.3f} s: {grid / linear:.2f} single fits\n")
    figures["real"] = {
        "linear": linear, "floor": floor, "dense": dense, "subspace": subspace, "grid": grid, "memory": memory
    }  # fmt: skip

    if not arguments.quick:
        X, Y = synthetic(15_000)
        pairs = np.stack([np.arange(15_000)] * 2, axis=1)
        print("synthetic rows: 15,000 pairs, 300 → 300 dimensions")
        linear = best_of(lambda: FIPP().fit(X, Y), 3)
        floor = best_of(products(X, Y, pairs), 3)
        grid = best_of(lambda: FIPP().fit_path(X, Y, epsilons=EPSILONS, lams=LAMS), 1)
        start = time.perf_counter()
        FIPP(solver="eigen", eigen_method="dense").fit(X, Y)
        dense = time.perf_counter() - start
        memory, _ = peak_memory(lambda: (X, Y), lambda X, Y: FIPP().fit(X, Y))
        print(f"  default solver           {linear:7.2f} s, {megabytes(memory)} beside the vectors")
        print(f"  its products alone       {floor:7.2f} s: the fit takes {linear / floor:.2f} times as long")
        print(f"  eigen, dense             {dense:7.2f} s: {dense / linear:.1f} times as long")
        print(f"  5 × 5 grid of ε and λ    {grid:7.2f} s: {grid / linear:.2f} single fits\n")
        figures["15000"] = {"linear": linear, "floor": floor, "dense": dense, "grid": grid, "memory": memory}

        X, Y = synthetic(100_000)
        memory, seconds = peak_memory(lambda: (X, Y), lambda X, Y: FIPP(max_memory="2GB").fit(X, Y))
        print("synthetic rows: 100,000 pairs, 300 → 300 dimensions, max_memory=2GB")
        print(f"  default solver           {seconds:7.1f} s, {megabytes(memory)} beside the vectors")
        figures["100000"] = {"linear": seconds, "memory": memory}

    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
