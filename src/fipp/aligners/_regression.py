"""Regression from source to target: linear, through few directions, and with a small network beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from fipp._progress import Progress, Steps
from fipp.aligners._base import BaseAligner
from fipp.aligners._constraints import AT_LEAST_1, AUTO, COUNT, NOT_NEGATIVE, POSITIVE, SHARE_BELOW_1
from fipp.aligners._holdout import EarlyStopping, held_out_parts
from fipp.linalg import LOSSES, ResidualNetwork, Training, cross_products, single_threaded_blas
from fipp.retrieve import ranks_of_gold

# Penalties that "auto" tries, relative to the largest squared singular value of X_s.
_PENALTIES = tuple(10.0 ** -(step / 2) for step in range(2, 15))

# At most this many pairs, evenly spread, are predicted to choose a penalty.
_PAIRS_TO_CHOOSE = 2000

# With fewer source words, nothing is held out and the residual network stays the ridge regression.
_FEWEST_WORDS = 20


class Ridge(BaseAligner):
    r"""Ridge regression of the target on the source.

    .. math:: \min_{W, b} \ \|X_s W + b - X_t\|_F^2 + α \|W\|_F^2

    Of all linear maps it best keeps the target's own neighbourhoods, which makes it the method for replacing an
    embedding model. Where the source says little, mapped vectors shrink towards the mean, so use CSLS to look up words.

    Parameters
    ----------
    ridge : float or "auto", default="auto"
        α, as a multiple of the mean eigenvalue of X_sᵀX_s, with X_s centred if there is an intercept. ``"auto"`` takes
        the value with which most pairs find each other by cosine when each is left out in turn; this needs no
        refitting. The least squared error would ask for a larger α, whose predictions are all alike.
    intercept : bool, default=True
        Whether an offset b is added to the mapped vectors.
    rank : int, optional
        Keep at most this many directions, those that explain most of the target (reduced-rank regression); see
        `LowRank`.
    preprocess : str, transformer or None, default="unit"
        Preprocessing of both sides; see `fipp.preprocess`.

    Attributes
    ----------
    map_ : ndarray of shape (d1, d2)
        W.
    offset_ : ndarray of shape (d2,) or None
        b.
    ridge_ : float
        The ridge that was used.

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

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"ridge": ("auto", 0.01, 0.03, 0.1, 0.3)}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "ridge": [NOT_NEGATIVE, AUTO],
        "intercept": ["boolean"],
        "rank": [AT_LEAST_1, None],
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **BaseAligner._fitted_constraints,
        "ridge_": [NOT_NEGATIVE],
    }

    def __init__(
        self,
        ridge: float | Literal["auto"] = "auto",
        *,
        intercept: bool = True,
        rank: int | None = None,
        preprocess: Any = "unit",
    ) -> None:
        self.ridge = ridge
        self.intercept = intercept
        self.rank = rank
        self.preprocess = preprocess

    def _fit_seed(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> None:
        means = [X.mean(axis=0, dtype=np.float64).astype(np.float32) * self.intercept for X in (X_s, X_t)]
        problem = _Regression.of(X_s - means[0], X_t - means[1])
        mean_variance = float(problem.squared.mean())
        if self.ridge == "auto":
            alpha = problem.best_penalty(means[1], self.intercept)
            self.ridge_ = alpha / mean_variance if mean_variance else 0.0
        else:
            self.ridge_ = float(self.ridge)
            alpha = self.ridge_ * mean_variance
        W = problem.solution(alpha)
        if self.rank is not None and self.rank < W.shape[1]:
            W = problem.reduced(W, self.rank)
        self.map_ = W.astype(np.float32)
        if self.intercept:
            self.offset_ = means[1] - means[0] @ self.map_


class LowRank(Ridge):
    r"""Reduced-rank regression: the best affine map through a few directions only.

    .. math:: \min_{W, b} \ \|X_s W + b - X_t\|_F^2 + α \|W\|_F^2, \quad \mathrm{rank}\, W ≤ r

    The exact solution is the ridge regression, projected onto the directions of the target in which its predictions
    vary most. With fewer directions there are fewer numbers to learn from few pairs, and the map is smaller and faster.

    Parameters
    ----------
    rank : int, default=128
        r, the largest rank of the map.
    ridge : float or "auto", default="auto"
        The penalty α, as a multiple of the mean eigenvalue of X_sᵀX_s; ``"auto"`` chooses it as `Ridge` does.
    intercept : bool, default=True
        Whether an offset b is added to the mapped vectors.
    preprocess : str, transformer or None, default="unit"
        Preprocessing of both sides; see `fipp.preprocess`.

    Attributes
    ----------
    map_, offset_, ridge_
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
        ridge: float | Literal["auto"] = "auto",
        intercept: bool = True,
        preprocess: Any = "unit",
    ) -> None:
        super().__init__(ridge, intercept=intercept, rank=rank, preprocess=preprocess)


class _Regression(NamedTuple):
    """Centred X_s and X_t with the eigenvalues and eigenvectors of X_sᵀX_s, so that each α takes only a division."""

    X_s: NDArray[np.float32]
    X_t: NDArray[np.float32]
    squared: NDArray[np.float64]
    V: NDArray[np.float64]
    cross: NDArray[np.float64]  # VᵀX_sᵀX_t

    @classmethod
    @single_threaded_blas
    def of(cls, X_s: NDArray[np.float32], X_t: NDArray[np.float32]) -> _Regression:
        squared, V = np.linalg.eigh(cross_products(X_s, X_s))
        return cls(X_s, X_t, np.maximum(squared, 0), V, V.T @ cross_products(X_s, X_t))

    @single_threaded_blas
    def solution(self, alpha: float) -> NDArray[np.float64]:
        """Return W = (X_sᵀX_s + α)⁻¹ X_sᵀX_t; directions that occur in no pair are mapped to zero."""
        known = self.squared > np.finfo(np.float32).eps * self.squared.max(initial=0)
        shrunk = np.where(known, 1 / np.where(known, self.squared + alpha, 1), 0)
        W: NDArray[np.float64] = (self.V * shrunk) @ self.cross
        return W

    def reduced(self, W: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
        """Project W onto the ``rank`` directions of the target in which its penalised fit varies most."""
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
        for alpha in penalties:
            # Leaving a pair out divides its residual by 1 − h, where h is its leverage.
            leverage = projected @ (1 / (self.squared + alpha)).astype(np.float32) + centred / len(self.X_s)
            residual = X_t - X_s @ self.solution(alpha).astype(np.float32)
            predicted = X_t - residual / np.maximum(1 - leverage, np.float32(1e-6))[:, None]
            scores.append(np.mean(1 / ranks_of_gold(predicted + mean, X_t + mean, numbers, numbers)))
        # Among equally good penalties, take the smallest, which fits best.
        return float(penalties[np.round(scores, 12) == np.round(np.max(scores), 12)].min())


class ResidualMLP(BaseAligner):
    r"""Ridge regression with a small neural network beside it, for maps that are not quite linear.

    .. math:: ŷ(x) = xW + b + \max(0, xA + a)\,B

    W and b start as the ridge regression of the pairs, and B as zero: the network begins as that linear map and learns
    what it leaves over, by AdamW on the mean of 1 − cos(ŷ, y) or of ‖ŷ − y‖². The number of passes that is best on a
    held-out part of the known pairs, possibly none, is then made on all pairs. Training and mapping need only numpy.

    With few pairs, or between word vectors, it is hardly ever better than the linear map. Between embedding models,
    it keeps more of the neighbours from a few thousand pairs on.

    Parameters
    ----------
    hidden : int, default=512
        Width of the hidden layer.
    loss : {"cosine", "mse"}, default="cosine"
        What is minimised after the ridge regression.
    ridge : float or "auto", default="auto"
        The penalty of the ridge regression; ``"auto"`` chooses it as `Ridge` does.
    learning_rate : float, default=0.001
        Length of AdamW's steps.
    weight_decay : float, default=0.1
        How strongly W is pulled back to its start, and the other weights to zero.
    dropout : float, default=0.3
        Share of the hidden layer that is left out at random in each step.
    batch_size : int, default=128
        Pairs in a step.
    n_epochs : int, default=100
        Maximum number of passes over the pairs.
    patience : int, default=8
        Passes without a better result on the held-out pairs after which training ends.
    holdout : float, default=0.1
        Share of the source words whose pairs are held out.
    preprocess : str, transformer or None, default="unit+centre+unit"
        Preprocessing of both sides; see `fipp.preprocess`.
    random_state : int, default=0
        Seed of the first weights, the held-out pairs, the batches and the dropout.

    Attributes
    ----------
    map_, offset_ : ndarray of shape (d1, d2), (d2,)
        W and b.
    hidden_weights_, hidden_offset_, output_weights_ : ndarray of shape (d1, hidden), (hidden,), (hidden, d2)
        A, a and B.
    ridge_ : float
        The ridge of the regression.
    n_epochs_ : int
        The best number of passes; with 0 the map is linear.
    holdout_loss_ : ndarray of shape (passes + 1,)
        Loss on the held-out pairs of the ridge regression and after each pass.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import ResidualMLP
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1000, 4))
    >>> Y = np.hstack([X, np.abs(X)])
    >>> aligner = ResidualMLP(hidden=32, preprocess=None, n_epochs=30).fit(X[:800], Y[:800])
    >>> linear = ResidualMLP(n_epochs=0, preprocess=None).fit(X[:800], Y[:800])
    >>> aligner.score(X[800:], Y[800:]) > linear.score(X[800:], Y[800:])
    True
    """

    linear: ClassVar[bool] = False

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"loss": ("cosine", "mse"), "dropout": (0.1, 0.3, 0.5)}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "hidden": [AT_LEAST_1],
        "loss": [StrOptions(set(LOSSES))],
        "ridge": [NOT_NEGATIVE, AUTO],
        "learning_rate": [POSITIVE],
        "weight_decay": [NOT_NEGATIVE],
        "dropout": [SHARE_BELOW_1],
        "batch_size": [AT_LEAST_1],
        "n_epochs": [COUNT],
        "patience": [AT_LEAST_1],
        "holdout": [Interval(Real, 0, 1, closed="neither")],
        "random_state": [COUNT],
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **BaseAligner._fitted_constraints,
        "ridge_": [NOT_NEGATIVE],
        "offset_": "float32 k",
        "hidden_weights_": "float32 d1 h",
        "hidden_offset_": "float32 h",
        "output_weights_": "float32 h k",
        "n_epochs_": [COUNT],
        "holdout_loss_": "float64 passes",
    }

    def __init__(
        self,
        hidden: int = 512,
        loss: str = "cosine",
        *,
        ridge: float | Literal["auto"] = "auto",
        learning_rate: float = 0.001,
        weight_decay: float = 0.1,
        dropout: float = 0.3,
        batch_size: int = 128,
        n_epochs: int = 100,
        patience: int = 8,
        holdout: float = 0.1,
        preprocess: Any = "unit+centre+unit",
        random_state: int = 0,
    ) -> None:
        self.hidden = hidden
        self.loss = loss
        self.ridge = ridge
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.patience = patience
        self.holdout = holdout
        self.preprocess = preprocess
        self.random_state = random_state

    def _fit_seed(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> None:
        steps = Steps(progress, 2 * self.n_epochs)
        self.n_epochs_, self.holdout_loss_ = 0, np.empty(0)
        if len(np.unique(self.pairs_[:, 0])) >= _FEWEST_WORDS:
            (held,) = held_out_parts(self.pairs_[:, 0], self.holdout, random_state=self.random_state)
            self._choose((X_s[~held], X_t[~held]), (X_s[held], X_t[held]), steps)
        network = self._start(X_s, X_t)
        for _, trained in zip(range(self.n_epochs_), self._training().epochs(network, X_s, X_t), strict=False):
            network = trained
            steps()
        steps.finish()
        self.map_, self.offset_ = network.linear, network.offset
        self.hidden_weights_, self.hidden_offset_ = network.hidden, network.hidden_offset
        self.output_weights_ = network.output

    def _map_source(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        assert self.offset_ is not None  # fitting sets it
        parts = self.map_, self.offset_, self.hidden_weights_, self.hidden_offset_, self.output_weights_
        mapped = ResidualNetwork(*parts)(rows)
        mapped[~rows.any(axis=1)] = 0  # a vector of zeros says nothing
        return mapped

    def _training(self) -> Training:
        return Training(
            self.loss, self.learning_rate, self.weight_decay, self.dropout, self.batch_size, self.random_state
        )

    def _choose(
        self, seed: tuple[NDArray[Any], NDArray[Any]], held_out: tuple[NDArray[Any], NDArray[Any]], steps: Steps
    ) -> None:
        """Choose the number of passes on held-out pairs."""

        def loss_of(network: ResidualNetwork) -> float:
            with single_threaded_blas, np.errstate(over="ignore", invalid="ignore"):
                loss = LOSSES[self.loss](network(held_out[0]), held_out[1])[0]
            if not np.isfinite(loss):
                raise training.diverged()
            return loss

        start, stopping, training = self._start(*seed), EarlyStopping(self.patience), self._training()
        stopping(-loss_of(start))
        for _, network in zip(range(self.n_epochs), training.epochs(start, *seed), strict=False):
            steps()
            if stopping(-loss_of(network)):
                break
        self.n_epochs_, self.holdout_loss_ = stopping.best_step, -np.array(stopping.scores)

    def _start(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32]) -> ResidualNetwork:
        """Return the ridge regression with a network beside it that adds nothing yet."""
        regression = Ridge(self.ridge)
        regression._fit_seed(X_s, X_t, None)
        assert regression.offset_ is not None  # it has one by default
        self.ridge_ = regression.ridge_
        d1, d2 = regression.map_.shape
        rng = np.random.default_rng(self.random_state)
        # The activations of the hidden layer have a length of about 1 whatever its width, so that Adam's first steps
        # change ŷ little.
        length = max(float(np.square(X_s, dtype=np.float64).sum(axis=1).mean()), 1e-12)
        spread = np.sqrt(2 / (self.hidden * length))
        return ResidualNetwork(
            regression.map_,
            regression.offset_,
            (spread * rng.standard_normal((d1, self.hidden))).astype(np.float32),
            np.zeros(self.hidden, np.float32),
            np.zeros((self.hidden, d2), np.float32),
        )
