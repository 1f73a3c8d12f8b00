"""Orthogonal Procrustes, the baseline of the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fipp._progress import Progress
from fipp.aligners._base import WeightedAligner
from fipp.linalg import cross_products, rotation


def pair_rotation(X: NDArray[np.float32], Y: NDArray[np.float32], pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the rotation that brings these rows of X and of Y closest together."""
    return rotation(cross_products(X[pairs[:, 0]], Y[pairs[:, 1]]))


class Procrustes(WeightedAligner):
    r"""The rotation that brings known pairs closest together.

    .. math:: Ω^* = \arg\min_{Ω} \|X_s Ω - X_t\|_F, \quad Ω Ω^\top = I \ (d_1 ≤ d_2)

    which is UVᵀ for the SVD X_sᵀX_t = UΣVᵀ. With d1 > d2 there is no closed form for the residual; the same UVᵀ,
    with ΩᵀΩ = I, maximises the inner products of the pairs instead.

    Parameters
    ----------
    preprocess : str, transformer or None, default="unit"
        Preprocessing of both sides; see `fipp.preprocess`.

    Attributes
    ----------
    map_ : ndarray of shape (d1, d2)
        Ω*.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import Procrustes
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((100, 5))
    >>> turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    >>> aligner = Procrustes().fit(Y @ turn.T, Y)
    >>> bool(np.allclose(aligner.map_, turn, atol=1e-5))
    True
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"preprocess": ("unit", "isotropic")}

    def __init__(self, preprocess: Any = "unit") -> None:
        self.preprocess = preprocess

    def _fit_seed(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> None:
        self.map_ = rotation(cross_products(X_s, X_t, self._sample_weight)).astype(np.float32)
