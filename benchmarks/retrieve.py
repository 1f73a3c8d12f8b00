"""The speed of nearest-neighbour search in whole vocabularies, by cosine and by CSLS, compared with numpy and faiss.

All use the same random vectors, each in its own process, which also measures its peak memory beyond the vectors (Linux
only). For reference, the matrix product alone is timed, in tiles and with as many threads. Compare processor seconds,
because other work on the machine slows down some more than others.

What fipp's searches cost beside the product alone is measured in turn, product and searches, in one process, also with
English and French word vectors in one space, which have stronger hubs. Of 200,000 vectors, a tenth are searched for
among all.
"""

from __future__ import annotations

import threading
import time
from importlib.util import find_spec

import _data
import numpy as np
from _benchmark import Benchmark, in_new_process
from _tables import count, table

from fipp import Procrustes
from fipp.experiments import PeakMemory
from fipp.linalg import ordered_map, row_blocks
from fipp.retrieve import mutual_neighbours, neighbours

K = 10
TILE = 1024, 2048
DIMENSIONS = 300
SIZE, LARGER, LARGE = 30_000, 50_000, 200_000
WORDS = "en-fr"
ASKED_OF_LARGE = 20_000
IN_TURN = "in turn"
ROUNDS = {SIZE: 1, LARGER: 1, LARGE: 1, WORDS: 3}
"""How often the product and the searches are measured in turn."""
COMPARED = 1000
"""The number of queries whose neighbours are compared with fipp's."""


def vectors(size):
    """Return two similar vocabularies of unit length, or the words of two languages in one space."""
    if size == WORDS:
        source, target = _data.sides(WORDS)
        mapped = Procrustes().fit(source.matrix, target.matrix, _data.seed_rows(WORDS, "5k"))
        return mapped.transform(source.matrix), mapped.transform_target(target.matrix)
    rng = np.random.default_rng(0)
    source = rng.standard_normal((size, DIMENSIONS), dtype=np.float32)
    target = source + rng.standard_normal((size, DIMENSIONS), dtype=np.float32)
    for matrix in (source, target):
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return source, target


def product(source, target):
    """Multiply in tiles of the size that is fastest for single-threaded BLAS here, with one buffer per thread."""
    buffers = threading.local()

    def multiply(part):
        if not hasattr(buffers, "tile"):
            buffers.tile = np.empty(TILE[0] * TILE[1], dtype=np.float32)
        rows, columns = part
        height, width = rows.stop - rows.start, columns.stop - columns.start
        tile = buffers.tile[: height * width].reshape(height, width)
        np.matmul(source[rows], target[columns].T, out=tile)

    parts = [(rows, part) for rows in row_blocks(len(source), TILE[0]) for part in row_blocks(len(target), TILE[1])]
    for _ in ordered_map(multiply, parts):
        pass


def ours(source, target, retrieval="cosine"):
    max_memory = "2GB" if len(target) == LARGE else None
    return neighbours(source, target, K, retrieval=retrieval, max_memory=max_memory).indices


def ours_csls(source, target):
    return ours(source, target, "csls")


def ours_mutual(source, target):
    return mutual_neighbours(source, target, retrieval="csls").pairs


def top(scores):
    best = np.argpartition(scores, -K, axis=1)[:, -K:]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1)


def numpy_loop(source, target):
    return np.concatenate([top(source[rows] @ target.T) for rows in row_blocks(len(source), 1024)])


def numpy_csls(source, target):
    """Use the usual two passes: the means of the targets, then the scores."""
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
    """Compute the means of both sides with faiss, then the scores with numpy: three products."""
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
    "cosine, numpy in blocks": numpy_loop,
    "cosine, faiss flat": faiss_flat,
    "CSLS, fipp": ours_csls,
    "CSLS, numpy, two passes": numpy_csls,
    "CSLS, means by faiss": faiss_csls,
}


COMPARED_WITH_PRODUCT = {
    "product alone": product,
    "cosine": ours,
    "cosine by faiss": faiss_flat,
    "CSLS": ours_csls,
    "mutual neighbours by CSLS": ours_mutual,
}


