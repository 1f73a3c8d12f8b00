"""The compiled loops of the search: they look through tiles of products, and settle close scores exactly.

This module is imported only when a search runs.

The best scores of a row are collected in a *shortlist*, which has room for more than the k wanted. What is below the
row's ``low`` cannot be among the k best, so that most blocks of a tile are passed over after one comparison. A full
shortlist is cut down to what may still be among the best: by fast scores if they can tell, otherwise by exact ones.
Loops count in unsigned integers: signed ones may count from the end, and numba then uses no vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numpy.typing import NDArray

from fipp._compiled import compiled, instruction

Lists = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.float32], NDArray[np.float64]]
"""Shortlists, one in each row: scores with their columns, packed; how many there are; how many of these are exact; the
lowest score that is of interest; and the error of a fast score."""
Vectors = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]
"""The vectors that have shortlists, those that are listed, and what is subtracted from the scores with the latter."""
Room = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Room to calculate in: for the partial sums of an exact score, and for a copy of a shortlist."""

EMPTY = np.iinfo(np.int64).max
BLOCK = 32
"""How many scores are compared at a time."""
# A first ``low`` is found among the highest scores of so many groups, or a multiple: at least four for each wanted.
_GROUPS = 32
_PARTIAL_SUMS = 32
_ALL_BUT_SIGN = np.int64(0x7FFFFFFF)
_COLUMN = np.int64(0xFFFFFFFF)

_MATRIX = "float32[:, ::1]"
_LISTS = "Tuple((int64[:, ::1], int32[::1], int32[::1], float32[::1], float64[::1]))"
_VECTORS = f"Tuple(({_MATRIX}, {_MATRIX}, float32[::1]))"


@compiled(f"void({_MATRIX}, {_MATRIX}, {_MATRIX})", any_order=True)
def multiply(queries: NDArray[Any], keys: NDArray[Any], tile: NDArray[Any]) -> None:
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
def _exact(X: NDArray[Any], row: Any, Y: NDArray[Any], column: Any, sums: NDArray[Any]) -> Any:
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


@njit(inline="always")
def _pack(score: Any, column: Any) -> Any:
    """Write score and column into one integer, as `fipp.retrieve._best.pack` does."""
    bits = np.int64(np.float32(score + np.float32(0)).view(np.int32))
    if bits < 0:
        bits ^= _ALL_BUT_SIGN
    return (~bits << 32) | np.int64(column)


@njit
def _score(packed: Any) -> Any:
    bits = ~(packed >> 32)
    if bits < 0:
        bits ^= _ALL_BUT_SIGN
    return np.int32(bits).view(np.float32)


@instruction
def _compare_block(_: Any, tile: Any, row: Any, begin: Any, offset: Any, lowest: Any) -> Any:
    """Return a bit for each of 32 scores of a row from ``begin`` on: whether it reaches ``lowest`` less its offset.

    LLVM makes a few vector instructions of this, whatever the processor; of a loop it makes ten times as many.
    """

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        block = ir.VectorType(ir.FloatType(), BLOCK)

        def load(number: int, place: Any) -> Any:
            array = context.make_array(signature.args[number])(context, builder, given[number])
            return builder.load(builder.bitcast(builder.gep(array.data, [place]), block.as_pointer()), align=4)

        tile = context.make_array(signature.args[0])(context, builder, given[0])
        width = builder.extract_value(tile.shape, 1)
        scores = load(0, builder.add(builder.mul(given[1], width), given[2]))
        one = builder.insert_element(ir.Constant(block, ir.Undefined), given[4], ir.Constant(ir.IntType(32), 0))
        many = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK))
        reached = builder.fcmp_ordered(">=", builder.fsub(scores, load(3, given[2])), many)
        return builder.bitcast(reached, ir.IntType(BLOCK))

    return types.uint32(tile, types.uint64, types.uint64, offset, types.float32), generate


