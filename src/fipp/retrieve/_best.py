"""The best few keys of every query, collected tile by tile; ties are broken by the lower row number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fipp.linalg import row_blocks
from fipp.retrieve._scan import Pairs

# The maximum of a group of this many scores is one vectorised step; the maxima are few enough to partition quickly.
_GROUPS = (32, 8)
_EMPTY = np.iinfo(np.int64).max
# How many keys of a query are held at a time, in multiples of k: from one tile, and in all before exact scores decide.
_MOST_NEW, _MOST = 2, 3

Found = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]
"""Rows, columns and fast scores."""


def _descending(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return integers of 32 bits in the reverse order of the scores."""
    # Read as integers, positive floats are in order and negative ones in reverse; adding 0 turns -0 into 0.
    bits = (scores + np.float32(0)).view(np.int32)
    return (~np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)).astype(np.int64)


def _score(descending: NDArray[np.int64]) -> NDArray[np.float32]:
    ascending = ~descending.astype(np.int32)
    return np.where(ascending < 0, ascending ^ np.int32(0x7FFFFFFF), ascending).view(np.float32)


def pack(scores: NDArray[np.float32], columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Write score and column into one integer: in sorted order the best score is first, then the lowest column.

    Examples
    --------
    >>> packed = np.sort(pack(np.float32([-1, 0.5, 0.5, -0.0, 0]), np.array([0, 9, 4, 7, 8])))
    >>> unpack(packed)[0]
    array([4, 9, 7, 8, 0])
    """
    return _descending(scores) << 32 | columns


def unpack(packed: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Undo :func:`pack`: the columns and the scores."""
    return packed & 0xFFFFFFFF, _score(packed >> 32)


def _kth_scores(rows: NDArray[np.int64], scores: NDArray[np.float32], size: int, k: int) -> NDArray[np.float32]:
    """Return the ``k``-th best score of each of ``size`` rows, -inf for a row with fewer."""
    order = np.sort(rows << 32 | _descending(scores) + (1 << 31))
    first = np.searchsorted(order, np.arange(size + 1) << 32)
    enough = np.flatnonzero(np.diff(first) >= k)
    found = np.full(size, -np.inf, dtype=np.float32)
    found[enough] = _score((order[first[enough] + k - 1] & 0xFFFFFFFF) - (1 << 31))
    return found


def _reach_of_best(scores: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """Return for each row a number that ``k`` of its scores reach, and few others; -inf if it has fewer scores."""
    rows, columns = scores.shape
    if columns < k:
        return np.full(rows, -np.inf, dtype=np.float32)
    for size in _GROUPS:
        groups = columns // size
        if groups >= 4 * k:
            # k groups hold a score as high as the k-th highest of the maxima. Left-over columns need not be seen.
            scores = scores[:, : groups * size].reshape(rows, size, groups).max(axis=1)
            break
    return np.partition(scores, scores.shape[1] - k, axis=1)[:, -k]


class Best:
    """The ``k`` best keys of each of ``n`` queries among all blocks added so far."""

    def __init__(self, n: int, k: int) -> None:
        self.k, self.packed = k, np.full((n, k), _EMPTY)
        # The k-th best score so far. It only rises, so a thread that reads it late sees a floor that is too low, never
        # one that is too high: threads need not wait for each other, and the result is the same.
        self.floor = np.full(n, -np.inf, dtype=np.float32)

    def add(self, rows: slice, packed: NDArray[np.int64]) -> None:
        """Keep the best of the known and the new keys of these queries."""
        changed = np.flatnonzero(packed[:, 0] < self.packed[rows, -1])
        if len(changed) == 0:
            return
        both = np.concatenate([self.packed[rows][changed], packed[changed]], axis=1)
        best = np.sort(both, axis=1)[:, : self.k]
        self.packed[rows.start + changed] = best
        worst = best[:, -1]
        self.floor[rows.start + changed] = np.where(worst == _EMPTY, np.float32(-np.inf), unpack(worst)[1])

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return columns and scores, best first."""
        return unpack(self.packed)

    def means(self) -> NDArray[np.float32]:
        """Return the mean of the best scores of each query."""
        return self.result()[1].mean(axis=1, dtype=np.float64).astype(np.float32)


class Collector:
    """Collects the keys of some queries that may be among the ``k`` best; only these are scored exactly, at the end.

    Keys below ``floor``, the ``k``-th best score that each query has elsewhere, may be left out. ``offset`` lowers the
    scores of each key.
    """

    def __init__(
        self, pairs: Pairs, k: int, floor: NDArray[np.float32], offset: NDArray[np.float32] | None = None
    ) -> None:
        self._pairs, self._k, self._offset = pairs, k, offset
        self._best = Best(len(floor), k)
        # Queries of zeros tie with most keys or all of them; they share one list, which is made once.
        self._zero = pairs.queries.lengths == 0
        self._floor = np.where(self._zero, np.inf, floor.astype(np.float64))
        self._found: list[Found] = []
        self._unsorted = 0
        self._marks = np.empty(0, dtype=np.bool_)

    def add(self, part: slice, products: NDArray[np.float32]) -> None:
        """Subtract the offset from the products with some of the keys, in place, and look through these fast scores."""
        if self._offset is not None:
            products -= self._offset[part]
        self._look_through(part, products)

    def _look_through(self, part: slice, scores: NDArray[np.float32]) -> None:
        if np.isneginf(self._floor).any():
            # At least k keys have a fast score as high as this, so their exact scores are at most the error lower.
            self._floor = np.maximum(self._floor, _reach_of_best(scores, self._k) - self._pairs.error)
        marks = self._mark(scores)
        width = scores.shape[1]
        if width > 1 and np.count_nonzero(marks) > _MOST_NEW * self._k * len(scores):
            # There are many near ties: hold fewer of them at a time.
            for few in row_blocks(width, (width + 1) // 2):
                self._look_through(slice(part.start + few.start, part.start + few.stop), scores[:, few])
            return
        rows, columns = _places(marks)
        self._found.append((rows, columns + part.start, scores[rows, columns]))
        self._unsorted += len(rows)
        # From k / 2 new keys a query on, sorting raises the floor enough to be worth it.
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
        """Raise the floor to the k-th best score found, and drop the keys below it."""
        rows, columns, scores = (np.concatenate(parts) for parts in zip(*self._found, strict=True))
        size, k = len(self._floor), self._k
        self._floor = np.maximum(self._floor, _kth_scores(rows, scores, size, k) - self._pairs.error)
        kept = scores >= self._lowest()[rows]
        self._found, self._unsorted = [(rows[kept], columns[kept], scores[kept])], 0
        if np.count_nonzero(kept) > _MOST * k * size:  # only exact scores can decide between many near ties
            self._settle()

    def _settle(self) -> None:
        """Score the keys found exactly, and keep the best."""
        rows, columns, _ = (np.concatenate(parts) for parts in zip(*self._found, strict=True))
        self._found = []
        packed = pack(self._pairs.exact(rows, columns, self._offset), columns + self._pairs.columns.start)
        order = np.lexsort((packed, rows))
        packed, rows = packed[order], rows[order]
        size = len(self._floor)
        place = np.arange(len(rows)) - np.searchsorted(rows, np.arange(size))[rows]
        kept = place < self._k
        best = np.full((size, self._k), _EMPTY)
        best[rows[kept], place[kept]] = packed[kept]
        self._best.add(slice(0, size), best)
        self._floor = np.maximum(self._floor, self._best.floor)

    def best(self) -> NDArray[np.int64]:
        """Return the ``k`` best keys of each query, packed; if there are fewer keys, the last places stay empty."""
        if self._unsorted > 0:
            self._raise_floor()
        if self._found:
            self._settle()
        packed = self._best.packed
        if self._zero.any():
            columns = np.arange(self._pairs.columns.start, self._pairs.columns.stop)
            scores = np.zeros(len(columns), dtype=np.float32) if self._offset is None else -self._offset
            shared = np.sort(pack(scores, columns))[: self._k]
            packed[self._zero, : len(shared)] = shared
        return packed


def _places(marks: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and columns of the marks."""
    if marks.flags.c_contiguous:
        rows, columns = np.divmod(np.flatnonzero(marks), marks.shape[1])
    else:
        columns, rows = np.divmod(np.flatnonzero(marks.T), marks.shape[0])
    return rows, columns
