"""Rows of two matrices that are each other's nearest neighbour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._progress import Progress, Steps
from fipp.retrieve._scan import Rows, Scan
from fipp.retrieve._scores import Settings, best_keys
from fipp.retrieve._search import search


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
    """

    pairs: NDArray[np.int64]
    scores: NDArray[np.float32]
    nearest: NDArray[np.int64]

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
    steps = Steps(progress, 2)
    there = search(a, b, a, 1, settings, max_memory, steps.part())
    nearest, scores = there.indices[:, 0], there.scores[:, 0]
    # Only a row that is the nearest of another can be in a pair. CSLS on the way back subtracts the means that were
    # measured on the way there.
    wanted, position = np.unique(nearest, return_inverse=True)
    scan = Scan(b.pick(wanted), a, max_memory)
    offsets = None if there.nearness is None else there.nearness / np.float32(2)
    back = best_keys(scan, 1, Steps(steps.part(), len(scan)), offsets).result()[0]
    mutual = (back[position, 0] == np.arange(len(a))) & a.matrix.any(axis=1) & b.matrix[nearest].any(axis=1)
    return MutualNeighbours(np.stack([np.arange(len(a)), nearest], axis=1)[mutual], scores[mutual], nearest)
