"""FIPP on one page: the paper's equations, written down literally in float64. Read this before `_fipp`.

`FIPP` computes the same maps without any c×c matrix, in float32, and is tested against this module. Nothing here is
fast, and nothing else in fipp uses it. ``published=True`` is the method of the paper and of its authors' code;
``published=False`` is what `FIPP` does by default. They differ in the step from G* to a linear map and in the weights.

Symbols: X_s (c, d1) and X_t (c, d2) are the preprocessed vectors of the seed pairs, G_s = X_s X_sᵀ and G_t = X_t X_tᵀ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def isotropic(V: Matrix) -> Matrix:
    """Section 3.3: scale a vocabulary to unit length, centre it, and remove the top principal component u."""
    unit = V / np.linalg.norm(V, axis=1, keepdims=True)
    mean = unit.mean(axis=0)
    u = np.linalg.svd(unit - mean)[2][0]
    # As in the authors' code, the projection that is subtracted is that of the uncentred vectors.
    return (unit - mean) - np.outer(unit @ u, u)


def optimal_gram(X_s: Matrix, X_t: Matrix, epsilon: float, lam: float) -> tuple[Matrix, Matrix, NDArray[Any], Matrix]:
    """Equations (3) and (5): return G_s, G_t, Δ^ε and G*, which minimises the objective (1) over all matrices."""
    G_s, G_t = X_s @ X_s.T, X_t @ X_t.T
    delta = np.abs(G_s - G_t) < epsilon  # section 3.1.2
    gamma = delta.size / delta.sum() if delta.any() else 0.0  # γ = c² / NNZ(Δ^ε), appendix E
    G_star = np.where(delta, (G_s + gamma * lam * G_t) / (1 + gamma * lam), G_s)
    return G_s, G_t, delta, G_star


def published_vectors(X_s: Matrix, X_t: Matrix, epsilon: float, lam: float, rank: int) -> Matrix:
    """Equation (6): return X̃_s, for which X̃_s X̃_sᵀ is the best positive semidefinite approximation to G* of a rank."""
    G_star = optimal_gram(X_s, X_t, epsilon, lam)[3]
    values, vectors = np.linalg.eigh(G_star)
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    positive = values > 1e-9 * values[0]
    return vectors[:, positive] * np.sqrt(values[positive])


def published_projection(X_s: Matrix, X_t: Matrix, epsilon: float, lam: float, rank: int) -> Matrix:
    """Section 4.1: return W of shape (d1, rank), the least-squares projection of every source word on X̃_s.

    𝔛̃_sᵀ = (X̃_sᵀX̃_s)⁻¹ X̃_sᵀ X_s 𝔛_sᵀ is linear in 𝔛_s, so that it is 𝔛̃_s = 𝔛_s W.
    """
    aligned = published_vectors(X_s, X_t, epsilon, lam, rank)
    return X_s.T @ aligned @ np.linalg.inv(aligned.T @ aligned)


def linear_projection(X_s: Matrix, X_t: Matrix, epsilon: float, lam: float, rank: int) -> Matrix:
    """Return W of fipp's default: the best approximation to G* among linear maps X̃_s = X_s W.

    The seed is completed by one virtual pair along each axis, of the seed's mean length, on whose inner products both
    spaces agree. With the completed seed QR, the best R W Wᵀ Rᵀ is the positive part of QᵀG*Q.
    """
    c, d1 = X_s.shape
    G_s, _, _, G_star = optimal_gram(X_s, X_t, epsilon, lam)
    completed = np.vstack([X_s, np.sqrt((X_s**2).sum() / c) * np.eye(d1)])
    G_completed = completed @ completed.T
    G_completed[:c, :c] += G_star - G_s
    Q, R = np.linalg.qr(completed)
    values, vectors = np.linalg.eigh(Q.T @ G_completed @ Q)
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    positive = values > 0
    return np.linalg.inv(R) @ (vectors[:, positive] * np.sqrt(values[positive]))


def pair_weights(X_s: Matrix, X_t: Matrix, epsilon: float, lam: float, power: float = 0.5) -> NDArray[np.float64]:
    """Section 4.2: return the weight of each pair, a power of 1 / ‖row of G* − G_t‖, the largest scaled to 1.

    The power is 1 in the authors' code, 2 in the paper's text, and ½ by default.
    """
    _, G_t, _, G_star = optimal_gram(X_s, X_t, epsilon, lam)
    weights = (1 / np.linalg.norm(G_star - G_t, axis=1)) ** power
    return weights / weights.max()


def rotated(W: Matrix, X_s: Matrix, X_t: Matrix, weights: NDArray[np.float64]) -> Matrix:
    """Equation (7): return W Ω^W, Ω^W = UVᵀ the rotation that brings weighted pairs closest together."""
    w = weights[:, None]
    U, _, Vt = np.linalg.svd((w * (X_s @ W)).T @ (w * X_t), full_matrices=False)
    return W @ U @ Vt


def fipp_map(
    X_s: Matrix, X_t: Matrix, epsilon: float, lam: float, *, rank: int | None = None, published: bool = False
) -> Matrix:
    """Return the map of shape (d1, d2) from preprocessed source vectors to preprocessed target vectors.

    Examples
    --------
    The same items in spaces of 6 and 8 dimensions, aligned literally and by `FIPP`:

    >>> from fipp import FIPP
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((200, 8))
    >>> X = Y[:, :6] + 0.1 * rng.standard_normal((200, 6))
    >>> literal = fipp_map(isotropic(X)[:100], isotropic(Y)[:100], epsilon=0.05, lam=1.0, published=True)
    >>> fast = FIPP.published(epsilon=0.05, lam=1.0).fit(X, Y, [(i, i) for i in range(100)])
    >>> literal.shape, bool(np.abs(literal - fast.map_).max() < 1e-3)
    ((6, 8), True)
    """
    d1, d2 = X_s.shape[1], X_t.shape[1]
    if published:
        W = published_projection(X_s, X_t, epsilon, lam, rank or d2)
        return rotated(W, X_s, X_t, pair_weights(X_s, X_t, epsilon, lam, 1))
    W = linear_projection(X_s, X_t, epsilon, lam, rank or max(d1, d2))
    return rotated(W, X_s, X_t, pair_weights(X_s, X_t, epsilon, lam, 0.5))
