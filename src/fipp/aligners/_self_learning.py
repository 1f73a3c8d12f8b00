"""More pairs from the known ones (appendix C)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fipp.linalg import Progress, weighted_cross
from fipp.retrieve import neighbours


def induce_pairs(
    X: NDArray[np.float32],
    Y: NDArray[np.float32],
    pairs: NDArray[np.int64],
    n_pairs: int,
    *,
    mutual: bool = True,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Find the pairs whose inner products with the known pairs are most alike.

    A word is described by its inner products with the c seed words of its language, A_s = X X_sᵀ and A_t = Y X_tᵀ;
    source and target words are compared by the cosine of these rows. A_s A_tᵀ = X (X_sᵀX_t) Yᵀ is bilinear, and the
    rows' lengths are quadratic forms, so all of it happens in d dimensions, not in c.

    Parameters
    ----------
    X, Y : ndarray of shape (n, d1), (m, d2)
        Preprocessed vocabularies.
    pairs : ndarray of shape (c, 2)
        Known pairs; their source words get no second translation.
    n_pairs : int
        How many pairs to add, the most similar first; there may be fewer.
    mutual : bool, default=True
        Whether the source word must be the best for its target word as well. False is the published way.
    max_memory : int or str, optional
        Working memory.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    pairs : ndarray of shape (k, 2), k ≤ n_pairs
    similarities : ndarray of shape (k,)
        Cosines of the rows of A_s and A_t, falling.

    Examples
    --------
    >>> X = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0].astype(np.float32)
    >>> induce_pairs(X, X, np.array([[0, 0], [1, 1], [2, 2], [3, 3]]) , 2)[0].shape
    (2, 2)
    """
    X_s, X_t = X[pairs[:, 0]], Y[pairs[:, 1]]
    source = _scaled(X, X_s) @ weighted_cross(X_s, X_t).astype(np.float32)
    target = _scaled(Y, X_t)
    free = np.setdiff1d(np.arange(len(X)), pairs[:, 0])
    if not len(free) or n_pairs == 0:
        return np.empty((0, 2), np.int64), np.empty(0, np.float32)

    best = neighbours(source[free], target, k=1, retrieval="dot", max_memory=max_memory, progress=progress)
    found, similarities = np.stack([free, best.indices[:, 0]], axis=1), best.scores[:, 0]
    if mutual:
        targets, position = np.unique(found[:, 1], return_inverse=True)
        back = neighbours(target[targets], source[free], k=1, retrieval="dot", max_memory=max_memory)
        agree = free[back.indices[:, 0]][position] == found[:, 0]
        found, similarities = found[agree], similarities[agree]
    # A word without a vector, or with nothing in common with any target word, has no best translation.
    found, similarities = found[similarities > 0], similarities[similarities > 0]
    order = np.argsort(-similarities, kind="stable")[:n_pairs]
    return found[order], similarities[order]


def _scaled(X: NDArray[np.float32], seed: NDArray[np.float32]) -> NDArray[np.float32]:
    """Give X with rows scaled so that those of X seedᵀ have length 1."""
    squared = np.einsum("ij,ij->i", X @ weighted_cross(seed, seed).astype(np.float32), X)
    # A word at right angles to every seed word is like none of them.
    tiny = 1e-12 * squared.max(initial=1e-30)
    return X * np.where(squared > tiny, 1 / np.sqrt(np.maximum(squared, tiny)), 0)[:, None]
