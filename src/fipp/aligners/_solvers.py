r"""Three ways to the map before its rotation: over linear maps, as published, and by gradient descent.

All of them minimise, exactly or nearly, the objective of the paper over X̃_s,

    \|X̃_s X̃_sᵀ − G_s\|² + γλ \|Δ∘(X̃_s X̃_sᵀ − G_t)\|²,

whose unconstrained minimiser is G* = G_s + a Δ∘(G_t − G_s), a = γλ / (1 + γλ).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fipp.linalg import (
    FilteredGram,
    FilteredObjective,
    GramTiles,
    Progress,
    ThinFactors,
    descend,
    filtered_gram,
    positive_root,
    single_threaded_blas,
    target_gram_eigen,
    target_share,
    thin_svd,
)


@dataclass(frozen=True)
class Solution:
    """A map before its rotation, and what was met on the way.

    Attributes
    ----------
    W : ndarray of shape (d1, r)
        The linear map; X_s W is rotated onto X_t afterwards.
    gram : FilteredGram
        Of this solution's ε.
    aligned : ndarray of shape (c, r), optional
        X̃_s where it is not X_s W.
    losses : ndarray, optional
        The objective at each step of the descent.
    """

    W: NDArray[np.float64]
    gram: FilteredGram
    aligned: NDArray[np.float32] | None = None
    losses: NDArray[np.float64] | None = None


@single_threaded_blas
def linear_map(factors: ThinFactors, gram: FilteredGram, lam: float, rank: int) -> Solution:
    """Minimise over linear maps X̃_s = X_s W, given X_s = Q diag(σ) Vᵀ and the one pass over Gram tiles.

    The seed is completed by one virtual pair along each axis, of the seed's mean length √α, on whose inner products
    both spaces agree: [X_s; √α I] has the singular values r = √(σ² + α), and Q diag(σ/r) are the seed's rows in its
    basis. With R = diag(r)Vᵀ the best R W Wᵀ Rᵀ is the positive part of diag(r²) + a diag(σ/r) Qᵀ(Δ∘(G_t − G_s))Q
    diag(σ/r), an eigenproblem of the source's dimension. Where the seed has little, W is close to the identity instead
    of dividing by next to nothing; directions in which it has nothing are mapped to zero.
    """
    Q, sigma, V = factors
    r = np.sqrt(sigma**2 + np.sum(sigma**2) / max(len(Q), 1))  # α = ‖X_s‖² / c
    covered = sigma / r
    M = np.diag(r**2) + target_share(gram.kept_fraction, lam) * gram.transfer * np.outer(covered, covered)
    return Solution((V / r) @ positive_root(M, rank), gram)


def eigen_map(
    X_s: NDArray[np.float32],
    X_t: NDArray[np.float32],
    epsilon: float,
    lam: float,
    rank: int,
    *,
    method: str,
    max_memory: int | str | None,
    progress: Progress | None,
) -> Solution:
    """Minimise as published: X̃_s from the leading eigenvectors of G*, then least squares for all other words.

    X̃_sᵀX̃_s = Λ is diagonal, so the least-squares projection (X̃_sᵀX̃_s)⁻¹ X̃_sᵀ X_s is a division.
    """
    (gram,) = filtered_gram(X_s, X_t, None, [epsilon], max_memory=max_memory)
    a = target_share(gram.kept_fraction, lam)
    tiles = GramTiles(X_s, X_t, max_memory)
    values, vectors = target_gram_eigen(
        tiles, epsilon, a, rank, method=method, max_memory=max_memory, progress=progress
    )
    W = (X_s.T @ vectors).astype(np.float64) / np.sqrt(values)
    return Solution(W, gram, vectors * np.sqrt(values).astype(np.float32))


def descent_map(
    X_s: NDArray[np.float32],
    X_t: NDArray[np.float32],
    epsilon: float,
    lam: float,
    rank: int,
    *,
    learning_rate: float,
    n_steps: int,
    random_state: np.random.RandomState,
    max_memory: int | str | None,
    progress: Progress | None,
) -> Solution:
    """Minimise with Adam from X_s on (appendix F), then project by least squares."""
    (gram,) = filtered_gram(X_s, X_t, None, [epsilon], max_memory=max_memory)
    weight = lam / gram.kept_fraction if gram.kept_fraction else 0.0
    objective = FilteredObjective(X_s, X_t, epsilon, weight, max_memory)
    start = _resize(X_s, rank, random_state)
    aligned, losses = descend(objective, start, learning_rate=learning_rate, n_steps=n_steps, progress=progress)
    Q, sigma, V = thin_svd(aligned)
    W = (X_s.T @ Q).astype(np.float64) / sigma @ V.T
    return Solution(W, gram, aligned, losses)


def _resize(X: NDArray[np.float32], n_columns: int, random_state: np.random.RandomState) -> NDArray[np.float32]:
    """Return ``X`` with so many columns: its leading directions, or itself and a little noise beside it."""
    n_rows, d = X.shape
    if n_columns == d:
        return X
    if n_columns < d:
        return X @ thin_svd(X).V[:, :n_columns].astype(np.float32)
    # A column of zeros has no gradient and would stay zero.
    noise = 1e-3 * random_state.standard_normal((n_rows, n_columns - d)).astype(np.float32)
    return np.concatenate([X, noise], axis=1)
