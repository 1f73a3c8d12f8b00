"""The best few keys of every query, ties broken by the lower row number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fipp.retrieve._scores import Scores

# A maximum over so many scores is one vectorised step; the maxima are then few enough to partition quickly.
_GROUP = 32
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


def best_of_block(scores: Scores, k: int) -> NDArray[np.int64]:
    """Give the ``k`` best keys of each query of a block, packed; with fewer keys the last places stay empty."""
    size = len(scores.fast)
    # At least k keys have a fast score of `floor`, so an exact one of floor - error; a fast score that is lower
    # than floor by more than twice the error cannot be among the k best.
    lowest = (_floor(scores.fast, k) - 2 * scores.error).astype(np.float32)
    possible = scores.fast >= lowest[:, None]
    zero = scores.queries.lengths == 0
    possible[zero] = False
    rows, columns = np.divmod(np.flatnonzero(possible), possible.shape[1])
    packed = pack(scores.exact(rows, columns), columns + scores.columns.start)
    packed = packed[np.lexsort((packed, rows))]
    place = np.arange(len(rows)) - np.searchsorted(rows, np.arange(size))[rows]
    kept = place < k
    best = np.full((size, k), _EMPTY)
    best[rows[kept], place[kept]] = packed[kept]
    if zero.any():
        # Queries of zeros tie with most keys, or all; they share one list, made once.
        shared = _best_of_zeros(scores, k)
        best[zero, : len(shared)] = shared
    return best


def _best_of_zeros(scores: Scores, k: int) -> NDArray[np.int64]:
    columns = np.arange(scores.columns.start, scores.columns.stop)
    known = np.zeros(len(columns), dtype=np.float32) if scores.offset is None else -scores.offset
    return np.sort(pack(known, columns))[:k]


def _floor(fast: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """Give for each row a number that at least ``k`` of its scores reach, and few others."""
    rows, columns = fast.shape
    if columns < k:
        return np.full(rows, -np.inf, dtype=np.float32)
    groups = columns // _GROUP
    if groups >= 4 * k:
        # k groups hold a score as high as the k-th highest of the maxima. Left-over columns need not be seen.
        fast = fast[:, : groups * _GROUP].reshape(rows, _GROUP, groups).max(axis=1)
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

    def add(self, rows: slice, packed: NDArray[np.int64]) -> None:
        """Keep the best of what was known and of what is new for these queries."""
        both = np.concatenate([self._packed[rows], packed], axis=1)
        self._packed[rows] = np.sort(both, axis=1)[:, : self._packed.shape[1]]

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Give columns and scores, best first."""
        return unpack(self._packed)
