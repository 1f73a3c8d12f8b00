"""Self-learning of FIPP: more pairs from the known ones (appendix C)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fipp._progress import Progress
from fipp.linalg import ThinFactors, cross_products, single_threaded_blas, thin_svd
from fipp.retrieve import mutual_neighbours, neighbours

Rule = Literal["one-to-one", "mutual", "one-way"]


def induce_pairs(
    X: NDArray[np.float32],
    Y: NDArray[np.float32],
    pairs: NDArray[np.int64],
    n_pairs: int,
    *,
    rule: Rule,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Find the pairs whose inner products with the known pairs are most alike.

    A word is described by its inner products with the c seed words of its language, A_s = X X_sᵀ and A_t = Y X_tᵀ;
    source and target words are compared by the cosine of these rows. With X_s = Q_s diag(σ_s) V_sᵀ they are the rows of
    X V_s diag(σ_s), rotated by Q_s, so all products are of d dimensions instead of c. Every source word without a known
    translation proposes its best target word, and the ``n_pairs`` most similar proposals that the rule admits are
    returned with their cosines, falling. (The published code adds one more.)

    ``"one-to-one"``, as published, admits proposals whose target word is in no known pair and in no more similar
    proposal; ``"mutual"``, those whose source word is also the best of the proposing words for the target word;
    ``"one-way"``, all.
    """
    free = np.setdiff1d(np.arange(len(X)), pairs[:, 0])
    factors_s, factors_t = thin_svd(X[pairs[:, 0]]), thin_svd(Y[pairs[:, 1]])
    if not (len(free) and n_pairs and len(factors_s.sigma) and len(factors_t.sigma)):
        return np.empty((0, 2), np.int64), np.empty(0, np.float32)
    source = _described(X[free], factors_s, cross_products(factors_s.Q, factors_t.Q))
    target = _described(Y, factors_t)
    if rule == "mutual":
        mutual = mutual_neighbours(source, target, retrieval="dot", max_memory=max_memory, progress=progress)
        rows, columns, scores = *mutual.pairs.T, mutual.scores
    else:
        best = neighbours(source, target, k=1, retrieval="dot", max_memory=max_memory, progress=progress)
        rows, columns, scores = np.arange(len(free)), best.indices[:, 0], best.scores[:, 0]
    order = np.argsort(-scores, kind="stable")
    proposals, similarities = np.stack([free[rows], columns], axis=1)[order], scores[order]
    # A word without a vector, or with nothing in common with any target word, has no best translation.
    admitted = similarities > 0
    if rule == "one-to-one":
        _, first, position = np.unique(proposals[:, 1], return_index=True, return_inverse=True)
        admitted &= (first[position] == np.arange(len(proposals))) & ~np.isin(proposals[:, 1], pairs[:, 1])
    return proposals[admitted][:n_pairs], similarities[admitted][:n_pairs]


@single_threaded_blas
def _described(
    X: NDArray[np.float32], seed: ThinFactors, turn: NDArray[np.float64] | None = None
) -> NDArray[np.float32]:
    """Return inner products with the seed words as rows of length 1, in the coordinates of the seed's Q, or rotated."""
    rows = X @ (seed.V * seed.sigma).astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    # A word that is orthogonal to every seed word is similar to none of them.
    least = 1e-6 * lengths.max(initial=1e-30)
    rows *= np.where(lengths > least, 1 / np.maximum(lengths, least), 0)
    return rows if turn is None else rows @ turn.astype(np.float32)
