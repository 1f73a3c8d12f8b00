"""One pass over all pairs of a query and a key, a tile of products at a time.

A float32 product is fast, but its last bit depends on where in the tile a pair happens to stand: BLAS adds in another
order at the edge of a panel. Two copies of one key would then get different scores, and another tile size another
ranking. So the product only *proposes*. It comes with a bound on its error, and whatever the bound cannot decide is
scored again, pair by pair, in float64. The result is therefore the same for every tile size, number of threads and BLAS
library, and copies of a key tie exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from threading import local
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp.exceptions import FippError
from fipp.linalg import machines, n_threads, ordered_map, parse_memory, product, row_blocks, rows_per_block

Result = TypeVar("Result")
Tiles = Iterator[tuple[slice, NDArray[np.float32]]]
"""Which keys of a block a tile covers, and their products with the queries, overwritten by the next tile."""

# Measured on 300 dimensions: where single-threaded BLAS is fastest, and its result is still in the cache.
QUERIES_AT_A_TIME = 1024
KEYS_IN_A_TILE = 2048
KEYS_AT_A_TIME = 1 << 15
_SHARDS_EACH = 4
# Up to this many queries, a compiled loop is faster than BLAS (measured on 300 dimensions).
FEW_QUERIES = 20
# Few enough for float64 copies of these rows to stay in the second-level cache.
ROWS_READ_AT_A_TIME = 128
# The first part of the queries, if they come in parts that double: at least so many, and at least one in so many.
_FEWEST_FIRST = 256
_FIRST_OF = 32

_ROUNDING = float(np.finfo(np.float32).eps) / 2
_SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class Block:
    """Some rows of a matrix, ready for a product."""

    vectors: NDArray[np.float32]
    lengths: NDArray[np.float64]  # for unit rows 1, or 0 for a row of zeros

    def part(self, rows: slice | NDArray[np.int64]) -> Block:
        """Return some of the rows: a view of those that lie together, a copy of others."""
        return Block(np.ascontiguousarray(self.vectors[rows]), self.lengths[rows])


class Rows:
    """The rows of a matrix, converted only when they are read, so that no second copy of the whole is made.

    A memory map stays on disk. Rows are read at unit length if ``unit``; ``name`` is for error messages.
    """

    def __init__(self, matrix: ArrayLike, name: str, *, unit: bool) -> None:
        self.matrix: NDArray[Any] = np.asarray(matrix)
        self.name, self.unit = name, unit
        self._picked: NDArray[np.int64] | None = None
        self._ready: Block | None = None
        self._first = 0  # the number of the first row, if these are a part of a larger matrix
        if self.matrix.ndim != 2 or self.matrix.dtype.kind not in "fiub":
            raise FippError(
                f"{name} must be a matrix of real numbers, one vector a row, "
                f"not an array of shape {self.matrix.shape} and type {self.matrix.dtype}"
            )

    def __len__(self) -> int:
        return len(self.matrix if self._picked is None else self._picked)

    @property
    def dimensions(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    def pick(self, numbers: NDArray[np.int64]) -> Rows:
        """Return the rows with these numbers, in their order, still unread."""
        picked = Rows(self.matrix, self.name, unit=self.unit)
        picked._ready, picked._picked = self._ready, numbers if self._picked is None else self._picked[numbers]
        return picked

    def section(self, part: slice) -> Rows:
        """Return some rows that lie together, without the others, still unread: what is sent to another machine."""
        chosen = self._chosen(part)
        ready = None if self._ready is None else self._ready.part(chosen)
        section = Rows(self.matrix[chosen] if ready is None else ready.vectors, self.name, unit=self.unit)
        section._first, section._ready = part.start, ready
        return section

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.matrix.nbytes

    def received(self) -> Rows:
        """Return the same rows as they are here, after a journey during which arrays may have become read-only."""
        if self._ready is not None:
            self._ready = Block(*(np.require(each, requirements="W") for each in vars(self._ready).values()))
        return self

    def converted(self) -> Rows:
        """Return the same rows, all of them converted now, to be read many times."""
        whole = self.read_all()
        rows = Rows(whole.vectors, self.name, unit=self.unit)
        rows._ready = whole
        return rows

    def read_all(self) -> Block:
        """Return all rows."""
        return self.read_block(slice(0, len(self)))

    def read_block(self, part: slice) -> Block:
        """Return many rows, which all threads convert a few at a time."""
        if self._ready is not None:
            return self._ready.part(self._chosen(part))
        size = part.stop - part.start
        whole = Block(np.empty((size, self.dimensions), dtype=np.float32), np.empty(size))
        parts = list(row_blocks(size, ROWS_READ_AT_A_TIME))
        shifted = (slice(part.start + few.start, part.start + few.stop) for few in parts)
        for few, block in zip(parts, ordered_map(self.read, shifted), strict=True):
            whole.vectors[few] = block.vectors
            whole.lengths[few] = block.lengths
        return whole

    def read(self, part: slice) -> Block:
        """Return a few rows. What a row becomes does not depend on the rows that are read with it."""
        chosen = self._chosen(part)
        if self._ready is not None:
            return self._ready.part(chosen)
        # Lengths are taken in float64, where no square of a float32 overflows or vanishes.
        rows = np.array(self.matrix[chosen], dtype=np.float64)
        finite: NDArray[np.bool_] = np.asarray(np.isfinite(rows).all(axis=1))
        if not finite.all():
            self._refuse(part, finite, "a value that is not a finite number")
        if self.unit:
            # Dividing by the largest value first keeps even the square of 1e200 in range.
            rows /= _one_for_zero(np.abs(rows).max(axis=1, initial=0.0))[:, None]
        with np.errstate(over="ignore"):  # an infinite length is refused below
            lengths = np.sqrt((rows * rows).sum(axis=1))
        if self.unit:
            rows /= _one_for_zero(lengths)[:, None]
            return Block(rows.astype(np.float32), (lengths > 0).astype(np.float64))
        fits = lengths < np.finfo(np.float32).max
        if not fits.all():
            self._refuse(part, fits, "values too large for float32; scale the vectors down")
        return Block(rows.astype(np.float32), lengths)

    def _chosen(self, part: slice) -> slice | NDArray[np.int64]:
        return part if self._picked is None else self._picked[part]

    def _refuse(self, part: slice, good: NDArray[np.bool_], what: str) -> None:
        position = part.start + int(np.flatnonzero(~good)[0])
        row = self._first + position if self._picked is None else int(self._picked[position])
        raise FippError(f"row {row} of {self.name} holds {what}")


def _one_for_zero(divisors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(divisors == 0, 1.0, divisors)


def check_comparable(queries: Rows, keys: Rows, purpose: str) -> None:
    """Refuse vectors of different dimensions, and an empty matrix of keys."""
    if queries.dimensions != keys.dimensions:
        raise FippError(
            f"{queries.name} have {queries.dimensions} dimensions and {keys.name} {keys.dimensions}; "
            "only vectors of one space can be compared"
        )
    if len(keys) == 0:
        raise FippError(f"{keys.name} has no rows: there is nothing to {purpose}")


@cache
def kernels() -> Any:
    """Return the compiled loops. Importing numba takes longer than all of fipp, so only a search does it."""
    from fipp.retrieve import _kernels

    return _kernels


def product_error(dimensions: int, largest: Any = 1.0) -> Any:
    """Return how far a product of vectors, and a score made from it, may be from the exact one.

    A sum of d products, in whatever order, is off by at most d roundings of |x||y|, which is at most ``largest``; the
    rest covers the subtraction of the offset, the final rounding to float32, and terms of higher order.
    """
    return (1.01 * dimensions + 8) * _ROUNDING * largest + 2 * dimensions * _SMALLEST


class Pairs:
    """All pairs of a block of queries and a block of keys, at ``rows`` and ``columns`` among all queries and keys.

    ``error`` bounds for each query how far its product with a key may be from the exact one.
    """

    def __init__(self, queries: Block, keys: Block, rows: slice, columns: slice) -> None:
        self.queries, self.keys, self.rows, self.columns = queries, keys, rows, columns
        dimensions, largest = queries.vectors.shape[1], queries.lengths * keys.lengths.max(initial=0.0)
        if largest.max(initial=0.0) > np.finfo(np.float32).max / 2:
            raise FippError("dot products of these vectors are too large for float32; scale the vectors down")
        self.error: NDArray[np.float64] = product_error(dimensions, largest)

    def vectors(self, offset: NDArray[np.float32] | None) -> tuple[NDArray[np.float32], ...]:
        """Return what compiled loops take: queries, keys, and what is subtracted from the scores with these."""
        none = np.zeros(len(self.keys.vectors), dtype=np.float32)
        return self.queries.vectors, self.keys.vectors, none if offset is None else offset

    def tiles(self, width: int, buffer: NDArray[np.float32]) -> Tiles:
        """Multiply the queries with ``width`` keys at a time, into the buffer."""
        size = len(self.queries.vectors)
        for part in row_blocks(len(self.keys.vectors), width):
            tile = buffer[: size * (part.stop - part.start)].reshape(size, -1)
            if size <= FEW_QUERIES:
                kernels().multiply(self.queries.vectors, self.keys.vectors[part], tile)
            else:
                product(self.queries.vectors, self.keys.vectors[part].T, out=tile)
            yield part, tile


def halves(n: int) -> list[slice]:
    """Cut row numbers into parts, each spread over all: the last has half of all, the one before it a quarter, and so on.

    Examples
    --------
    >>> halves(1024)
    [slice(0, 1024, 4), slice(2, 1024, 4), slice(1, 1024, 2)]
    """
    step = 1 << max(0, min(_FIRST_OF, n // _FEWEST_FIRST).bit_length() - 1)
    parts = [slice(0, n, step)]
    while step > 1:
        parts.append(slice(step // 2, n, step))
        step //= 2
    return parts


class Scan:
    """One pass over all pairs of a query and a key: the one place where tiles of products are made and looked at.

    Keys are read a wide block at a time, and all queries are compared with it before the next block is read; memory
    holds one block of keys and, for each thread, a block of queries, a tile of scores, and ``kept`` keys of each query.
    With ``halving``, the queries come in the parts that `halves` returns.
    """

    def __init__(
        self,
        queries: Rows,
        keys: Rows,
        max_memory: int | float | str | None,
        *,
        kept: int = 1,
        per_key: int = 0,
        halving: bool = False,
    ) -> None:
        check_comparable(queries, keys, "search in")
        self.queries, self.keys, self._buffers = queries, keys, local()
        self.max_memory, self.kept, self.per_key = max_memory, kept, per_key
        half = max(1, parse_memory(max_memory) // 2)
        bytes_per_vector = 4 * queries.dimensions
        most = KEYS_AT_A_TIME
        if (others := machines()) is not None:  # a few shards for each, so that none is idle for long
            most = min(most, max(KEYS_IN_A_TILE, -(-len(keys) // (_SHARDS_EACH * others.count))))
        key_step = rows_per_block(bytes_per_vector + per_key, half, at_most=most)
        self._tile_width = min(KEYS_IN_A_TILE, key_step, len(keys))
        # Each query needs room for its scores, and for the keys that are kept: in shortlists, packed and sorted.
        bytes_per_query = bytes_per_vector + 4 * self._tile_width + 160 * min(kept, len(keys)) + 1024
        query_step = rows_per_block(n_threads() * bytes_per_query, half, at_most=QUERIES_AT_A_TIME)
        parts = halves(len(queries)) if halving else [slice(0, len(queries), 1)]
        self._parts = [list(even_blocks(part, query_step)) for part in parts]
        self._key_blocks = list(row_blocks(len(keys), key_step))

    def __len__(self) -> int:
        return self.n_query_blocks * len(self._key_blocks)

    def strips(self) -> Iterator[Strip]:
        """Yield all queries with one block of keys after another."""
        for columns in self._key_blocks:
            yield Strip(self, self.keys.read_block(columns), columns)

    def shards(self) -> list[slice]:
        """Return the blocks of keys, each of which another machine may search."""
        return self._key_blocks

    @property
    def n_query_blocks(self) -> int:
        """How many steps a shard counts for."""
        return sum(map(len, self._parts))

    @property
    def n_parts(self) -> int:
        """The number of parts of the queries."""
        return len(self._parts)

    def run(
        self, work: Callable[[Pairs, Tiles], Result], keys: Block, columns: slice, number: int
    ) -> Iterator[tuple[slice, Result]]:
        """Yield for each block of one part of the queries, in order, its rows and the result of ``work``."""

        def reduce(rows: slice) -> Result:
            pairs = Pairs(self.queries.read_block(rows), keys, rows, columns)
            return work(pairs, pairs.tiles(self._tile_width, self._buffer()))

        blocks = self._parts[number]
        return zip(blocks, ordered_map(reduce, blocks), strict=True)

    def _buffer(self) -> NDArray[np.float32]:
        """Return each thread's own room for a tile: allocating it anew is slow."""
        if not hasattr(self._buffers, "tile"):
            height = max(len(range(*rows.indices(rows.stop))) for blocks in self._parts for rows in blocks)
            self._buffers.tile = np.empty(height * self._tile_width, dtype=np.float32)
        buffer: NDArray[np.float32] = self._buffers.tile
        return buffer


@dataclass(frozen=True)
class Strip:
    """All queries of a scan and a block of its keys."""

    scan: Scan
    keys: Block
    columns: slice

    def run(self, work: Callable[[Pairs, Tiles], Result], number: int = 0) -> Iterator[tuple[slice, Result]]:
        """Yield for each block of one part of the queries, in order, its rows and the result of ``work``."""
        return self.scan.run(work, self.keys, self.columns, number)


def even_blocks(part: slice, most: int) -> Iterator[slice]:
    """Cut rows into blocks of at most so many, of about the same size and as many for each thread."""
    rows, threads = range(part.start, part.stop, part.step), n_threads()
    count = threads * -(-len(rows) // (threads * most))
    for block in row_blocks(len(rows), -(-len(rows) // max(1, count)) or 1):
        yield slice(rows[block.start], rows[block.stop - 1] + 1, part.step)
