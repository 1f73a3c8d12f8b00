"""Two sets of vectors that are searched from either side, by cosine and by CSLS with one product."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._progress import Progress, Steps
from fipp.exceptions import FippError
from fipp.linalg import parse_memory
from fipp.retrieve._best import Wanted, find_best, find_both
from fipp.retrieve._scan import Rows, Scan, check_comparable
from fipp.retrieve._scores import check_count
from fipp.retrieve._search import Neighbours, as_csls
from fipp.retrieve._sweep import Sweep

Side = Literal["source", "target"]


class SideBySide(NamedTuple):
    """The nearest keys of each query by both scores; ``csls`` is None before hubs were measured."""

    cosine: Neighbours
    csls: Neighbours | None


class MeanCosines(NamedTuple):
    """For each row of either side, its mean cosine with its nearest rows of the other side."""

    source: NDArray[np.float32]
    target: NDArray[np.float32]


class TwoWayIndex:
    """Source and target vectors of one space, prepared once and searched many times from either side.

    Parameters
    ----------
    source, target : array-like of shape (n, d) and (m, d)
        Vectors of one space, one per row. A float32 copy at unit length is kept.
    n_neighbours : int
        Number of neighbours in the means of CSLS.

    Attributes
    ----------
    hubs : MeanCosines or None
        What `measure_hubs` returned, or what is set because it is known. Searches by CSLS need it.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp.retrieve import TwoWayIndex
    >>> index = TwoWayIndex(np.eye(3), [[1.0, 0.1, 0.0], [0.0, 1.0, 0.2]])
    >>> index.hubs = index.measure_hubs()
    >>> found = index.search([1], k=2)
    >>> found.cosine.indices, found.csls.indices
    (array([[1, 0]]), array([[1, 0]]))
    >>> index.search([0], k=1, side="target").cosine.indices
    array([[0]])
    """

    def __init__(self, source: ArrayLike, target: ArrayLike, *, n_neighbours: int = 10) -> None:
        self._n_neighbours = check_count(n_neighbours, "n_neighbours")
        self._rows: dict[Side, Rows] = {
            "source": Rows(source, "source", unit=True).converted(),
            "target": Rows(target, "target", unit=True).converted(),
        }
        check_comparable(self._rows["source"], self._rows["target"], "search in")
        check_comparable(self._rows["target"], self._rows["source"], "search in")
        self.hubs: MeanCosines | None = None

    def vectors(self, rows: ArrayLike, side: Side = "source") -> NDArray[np.float32]:
        """Return the vectors of these rows at unit length."""
        return self._rows[side].read_all().vectors[np.asarray(rows, dtype=np.int64)]

    def measure_hubs(self, *, max_memory: int | str | None = None, progress: Progress | None = None) -> MeanCosines:
        """Measure how much of a hub each row of both sides is, with one product of all rows with all rows.

        Parameters
        ----------
        max_memory : int or str, optional
            Working memory beside the index; 1 GiB by default.
        progress : callable, optional
            Called as ``progress(done, total)``.

        Returns
        -------
        MeanCosines
        """
        n = self._n_neighbours
        scan = Sweep(self._rows["source"], self._rows["target"], parse_memory(max_memory)).scan(n, n)
        of_source, of_target = find_both(scan, Steps(progress, len(scan)), n, n)
        return MeanCosines(of_source.means(), of_target.means())

    def search(self, rows: ArrayLike, k: int = 10, *, side: Side = "source") -> SideBySide:
        """Find the ``k`` nearest rows of the other side for rows of one side, exactly, as `neighbours` does.

        Parameters
        ----------
        rows : array-like of int, shape (q,)
            Row numbers.
        k : int
            Number of neighbours.
        side : {"source", "target"}
            The side of ``rows``.

        Returns
        -------
        SideBySide
        """
        k, n, hubs = check_count(k, "k"), self._n_neighbours, self.hubs
        other: Side = "target" if side == "source" else "source"
        scan = self._scan(rows, side, other, max(k, n))
        if hubs is None:
            (nearest,) = find_best(scan, Steps(None, len(scan)), Wanted(k))
            return SideBySide(Neighbours(*nearest.result()), None)
        half = getattr(hubs, other) / np.float32(2)
        nearest, best = find_best(scan, Steps(None, len(scan)), Wanted(max(k, n)), Wanted(k, half))
        indices, scores = nearest.result()
        return SideBySide(Neighbours(indices[:, :k], scores[:, :k]), as_csls(best, nearest.means(n)))

    def similar(self, rows: ArrayLike, k: int = 10, *, side: Side = "source") -> Neighbours:
        """Find the ``k`` nearest other rows of the same side by cosine.

        Parameters
        ----------
        rows : array-like of int, shape (q,)
            Row numbers.
        k : int
            Number of neighbours; all others if there are fewer.
        side : {"source", "target"}
            The side of ``rows``.

        Returns
        -------
        Neighbours
        """
        k, asked = check_count(k, "k"), np.asarray(rows, dtype=np.int64)
        scan = self._scan(asked, side, side, k + 1)
        indices, scores = find_best(scan, Steps(None, len(scan)), Wanted(k + 1))[0].result()
        # Of more than k copies of a row, the row itself may not be among those found; then the last one is dropped.
        own = indices == asked[:, None]
        own[:, -1] |= ~own.any(axis=1)
        shape = len(asked), indices.shape[1] - 1
        return Neighbours(indices[~own].reshape(shape), scores[~own].reshape(shape))

    def _scan(self, rows: ArrayLike, side: Side, other: Side, kept: int) -> Scan:
        asked = np.asarray(rows, dtype=np.int64)
        if asked.ndim != 1 or (asked < 0).any() or (asked >= len(self._rows[side])).any():
            raise FippError(f"rows of the {side} must be numbers between 0 and {len(self._rows[side]) - 1}")
        return Scan(self._rows[side].pick(asked), self._rows[other], None, kept=kept)
