"""The best few keys of every query, collected tile by tile; ties are broken by the lower row number."""

from __future__ import annotations

from functools import partial
from threading import Lock, get_ident
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp._progress import Steps
from fipp.linalg import machines, ordered_map, row_blocks, shared_map
from fipp.retrieve._scan import Block, Pairs, Rows, Scan, Tiles, halves, kernels

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
    """The ``k`` best keys of each of ``n`` queries among all blocks added so far, by cosines less ``offsets``."""

    exact = True
    """Whether scores are exact."""

    def __init__(
        self,
        n: int,
        k: int,
        floor: NDArray[np.float32] | None = None,
        offsets: NDArray[np.float32] | None = None,
    ) -> None:
        self.k, self.packed, self.offsets = k, np.full((n, k), _EMPTY), offsets
        # A score that k keys are known to reach. It only rises, so a thread that reads it late sees a floor that is too
        # low, never one that is too high: threads need not wait for each other, and the result is the same.
        self.floor = np.full(n, -np.inf, dtype=np.float32) if floor is None else floor
        self.zero = np.zeros(n, dtype=np.bool_)

    def add(self, rows: slice, packed: NDArray[np.int64]) -> None:
        """Keep the best of the known keys of these queries and the new ones, which are sorted."""
        changed = np.flatnonzero(packed[:, 0] < self.packed[rows, -1])
        if len(changed) == 0:
            return
        numbers = rows.start + (rows.step or 1) * changed
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

    def fill_zeros(self, n_keys: int) -> None:
        """Let queries of zeros, which tie with most keys or all of them, share one list."""
        for rows, offsets in self.parts():
            zero = np.arange(len(self.zero))[rows][self.zero[rows]]
            if len(zero):
                scores = np.zeros(n_keys, dtype=np.float32) if offsets is None else -offsets
                self.packed[zero] = np.sort(pack(scores, np.arange(n_keys)))[: self.k]

    def offsets_of(self, number: int) -> NDArray[np.float32] | None:
        """Return the offsets for one part of the queries."""
        return self.offsets

    def parts(self) -> list[tuple[slice, NDArray[np.float32] | None]]:
        """Return the rows of queries that share offsets, and these."""
        return [(slice(0, len(self.packed), 1), self.offsets)]

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return columns and scores, best first."""
        return unpack(self.packed)

    def means(self, k: int | None = None) -> NDArray[np.float32]:
        """Return the mean of the ``k`` best scores of each query, or of all."""
        means = np.empty(len(self.packed), dtype=np.float32)
        for part in row_blocks(len(means), _ROWS_AT_A_TIME):
            means[part] = unpack(self.packed[part, :k])[1].mean(axis=1, dtype=np.float64)
        return means


class Candidates(Best):
    """The ``k`` best keys of each query by fast cosines less an estimate of half of r_S, better for later `halves`."""

    exact = False

    def __init__(self, n: int, k: int, n_keys: int) -> None:
        super().__init__(n, k)
        self.estimates = np.zeros((len(halves(n)), n_keys), dtype=np.float32)

    def offsets_of(self, number: int) -> NDArray[np.float32]:
        return self.estimates[number]

    def parts(self) -> list[tuple[slice, NDArray[np.float32] | None]]:
        return list(zip(halves(len(self.packed)), self.estimates, strict=True))


class Wanted(NamedTuple):
    """How many keys of each query are wanted, by scores less which offsets, and what ``k`` keys are known to reach."""

    k: int
    offsets: NDArray[np.float32] | None = None
    floor: NDArray[np.float32] | None = None


def find_best(scan: Scan, steps: Steps, *wanted: Wanted) -> list[Best]:
    """Find the best keys of each query, for everything that is wanted, in one pass."""
    n, n_keys = len(scan.queries), len(scan.keys)
    return _find(scan, steps, [Best(n, min(k, n_keys), floor, offsets) for k, offsets, floor in wanted], None)


def find_both(scan: Scan, steps: Steps, of_queries: int, of_keys: int) -> tuple[Best, Best]:
    """Find the best keys of each query and the best queries of each key in one pass; all queries are in memory."""
    backward = Best(len(scan.keys), min(of_keys, len(scan.queries)))
    (forward,) = _find(scan, steps, [Best(len(scan.queries), min(of_queries, len(scan.keys)))], backward)
    return forward, backward


def find_candidates(
    scan: Scan, steps: Steps, of_queries: int, of_keys: int, n_candidates: int
) -> tuple[Best, Candidates, Best]:
    """Find what `find_both` does, and the candidates of each query for CSLS; the queries of the scan are halved."""
    n, n_keys = len(scan.queries), len(scan.keys)
    nearest, backward = Best(n, min(of_queries, n_keys)), Best(n_keys, min(of_keys, n))
    candidates = Candidates(n, min(n_candidates, n_keys), n_keys)
    _find(scan, steps, [nearest], backward, candidates)
    return nearest, candidates, backward


def _find(
    scan: Scan, steps: Steps, found: list[Best], backward: Best | None, candidates: Candidates | None = None
) -> list[Best]:
    """Add all keys to what was found, and all queries to what was found for the keys if that is wanted."""
    search = _search_here if machines() is None else _search_elsewhere
    search(scan, steps, found, backward, candidates)
    for best in found if candidates is None else [*found, candidates]:
        best.fill_zeros(len(scan.keys))
    if backward is not None:
        backward.fill_zeros(len(scan.queries))
    return found


def _search_here(
    scan: Scan, steps: Steps, found: list[Best], backward: Best | None, candidates: Candidates | None
) -> None:
    found = found if candidates is None else [*found, candidates]
    for strip in scan.strips():
        of_keys = None if backward is None else _OfKeys(scan.queries.read_all(), strip.keys, strip.columns, backward)
        for number in range(scan.n_parts):
            if candidates is not None and of_keys is not None:
                candidates.estimates[number, strip.columns] = of_keys.estimate() / np.float32(2)
            for rows, packed in strip.run(partial(_look_through, found, of_keys, number), number):
                for best, new in zip(found, packed, strict=True):
                    best.add(rows, new)
                steps()
        if of_keys is not None:
            of_keys.close()


def _look_through(
    found: list[Best], of_keys: _OfKeys | None, number: int, pairs: Pairs, tiles: Tiles
) -> list[NDArray[np.int64]]:
    """Return the best keys of some queries, which are in the part with this number, for everything that is wanted."""
    lists = [Shortlists.of(pairs, best, number) for best in found]
    for part, products in tiles:
        for shortlists in lists:
            shortlists.add(part, products)
        if of_keys is not None:
            of_keys.add(pairs.rows, part, products)
    return [shortlists.best(exact=best.exact) for shortlists, best in zip(lists, found, strict=True)]


class _Question(NamedTuple):
    """What every machine is asked: the queries, how many keys of each are wanted, and how many queries of each key."""

    queries: Rows
    counts: list[int]
    floors: list[NDArray[np.float32]]
    of_keys: int
    candidates: int
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
    estimates: NDArray[np.float32] | None


def _search_elsewhere(
    scan: Scan, steps: Steps, found: list[Best], backward: Best | None, candidates: Candidates | None
) -> None:
    """Do what `_search_here` does on other machines: each searches shards of the keys, and the best are merged."""
    question = _Question(
        scan.queries,
        [best.k for best in found],
        [best.floor for best in found],
        0 if backward is None else backward.k,
        0 if candidates is None else candidates.k,
        (scan.max_memory, scan.kept, scan.per_key),
    )
    offsets = [best.offsets for best in found]
    shards = (
        _Shard(scan.keys.section(part), part, [None if each is None else each[part] for each in offsets])
        for part in scan.shards()
    )
    rows = slice(0, len(scan.queries))
    for part, answer in zip(scan.shards(), shared_map(_search_shard, question, shards), strict=True):
        for best, packed in zip(found if candidates is None else [*found, candidates], answer.best, strict=True):
            best.add(rows, packed)
            best.zero = answer.zero
        if backward is not None:
            backward.packed[part], backward.zero[part] = answer.of_keys, answer.zero_keys
        if candidates is not None:
            candidates.estimates[:, part] = answer.estimates
        steps(scan.n_query_blocks)


def _search_shard(question: _Question, shard: _Shard) -> _Answer:
    queries, keys = question.queries.received(), shard.keys.received()
    max_memory, kept, per_key = question.memory
    n, n_keys = len(queries), len(keys)
    scan = Scan(queries, keys, max_memory, kept=kept, per_key=per_key, halving=question.candidates > 0)
    found = [
        Best(n, k, floor.copy(), offsets)
        for k, floor, offsets in zip(question.counts, question.floors, shard.offsets, strict=True)
    ]
    backward = Best(n_keys, question.of_keys) if question.of_keys else None
    candidates = Candidates(n, question.candidates, n_keys) if question.candidates else None
    _search_here(scan, Steps(None, len(scan)), found, backward, candidates)
    numbers, estimates = np.arange(shard.columns.start, shard.columns.stop), None
    of_keys, zero_keys = (None, None) if backward is None else (backward.packed, backward.zero)
    if candidates is not None:
        found, estimates = [*found, candidates], candidates.estimates
    return _Answer([best.renumbered(numbers) for best in found], found[0].zero, of_keys, zero_keys, estimates)


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
            np.empty((size, room), dtype=np.int64),
            np.zeros(size, dtype=np.int32),
            np.zeros(size, dtype=np.int32),
            _lowest(pairs, floor) if low is None else low,
            pairs.error,
        )

    @classmethod
    def of(cls, pairs: Pairs, best: Best, number: int) -> Shortlists:
        """Begin with what is known of the queries, which are in the part with this number."""
        best.zero[pairs.rows] = pairs.queries.lengths == 0
        offsets = best.offsets_of(number)
        return cls(pairs, best.k, best.floor[pairs.rows], None if offsets is None else offsets[pairs.columns])

    @classmethod
    def given(
        cls,
        pairs: Pairs,
        k: int,
        columns: NDArray[np.int64],
        scores: NDArray[np.float32],
        offset: NDArray[np.float32],
    ) -> Shortlists:
        """Begin with fast scores."""
        none = np.full(len(columns), -np.inf, dtype=np.float32)
        shortlists = cls(pairs, k, none, offset, none)
        counts = np.full(len(columns), columns.shape[1], dtype=np.int32)
        shortlists._lists = (pack(scores, columns), counts, *shortlists._lists[2:4], 2 * pairs.error)
        return shortlists

    def add(self, part: slice, products: NDArray[np.float32]) -> None:
        """Look through the products of the queries with some of the keys."""
        kernels().scan_rows(products, part.start, self._lists, self._k, self._vectors)

    def add_columns(self, rows: slice, part: slice, products: NDArray[np.float32]) -> None:
        """Look through the products of some of the keys, in rows, with some of the queries, in columns."""
        place = rows.start, rows.step or 1, part.start
        kernels().scan_columns(products, *place, self._lists, self._k, self._vectors)

    def join_scores(self, highest: NDArray[np.float32]) -> None:
        """Add the fast scores to the highest known of each query, which are sorted."""
        kernels().join_scores(self._lists, highest)

    def best(self, part: slice | None = None, *, exact: bool = True) -> NDArray[np.int64]:
        """Return the ``k`` best keys of each query, packed; if there are fewer keys, the last places stay empty."""
        part = part or slice(0, len(self._lists[0]))
        packed = np.empty((part.stop - part.start, self._k), dtype=np.int64)
        kernels().close(self._lists, self._vectors, exact, part.start, self._first, packed)
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

    def estimate(self) -> NDArray[np.float32]:
        """Estimate r_S of each key from the queries so far.

        The highest cosine is often that of a match, which says nothing of the queries to come.
        """
        highest = np.full((len(self._low), self._best.k), -np.inf, dtype=np.float32)
        for shortlists in self._of_threads.values():
            shortlists.join_scores(highest)
        means: NDArray[np.float32] = highest[:, min(1, self._best.k - 1) :].mean(axis=1)
        return np.where(np.isfinite(means), means, np.float32(0))

    def close(self) -> None:
        """Keep the best queries that the threads found."""
        parts = list(row_blocks(len(self._low), _ROWS_AT_A_TIME))

        def settle(part: slice) -> list[NDArray[np.int64]]:
            return [shortlists.best(part) for shortlists in self._of_threads.values()]

        for part, found in zip(parts, ordered_map(settle, parts), strict=True):
            for packed in found:
                self._best.add(slice(self._columns.start + part.start, self._columns.start + part.stop), packed)
