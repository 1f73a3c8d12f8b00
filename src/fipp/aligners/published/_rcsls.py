"""RCSLS: the map that is best for retrieval by CSLS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from fipp._progress import Progress, Steps
from fipp.aligners._base import BaseAligner
from fipp.aligners._constraints import AT_LEAST_1, AUTO, COUNT, MAX_WORDS, MEMORY, POSITIVE, SMALLER_SHARE
from fipp.aligners._holdout import EarlyStopping, spread_part
from fipp.linalg import cross_products, matmul_blocks, rotation, single_threaded_blas
from fipp.retrieve import neighbours, ranks_of_gold

# The share of the decrease predicted by the gradient that a step must achieve; with less, it has overshot.
_PROMISED = 0.7
# The first step that is tried, relative to the map; it is halved until it achieves that.
_FIRST_STEP = 0.05
_SMALLEST_STEP = 1e-6
# With fewer held-out words, their score says too little about when to stop.
_FEWEST_HELD_OUT = 20
# Steps without a better held-out score after which no better one is expected.
_PATIENCE = 4


class RCSLS(BaseAligner):
    r"""RCSLS: the linear map that minimises a relaxed CSLS retrieval loss.

    .. math:: \min_W \frac1c \sum_i -2\, x_i W y_i^\top
              + \frac1k \sum_{y_j ∈ N_Y(x_i W)} x_i W y_j^\top
              + \frac1k \sum_{x_j W ∈ N_X(y_i)} x_j W y_i^\top

    The sum is over the seed pairs (x_i, y_i), and N are the k nearest neighbours in the vocabularies: pairs come close,
    and other words near them are pushed away (Joulin, Bojanowski, Mikolov, Jégou and Grave, EMNLP 2018). The loss is
    convex and piecewise linear in W, and is descended from the Procrustes rotation. A step that does not achieve what
    the gradient predicted is taken back and halved, so that the loss falls with every step and no learning rate has to
    be found. Without a constraint the loss has no lower bound (twice W is twice the loss): when to stop is learned from
    a part of the seed that is held out first.

    Parameters
    ----------
    constraint : {"none", "spectral", "orthogonal"}, default="none"
        The constraint applied after each step: none, singular values clipped to at most 1 (the convex hull of the
        rotations), or the nearest rotation.
    n_neighbours : int, default=10
        k, the number of nearest words that a pair is pushed away from on either side.
    learning_rate : float or "auto", default="auto"
        How far the first step goes along the gradient. ``"auto"`` tries a twentieth of the map's length and requires
        70 % of the predicted decrease; a number is halved only where the loss would rise.
    n_iterations : int, default=10
        Maximum number of steps.
    holdout : float or None, default=0.2
        Share of the seed's source words that is held out to find the number of steps with the best mean reciprocal
        rank; all pairs are then descended by as many steps. None takes all ``n_iterations``, and so do small seeds.
    max_words : int or None, default=200_000
        Neighbours are looked for among this many of the first words of either side; None is all of them.
    preprocess : str, transformer or None, default="unit+centre+unit"
        Preprocessing of both sides; see `fipp.preprocess`. It should end in unit length.
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
    holdout_scores_ : ndarray
        Mean reciprocal rank of the held-out pairs before the first step and after each; empty without them.

    Notes
    -----
    The authors' code never takes a step back (the map it would return to is overwritten) and returns the last map
    instead of the best, so that the learning rate decides between a good map and a bad one. It centres vectors only on
    request; centred ones did better on held-out pairs.

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
        "n_neighbours": [AT_LEAST_1],
        "learning_rate": [AUTO, POSITIVE],
        "n_iterations": [COUNT],
        "holdout": [SMALLER_SHARE, None],
        "max_words": MAX_WORDS,
        "max_memory": MEMORY,
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **BaseAligner._fitted_constraints,
        "n_iter_": [COUNT],
        "losses_": "float64 steps",
        "holdout_scores_": "float64 tried",
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

    def _fit_vocabulary(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> None:
        X_s, X_t = self._seed_rows(X, Y)
        words = (
            self.source_preprocess_.transform(X[: self.max_words]),
            self.target_preprocess_.transform(Y[: self.max_words]),
        )
        steps = Steps(progress, 2 * self.n_iterations)
        n_steps = self._best_number_of_steps(X_s, X_t, words, steps)
        steps(self.n_iterations - steps.done)
        loss = RelaxedCSLS(X_s, X_t, *words, self.n_neighbours, self.max_memory)
        losses: list[float] = []
        for W, value in islice(self._descend(loss), n_steps + 1):
            self.map_, self.n_iter_ = W.astype(np.float32), len(losses)
            losses.append(value)
            if self.n_iter_:
                steps()
        self.losses_ = np.array(losses)
        steps.finish()

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
        steps: Steps,
    ) -> int:
        """Return the number of steps with the best score of held-out pairs; all of them if none are held out."""
        held_out, stopping = self._held_out(), EarlyStopping(_PATIENCE)
        self.holdout_scores_ = np.empty(0)
        if not held_out.any():
            return self.n_iterations
        # Translations beyond the first words are candidates too, but none may occur twice.
        gold, max_words = self.pairs_[held_out, 1], len(words[1])
        beyond = gold >= max_words
        keys = np.concatenate([words[1], X_t[held_out][beyond]])
        gold = np.where(beyond, max_words - 1 + np.cumsum(beyond), gold)
        loss = RelaxedCSLS(X_s[~held_out], X_t[~held_out], *words, self.n_neighbours, self.max_memory)
        for W, _ in islice(self._descend(loss), self.n_iterations + 1):
            mapped = X_s[held_out] @ W.astype(np.float32)
            ranks = ranks_of_gold(mapped, keys, np.arange(len(gold)), gold, max_memory=self.max_memory)
            stop = stopping(float(np.mean(1 / ranks)))
            if len(stopping.scores) > 1:
                steps()
            if stop:
                break
        self.holdout_scores_ = np.array(stopping.scores)
        return stopping.best_step

    def _descend(self, loss: RelaxedCSLS) -> Iterator[tuple[NDArray[np.float64], float]]:
        """Yield the Procrustes rotation and the map after each step, with their losses, while the loss falls."""
        W = rotation(cross_products(loss.X_s, loss.X_t))
        value, gradient = loss(W)
        if self.learning_rate == "auto":
            step, wanted = _first_step(W, gradient), _PROMISED
        else:
            step, wanted = float(self.learning_rate), 0.0
        smallest = _SMALLEST_STEP * step
        yield W, value
        while step > smallest and gradient.any():
            tried = self._project(W - step * gradient)
            tried_value, tried_gradient = loss(tried)
            fall, promise = value - tried_value, float(np.sum((W - tried) * gradient))
            if fall <= wanted * promise:
                step /= 2
                continue
            W, value, gradient = tried, tried_value, tried_gradient
            yield W, value

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


