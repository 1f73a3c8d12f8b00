"""CSLS of whole vocabularies with one product instead of two.

The usual way multiplies everything twice: once for r_S, how close each key is to its nearest queries, and once for
the scores that need r_S. But r_S of *some* keys is known as soon as all queries have passed by these. So the scores of
all queries with a strip of keys are held, narrow enough to fit in memory; their columns give r_S of the strip, and
what was held is ranked by CSLS without another product. What is returned is the same, bit by bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fipp.linalg import n_threads, ordered_map, parse_memory, row_blocks
from fipp.retrieve._best import Best
from fipp.retrieve._collect import Collector
from fipp.retrieve._options import Ticker
from fipp.retrieve._rows import Block, Rows
from fipp.retrieve._scores import Pairs, read_block

# Measured on 300 dimensions: narrower strips are not worth it, wider ones hardly faster.
NARROWEST = 256
WIDEST = 2048
QUERIES_AT_A_TIME = 1024


class Sweep:
    """One product of all queries with all keys for CSLS; see :meth:`plan`.

    Examples
    --------
    >>> rows = Rows(np.eye(3), "rows", unit=True)
    >>> sweep = Sweep.plan(rows, rows, 1, 1, None)
    >>> sweep.run(Ticker(None, len(sweep)))
    (array([[0], [1], [2]]), array([[0.], [0.], [0.]], dtype=float32))
    """

    def __init__(self, queries: Rows, keys: Rows, k: int, n_neighbours: int, width: int) -> None:
        self._queries, self._keys = queries, keys
        self._k, self._csls_k = min(k, len(keys)), min(n_neighbours, len(keys))
        self._hub_k = min(n_neighbours, len(queries))
        self._strips = list(row_blocks(len(keys), width))
        self._blocks = list(row_blocks(len(queries), QUERIES_AT_A_TIME))

    @classmethod
    def plan(
        cls, queries: Rows, keys: Rows, k: int, n_neighbours: int, max_memory: int | float | str | None
    ) -> Sweep | None:
        """Return the sweep if all queries and their scores with a strip of keys fit in memory, else None."""
        if queries.dimensions != keys.dimensions or len(queries) == 0 or len(keys) == 0:
            return None
        kept = min(max(k, n_neighbours), max(len(keys), len(queries)))
        size = min(QUERIES_AT_A_TIME, len(queries))
        # Each thread has marks of a byte a score, and partial maxima; what is kept
        # of a query and of a key is packed and sorted.
        fixed = len(queries) * (4 * queries.dimensions + 8) + 128 * kept * size * (n_threads() + 1)
        per_key = 4 * len(queries) + 8 * keys.dimensions + 9 * n_threads() * size + 128 * kept * (n_threads() + 2)
        width = (parse_memory(max_memory) - fixed) // per_key
        return cls(queries, keys, k, n_neighbours, min(width, WIDEST)) if width >= min(NARROWEST, len(keys)) else None

    def __len__(self) -> int:
        return 2 * len(self._strips) * len(self._blocks)

    def run(self, tick: Ticker) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return row numbers and scores, best first."""
        queries = read_block(self._queries, slice(0, len(self._queries)))
        held = np.empty((len(queries.vectors), self._strips[0].stop), dtype=np.float32)
        nearest, best = Best(len(queries.vectors), self._csls_k), Best(len(queries.vectors), self._k)
        for columns in self._strips:
            width = columns.stop - columns.start
            scores = held.reshape(-1)[: len(held) * width].reshape(len(held), width)
            keys = read_block(self._keys, columns)
            half = self._multiply(queries, keys, columns, scores, nearest, tick) / np.float32(2)
            self._rank(queries, keys, columns, scores, half, best, tick)
        indices, found = best.result()
        return indices, 2 * found - nearest.means()[:, None]

    def _multiply(
        self,
        queries: Block,
        keys: Block,
        columns: slice,
        out: NDArray[np.float32],
        nearest: Best,
        tick: Ticker,
    ) -> NDArray[np.float32]:
        """Fill ``out`` with cosines, keep the nearest keys of each query, and give r_S of these keys."""
        of_keys, whole = Best(len(keys.vectors), self._hub_k), slice(0, len(keys.vectors))

        def work(rows: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            pairs, scores = Pairs.of(queries.part(rows), keys, rows, columns), out[rows]
            np.matmul(pairs.queries.vectors, keys.vectors.T, out=scores)
            return (
                _best_of(pairs, scores, self._csls_k, nearest.floor[rows]),
                _best_of(pairs.transposed(), scores.T, self._hub_k, of_keys.floor),
            )

        for rows, (of_rows, of_columns) in zip(self._blocks, ordered_map(work, self._blocks), strict=True):
            nearest.add(rows, of_rows)
            of_keys.add(whole, of_columns)
            tick()
        return of_keys.means()

    def _rank(
        self,
        queries: Block,
        keys: Block,
        columns: slice,
        cosines: NDArray[np.float32],
        half: NDArray[np.float32],
        best: Best,
        tick: Ticker,
    ) -> None:
        def work(rows: slice) -> NDArray[np.int64]:
            scores = cosines[rows]
            scores -= half
            pairs = Pairs.of(queries.part(rows), keys, rows, columns)
            return _best_of(pairs, scores, self._k, best.floor[rows], half)

        for rows, found in zip(self._blocks, ordered_map(work, self._blocks), strict=True):
            best.add(rows, found)
            tick()


def _best_of(
    pairs: Pairs,
    scores: NDArray[np.float32],
    k: int,
    floor: NDArray[np.float32],
    offset: NDArray[np.float32] | None = None,
) -> NDArray[np.int64]:
    found = Collector(pairs, k, floor, offset)
    found.add(slice(0, scores.shape[1]), scores)
    return found.best()
