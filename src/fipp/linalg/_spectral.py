"""Maps from the singular vectors of a cross-covariance: rotations, and two maps into a shared space.

`rotation` is orthogonal Procrustes. `Spectral`, CCA and PLS are `spectral_maps` with a certain whitening and ridge;
they differ in the powers of the singular values and of the covariances that multiply the result.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError
from fipp.linalg._gram import FloatArray
from fipp.linalg._moments import cross_products
from fipp.linalg._parallel import single_threaded_blas

# Directions whose eigenvalue of AᵀA is below this fraction of the largest are taken from A itself.
_WEAK = 1e-8
# No direction is trusted more than this: few pairs can agree by chance.
_SUREST = 0.995


@single_threaded_blas
def rotation(cross: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Return the (semi-)orthogonal Ω of shape (d1, d2) that maximises tr(Ωᵀ AᵀB) for cross = AᵀB.

    With d1 ≤ d2, Ω Ωᵀ = I and Ω minimises \|AΩ − B\| (eq. 7); with d1 > d2, ΩᵀΩ = I. Directions in which ``cross``
    is zero are mapped to zero, because nothing determines where they should go.
    """
    d1, d2 = cross.shape
    if d1 < d2:
        return rotation(cross.T).T
    # U Vᵀ from the eigenvectors V of AᵀA takes half as long as an SVD of A.
    squared, V = np.linalg.eigh(cross.T @ cross)
    largest, AV = squared.max(initial=0), cross @ V
    n_weak = np.count_nonzero(squared <= _WEAK * largest)
    U, V_strong = AV[:, n_weak:], V[:, n_weak:]
    U /= np.linalg.norm(U, axis=0)
    omega: NDArray[np.float64] = U @ V_strong.T
    if n_weak:
        # In the others, such as removed components, the digits of AᵀA are not enough, and those of A are.
        rest = AV[:, :n_weak] - U @ (U.T @ AV[:, :n_weak])
        U_weak, s, turn = np.linalg.svd(rest, full_matrices=False)
        keep = s > np.finfo(np.float32).eps * np.sqrt(largest)
        omega += U_weak[:, keep] @ (turn[keep] @ V[:, :n_weak].T)
    return omega


class SpectralMaps(NamedTuple):
    """The maps of both sides into the shared space, before any re-weighting."""

    source: NDArray[np.float64]  # C_s^(-α/2) U, of shape (d1, k)
    target: NDArray[np.float64]  # C_t^(-α/2) V, of shape (d2, k)
    singular_values: NDArray[np.float64]  # falling; with α = 1 and no ridge, the canonical correlations

    def reweighted(self, power: float | Literal["likelihood"]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return both maps with every shared direction scaled by (s / s_max)^power, or by √(s / (1 − s²)).

        In the probabilistic model of CCA, the latter turns inner products into log likelihood ratios: what a pair of
        canonical variates with correlation s adds to the evidence that two words belong together.
        """
        s = self.singular_values
        if power == "likelihood":
            s = np.minimum(s, _SUREST)
            scale = np.sqrt(s / (1 - s * s))
        else:
            scale = (s / s.max(initial=1e-300)) ** power if power else np.ones_like(s)
        return (self.source * scale).astype(np.float32), (self.target * scale).astype(np.float32)


class SeedMoments(NamedTuple):
    """Second moments of the seed: all that a spectral method needs to know about it."""

    source: NDArray[np.float64]  # C_s = X_sᵀX_s / c
    target: NDArray[np.float64]  # C_t = X_tᵀX_t / c
    cross: NDArray[np.float64]  # X_sᵀX_t / c


def seed_moments(
    X_s: NDArray[np.float32], X_t: NDArray[np.float32], weights: NDArray[Any] | None = None
) -> SeedMoments:
    """Return the second moments of both sides of the seed and between them, with a weight for each pair."""
    total = len(X_s) if weights is None else float(weights.sum())
    pairs = ((X_s, X_s), (X_t, X_t), (X_s, X_t))
    return SeedMoments(*(cross_products(A, B, weights) / total for A, B in pairs))


@single_threaded_blas
def spectral_maps(moments: SeedMoments, whiten: float, ridge: float) -> SpectralMaps:
    r"""Return C_s^(-α/2) U and C_t^(-α/2) V for the SVD C_s^(-α/2) X_sᵀX_t C_t^(-α/2) = U S Vᵀ, with α = ``whiten``.

    ``ridge``, a multiple of their mean eigenvalue, is added to the covariances. Directions that the seed does not
    determine are dropped, but at least one is kept.
    """
    roots = [covariance_power(C, -whiten / 2, ridge) for C in (moments.source, moments.target)]
    U, s, V = shared_directions(roots[0] @ moments.cross @ roots[1])
    return SpectralMaps(roots[0] @ U, roots[1] @ V, s)


@single_threaded_blas
def shared_directions(
    cross: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return U, s and V of the SVD U diag(s) Vᵀ of a cross-covariance, without directions that share nothing.

    Where no direction shares anything, one with s = 0 is kept, so that there still is a space.
    """
    U, s, Vt = np.linalg.svd(cross, full_matrices=False)
    keep = s > np.finfo(np.float32).eps * s.max(initial=0)
    keep[0] = True
    return U[:, keep], s[keep], Vt[keep].T


@single_threaded_blas
def covariance_power(C: NDArray[np.float64], power: float, ridge: float = 0.0) -> NDArray[np.float64]:
    """Return (C + ρ)^power on the directions in which C is not zero, and zero on the others; the identity for power 0.

    ρ is ``ridge`` times the mean eigenvalue of C.

    Examples
    --------
    >>> covariance_power(np.diag([4.0, 0.0]), -0.5)
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    if not power:
        return np.eye(len(C))
    values, vectors = np.linalg.eigh(C)
    known = values > np.finfo(np.float32).eps * values.max(initial=0)
    values = values + ridge * values.mean()
    scale = np.where(known, values, 1) ** power * known
    result: NDArray[np.float64] = (vectors * scale) @ vectors.T
    return result


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
