"""Factorisations: a thin basis, the positive part of a symmetric matrix, low-rank approximation of G*."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from fipp.exceptions import FippError
from fipp.linalg._gram import FloatArray, GramTiles, symmetric_product
from fipp.linalg._memory import parse_memory
from fipp.linalg._moments import cross_products, row_blocks
from fipp.linalg._parallel import Progress, ordered_map, single_threaded_blas

# Directions whose singular value is below this fraction of the largest are float32 noise, not data.
_NOISE = 1e-5


# Up to here, subspace iteration to the same accuracy takes longer than the dense decomposition.
_DENSE_UP_TO = 5000
_SUBSPACE_TOLERANCE = 1e-4
_SUBSPACE_PRODUCTS = 20


class ThinFactors(NamedTuple):
    """X = Q diag(σ) Vᵀ without the directions in which X has nothing."""

    Q: NDArray[np.float32]
    sigma: NDArray[np.float64]
    V: NDArray[np.float64]


@single_threaded_blas
def thin_svd(X: FloatArray) -> ThinFactors:
    """Factor a tall matrix as X = Q diag(σ) Vᵀ, Q orthonormal, σ > 0 falling.

    By way of XᵀX in float64, which is small: for tall matrices many times as fast as an SVD of X itself, and exact
    enough because directions below 1e-5 of the largest are dropped.

    Examples
    --------
    >>> Q, sigma, V = thin_svd(np.array([[3.0, 0.0], [0.0, 0.0], [0.0, 2.0]]))
    >>> sigma
    array([3., 2.])
    """
    wide = X.astype(np.float64)
    squared, V = np.linalg.eigh(cross_products(wide, wide))
    squared, V = squared[::-1], V[:, ::-1]
    keep = squared > _NOISE**2 * squared.max(initial=np.finfo(np.float64).tiny)
    sigma, V = np.sqrt(squared[keep]), np.ascontiguousarray(V[:, keep])
    Q, inverse = np.empty((len(X), len(sigma)), np.float32), V / sigma

    def fill(rows: slice) -> None:
        Q[rows] = wide[rows] @ inverse

    for _ in ordered_map(fill, row_blocks(len(X))):
        pass
    return ThinFactors(Q, sigma, V)


@single_threaded_blas
def positive_root(M: NDArray[np.float64], rank: int | None = None) -> NDArray[np.float64]:
    """Return some L with L Lᵀ the positive part of M, or its best approximation of that rank.

    A matrix that is positive definite already, as it mostly is, needs no eigenvectors: its Cholesky factor will do.

    Examples
    --------
    >>> positive_root(np.diag([4.0, -1.0]))
    array([[2.],
           [0.]])
    """
    if rank is None or rank >= len(M):
        try:
            factor: NDArray = np.linalg.cholesky((M + M.T) / 2)
            return factor
        except np.linalg.LinAlgError:
            pass
    values, vectors = positive_part(M, rank)
    root: NDArray[np.float64] = vectors * np.sqrt(values)
    return root


@single_threaded_blas
def positive_part(M: NDArray[np.float64], rank: int | None = None) -> tuple[NDArray, NDArray]:
    """Return the eigenvalues above zero (at most ``rank``, largest first) and their eigenvectors.

    Examples
    --------
    >>> values, vectors = positive_part(np.diag([1.0, -2.0, 3.0]))
    >>> values
    array([3., 1.])
    """
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    order = np.argsort(values)[::-1][:rank]
    values, vectors = values[order], vectors[:, order]
    # Eigenvalues at or below zero are dropped, never clipped: they would be divided by.
    keep = values > _NOISE**2 * np.abs(values).max(initial=0)
    return values[keep], vectors[:, keep]


def target_gram_eigen(
    tiles: GramTiles,
    epsilon: float,
    a: float,
    rank: int,
    *,
    method: str = "auto",
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return the leading positive eigenvalues and eigenvectors of G* = G_s + a Δ^ε∘(G_t − G_s).

    Parameters
    ----------
    tiles : GramTiles
        Of the seed pairs.
    epsilon : float
        ε of the filter.
    a : float
        How far kept entries move towards G_t; see `pull`.
    rank : int
        At most so many.
    method : {"dense", "subspace", "auto"}
        A dense eigendecomposition of the c×c matrix (the oracle), or block subspace iteration that starts at
        span[X_s, X_t], close to which G* has its dominant directions: a few products are enough and no c×c matrix
        exists. ``"auto"`` is dense up to 5,000 pairs if that fits into ``max_memory``.
    max_memory : int or str, optional
        The dense method refuses to start when it will not fit.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    values : ndarray of shape (k,), k ≤ rank
    vectors : ndarray of shape (c, k)

    Examples
    --------
    >>> X = np.eye(3, dtype=np.float32)
    >>> values, vectors = target_gram_eigen(GramTiles(X, X), 0.1, 0.5, 2)
    >>> values
    array([1., 1.])
    """
    c, dense_bytes = tiles.n_pairs, 4 * 4 * tiles.n_pairs**2
    fits = max_memory is None or dense_bytes <= parse_memory(max_memory)
    if method == "dense" and not fits:
        raise FippError(
            f"a dense eigendecomposition for {c:,} pairs needs about {dense_bytes / 1e9:.1f} GB, more than max_memory; "
            "take solver='linear', or eigen_method='subspace'"
        )
    if method == "dense" or (method == "auto" and fits and c <= _DENSE_UP_TO):
        values, vectors = _dense(tiles, epsilon, a, rank)
    else:
        values, vectors = _subspace(tiles, epsilon, a, rank, progress)
    order = np.argsort(values)[::-1][:rank]
    order = order[values[order] > _NOISE**2 * np.abs(values).max(initial=0)]
    return values[order], np.ascontiguousarray(vectors[:, order])


