"""Rotations that make the moments of two sets of words alike, without knowing which word is which."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fipp.linalg import cross_products, ordered_map, rotation, single_threaded_blas


class Moments:
    r"""How well a rotation makes second and third moments of two sets of points alike, and how to do it better.

    .. math:: a(W) = \frac{⟨S_x(W), S_y⟩}{\|S_x\| \|S_y\|} + \frac{⟨T_x(W), T_y⟩}{\|T_x\| \|T_y\|}

    with S the moments E[x_i x_j], T the moments E[x_i x_j x_k], and S(W), T(W) those of xW. Both are known without any
    pair. Along principal axes S is diagonal, which leaves signs open; T decides them.

    Parameters
    ----------
    X, Y : ndarray of shape (n, p), (m, p)
        Centred points.

    Examples
    --------
    >>> X = np.random.default_rng(0).exponential(size=(500, 3)).astype(np.float32) - 1
    >>> moments = Moments(X, X[:, ::-1])
    >>> bool(moments.agreement(np.eye(3)[::-1]) > 1.99)
    True
    """

    def __init__(self, X: NDArray[np.float32], Y: NDArray[np.float32]) -> None:
        self._S = _scaled(_second(X)), _scaled(_second(Y))
        self._T = _scaled(_third(X)), _scaled(_third(Y))

    @single_threaded_blas
    def agreement(self, W: NDArray[np.float64]) -> float:
        """Return a(W): 2 when all moments are alike."""
        second, third = self._gradients(W)
        return float(np.sum(W * (second + third)))

    @single_threaded_blas
    def ascend(self, W: NDArray[np.float64], n_steps: int) -> NDArray[np.float64]:
        """Improve a rotation by so many steps, each to the rotation nearest to the gradient."""
        for _ in range(n_steps):
            second, third = self._gradients(W)
            W = rotation(2 * second + 3 * third)
        return W

    def _gradients(self, W: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a half of the gradient of the first term and a third of that of the second."""
        (S_x, S_y), (T_x, T_y) = self._S, self._T
        turned = np.tensordot(np.tensordot(T_x, W, (1, 0)), W, (1, 0))  # Σ_jk T_x[i, j, k] W[j, b] W[k, c]
        return S_x @ W @ S_y, np.tensordot(turned, T_y, ((1, 2), (1, 2)))


def best_rotations(
    moments: Moments, p: int, *, n_starts: int, n_steps: int, n_best: int, rng: np.random.RandomState
) -> list[NDArray[np.float64]]:
    """Lay axis on axis with random signs, ascend from there, and give the rotations that agree best.

    Examples
    --------
    >>> X = np.random.default_rng(0).exponential(size=(500, 2)).astype(np.float32) - 1
    >>> rng = np.random.RandomState(0)
    >>> [W] = best_rotations(Moments(X, -X), 2, n_starts=9, n_steps=20, n_best=1, rng=rng)
    >>> bool(np.allclose(W, -np.eye(2), atol=1e-6))
    True
    """
    signs = [rng.choice([-1.0, 1.0], p) for _ in range(n_starts)]
    found = list(ordered_map(lambda start: moments.ascend(np.diag(start), n_steps), signs))
    agreements = np.array([moments.agreement(W) for W in found])
    best: list[NDArray[np.float64]] = []
    for number in np.argsort(-agreements, kind="stable"):
        if len(best) < n_best and not any(np.allclose(found[number], other, atol=1e-3) for other in best):
            best.append(found[number])
    return best


def _second(X: NDArray[np.float32]) -> NDArray[np.float64]:
    return cross_products(X, X)


def _third(X: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.stack([cross_products(X, X, column) for column in X.T])


def _scaled(tensor: NDArray[np.float64]) -> NDArray[np.float64]:
    length = float(np.linalg.norm(tensor))
    return tensor / length if length else tensor
