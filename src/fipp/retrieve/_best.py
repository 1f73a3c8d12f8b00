"""The best few keys of every query, ties broken by the lower row number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# A maximum over so many scores is one vectorised step; the maxima are then few enough to partition quickly.
_GROUPS = (32, 8)
EMPTY = np.iinfo(np.int64).max


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


def kth_scores(rows: NDArray[np.int64], scores: NDArray[np.float32], size: int, k: int) -> NDArray[np.float32]:
    """Return the ``k``-th best score of each of ``size`` rows, -inf for a row with fewer.

    Examples
    --------
    >>> kth_scores(np.array([2, 0, 2, 2]), np.float32([1, 5, -3, 2]), size=3, k=2)
    array([-inf, -inf,   1.], dtype=float32)
    """
    order = np.sort(rows << 32 | _descending(scores) + (1 << 31))
    first = np.searchsorted(order, np.arange(size + 1) << 32)
    enough = np.flatnonzero(np.diff(first) >= k)
    found = np.full(size, -np.inf, dtype=np.float32)
    found[enough] = _score((order[first[enough] + k - 1] & 0xFFFFFFFF) - (1 << 31))
    return found


def reach_of_best(scores: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """Return for each row a number that at least ``k`` of its scores reach, and few others; -inf if it has fewer."""
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
        self.packed = np.full((n, k), EMPTY)
        # The k-th best score so far. It only rises, so that one who reads it late sees a floor that is too low, never
        # one too high: threads need not wait for each other, and find the same.
        self.floor = np.full(n, -np.inf, dtype=np.float32)

    def add(self, rows: slice, packed: NDArray[np.int64]) -> None:
        """Keep the best of what was known and of what is new for these queries."""
        changed = np.flatnonzero(packed[:, 0] < self.packed[rows, -1])
        if len(changed) == 0:
            return
        both = np.concatenate([self.packed[rows][changed], packed[changed]], axis=1)
        best = np.sort(both, axis=1)[:, : self.packed.shape[1]]
        self.packed[rows.start + changed] = best
        worst = best[:, -1]
        self.floor[rows.start + changed] = np.where(worst == EMPTY, np.float32(-np.inf), unpack(worst)[1])

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return columns and scores, best first."""
        return unpack(self.packed)

    def means(self) -> NDArray[np.float32]:
        """Return the mean of the best scores of each query."""
        return self.result()[1].mean(axis=1, dtype=np.float64).astype(np.float32)
