"""A linear map with a small neural network beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, Options, StrOptions

from fipp.aligners._base import BaseAligner
from fipp.aligners._holdout import EarlyStopping, held_out_parts
from fipp.aligners._ridge import Ridge
from fipp.linalg import Progress, single_threaded_blas
from fipp.linalg._network import LOSSES, ResidualNetwork, Training

_AT_LEAST_1 = Interval(Integral, 1, None, closed="left")
# With fewer source words nothing is held out, and the map stays the ridge regression.
_FEWEST_WORDS = 20


class ResidualMLP(BaseAligner):
    r"""Ridge regression with a small neural network beside it, for maps that are not quite linear.

    .. math:: ŷ(x) = xW + b + \max(0, xA + a)\,B

    W and b start as the ridge regression of the pairs, B as zero: the network begins as that linear map and learns
    what it leaves over, by AdamW on the mean of 1 − cos(ŷ, y), or of ‖ŷ − y‖². A part of the known pairs is held out;
    as many passes are made as are best on it, none at all included, and then as many on all pairs. Training and mapping
    take numpy alone.

    With few pairs, or between word vectors, it is hardly ever better than the linear map. Between embedding models,
    from some thousand pairs on, it keeps more of the neighbours.

    Parameters
    ----------
    hidden : int, default=512
        Width of the hidden layer.
    loss : {"cosine", "mse"}, default="cosine"
        What is minimised after the ridge regression.
    alpha : float or "auto", default="auto"
        The penalty of the ridge regression, as for `Ridge`.
    learning_rate : float, default=0.001
        Step size of the training.
    weight_decay : float, default=0.1
        Pulls W to where it began, the others to zero.
    dropout : float, default=0.3
        Share of the hidden layer that is left out at random in every step.
    batch_size : int, default=128
        Number of pairs in each step of the training.
    n_epochs : int, default=100
        Passes at most.
    patience : int, default=8
        Passes without a better result on the held-out pairs before training ends.
    holdout : float, default=0.1
        Share of the pairs that is held out.
    preprocess : str, transformer or None, default="unit+centre+unit"
        What is done to both sides first; see `fipp.preprocess`.
    random_state : int, default=0
        Of the first weights, the held-out pairs, the batches and the dropout.

    Attributes
    ----------
    map_, offset_ : ndarray of shape (d1, d2), (d2,)
        W and b.
    hidden_weights_, hidden_offset_, output_weights_ : ndarray of shape (d1, hidden), (hidden,), (hidden, d2)
        A, a and B.
    alpha_ : float
        The ridge penalty.
    n_epochs_ : int
        Passes that were best; with 0 the map is linear.
    holdout_loss_ : ndarray of shape (passes + 1,)
        Loss on the held-out pairs of the ridge regression and after each pass.
    pairs_ : ndarray of shape (c, 2)
        The pairs it was fitted on.

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
        "hidden": [_AT_LEAST_1],
        "loss": [StrOptions(set(LOSSES))],
        "alpha": [Interval(Real, 0, None, closed="left"), Options(str, {"auto"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "batch_size": [_AT_LEAST_1],
        "n_epochs": [Interval(Integral, 0, None, closed="left")],
        "patience": [_AT_LEAST_1],
        "holdout": [Interval(Real, 0, 1, closed="neither")],
        "preprocess": "no_validation",
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        hidden: int = 512,
        loss: str = "cosine",
        alpha: float | Literal["auto"] = "auto",
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
        self.alpha = alpha
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
        if len(np.unique(self.pairs_[:, 0])) < _FEWEST_WORDS:
            self.n_epochs_, self.holdout_loss_ = 0, np.empty(0)
        else:
            (held,) = held_out_parts(self.pairs_[:, 0], self.holdout, random_state=self.random_state)
            self._choose(X_s[~held], X_t[~held], X_s[held], X_t[held], progress)
        network = self._start(X_s, X_t)
        for epoch, trained in zip(range(self.n_epochs_), self._training().epochs(network, X_s, X_t), strict=False):
            network = trained
            if progress is not None:
                progress(epoch + 1, self.n_epochs_)
        self.map_, self.offset_ = network.linear, network.offset
        self.hidden_weights_, self.hidden_offset_ = network.hidden, network.hidden_offset
        self.output_weights_ = network.output

    def _map_source(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        assert self.offset_ is not None  # fitting sets it
        network = ResidualNetwork(
            self.map_, self.offset_, self.hidden_weights_, self.hidden_offset_, self.output_weights_
        )
        mapped = network(rows)
        mapped[~rows.any(axis=1)] = 0  # a vector of zeros says nothing
        return mapped

    def _training(self) -> Training:
        return Training(
            self.loss, self.learning_rate, self.weight_decay, self.dropout, self.batch_size, self.random_state
        )

    def _choose(
        self,
        X_s: NDArray[np.float32],
        X_t: NDArray[np.float32],
        X_held: NDArray[np.float32],
        Y_held: NDArray[np.float32],
        progress: Progress | None,
    ) -> None:
        """Choose the number of passes on held-out pairs."""

        def loss_of(network: ResidualNetwork) -> float:
            with single_threaded_blas:
                return LOSSES[self.loss](network(X_held), Y_held)[0]

        start, stopping = self._start(X_s, X_t), EarlyStopping(self.patience)
        stopping(-loss_of(start))
        training = self._training().epochs(start, X_s, X_t)
        for epoch, network in zip(range(1, self.n_epochs + 1), training, strict=False):
            if progress is not None:
                progress(epoch, self.n_epochs)
            if stopping(-loss_of(network)):
                break
        self.n_epochs_, self.holdout_loss_ = stopping.best_step, -np.array(stopping.scores)

    def _start(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32]) -> ResidualNetwork:
        """Return the ridge regression, with a network beside it that adds nothing yet."""
        ridge = Ridge(self.alpha)
        ridge._fit_seed(X_s, X_t, None)
        assert ridge.offset_ is not None  # by default it has one
        self.alpha_ = ridge.alpha_
        d1, d2 = ridge.map_.shape
        rng = np.random.default_rng(self.random_state)
        # The hidden layer is about as long as 1, whatever its width: then a step of Adam does not throw ŷ about.
        length = max(float(np.square(X_s, dtype=np.float64).sum(axis=1).mean()), 1e-12)
        spread = np.sqrt(2 / (self.hidden * length))
        return ResidualNetwork(
            ridge.map_,
            ridge.offset_,
            (spread * rng.standard_normal((d1, self.hidden))).astype(np.float32),
            np.zeros(self.hidden, np.float32),
            np.zeros((self.hidden, d2), np.float32),
        )
