"""Local corrections: the error of a map at known pairs is corrected nearby."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from fipp._progress import Progress
from fipp._validation import as_matrix
from fipp.aligners._base import BaseAligner
from fipp.aligners._constraints import AT_LEAST_1, NOT_NEGATIVE
from fipp.aligners._wrapper import WrappingAligner
from fipp.exceptions import FippError
from fipp.linalg import ordered_map, row_blocks, unit_rows


class Local(WrappingAligner):
    r"""Any aligner, with its errors at the known pairs corrected for the words near them.

    .. math:: z(x) + η \max_j \cos(z(x), p_j) \sum_j w_j (q_j - p_j), \quad w_j ∝ e^{β \cos(z(x), p_j)}

    The sum is over the known pairs nearest to x; z(x) is the mapped word at unit length, and p_j and q_j are both sides
    of a known pair in the shared space. The map is no longer linear, and the model keeps the known pairs' vectors.

    Parameters
    ----------
    aligner : aligner, optional
        The aligner to correct; `Spectral` by default.
    strength : float, default=0.4
        η, how much of the error at the known pairs is corrected.
    n_neighbours : int, default=30
        How many of the nearest known pairs correct a word.
    beta : float, default=15
        β, how much more the nearest of these pairs count than the others.

    Attributes
    ----------
    aligner_ : aligner
        The aligner that is corrected.
    anchors_, corrections_ : ndarray of shape (c, k)
        p and q − p.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed, "local")
    >>> alignment.translate("water", k=1)[0].word
    'eau'
    """

    linear: ClassVar[bool] = False

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"strength": (0.2, 0.4, 0.6)}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "strength": [NOT_NEGATIVE],
        "n_neighbours": [AT_LEAST_1],
        # Larger ones would leave the range of float32.
        "beta": [Interval(Real, 0, 1e30, closed="both")],
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **WrappingAligner._fitted_constraints,
        "anchors_": "float32 c k",
        "corrections_": "float32 c k",
    }

    def __init__(
        self, aligner: Any = None, *, strength: float = 0.4, n_neighbours: int = 30, beta: float = 15.0
    ) -> None:
        self.aligner = aligner
        self.strength = strength
        self.n_neighbours = n_neighbours
        self.beta = beta

    def _check_fitted(self) -> None:
        if not len(self.anchors_):
            raise FippError("it has no pairs to correct by")

    def _fit_vocabulary(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> None:
        self._correct(self._inner().fit(X, Y, self.pairs_, progress=progress), X, Y)

    @classmethod
    def correcting(cls, fitted: BaseAligner, X: NDArray[Any], Y: NDArray[Any], pairs: NDArray[np.int64]) -> Self:
        """Return the corrections of a fitted aligner, which may have been fitted on more than these pairs."""
        local = cls(clone(fitted))
        local._check(X, Y, pairs)
        local._correct(fitted, X, Y)
        return local

    def _correct(self, fitted: BaseAligner, X: NDArray[Any], Y: NDArray[Any]) -> None:
        self.aligner_ = fitted
        self.anchors_ = unit_rows(fitted.transform(X[self.pairs_[:, 0]]))
        self.corrections_ = unit_rows(fitted.transform_target(Y[self.pairs_[:, 1]])) - self.anchors_

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return source vectors in the shared space, scaled to unit length before they are corrected."""
        check_is_fitted(self)
        X = as_matrix(X, "X", n_columns=self.n_features_in_)
        Z = unit_rows(self.aligner_.transform(X))

        def correct(rows: slice) -> None:
            Z[rows] += self._correction(Z[rows])

        for _ in ordered_map(correct, row_blocks(len(Z))):
            pass
        return Z

    def _correction(self, Z: NDArray[np.float32]) -> NDArray[np.float32]:
        cosines = Z @ self.anchors_.T
        nearest = cosines.max(axis=1, keepdims=True)
        count = min(self.n_neighbours, cosines.shape[1])
        farthest = np.partition(cosines, -count, axis=1)[:, -count, None]
        weights = np.exp(np.float32(self.beta) * (cosines - nearest))
        weights[cosines < farthest] = 0
        weights *= np.float32(self.strength) * np.maximum(nearest, 0) / weights.sum(axis=1, keepdims=True)
        correction: NDArray[np.float32] = weights @ self.corrections_
        correction[~Z.any(axis=1)] = 0
        return correction
