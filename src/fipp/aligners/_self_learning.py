"""Self-learning: words that choose each other become pairs, and the map is learned again from more of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from fipp.aligners._base import BaseAligner
from fipp.aligners._consistency import SURE, beats_chance, consistency
from fipp.aligners._procrustes import Procrustes
from fipp.aligners._ranking import Ranking
from fipp.aligners._seedless_pairs import by_chance
from fipp.aligners._spectral import Spectral
from fipp.aligners._trust import agreement, confidence
from fipp.aligners._wrapper import WrappingAligner, fit_weighted
from fipp.exceptions import FippWarning, warn
from fipp.linalg import Progress
from fipp.retrieve import mutual_neighbours

# The first round has so many of the words: the rarer they are, the fewer of those that choose each other belong
# together, and it takes a good map to tell which.
_FIRST = 0.6
# From few pairs, their number grows to this in steps in which a rotation is learned, which needs the fewest pairs.
_GROWTH_FROM_FEW = (0.25, 0.42, 0.67)
RANKED_WORDS = 12_000
"""Refinement by ranking looks for hard negatives among so many words."""
# A seed is small if it has fewer pairs than this many times the smaller dimension.
_SMALL_SEED = 2


class SelfLearning(WrappingAligner):
    r"""Any aligner, fitted again with the pairs of words that choose each other under CSLS.

    The mapped vocabularies' most frequent words are paired where each is the other's best by
    CSLS(x, y) = 2 cos(x, y) − r(x) − r(y); the known pairs stay, their words get no others, and the aligner is fitted
    on all. The number of words grows after the first round; from few pairs it starts with a rotation and fewer still.

    Parameters
    ----------
    aligner : aligner, optional
        What is fitted; `Spectral` without it.
    max_words : int, default=20000
        So many of the first words of either side are paired, three fifths of them in the first of several rounds; files
        of vectors begin with the frequent ones.
    n_iterations : int, default=3
        How often.
    learned_weight : float, default=1
        What found pairs count beside known ones in the mean, for aligners that take weights.
    n_neighbours : int, default=10
        Neighbours in r.
    weighting : {"csls", "filter"} or None, default="csls"
        Which pairs count for more, for aligners that take weights. ``"csls"``: found pairs by the square of their rank
        by CSLS, because those that are nearest are right several times as often as the others. ``"filter"``: pairs on
        whose inner products with all others both spaces agree, as in FIPP's rotation; on the vectors that we have it
        did not help. None: all found pairs alike.
    ranking_steps : int, default=0
        After the last round, steps of refinement by `Ranking` of the known pairs and the half of the found ones with
        the higher CSLS, for linear aligners.

    Attributes
    ----------
    aligner_ : aligner
        The last one.
    induced_pairs_ : ndarray of shape (k, 2)
        The pairs found in the last round, which ``aligner_`` was fitted on beside the given ones.
    mean_csls_ : float
        Mean CSLS of the pairs found last. The map was fitted to them, so that it is high even if they are wrong.
    consistency_ : float
        Whether they hold together: mean reciprocal rank, by cosine, of half of them by a map that was learned from the
        other half.
    chance_consistency_ : float
        The same after a start from random pairs; only if ``consistency_`` is below 0.8. Self-learning that is less than
        a fifth of the way from this to 1 has most likely gone astray, and a warning says so.
    pairs_ : ndarray of shape (c, 2)
        The given pairs.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed.head(100), "self-learning", max_words=4000)
    >>> alignment.translate("water", k=1)[0].word
    'eau'
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"learned_weight": (0.1, 0.3, 1.0)}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "aligner": "no_validation",
        "max_words": [Interval(Integral, 1, None, closed="left")],
        "n_iterations": [Interval(Integral, 1, None, closed="left")],
        "learned_weight": [Interval(Real, 0, None, closed="neither")],
        "n_neighbours": [Interval(Integral, 1, None, closed="left")],
        "weighting": [StrOptions({"csls", "filter"}), None],
        "ranking_steps": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        aligner: Any = None,
        *,
        max_words: int = 20_000,
        n_iterations: int = 3,
        learned_weight: float = 1.0,
        n_neighbours: int = 10,
        weighting: Literal["csls", "filter"] | None = "csls",
        ranking_steps: int = 0,
    ) -> None:
        self.aligner = aligner
        self.max_words = max_words
        self.n_iterations = n_iterations
        self.learned_weight = learned_weight
        self.n_neighbours = n_neighbours
        self.weighting = weighting
        self.ranking_steps = ranking_steps

    def _fit_vocabulary(self, X: NDArray, Y: NDArray, progress: Progress | None) -> None:
        aligner = Spectral() if self.aligner is None else self.aligner
        rounds = plan(self.pairs_, X, Y, self.max_words, self.n_iterations)
        learned = learn(
            X,
            Y,
            self.pairs_,
            aligner,
            rounds,
            weight=self.learned_weight,
            n_neighbours=self.n_neighbours,
            weighting=self.weighting,
            progress=progress,
        )
        self.mean_csls_ = learned.mean_csls()
        self.aligner_ = learned.fit(X, Y, self.pairs_, aligner, self.learned_weight, self.weighting)
        if self.ranking_steps:
            (self.aligner_,) = learned.refine(self.aligner_, X, Y, self.pairs_, [self.ranking_steps])
        self._judge(X, Y, aligner, rounds)

    def _judge(self, X: NDArray, Y: NDArray, aligner: BaseAligner, rounds: Sequence[Round]) -> None:
        """Warn if the found pairs hold together hardly better than those found from random ones."""
        with warnings.catch_warnings():
            # Ignore warnings about the smaller seed.
            warnings.simplefilter("ignore", FippWarning)
            self.consistency_ = consistency(X, Y, self.induced_pairs_, aligner, self.max_words)
        if self.consistency_ >= SURE:
            return
        # Without any found pairs there is nothing to compare.
        chance = chance_consistency(X, Y, aligner, rounds) if self.consistency_ else 0.0
        self.chance_consistency_ = chance
        if chance < SURE and not beats_chance(self.consistency_, chance):
            warn(
                f"self-learning from {len(self.pairs_):,} pairs has most likely gone astray: maps learned from half of "
                f"the words that it paired find the other half at a mean reciprocal rank of {self.consistency_:.2f}, "
                f"hardly better than the {chance:.2f} from random pairs. Give more known pairs, and check the result "
                "on pairs held out"
            )


