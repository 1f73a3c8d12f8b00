"""Pairs of words that are each other's nearest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fipp.linalg import Progress
from fipp.retrieve import neighbours


def mutual_pairs(
    A: NDArray[np.float32],
    B: NDArray[np.float32],
    *,
    retrieval: str = "cosine",
    max_memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the rows of A and B that are each other's best in one space, in the order of A, and their scores.

    Parameters
    ----------
    A, B : ndarray of shape (n, d), (m, d)
    retrieval : {"cosine", "dot", "csls"}
        How they are scored; see `fipp.retrieve.neighbours`.
    max_memory : int, float or str, optional
        Working memory.
    progress : callable, optional
        Called as ``progress(done, total)`` during the way there; the way back is shorter.

    Returns
    -------
    pairs : ndarray of shape (k, 2)
    scores : ndarray of shape (k,)

    Examples
    --------
    >>> A = np.float32([[1, 0], [0, 1], [0.1, 1]])
    >>> mutual_pairs(A, np.float32([[0, 2], [3, 0]]))[0]
    array([[0, 1],
           [1, 0]])
    """
    there = neighbours(A, B, 1, retrieval=retrieval, max_memory=max_memory, progress=progress)
    nearest, scores = there.indices[:, 0], there.scores[:, 0]
    # Only what is somebody's nearest can be a pair.
    wanted, position = np.unique(nearest, return_inverse=True)
    back = neighbours(B[wanted], A, 1, retrieval=retrieval, hub_reference=B, max_memory=max_memory)
    # A row of zeros is as near to anything as to anything else.
    mutual = (back.indices[position, 0] == np.arange(len(A))) & A.any(axis=1) & B[nearest].any(axis=1)
    return np.stack([np.arange(len(A)), nearest], axis=1)[mutual], scores[mutual]
