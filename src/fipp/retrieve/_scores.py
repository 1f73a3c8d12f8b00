"""Scores of every query against every key, a tile at a time: fast ones, and exact ones where it matters.

A float32 product is fast, but its last bit depends on where in the tile a pair happens to stand: BLAS adds
in another order at the edge of a panel. Two copies of one key would then get different scores, and another
tile size another ranking. So the product only *proposes*. It comes with a bound on its error, and whatever
the bound cannot decide is scored again, pair by pair, in float64. What is returned is therefore the same for
every tile size, number of threads and BLAS library, and copies of a key tie exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import local
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError
from fipp.linalg import n_threads, ordered_map, parse_memory, row_blocks, rows_per_block
from fipp.retrieve._rows import Block, Rows

Result = TypeVar("Result")
Tiles = Iterator[tuple[slice, NDArray[np.float32]]]
"""Which of the keys of a block it is, and the product of the queries with these, overwritten by the next."""

# Measured on 300 dimensions: where single-threaded BLAS is fastest, and what it leaves is still in the cache.
QUERIES_AT_A_TIME = 1024
KEYS_IN_A_TILE = 1024
KEYS_AT_A_TIME = 1 << 15
# Few enough for float64 copies of so many rows to stay in the second-level cache.
ROWS_READ_AT_A_TIME = 128
PAIRS_AT_A_TIME = 64

_ROUNDING = float(np.finfo(np.float32).eps) / 2
_SMALLEST = float(np.finfo(np.float32).tiny)


def pair_scores(queries: NDArray[np.float32], keys: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the dot product of row i of one matrix with row i of the other, in float64, added in a fixed order.

    Examples
    --------
    >>> pair_scores(np.float32([[1, 2], [3, 4]]), np.float32([[1, 1], [0, 1]]))
    array([3., 4.])
    """
    # The product of two float32 is exact in float64. Converting first is faster than letting the product convert.
    products = queries.astype(np.float64) * keys.astype(np.float64)
    return products.sum(axis=1)