class Round(NamedTuple):
    """One round of self-learning."""

    max_words: int
    rotation: bool
    """Whether only a rotation is learned for it."""


def plan(pairs: NDArray[np.int64], X: NDArray, Y: NDArray, max_words: int, n_iterations: int) -> list[Round]:
    """Return the rounds, with fewer words in the first of several, and more with still fewer if the seed is small.

    Examples
    --------
    >>> X = np.zeros((1000, 3))
    >>> [r.max_words for r in plan(np.zeros((7, 2)), X, X, 500, 3)]
    [300, 500, 500]
    >>> [r.max_words for r in plan(np.zeros((2, 2)), X, X, 500, 3)]
    [75, 126, 201, 300, 500, 500]
    """
    shares = [_FIRST, *[1.0] * (n_iterations - 1)] if n_iterations > 1 else [1.0]
    sizes = [max(1, min(round(share * max_words), max(len(X), len(Y)))) for share in shares]
    small = len(pairs) < _SMALL_SEED * min(X.shape[1], Y.shape[1])
    before = [max(1, round(share * sizes[0])) for share in _GROWTH_FROM_FEW] if small else []
    return [*(Round(size, True) for size in before), *(Round(size, False) for size in sizes)]


class Learned(NamedTuple):
    """Pairs that choose each other."""

    pairs: NDArray[np.int64]
    csls: NDArray[np.float32]

    @classmethod
    def guessed(cls, pairs: NDArray[np.int64]) -> Self:
        """Take pairs found in some other way, none more to be trusted than the others."""
        return cls(pairs, np.zeros(len(pairs), np.float32))

    def trusted(self) -> NDArray[np.int64]:
        """Return the half of the pairs with the higher CSLS."""
        return self.pairs[self.csls > np.median(self.csls)] if len(self.csls) else self.pairs

    def refine(
        self, fitted: BaseAligner, X: NDArray, Y: NDArray, known: NDArray[np.int64], steps: Sequence[int]
    ) -> list[BaseAligner]:
        """Refine a fitted linear aligner by ranking, with the known pairs and the trusted ones of these."""
        pairs = np.concatenate([known, self.trusted()])
        return (
            Ranking(max_words=RANKED_WORDS).refine(fitted, X, Y, pairs, steps) if len(pairs) else [fitted] * len(steps)
        )

    def mean_csls(self) -> float:
        """Return the mean CSLS, 0 if there are no pairs."""
        return float(self.csls.mean(dtype=np.float64)) if len(self.csls) else 0.0

    def fit(
        self,
        X: NDArray,
        Y: NDArray,
        known: NDArray[np.int64],
        aligner: BaseAligner,
        weight: float,
        weighting: Literal["csls", "filter"] | None = "csls",
    ) -> BaseAligner:
        """Fit an aligner on the known pairs and these."""
        pairs = np.concatenate([known, self.pairs])
        trust = confidence(self.csls) if weighting == "csls" else np.ones(len(self.pairs))
        weights = np.concatenate([np.ones(len(known)), weight * trust])
        if weighting == "filter":
            weights *= agreement(X, Y, pairs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FippWarning)
            return fit_weighted(aligner, X, Y, pairs, weights)


