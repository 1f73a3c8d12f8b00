"""The best few keys of every query, collected tile by tile; ties are broken by the lower row number."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock, get_ident
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp._progress import Steps
from fipp.linalg import machines, ordered_map, row_blocks, shared_map
from fipp.retrieve._scan import Block, Pairs, Rows, Scan, Tiles, kernels

_EMPTY = np.iinfo(np.int64).max
# How many keys a shortlist holds beside twice those wanted: the more, the more rarely it is cut down.
_SPARE = 32
_ROWS_AT_A_TIME = 2048


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


def first_of_each(
    rows: NDArray[np.int64], packed: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that occur, and the ``k`` best of each, packed.

    Examples
    --------
    >>> first_of_each(np.array([3, 1, 3, 3]), np.array([7, 5, 4, 9]), 2)[1][1]
    array([4, 7])
    """
    order = np.lexsort((packed, rows))
    rows, packed = rows[order], packed[order]
    distinct, first, number = np.unique(rows, return_index=True, return_inverse=True)
    place = np.arange(len(rows)) - first[number]
    best = np.full((len(distinct), k), _EMPTY)
    best[number[place < k], place[place < k]] = packed[place < k]
    return distinct, best


class Best:
    """The ``k`` best keys of each of ``n`` queries among all blocks added so far."""

    def __init__(self, n: int, k: int, floor: NDArray[np.float32] | None = None) -> None:
        self.k, self.packed = k, np.full((n, k), _EMPTY)
        # A score that k keys are known to reach. It only rises, so a thread that reads it late sees a floor that is too
        # low, never one that is too high: threads need not wait for each other, and the result is the same.
        self.floor = np.full(n, -np.inf, dtype=np.float32) if floor is None else floor
        self.zero = np.zeros(n, dtype=np.bool_)

    def add(self, rows: slice, packed: NDArray[np.int64]) -> None:
        """Keep the best of the known keys of these queries and the new ones, which are sorted."""
        changed = np.flatnonzero(packed[:, 0] < self.packed[rows, -1])
        if len(changed) == 0:
            return
        numbers = rows.start + changed
        best = packed[changed]
        if (self.packed[numbers, 0] != _EMPTY).any():
            best = np.sort(np.concatenate([self.packed[numbers], best], axis=1), axis=1)[:, : self.k]
        self.packed[numbers] = best
        self.floor[numbers] = np.maximum(self.floor[numbers], self.last_scores(numbers))

    def join(self, rows: NDArray[np.int64], packed: NDArray[np.int64]) -> None:
        """Keep the best of the known keys of these queries and of others, some of which may be known."""
        both = np.sort(np.concatenate([self.packed[rows], packed], axis=1), axis=1)
        both[:, 1:][both[:, 1:] == both[:, :-1]] = _EMPTY
        self.packed[rows] = np.sort(both, axis=1)[:, : self.k]
        self.floor[rows] = self.last_scores(rows)

    def renumbered(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the best, packed, if what is key i here has the number ``columns[i]``; these ascend."""
        places = np.where(self.packed == _EMPTY, 0, self.packed & 0xFFFFFFFF)
        return np.where(self.packed == _EMPTY, _EMPTY, self.packed - places + columns[places])

    def last_scores(self, rows: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.float32]:
        """Return the score of the last of the ``k`` best, -inf if there are fewer."""
        last = self.packed[rows, -1]
        return np.where(last == _EMPTY, np.float32(-np.inf), unpack(last)[1])

    def fill_zeros(self, offsets: NDArray[np.float32] | None, n_keys: int) -> None:
        """Give queries of zeros, which tie with most keys or all of them, one list that they share."""
        if self.zero.any():
            scores = np.zeros(n_keys, dtype=np.float32) if offsets is None else -offsets
            self.packed[self.zero] = np.sort(pack(scores, np.arange(n_keys)))[: self.k]

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return columns and scores, best first."""
        return unpack(self.packed)

    def means(self, k: int | None = None) -> NDArray[np.float32]:
        """Return the mean of the ``k`` best scores of each query, or of all."""
        means = np.empty(len(self.packed), dtype=np.float32)
        for part in row_blocks(len(means), _ROWS_AT_A_TIME):
            means[part] = unpack(self.packed[part, :k])[1].mean(axis=1, dtype=np.float64)
        return means


class Wanted(NamedTuple):
    """How many keys of each query are wanted, by scores less which offsets, and what ``k`` keys are known to reach."""

    k: int
    offsets: NDArray[np.float32] | None = None
    floor: NDArray[np.float32] | None = None


def find_best(scan: Scan, steps: Steps, *wanted: Wanted) -> list[Best]:
    """Find the best keys of each query, for everything that is wanted, in one pass."""
    return _find(scan, steps, wanted, None)


def find_both(scan: Scan, steps: Steps, of_queries: int, of_keys: int) -> tuple[Best, Best]:
    """Find the best keys of each query and the best queries of each key in one pass; all queries are in memory."""
    backward = Best(len(scan.keys), min(of_keys, len(scan.queries)))
    (forward,) = _find(scan, steps, [Wanted(of_queries)], backward)
    backward.fill_zeros(None, len(scan.queries))
    return forward, backward


def _find(scan: Scan, steps: Steps, wanted: Sequence[Wanted], backward: Best | None) -> list[Best]:
    found = [Best(len(scan.queries), min(k, len(scan.keys)), floor) for k, _, floor in wanted]
    search = _search_here if machines() is None else _search_elsewhere
    search(scan, steps, wanted, found, backward)
    for best, (_, offsets, _) in zip(found, wanted, strict=True):
        best.fill_zeros(offsets, len(scan.keys))
    return found


def _search_here(scan: Scan, steps: Steps, wanted: Sequence[Wanted], found: list[Best], backward: Best | None) -> None:
    """Add all keys to what was found, and all queries to what was found for the keys if that is wanted."""
    for strip in scan.strips():
        of_keys = None if backward is None else _OfKeys(scan.queries.read_all(), strip.keys, strip.columns, backward)

        def work(pairs: Pairs, tiles: Tiles, of_keys: _OfKeys | None = of_keys) -> list[NDArray[np.int64]]:
            lists = [Shortlists.of(pairs, best, offsets) for best, (_, offsets, _) in zip(found, wanted, strict=True)]
            for part, products in tiles:
                for shortlists in lists:
                    shortlists.add(part, products)
                if of_keys is not None:
                    of_keys.add(pairs.rows, part, products)
            return [shortlists.best() for shortlists in lists]

        for rows, packed in strip.run(work):
            for best, new in zip(found, packed, strict=True):
                best.add(rows, new)
            steps()
        if of_keys is not None:
            of_keys.close()


class _Question(NamedTuple):
    """What every machine is asked: the queries, how many keys of each are wanted, and how many queries of each key."""

    queries: Rows
    counts: list[int]
    floors: list[NDArray[np.float32] | None]
    of_keys: int
    memory: tuple[int | float | str | None, int, int]


class _Shard(NamedTuple):
    """Some of the keys, their place among all of them, and their offsets."""

    keys: Rows
    columns: slice
    offsets: list[NDArray[np.float32] | None]


class _Answer(NamedTuple):
    """The best keys of a shard for each query, packed; the best queries of its keys; and which of both are zeros."""

    best: list[NDArray[np.int64]]
    zero: NDArray[np.bool_]
    of_keys: NDArray[np.int64] | None
    zero_keys: NDArray[np.bool_] | None


def _search_elsewhere(
    scan: Scan, steps: Steps, wanted: Sequence[Wanted], found: list[Best], backward: Best | None
) -> None:
    """Do what `_search_here` does on other machines: each searches shards of the keys, and the best are merged."""
    of_keys = 0 if backward is None else backward.k
    memory = scan.max_memory, scan.kept, scan.per_key
    question = _Question(scan.queries, [best.k for best in found], [want.floor for want in wanted], of_keys, memory)
    shards = (
        _Shard(scan.keys.section(part), part, [None if o is None else o[part] for _, o, _ in wanted])
        for part in scan.shards()
    )
    rows = slice(0, len(scan.queries))
    for part, answer in zip(scan.shards(), shared_map(_search_shard, question, shards), strict=True):
        for best, packed in zip(found, answer.best, strict=True):
            best.add(rows, packed)
            best.zero = answer.zero
        if backward is not None:
            backward.packed[part], backward.zero[part] = answer.of_keys, answer.zero_keys
        steps(scan.n_query_blocks)


def _search_shard(question: _Question, shard: _Shard) -> _Answer:
    queries, keys = question.queries.received(), shard.keys.received()
    max_memory, kept, per_key = question.memory
    scan = Scan(queries, keys, max_memory, kept=kept, per_key=per_key)
    floors = [None if floor is None else floor.copy() for floor in question.floors]
    wanted = [Wanted(*each) for each in zip(question.counts, shard.offsets, floors, strict=True)]
    found = [Best(len(queries), k, floor) for k, _, floor in wanted]
    backward = Best(len(keys), question.of_keys) if question.of_keys else None
    _search_here(scan, Steps(None, len(scan)), wanted, found, backward)
    numbers = np.arange(shard.columns.start, shard.columns.stop)
    of_keys, zero_keys = (None, None) if backward is None else (backward.packed, backward.zero)
    return _Answer([best.renumbered(numbers) for best in found], found[0].zero, of_keys, zero_keys)


class Shortlists:
    """The keys of some queries that may be among the ``k`` best; only these are scored exactly, at the end.

    Keys below ``floor``, a score that ``k`` keys are known to reach, may be left out. ``offset`` lowers the scores of
    each key. Threads that have shortlists of the same queries share what is ``low``.
    """

    def __init__(
        self,
        pairs: Pairs,
        k: int,
        floor: NDArray[np.float32],
        offset: NDArray[np.float32] | None = None,
        low: NDArray[np.float32] | None = None,
    ) -> None:
        self._k, self._first = k, pairs.columns.start
        self._vectors = pairs.vectors(offset)
        size, room = len(floor), 2 * k + _SPARE
        self._lists = (
            np.empty((size, room), dtype=np.float32),
            np.empty((size, room), dtype=np.int32),
            np.zeros(size, dtype=np.int32),
            np.zeros(size, dtype=np.int32),
            _lowest(pairs, floor) if low is None else low,
            pairs.error,
        )

    @classmethod
    def of(cls, pairs: Pairs, best: Best, offsets: NDArray[np.float32] | None) -> Shortlists:
        """Begin with what is known of the queries; the offsets are those of all keys."""
        best.zero[pairs.rows] = pairs.queries.lengths == 0
        return cls(pairs, best.k, best.floor[pairs.rows], None if offsets is None else offsets[pairs.columns])

    @classmethod
    def given(
        cls,
        pairs: Pairs,
        k: int,
        columns: NDArray[np.int64],
        scores: NDArray[np.float32],
        error: float,
        offset: NDArray[np.float32],
    ) -> Shortlists:
        """Begin with scores that are known up to an error."""
        none = np.full(len(columns), -np.inf, dtype=np.float32)
        shortlists = cls(pairs, k, none, offset, none)
        counts = np.full(len(columns), columns.shape[1], dtype=np.int32)
        errors = np.full(len(columns), error)
        shortlists._lists = (scores, columns.astype(np.int32), counts, *shortlists._lists[3:5], errors)
        return shortlists

    def add(self, part: slice, products: NDArray[np.float32]) -> None:
        """Look through the products of the queries with some of the keys."""
        kernels().scan_rows(products, kernels().BLOCK, part.start, self._lists, self._k, self._vectors)

    def add_columns(self, rows: slice, part: slice, products: NDArray[np.float32]) -> None:
        """Look through the products of some of the keys, in rows, with some of the queries, in columns."""
        kernels().scan_columns(products, kernels().BLOCK, rows.start, part.start, self._lists, self._k, self._vectors)

    def best(self, part: slice | None = None) -> NDArray[np.int64]:
        """Return the ``k`` best keys of each query, packed; if there are fewer keys, the last places stay empty."""
        part = part or slice(0, len(self._lists[0]))
        packed = np.empty((part.stop - part.start, self._k), dtype=np.int64)
        kernels().close(self._lists, self._vectors, part.start, self._first, packed)
        packed.sort(axis=1)
        return packed


def _lowest(pairs: Pairs, floor: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the fast scores below which no key can reach the floor. Queries of zeros are not searched for."""
    return np.where(pairs.queries.lengths == 0, np.inf, floor - pairs.error).astype(np.float32)


class _OfKeys:
    """Shortlists of the keys of a strip, for which each thread looks through its own queries."""

    def __init__(self, queries: Block, keys: Block, columns: slice, best: Best) -> None:
        self._pairs = Pairs(keys, queries, columns, slice(0, len(queries.vectors)))
        self._best, self._columns, self._lock = best, columns, Lock()
        self._low = _lowest(self._pairs, best.floor[columns])
        self._of_threads: dict[int, Shortlists] = {}
        best.zero[columns] = keys.lengths == 0

    def add(self, rows: slice, part: slice, products: NDArray[np.float32]) -> None:
        thread = get_ident()
        if thread not in self._of_threads:
            fresh = Shortlists(self._pairs, self._best.k, self._low, low=self._low)
            with self._lock:
                self._of_threads[thread] = fresh
        self._of_threads[thread].add_columns(rows, part, products)

    def close(self) -> None:
        """Keep the best queries that the threads found."""
        parts = list(row_blocks(len(self._low), _ROWS_AT_A_TIME))

        def settle(part: slice) -> list[NDArray[np.int64]]:
            return [shortlists.best(part) for shortlists in self._of_threads.values()]

        for part, found in zip(parts, ordered_map(settle, parts), strict=True):
            for packed in found:
                self._best.add(slice(self._columns.start + part.start, self._columns.start + part.stop), packed)
