"""RCSLS: the map that is best for retrieval by CSLS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from fipp.aligners._base import BaseAligner
from fipp.aligners._holdout import EarlyStopping, spread_part
from fipp.aligners._rcsls_loss import RelaxedCSLS
from fipp.linalg import Progress, cross_products, rotation, single_threaded_blas
from fipp.retrieve import ranks_of_gold

# The share of the fall that the gradient promises which a step must deliver: with less, it has overshot.
_PROMISED = 0.7
# The first step that is tried, relative to the map; it is halved until it delivers.
_FIRST_STEP = 0.05
_SMALLEST_STEP = 1e-6
# Held-out words below which their score says too little about when to stop.
_FEWEST_HELD_OUT = 20
# Steps without a better held-out score after which no better one is expected.
_PATIENCE = 4


class RCSLS(BaseAligner):
    r"""The map that is best for retrieval by CSLS (Joulin, Bojanowski, Mikolov, Jégou and Grave, EMNLP 2018).

    .. math:: \min_W \frac1c \sum_i -2\, x_i W y_i^\top
              + \frac1k \sum_{y_j ∈ N_Y(x_i W)} x_i W y_j^\top
              + \frac1k \sum_{x_j W ∈ N_X(y_i)} x_j W y_i^\top

    over the seed pairs (x_i, y_i), with N the k nearest neighbours in the vocabularies: pairs come close, other words
    near them are pushed away. It is convex in W, piecewise linear, and descended from the Procrustes rotation on. A
    step that does not deliver what the gradient promised is taken back and halved, so that the loss falls with every
    step and no learning rate needs to be found. Without a constraint the loss has no lower bound (twice W is twice the
    loss): when to stop is learned from a part of the seed that is held out first.

    Parameters
    ----------
    constraint : {"none", "spectral", "orthogonal"}, default="none"
        After each step nothing, singular values above 1 cut to 1 (the convex hull of the rotations), or the nearest
        rotation.
    n_neighbours : int, default=10
        k.
    learning_rate : float or "auto", default="auto"
        How far the first step goes along the gradient. ``"auto"`` tries a twentieth of the map's length and wants
        70 % of the promised fall; a number is halved only where the loss would rise.
    n_iterations : int, default=10
        Number of steps, at most.
    holdout : float or None, default=0.2
        Share of the seed's source words held out to count the steps after which their mean reciprocal rank is best;
        then all pairs are descended by so many. None takes all ``n_iterations``, as do seeds too small for it.
    max_words : int or None, default=200_000
        Neighbours are looked for among so many words of either side, the first ones; None is all of them.
    preprocess : str, transformer or None, default="unit+centre+unit"
        What is done to both sides first; see `fipp.preprocess`. It should end in unit length.
    max_memory : int or str, optional
        Working memory of a search for neighbours, such as ``"2GB"``.

    Attributes
    ----------
    map_ : ndarray of shape (d1, d2)
        W.
    n_iter_ : int
        Number of steps.
    losses_ : ndarray of shape (n_iter_ + 1,)
        The loss before the first step and after each.
    validation_scores_ : ndarray
        Mean reciprocal rank of the held-out pairs before the first step and after each; empty without them.
    pairs_ : ndarray of shape (c, 2)
        The pairs it was fitted on.
    source_preprocess_, target_preprocess_ : transformers
        Fitted preprocessing of either side.

    Notes
    -----
    The authors' code never takes a step back (the map it would return to is overwritten) and gives the last map
    instead of the best, so that the learning rate decides between a good map and a bad one. Its vectors are not
    centred unless asked; centred ones did better on held-out pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import RCSLS
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((300, 6))
    >>> X = Y @ np.linalg.qr(rng.standard_normal((6, 6)))[0]
    >>> aligner = RCSLS().fit(X, Y, pairs=[(i, i) for i in range(150)])
    >>> aligner.score(X, Y) > 0.95, bool((np.diff(aligner.losses_) < 0).all())
    (True, True)
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {
        "constraint": ("none", "spectral"),
        "preprocess": ("unit+centre+unit", "isotropic+unit"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "constraint": [StrOptions({"none", "spectral", "orthogonal"})],
        "n_neighbours": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "n_iterations": [Interval(Integral, 0, None, closed="left")],
        "holdout": [Interval(Real, 0, 0.5, closed="right"), None],
        "max_words": [Interval(Integral, 1, None, closed="left"), None],
        "preprocess": "no_validation",
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
    }

    def __init__(
        self,
        constraint: Literal["none", "spectral", "orthogonal"] = "none",
        *,
        n_neighbours: int = 10,
        learning_rate: float | Literal["auto"] = "auto",
        n_iterations: int = 10,
        holdout: float | None = 0.2,
        max_words: int | None = 200_000,
        preprocess: Any = "unit+centre+unit",
        max_memory: int | str | None = None,
    ) -> None:
        self.constraint = constraint
        self.n_neighbours = n_neighbours
        self.learning_rate = learning_rate
        self.n_iterations = n_iterations
        self.holdout = holdout
        self.max_words = max_words
        self.preprocess = preprocess
        self.max_memory = max_memory

    def _fit_vocabulary(self, X: NDArray, Y: NDArray, progress: Progress | None) -> None:
        X_s, X_t = self._seed_rows(X, Y)
        words = (
            self.source_preprocess_.transform(X[: self.max_words]),
            self.target_preprocess_.transform(Y[: self.max_words]),
        )
        held_out = self._held_out()
        n_steps, total = self.n_iterations, self.n_iterations * (2 if held_out.any() else 1)
        done = 0

        def tick(steps: int) -> None:
            nonlocal done
            done += steps
            if progress is not None:
                progress(done, total)

        self.validation_scores_ = np.empty(0)
        if held_out.any():
            n_steps = self._best_number_of_steps(X_s, X_t, words, held_out, tick)
            tick(self.n_iterations - done)
        loss = RelaxedCSLS(X_s, X_t, *words, self.n_neighbours, self.max_memory)
        W, self.losses_ = self._descend(loss, n_steps, lambda W: tick(1))
        self.map_, self.n_iter_ = W.astype(np.float32), len(self.losses_) - 1
        tick(total - done)

    def _held_out(self) -> NDArray[np.bool_]:
        """Mark the pairs to hold out; none if they would be too few to say when to stop."""
        n_words = len(np.unique(self.pairs_[:, 0]))
        if self.holdout is None or self.holdout * n_words < _FEWEST_HELD_OUT or self.n_iterations == 0:
            return np.zeros(len(self.pairs_), dtype=bool)
        return spread_part(self.pairs_[:, 0], self.holdout)

    def _best_number_of_steps(
        self,
        X_s: NDArray[np.float32],
        X_t: NDArray[np.float32],
        words: tuple[NDArray[np.float32], NDArray[np.float32]],
        held_out: NDArray[np.bool_],
        tick: Callable[[int], None],
    ) -> int:
        # Translations beyond the first words are candidates, too, but none stands there twice.
        gold, max_words = self.pairs_[held_out, 1], len(words[1])
        beyond = gold >= max_words
        keys = np.concatenate([words[1], X_t[held_out][beyond]])
        gold = np.where(beyond, max_words - 1 + np.cumsum(beyond), gold)
        stopping = EarlyStopping(_PATIENCE)

        def stop_when_no_better(W: NDArray[np.float64]) -> bool:
            mapped = X_s[held_out] @ W.astype(np.float32)
            ranks = ranks_of_gold(mapped, keys, np.arange(len(gold)), gold, max_memory=self.max_memory)
            stop = stopping(float(np.mean(1 / ranks)))
            tick(1 if len(stopping.scores) > 1 else 0)
            return stop

        loss = RelaxedCSLS(X_s[~held_out], X_t[~held_out], *words, self.n_neighbours, self.max_memory)
        self._descend(loss, self.n_iterations, stop_when_no_better)
        self.validation_scores_ = np.array(stopping.scores)
        return stopping.best_step

    def _descend(
        self, loss: RelaxedCSLS, n_steps: int, after_step: Callable[[NDArray[np.float64]], object]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Descend from the Procrustes rotation on, until ``after_step`` says so; give W and the losses."""
        W = rotation(cross_products(loss.X_s, loss.X_t))
        value, gradient = loss(W)
        losses = [value]
        if self.learning_rate == "auto":
            step, wanted = _first_step(W, gradient), _PROMISED
        else:
            step, wanted = float(self.learning_rate), 0.0
        smallest = _SMALLEST_STEP * step
        stopped = after_step(W)
        while len(losses) <= n_steps and step > smallest and gradient.any() and stopped is not True:
            tried = self._project(W - step * gradient)
            tried_value, tried_gradient = loss(tried)
            fall, promise = value - tried_value, float(np.sum((W - tried) * gradient))
            if fall <= wanted * promise:
                step /= 2
                continue
            W, value, gradient = tried, tried_value, tried_gradient
            losses.append(value)
            stopped = after_step(W)
        return W, np.array(losses)

    @single_threaded_blas
    def _project(self, W: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.constraint == "none":
            return W
        if self.constraint == "orthogonal":
            return rotation(W)
        U, s, Vt = np.linalg.svd(W, full_matrices=False)
        return (U * np.minimum(s, 1)) @ Vt


def _first_step(W: NDArray[np.float64], gradient: NDArray[np.float64]) -> float:
    length = float(np.linalg.norm(gradient))
    return _FIRST_STEP * float(np.linalg.norm(W)) / length if length else 1.0