def learn_in_rounds(
    X: NDArray,
    Y: NDArray,
    known: NDArray[np.int64],
    aligner: BaseAligner,
    rounds: Sequence[Round],
    *,
    weight: float = 1.0,
    n_neighbours: int = 10,
    weighting: Literal["csls", "filter"] | None = "csls",
    start: Learned | None = None,
    progress: Progress | None = None,
) -> Iterator[Learned]:
    """Find pairs round by round, each with the aligner fitted on those of the round before.

    Parameters
    ----------
    X, Y : ndarray of shape (n, d1), (m, d2)
        Whole vocabularies.
    known : ndarray of shape (c, 2)
        Known pairs, which are kept.
    aligner : aligner
        Fitted in every round that does not ask for a rotation.
    rounds : sequence of Round
    weight : float, default=1.0
        What found pairs count beside known ones in the mean.
    n_neighbours : int, default=10
        Of CSLS.
    weighting : {"csls", "filter"} or None, default="csls"
        Which pairs count for more, see `SelfLearning`.
    start : Learned, optional
        Pairs found in some other way, to begin with.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Yields
    ------
    Learned
        What was found in each round.
    """
    found = start or Learned.guessed(np.empty((0, 2), np.int64))
    for done, current in enumerate(rounds):
        if progress is not None:
            progress(done, len(rounds))
        fitted = found.fit(X, Y, known, Procrustes() if current.rotation else aligner, weight, weighting)
        found = _mutual(fitted, X[: current.max_words], Y[: current.max_words], known, n_neighbours)
        yield found
    if progress is not None:
        progress(len(rounds), len(rounds))


def learn(
    X: NDArray,
    Y: NDArray,
    known: NDArray[np.int64],
    aligner: BaseAligner,
    rounds: Sequence[Round],
    **options: Any,
) -> Learned:
    """Return what `learn_in_rounds` finds in the last round."""
    return list(learn_in_rounds(X, Y, known, aligner, rounds, **options))[-1]


def chance_consistency(
    X: NDArray, Y: NDArray, aligner: BaseAligner, rounds: Sequence[Round], *, progress: Progress | None = None
) -> float:
    """Return the `consistency` of what self-learning finds from random pairs, which chance alone explains.

    Parameters
    ----------
    X, Y : ndarray of shape (n, d1), (m, d2)
        Whole vocabularies.
    aligner : aligner
        Unfitted.
    rounds : sequence of Round
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    float
    """
    nothing = np.empty((0, 2), np.int64)
    with warnings.catch_warnings():
        # Ignore warnings about pairs that are wrong by design.
        warnings.simplefilter("ignore", FippWarning)
        found = learn(X, Y, nothing, aligner, rounds, start=Learned.guessed(by_chance(X, Y)), progress=progress)
        return consistency(X, Y, found.pairs, aligner, rounds[-1].max_words)


def _mutual(fitted: BaseAligner, X: NDArray, Y: NDArray, known: NDArray[np.int64], n_neighbours: int) -> Learned:
    """Pair the words that choose each other, without those that have a known partner."""
    A, B = fitted.transform(X), fitted.transform_target(Y)
    found = mutual_neighbours(A, B, retrieval="csls", n_neighbours=n_neighbours)
    fresh = ~np.isin(found.pairs[:, 0], known[:, 0]) & ~np.isin(found.pairs[:, 1], known[:, 1])
    return Learned(found.pairs[fresh], found.scores[fresh])
