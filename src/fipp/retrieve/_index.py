"""Keys prepared once and searched many times, exactly or by an approximate index."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp.exceptions import FippError
from fipp.linalg import Progress, row_blocks
from fipp.retrieve._approximate import CANDIDATES, Graph, build_graph
from fipp.retrieve._best import pack, unpack
from fipp.retrieve._hubs import Hubs
from fipp.retrieve._neighbours import Neighbours, Prepared, mean_of_best
from fipp.retrieve._options import Settings, Ticker, check_count, corrects_hubs
from fipp.retrieve._rows import Block, Rows
from fipp.retrieve._scores import Scan, pair_scores, read_block

QUERIES_AT_A_TIME = 256


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
            Working memory beside the index and the result; 1 GiB when left out.
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
            return self._prepared.search(scan, k, Ticker(progress, len(scan)))
        parts = list(row_blocks(len(rows), QUERIES_AT_A_TIME))
        tick, size = Ticker(progress, len(parts)), min(k, len(self._keys))
        indices = np.empty((len(rows), size), dtype=np.int64)
        scores = np.empty((len(rows), size), dtype=np.float32)
        for part in parts:
            indices[part], scores[part] = self._approximate(rows.read(part), size, self._graph)
            tick()
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
        self,
        queries: Block,
        asked: NDArray[np.float32],
        k: int,
        graph: Graph,
        offsets: NDArray[np.float32] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Let the graph propose, and score what it proposes exactly."""
        keys = read_block(self._keys, slice(0, len(self._keys)))
        proposed = graph(asked, min(len(self._keys), max(2 * k, CANDIDATES)))
        packed = np.empty((len(asked), k), dtype=np.int64)
        for row, columns in enumerate(proposed):
            columns = np.unique(columns[columns >= 0])
            if len(columns) < k:  # a graph may fall apart; then every key is looked at
                columns = np.arange(len(self._keys))
            exact = pair_scores(queries.vectors[row : row + 1], keys.vectors[columns])
            if offsets is not None:
                exact -= offsets[columns]
            packed[row] = np.sort(pack(exact.astype(np.float32), columns))[:k]
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
        Vectors, one a row. A float32 copy is kept.
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
        Working memory beside inputs and index; 1 GiB when left out.
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
    rows = given.converted(read_block(given, slice(0, len(given))))
    reference = settings.reference(rows, hub_reference)
    hubs = Hubs.plan(settings, rows, reference, max_memory)
    prepared = Prepared(settings, hubs.offsets(mean_of_best, Ticker(progress, len(hubs))), len(reference), len(rows))
    return Index(rows, prepared, index, build_graph(index, rows, prepared.offsets))
