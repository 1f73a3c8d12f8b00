"""Approximate indexes of other libraries, which propose keys: usearch and faiss."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError
from fipp.linalg import n_threads
from fipp.retrieve._rows import Rows
from fipp.retrieve._scores import read_block

# How many keys a graph proposes for a query, and how widely it searches for them.
CANDIDATES = 128
_NEIGHBOURS_IN_GRAPH = 32

Graph = Callable[[NDArray[np.float32], int], NDArray[np.int64]]
"""Returns for each query the numbers of so many keys with the highest inner products; -1 where it found none."""


def build_graph(kind: str, keys: Rows, offsets: NDArray[np.float32] | None) -> Graph | None:
    """Return the graph of a library, None for an exact search.

    The score cos(x, y) - o(y) is an inner product, (x, 1)·(y, -o(y)), so one more dimension makes every way to score
    one that the libraries know.
    """
    if kind == "exact":
        return None
    if kind not in _BUILDERS:
        raise FippError(f"index {kind!r} is not known; choose from exact, {', '.join(_BUILDERS)}")
    vectors = read_block(keys, slice(0, len(keys))).vectors
    last = np.zeros(len(keys), dtype=np.float32) if offsets is None else -offsets
    lengths = np.square(vectors, dtype=np.float64).sum(axis=1) + np.square(last, dtype=np.float64)
    # A last number makes all keys equally long, and is 0 in queries: in a graph of inner products, short keys get lost.
    filler = np.sqrt(lengths.max() - lengths).astype(np.float32)
    search = _BUILDERS[kind](np.hstack([vectors, last[:, None], filler[:, None]]))
    return lambda queries, count: search(np.pad(queries, ((0, 0), (0, 1))), count)


def _usearch(vectors: NDArray[np.float32]) -> Graph:
    index = _library("usearch.index", "usearch").Index(
        ndim=vectors.shape[1], metric="ip", dtype="f32", connectivity=_NEIGHBOURS_IN_GRAPH, expansion_search=CANDIDATES
    )
    index.add(np.arange(len(vectors), dtype=np.uint64), vectors, threads=n_threads())

    def search(queries: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        index.expansion_search = max(CANDIDATES, count)
        matches = index.search(queries, count, threads=n_threads())
        found = np.atleast_2d(np.asarray(matches.keys)).astype(np.int64)
        counts: NDArray[np.int64] = np.atleast_1d(np.asarray(getattr(matches, "counts", found.shape[1])))
        return np.where(np.arange(found.shape[1]) < counts[:, None], found, -1)

    return search


def _faiss(vectors: NDArray[np.float32]) -> Graph:
    faiss = _library("faiss", "faiss")
    index = faiss.IndexHNSWFlat(vectors.shape[1], _NEIGHBOURS_IN_GRAPH, faiss.METRIC_INNER_PRODUCT)
    index.add(vectors)

    def search(queries: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        index.hnsw.efSearch = max(CANDIDATES, count)
        found: NDArray[np.int64] = index.search(queries, count)[1]
        return found

    return search


_BUILDERS = {"usearch": _usearch, "faiss": _faiss}


def _library(module: str, name: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise FippError(f"index {name!r} needs the package {name}: pip install 'fipp[ann]'") from error
