"""The compiled loops of the search: they look through tiles of products, and settle close scores exactly.

This module imports numba, so it is itself imported only when a search runs. All compiled functions are in this file,
because numba notices only changes of the file that a cached function is in.

The best scores of a row are collected in a *shortlist*, which has room for more than the k wanted. What is below the
row's ``low`` cannot be among the k best, so that most blocks of a tile are passed over after one comparison. A full
shortlist is cut down to what may still be among the best: by fast scores if they can tell, otherwise by exact ones.
Loops count in unsigned integers: signed ones may count from the end, and numba then uses no vector instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])

Lists = tuple[
    NDArray[np.float32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.float32],
    NDArray[np.float64],
]
"""Shortlists, one in each row: scores, columns, how many there are, how many of these are exact, the lowest score that
is of interest, and the error of a fast score."""
Vectors = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]
"""The vectors that have shortlists, those that are listed, and what is subtracted from the scores with the latter."""
Room = tuple[NDArray[np.float64], NDArray[np.float32], NDArray[np.int64]]
"""Room to calculate in: for the partial sums of an exact score, and for a shortlist of fast and of exact scores."""

EMPTY = np.iinfo(np.int64).max
# Scores in a block. It is an argument where it is used: numba unrolls a loop whose length it knows, which is slower.
BLOCK = 32
_PARTIAL_SUMS = 32
_ALL_BUT_SIGN = np.int64(0x7FFFFFFF)

_MATRIX = "float32[:, ::1]"
_LISTS = f"Tuple(({_MATRIX}, int32[:, ::1], int32[::1], int32[::1], float32[::1], float64[::1]))"
_VECTORS = f"Tuple(({_MATRIX}, {_MATRIX}, float32[::1]))"


def _compiled(signature: str, *, any_order: bool = False) -> Callable[[Function], Function]:
    """Compile a function now, or load it from numba's cache; it runs without Python's lock.

    With ``any_order``, sums may be added in another order than written, which vector instructions need.

    The cache is in ``__pycache__`` beside this file or, if that cannot be written, in the user's own cache folder. Like
    the ``.pyc`` files there it is code, and as safe as the folder; no file that a user gives to fipp leads to it.
    """
    freedom: Any = {"reassoc", "contract", "nsz"} if any_order else False

    def decorate(function: Function) -> Any:
        try:
            return njit(signature, nogil=True, fastmath=freedom, cache=True)(function)
        except (OSError, RuntimeError):  # there is nowhere to write: compile for this process alone
            return njit(signature, nogil=True, fastmath=freedom)(function)

    return decorate


@_compiled(f"void({_MATRIX}, {_MATRIX}, {_MATRIX})", any_order=True)
def multiply(queries: NDArray, keys: NDArray, tile: NDArray) -> None:
    """Write the products of a few queries with many keys to a tile, reading each key once.

    BLAS first copies the keys into a form in which many queries are fast; for a few, that takes longer than the rest.
    """
    few, size = np.uint64(queries.shape[0]), np.uint64(keys.shape[1])
    for key in range(np.uint64(keys.shape[0])):
        query = np.uint64(0)
        while query + np.uint64(4) <= few:  # four sums at a time stay in registers
            one, two, three, four = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
            for i in range(size):
                value = keys[key, i]
                one += value * queries[query, i]
                two += value * queries[query + np.uint64(1), i]
                three += value * queries[query + np.uint64(2), i]
                four += value * queries[query + np.uint64(3), i]
            tile[query, key], tile[query + np.uint64(1), key] = one, two
            tile[query + np.uint64(2), key], tile[query + np.uint64(3), key] = three, four
            query += np.uint64(4)
        while query < few:
            one = np.float32(0)
            for i in range(size):
                one += keys[key, i] * queries[query, i]
            tile[query, key] = one
            query += np.uint64(1)


@njit
def _exact(X: NDArray, row: Any, Y: NDArray, column: Any, sums: NDArray) -> Any:
    """Return the dot product of two rows in float64, where every product is exact, added in a fixed order."""
    size, step = np.uint64(X.shape[1]), np.uint64(len(sums))
    for i in range(step):
        sums[i] = 0.0
    for start in range(np.uint64(0), size, step):
        for i in range(min(step, size - start)):
            sums[i] += np.float64(X[row, start + i]) * np.float64(Y[column, start + i])
    total = 0.0
    for i in range(step):
        total += sums[i]
    return total


@njit
def _pack(score: Any, column: int) -> Any:
    """Write score and column into one integer, as `fipp.retrieve._best.pack` does."""
    bits = np.int64(np.float32(score + np.float32(0)).view(np.int32))
    if bits < 0:
        bits ^= _ALL_BUT_SIGN
    return (~bits << 32) | np.int64(column)


@njit
def _select(values: NDArray, size: int, k: int) -> Any:
    """Return the k-th smallest of the first ``size`` values, which are moved about."""
    left, right = 0, size - 1
    while left < right:
        pivot = values[(left + right) // 2]
        i, j = left, right
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            right = j
        elif k - 1 >= i:
            left = i
        else:
            break
    return values[k - 1]


@njit
def _make_scratch(lists: Lists) -> Room:
    size = lists[0].shape[1]
    return np.empty(_PARTIAL_SUMS), np.empty(size, dtype=np.float32), np.empty(size, dtype=np.int64)


@njit
def _cut(lists: Lists, row: int, k: int, room: Room) -> Any:
    """Drop what cannot be among the k best from a shortlist, and return the lowest score of interest."""
    values, columns, counts, settled, low, error = lists
    count, lowest = counts[row], low[row]
    if count > k:
        for i in range(count):
            room[1][i] = -values[row, i]
        # The k-th best exact score is at least the k-th best fast one less the error.
        lowest = max(lowest, np.float32(-np.float64(_select(room[1], count, k)) - 2 * error[row]))
    kept = exact = 0
    for i in range(count):
        if values[row, i] >= lowest:
            if i < settled[row]:
                exact += 1
            values[row, kept], columns[row, kept] = values[row, i], columns[row, i]
            kept += 1
    counts[row], settled[row] = kept, exact
    return lowest


@njit
def _settle(lists: Lists, row: int, k: int, vectors: Vectors, room: Room) -> None:
    """Score what a shortlist holds exactly, and keep the k best, of equals those with the lowest columns."""
    values, columns, counts, settled, _, _ = lists
    own, others, offset = vectors
    count = counts[row]
    for i in range(settled[row], count):
        column = np.uint64(columns[row, i])
        score = _exact(own, np.uint64(row), others, column, room[0]) - np.float64(offset[column])
        values[row, i] = np.float32(score)
    if count > k:
        for i in range(count):
            room[2][i] = _pack(values[row, i], columns[row, i])
        last = _select(room[2], count, k)
        count = 0
        for i in range(counts[row]):
            if _pack(values[row, i], columns[row, i]) <= last:
                values[row, count], columns[row, count] = values[row, i], columns[row, i]
                count += 1
    counts[row] = settled[row] = count


@njit
def _make_room(lists: Lists, row: Any, k: int, vectors: Vectors, room: Room) -> None:
    """Cut a full shortlist down, and raise ``low``."""
    values, _, counts, _, low, error = lists
    lowest = _cut(lists, row, k, room)
    if counts[row] > k + (values.shape[1] - k) // 2:  # only exact scores can decide between many near ties
        _settle(lists, row, k, vectors, room)
        worst = values[row, 0]
        for i in range(1, k):
            worst = min(worst, values[row, i])
        lowest = max(lowest, np.float32(np.float64(worst) - error[row]))
    # Threads share the ``low`` of columns. Each writes what is true by itself, so that their order does no harm.
    if lowest > low[row]:
        low[row] = lowest


@njit
def _first_floor(tile: NDArray, row: Any, size: Any, offset: NDArray, maxima: NDArray, k: int, error: float) -> Any:
    """Return a first ``low`` for a row of a tile: k blocks reach the k-th highest of their maxima."""
    for number in range(np.uint64(len(maxima))):
        highest = np.float32(-np.inf)
        for i in range(number * size, number * size + size):
            highest = max(highest, tile[row, i] - offset[i])
        maxima[number] = -highest
    return np.float32(-np.float64(_select(maxima, len(maxima), k)) - 2 * error)


@_compiled(f"void({_MATRIX}, int64, int64, {_LISTS}, int64, {_VECTORS})")
def scan_rows(tile: NDArray, block: int, start: int, lists: Lists, k: int, vectors: Vectors) -> None:
    """Collect the k best scores of each row of a tile. Its columns begin at ``start`` of the vectors listed."""
    values, columns, counts, _, low, error = lists
    height, width, size = np.uint64(tile.shape[0]), np.uint64(tile.shape[1]), np.uint64(block)
    room, offset = _make_scratch(lists), vectors[2][start : start + tile.shape[1]]
    maxima = np.empty(np.int64(width // size), dtype=np.float32)
    for row in range(height):
        if low[row] == -np.inf and len(maxima) >= k:
            low[row] = _first_floor(tile, row, size, offset, maxima, k, error[row])
        for begin in range(np.uint64(0), width, size):
            end, lowest, hit = min(begin + size, width), low[row], np.int32(0)
            for i in range(begin, end):
                hit |= np.int32(tile[row, i] - offset[i] >= lowest)
            if hit == 0:
                continue
            for i in range(begin, end):
                score = tile[row, i] - offset[i]
                if score >= low[row]:
                    if counts[row] == values.shape[1]:
                        _make_room(lists, np.int64(row), k, vectors, room)
                    place = np.uint64(counts[row])
                    values[row, place] = score
                    columns[row, place] = start + np.int64(i)
                    counts[row] += 1


@njit
def _raise_floors(tile: NDArray, block: int, start: int, lists: Lists, k: int) -> None:
    """Find a first ``low`` for the columns of a tile: k blocks of rows reach the k-th highest of their maxima."""
    low, error = lists[4][start : start + tile.shape[1]], lists[5][start : start + tile.shape[1]]
    width, size = np.uint64(tile.shape[1]), np.uint64(block)
    blocks = tile.shape[0] // block
    if blocks < k or low.min() > -np.inf:
        return
    maxima = np.full((blocks, tile.shape[1]), np.float32(-np.inf), dtype=np.float32)
    for row in range(np.uint64(blocks) * size):
        for i in range(width):
            maxima[row // size, i] = max(maxima[row // size, i], tile[row, i])
    column = np.empty(blocks, dtype=np.float32)
    for i in range(width):
        for number in range(blocks):
            column[number] = -maxima[number, i]
        low[i] = max(low[i], np.float32(-np.float64(_select(column, blocks, k)) - 2 * error[i]))


@_compiled(f"void({_MATRIX}, int64, int64, int64, {_LISTS}, int64, {_VECTORS})")
def scan_columns(tile: NDArray, block: int, top: int, start: int, lists: Lists, k: int, vectors: Vectors) -> None:
    """Collect the k best scores of each column of a tile.

    Its rows begin at ``top`` of the vectors listed, its columns at ``start`` of those that have shortlists.
    """
    values, columns, counts, _, low, _ = lists
    height, width, size = np.uint64(tile.shape[0]), np.uint64(tile.shape[1]), np.uint64(block)
    room, floor = _make_scratch(lists), low[start : start + tile.shape[1]]
    _raise_floors(tile, block, start, lists, k)
    for row in range(height):
        for begin in range(np.uint64(0), width, size):
            end, hit = min(begin + size, width), np.int32(0)
            for i in range(begin, end):
                hit |= np.int32(tile[row, i] >= floor[i])
            if hit == 0:
                continue
            for i in range(begin, end):
                if tile[row, i] >= floor[i]:
                    column = np.uint64(start) + i
                    if counts[column] == values.shape[1]:
                        _make_room(lists, np.int64(column), k, vectors, room)
                    place = np.uint64(counts[column])
                    values[column, place] = tile[row, i]
                    columns[column, place] = top + np.int64(row)
                    counts[column] += 1


@_compiled(f"void({_LISTS}, {_VECTORS}, int64, int64, int64[:, ::1])")
def close(lists: Lists, vectors: Vectors, begin: int, first: int, packed: NDArray) -> None:
    """Settle the shortlists from ``begin`` on, and write the k best of each, packed, in any order.

    The vectors listed are numbered from ``first`` on.
    """
    values, columns, counts, _, _, _ = lists
    k, room = packed.shape[1], _make_scratch(lists)
    for number in range(len(packed)):
        row = begin + number
        _cut(lists, row, k, room)
        _settle(lists, row, k, vectors, room)
        for i in range(k):
            packed[number, i] = _pack(values[row, i], first + columns[row, i]) if i < counts[row] else EMPTY


@_compiled(f"void({_MATRIX}, int64, int64, int64[::1], float32[::1], float64[::1], {_VECTORS}, int64[::1])")
def count_reaching(
    tile: NDArray,
    block: int,
    start: int,
    rows: NDArray,
    goals: NDArray,
    error: NDArray,
    vectors: Vectors,
    counts: NDArray,
) -> None:
    """Count for each goal the scores in its row of a tile that reach it. Its columns begin at ``start``."""
    own, others, offset = vectors[0], vectors[1], vectors[2][start : start + tile.shape[1]]
    width, size, sums = np.uint64(tile.shape[1]), np.uint64(block), np.empty(_PARTIAL_SUMS)
    for number in range(len(goals)):
        row, goal = np.uint64(rows[number]), goals[number]
        high, low = np.float32(goal + error[row]), np.float32(goal - error[row])
        for begin in range(np.uint64(0), width, size):
            end, surely, perhaps = min(begin + size, width), np.int32(0), np.int32(0)
            for i in range(begin, end):
                score = tile[row, i] - offset[i]
                surely += np.int32(score > high)
                perhaps += np.int32(score >= low)
            counts[number] += surely
            if surely == perhaps:
                continue
            # Only what is within the error of the goal needs an exact score; the gold key is there too.
            for i in range(begin, end):
                score = tile[row, i] - offset[i]
                if low <= score <= high:
                    exact = _exact(own, row, others, np.uint64(start) + i, sums) - np.float64(offset[i])
                    counts[number] += np.float32(exact) >= goal


@_compiled(f"void({_VECTORS}, int64[::1], int64[::1], float32[::1])")
def score_pairs(vectors: Vectors, rows: NDArray, columns: NDArray, scores: NDArray) -> None:
    """Score pairs exactly, and round once."""
    own, others, offset = vectors
    sums = np.empty(_PARTIAL_SUMS)
    for i in range(len(rows)):
        column = np.uint64(columns[i])
        exact = _exact(own, np.uint64(rows[i]), others, column, sums)
        scores[i] = np.float32(exact - np.float64(offset[column]))
