r"""Both directions, and CSLS, of whole vocabularies with one product of all queries with all keys.

CSLS needs r_S, how close each key is to its nearest queries, before it can rank a single key; the usual way multiplies
everything twice. Here one pass finds the nearest keys of each query and the nearest queries of each key by cosine, which
gives r_T and r_S. The best keys by CSLS are then almost always among the nearest by cosine, and that can be certified: a
key y that is not among the nearest of x has no higher cosine than the last of these, :math:`c`, so that

.. math:: \cos(x, y) - r_S(y)/2 \le c - r_S(y)/2,

and if it is to reach the score s of the k-th best, then :math:`r_S(y)/2 \le c - s`. Few keys have an r_S as low as this,
for most queries none. Only these keys are compared again. The result is that of two passes, bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fipp._progress import Steps
from fipp.linalg import n_threads, ordered_map, parse_memory, row_blocks
from fipp.retrieve._best import Best, Shortlists, Wanted, find_best, unpack
from fipp.retrieve._scan import Pairs, Rows, Scan

QUERIES_AT_A_TIME = 1024
# Keys by cosine beside the k wanted by CSLS: more cost more time in the pass, fewer leave more to compare again.
_SPARE_CANDIDATES = 6
_FEWEST_CANDIDATES = 8
# Queries that may have a better key are compared again in at most this many groups, those with as many keys together.
_MOST_GROUPS = 16
# A float32 cosine less a float32 offset is off by less than this, and so is the bound of the certificate.
_ERROR = 5e-7


def n_candidates(k: int, n_neighbours: int) -> int:
    """Return how many of the nearest keys by cosine are looked at for the ``k`` best by CSLS."""
    return max(n_neighbours, _FEWEST_CANDIDATES, k + _SPARE_CANDIDATES if k > 1 else 1)


@dataclass(frozen=True)
class Sweep:
    """Queries and keys that are all in memory, with what memory is left for the work."""

    queries: Rows
    keys: Rows
    max_memory: int

    @classmethod
    def plan(cls, queries: Rows, keys: Rows, kept: int, max_memory: int | float | str | None) -> Sweep | None:
        """Return the sweep, with all vectors read, if they and what is kept of each of them fit in memory, else None."""
        if len(queries) == 0:
            return None
        given = parse_memory(max_memory)
        # The nearest are packed; they are unpacked, with their scores, while they are ranked.
        left = given - (len(queries) + len(keys)) * (4 * queries.dimensions + 8 + 48 * kept)
        return cls(queries.converted(), keys.converted(), left) if 4 * left >= given else None

    def scan(self, of_queries: int, of_keys: int) -> Scan:
        """Return the pass that finds the nearest of both."""
        per_key = n_threads() * (16 * of_keys + 512)
        return Scan(self.queries, self.keys, self.max_memory, kept=of_queries, per_key=per_key)

    def turned(self) -> Sweep:
        """Return the sweep with queries and keys exchanged."""
        return Sweep(self.keys, self.queries, self.max_memory)

    def rank(self, nearest: Best, k: int, offsets: NDArray[np.float32]) -> Best:
        """Find the ``k`` best keys by cosine less their offset, of which most are among the ``nearest`` by cosine."""
        queries, keys = self.queries.read_all(), self.keys.read_all()
        best = Best(len(self.queries), min(k, len(self.keys)))
        best.zero = nearest.zero

        def work(rows: slice) -> NDArray[np.int64]:
            columns, cosines = unpack(nearest.packed[rows])
            pairs = Pairs(queries.part(rows), keys, rows, slice(0, len(self.keys)))
            return Shortlists.given(pairs, best.k, columns, cosines - offsets[columns], _ERROR, offsets).best()

        blocks = list(row_blocks(len(self.queries), QUERIES_AT_A_TIME))
        for rows, packed in zip(blocks, ordered_map(work, blocks), strict=True):
            best.add(rows, packed)
        if nearest.k < len(self.keys):
            reach = unpack(nearest.packed[:, -1])[1] - best.floor + np.float32(2 * _ERROR)
            self._look_again(best, reach, offsets)
        return best

    def _look_again(self, best: Best, reach: NDArray[np.float32], offsets: NDArray[np.float32]) -> None:
        """Compare each query with the keys whose offset is at most its ``reach``."""
        unsure = np.flatnonzero(reach >= offsets.min())
        unsure = unsure[np.argsort(-reach[unsure], kind="stable")]
        for part in row_blocks(len(unsure), max(QUERIES_AT_A_TIME, -(-len(unsure) // _MOST_GROUPS))):
            rows = unsure[part]
            columns = np.flatnonzero(offsets <= reach[rows[0]])
            scan = Scan(self.queries.pick(rows), self.keys.pick(columns), self.max_memory, kept=best.k)
            wanted = Wanted(best.k, offsets[columns], best.floor[rows])
            (found,) = find_best(scan, Steps(None, len(scan)), wanted)
            best.join(rows, found, columns)
