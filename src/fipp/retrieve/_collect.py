"""The best keys of a block of queries, collected tile by tile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fipp.linalg import row_blocks
from fipp.retrieve._best import EMPTY, Best, kth_scores, pack, reach_of_best
from fipp.retrieve._scores import Pairs

Found = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]

# What is held of a query at a time, in multiples of k: of one tile, and in all before exact scores decide.
_MOST_NEW, _MOST = 2, 3


class Collector:
    """Collects of some queries the keys that may be among the ``k`` best; only these are scored exactly, at the end.

    Parameters
    ----------
    pairs : Pairs
        The queries and all keys whose scores will be added.
    k : int
        How many of each query to find.
    floor : ndarray of float32, shape (queries,)
        The ``k``-th best score that each query has elsewhere: of keys below it any may be left out.
    offset : ndarray of float32, shape (keys,), optional
        What the scores of each key were lowered by.
    """

    def __init__(
        self, pairs: Pairs, k: int, floor: NDArray[np.float32], offset: NDArray[np.float32] | None = None
    ) -> None:
        self._pairs, self._k, self._offset = pairs, k, offset
        self._best = Best(len(floor), k)
        # Queries of zeros tie with most keys, or all; they share one list, made once.
        self._zero = pairs.queries.lengths == 0
        self._floor = np.where(self._zero, np.inf, floor.astype(np.float64))
        self._found: list[Found] = []
        self._unsorted = 0
        self._marks = np.empty(0, dtype=np.bool_)

    def add(self, part: slice, scores: NDArray[np.float32]) -> None:
        """Look through the fast scores with some of the keys."""
        if np.isneginf(self._floor).any():
            # At least k keys have a fast score of this reach, so an exact one of that less the error.
            self._floor = np.maximum(self._floor, reach_of_best(scores, self._k) - self._pairs.error)
        marks = self._mark(scores)
        width = scores.shape[1]
        if width > 1 and np.count_nonzero(marks) > _MOST_NEW * self._k * len(scores):
            # Many near ties: less is held of them at a time.
            for few in row_blocks(width, (width + 1) // 2):
                self.add(slice(part.start + few.start, part.start + few.stop), scores[:, few])
            return
        rows, columns = _places(marks)
        self._found.append((rows, columns + part.start, scores[rows, columns]))
        self._unsorted += len(rows)
        # Half as many new ones as are wanted raise the floor enough to be worth sorting.
        if self._unsorted > len(scores) * self._k // 2:
            self._raise_floor()

    def _lowest(self) -> NDArray[np.float32]:
        return (self._floor - self._pairs.error).astype(np.float32)

    def _mark(self, scores: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Mark the scores that may be among the best, in the order in which they stand in memory."""
        if len(self._marks) < scores.size:
            self._marks = np.empty(scores.size, dtype=np.bool_)
        by_column = scores.strides[0] < scores.strides[1]
        marks = self._marks[: scores.size].reshape(scores.T.shape if by_column else scores.shape)
        return np.greater_equal(scores, self._lowest()[:, None], out=marks.T if by_column else marks)

    def _raise_floor(self) -> None:
        """Raise the floor to what was found, and drop what it leaves behind."""
        rows, columns, scores = (np.concatenate(parts) for parts in zip(*self._found, strict=True))
        size, k = len(self._floor), self._k
        self._floor = np.maximum(self._floor, kth_scores(rows, scores, size, k) - self._pairs.error)
        kept = scores >= self._lowest()[rows]
        self._found, self._unsorted = [(rows[kept], columns[kept], scores[kept])], 0
        if np.count_nonzero(kept) > _MOST * k * size:  # many near ties, which only exact scores can tell apart
            self._settle()

    def _settle(self) -> None:
        """Score what was found exactly, and keep the best."""
        rows, columns, _ = (np.concatenate(parts) for parts in zip(*self._found, strict=True))
        self._found = []
        packed = pack(self._pairs.exact(rows, columns, self._offset), columns + self._pairs.columns.start)
        order = np.lexsort((packed, rows))
        packed, rows = packed[order], rows[order]
        size = len(self._floor)
        place = np.arange(len(rows)) - np.searchsorted(rows, np.arange(size))[rows]
        kept = place < self._k
        best = np.full((size, self._k), EMPTY)
        best[rows[kept], place[kept]] = packed[kept]
        self._best.add(slice(0, size), best)
        self._floor = np.maximum(self._floor, self._best.floor)

    def best(self) -> NDArray[np.int64]:
        """Return the ``k`` best keys of each query, packed; with fewer keys the last places stay empty."""
        if self._unsorted > 0:
            self._raise_floor()
        if self._found:
            self._settle()
        packed = self._best.packed
        if self._zero.any():
            shared = self._best_of_zeros()
            packed[self._zero, : len(shared)] = shared
        return packed

    def _best_of_zeros(self) -> NDArray[np.int64]:
        columns = np.arange(self._pairs.columns.start, self._pairs.columns.stop)
        known = np.zeros(len(columns), dtype=np.float32) if self._offset is None else -self._offset
        return np.sort(pack(known, columns))[: self._k]


def _places(marks: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of what is marked."""
    if marks.flags.c_contiguous:
        rows, columns = np.divmod(np.flatnonzero(marks), marks.shape[1])
    else:
        columns, rows = np.divmod(np.flatnonzero(marks.T), marks.shape[0])
    return rows, columns