@dataclass
class Pairs:
    """All pairs of a block of queries and a block of keys.

    Attributes
    ----------
    queries, keys : Block
        What is compared.
    rows, columns : slice
        Where the blocks stand among all queries and all keys.
    error : ndarray of float64, shape (queries,)
        How far a product with that query may be from the exact one.
    """

    queries: Block
    keys: Block
    rows: slice
    columns: slice
    error: NDArray[np.float64]

    @classmethod
    def of(cls, queries: Block, keys: Block, rows: slice, columns: slice) -> Pairs:
        """Bound the error of the product of these."""
        return cls(queries, keys, rows, columns, _largest_error(queries, keys))

    def transposed(self) -> Pairs:
        """Return the same pairs with keys and queries in each other's place; only what is known can be ranked."""
        return Pairs.of(self.keys, self.queries, self.columns, self.rows)

    def tiles(self, width: int, buffer: NDArray[np.float32]) -> Tiles:
        """Multiply with so many keys at a time, into the buffer."""
        size = len(self.queries.vectors)
        for part in row_blocks(len(self.keys.vectors), width):
            tile = buffer[: size * (part.stop - part.start)].reshape(size, -1)
            np.matmul(self.queries.vectors, self.keys.vectors[part].T, out=tile)
            yield part, tile

    def exact(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], offset: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Score these pairs in float64, lower each by the ``offset`` of its key (at most 1), and round once."""
        scores = np.zeros(len(rows))
        # A product with zeros is known; without this, a query of zeros, close to every key, would be slow.
        todo = np.flatnonzero((self.queries.lengths[rows] > 0) & (self.keys.lengths[columns] > 0))
        for start in range(0, len(todo), PAIRS_AT_A_TIME):
            pairs = todo[start : start + PAIRS_AT_A_TIME]
            queries, keys = self.queries.vectors.take(rows[pairs], 0), self.keys.vectors.take(columns[pairs], 0)
            scores[pairs] = pair_scores(queries, keys)
        if offset is not None:
            scores -= offset[columns]
        return scores.astype(np.float32)


def _largest_error(queries: Block, keys: Block) -> NDArray[np.float64]:
    """Bound for each query how far its product with a key may be from the exact one."""
    dimensions = queries.vectors.shape[1]
    largest = queries.lengths * keys.lengths.max(initial=0.0)
    if largest.max(initial=0.0) > np.finfo(np.float32).max / 2:
        raise FippError("dot products of these vectors are too large for float32; scale the vectors down")
    # A sum of d products, in whatever order, is off by at most d roundings of |x||y|; the rest covers the subtraction
    # of the offset, the final rounding to float32, and terms of higher order.
    bound: NDArray[np.float64] = (1.01 * dimensions + 8) * _ROUNDING * largest
    bound += 2 * dimensions * _SMALLEST
    return bound


def read_block(rows: Rows, part: slice) -> Block:
    """Read many rows, converted a few at a time by all threads, unless they were before."""
    if rows.ready is not None:
        return rows.ready.part(part)
    size = part.stop - part.start
    whole = Block(np.empty((size, rows.dimensions), dtype=np.float32), np.empty(size))
    parts = list(row_blocks(size, ROWS_READ_AT_A_TIME))
    shifted = (slice(part.start + few.start, part.start + few.stop) for few in parts)
    for few, block in zip(parts, ordered_map(rows.read, shifted), strict=True):
        whole.vectors[few] = block.vectors
        whole.lengths[few] = block.lengths
    return whole


class Scan:
    """One pass over all pairs of a query and a key.

    Keys are read a wide block at a time, and every query passes by before the next block is read; memory
    holds one block of keys and, for each thread, a block of queries and a tile of scores.

    Parameters
    ----------
    queries, keys : Rows
        What to compare.
    max_memory : int, float, str or None
        Working memory, as :func:`fipp.linalg.parse_memory` reads it.
    kept : int
        How many keys of each query are looked at again, for the memory that needs.

    Examples
    --------
    >>> scan = Scan(Rows(np.eye(3), "queries", unit=True), Rows(np.eye(3), "keys", unit=True), None)
    >>> list(scan.run(lambda pairs, tiles: [tile.argmax(axis=1) for part, tile in tiles]))
    [(slice(0, 3, None), [array([0, 1, 2])])]
    """

    def __init__(self, queries: Rows, keys: Rows, max_memory: int | float | str | None, *, kept: int = 1) -> None:
        if queries.dimensions != keys.dimensions:
            raise FippError(
                f"{queries.name} have {queries.dimensions} dimensions and {keys.name} {keys.dimensions}; "
                "only vectors of one space can be compared"
            )
        if len(keys) == 0:
            raise FippError(f"{keys.name} has no rows: there is nothing to search in")
        self.queries = queries
        self.keys = keys
        self._buffers = local()
        half = max(1, parse_memory(max_memory) // 2)
        bytes_per_vector = 4 * queries.dimensions
        self.key_step = rows_per_block(bytes_per_vector, half, at_most=KEYS_AT_A_TIME)
        self.tile_width = min(KEYS_IN_A_TILE, self.key_step, len(keys))
        # Beside a query and each float32 score of it there is room for a mark of one byte and for the partial maxima;
        # what is kept of it is sorted and packed.
        bytes_per_query = bytes_per_vector + 6 * self.tile_width + 160 * min(kept, len(keys))
        self.query_step = rows_per_block(n_threads() * bytes_per_query, half, at_most=QUERIES_AT_A_TIME)

    def __len__(self) -> int:
        return len(list(row_blocks(len(self.queries), self.query_step))) * len(
            list(row_blocks(len(self.keys), self.key_step))
        )

    def run(self, work: Callable[[Pairs, Tiles], Result]) -> Iterator[tuple[slice, Result]]:
        """Yield, block by block and in order, which queries it was and what ``work`` made of their scores."""
        blocks = list(row_blocks(len(self.queries), self.query_step))
        for columns in row_blocks(len(self.keys), self.key_step):
            keys = read_block(self.keys, columns)

            def reduce(rows: slice, columns: slice = columns, keys: Block = keys) -> Result:
                pairs = Pairs.of(read_block(self.queries, rows), keys, rows, columns)
                return work(pairs, pairs.tiles(self.tile_width, self._buffer()))

            yield from zip(blocks, ordered_map(reduce, blocks), strict=True)

    def _buffer(self) -> NDArray[np.float32]:
        """Return room for a tile, to each thread its own: memory asked for anew is slow to come."""
        if not hasattr(self._buffers, "tile"):
            size = min(self.query_step, len(self.queries))
            self._buffers.tile = np.empty(size * self.tile_width, dtype=np.float32)
        buffer: NDArray[np.float32] = self._buffers.tile
        return buffer
