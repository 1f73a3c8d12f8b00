"""The loss of RCSLS with its gradient, block by block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fipp.linalg import cross_products, matmul_blocks
from fipp.retrieve import neighbours


class RelaxedCSLS:
    r"""Minus the mean CSLS of seed pairs as a function of W, with dot products in place of cosines.

    With k nearest neighbours N the loss is linear in W wherever N does not change, so that its gradient is

        ∇f = [X_sᵀ(−2 X_t + Ȳ) + X̄ᵀX_t] / c,    f(W) = ⟨∇f, W⟩,

    with Ȳ_i the mean of the k target words nearest to x_i W, and X̄_i that of the k source words that W brings nearest
    to y_i.

    Parameters
    ----------
    X_s, X_t : ndarray of shape (c, d1), (c, d2)
        Seed pairs.
    X, Y : ndarray of shape (n, d1), (m, d2)
        The vocabularies that neighbours are taken from.
    k : int
        Number of neighbours; all of them if there are fewer.
    max_memory : int or str, optional
        Working memory of the search.

    Examples
    --------
    >>> X = np.eye(2, dtype=np.float32)
    >>> RelaxedCSLS(X, X, X, X, 2)(np.eye(2))
    (-1.0, array([[-0.5,  0.5],
           [ 0.5, -0.5]]))
    """

    def __init__(
        self,
        X_s: NDArray[np.float32],
        X_t: NDArray[np.float32],
        X: NDArray[np.float32],
        Y: NDArray[np.float32],
        k: int,
        max_memory: int | str | None = None,
    ) -> None:
        self.X_s, self.X_t, self._X, self._Y, self._k, self._max_memory = X_s, X_t, X, Y, k, max_memory

    def __call__(self, W: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the loss at W and its gradient."""
        of_sources = self._nearest(matmul_blocks(self.X_s, W), self._Y)
        of_targets = self._nearest(self.X_t, matmul_blocks(self._X, W))
        pull = _mean_of_rows(self._Y, of_sources) - 2 * self.X_t
        gradient = cross_products(self.X_s, pull) + cross_products(_mean_of_rows(self._X, of_targets), self.X_t)
        gradient /= len(self.X_s)
        return float(np.sum(gradient * W)), gradient

    def _nearest(self, queries: NDArray[np.float32], keys: NDArray[np.float32]) -> NDArray[np.int64]:
        return neighbours(queries, keys, self._k, retrieval="dot", max_memory=self._max_memory).indices


def _mean_of_rows(X: NDArray[np.float32], indices: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return for each row of ``indices`` the mean of these rows of X, without holding them all."""
    total = np.zeros((len(indices), X.shape[1]), dtype=np.float32)
    for column in indices.T:
        total += X[column]
    return total / np.float32(indices.shape[1])
