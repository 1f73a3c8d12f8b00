"""Alignment without any known pairs, which says when it failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from fipp._deadline import Deadline
from fipp.aligners import _seedless_pairs
from fipp.aligners._base import LearnsFrom
from fipp.aligners._consistency import MARGIN, beats_chance, consistency
from fipp.aligners._self_learning import Learned, chance_consistency, learn, plan
from fipp.aligners._spectral import Spectral
from fipp.aligners._wrapper import WrappingAligner
from fipp.exceptions import FippError, warn
from fipp.linalg import Progress

# From fewer guesses self-learning finds nothing.
_FEWEST_GUESSES = 10
_COUPLING = "gromov-wasserstein"
_DESCRIBED = {
    "spelling": "{:,} pairs of words spelled alike",
    "similarities": "words of similar similarities to others",
    _COUPLING: "words that a Gromov-Wasserstein coupling brings together",
}


class Unsupervised(WrappingAligner):
    """Self-learning from words spelled alike or of similar similarities to others; refuses to give a wrong map.

    Nothing is known, but something can be guessed: words spelled alike, numerals and cognates, which `fipp.align` looks
    for and ``fit`` takes; words with similar distributions of similarities to other words (Artetxe et al., 2018); words
    that a Gromov-Wasserstein coupling brings together. Such pairs, most of them wrong, are the start of self-learning
    over a growing vocabulary, see `SelfLearning`; they are forgotten after it unless it finds them again.

    What comes of it is either right or nothing at all, and this is told from the found pairs alone: a map is learned
    from half of them, and the other half must find each other again, clearly better than after a start from random
    pairs. If they do not, whatever the start, an error says so, and no map is given.

    Parameters
    ----------
    aligner : aligner, optional
        What is fitted in self-learning; `Spectral` without it.
    start : {"auto", "spelling", "similarities", "gromov-wasserstein"}, default="auto"
        The first pairs: the guesses, distributions of similarities, or a coupling, which needs POT (``pip install
        'fipp[ot]'``). ``"auto"`` tries the guesses, if there are enough, and the similarities; a coupling if POT is
        there and both have failed. The pairs that hold together best are taken.
    max_words : int, default=20000
        So many of the first words of either side are paired in the end, three fifths of them until starts are compared.
    n_iterations : int, default=4
        Rounds until starts are compared, after those with a growing vocabulary; two more with all words come after.
    margin : float, default=0.2
        How far from ``chance_consistency_``, 0, to certainty, 1, ``consistency_`` must be.
    ranking_steps : int, default=3
        In the end, steps of refinement by `Ranking` of the half of the found pairs with the higher CSLS, for linear
        aligners.
    deadline : float, optional
        Seconds after which no further start is tried. A warning says which were not; another run may then take another
        start. By default no clock is looked at.

    Attributes
    ----------
    aligner_ : aligner
        The last one.
    start_ : str
        The start that was taken.
    n_guesses_ : int
        How many guesses there were.
    starts_ : list of dict
        What was tried: starts, their numbers of pairs, and their consistencies.
    skipped_ : list of dict
        The starts that a ``deadline`` left out.
    induced_pairs_ : ndarray of shape (k, 2)
        The pairs found in the last round, which ``aligner_`` was fitted on.
    consistency_ : float
        Mean reciprocal rank of half of the found pairs by a map that was learned from the other half.
    chance_consistency_ : float
        The same after a start from random pairs.
    pairs_ : ndarray of shape (0, 2)
        No pairs were given.

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
        "aligner": "no_validation",
        "start": [StrOptions({"auto", "spelling", "similarities", "gromov-wasserstein"})],
        "max_words": [Interval(Integral, 1, None, closed="left")],
        "n_iterations": [Interval(Integral, 1, None, closed="left")],
        "margin": [Interval(Real, 0, 1, closed="both")],
        "ranking_steps": [Interval(Integral, 0, None, closed="left")],
        "deadline": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        aligner: Any = None,
        *,
        start: Literal["auto", "spelling", "similarities", "gromov-wasserstein"] = "auto",
        max_words: int = 20_000,
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
        """What the method learns from: words spelled alike, if there are any. Pairs that it is given are guesses."""
        return "spelling"

    def describe(self) -> str:
        """Say in words which start was taken."""
        check_is_fitted(self)
        return _DESCRIBED[self.start_].format(self.n_guesses_)

    def _fit_vocabulary(self, X: NDArray, Y: NDArray, progress: Progress | None) -> None:
        aligner, last = (Spectral(reweight=1.0), Spectral()) if self.aligner is None else (self.aligner, self.aligner)
        deadline = Deadline(self.deadline)
        *growing, first, larger = plan(self.pairs_, X, Y, self.max_words, 2)
        rounds = [*growing, *[first] * self.n_iterations]
        guesses = np.empty((0, 2), np.int64) if self._guesses is None else self._guesses
        starts = self._starts(X, Y, guesses)
        self.n_guesses_ = len(guesses)
        self.chance_consistency_ = chance_consistency(X, Y, aligner, rounds, progress=_part(progress, 0, starts))

        def works(found: float) -> bool:
            return beats_chance(found, self.chance_consistency_, self.margin)

        tried: list[_Tried] = []
        skipped: list[str] = []
        for number, (name, find) in enumerate(starts.items(), 1):
            if name == _COUPLING and any(works(other.consistency) for other in tried):
                continue
            if tried and deadline.passed:
                skipped.append(name)
                continue
            start = found = Learned.guessed(find())
            if len(start.pairs):
                part = _part(progress, number, starts)
                found = learn(X, Y, self.pairs_, aligner, rounds, start=start, progress=part)
            holds = consistency(X, Y, found.pairs, aligner, first.max_words)
            tried.append(_Tried(name, len(start.pairs), holds, found))
        best = max(tried, key=lambda each: each.consistency)
        if not works(best.consistency):
            failure = _failure(tried, self.chance_consistency_, self.margin, self.n_guesses_)
            raise FippError(f"{failure}. {self._left_out(skipped)}" if skipped else failure)
        self.start_, self.consistency_ = best.start, best.consistency
        self.starts_ = [each.as_dict() for each in tried]
        self.skipped_ = [{"start": name, "by": "deadline"} for name in skipped]
        learned = learn(X, Y, self.pairs_, aligner, [larger, larger], start=best.found)
        self.aligner_ = learned.fit(X, Y, self.pairs_, last, 1.0)
        if self.aligner_.linear and self.ranking_steps:
            (self.aligner_,) = learned.refine(self.aligner_, X, Y, self.pairs_, [self.ranking_steps])
        if progress is not None:
            progress(1, 1)
        if skipped:
            warn(self._left_out(skipped))

    def _left_out(self, skipped: Sequence[str]) -> str:
        return (
            f"The deadline of {self.deadline:g} seconds had passed before {', '.join(skipped)} could be tried for a "
            "start; another run may take another one"
        )

    def _starts(self, X: NDArray, Y: NDArray, guesses: NDArray[np.int64]) -> dict[str, Callable[[], NDArray[np.int64]]]:
        """Return the starts to be tried, those that take the longest last."""
        starts = {
            "spelling": lambda: guesses,
            "similarities": lambda: _seedless_pairs.by_similarities(X, Y),
            _COUPLING: lambda: _seedless_pairs.by_coupling(X, Y),
        }
        if self.start == "spelling" and not len(guesses):
            raise FippError("start='spelling' needs guesses, and there are none: no words are spelled alike")
        if self.start != "auto":
            return {self.start: starts[self.start]}
        if len(guesses) < _FEWEST_GUESSES:
            del starts["spelling"]
        if not _seedless_pairs.can_couple():
            del starts[_COUPLING]
        return starts


