"""What every option finds in the sample, with no item mapped by a map that was fitted on it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.linalg import row_blocks, unit_rows
from fipp.migrate._maps import DEPTH, BestMap, best_map, nearest_others, shares_found
from fipp.migrate._sample import PairedSample

RESCORED = (50, 100, 200)
"""How many of the first found are scored again by the new model."""

_ASKED_AT_A_TIME = 256
Scores = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""Returns the cosines of some queries, by their rows, with all items."""


class Found(NamedTuple):
    """What one way finds in the sample."""

    recalls: NDArray[np.float64]
    """Of the 1, 2, … 10 nearest neighbours of each query, without its answer; of each item if there are no queries."""
    by_items: NDArray[np.float64] | None
    """The same of each item, if items are asked like queries of the new model."""
    ranks: NDArray[np.int64] | None
    """Of the answer of each query that has one."""
    within: NDArray[np.float64]
    """The mean share of the ten nearest that are among as many of the first found as `RESCORED` says."""


class Sides:
    """The sample with its true neighbours, against which every way is measured."""

    def __init__(self, sample: PairedSample) -> None:
        self.sample = sample
        self.old, self.new = unit_rows(sample.old), unit_rows(sample.new)

    @cached_property
    def new_queries(self) -> NDArray[np.float32] | None:
        return None if self.sample.new_queries is None else unit_rows(self.sample.new_queries)

    @cached_property
    def old_queries(self) -> NDArray[np.float32] | None:
        return None if self.sample.old_queries is None else unit_rows(self.sample.old_queries)

    @cached_property
    def own(self) -> NDArray[np.int64]:
        """The answer of each query, −1 if it has none; the item itself if items are asked."""
        if self.new_queries is None:
            return np.arange(len(self.new))
        if self.sample.gold is None:
            return np.full(len(self.new_queries), -1)
        return np.array([rows[0] if len(rows) else -1 for rows in self.sample.gold])

    @cached_property
    def wanted(self) -> list[list[int]]:
        """The true neighbours of what is asked."""
        return _search(self._asked_again, self.own).nearest

    def search_all(self, best: BestMap) -> dict[str, Found]:
        """Return what each way finds; ``best`` is the map of documents."""
        items = self.recalls_by_items(best)
        converted = unit_rows(best.left_out.predictions())
        return {
            "stay on the old model": self._stay(),
            "query adapter": self._found(self._adapted()),
            "convert": self._found(lambda rows: best.left_out.cosines(self._queries[rows], self.own[rows]), items)
            if self.new_queries is not None
            else self._items_found(lambda rows: self.new[rows] @ converted.T),
            "embed again": self._found(self._asked_again),
        }

    def recalls_by_items(self, best: BestMap) -> NDArray[np.float64]:
        """Return how many neighbours of each item are kept by converting, each item by the map without it."""
        converted, own = unit_rows(best.left_out.predictions()), np.arange(len(self.new))
        return shares_found(nearest_others(self.new, converted, own), nearest_others(self.new, self.new, own))

    @property
    def _queries(self) -> NDArray[np.float32]:
        return self.new if self.new_queries is None else self.new_queries

    def _asked_again(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        return self._queries[rows] @ self.new.T

    def _stay(self) -> Found:
        """Search with the old model; by items if it did not embed the queries."""
        asked = self.old_queries
        if asked is not None:
            return self._found(lambda rows: asked[rows] @ self.old.T)
        return self._items_found(lambda rows: self.old[rows] @ self.old.T)

    def _items_found(self, scores: Scores) -> Found:
        """Return what items find that are asked like queries."""
        own = np.arange(len(self.new))
        wanted = _search(lambda rows: self.new[rows] @ self.new.T, own).nearest
        found = _search(scores, own, wanted)
        return Found(shares_found(found.nearest, wanted), None, None, found.within)

    def _adapted(self) -> Scores:
        """Return the scores of queries mapped to the old model, by the map without the pairs that are compared."""
        best, n = best_map(self.sample, "queries"), len(self.new)
        if self.new_queries is None:
            return lambda rows: best.left_out.cosines_to(rows, n)
        if self.old_queries is not None:
            return lambda rows: best.left_out.cosines_to(n + rows, n, self.own[rows])
        mapped = unit_rows(best.aligner.transform(self.new_queries))
        return lambda rows: mapped[rows] @ self.old.T

    def _found(self, scores: Scores, by_items: NDArray[np.float64] | None = None) -> Found:
        found = _search(scores, self.own, self.wanted)
        answered = self.new_queries is not None and self.sample.gold is not None
        recalls = shares_found(found.nearest, self.wanted)
        return Found(recalls, by_items, found.ranks if answered else None, found.within)


class _Search(NamedTuple):
    nearest: list[list[int]]
    """The ten nearest items of each query without its own one."""
    ranks: NDArray[np.int64]
    """Of the own items, where there are any."""
    within: NDArray[np.float64]
    """As in `Found`; nothing if it is not known what is wanted."""


def _search(scores: Scores, own: NDArray[np.int64], wanted: list[list[int]] | None = None) -> _Search:
    nearest: list[list[int]] = []
    ranks, within = [], []
    for block in row_blocks(len(own), _ASKED_AT_A_TIME):
        rows = np.arange(len(own))[block]
        cosines = scores(rows)
        known = np.flatnonzero(own[rows] >= 0)
        mine = own[rows][known]
        gold = cosines[known, mine].copy()
        cosines[known, mine] = -np.inf
        best = np.argpartition(-cosines, min(DEPTH, cosines.shape[1] - 1) - 1, axis=1)[:, :DEPTH]
        order = np.argsort(-np.take_along_axis(cosines, best, axis=1), axis=1, kind="stable")
        nearest += np.take_along_axis(best, order, axis=1).tolist()
        ranks.append(1 + (cosines[known] > gold[:, None]).sum(axis=1))
        if wanted is not None:
            ascending = np.sort(cosines, axis=1)
            bounds = ascending[:, [-min(first, cosines.shape[1]) for first in RESCORED]]
            right = np.take_along_axis(cosines, np.array(wanted[block]), axis=1)
            within.append((right[:, :, None] >= bounds[:, None]).mean(axis=1))
    shares = np.concatenate(within).mean(axis=0) if within else np.empty(0)
    return _Search(nearest, np.concatenate(ranks), shares)
