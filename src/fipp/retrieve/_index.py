"""Keys prepared once and searched many times, exactly or by an approximate index."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._optional import require
from fipp._progress import Progress, Steps
from fipp.exceptions import FippError
from fipp.linalg import n_threads, row_blocks
from fipp.retrieve._best import pack, unpack
from fipp.retrieve._scan import Block, Pairs, Rows, Scan, kernels
from fipp.retrieve._scores import Hubs, Settings, check_count, corrects_hubs
from fipp.retrieve._search import Neighbours, Prepared

QUERIES_AT_A_TIME = 256
# How many keys a graph proposes for a query, and how widely it searches for them.
_CANDIDATES = 128
_NEIGHBOURS_IN_GRAPH = 32

Graph = Callable[[NDArray[np.float32], int], NDArray[np.int64]]
"""Returns for each query the row numbers of a number of keys with the highest inner products; -1 for none."""


class Index:
    """Keys that were prepared for many searches; :func:`build_index` makes one.

    Attributes
    ----------
    retrieval : str
        How keys are scored.
    kind : str
        ``"exact"``, ``"usearch"`` or ``"faiss"``.
    """

    def __init__(self, keys: Rows, prepared: Prepared, kind: str, graph: Graph | None) -> None:
        self.retrieval, self.kind = prepared.settings.retrieval, kind
        self._keys, self._prepared, self._graph = keys, prepared, graph

    def __len__(self) -> int:
        return len(self._keys)

    def neighbours(
        self,
        queries: ArrayLike,
        k: int = 10,
        *,
        max_memory: int | float | str | None = None,
        progress: Progress | None = None,
    ) -> Neighbours:
        """Find the ``k`` keys with the highest score for each query, as :func:`fipp.retrieve.neighbours` does.

        Parameters
        ----------
        queries : array-like of shape (q, d)
            Vectors of the space of the keys.
        k : int
            Number of neighbours.
        max_memory : int, float or str, optional
            Working memory beside the index and the result; 1 GiB by default.
        progress : callable, optional
            Called as ``progress(done, total)`` after each finished block.

        Returns
        -------
        Neighbours
            The scores are exact whatever the index; an approximate one may overlook a key.
        """
        k = check_count(k, "k")
        rows = Rows(queries, "queries", unit=self._prepared.settings.unit)
        scan = Scan(rows, self._keys, max_memory, kept=max(k, self._prepared.settings.n_neighbours))
        if self._graph is None or k >= len(self._keys):
            return self._prepared.search(scan, k, Steps(progress, len(scan)))
        parts = list(row_blocks(len(rows), QUERIES_AT_A_TIME))
        steps = Steps(progress, len(parts))
        indices, scores = np.empty((len(rows), k), dtype=np.int64), np.empty((len(rows), k), dtype=np.float32)
        for part in parts:
            indices[part], scores[part] = self._approximate(rows.read(part), k, self._graph)
            steps()
        return Neighbours(indices, scores)

    def recall(self, queries: ArrayLike, k: int = 10) -> float:
        """Measure which share of the exact ``k`` nearest keys this index finds for these queries.

        Parameters
        ----------
        queries : array-like of shape (q, d)
            A sample of what will be asked; a few hundred are enough.
        k : int
            Number of neighbours.

        Returns
        -------
        float
            1 for an exact index. Which of two copies of a key is found makes a difference.
        """
        exact = Index(self._keys, self._prepared, "exact", None).neighbours(queries, k)
        if exact.indices.size == 0:
            return 1.0
        found = self.neighbours(queries, k)
        hits = [np.isin(row, other) for row, other in zip(exact.indices, found.indices, strict=True)]
        return float(np.mean(hits))

    def _approximate(self, queries: Block, k: int, graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        prepared = self._prepared
        last = np.ones((len(queries.vectors), 1), dtype=np.float32)
        columns, scores = self._best_of(queries, np.hstack([queries.vectors, last]), k, graph, prepared.offsets)
        if prepared.settings.retrieval != "csls":
            return columns, prepared.finish(scores)
        near = min(prepared.settings.n_neighbours, len(self._keys))
        # With 0 in the place of the offset, the graph is searched by cosine alone.
        _, cosines = self._best_of(queries, np.hstack([queries.vectors, 0 * last]), near, graph, None)
        return columns, prepared.finish(scores, cosines.mean(axis=1, dtype=np.float64).astype(np.float32))

    def _best_of(
        self, queries: Block, asked: NDArray[np.float32], k: int, graph: Graph, offsets: NDArray[np.float32] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Let the graph propose keys, and score these exactly."""
        pairs = Pairs(queries, self._keys.read_all(), slice(0, len(asked)), slice(0, len(self._keys)))
        vectors = pairs.vectors(offsets)
        proposed = graph(asked, min(len(self._keys), max(2 * k, _CANDIDATES)))
        packed = np.empty((len(asked), k), dtype=np.int64)
        for row, columns in enumerate(proposed):
            columns = np.unique(columns[columns >= 0])
            if len(columns) < k:  # a graph may fall apart; then look at every key
                columns = np.arange(len(self._keys))
            exact = np.empty(len(columns), dtype=np.float32)
            kernels().score_pairs(vectors, np.full(len(columns), row), columns, exact)
            packed[row] = np.sort(pack(exact, columns))[:k]
        return unpack(packed)