class _Tried(NamedTuple):
    """What came of a start."""

    start: str
    n_pairs: int
    consistency: float
    found: Learned

    def as_dict(self) -> dict[str, Any]:
        return {"start": self.start, "pairs": self.n_pairs, "consistency": round(self.consistency, 6)}


def _part(progress: Progress | None, number: int, starts: Sized) -> Progress | None:
    """Return the progress of one self-learning among that from chance and those of all starts."""
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, (len(starts) + 1) * total)


def _failure(tried: Sequence[_Tried], chance: float, margin: float, n_guesses: int) -> str:
    figures = ", ".join(f"{each.consistency:.2f} from {_DESCRIBED[each.start].format(each.n_pairs)}" for each in tried)
    if n_guesses < _FEWEST_GUESSES:
        reason = f"Hardly any words are spelled alike ({n_guesses}), and the languages"
    else:
        reason = "Most words that are spelled alike seem not to belong together, and the languages"
    return (
        "the alignment without known pairs has failed: maps learned from half of the words that it paired find the "
        f"other half at a mean reciprocal rank of {figures}; it should be at least "
        f"{chance + margin * (1 - chance):.2f}, because random pairs lead to {chance:.2f}. {reason} or the texts "
        "behind the vectors differ too much, or words do not stand in the order of their frequency. Give known "
        "pairs, a hundred may do (fipp lexicon cldr makes some for many languages)"
    )
