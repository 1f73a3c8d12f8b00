"""How fast the ten nearest neighbours of whole vocabularies are found, by cosine and by CSLS, and by whom.

    python benchmarks/retrieve.py [--size 50000] [--dimensions 300] [--repeat 1] [--only cosine]

Everything is measured in one run on the same random vectors, each contender in a process of its own, which also gives
its peak memory beside the vectors (Linux only). Times stand beside the time of the product of the two matrices alone,
in tiles, by as many threads, with nothing done with it. CPU seconds tell when other work slowed one of them down; the
ratios of CPU seconds are then the ones to trust. faiss takes part when it is installed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from fipp.linalg import ordered_map, row_blocks
from fipp.retrieve import neighbours

K = 10
TILE = 1024


def vectors(size, dimensions):
    """Two vocabularies that share most of what they are, at unit length."""
    rng = np.random.default_rng(0)
    source = rng.standard_normal((size, dimensions), dtype=np.float32)
    target = source + rng.standard_normal((size, dimensions), dtype=np.float32)
    for matrix in (source, target):
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return source, target


def product(source, target):
    """Multiply in tiles of the size at which single-threaded BLAS is fastest here, each thread into one buffer."""
    buffers = threading.local()

    def multiply(part):
        if not hasattr(buffers, "tile"):
            buffers.tile = np.empty((TILE, TILE), dtype=np.float32)
        rows, columns = part
        tile = buffers.tile[: rows.stop - rows.start, : columns.stop - columns.start]
        np.matmul(source[rows], target[columns].T, out=tile)

    parts = [(rows, columns) for rows in row_blocks(len(source), TILE) for columns in row_blocks(len(target), TILE)]
    for _ in ordered_map(multiply, parts):
        pass


def ours(source, target):
    return neighbours(source, target, K).indices


def ours_csls(source, target):
    return neighbours(source, target, K, retrieval="csls").indices


def top(scores):
    best = np.argpartition(scores, -K, axis=1)[:, -K:]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1)


def numpy_loop(source, target):
    return np.concatenate([top(source[rows] @ target.T) for rows in row_blocks(len(source), 1024)])


def numpy_csls(source, target):
    """Take the usual two passes: the means of the targets, then scores."""
    means = [
        np.partition(target[rows] @ source.T, -K, axis=1)[:, -K:].mean(axis=1) for rows in row_blocks(len(target), 1024)
    ]
    hubness = np.concatenate(means)
    found = []
    for rows in row_blocks(len(source), 1024):
        scores = 2 * (source[rows] @ target.T)
        scores -= np.partition(scores, -K, axis=1)[:, -K:].mean(axis=1, keepdims=True) / 2
        scores -= hubness
        found.append(top(scores))
    return np.concatenate(found)


def faiss_flat(source, target):
    import faiss

    index = faiss.IndexFlatIP(source.shape[1])
    index.add(target)
    return index.search(source, K)[1]


def faiss_csls(source, target):
    """Take the means of both sides by faiss, then scores by numpy: three products."""
    import faiss

    means = []
    for queries, keys in ((target, source), (source, target)):
        index = faiss.IndexFlatIP(keys.shape[1])
        index.add(keys)
        means.append(index.search(queries, K)[0].mean(axis=1))
    found = []
    for rows in row_blocks(len(source), 1024):
        scores = 2 * (source[rows] @ target.T)
        scores -= means[1][rows, None] + means[0]
        found.append(top(scores))
    return np.concatenate(found)


CONTENDERS = {
    "product alone": product,
    "cosine, fipp": ours,
    "cosine, numpy loop": numpy_loop,
    "cosine, faiss flat": faiss_flat,
    "CSLS, fipp": ours_csls,
    "CSLS, numpy, two passes": numpy_csls,
    "CSLS, faiss means": faiss_csls,
}


def peak_memory():
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def measure(name, size, dimensions, queue):
    source, target = vectors(size, dimensions)
    CONTENDERS[name](source[:2000], target[:2000])  # imports, threads
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
    before, start, cpu = peak_memory(), time.perf_counter(), time.process_time()
    found = CONTENDERS[name](source, target)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    queue.put((seconds, cpu, peak_memory() - before, None if found is None else found[:1000]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=50_000, help="rows of each matrix; 200000 for whole vocabularies")
    parser.add_argument("--dimensions", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=1, help="the best of so many is shown")
    parser.add_argument("--only", choices=["cosine", "CSLS"], help="leave the other way to score out")
    options = parser.parse_args()
    context, results = multiprocessing.get_context("spawn"), {}
    wanted = [name for name in CONTENDERS if options.only is None or name.startswith(("product", options.only))]
    names = [name for name in wanted if "faiss" not in name or find_spec("faiss") is not None]
    for name in [name for _ in range(options.repeat) for name in names]:
        queue = context.Queue()
        process = context.Process(target=measure, args=(name, options.size, options.dimensions, queue))
        process.start()
        result = queue.get()
        process.join()
        results[name] = min(result, results.get(name, result), key=lambda measured: measured[0])
    print(f"top {K}, {options.size:,} x {options.size:,} x {options.dimensions}\n")
    print("| | seconds | to the product | to fipp | CPU seconds | to the product | to fipp | peak MB | same as fipp |")
    print("|---" * 9 + "|")
    for name, (seconds, cpu, peak, found) in results.items():
        reference, same = results.get(name.split(",")[0] + ", fipp"), ""
        if reference is not None:
            same = f"{(found == reference[3]).mean():.4f}"
        times = [
            f"{measured:.1f} | {measured / results['product alone'][which]:.2f} | "
            + ("" if reference is None else f"{measured / reference[which]:.2f}")
            for which, measured in enumerate((seconds, cpu))
        ]
        print(f"| {name} | {' | '.join(times)} | {peak:.0f} | {same} |")


if __name__ == "__main__":
    main()
