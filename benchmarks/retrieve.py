"""How fast the ten nearest neighbours of whole vocabularies are found, by cosine and by CSLS, and by whom.

    python benchmarks/retrieve.py [--size 50000] [--dimensions 300] [--repeat 1]

Everything is measured in one run on the same random vectors, each contender in a process of its own, which also gives
its peak memory beside the vectors (Linux only). Times stand beside the time of the product of the two matrices alone:
the same blocks on the same threads, and nothing done with them. CPU seconds tell when other work slowed one of them
down. faiss takes part when it is installed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from fipp.linalg import ordered_map, row_blocks
from fipp.retrieve import neighbours

K = 10


def vectors(size, dimensions):
    """Two vocabularies that share most of what they are, at unit length."""
    rng = np.random.default_rng(0)
    source = rng.standard_normal((size, dimensions), dtype=np.float32)
    target = source + rng.standard_normal((size, dimensions), dtype=np.float32)
    for matrix in (source, target):
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return source, target


def product(source, target):
    parts = [(rows, columns) for columns in row_blocks(len(target), 1 << 15) for rows in row_blocks(len(source), 128)]
    for _ in ordered_map(lambda part: np.matmul(source[part[0]], target[part[1]].T)[0, 0], parts):
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
    options = parser.parse_args()
    context, results = multiprocessing.get_context("spawn"), {}
    names = [name for name in CONTENDERS if "faiss" not in name or find_spec("faiss") is not None]
    for name in [name for _ in range(options.repeat) for name in names]:
        queue = context.Queue()
        process = context.Process(target=measure, args=(name, options.size, options.dimensions, queue))
        process.start()
        result = queue.get()
        process.join()
        results[name] = min(result, results.get(name, result), key=lambda measured: measured[0])
    print(f"top {K}, {options.size:,} x {options.size:,} x {options.dimensions}\n")
    print(
        "| | seconds | to the product alone | to fipp | CPU seconds | peak MB | same as fipp |\n|---" + 6 * "|---" + "|"
    )
    for name, (seconds, cpu, peak, found) in results.items():
        to_product, to_ours, same = f"{seconds / results['product alone'][0]:.2f}", "", ""
        reference = results.get(name.split(",")[0] + ", fipp")
        if reference is not None:
            to_ours, same = f"{seconds / reference[0]:.2f}", f"{(found == reference[3]).mean():.4f}"
        print(f"| {name} | {seconds:.1f} | {to_product} | {to_ours} | {cpu:.1f} | {peak:.0f} | {same} |")


if __name__ == "__main__":
    main()
