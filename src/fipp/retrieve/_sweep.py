r"""Both directions, and CSLS, of whole vocabularies with one product of all queries with all keys.

CSLS needs r_S, how close each key is to its nearest queries, before it can rank a single key; the usual way multiplies
everything twice. Here one pass finds the nearest keys of each query and the nearest queries of each key by cosine,
which gives r_T and r_S. The best keys y of a query x by :math:`\cos(x, y) - r_S(y)/2` are then sought among its nearest
and among the keys that x is one of the nearest of. Any other key has no higher cosine than the last of the nearest of
x, :math:`c(x)`, and than the last of its own, :math:`c(y)`. It can reach the score s of the k-th best only if

.. math:: r_S(y)/2 \le c(x) - s \quad\text{and}\quad c(y) - r_S(y)/2 \ge s.

Only keys for which both hold are compared again, few or none for most queries, so that the result is that of two
passes, bit by bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fipp._progress import Steps
from fipp.linalg import n_threads, ordered_map, parse_memory, row_blocks, rows_per_block
from fipp.retrieve._best import Best, Shortlists, Wanted, find_best, first_of_each, pack, unpack
from fipp.retrieve._scan import Pairs, Rows, Scan, even_blocks, kernels, product_error

QUERIES_AT_A_TIME = 1024
KEYS_AT_A_TIME = 1 << 14
# Candidates beside twice the k wanted by CSLS: more cost more time in the pass, fewer leave more to compare again.
_SPARE_CANDIDATES = 12
# Queries that may have a better key are compared again in groups: smaller ones have fewer keys, but slower products.
_QUERIES_IN_A_GROUP = 128
# A float32 cosine less a float32 offset is off by less than this, and so is the bound of the certificate.
_ERROR = 5e-7


def n_candidates(k: int) -> int:
    """Return how many keys are looked at for the ``k`` best by CSLS."""
    return 2 * k + _SPARE_CANDIDATES


@dataclass(frozen=True)
class Sweep:
    """Queries and keys that are all in memory, with what memory is left for the work."""

    queries: Rows
    keys: Rows
    max_memory: int

    @classmethod
    def plan(cls, queries: Rows, keys: Rows, kept: int, max_memory: int | float | str | None) -> Sweep | None:
        """Return the sweep, with all vectors read, if they and what is kept of each fit in memory, else None."""
        if len(queries) == 0:
            return None
        given = parse_memory(max_memory)
        left = given - (len(queries) + len(keys)) * (4 * queries.dimensions + 8 + 16 * kept)
        return cls(queries.converted(), keys.converted(), left) if 4 * left >= given else None

    def scan(self, of_queries: int, of_keys: int, *, halving: bool = False) -> Scan:
        """Return the pass that finds the nearest of both."""
        per_key = n_threads() * (16 * of_keys + 512)
        return Scan(self.queries, self.keys, self.max_memory, kept=of_queries, per_key=per_key, halving=halving)

    def turned(self) -> Sweep:
        """Return the sweep with queries and keys exchanged."""
        return Sweep(self.keys, self.queries, self.max_memory)

    def rank(self, candidates: Best, k: int, offsets: NDArray[np.float32], of_keys: Best | None = None) -> Best:
        """Find the ``k`` best keys by cosine less their offset, from the candidates and, if given, the best of keys."""
        queries, keys = self.queries.read_all(), self.keys.read_all()
        best = Best(len(self.queries), min(k, len(self.keys)))
        best.zero = candidates.zero

        def work(rows: slice, leads: NDArray[np.float32]) -> NDArray[np.int64]:
            columns, scores = unpack(candidates.packed[rows])
            pairs = Pairs(queries.part(rows), keys, rows, slice(0, len(self.keys)))
            return Shortlists.given(pairs, best.k, columns, scores + leads[columns], offsets).best()

        parts = [(rows, -offsets if known is None else known - offsets) for rows, known in candidates.parts()]
        for part, leads in parts:
            blocks = list(even_blocks(part, QUERIES_AT_A_TIME))
            for rows, packed in zip(blocks, ordered_map(partial(work, leads=leads), blocks), strict=True):
                best.add(rows, packed)
        if candidates.k < len(self.keys):
            if of_keys is not None:
                self._add_reversed(best, of_keys, offsets)
            highest = None if of_keys is None else of_keys.last_scores() - offsets
            for part, leads in parts:
                self._look_again(best, part, best.floor - candidates.last_scores(), leads, highest, offsets)
        return best

    def _add_reversed(self, best: Best, of_keys: Best, offsets: NDArray[np.float32]) -> None:
        """Add the keys that have a query among their nearest, where they may be better."""
        # With many ties, all of these pairs are scored, packed and sorted.
        step = rows_per_block(200 * of_keys.k, self.max_memory, at_most=KEYS_AT_A_TIME)
        for columns in row_blocks(len(self.keys), step):
            queries, cosines = unpack(of_keys.packed[columns])
            scores = cosines - offsets[columns, None]
            keys, places = np.nonzero(scores >= best.floor[queries] - np.float32(_ERROR))
            rows, keys = queries[keys, places], keys + columns.start
            exact = np.empty(len(rows), dtype=np.float32)
            vectors = self.queries.read_all().vectors, self.keys.read_all().vectors, offsets
            kernels().score_pairs(vectors, rows, keys, exact)
            best.join(*first_of_each(rows, pack(exact, keys), best.k))

    def _look_again(
        self,
        best: Best,
        part: slice,
        lacking: NDArray[np.float32],
        leads: NDArray[np.float32],
        highest: NDArray[np.float32] | None,
        offsets: NDArray[np.float32],
    ) -> None:
        """Compare queries with the keys that may be better: their lead makes up for what the candidates lack.

        If the ``highest`` scores of keys are known, they must be high enough, too.
        """
        error = np.float32(2 * (product_error(self.queries.dimensions) + _ERROR))
        lacking, floor = lacking[part] - error, best.floor[part] - error
        rows = np.arange(len(best.packed))[part]
        if highest is None:
            unsure = np.flatnonzero(lacking <= leads.max())
            band = np.zeros(len(unsure), dtype=np.int64)
        else:
            order = np.argsort(-leads, kind="stable")
            highest_so_far = np.concatenate([[-np.inf], np.maximum.accumulate(highest[order])])
            unsure = np.flatnonzero(highest_so_far[np.searchsorted(-leads[order], -lacking, "right")] >= floor)
            # Groups of similar queries, by the score to reach and by how many keys can, have the fewest keys together.
            groups = -(-len(unsure) // _QUERIES_IN_A_GROUP)
            band = np.argsort(np.argsort(floor[unsure], kind="stable")) * math.isqrt(groups) // max(1, len(unsure))
        unsure = unsure[np.lexsort((lacking[unsure], band))]
        max_memory = self.max_memory // n_threads()

        def work(part: slice) -> NDArray[np.int64]:
            some = unsure[part]
            may = leads >= lacking[some].min()
            if highest is not None:
                may &= highest >= floor[some].min()
            columns = np.flatnonzero(may)
            scan = Scan(self.queries.pick(rows[some]), self.keys.pick(columns), max_memory, kept=best.k)
            (found,) = find_best(scan, Steps(None, len(scan)), Wanted(best.k, offsets[columns], best.floor[rows[some]]))
            return found.renumbered(columns)

        parts = list(row_blocks(len(unsure), _QUERIES_IN_A_GROUP))
        for some, packed in zip(parts, ordered_map(work, parts), strict=True):
            best.join(rows[unsure[some]], packed)