class RelaxedCSLS:
    r"""Minus the mean CSLS of seed pairs as a function of W, with dot products in place of cosines.

    With k nearest neighbours N the loss is linear in W wherever N does not change, so that its gradient is

        ∇f = [X_sᵀ(−2 X_t + Ȳ) + X̄ᵀX_t] / c,    f(W) = ⟨∇f, W⟩,

    where Ȳ_i is the mean of the k words of the target vocabulary Y nearest to x_i W, and X̄_i the mean of the k words of
    the source vocabulary X that W brings nearest to y_i.
    """

    def __init__(
        self,
        X_s: NDArray[np.float32],
        X_t: NDArray[np.float32],
        X: NDArray[np.float32],
        Y: NDArray[np.float32],
        k: int,
        max_memory: int | str | None = None,
    ) -> None:
        self.X_s, self.X_t, self._X, self._Y, self._k, self._max_memory = X_s, X_t, X, Y, k, max_memory

    def __call__(self, W: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the loss at W and its gradient."""
        of_sources = self._nearest(matmul_blocks(self.X_s, W), self._Y)
        of_targets = self._nearest(self.X_t, matmul_blocks(self._X, W))
        pull = _mean_of_rows(self._Y, of_sources) - 2 * self.X_t
        gradient = cross_products(self.X_s, pull) + cross_products(_mean_of_rows(self._X, of_targets), self.X_t)
        gradient /= len(self.X_s)
        return float(np.sum(gradient * W)), gradient

    def _nearest(self, queries: NDArray[np.float32], keys: NDArray[np.float32]) -> NDArray[np.int64]:
        return neighbours(queries, keys, self._k, retrieval="dot", max_memory=self._max_memory).indices


def _mean_of_rows(X: NDArray[np.float32], indices: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return, for each row of ``indices``, the mean of these rows of X, without holding them all in memory."""
    total = np.zeros((len(indices), X.shape[1]), dtype=np.float32)
    for column in indices.T:
        total += X[column]
    return total / np.float32(indices.shape[1])