def build_index(
    keys: ArrayLike,
    *,
    retrieval: str = "cosine",
    index: str = "exact",
    n_neighbours: int = 10,
    beta: float = 30.0,
    hub_reference: ArrayLike | None = None,
    max_memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> Index:
    """Prepare keys for many searches: they are converted, and their hubs measured, once.

    Parameters
    ----------
    keys : array-like of shape (m, d)
        Vectors, one per row. A float32 copy is kept.
    retrieval : {"cosine", "nn", "dot", "csls", "isf", "dualis"}
        How a query and a key are scored; see :func:`fipp.retrieve.neighbours`.
    index : {"exact", "usearch", "faiss"}
        ``"exact"`` compares every query with every key. The others walk a graph of near keys (HNSW) made by that
        library, ``pip install 'fipp[ann]'``: building it takes long, a search is then much faster for single
        queries, and may overlook a key; :meth:`Index.recall` measures how often. Built by several threads, the
        graph may differ from one run to the next.
    n_neighbours : int
        Number of neighbours in the means of CSLS.
    beta : float
        β of the inverted softmax.
    hub_reference : array-like of shape (n, d), optional
        What ``"csls"``, ``"isf"`` and ``"dualis"`` measure hubs against, and need: the whole mapped source vocabulary.
    max_memory : int, float or str, optional
        Working memory beside inputs and index; 1 GiB by default.
    progress : callable, optional
        Called as ``progress(done, total)`` while hubs are measured.

    Returns
    -------
    Index
        Its method ``neighbours`` searches.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp.retrieve import build_index
    >>> index = build_index(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    >>> index.neighbours([[2.0, 0.1]], k=2).indices
    array([[0, 2]])
    """
    settings = Settings.checked(retrieval, n_neighbours, beta)
    if corrects_hubs(settings.retrieval) and hub_reference is None:
        raise FippError(f"{settings.retrieval} measures hubs: give hub_reference, the whole mapped source vocabulary")
    given = Rows(keys, "keys", unit=settings.unit)
    if len(given) == 0:
        raise FippError("keys has no rows: there is nothing to search in")
    rows = given.converted()
    reference = settings.reference(rows, hub_reference)
    hubs = Hubs.plan(settings, rows, reference, max_memory)
    prepared = Prepared(settings, hubs.offsets(Steps(progress, len(hubs))), len(reference), len(rows))
    return Index(rows, prepared, index, _build_graph(index, rows, prepared.offsets))


def _build_graph(kind: str, keys: Rows, offsets: NDArray[np.float32] | None) -> Graph | None:
    """Return the graph of a library; None for an exact search.

    The score cos(x, y) - o(y) is an inner product, (x, 1)·(y, -o(y)), so with one more dimension the libraries can
    search by every way to score.
    """
    if kind == "exact":
        return None
    if kind not in _BUILDERS:
        raise FippError(f"index {kind!r} is not known; choose from exact, {', '.join(_BUILDERS)}")
    vectors = keys.read_all().vectors
    last = np.zeros(len(keys), dtype=np.float32) if offsets is None else -offsets
    lengths = np.square(vectors, dtype=np.float64).sum(axis=1) + np.square(last, dtype=np.float64)
    # One more number, 0 in queries, makes all keys equally long: in a graph of inner products, short keys get lost.
    filler = np.sqrt(lengths.max() - lengths).astype(np.float32)
    search = _BUILDERS[kind](np.hstack([vectors, last[:, None], filler[:, None]]))
    return lambda queries, count: search(np.pad(queries, ((0, 0), (0, 1))), count)


def _usearch(vectors: NDArray[np.float32]) -> Graph:
    index = require("usearch.index", "index 'usearch'", extra="ann").Index(
        ndim=vectors.shape[1], metric="ip", dtype="f32", connectivity=_NEIGHBOURS_IN_GRAPH, expansion_search=_CANDIDATES
    )
    index.add(np.arange(len(vectors), dtype=np.uint64), vectors, threads=n_threads())

    def search(queries: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        index.expansion_search = max(_CANDIDATES, count)
        matches = index.search(queries, count, threads=n_threads())
        found = np.atleast_2d(np.asarray(matches.keys)).astype(np.int64)
        counts: NDArray[np.int64] = np.atleast_1d(np.asarray(getattr(matches, "counts", found.shape[1])))
        return np.where(np.arange(found.shape[1]) < counts[:, None], found, -1)

    return search


def _faiss(vectors: NDArray[np.float32]) -> Graph:
    faiss = require("faiss", "index 'faiss'", extra="ann")
    index = faiss.IndexHNSWFlat(vectors.shape[1], _NEIGHBOURS_IN_GRAPH, faiss.METRIC_INNER_PRODUCT)
    index.add(vectors)

    def search(queries: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        index.hnsw.efSearch = max(_CANDIDATES, count)
        found: NDArray[np.int64] = index.search(queries, count)[1]
        return found

    return search


_BUILDERS = {"usearch": _usearch, "faiss": _faiss}
