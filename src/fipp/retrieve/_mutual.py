"""Rows of two matrices that are each other's nearest neighbour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._progress import Progress, Steps
from fipp.retrieve._best import Best, Wanted, find_best, find_both, find_candidates
from fipp.retrieve._scan import Rows, Scan
from fipp.retrieve._scores import Hubs, Settings, check_count
from fipp.retrieve._sweep import Sweep, n_candidates


class Hubness(NamedTuple):
    """Mean cosine of each row of A, the source, with its nearest rows of B, the target, and vice versa."""

    source: NDArray[np.float32]
    target: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class MutualNeighbours:
    """Pairs of rows that are each other's nearest neighbour.

    Attributes
    ----------
    pairs : ndarray of int64, shape (k, 2)
        A row of A and a row of B, in the order of A. A row of zeros is in no pair.
    scores : ndarray of float32, shape (k,)
        Their scores.
    nearest : ndarray of int64, shape (n,)
        The nearest row of B of every row of A, mutual or not.
    nearest_back : ndarray of int64, shape (m,)
        The nearest row of A of every row of B.
    hubness : Hubness or None
        With CSLS, the means that were subtracted: those of A and those of B.
    """

    pairs: NDArray[np.int64]
    scores: NDArray[np.float32]
    nearest: NDArray[np.int64]
    nearest_back: NDArray[np.int64]
    hubness: Hubness | None = None

    @property
    def mean_score(self) -> float:
        """The mean score of the pairs; 0 if there are none."""
        return float(self.scores.mean(dtype=np.float64)) if len(self.scores) else 0.0


def mutual_neighbours(
    A: ArrayLike,
    B: ArrayLike,
    *,
    retrieval: str = "cosine",
    n_neighbours: int = 10,
    max_memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> MutualNeighbours:
    """Find the rows of A and B that are each other's nearest neighbour in one space.

    The search is exact in both directions, as that of `fipp.retrieve.neighbours`.

    Parameters
    ----------
    A, B : array-like of shape (n, d), (m, d)
        Vectors of one space, one per row.
    retrieval : {"cosine", "nn", "dot", "csls"}
        How two rows are scored; see `fipp.retrieve.neighbours`. All of these are symmetric.
    n_neighbours : int
        Number of neighbours in the means of CSLS.
    max_memory : int, float or str, optional
        Working memory beside inputs and result; 1 GiB by default.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    MutualNeighbours

    Examples
    --------
    >>> import numpy as np
    >>> from fipp.retrieve import mutual_neighbours
    >>> A = np.array([[1, 0], [0, 1], [0.1, 1]])
    >>> mutual_neighbours(A, [[0, 2], [3, 0]]).pairs
    array([[0, 1],
           [1, 0]])
    """
    settings = Settings.checked(retrieval, n_neighbours, 1.0, symmetric=True)
    a, b = Rows(A, "A", unit=settings.unit), Rows(B, "B", unit=settings.unit)
    kept = n_candidates(1) + settings.n_neighbours if settings.retrieval == "csls" else 1
    sweep = Sweep.plan(a, b, kept, max_memory)
    if sweep is None:
        there, back, hubs = _two_passes(a, b, settings, max_memory, progress)
    else:
        there, back, hubs = _one_pass(sweep, settings, progress)
    (nearest, scores), (nearest_back, _) = there.result(), back.result()
    nearest, scores, nearest_back = nearest[:, 0], scores[:, 0], nearest_back[:, 0]
    mutual = nearest_back[nearest] == np.arange(len(a))
    mutual &= ~there.zero & ~back.zero[nearest]
    if hubs is not None:
        scores = 2 * scores - hubs.source
    pairs = np.stack([np.arange(len(a)), nearest], axis=1)[mutual]
    return MutualNeighbours(pairs, scores[mutual], nearest, nearest_back, hubs)


def hubness(A: ArrayLike, B: ArrayLike, k: int = 10, *, max_memory: int | float | str | None = None) -> Hubness:
    """Measure how much of a hub each row of A and of B is: its mean cosine with its ``k`` nearest rows of the other.

    This is `fipp.retrieve.mean_similarity` in both directions, by one product if memory allows.

    Examples
    --------
    >>> hubness([[1, 0], [0, 1]], [[1, 0], [1, 0], [0, 1]], k=2)
    Hubness(source=array([1. , 0.5], dtype=float32), target=array([0.5, 0.5, 0.5], dtype=float32))
    """
    a, b, k = Rows(A, "A", unit=True), Rows(B, "B", unit=True), check_count(k, "k")
    sweep = Sweep.plan(a, b, k, max_memory)
    if sweep is not None:
        scan = sweep.scan(k, k)
        return Hubness(*(best.means() for best in find_both(scan, Steps(None, len(scan)), k, k)))
    scans = Scan(a, b, max_memory, kept=k), Scan(b, a, max_memory, kept=k)
    return Hubness(*(find_best(scan, Steps(None, len(scan)), Wanted(k))[0].means() for scan in scans))


def _one_pass(sweep: Sweep, settings: Settings, progress: Progress | None) -> tuple[Best, Best, Hubness | None]:
    """Find the best row of B of each row of A, and of A of each row of B, by one product."""
    if settings.retrieval != "csls":
        scan = sweep.scan(1, 1)
        return *find_both(scan, Steps(progress, len(scan)), 1, 1), None
    near, kept = settings.n_neighbours, n_candidates(1)
    scan = sweep.scan(near + kept, max(near, kept), halving=True)
    steps = Steps(progress, len(scan) + 1)
    nearest, candidates, of_b = find_candidates(scan, steps, near, max(near, kept), kept)
    hubs = Hubness(nearest.means(), of_b.means(near))
    there = sweep.rank(candidates, 1, _half(hubs.target))
    back = sweep.turned().rank(of_b, 1, _half(hubs.source), nearest)
    steps()
    return there, back, hubs


def _two_passes(
    a: Rows, b: Rows, settings: Settings, max_memory: int | float | str | None, progress: Progress | None
) -> tuple[Best, Best, Hubness | None]:
    """Do the same by two products, or three with CSLS, if not everything fits in memory."""
    near, of_b = settings.n_neighbours, Hubs.plan(settings, b, a, max_memory)
    scans = Scan(a, b, max_memory, kept=near), Scan(b, a, max_memory)
    steps = Steps(progress, len(of_b) + len(scans[0]) + len(scans[1]))
    offsets = of_b.offsets(steps)
    if offsets is None:
        there, back = (find_best(scan, steps, Wanted(1))[0] for scan in scans)
        return there, back, None
    nearest, there = find_best(scans[0], steps, Wanted(near), Wanted(1, offsets))
    hubs = Hubness(nearest.means(), 2 * offsets)
    (back,) = find_best(scans[1], steps, Wanted(1, _half(hubs.source)))
    return there, back, hubs


def _half(means: NDArray[np.float32]) -> NDArray[np.float32]:
    return means / np.float32(2)
