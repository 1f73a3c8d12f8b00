"""Refinement by ranking: known pairs nearer to each other than the words that get in between."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from fipp.aligners._base import BaseAligner
from fipp.aligners._holdout import EarlyStopping, enough_parts
from fipp.aligners._ranking_descent import Descent, Loss, Words
from fipp.aligners._ranking_loss import contrastive, relaxed_csls
from fipp.aligners._spectral import Spectral
from fipp.aligners._wrapper import WrappingAligner
from fipp.exceptions import FippError, FippWarning
from fipp.linalg import Progress, matmul_blocks, unit_rows
from fipp.retrieve import best_reciprocal_ranks

# With fewer source words too few can be held out to tell a gain from chance.
_FEWEST_TO_CHOOSE = 50
# Held-out words are looked up among so many of the first target words, and their own translations.
_CANDIDATES = 50_000
# Steps without a better held-out score after which no better one is expected.
_PATIENCE = 3


class Ranking(WrappingAligner):
    r"""Any linear aligner, its maps refined so that known pairs rank before the words that get in between.

    .. math:: \min_{P, Q} \ \tfrac12 \sum_{(i, j)} -\log \frac{e^{\cos(z_i P,\, t_j Q) / τ}}
              {\sum_m e^{\cos(z_i P,\, t_m Q) / τ}} - \log \frac{e^{\cos(z_i P,\, t_j Q) / τ}}
              {\sum_m e^{\cos(z_m P,\, t_j Q) / τ}}

    over the known pairs, z and t being both sides as the aligner maps them. m runs over the words of all pairs and over
    hard negatives: the nearest of the frequent words, found again every few steps. ``loss="rcsls"`` minimises minus the
    mean CSLS of the pairs instead: −2 cos(z_i P, t_j Q) plus the mean cosines of z_i P and t_j Q with the words nearest
    to them. P and Q begin as the identity, and a few steps along the gradient are all that helps: how many, pairs held
    out from the seed tell by their mean reciprocal rank. A gain within a standard error counts for none, and then no
    step is taken.

    Parameters
    ----------
    aligner : aligner, optional
        What is refined; `Spectral` without it.
    loss : {"contrastive", "rcsls"}, default="rcsls"
        What is minimised.
    target : {"mapped", "fixed"}, default="mapped"
        Whether the target is mapped by Q, or left as the aligner has it.
    learning_rate : float, default=0.02
        Length of the first step, relative to that of P and Q as they begin; the others are as long as their gradients
        are relative to the first.
    n_steps : int, default=20
        Number of steps, at most.
    temperature : float, default=0.05
        τ: the lower, the more the nearest of the wrong words count. Not used by ``"rcsls"``.
    n_neighbours : int, default=10
        The nearest words that each word of a pair is ranked against.
    max_words : int, default=20000
        They are looked for among so many of the first words of either side.
    holdout : float or None, default=0.2
        Share of the source words that is held out to count the steps; as many such shares in turn as make 400 words.
        None takes all ``n_steps``.
    random_state : int, default=0
        Which words are held out, and which of more than 5,000 pairs a step looks at.

    Attributes
    ----------
    aligner_ : aligner
        The one that is refined, with P and Q in its maps.
    n_steps_ : int
        Number of steps.
    validation_scores_ : ndarray
        Mean reciprocal rank of the held-out words before the first step and after each; empty without them.
    losses_ : ndarray of shape (n_steps_,)
        The loss before each step.
    pairs_ : ndarray of shape (c, 2)
        The known pairs.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed.head(400), "ranking", n_steps=5, max_words=3000)
    >>> alignment.translate("water", k=1)[0].word
    'eau'
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"loss": ("contrastive", "rcsls")}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "aligner": "no_validation",
        "loss": [StrOptions({"contrastive", "rcsls"})],
        "target": [StrOptions({"mapped", "fixed"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "n_steps": [Interval(Integral, 0, None, closed="left")],
        "temperature": [Interval(Real, 0, None, closed="neither")],
        "n_neighbours": [Interval(Integral, 1, None, closed="left")],
        "max_words": [Interval(Integral, 1, None, closed="left")],
        "holdout": [Interval(Real, 0, 0.5, closed="right"), None],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        aligner: Any = None,
        *,
        loss: Literal["contrastive", "rcsls"] = "rcsls",
        target: Literal["mapped", "fixed"] = "mapped",
        learning_rate: float = 0.02,
        n_steps: int = 20,
        temperature: float = 0.05,
        n_neighbours: int = 10,
        max_words: int = 20_000,
        holdout: float | None = 0.2,
        random_state: int = 0,
    ) -> None:
        self.aligner = aligner
        self.loss = loss
        self.target = target
        self.learning_rate = learning_rate
        self.n_steps = n_steps
        self.temperature = temperature
        self.n_neighbours = n_neighbours
        self.max_words = max_words
        self.holdout = holdout
        self.random_state = random_state

    def _fit_vocabulary(self, X: NDArray, Y: NDArray, progress: Progress | None) -> None:
        def tick(steps: int) -> None:
            if progress is not None:
                progress(steps, 2 * self.n_steps + 1)

        self.n_steps_ = self._best_number_of_steps(X, Y, tick)
        self.aligner_ = self._start(X, Y, self.pairs_)
        tick(self.n_steps + 1)
        descent = self._descent(self.aligner_, X, Y, self.pairs_)
        for step in range(self.n_steps_):
            descent.step()
            tick(self.n_steps + 1 + step)
        self.losses_ = np.array(descent.losses)
        if self.n_steps_:
            _fold(self.aligner_, descent.P, descent.Q if self.target == "mapped" else None)
        tick(2 * self.n_steps + 1)

    def refine(
        self, fitted: BaseAligner, X: NDArray, Y: NDArray, pairs: NDArray[np.int64], steps: Sequence[int]
    ) -> list[BaseAligner]:
        """Return a fitted linear aligner as it is after each of several numbers of steps; it stays as it is itself."""
        descent = self._descent(fitted, X, Y, pairs)
        refined = []
        for step in range(1, max(steps) + 1):
            descent.step()
            if step in steps:
                refined.append(deepcopy(fitted))
                _fold(refined[-1], descent.P, descent.Q if self.target == "mapped" else None)
        return refined

    def _start(self, X: NDArray, Y: NDArray, pairs: NDArray[np.int64]) -> BaseAligner:
        aligner: BaseAligner = Spectral() if self.aligner is None else clone(self.aligner)
        return aligner.fit(X, Y, pairs)

    def _descent(self, start: BaseAligner, X: NDArray, Y: NDArray, pairs: NDArray[np.int64]) -> Descent:
        _last_map(start)
        (rows_s, place_s), (rows_t, place_t) = (
            self._listed(len(side), known) for side, known in zip((X, Y), pairs.T, strict=True)
        )
        words = Words(
            unit_rows(start.transform(X[rows_s])),
            unit_rows(start.transform_target(Y[rows_t])),
            self.max_words,
            np.stack([place_s, place_t], axis=1),
        )
        rng = np.random.default_rng(self.random_state)
        return Descent(words, self._loss(), self.n_neighbours, self.learning_rate, self.target == "mapped", rng)

    def _loss(self) -> Loss:
        return relaxed_csls if self.loss == "rcsls" else partial(contrastive, temperature=self.temperature)

    def _listed(self, n: int, known: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """List the rows of frequent words and of others that are known; give also the places of the known ones."""
        return first_and(known, min(n, self.max_words))

    def _best_number_of_steps(self, X: NDArray, Y: NDArray, tick: Any) -> int:
        self.validation_scores_ = np.empty(0)
        if self.holdout is None or self.n_steps == 0:
            return self.n_steps
        if len(np.unique(self.pairs_[:, 0])) < _FEWEST_TO_CHOOSE:
            return 0
        parts = enough_parts(self.pairs_[:, 0], self.holdout, self.random_state)
        with warnings.catch_warnings():
            # Of fewer pairs than are given.
            warnings.simplefilter("ignore", FippWarning)
            trials = [_Trial(self, X, Y, self.pairs_[~part], self.pairs_[part]) for part in parts]
        ranks, stopping = [np.concatenate([trial.ranks() for trial in trials])], EarlyStopping(_PATIENCE)
        # Rounded, so that equals are equal.
        while not stopping(round(float(ranks[-1].mean()), 12)) and len(ranks) <= self.n_steps:
            for trial in trials:
                trial.descent.step()
            ranks.append(np.concatenate([trial.ranks() for trial in trials]))
            tick(len(ranks) - 1)
        self.validation_scores_ = np.mean(ranks, axis=1)
        gain = ranks[stopping.best_step] - ranks[0]
        return stopping.best_step if gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)) else 0


class _Trial:
    """The descent from a part of the pairs, and how well it does on the others."""

    def __init__(
        self, ranking: Ranking, X: NDArray, Y: NDArray, known: NDArray[np.int64], held_out: NDArray[np.int64]
    ) -> None:
        start = ranking._start(X, Y, known)
        self.descent = ranking._descent(start, X, Y, known)
        words, self._asked = np.unique(held_out[:, 0], return_inverse=True)
        candidates, self._gold = first_and(held_out[:, 1], min(len(Y), _CANDIDATES))
        self._queries, self._keys = start.transform(X[words]), start.transform_target(Y[candidates])

    def ranks(self) -> NDArray[np.float64]:
        """Return 1 / rank of the best translation of each held-out word."""
        queries, keys = matmul_blocks(self._queries, self.descent.P), matmul_blocks(self._keys, self.descent.Q)
        return best_reciprocal_ranks(queries, keys, self._asked, self._gold)[0]


def first_and(rows: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the first n row numbers and those of ``rows`` beyond them; give also the places of ``rows`` in the list.

    Examples
    --------
    >>> first_and(np.array([9, 1, 5, 9]), 3)
    (array([0, 1, 2, 5, 9]), array([4, 1, 3, 4]))
    """
    listed = np.union1d(np.arange(n), rows)
    return listed, np.searchsorted(listed, rows)


def _last_map(aligner: BaseAligner) -> BaseAligner:
    """Return the aligner that has the map: this one, or the one that it wraps."""
    while isinstance(aligner, WrappingAligner) and aligner.linear:
        aligner = aligner.aligner_
    if not aligner.linear:
        raise FippError(
            f"ranking refines linear maps, and that of {type(aligner).__name__} is none: take another aligner, or "
            f"{type(aligner).__name__} around ranking if it wraps an aligner"
        )
    return aligner


def _fold(aligner: BaseAligner, P: NDArray[np.float64], Q: NDArray[np.float64] | None) -> None:
    """Multiply the maps of a fitted aligner by P and Q."""
    last = _last_map(aligner)
    last.map_ = matmul_blocks(last.map_, P)
    if last.offset_ is not None:
        last.offset_ = matmul_blocks(last.offset_[None], P)[0]
    if Q is None:
        return
    last.target_map_ = Q.astype(np.float32) if last.target_map_ is None else matmul_blocks(last.target_map_, Q)
    if last.target_offset_ is not None:
        last.target_offset_ = matmul_blocks(last.target_offset_[None], Q)[0]
