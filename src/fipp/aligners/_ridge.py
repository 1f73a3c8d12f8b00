"""Regression from source to target: what practitioners reach for first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, Options

from fipp.aligners._base import BaseAligner
from fipp.linalg import Progress, cross_products, single_threaded_blas
from fipp.retrieve import ranks_of_gold

# Penalties tried by "auto", relative to the largest squared singular value of X_s.
_PENALTIES = tuple(10.0 ** -(step / 2) for step in range(2, 15))

# So many pairs, evenly spread, are predicted to choose a penalty.
_PAIRS_TO_CHOOSE = 2000


class Ridge(BaseAligner):
    r"""Linear regression of the target on the source with a penalty on the map.

    .. math:: \min_{W, b} \ \|X_s W + b - X_t\|_F^2 + α \|W\|_F^2

    Of all linear maps it keeps the most of the target's own neighbourhoods, which makes it the one for replacing an
    embedding model; its mapped vectors shrink towards the mean where the source says little, so for words take CSLS.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        α. ``"auto"`` takes the one with which most pairs find each other by cosine when each is left out in turn, which
        needs no fitting again. The least squared error would ask for a larger one, whose predictions are all alike.
    intercept : bool, default=True
        Whether there is a b.
    rank : int, optional
        At most so many directions, those that explain most of the target (reduced-rank regression); see `LowRank`.
    preprocess : str, transformer or None, default="unit"
        What is done to both sides first; see `fipp.preprocess`.

    Attributes
    ----------
    map_ : ndarray of shape (d1, d2)
        W.
    offset_ : ndarray of shape (d2,) or None
        b.
    alpha_ : float
        The α used.
    pairs_ : ndarray of shape (c, 2)
        The pairs it was fitted on.
    source_preprocess_, target_preprocess_ : transformers
        Fitted preprocessing of either side.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 6))
    >>> Y = X @ rng.standard_normal((6, 4)) + 0.01 * rng.standard_normal((200, 4)) + 1
    >>> aligner = Ridge(preprocess=None).fit(X, Y)
    >>> bool(np.abs(aligner.transform(X) - Y).max() < 0.1)
    True
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"alpha": ("auto", 0.1, 0.3, 1.0, 3.0)}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), Options(str, {"auto"})],
        "intercept": ["boolean"],
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "preprocess": "no_validation",
    }

    def __init__(
        self,
        alpha: float | Literal["auto"] = "auto",
        *,
        intercept: bool = True,
        rank: int | None = None,
        preprocess: Any = "unit",
    ) -> None:
        self.alpha = alpha
        self.intercept = intercept
        self.rank = rank
        self.preprocess = preprocess

    def _fit_seed(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> None:
        means = [X.mean(axis=0, dtype=np.float64).astype(np.float32) * self.intercept for X in (X_s, X_t)]
        problem = _Regression.of(X_s - means[0], X_t - means[1])
        self.alpha_ = problem.best_penalty(means[1], self.intercept) if self.alpha == "auto" else float(self.alpha)
        W = problem.solution(self.alpha_)
        if self.rank is not None and self.rank < W.shape[1]:
            W = problem.reduced(W, self.rank)
        self.map_ = W.astype(np.float32)
        if self.intercept:
            self.offset_ = means[1] - means[0] @ self.map_


class LowRank(Ridge):
    r"""Reduced-rank regression: the best affine map through a few directions only.

    .. math:: \min_{W, b} \ \|X_s W + b - X_t\|_F^2 + α \|W\|_F^2, \quad \mathrm{rank}\, W ≤ r

    The ridge solution projected on the directions of the target in which its predictions vary most, which is the exact
    solution. Fewer directions mean fewer numbers to learn from few pairs, and a smaller, faster map.

    Parameters
    ----------
    rank : int, default=128
        r.
    alpha : float or "auto", default="auto"
        α, as for `Ridge`.
    intercept : bool, default=True
        Whether there is a b.
    preprocess : str, transformer or None, default="unit"
        What is done to both sides first; see `fipp.preprocess`.

    Attributes
    ----------
    map_, offset_, alpha_, pairs_, source_preprocess_, target_preprocess_
        As for `Ridge`.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import LowRank
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 6))
    >>> int(np.linalg.matrix_rank(LowRank(2).fit(X, X).map_))
    2
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"rank": (32, 64, 128, 256)}

    def __init__(
        self,
        rank: int = 128,
        *,
        alpha: float | Literal["auto"] = "auto",
        intercept: bool = True,
        preprocess: Any = "unit",
    ) -> None:
        super().__init__(alpha, intercept=intercept, rank=rank, preprocess=preprocess)


class _Regression(NamedTuple):
    """Centred X_s and X_t with the eigenvectors of X_sᵀX_s: every α is a division."""

    X_s: NDArray[np.float32]
    X_t: NDArray[np.float32]
    squared: NDArray[np.float64]
    V: NDArray[np.float64]
    cross: NDArray[np.float64]
    """VᵀX_sᵀX_t."""

    @classmethod
    @single_threaded_blas
    def of(cls, X_s: NDArray[np.float32], X_t: NDArray[np.float32]) -> _Regression:
        squared, V = np.linalg.eigh(cross_products(X_s, X_s))
        return cls(X_s, X_t, np.maximum(squared, 0), V, V.T @ cross_products(X_s, X_t))

    @single_threaded_blas
    def solution(self, penalty: float) -> NDArray[np.float64]:
        """Return W = (X_sᵀX_s + α)⁻¹ X_sᵀX_t; directions that no pair has are mapped to zero."""
        known = self.squared > np.finfo(np.float32).eps * self.squared.max(initial=0)
        shrunk = np.where(known, 1 / np.where(known, self.squared + penalty, 1), 0)
        W: NDArray[np.float64] = (self.V * shrunk) @ self.cross
        return W

    def reduced(self, W: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
        """Project W on the ``rank`` directions of the target in which its penalised fit varies most."""
        # The penalty is a fit of zeros by √α W: the variation to keep is Wᵀ(X_sᵀX_s + α)W = Wᵀ X_sᵀX_t.
        _, axes = np.linalg.eigh((W.T @ (self.V @ self.cross) + (self.V @ self.cross).T @ W) / 2)
        top = axes[:, -rank:]
        return W @ top @ top.T

    def best_penalty(self, mean: NDArray[np.float32], centred: bool) -> float:
        """Return the α with the highest mean reciprocal rank when each pair is predicted from all the others."""
        penalties = np.array(_PENALTIES) * self.squared.max(initial=0)
        if not penalties.any():
            return 0.0
        rows = np.unique(np.linspace(0, len(self.X_s) - 1, min(_PAIRS_TO_CHOOSE, len(self.X_s))).astype(np.int64))
        X_s, X_t, numbers = self.X_s[rows], self.X_t[rows], np.arange(len(rows))
        projected = np.square(X_s @ self.V.astype(np.float32))
        scores = []
        for penalty in penalties:
            # The residual without a pair is that with it over 1 − h, h its leverage.
            leverage = projected @ (1 / (self.squared + penalty)).astype(np.float32) + centred / len(self.X_s)
            residual = X_t - X_s @ self.solution(penalty).astype(np.float32)
            predicted = X_t - residual / np.maximum(1 - leverage, np.float32(1e-6))[:, None]
            scores.append(np.mean(1 / ranks_of_gold(predicted + mean, X_t + mean, numbers, numbers)))
        # Of those that do as well the smallest, which fits best.
        return float(penalties[np.round(scores, 12) == np.round(np.max(scores), 12)].min())
