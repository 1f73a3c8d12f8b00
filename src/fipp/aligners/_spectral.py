"""Whitening, singular vectors and re-weighting of both sides: the most accurate linear maps from known pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from fipp._progress import Progress
from fipp.aligners._base import WeightedAligner
from fipp.aligners._constraints import NOT_NEGATIVE
from fipp.linalg import SeedMoments, seed_moments, single_threaded_blas, spectral_maps


class Spectral(WeightedAligner):
    r"""Spectral maps: both sides whitened, rotated to where they correlate, and weighted by how much they do.

    .. math:: A = (C_s + ρ)^{-α/2} U f(S), \quad B = (C_t + ρ)^{-α/2} V f(S), \quad
              U S V^\top = (C_s + ρ)^{-α/2} C_{st} (C_t + ρ)^{-α/2}

    C_s, C_t and C_st are the second moments of the seed. α = 0 is Procrustes with the target projected, α = ½ half
    whitening, α = 1 canonical correlation analysis. The weights f decide how much each shared direction counts: a power
    of S, or the likelihood ratio of probabilistic CCA, f = √(S / (1 − S²)), for which no power has to be chosen.

    Parameters
    ----------
    ridge : float, default=2
        How little directions in which the seed varies little are trusted. ρ is the mean eigenvalue of either covariance
        times ridge · max(d1, d2) / c: the more pairs there are, the smaller it is.
    reweight : float or "likelihood", default="likelihood"
        The weights f of the shared directions: this power of the singular values S, or the likelihood ratio of
        probabilistic CCA.
    whiten : float, default=1
        α, how far both sides are whitened before they are compared: not at all with 0, wholly with 1.
    target : {"mapped", "fixed"}, default="mapped"
        ``"fixed"`` leaves the target's vectors as they are and maps the source to x A Bᵀ, which has the same inner
        products with them. Cosines then use the target's own lengths, at some cost in accuracy.
    preprocess : str, transformer or None, default="unit+centre+unit"
        Preprocessing of both sides; see `fipp.preprocess`. Without the mean, which all words share, the shared
        directions are those in which words differ.

    Attributes
    ----------
    map_ : ndarray of shape (d1, k)
        A, or A Bᵀ.
    target_map_ : ndarray of shape (d2, k) or None
        B.
    singular_values_ : ndarray
        S, in descending order.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed, "spectral")
    >>> alignment.translate("water", k=1)[0].word
    'eau'
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {
        "ridge": (0.5, 1.0, 2.0, 4.0),
        "reweight": (1.0, "likelihood"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "ridge": [NOT_NEGATIVE],
        "reweight": [NOT_NEGATIVE, StrOptions({"likelihood"})],
        "whiten": [Interval(Real, 0, 2, closed="both")],
        "target": [StrOptions({"mapped", "fixed"})],
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **WeightedAligner._fitted_constraints,
        "singular_values_": "float64 s",
    }

    def __init__(
        self,
        ridge: float = 2.0,
        reweight: float | Literal["likelihood"] = "likelihood",
        *,
        whiten: float = 1.0,
        target: Literal["mapped", "fixed"] = "mapped",
        preprocess: Any = "unit+centre+unit",
    ) -> None:
        self.ridge = ridge
        self.reweight = reweight
        self.whiten = whiten
        self.target = target
        self.preprocess = preprocess

    @property
    def path_settings(self) -> tuple[str, ...]:
        """Names of the settings whose values share most of the work in `fit_many`."""
        return ("ridge", "reweight", "whiten")

    def _fit_together(
        self, copies: list[Self], X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None
    ) -> None:
        moments = seed_moments(X_s, X_t)
        for copy in copies:
            copy._solve(moments)

    def _fit_seed(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> None:
        self._solve(seed_moments(X_s, X_t, self._sample_weight))

    @single_threaded_blas
    def _solve(self, moments: SeedMoments) -> None:
        c = len(self.pairs_) if self._sample_weight is None else float(self._sample_weight.sum())
        ridge = self.ridge * max(self.n_features_in_, self.n_features_out_) / c
        maps = spectral_maps(moments, self.whiten, ridge)
        A, B = maps.reweighted(self.reweight)
        self.singular_values_ = maps.singular_values
        if self.target == "fixed":
            self.map_ = A @ B.T
        else:
            self.map_, self.target_map_ = A, B
