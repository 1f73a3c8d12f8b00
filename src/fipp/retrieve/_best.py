"""The best few keys of every query, ties broken by the lower row number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fipp.retrieve._scores import Scores

# A maximum over so many scores is one vectorised step; the maxima are then few enough to partition quickly.
_GROUPS = (32, 8)
_EMPTY = np.iinfo(np.int64).max


def pack(scores: NDArray[np.float32], columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Write score and column into one integer: in sorted order the best score is first, then the lowest column.

    Examples
    --------
    >>> packed = np.sort(pack(np.float32([-1, 0.5, 0.5, -0.0, 0]), np.array([0, 9, 4, 7, 8])))
    >>> unpack(packed)[0]
    array([4, 9, 7, 8, 0])
    """
    # Read as integers, positive floats are in order and negative ones in reverse; adding 0 turns -0 into 0.
    bits = (scores + np.float32(0)).view(np.int32)
    ascending = np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
    return (~ascending).astype(np.int64) << 32 | columns


def unpack(packed: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Undo :func:`pack`: the columns and the scores."""
    ascending = ~(packed >> 32).astype(np.int32)
    bits = np.where(ascending < 0, ascending ^ np.int32(0x7FFFFFFF), ascending)
    return packed & 0xFFFFFFFF, bits.view(np.float32)


def best_of_block(scores: Scores, k: int, floor: NDArray[np.float32] | None = None) -> NDArray[np.int64]:
    """Give the ``k`` best keys of each query of a block, packed; with fewer keys the last places stay empty.

    Of keys that score below ``floor``, a number for each query, any may be left out: the query has ``k`` better ones.
    """
    size = len(scores.fast)
    if floor is None or np.isneginf(floor).any():
        # At least k keys have a fast score of `least`, so an exact one of least - error; a fast score that is lower
        # than `least` by more than twice the error cannot be among the k best.
        lowest = _floor(scores.fast, k) - 2 * scores.error
        if floor is not None:
            lowest = np.maximum(lowest, floor - scores.error)
    else:
        lowest = floor - scores.error
    zero = scores.queries.lengths == 0
    rows, columns = _reaching(scores.fast, np.where(zero, np.inf, lowest).astype(np.float32))
    packed = pack(scores.exact(rows, columns), columns + scores.columns.start)
    order = np.lexsort((packed, rows))
    packed, rows = packed[order], rows[order]
    place = np.arange(len(rows)) - np.searchsorted(rows, np.arange(size))[rows]
    kept = place < k
    best = np.full((size, k), _EMPTY)
    best[rows[kept], place[kept]] = packed[kept]
    if zero.any():
        # Queries of zeros tie with most keys, or all; they share one list, made once.
        shared = _best_of_zeros(scores, k)
        best[zero, : len(shared)] = shared
    return best


def _reaching(fast: NDArray[np.float32], lowest: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give rows and columns of the scores that reach the lowest of their row, found in the order of memory."""
    if fast.flags.c_contiguous:
        rows, columns = np.divmod(np.flatnonzero(fast >= lowest[:, None]), fast.shape[1])
    else:
        columns, rows = np.divmod(np.flatnonzero(lowest <= fast.T), fast.shape[0])
    return rows, columns


def _best_of_zeros(scores: Scores, k: int) -> NDArray[np.int64]:
    columns = np.arange(scores.columns.start, scores.columns.stop)
    known = np.zeros(len(columns), dtype=np.float32) if scores.offset is None else -scores.offset
    return np.sort(pack(known, columns))[:k]


def _floor(fast: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """Give for each row a number that at least ``k`` of its scores reach, and few others."""
    rows, columns = fast.shape
    if columns < k:
        return np.full(rows, -np.inf, dtype=np.float32)
    for size in _GROUPS:
        groups = columns // size
        if groups >= 4 * k:
            # k groups hold a score as high as the k-th highest of the maxima. Left-over columns need not be seen.
            fast = fast[:, : groups * size].reshape(rows, size, groups).max(axis=1)
            break
    return np.partition(fast, fast.shape[1] - k, axis=1)[:, -k]


class Best:
    """The ``k`` best keys of each of ``n`` queries among all blocks added so far.

    Examples
    --------
    >>> best = Best(1, 2)
    >>> best.add(slice(0, 1), pack(np.float32([[3, 1]]), np.array([[0, 1]])))
    >>> best.add(slice(0, 1), pack(np.float32([[3, 2]]), np.array([[5, 6]])))
    >>> best.result()
    (array([[0, 5]]), array([[3., 3.]], dtype=float32))
    """

    def __init__(self, n: int, k: int) -> None:
        self._packed = np.full((n, k), _EMPTY)
        # The k-th best score so far. It only rises, so that one who reads it late sees a floor that is too low, never
        # one too high: threads need not wait for each other, and find the same.
        self.floor = np.full(n, -np.inf, dtype=np.float32)

    def add(self, rows: slice, packed: NDArray[np.int64]) -> None:
        """Keep the best of what was known and of what is new for these queries."""
        changed = np.flatnonzero(packed[:, 0] < self._packed[rows, -1])
        if len(changed) == 0:
            return
        both = np.concatenate([self._packed[rows][changed], packed[changed]], axis=1)
        best = np.sort(both, axis=1)[:, : self._packed.shape[1]]
        self._packed[rows.start + changed] = best
        worst = best[:, -1]
        self.floor[rows.start + changed] = np.where(worst == _EMPTY, np.float32(-np.inf), unpack(worst)[1])

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Give columns and scores, best first."""
        return unpack(self._packed)

    def means(self) -> NDArray[np.float32]:
        """Give the mean of the best scores of each query."""
        return self.result()[1].mean(axis=1, dtype=np.float64).astype(np.float32)
