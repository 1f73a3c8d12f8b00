"""Losses for ranking: minus the CSLS of known pairs, as a function of the words or of the map, with gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fipp.linalg import cross_products, matmul_blocks
from fipp.retrieve import neighbours


class Contest(NamedTuple):
    """Known pairs and the words that they compete with, as positions in a list of source and one of target words."""

    pairs: NDArray[np.int64]
    """Of shape (c, 2)."""
    near_targets: NDArray[np.int64]
    """The target words nearest to the source word of each pair, of shape (c, k)."""
    near_sources: NDArray[np.int64]
    """The source words nearest to the target word of each pair, of shape (c, k)."""


def relaxed_csls(S: NDArray, T: NDArray, contest: Contest) -> tuple[float, NDArray, NDArray]:
    r"""Return minus the mean CSLS of the pairs, with its gradients with respect to S and T.

    It is the mean over the pairs (i, j) of

        −2 s_i·t_j + mean_{m ∈ N(s_i)} s_i·t_m + mean_{m ∈ N(t_j)} s_m·t_j,

    where N are the words near either, which are fixed while S and T, of unit length, change a little.

    Examples
    --------
    >>> S, both, near = np.eye(2), np.array([[0, 0], [1, 1]]), np.array([[0, 1]] * 2)
    >>> value, by_source, _ = relaxed_csls(S, S, Contest(both, near, near))
    >>> value, by_source[0]  # −2 + ½ + ½
    (-1.0, array([-0.5,  0.5]))
    """
    sources, targets = contest.pairs.T[:, :, None]
    shape, one = (len(S), len(T)), S.dtype.type(1 / len(contest.pairs))
    # The weight of the cosine of each source word with each target word.
    counts = _table(sources, targets, -2 * one, shape)
    counts += _table(sources, contest.near_targets, one / contest.near_targets.shape[1], shape)
    counts += _table(contest.near_sources, targets, one / contest.near_sources.shape[1], shape)
    by_source = counts @ T
    return float(np.sum(S * by_source, dtype=np.float64)), by_source, counts.T @ S


def _table(rows: NDArray[np.int64], columns: NDArray[np.int64], values: Any, shape: tuple[int, int]) -> csr_array:
    """Return the sparse matrix with these values, added up where two fall on the same place."""
    rows, columns, values = np.broadcast_arrays(rows, columns, values)
    return csr_array((values.ravel(), (rows.ravel(), columns.ravel())), shape=shape)


class RelaxedCSLS:
    r"""Minus the mean CSLS of seed pairs as a function of W, with dot products in place of cosines.

    With k nearest neighbours N the loss is linear in W wherever N does not change, so that its gradient is

        ∇f = [X_sᵀ(−2 X_t + Ȳ) + X̄ᵀX_t] / c,    f(W) = ⟨∇f, W⟩,

    where Ȳ_i is the mean of the k words of the target vocabulary Y nearest to x_i W, and X̄_i the mean of the k words of
    the source vocabulary X that W brings nearest to y_i.

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
    """Return, for each row of ``indices``, the mean of these rows of X, without holding them all in memory."""
    total = np.zeros((len(indices), X.shape[1]), dtype=np.float32)
    for column in indices.T:
        total += X[column]
    return total / np.float32(indices.shape[1])