@instruction
def _lowest_bit(_: Any, bits: Any) -> Any:
    """Return the number of the lowest bit that is set."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        found = builder.cttz(given[0], ir.Constant(ir.IntType(1), 1))
        return builder.zext(found, ir.IntType(64))

    return types.uint64(types.uint32), generate


@njit
def _compare_rest(tile: NDArray[Any], row: Any, begin: Any, offset: NDArray[Any], lowest: Any) -> Any:
    """Do what `_compare_block` does if fewer scores are left."""
    bits = np.uint32(0)
    for i in range(begin, np.uint64(tile.shape[1])):
        if tile[row, i] - offset[i] >= lowest:
            bits |= np.uint32(1) << np.uint32(i - begin)
    return np.uint32(bits)


@njit
def _select(values: NDArray[Any], size: int, k: int) -> Any:
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
    return np.empty(_PARTIAL_SUMS), np.empty(lists[0].shape[1], dtype=np.int64)


@njit
def _cut(lists: Lists, row: int, k: int, room: Room) -> Any:
    """Drop what cannot be among the k best from a shortlist, and return the lowest score of interest."""
    packed, counts, settled, low, error = lists
    count, lowest = counts[row], low[row]
    if count > k:
        room[1][:count] = packed[row, :count]
        # The k-th best exact score is at least the k-th best fast one less the error.
        lowest = max(lowest, np.float32(np.float64(_score(_select(room[1], count, k))) - 2 * error[row]))
    last = _pack(lowest, _COLUMN)
    kept = exact = 0
    for i in range(count):
        if packed[row, i] <= last:
            if i < settled[row]:
                exact += 1
            packed[row, kept] = packed[row, i]
            kept += 1
    counts[row], settled[row] = kept, exact
    return lowest


@njit
def _keep(lists: Lists, row: int, k: int, room: Room) -> None:
    """Keep the k best of a shortlist by the scores it has, of equals those with the lowest columns."""
    packed, counts = lists[0], lists[1]
    if counts[row] > k:
        room[1][: counts[row]] = packed[row, : counts[row]]
        last = _select(room[1], counts[row], k)
        count = 0
        for i in range(counts[row]):
            if packed[row, i] <= last:
                packed[row, count] = packed[row, i]
                count += 1
        counts[row] = count


@njit
def _settle(lists: Lists, row: int, k: int, vectors: Vectors, room: Room) -> None:
    """Score what a shortlist holds exactly, and keep the k best."""
    packed, counts, settled, _, _ = lists
    own, others, offset = vectors
    for i in range(settled[row], counts[row]):
        column = np.uint64(packed[row, i] & _COLUMN)
        score = _exact(own, np.uint64(row), others, column, room[0]) - np.float64(offset[column])
        packed[row, i] = _pack(np.float32(score), column)
    _keep(lists, row, k, room)
    settled[row] = counts[row]


@njit
def _make_room(lists: Lists, row: Any, k: int, vectors: Vectors, room: Room) -> None:
    """Cut a full shortlist down, and raise ``low``."""
    packed, counts, _, low, error = lists
    lowest = _cut(lists, row, k, room)
    if counts[row] > k + (packed.shape[1] - k) // 2:  # only exact scores can decide between many near ties
        _settle(lists, row, k, vectors, room)
        worst = packed[row, 0]
        for i in range(1, k):
            worst = max(worst, packed[row, i])
        lowest = max(lowest, np.float32(np.float64(_score(worst)) - error[row]))
    # Threads share the ``low`` of columns. Each writes what is true by itself, so that their order does no harm.
    if lowest > low[row]:
        low[row] = lowest


@njit
def _groups_for(k: Any) -> Any:
    return _GROUPS * ((4 * k + _GROUPS - 1) // _GROUPS)


@njit
def _first_floor(tile: NDArray[Any], row: Any, offset: NDArray[Any], minima: NDArray[Any], k: int, error: float) -> Any:
    """Return a first ``low`` for a row: k groups of its scores reach the k-th highest of their maxima."""
    groups = np.uint64(len(minima))
    minima[:] = np.inf
    for begin in range(np.uint64(0), np.uint64(tile.shape[1]) - groups + np.uint64(1), groups):
        for i in range(groups):
            minima[i] = min(minima[i], offset[begin + i] - tile[row, begin + i])
    return np.float32(-np.float64(_select(minima, len(minima), k)) - 2 * error)


@compiled(f"void({_MATRIX}, int64, {_LISTS}, int64, {_VECTORS})")
def scan_rows(tile: NDArray[Any], start: int, lists: Lists, k: int, vectors: Vectors) -> None:
    """Collect the k best scores of each row of a tile. Its columns begin at ``start`` of the vectors listed."""
    packed, counts, _, low, error = lists
    height, width, size = np.uint64(tile.shape[0]), np.uint64(tile.shape[1]), np.uint64(BLOCK)
    room, offset = _make_scratch(lists), vectors[2][start : start + tile.shape[1]]
    minima = np.empty(_groups_for(k), dtype=np.float32)
    for row in range(height):
        if low[row] == -np.inf and tile.shape[1] >= len(minima):
            low[row] = _first_floor(tile, row, offset, minima, k, error[row])
        for begin in range(np.uint64(0), width, size):
            if begin + size <= width:
                hits = _compare_block(tile, row, begin, offset, low[row])
            else:
                hits = _compare_rest(tile, row, begin, offset, low[row])
            while hits:
                i = begin + _lowest_bit(hits)
                hits = np.uint32(hits & (hits - np.uint32(1)))
                if counts[row] == packed.shape[1]:
                    _make_room(lists, np.int64(row), k, vectors, room)
                packed[row, np.uint64(counts[row])] = _pack(tile[row, i] - offset[i], start + np.int64(i))
                counts[row] += 1


@njit
def _raise_floors(tile: NDArray[Any], start: int, lists: Lists, k: int) -> None:
    """Find a first ``low`` for the columns of a tile: k groups of rows reach the k-th highest of their maxima."""
    low, error = lists[3][start : start + tile.shape[1]], lists[4][start : start + tile.shape[1]]
    width, groups = np.uint64(tile.shape[1]), _groups_for(k)
    if len(tile) < groups or low.min() > -np.inf:
        return
    minima = np.full((groups, tile.shape[1]), np.float32(np.inf), dtype=np.float32)
    for row in range(np.uint64(tile.shape[0])):
        group = row % np.uint64(groups)
        for i in range(width):
            minima[group, i] = min(minima[group, i], -tile[row, i])
    column = np.empty(groups, dtype=np.float32)
    for i in range(width):
        column[:] = minima[:, i]
        low[i] = max(low[i], np.float32(-np.float64(_select(column, groups, k)) - 2 * error[i]))


@compiled(f"void({_MATRIX}, int64, int64, int64, {_LISTS}, int64, {_VECTORS})")
def scan_columns(tile: NDArray[Any], top: int, step: int, start: int, lists: Lists, k: int, vectors: Vectors) -> None:
    """Collect the k best scores of each column of a tile.

    Its rows are every ``step``-th from ``top`` on of the vectors listed, its columns begin at ``start`` of those that
    have shortlists.
    """
    height, width, size = np.uint64(tile.shape[0]), np.uint64(tile.shape[1]), np.uint64(BLOCK)
    packed, counts, _, low, _ = lists
    room, floor = _make_scratch(lists), low[start : start + tile.shape[1]]
    _raise_floors(tile, start, lists, k)
    for row in range(height):
        number = top + step * np.int64(row)
        for begin in range(np.uint64(0), width, size):
            if begin + size <= width:
                hits = _compare_block(tile, row, begin, floor, np.float32(0))
            else:
                hits = _compare_rest(tile, row, begin, floor, np.float32(0))
            while hits:
                i = begin + _lowest_bit(hits)
                hits = np.uint32(hits & (hits - np.uint32(1)))
                column = np.uint64(start) + i
                if counts[column] == packed.shape[1]:
                    _make_room(lists, np.int64(column), k, vectors, room)
                packed[column, np.uint64(counts[column])] = _pack(tile[row, i], number)
                counts[column] += 1


@compiled(f"void({_LISTS}, {_VECTORS}, boolean, int64, int64, int64[:, ::1])")
def close(lists: Lists, vectors: Vectors, exact: bool, begin: int, first: int, best: NDArray[Any]) -> None:
    """Write the k best of the shortlists from ``begin`` on, packed, in any order; settle them first if ``exact``.

    The vectors listed are numbered from ``first`` on.
    """
    packed, counts, _, _, _ = lists
    k, room = best.shape[1], _make_scratch(lists)
    for number in range(len(best)):
        row = begin + number
        if exact:
            _cut(lists, row, k, room)
            _settle(lists, row, k, vectors, room)
        else:
            _keep(lists, row, k, room)
        for i in range(k):
            best[number, i] = packed[row, i] + first if i < counts[row] else EMPTY


@compiled(f"void({_LISTS}, {_MATRIX})")
def join_scores(lists: Lists, highest: NDArray[Any]) -> None:
    """Add the scores of each shortlist to the highest known, which are sorted."""
    packed, counts, k = lists[0], lists[1], highest.shape[1]
    for row in range(len(packed)):
        for i in range(counts[row]):
            score, place = _score(packed[row, i]), k - 1
            if score <= highest[row, place]:
                continue
            while place > 0 and highest[row, place - 1] < score:
                highest[row, place] = highest[row, place - 1]
                place -= 1
            highest[row, place] = score


@compiled(f"void({_MATRIX}, int64, int64, int64[::1], float32[::1], float64[::1], {_VECTORS}, int64[::1])")
def count_reaching(
    tile: NDArray[Any],
    block: int,
    start: int,
    rows: NDArray[Any],
    goals: NDArray[Any],
    error: NDArray[Any],
    vectors: Vectors,
    counts: NDArray[Any],
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


@compiled(f"void({_VECTORS}, int64[::1], int64[::1], float32[::1])")
def score_pairs(vectors: Vectors, rows: NDArray[Any], columns: NDArray[Any], scores: NDArray[Any]) -> None:
    """Score pairs exactly, and round once."""
    own, others, offset = vectors
    sums = np.empty(_PARTIAL_SUMS)
    for i in range(len(rows)):
        column = np.uint64(columns[i])
        exact = _exact(own, np.uint64(rows[i]), others, column, sums)
        scores[i] = np.float32(exact - np.float64(offset[column]))
