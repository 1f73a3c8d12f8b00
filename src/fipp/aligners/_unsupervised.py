"""Alignment without any known pairs, which says when it has failed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from fipp._deadline import Deadline
from fipp._progress import Progress, Steps
from fipp.aligners._base import NO_PAIRS, LearnsFrom, rows_with_vectors
from fipp.aligners._consistency import MARGIN, beats_chance, consistency, required
from fipp.aligners._constraints import AT_LEAST_1, COUNT, NOT_NEGATIVE, SHARE
from fipp.aligners._csls_induction import from_similarity_distributions
from fipp.aligners._self_learning import FoundPairs, Learner, Round, Starts, chance_consistency, plan
from fipp.aligners._spectral import Spectral
from fipp.aligners._wrapper import WrappingAligner
from fipp.aligners.published._gwa import GromovWasserstein
from fipp.exceptions import FippError, FippWarning, warn
from fipp.io import Each
from fipp.preprocess import make_preprocess

# From fewer guesses, self-learning finds nothing.
_FEWEST_GUESSES = 10
# Words of either side whose similarities to each other are compared, as VecMap does.
_COMPARED_WORDS = 4000
# Words of either side that are coupled; the time grows with the square of their number.
_COUPLED_WORDS = 1000
_COUPLING = "gromov-wasserstein"
_DESCRIBED = {
    "spelling": "{:,} pairs of words spelled alike",
    "similarities": "words with similar similarities to others",
    _COUPLING: "words that a Gromov-Wasserstein coupling brings together",
}

# Of the margin, what the consistency must be above chance where chance is nearly 1. Between unrelated clouds of 6 to 20
# dimensions, where chance is at 0.7 to 0.9, 24 starts came up to 0.08 above it.
_LEAST = 0.5

FROM_GUESSES = Spectral(reweight=1.0)
"""Self-learning fits this while it begins with guesses: weights that trust the found pairs less than the likelihood."""


class Unsupervised(WrappingAligner):
    """Self-learning without known pairs, which gives an error instead of a wrong map.

    The first pairs are guesses: words spelled alike, numerals and cognates, which `fipp.align` looks for and ``fit``
    takes; words with similar distributions of similarities to other words (Artetxe et al., 2018); or words that a
    Gromov-Wasserstein coupling brings together. Such pairs, most of them wrong, start `SelfLearning` over a growing
    vocabulary; afterwards they are forgotten unless it finds them again.

    The result is either right or worthless, and the found pairs alone show which: a map learned from half of them must
    find the other half clearly better than after a start from random pairs. Otherwise, the method raises an error.

    Parameters
    ----------
    aligner : aligner, optional
        The aligner to fit in self-learning; `Spectral` by default.
    start : {"auto", "spelling", "similarities", "gromov-wasserstein"}, default="auto"
        The first pairs: the guesses, distributions of similarities, or a coupling, which needs POT (``pip install
        'fipp[ot]'``). ``"auto"`` tries the guesses, if there are enough, and the similarities; then a coupling, if both
        have failed and POT is installed. The pairs that hold together best are taken.
    max_words : int, default=30000
        How many of the first words of either side are paired in the end; three fifths of them while starts are
        compared.
    n_iterations : int, default=4
        Rounds before starts are compared, after those with a growing vocabulary; two more with all words follow.
    margin : float, default=0.2
        How far from ``chance_consistency_``, 0, to certainty, 1, ``consistency_`` must be. It must also be above chance
        by half of this.
    ranking_steps : int, default=3
        Steps of refinement by `Ranking` at the end, on the half of the found pairs with the higher CSLS, for linear
        aligners.
    deadline : float, optional
        Seconds after which no further start is tried. A warning says which were left out; another run may then take
        another start. By default, the result does not depend on time.

    Attributes
    ----------
    aligner_ : aligner
        The last aligner.
    start_ : str
        The start that was taken.
    n_guesses_ : int
        Number of guesses.
    starts_ : list of dict
        The starts that were tried, with their numbers of pairs and their consistencies.
    skipped_ : list of dict
        The starts that a ``deadline`` left out.
    induced_pairs_ : ndarray of shape (k, 2)
        The pairs found in the last round, on which ``aligner_`` was fitted.
    consistency_ : float
        Mean reciprocal rank of half of the found pairs under a map that was learned from the other half.
    chance_consistency_ : float
        The same after a start from random pairs.

    Examples
    --------
    >>> import fipp
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> centres = rng.standard_normal((12, 10))
    >>> X = centres[rng.integers(12, size=800)] + 0.6 * rng.standard_normal((800, 10))
    >>> turn = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    >>> aligner = fipp.Unsupervised().fit(X, X @ turn)
    >>> aligner.start_, round(aligner.score(X, X @ turn), 2)
    ('similarities', 1.0)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "start": [StrOptions({"auto", "spelling", "similarities", "gromov-wasserstein"})],
        "max_words": [AT_LEAST_1],
        "n_iterations": [AT_LEAST_1],
        "margin": [SHARE],
        "ranking_steps": [COUNT],
        "deadline": [NOT_NEGATIVE, None],
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **WrappingAligner._fitted_constraints,
        "start_": [StrOptions(set(_DESCRIBED))],
        "n_guesses_": [COUNT],
        "starts_": Each({"start": [str], "pairs": [COUNT], "consistency": [Real]}),
        "skipped_": Each({"start": [str], "by": [StrOptions({"deadline"})]}),
        "consistency_": [SHARE],
        "chance_consistency_": [SHARE],
    }

    def __init__(
        self,
        aligner: Any = None,
        *,
        start: Literal["auto", "spelling", "similarities", "gromov-wasserstein"] = "auto",
        max_words: int = 30_000,
        n_iterations: int = 4,
        margin: float = MARGIN,
        ranking_steps: int = 3,
        deadline: float | None = None,
    ) -> None:
        self.aligner = aligner
        self.start = start
        self.max_words = max_words
        self.n_iterations = n_iterations
        self.margin = margin
        self.ranking_steps = ranking_steps
        self.deadline = deadline

    @property
    def learns_from(self) -> LearnsFrom:
        """What the method learns from: words spelled alike, if there are any. Given pairs are guesses."""
        return "spelling"

    def describe(self) -> str:
        """Return a description of the start that was taken."""
        check_is_fitted(self)
        return _DESCRIBED[self.start_].format(self.n_guesses_)

    def _fit_vocabulary(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> None:
        rows, target_rows = rows_with_vectors(X, "source"), rows_with_vectors(Y, "target")
        _check_differences(X[rows[0]], (X[row] for row in rows), "source")
        _check_differences(Y[target_rows[0]], (Y[row] for row in target_rows), "target")
        aligner, last = (FROM_GUESSES, Spectral()) if self.aligner is None else (self.aligner, self.aligner)
        learner = Learner(X, Y, self.pairs_, aligner)
        *growing, first, larger = plan(self.pairs_, X, Y, self.max_words, 2)
        guesses = NO_PAIRS if self._guesses is None else self._guesses
        self.n_guesses_ = len(guesses)
        starts = self._starts(X, Y, guesses)
        steps = Steps(progress, len(starts) + 1)
        best = self._best_start(learner, starts, [*growing, *[first] * self.n_iterations], steps)
        self.start_, self.consistency_ = best.start, best.consistency
        steps.stage("more words")
        found = learner.learn([larger, larger], start=best.found)
        self.aligner_ = learner.fit(found, last)
        if self.aligner_.linear and self.ranking_steps:
            (self.aligner_,) = learner.refine(self.aligner_, found, [self.ranking_steps])
        steps.finish()
        if self.skipped_:
            warn(self._left_out())

    def _best_start(self, learner: Learner, starts: Starts, rounds: Sequence[Round], steps: Steps) -> StartScore:
        """Try the starts, and return the one whose pairs hold together best; an error if none hold together."""
        X, Y, aligner = learner.X, learner.Y, learner.aligner
        deadline = Deadline(self.deadline)
        steps.stage("what chance explains")
        self.chance_consistency_ = chance_consistency(X, Y, aligner, rounds, progress=steps.part())

        def works(start: StartScore) -> bool:
            return beats_chance(start.consistency, self.chance_consistency_, self.margin, _LEAST * self.margin)

        tried: list[StartScore] = []
        self.skipped_ = []
        for name, find in starts.items():
            steps.stage(f"start from {name}")
            part = steps.part()
            if name == _COUPLING and any(works(other) for other in tried):
                continue
            if tried and deadline.passed:
                self.skipped_.append({"start": name, "by": "deadline"})
                continue
            start = found = FoundPairs.guessed(find())
            if len(start.pairs):
                found = learner.learn(rounds, start=start, progress=part)
            holds = consistency(X, Y, found.pairs, aligner, rounds[-1].max_words)
            tried.append(StartScore(name, len(start.pairs), holds, found))
        self.starts_ = [each.as_dict() for each in tried]
        best = max(tried, key=lambda each: each.consistency)
        if not works(best):
            failure = _failure(tried, self.chance_consistency_, self.margin, self.n_guesses_)
            raise FippError(f"{failure}. {self._left_out()}" if self.skipped_ else failure)
        return best

    def _left_out(self) -> str:
        names = ", ".join(each["start"] for each in self.skipped_)
        return (
            f"The deadline of {self.deadline:g} seconds had passed before {names} could be tried for a start; another "
            "run may take another one"
        )

    def _starts(self, X: NDArray[Any], Y: NDArray[Any], guesses: NDArray[np.int64]) -> Starts:
        """Return the starts to try, those that take the longest last."""
        starts: dict[str, Callable[[], NDArray[np.int64]]] = {
            "spelling": lambda: guesses,
            "similarities": lambda: by_similarities(X, Y),
            _COUPLING: lambda: by_coupling(X, Y),
        }
        if self.start == "spelling" and not len(guesses):
            raise FippError("start='spelling' needs guesses, and there are none: no words are spelled alike")
        if self.start != "auto":
            return {self.start: starts[self.start]}
        if len(guesses) < _FEWEST_GUESSES:
            del starts["spelling"]
        if not can_couple():
            del starts[_COUPLING]
        return starts


class StartScore(NamedTuple):
    """A start, and how well the pairs found from it hold together."""

    start: str
    n_pairs: int
    consistency: float
    found: FoundPairs

    def as_dict(self) -> dict[str, Any]:
        return {"start": self.start, "pairs": self.n_pairs, "consistency": round(self.consistency, 6)}


def _check_differences(first: NDArray[Any], vectors: Iterable[NDArray[Any]], side: Literal["source", "target"]) -> None:
    """Refuse vectors that are all the same: preprocessing leaves only rounding errors of them, which say nothing."""
    if not any((vector != first).any() for vector in vectors):
        raise FippError(
            f"the alignment without known pairs has failed: there is only one {side} vector, which every word has. "
            "Check the vectors"
        )


def _failure(tried: Sequence[StartScore], chance: float, margin: float, n_guesses: int) -> str:
    if not any(len(each.found.pairs) for each in tried):
        return (
            "the alignment without known pairs has failed: it found no two words that are each other's nearest, as "
            "happens if all vectors of a side are the same or if there are hardly any. Check the vectors"
        )
    figures = ", ".join(f"{each.consistency:.2f} from {_DESCRIBED[each.start].format(each.n_pairs)}" for each in tried)
    if n_guesses < _FEWEST_GUESSES:
        reason = f"Hardly any words are spelled alike ({n_guesses}), and the languages"
    else:
        reason = "Most words that are spelled alike seem not to belong together, and the languages"
    return (
        "the alignment without known pairs has failed: maps learned from half of the words that it paired find the "
        f"other half at a mean reciprocal rank of {figures}; it should be at least "
        f"{required(chance, margin, _LEAST * margin):.2f}, because random pairs lead to {chance:.2f}. {reason} or the "
        "texts behind the vectors differ too much, or words are not in order of frequency. Give known pairs; a hundred "
        "may be enough (fipp lexicon cldr makes some for many languages)"
    )


def by_similarities(X: NDArray[Any], Y: NDArray[Any]) -> NDArray[np.int64]:
    """Pair words whose similarities to the other words of their language are distributed alike.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((60, 4)).astype(np.float32)
    >>> pairs = by_similarities(X, X[:, ::-1])
    >>> float((pairs[:, 0] == pairs[:, 1]).mean())
    1.0
    """
    A, B = (make_preprocess("unit+centre+unit").fit(side).transform(side[:_COMPARED_WORDS]) for side in (X, Y))
    return np.unique(from_similarity_distributions(A, B, _COMPARED_WORDS, 10), axis=0)


def can_couple() -> bool:
    """Return whether POT is installed."""
    return find_spec("ot") is not None


def by_coupling(X: NDArray[Any], Y: NDArray[Any]) -> NDArray[np.int64]:
    """Pair words that a Gromov-Wasserstein coupling brings together; none if it cannot be computed."""
    max_words = max(2, min(_COUPLED_WORDS, len(X), len(Y)))
    with warnings.catch_warnings(action="ignore", category=FippWarning):
        # Whether it found anything is judged after self-learning.
        try:
            return GromovWasserstein(max_words).fit(X, Y).induced_pairs_
        except FippError:
            if not can_couple():
                raise
            return NO_PAIRS