def _dense(tiles: GramTiles, epsilon: float, a: float, rank: int) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    c = tiles.n_pairs
    X_s, X_t = tiles.stacked[:, : tiles.n_source], tiles.stacked[:, tiles.n_source :]
    G_star = X_s @ X_s.T
    difference = X_t @ X_t.T - G_star
    difference *= np.abs(difference) < np.float32(epsilon)
    G_star += np.float32(a) * difference
    del difference
    leading = [c - min(rank, c), c - 1]
    values, vectors = scipy.linalg.eigh(G_star, subset_by_index=leading, overwrite_a=True, check_finite=False)
    return values.astype(np.float64), vectors


def _subspace(
    tiles: GramTiles, epsilon: float, a: float, rank: int, progress: Progress | None
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    X_s = tiles.stacked[:, : tiles.n_source]
    Z, known = thin_svd(tiles.stacked).Q, np.zeros(0)
    for _ in range(_SUBSPACE_PRODUCTS):
        G_Z = X_s @ (X_s.T @ Z) + np.float32(a) * filtered_product(tiles, Z, epsilon, progress)
        # Rayleigh-Ritz: the best approximation to eigenpairs within span(Z).
        values, P = np.linalg.eigh((Z.T @ G_Z).astype(np.float64))
        leading, vectors = values[::-1][:rank], Z @ P.astype(np.float32)
        if len(known) and np.abs(leading - known).max() < _SUBSPACE_TOLERANCE * np.abs(leading).max():
            break
        known = leading
        previous, Z = Z, thin_svd(G_Z).Q
        if Z.shape != previous.shape:
            known = np.zeros(0)
    return values, vectors


def filtered_product(
    tiles: GramTiles, Z: NDArray[np.float32], epsilon: float, progress: Progress | None = None
) -> NDArray[np.float32]:
    """Return (Δ∘(G_t − G_s)) Z in one pass over the tiles.

    Examples
    --------
    >>> X = np.eye(2, dtype=np.float32)
    >>> filtered_product(GramTiles(X, 2 * X), X, 3.5)
    array([[3., 0.],
           [0., 3.]], dtype=float32)
    """

    def filtered(i: int, j: int, left: NDArray[np.float32]) -> NDArray[np.float32]:
        tile = tiles.difference(i, j, left)
        tile *= np.abs(tile) < np.float32(epsilon)
        return tile

    return symmetric_product(tiles, filtered, Z, progress)