def obstacle():
    return None if find_spec("faiss") else "because faiss is not installed: pip install 'fipp[ann]'"


def measure(size, way):
    return in_new_process(_measure_here, size, way)


def _measure_here(size, way):
    source, target = vectors(size)
    if way == IN_TURN:
        source = source[:ASKED_OF_LARGE] if size == LARGE else source
        return {"queries": len(source), "keys": len(target), **_measure_in_turn(source, target, ROUNDS[size])}
    CONTENDERS[way](source[:2000], target[:2000])  # imports, threads
    found, told = _timed(CONTENDERS[way], source, target)
    if way.startswith("cosine") and size == SIZE:
        told["same"] = float((found[:COMPARED] == ours(source[:COMPARED], target)).mean())
    return told


def _measure_in_turn(source, target, rounds):
    """Return, for the product and each search, the medians over several rounds."""
    for search in COMPARED_WITH_PRODUCT.values():
        search(source[:2000], target[:2000])  # imports, threads
    told = [
        {way: _timed(search, source, target)[1] for way, search in COMPARED_WITH_PRODUCT.items()} for _ in range(rounds)
    ]
    return {
        way: {name: float(np.median([each[way][name] for each in told])) for name in told[0][way]}
        for way in COMPARED_WITH_PRODUCT
    }


def _timed(search, source, target):
    peak, start, processor = PeakMemory(), time.perf_counter(), time.process_time()
    found = search(source, target)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    return found, {"seconds": seconds, "processor": processor, "memory": peak.growth()}


PLAN = [{"size": SIZE, "way": way} for way in CONTENDERS]
PLAN += [{"size": LARGE, "way": "CSLS, fipp"}]
PLAN += [{"size": size, "way": IN_TURN} for size in ROUNDS]
benchmark = Benchmark("retrieve", PLAN, measure, minutes=25, obstacle=obstacle)


def speed_table(kind):
    """Return the times for one kind of score, relative to fipp's."""
    ours = benchmark.one(size=SIZE, way=f"{kind}, fipp")["processor"]
    shown = (kind, "product") if kind == "cosine" else kind
    records = [record for record in benchmark.find(size=SIZE) if record["way"].startswith(shown)]
    rows = [
        [
            record["way"],
            f"{record['processor']:.1f}",
            f"{record['processor'] / ours:.2f}",
            count(round(record["memory"] / 1e6)),
        ]
        for record in records
    ]
    return table(["", "processor seconds", "relative to fipp", "peak MB beyond the vectors"], rows)


def ratio_table():
    """Return what each search costs in products of the two matrices, measured in turn."""
    rows = []
    for record in benchmark.find(way=IN_TURN):
        product = record["product alone"]
        for way in COMPARED_WITH_PRODUCT:
            one = record[way]
            ratios = [f"{one[name] / product[name]:.2f}" for name in ("processor", "seconds")]
            rows.append([_sizes(record), way, f"{one['processor']:.1f}", *ratios, count(round(one["memory"] / 1e6))])
    heads = ["vectors", "", "processor seconds", "processor, in products", "wall time, in products"]
    return table([*heads, "peak MB beyond the vectors"], rows)


def products(size, way):
    """Return what a search costs in products, by processor time."""
    record = benchmark.one(size=size, way=IN_TURN)
    return f"{record[way]['processor'] / record['product alone']['processor']:.2f}"


def _sizes(record):
    what = " words" if record["size"] == WORDS else ""
    return f"{count(record['queries'])} × {count(record['keys'])}{what}"


def same(way):
    """Return the share of another library's neighbours that are fipp's."""
    return f"{100 * benchmark.one(size=SIZE, way=way)['same']:.2f} %"


def large(way):
    """Return seconds and memory for 200,000 vectors on each side."""
    record = benchmark.one(size=LARGE, way=way)
    memory = count(round(record["memory"] / 1e6))
    return f"{record['processor']:.0f} processor seconds and {memory} MB beyond the vectors"


if __name__ == "__main__":
    benchmark.main()
