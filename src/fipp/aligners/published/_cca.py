"""Canonical correlation analysis and partial least squares: both sides are mapped to where they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fipp._progress import Progress
from fipp.aligners._base import BaseAligner
from fipp.aligners._constraints import NOT_NEGATIVE, SHARE
from fipp.linalg import covariance_power, cross_products, seed_moments, spectral_maps


class CCA(BaseAligner):
    r"""Canonical correlation analysis: the directions of both spaces that correlate most over the known pairs.

    .. math:: \max_{A, B} \ \mathrm{tr}(A^\top C_{st} B), \quad A^\top (C_s + ρ) A = B^\top (C_t + ρ) B = I

    The solution (Faruqui and Dyer, EACL 2014) is A = C_s^{-1/2} U and B = C_t^{-1/2} V for the SVD
    C_s^{-1/2} C_{st} C_t^{-1/2} = U S Vᵀ. The canonical correlations S say how far a direction can be trusted, so both
    sides are scaled by a power of them. Second moments are taken about the origin, as cosines are. The dimensions may
    differ; the shared space has the smaller one.

    Parameters
    ----------
    ridge : float, default=0.1
        ρ, as a multiple of the mean eigenvalue of either covariance. Zero is the textbook's choice; it overfits unless
        the seed is many times larger than the dimensions.
    reweight : float, default=1
        Power of the canonical correlations by which both sides are scaled; zero is the textbook's choice.
    whiten : float, default=1
        How much of the whitening stays in the maps, C^(-whiten/2) U. Zero rotates each side to its canonical
        directions: with zero ``ridge`` and ``reweight``, it is the variant of the XLING comparison (Glavaš et al.,
        ACL 2019).
    preprocess : str, transformer or None, default="unit"
        Preprocessing of both sides; see `fipp.preprocess`.

    Attributes
    ----------
    map_, target_map_ : ndarrays of shape (d1, k), (d2, k)
        A and B, re-weighted.
    correlations_ : ndarray of shape (k,)
        S, in descending order.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import CCA
    >>> rng = np.random.default_rng(0)
    >>> hidden = rng.standard_normal((200, 6))
    >>> X, Y = hidden @ rng.standard_normal((6, 10)), hidden @ rng.standard_normal((6, 8))
    >>> round(CCA().fit(X, Y).score(X, Y), 1)
    1.0
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"ridge": (0.01, 0.03, 0.1, 0.3), "reweight": (0.5, 1.0, 1.5)}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "ridge": [NOT_NEGATIVE],
        "reweight": [NOT_NEGATIVE],
        "whiten": [SHARE],
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **BaseAligner._fitted_constraints,
        "correlations_": "float64 s",
    }

    def __init__(
        self, ridge: float = 0.1, reweight: float = 1.0, *, whiten: float = 1.0, preprocess: Any = "unit"
    ) -> None:
        self.ridge = ridge
        self.reweight = reweight
        self.whiten = whiten
        self.preprocess = preprocess

    def _fit_seed(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> None:
        moments = seed_moments(X_s, X_t)
        maps = spectral_maps(moments, 1.0, self.ridge)
        if self.whiten < 1:
            undo = (covariance_power(C, (1 - self.whiten) / 2, self.ridge) for C in moments[:2])
            maps = maps._replace(source=next(undo) @ maps.source, target=next(undo) @ maps.target)
        self.map_, self.target_map_ = maps.reweighted(self.reweight)
        self.correlations_ = maps.singular_values


class PLS(BaseAligner):
    r"""Partial least squares: the directions of both spaces that covary most over the known pairs.

    .. math:: \max_{A, B} \ \mathrm{tr}(A^\top X_s^\top X_t B), \quad A^\top A = B^\top B = I

    A and B are the singular vectors of the seed's cross-covariance, after each dimension has been centred and scaled to
    unit variance over the seed (scikit-learn's ``PLSSVD``). With equal dimensions and without scaling this is
    Procrustes; with different ones, the target is projected onto what the source can reach, which improves cosines.

    Parameters
    ----------
    scale : bool, default=True
        Whether dimensions are scaled to unit variance over the seed.
    reweight : float, default=0
        Power of the singular values by which both sides are scaled.
    preprocess : str, transformer or None, default="unit"
        Preprocessing of both sides; see `fipp.preprocess`.

    Attributes
    ----------
    map_, target_map_ : ndarrays of shape (d1, k), (d2, k)
        A and B, with the scaling.
    offset_, target_offset_ : ndarrays of shape (k,)
        The centring, expressed as offsets of the mapped vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import PLS
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((200, 8))
    >>> X = Y @ np.linalg.qr(rng.standard_normal((8, 8)))[0]
    >>> round(PLS().fit(X, Y).score(X, Y), 1)
    1.0
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"scale": (True, False), "reweight": (0.0, 0.25, 0.5)}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "scale": ["boolean"],
        "reweight": [NOT_NEGATIVE],
    }

    def __init__(self, scale: bool = True, *, reweight: float = 0.0, preprocess: Any = "unit") -> None:
        self.scale = scale
        self.reweight = reweight
        self.preprocess = preprocess

    def _fit_seed(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> None:
        (mean_s, scale_s), (mean_t, scale_t) = (self._location(X) for X in (X_s, X_t))
        moments = seed_moments((X_s - mean_s) * scale_s, (X_t - mean_t) * scale_t)
        source, target = spectral_maps(moments, 0.0, 0.0).reweighted(self.reweight)
        self.map_, self.target_map_ = scale_s[:, None] * source, scale_t[:, None] * target
        self.offset_, self.target_offset_ = -mean_s @ self.map_, -mean_t @ self.target_map_

    def _location(self, X: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the mean of each dimension and the factor that scales it."""
        mean = X.mean(axis=0, dtype=np.float64)
        if not self.scale:
            return mean.astype(np.float32), np.ones(X.shape[1], np.float32)
        spread = np.sqrt(np.maximum(np.diag(cross_products(X, X)) / len(X) - mean**2, 0))
        constant = spread <= 1e-6 * np.abs(X).max(initial=0)
        return mean.astype(np.float32), np.where(constant, 1, 1 / np.where(constant, 1, spread)).astype(np.float32)
