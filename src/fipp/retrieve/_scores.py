"""Scores of every query against every key, a block at a time: fast ones, and exact ones where it matters.

A float32 product is fast, but its last bit depends on where in the block a pair happens to stand: BLAS adds
in another order at the edge of a panel. Two copies of one key would then get different scores, and another
block size another ranking. So the product only *proposes*. It comes with a bound on its error, and whatever
the bound cannot decide is scored again, pair by pair, in float64. What is returned is therefore the same for
every block size, number of threads and BLAS library, and copies of a key tie exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError
from fipp.linalg import n_threads, ordered_map, row_blocks, rows_per_block
from fipp.retrieve._product import Product, product_class
from fipp.retrieve._rows import Block, Rows

Result = TypeVar("Result")

# Measured on 300 dimensions: smaller blocks are slower, larger ones hardly faster.
QUERIES_AT_A_TIME = 128
KEYS_AT_A_TIME = 1 << 15
# Few enough for float64 copies of so many rows to stay in the second-level cache.
ROWS_READ_AT_A_TIME = 128
PAIRS_AT_A_TIME = 256

_ROUNDING = float(np.finfo(np.float32).eps) / 2
_SMALLEST = float(np.finfo(np.float32).tiny)


def pair_scores(queries: NDArray[np.float32], keys: NDArray[np.float32]) -> NDArray[np.float64]:
    """Give the dot product of row i of one matrix with row i of the other, in float64, added in a fixed order.

    Examples
    --------
    >>> pair_scores(np.float32([[1, 2], [3, 4]]), np.float32([[1, 1], [0, 1]]))
    array([3., 4.])
    """
    return np.multiply(queries, keys, dtype=np.float64).sum(axis=1)


@dataclass
class Scores:
    """The scores of a block of queries against a block of keys.

    Attributes
    ----------
    queries, keys : Block
        What was multiplied.
    rows, columns : slice
        Where the block stands among all queries and all keys.
    fast : ndarray of float32, shape (queries, keys)
        The product, with rounding error.
    error : ndarray of float64, shape (queries,)
        How far a fast score of that query may be from the exact one.
    offset : ndarray of float32, shape (keys,), optional
        What was subtracted from the scores of each key.
    """

    queries: Block
    keys: Block
    rows: slice
    columns: slice
    fast: NDArray[np.float32]
    error: NDArray[np.float64]
    offset: NDArray[np.float32] | None = None

    @classmethod
    def of(
        cls,
        queries: Block,
        keys: Block,
        rows: slice,
        columns: slice,
        product: Product,
        out: NDArray[np.float32] | None = None,
    ) -> Scores:
        """Multiply by the ``product`` with these keys, and bound the error; ``out`` is where the scores go."""
        error = _largest_error(queries, keys, product.rounding)
        return cls(queries, keys, rows, columns, product(queries.vectors, out), error)

    @classmethod
    def known(
        cls,
        queries: Block,
        keys: Block,
        rows: slice,
        columns: slice,
        product: Product,
        scores: NDArray[np.float32],
    ) -> Scores:
        """Take what the ``product`` gave before, and bound its error."""
        return cls(queries, keys, rows, columns, scores, _largest_error(queries, keys, product.rounding))

    def transposed(self, product: Product) -> Scores:
        """Give the same scores of ``product`` with keys and queries in each other's place."""
        error = _largest_error(self.keys, self.queries, product.rounding)
        return Scores(self.keys, self.queries, self.columns, self.rows, self.fast.T, error)

    def subtract(self, offset: NDArray[np.float32]) -> None:
        """Lower the scores of each key by its ``offset`` (at most 1), in place."""
        self.offset = offset
        self.fast -= offset

    def exact(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float32]:
        """Score these pairs again in float64, and round once."""
        scores = np.zeros(len(rows))
        # A product with zeros is known; without this, a query of zeros, close to every key, would be slow.
        todo = np.flatnonzero((self.queries.lengths[rows] > 0) & (self.keys.lengths[columns] > 0))
        for start in range(0, len(todo), PAIRS_AT_A_TIME):
            pairs = todo[start : start + PAIRS_AT_A_TIME]
            scores[pairs] = pair_scores(self.queries.vectors[rows[pairs]], self.keys.vectors[columns[pairs]])
        if self.offset is not None:
            scores -= self.offset[columns]
        return scores.astype(np.float32)


def _largest_error(queries: Block, keys: Block, rounding: float) -> NDArray[np.float64]:
    """Bound for each query how far its product with a key may be from the exact one.

    ``rounding`` is what a product adds to the errors of a sum in float32.
    """
    dimensions = queries.vectors.shape[1]
    largest = queries.lengths * keys.lengths.max(initial=0.0)
    if largest.max(initial=0.0) > np.finfo(np.float32).max / 2:
        raise FippError("dot products of these vectors are too large for float32; scale the vectors down")
    # A sum of d products, in whatever order, is off by at most d roundings of |x||y|; the rest covers the subtraction
    # of the offset, the final rounding to float32, and terms of higher order.
    bound: NDArray[np.float64] = ((1.01 * dimensions + 8) * _ROUNDING + rounding) * largest
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
    holds one block of keys and, for each thread, one block of scores.

    Parameters
    ----------
    queries, keys : Rows
        What to compare.
    max_memory : int, float, str or None
        Working memory, as :func:`fipp.linalg._memory.parse_memory` reads it.
    kept : int
        How many keys of each query are looked at again, for the memory that needs.

    Examples
    --------
    >>> scan = Scan(Rows(np.eye(3), "queries", unit=True), Rows(np.eye(3), "keys", unit=True), None)
    >>> list(scan.run(lambda scores: scores.fast.argmax(axis=1)))
    [(slice(0, 3, None), array([0, 1, 2]))]
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
        self._product = product_class()
        threads = n_threads()
        bytes_per_vector = 4 * queries.dimensions
        # A query is converted through float64, and what is kept of it is sorted and packed, at 64 bytes each.
        bytes_per_query = threads * (4 * bytes_per_vector + 64 * min(kept, len(keys)))
        self.query_step = rows_per_block(bytes_per_query, max_memory, at_most=QUERIES_AT_A_TIME)
        # Beside each float32 score there is room for a mark of one byte and for the partial maxima.
        bytes_per_key = bytes_per_vector + 6 * threads * self.query_step
        if self._product is not Product:  # which holds the keys and the scores in another type, too
            bytes_per_key *= 2
        self.key_step = rows_per_block(bytes_per_key, max_memory, at_most=KEYS_AT_A_TIME)

    def __len__(self) -> int:
        return len(list(row_blocks(len(self.queries), self.query_step))) * len(
            list(row_blocks(len(self.keys), self.key_step))
        )

    def run(self, work: Callable[[Scores], Result]) -> Iterator[tuple[slice, Result]]:
        """Yield, block by block and in order, which queries it was and what ``work`` made of their scores."""
        blocks = list(row_blocks(len(self.queries), self.query_step))
        for columns in row_blocks(len(self.keys), self.key_step):
            keys = read_block(self.keys, columns)
            product = self._product(keys.vectors)

            def reduce(rows: slice, columns: slice = columns, keys: Block = keys, product: Product = product) -> Result:
                return work(Scores.of(self.queries.read(rows), keys, rows, columns, product))

            yield from zip(blocks, ordered_map(reduce, blocks), strict=True)
