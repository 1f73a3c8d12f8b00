"""Orthogonal Procrustes, weighted and semi-orthogonal, and distances between spaces up to rotation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError
from fipp.linalg._gram import FloatArray
from fipp.linalg._moments import cross_products
from fipp.linalg._parallel import single_threaded_blas

# Above this ratio of the eigenvalues of AᵀA, the polar factor is good to six digits and more.
_WELL_CONDITIONED = 1e-11


@single_threaded_blas
def rotation(cross: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Return the (semi-)orthogonal Ω of shape (d1, d2) that maximises tr(Ωᵀ AᵀB) for cross = AᵀB.

    With d1 ≤ d2, Ω Ωᵀ = I and Ω minimises \|AΩ − B\| (eq. 7); with d1 > d2, ΩᵀΩ = I. Directions in which ``cross``
    is zero are mapped to zero, because nothing determines where they should go.
    """
    d1, d2 = cross.shape
    if d1 < d2:
        return rotation(cross.T).T
    # The polar factor A(AᵀA)^(-1/2) takes nearly half as long as an SVD, and is exact unless AᵀA is ill-conditioned.
    squared, V = np.linalg.eigh(cross.T @ cross)
    if squared.size and squared[0] > _WELL_CONDITIONED * squared[-1]:
        polar: NDArray[np.float64] = cross @ ((V / np.sqrt(squared)) @ V.T)
        return polar
    U, s, Vt = np.linalg.svd(cross, full_matrices=False)
    keep = s > np.finfo(np.float32).eps * s.max(initial=0)
    omega: NDArray[np.float64] = U[:, keep] @ Vt[keep]
    return omega


@single_threaded_blas
def pip_distance(E: FloatArray, F: FloatArray) -> float:
    r"""Return the PIP distance \|EEᵀ − FFᵀ\|_F between two embeddings of the same items.

    It compares all pairwise inner products, so rotations do not change it and the dimensions may differ. For E, F
    with orthonormal columns it equals the residual of orthogonal Procrustes up to a factor √2 (theorem 1). No matrix
    of inner products is made: with [E F] = Q [R_E R_F] it is \|R_E R_Eᵀ − R_F R_Fᵀ\|_F.

    Examples
    --------
    >>> E = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> pip_distance(E, E[:, ::-1]), pip_distance(E, 2 * E[:, :1])
    (0.0, 3.1622776601683795)
    """
    E, F = np.asarray(E, dtype=np.float64), np.asarray(F, dtype=np.float64)
    if E.ndim != 2 or F.ndim != 2 or len(E) != len(F):
        raise FippError(f"both embeddings must have one row per item, but their shapes are {E.shape} and {F.shape}")
    R: FloatArray = np.linalg.qr(np.concatenate([E, F], axis=1), mode="r")  # type: ignore[assignment]
    R_E, R_F = R[:, : E.shape[1]], R[:, E.shape[1] :]
    return float(np.linalg.norm(R_E @ R_E.T - R_F @ R_F.T))


@single_threaded_blas
def deviation_from_orthogonal(X: FloatArray, mapped: FloatArray) -> float:
    r"""Return \|mapped − XΩ\|_F / \|X\|_F for the nearest rotation Ω of X: 0 if the map only rotates the space.

    If ``mapped`` has fewer dimensions than X, Ω is the semi-orthogonal map with the largest inner products instead.
    """
    length = float(np.linalg.norm(X))
    if length == 0:
        return 0.0
    omega = rotation(cross_products(X, mapped)).astype(X.dtype)
    return float(np.linalg.norm(mapped - X @ omega)) / length
