"""Two maps into a shared space from the singular vectors of a whitened cross-covariance.

`Spectral`, CCA and PLS are `spectral_maps` with a certain whitening and ridge; they differ in the powers of the
singular values and of the covariances that multiply the result.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.linalg._moments import cross_products
from fipp.linalg._parallel import single_threaded_blas

# No direction is trusted more than this: few pairs can agree by chance.
_SUREST = 0.995


class SpectralMaps(NamedTuple):
    """The maps of both sides into the shared space, before any re-weighting."""

    source: NDArray[np.float64]
    """C_s^(-α/2) U, of shape (d1, k)."""
    target: NDArray[np.float64]
    """C_t^(-α/2) V, of shape (d2, k)."""
    singular_values: NDArray[np.float64]
    """In descending order; with α = 1 and no ridge they are the canonical correlations."""

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

    source: NDArray[np.float64]
    """C_s = X_sᵀX_s / c."""
    target: NDArray[np.float64]
    """C_t = X_tᵀX_t / c."""
    cross: NDArray[np.float64]
    """X_sᵀX_t / c."""


def seed_moments(X_s: NDArray[np.float32], X_t: NDArray[np.float32], weights: NDArray | None = None) -> SeedMoments:
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
