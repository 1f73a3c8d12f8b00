"""Self-learning: words that choose each other become pairs, and the map is learned again from more of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.utils._param_validation import StrOptions

from fipp._progress import Progress, Steps
from fipp.aligners._base import NO_PAIRS, BaseAligner
from fipp.aligners._consistency import SURE, TELLING, beats_chance, consistency
from fipp.aligners._constraints import AT_LEAST_1, COUNT, POSITIVE, SHARE
from fipp.aligners._procrustes import Procrustes
from fipp.aligners._ranking import Ranking
from fipp.aligners._wrapper import WrappingAligner
from fipp.exceptions import FippWarning, warn
from fipp.retrieve import mutual_neighbours

# Share of the words that the first round pairs: the rarer they are, the fewer of those that choose each other belong
# together, and it takes a good map to tell which.
_FIRST = 0.6
# From few pairs, the number of words grows to this share in rounds that learn a rotation, which needs the fewest pairs.
_GROWTH_FROM_FEW = (0.25, 0.42, 0.67)
# A seed is small if it has fewer pairs than this many times the smaller dimension.
_SMALL_SEED = 2
# Guesses must lead to pairs that hold together better by this than those from the known pairs. Starts that both work
# differ by less than this by chance; next to one that works, one that does not is behind by much more.
_BETTER_START = 0.05
# Words of either side that are paired at random to see what chance would find.
_CHANCE_WORDS = 4000
RANKED_WORDS = 20_000
"""Refinement by ranking looks for hard negatives among this many words."""

Starts = Mapping[str, Callable[[], NDArray[np.int64]]]
"""How to find the first pairs, for each name of a start."""


class SelfLearning(WrappingAligner):
    r"""Any aligner, fitted again with the pairs of words that choose each other under CSLS.

    The most frequent words of the mapped vocabularies are paired where each is the other's best match by
    CSLS(x, y) = 2 cos(x, y) − r(x) − r(y). The known pairs stay, their words get no other partners, and the aligner is
    fitted on all pairs. The number of words grows after the first round; from few pairs, it starts with a rotation and
    with fewer words still.

    Parameters
    ----------
    aligner : aligner, optional
        The aligner to fit; `Spectral` by default.
    max_words : int, default=30000
        How many of the first words of either side are paired, three fifths of them in the first of several rounds;
        vectors are expected in order of frequency.
    n_iterations : int, default=3
        Number of rounds.
    learned_weight : float, default=1
        Mean weight of found pairs relative to known ones, for aligners that take weights.
    n_neighbours : int, default=10
        Neighbours in r.
    weighting : {"csls", None}, default="csls"
        How found pairs are weighted, for aligners that take weights. ``"csls"``: by the square of their rank by CSLS,
        because the nearest pairs are right several times as often as the others. None: all alike.
    ranking_steps : int, default=0
        Steps of refinement by `Ranking` after the last round, on the known pairs and the half of the found ones with
        the higher CSLS, for linear aligners.

    Attributes
    ----------
    aligner_ : aligner
        The last aligner.
    induced_pairs_ : ndarray of shape (k, 2)
        The pairs found in the last round, on which ``aligner_`` was fitted together with the given ones.
    start_ : str
        What the first round learned from: ``"pairs"``, or the name of the guesses that were tried beside them.
    mean_csls_ : float
        Mean CSLS of these pairs. The map was fitted to them, so that it is high even if they are wrong.
    consistency_ : float
        Whether they hold together: the mean reciprocal rank, by cosine, of half of them under a map learned from the
        other half.
    chance_consistency_ : float
        The same after a start from random pairs; only if ``consistency_`` is below 0.8. Self-learning that is less than
        a fifth of the way from this to 1 has most likely gone astray, and a warning says so.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed.head(100), "self-learning", max_words=4000)
    >>> alignment.translate("water", k=1)[0].word
    'eau'
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"learned_weight": (0.1, 0.3, 1.0)}

    _starts: Starts = MappingProxyType({})
    _guessing: BaseAligner | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_words": [AT_LEAST_1],
        "n_iterations": [AT_LEAST_1],
        "learned_weight": [POSITIVE],
        "n_neighbours": [AT_LEAST_1],
        "weighting": [StrOptions({"csls"}), None],
        "ranking_steps": [COUNT],
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **WrappingAligner._fitted_constraints,
        "start_": [str],
        "mean_csls_": [Real],
        "consistency_": [SHARE],
        "chance_consistency_?": [SHARE],
    }

    def __init__(
        self,
        aligner: Any = None,
        *,
        max_words: int = 30_000,
        n_iterations: int = 3,
        learned_weight: float = 1.0,
        n_neighbours: int = 10,
        weighting: Literal["csls"] | None = "csls",
        ranking_steps: int = 0,
    ) -> None:
        self.aligner = aligner
        self.max_words = max_words
        self.n_iterations = n_iterations
        self.learned_weight = learned_weight
        self.n_neighbours = n_neighbours
        self.weighting = weighting
        self.ranking_steps = ranking_steps

    def trying(self, aligner: BaseAligner, **starts: Callable[[], NDArray[np.int64]]) -> Self:
        """Return this aligner, whose next fit also tries guesses beside the known pairs if these may not be enough.

        In the rounds that begin with guesses, ``aligner`` is fitted. Guesses are forgotten unless they are found again.
        ``start_`` will be the name of the start that was taken.
        """
        self._guessing, self._starts = aligner, starts
        return self

    def _fit_vocabulary(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> None:
        aligner = self._inner()
        learner = Learner(X, Y, self.pairs_, aligner, self.learned_weight, self.weighting, self.n_neighbours)
        rounds = plan(self.pairs_, X, Y, self.max_words, self.n_iterations)
        starts, self._starts = {"pairs": lambda: NO_PAIRS, **self._starts}, {}
        found = self._best_found(learner, rounds, starts, Steps(progress, len(starts)))
        self._guessing = None
        self.mean_csls_ = found.mean_csls()
        self.aligner_ = learner.fit(found)
        if self.ranking_steps:
            (self.aligner_,) = learner.refine(self.aligner_, found, [self.ranking_steps])
        if self.consistency_ < SURE and self.chance_consistency_ < TELLING and not self._beats_chance:
            warn(
                f"self-learning from {len(self.pairs_):,} pairs has most likely gone astray: maps learned from half of "
                f"the words that it paired find the other half at a mean reciprocal rank of {self.consistency_:.2f}, "
                f"hardly better than the {self.chance_consistency_:.2f} from random pairs. Give more known pairs, and "
                "check the result on held-out pairs"
            )

    def _best_found(self, learner: Learner, rounds: Sequence[Round], starts: Starts, steps: Steps) -> FoundPairs:
        """Return the pairs found from the known pairs alone, or those from another start that hold together better.

        Further starts are tried while the pairs are not sure to be right, the last one only if chance explains them.
        """
        X, Y, aligner = learner.X, learner.Y, learner.aligner
        best, self.consistency_ = FoundPairs.guessed(), -1.0
        for number, (name, find) in enumerate(starts.items()):
            part = steps.part()
            if self.consistency_ >= SURE or (number > 1 and self._beats_chance):
                continue
            trying = replace(learner, aligner=self._guessing) if number and self._guessing else learner
            found = trying.learn(rounds, start=FoundPairs.guessed(find()), progress=part)
            with warnings.catch_warnings(action="ignore", category=FippWarning):
                # Ignore warnings about the smaller seed.
                holds = consistency(X, Y, found.pairs, aligner, self.max_words)
            if holds > self.consistency_ + (_BETTER_START if number else 0):
                best, self.consistency_, self.start_ = found, holds, name
            if self.consistency_ < SURE and number == min(1, len(starts) - 1):
                # Without any found pairs there is nothing to compare.
                self.chance_consistency_ = chance_consistency(X, Y, aligner, rounds) if self.consistency_ else 0.0
        return best

    @property
    def _beats_chance(self) -> bool:
        return beats_chance(self.consistency_, self.chance_consistency_)


class Round(NamedTuple):
    """One round of self-learning, for which possibly only a rotation is learned."""

    max_words: int
    rotation: bool


def plan(pairs: NDArray[np.int64], X: NDArray[Any], Y: NDArray[Any], max_words: int, n_iterations: int) -> list[Round]:
    """Return the rounds, with fewer words in the first of several; a small seed adds rounds with fewer words still.

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


class FoundPairs(NamedTuple):
    """Pairs of words that choose each other."""

    pairs: NDArray[np.int64]
    csls: NDArray[np.float32]

    @classmethod
    def guessed(cls, pairs: NDArray[np.int64] = NO_PAIRS) -> Self:
        """Take pairs found in some other way, or none, none more trusted than the others."""
        return cls(pairs, np.zeros(len(pairs), np.float32))

    def trusted(self) -> NDArray[np.int64]:
        """Return the half of the pairs with the higher CSLS."""
        return self.pairs[self.csls > np.median(self.csls)] if len(self.csls) else self.pairs

    def mean_csls(self) -> float:
        """Return the mean CSLS, 0 if there are no pairs."""
        return float(self.csls.mean(dtype=np.float64)) if len(self.csls) else 0.0


@dataclass(frozen=True)
class Learner:
    """An aligner that learns from known pairs of two vocabularies and from pairs that it finds itself.

    ``weight``, ``weighting`` and ``n_neighbours`` are those of `SelfLearning`.
    """

    X: NDArray[Any]
    Y: NDArray[Any]
    known: NDArray[np.int64]
    aligner: BaseAligner
    weight: float = 1.0
    weighting: Literal["csls"] | None = "csls"
    n_neighbours: int = 10

    def rounds(
        self, rounds: Sequence[Round], *, start: FoundPairs | None = None, progress: Progress | None = None
    ) -> Iterator[FoundPairs]:
        """Yield the pairs found in each round, with the aligner fitted on those of the previous round or the start."""
        found, steps = start or FoundPairs.guessed(), Steps(progress, len(rounds))
        steps(0)
        for current in rounds:
            # Without known pairs, a round that finds nothing leaves nothing to learn from.
            if len(self.known) or len(found.pairs):
                fitted = self.fit(found, Procrustes() if current.rotation else None)
                found = self._find(fitted, current.max_words)
            steps()
            yield found

    def learn(self, rounds: Sequence[Round], **options: Any) -> FoundPairs:
        """Return the pairs found in the last of several rounds."""
        return list(self.rounds(rounds, **options))[-1]

    def fit(self, found: FoundPairs, aligner: BaseAligner | None = None) -> BaseAligner:
        """Fit the aligner, or another one, on the known pairs and the found ones."""
        pairs = np.concatenate([self.known, found.pairs])
        trust = confidence(found.csls) if self.weighting == "csls" else np.ones(len(found.pairs))
        weights = np.concatenate([np.ones(len(self.known)), self.weight * trust])
        with warnings.catch_warnings(action="ignore", category=FippWarning):
            chosen = clone(aligner or self.aligner)
            options = {"sample_weight": weights} if chosen.takes_weights else {}
            return chosen.fit(self.X, self.Y, pairs, **options)

    def refine(self, fitted: BaseAligner, found: FoundPairs, steps: Sequence[int]) -> list[BaseAligner]:
        """Refine a fitted linear aligner by ranking, on the known pairs and the trusted half of the found ones."""
        pairs = np.concatenate([self.known, found.trusted()])
        if not len(pairs):
            return [fitted] * len(steps)
        return Ranking(max_words=RANKED_WORDS).refine(fitted, self.X, self.Y, pairs, steps)

    def _find(self, fitted: BaseAligner, max_words: int) -> FoundPairs:
        """Pair the words that choose each other, without those that have a known partner."""
        A, B = fitted.transform(self.X[:max_words]), fitted.transform_target(self.Y[:max_words])
        found = mutual_neighbours(A, B, retrieval="csls", n_neighbours=self.n_neighbours)
        fresh = ~np.isin(found.pairs[:, 0], self.known[:, 0]) & ~np.isin(found.pairs[:, 1], self.known[:, 1])
        return FoundPairs(found.pairs[fresh], found.scores[fresh])


def confidence(csls: NDArray[Any]) -> NDArray[np.float64]:
    """Return how far each found pair can be trusted, the square of its rank by CSLS, scaled to a mean of 1.

    Of the words that choose each other, the nearest are translations several times as often as the others.

    Examples
    --------
    >>> confidence(np.array([0.4, -0.2, 0.1, 0.1])).round(2)
    array([2.17, 0.14, 0.85, 0.85])
    """
    squares = rankdata(csls).astype(np.float64) ** 2
    return squares / squares.mean() if len(squares) else squares


def chance_consistency(
    X: NDArray[Any], Y: NDArray[Any], aligner: BaseAligner, rounds: Sequence[Round], *, progress: Progress | None = None
) -> float:
    """Return the `consistency` of the pairs that self-learning finds from random ones, where only chance is at work."""
    learner = Learner(X, Y, NO_PAIRS, aligner)
    with warnings.catch_warnings(action="ignore", category=FippWarning):
        # Ignore warnings about pairs that mean nothing.
        found = learner.learn(rounds, start=FoundPairs.guessed(random_pairs(X, Y)), progress=progress)
        return consistency(X, Y, found.pairs, aligner, rounds[-1].max_words)


def random_pairs(X: NDArray[Any], Y: NDArray[Any], random_state: int = 0) -> NDArray[np.int64]:
    """Pair the first words of either side at random."""
    max_words = min(_CHANCE_WORDS, len(X), len(Y))
    return np.stack([np.arange(max_words), np.random.default_rng(random_state).permutation(max_words)], axis=1)
