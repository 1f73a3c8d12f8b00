"""Two maps into a shared space from the singular vectors of a whitened cross-covariance."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.linalg._moments import cross_products
from fipp.linalg._parallel import single_threaded_blas

# No direction is trusted more than this: few pairs can agree by chance.
_SUREST = 0.995


class SpectralMaps(NamedTuple):
    """What brings both sides into the shared space, before any re-weighting."""

    source: NDArray[np.float64]
    """C_s^(-α/2) U, of shape (d1, k)."""
    target: NDArray[np.float64]
    """C_t^(-α/2) V, of shape (d2, k)."""
    singular_values: NDArray[np.float64]
    """Falling; with α = 1 and no ridge they are the canonical correlations."""

    def reweighted(self, power: float | Literal["likelihood"]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return both maps with every shared direction scaled by (s / s_max)^power, or by √(s / (1 − s²)).

        The latter makes inner products what a pair of canonical variates with correlation s adds to the logarithm of
        the likelihood that two words belong together rather than not, in the probabilistic model of CCA.
        """
        s = self.singular_values
        if power == "likelihood":
            s = np.minimum(s, _SUREST)
            scale = np.sqrt(s / (1 - s * s))
        else:
            scale = (s / s.max(initial=1e-300)) ** power if power else np.ones_like(s)
        return (self.source * scale).astype(np.float32), (self.target * scale).astype(np.float32)


class SeedMoments(NamedTuple):
    """Second moments of the seed: all that a spectral method has to know of it."""

    source: NDArray[np.float64]
    """C_s = X_sᵀX_s / c."""
    target: NDArray[np.float64]
    """C_t = X_tᵀX_t / c."""
    cross: NDArray[np.float64]
    """X_sᵀX_t / c."""


def seed_moments(X_s: NDArray[np.float32], X_t: NDArray[np.float32], weights: NDArray | None = None) -> SeedMoments:
    """Return the second moments of both sides of the seed and between them, each pair with its weight.

    Examples
    --------
    >>> seed_moments(np.float32([[1], [3]]), np.float32([[2], [2]])).cross
    array([[4.]])
    """
    total = len(X_s) if weights is None else float(weights.sum())
    pairs = ((X_s, X_s), (X_t, X_t), (X_s, X_t))
    return SeedMoments(*(cross_products(A, B, weights) / total for A, B in pairs))


@single_threaded_blas
def spectral_maps(moments: SeedMoments, whiten: float, ridge: float) -> SpectralMaps:
    r"""Return C_s^(-α/2) U and C_t^(-α/2) V for the SVD C_s^(-α/2) X_sᵀX_t C_t^(-α/2) = U S Vᵀ.

    Parameters
    ----------
    moments : SeedMoments
    whiten : float
        α: 0 leaves the spectra as they are, 1 makes them flat.
    ridge : float
        Added to the covariances, as a multiple of their mean eigenvalue.

    Returns
    -------
    SpectralMaps
        Of min(d1, d2) directions, without those in which the seed says nothing, but of one at least.

    Examples
    --------
    >>> X = np.float32([[2, 0], [0, 1], [1, 1]])
    >>> spectral_maps(seed_moments(X, X[:, ::-1]), whiten=1, ridge=0).singular_values.round(6)
    array([1., 1.])
    """
    roots = [_inverse_root(C, whiten, ridge) for C in (moments.source, moments.target)]
    U, s, Vt = np.linalg.svd(roots[0] @ moments.cross @ roots[1], full_matrices=False)
    keep = s > np.finfo(np.float32).eps * s.max(initial=0)
    # Where nothing is shared at all, one direction without any weight still makes a space.
    keep[0] = True
    return SpectralMaps(roots[0] @ U[:, keep], roots[1] @ Vt[keep].T, s[keep])


def _inverse_root(C: NDArray[np.float64], whiten: float, ridge: float) -> NDArray[np.float64]:
    """Return (C + ridge)^(-α/2) on the directions that the seed has, zero on the others."""
    values, vectors = np.linalg.eigh(C)
    known = values > np.finfo(np.float32).eps * values.max(initial=0)
    values = values + ridge * values.mean()
    scale = np.where(known, values, 1) ** (-whiten / 2) * known
    root: NDArray[np.float64] = (vectors * scale) @ vectors.T
    return root
