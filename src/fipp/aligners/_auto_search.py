"""The search of `Auto`: candidates, from simple to costly, scored on the same held-out words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fipp._deadline import Deadline
from fipp._progress import Progress, Steps
from fipp.aligners._auto_work import Work
from fipp.aligners._base import NO_PAIRS, BaseAligner
from fipp.aligners._fipp import FIPP
from fipp.aligners._holdout import held_out_parts, reciprocal_ranks_by_cosine_and_csls
from fipp.aligners._local import Local
from fipp.aligners._procrustes import Procrustes
from fipp.aligners._ranking import PAIRS_AT_ONCE
from fipp.aligners._regression import Ridge
from fipp.aligners._self_learning import RANKED_WORDS, FoundPairs, Learner, Round, plan
from fipp.aligners._spectral import Spectral
from fipp.aligners._suspects import NOISY, pair_cosines

# Methods differ by a point or less, which few words cannot show. A quarter of the source words is held out, but hardly
# more than this number of them; with fewer source words, two quarters are held out in turn, and as many as make 250.
_FOLDS, _ENOUGH_WORDS, _FEWEST_WORDS = 4, 1500, 250
# If more pairs than this share have a target word that another pair has too, many of them name the translation of a
# similar word. Maps of the known pairs repeat such errors, so pairs like these do not tell which map is better; they
# are then not looked up, as long as so many others are left.
_SHARED_TARGETS, _ENOUGH_OTHERS = 1 / 3, 100
# A candidate that is behind by so many standard errors of the difference is not tried on further parts.
_CLEARLY = 2.0
# From this mean reciprocal rank on, the best candidate is not compared with chance.
_SURELY_FOUND = 0.1
# Held-out words are looked up among this many of the first target words, and their own translations.
_TARGETS = 50_000
# CSLS finds hubs among this many source words, which is enough to compare methods.
_HUB_WORDS = 500
# Ridges of `Spectral` that are tried first; while the smallest or the largest is the best, the next one is tried too.
_RIDGES = (1.0, 2.0, 4.0)
_SMALLEST_RIDGE, _LARGEST_RIDGE = 0.125, 256.0
_PLAIN: dict[str, BaseAligner] = {
    "procrustes": Procrustes(),
    "procrustes, isotropic": Procrustes("isotropic"),
    "fipp": FIPP(),
    "ridge": Ridge(),
}
# Rounds of self-learning: the second finds more pairs, and better ones.
_ROUNDS = 2
# While methods are compared, self-learning pairs no more than this share of the words, so that a round takes a fraction
# of the product of both vocabularies. It should not be far less: with rarer words, found pairs deserve less weight. So
# many words are always paired.
_SHARE_OF_WORDS, _ALWAYS_PAIRED = 0.6, 5000
# Numbers of steps of refinement by ranking.
_STEPS = (2, 3, 5, 7)
# Weight of found pairs relative to known ones in the rounds.
_LEARNED_WEIGHT = 0.3
# Afterwards, found pairs count little, or as much as known ones: the nearer ones for more, or all alike.
_WEIGHTS: tuple[tuple[float, Literal["csls"] | None], ...] = ((_LEARNED_WEIGHT, "csls"), (1.0, "csls"), (1.0, None))
# The fit of the best candidate on all pairs usually takes this share of the time.
_FINAL_SHARE = 0.17


class Candidate(NamedTuple):
    """A method that could be chosen: an unfitted aligner, with what refines it.

    That is leaving out suspicious pairs; self-learning, with the weights that it gives to found pairs; steps of
    ranking; local corrections.
    """

    name: str
    aligner: BaseAligner
    cleans: bool = False
    learns: bool = False
    learned_weight: float = 1.0
    weighting: Literal["csls"] | None = "csls"
    steps: int = 0
    local: bool = False


class CandidateScore(NamedTuple):
    """How well a candidate did on the held-out words of the parts that it was tried on, in their order.

    A candidate that fell clearly behind was not tried on all parts.
    """

    candidate: Candidate
    ranks: NDArray[np.float64]  # reciprocal ranks by cosine and by CSLS, of shape (2, words)
    fitted: Sequence[BaseAligner]  # without each of these parts

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank, rounded so that equals are equal."""
        return round(float(self.ranks.mean()), 12)

    def as_dict(self) -> dict[str, Any]:
        error, words = _standard_error(self.ranks.mean(axis=0)), self.ranks.shape[1]
        return {
            "name": self.candidate.name, "mrr": round(self.mrr, 6), "standard_error": round(error, 6), "words": words
        }  # fmt: skip


class Stage(NamedTuple):
    """Candidates that are tried together.

    ``work`` is in trillions and includes what the final fit will add; ``share`` is the usual share of the time.
    """

    name: str
    work: float
    share: float
    run: Callable[[], None]


class Skipped(NamedTuple):
    """A stage that was not tried, the work that it would have taken, and why."""

    stage: str
    work: float
    by: Literal["budget", "deadline"]

    def as_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "work": round(self.work, 3)}


FitAll = Callable[[Sequence[Candidate], int], Sequence[BaseAligner]]
"""Fits candidates on the pairs that a part does not hold out."""


class Search:
    """The candidates tried so far on two vocabularies, with some of the known pairs held out in turn."""

    def __init__(
        self, X: NDArray[Any], Y: NDArray[Any], pairs: NDArray[np.int64], random_state: int, max_words: int
    ) -> None:
        self.X, self.Y, self.pairs, self.max_words = X, Y, pairs, max_words
        self._telling = _telling(pairs)
        sources, telling = (len(np.unique(rows)) for rows in (pairs[:, 0], pairs[self._telling, 0]))
        folds = max(_FOLDS, sources // _ENOUGH_WORDS)
        parts = held_out_parts(pairs[:, 0], folds=folds, random_state=random_state)
        few = -(-_FEWEST_WORDS * folds // telling)
        self.parts = parts[: max(few, 2 if telling < _ENOUGH_WORDS else 1)]
        self.trials: list[CandidateScore] = []
        self.skipped: list[Skipped] = []
        self.spent = 0.0
        self.progress: Progress | None = None  # of the current stage
        self._bests: list[CandidateScore] = []  # the best of each stage that has found a better one
        self._as_good: list[CandidateScore] = []  # self-learning that is hardly better or worse than the best
        self._suspicious: dict[int | None, NDArray[np.bool_]] = {}
        self._found: dict[tuple[str, bool, int | None], FoundPairs] = {}

    @property
    def best(self) -> CandidateScore:
        """The best candidate so far."""
        return self._bests[-1]

    def mrr_by_chance(self) -> float | None:
        """Return the mean reciprocal rank of shuffled held-out pairs; None if the best is clearly above it."""
        if self.best.mrr >= _SURELY_FOUND:
            return None
        shuffled = np.concatenate(
            [self._score(fitted, part, shuffle=True) for part, fitted in enumerate(self.best.fitted)], axis=1
        )
        return None if _clearly_better(self.best.ranks, shuffled) else float(shuffled.mean())

    def shares(self) -> dict[str, float]:
        """Return which share of the time each stage usually takes, and the fit of the best candidate on all pairs."""
        return {**{stage.name: stage.share for stage in self.stages()}, "best method, all pairs": _FINAL_SHARE}

    def run(self, budget: float, deadline: Deadline, parts: Iterator[Progress]) -> None:
        """Try every stage for which enough of the budget is left, until a deadline; the first is always tried."""
        for stage, part in zip(self.stages(), parts, strict=False):
            self.progress = part
            if self.trials and self.spent + stage.work > budget:
                self.skipped.append(Skipped(stage.name, stage.work, "budget"))
            elif self.trials and deadline.passed:
                self.skipped.append(Skipped(stage.name, stage.work, "deadline"))
            else:
                self.spent += stage.work
                stage.run()

    def stages(self) -> list[Stage]:
        """List what is tried, each stage with the best of those before it."""
        (n, d1), (m, d2), c = self.X.shape, self.Y.shape, len(self.pairs)
        work, parts = Work(n, m, d1, d2, c), len(self.parts)
        fit = work.fit()
        score = work.score(max(int(part.sum()) for part in self.parts) + _HUB_WORDS, _TARGETS)
        learn, learn_all = (
            work.learn(each.max_words for each in self._plan(self.pairs, max_words))
            for max_words in (self._fewer_words, self.max_words)
        )
        rank = work.rank(max(_STEPS), min(PAIRS_AT_ONCE, c + min(self.max_words, n, m)), RANKED_WORDS)
        judge = 10 * fit
        plain = parts * (len(_PLAIN) * (fit + score) + work.filter_gram()) + work.isotropic()
        # Self-learning and ranking are repeated on the whole seed if they are chosen.
        learned = parts * learn + learn_all + parts * len(_WEIGHTS) * (fit + score)
        return [
            Stage("spectral", work.preprocess() + parts * (len(_RIDGES) + 1) * (fit + score), 0.15, self._try_spectral),
            Stage("plain methods", plain, 0.18, self._try_plain),
            Stage("suspicious pairs", (parts + 1) * judge + parts * (fit + score), 0.04, self._try_cleaning),
            Stage("self-learning", learned, 0.23, self._try_self_learning),
            Stage("ranking", (2 * parts + 1) * rank + 2 * parts * len(_STEPS) * score, 0.2, self._try_ranking),
            Stage("local corrections", parts * score, 0.03, self._try_local),
        ]

    def fit(self, candidate: Candidate, held_out: int | None) -> BaseAligner:
        """Fit a candidate on all pairs, or on those that a part does not hold out."""
        pairs, learner = self.known(candidate, held_out), self._learner(candidate, held_out)
        if candidate.learns:
            learner = replace(learner, weight=candidate.learned_weight, weighting=candidate.weighting)
            fitted = learner.fit(self._find(candidate, held_out))
        else:
            fitted = clone(candidate.aligner).fit(self.X, self.Y, pairs)
        if candidate.steps:
            (fitted,) = self._refine(fitted, candidate, held_out, [candidate.steps])
        return Local.correcting(fitted, self.X, self.Y, pairs) if candidate.local else fitted

    def _refine(
        self, fitted: BaseAligner, candidate: Candidate, held_out: int | None, steps: Sequence[int]
    ) -> list[BaseAligner]:
        """Refine by the known pairs and the more trusted half of the found ones, if there are any."""
        found = self._find(candidate, held_out) if candidate.learns else FoundPairs.guessed()
        return self._learner(candidate, held_out).refine(fitted, found, steps)

    def known(self, candidate: Candidate, held_out: int | None) -> NDArray[np.int64]:
        """Return the known pairs that a candidate learns from, without those that a part holds out."""
        pairs = self.pairs if held_out is None else self.pairs[~self.parts[held_out]]
        if not candidate.cleans:
            return pairs
        if held_out not in self._suspicious:
            self._suspicious[held_out] = pair_cosines(self.X, self.Y, pairs).suspicious
        return pairs[~self._suspicious[held_out]]

    def left_out(self, candidate: Candidate) -> NDArray[np.int64]:
        """Return the known pairs that a candidate leaves out in the end."""
        return self.pairs[self._suspicious[None]] if candidate.cleans else NO_PAIRS

    def _learner(self, candidate: Candidate, held_out: int | None) -> Learner:
        return Learner(self.X, self.Y, self.known(candidate, held_out), candidate.aligner, _LEARNED_WEIGHT)

    def _find(self, candidate: Candidate, held_out: int | None) -> FoundPairs:
        """Return the pairs that a candidate finds itself; those of candidates with the same aligner are the same."""
        key = repr(candidate.aligner), candidate.cleans, held_out
        if key not in self._found:
            learner = self._learner(candidate, held_out)
            rounds = self._plan(learner.known, self.max_words if held_out is None else self._fewer_words)
            self._found[key] = learner.learn(rounds, progress=self.progress)
        return self._found[key]

    @property
    def _fewer_words(self) -> int:
        share = round(_SHARE_OF_WORDS * math.sqrt(len(self.X) * len(self.Y)))
        return min(self.max_words, max(_ALWAYS_PAIRED, share))

    def _plan(self, pairs: NDArray[np.int64], max_words: int) -> list[Round]:
        return plan(pairs, self.X, self.Y, max_words, _ROUNDS)

    def _race(self, candidates: Sequence[Candidate], fit_all: FitAll | None = None) -> list[CandidateScore]:
        """Score candidates, simpler ones first, part by part; return those that have not fallen clearly behind."""
        fit_all = fit_all or (lambda racing, part: [self.fit(candidate, part) for candidate in racing])
        trials = [CandidateScore(candidate, np.empty((2, 0)), ()) for candidate in candidates]
        racing = list(range(len(trials)))
        steps = Steps(self.progress, 2 * len(self.parts) * len(trials))  # to fit and to score
        for number in range(len(self.parts)):
            self.progress = steps.part(len(trials))
            fitted = fit_all([candidates[i] for i in racing], number)
            for i, aligner in zip(racing, fitted, strict=True):
                ranks = np.concatenate([trials[i].ranks, self._score(aligner, number)], axis=1)
                trials[i] = trials[i]._replace(ranks=ranks, fitted=(*trials[i].fitted, aligner))
                steps()
            if number + 1 < len(self.parts):
                racing = self._not_clearly_behind(trials, racing)
            if not racing:
                break
        self.trials += trials
        return [trials[i] for i in racing]

    def _not_clearly_behind(self, trials: Sequence[CandidateScore], racing: list[int]) -> list[int]:
        """Leave out candidates that are clearly behind the best of them, or behind the best of the stages before."""
        words = trials[racing[0]].ranks.shape[1]
        before = [self.best.ranks] if self.trials else []
        leader = max((trials[i].ranks for i in racing), key=np.mean)
        rivals = [ranks[:, :words] for ranks in (*before, leader)]
        return [i for i in racing if not any(_clearly_better(rival, trials[i].ranks) for rival in rivals)]

    def _score(self, fitted: BaseAligner, part: int, *, shuffle: bool = False) -> NDArray[np.float64]:
        """Return the reciprocal ranks of the words of a part by cosine and by CSLS, possibly with wrong partners."""
        held_out = self.pairs[self.parts[part] & self._telling]
        if shuffle:
            held_out = np.stack([held_out[:, 0], np.roll(held_out[:, 1], len(held_out) // 2)], axis=1)
        return reciprocal_ranks_by_cosine_and_csls(fitted, self.X, self.Y, held_out, _HUB_WORDS, _TARGETS)

    def _try_spectral(self) -> None:
        """Try ridges; while the largest or the smallest is the best, the next one beyond it too."""
        tried = list(_RIDGES)
        racing = self._race_ridges(tried)
        self._bests = [_best(racing)]
        while (further := _beyond(tried, self.best.candidate.aligner.ridge)) is not None:
            tried.append(further)
            racing += self._race_ridges([further])
            self._bests = [_best(racing)]

    def _race_ridges(self, ridges: Sequence[float]) -> list[CandidateScore]:
        def fit_all(racing: Sequence[Candidate], part: int) -> Sequence[BaseAligner]:
            settings = [{"ridge": candidate.aligner.ridge} for candidate in racing]
            return Spectral().fit_many(self.X, self.Y, self.known(racing[0], part), settings=settings)

        return self._race([Candidate(f"spectral, ridge {ridge:g}", Spectral(ridge)) for ridge in ridges], fit_all)

    def _try_plain(self) -> None:
        """Try methods that are as simple and have nothing to choose."""
        for trial in self._race([Candidate(name, aligner) for name, aligner in _PLAIN.items()]):
            self._take_if_better(trial)

    def _try_cleaning(self) -> None:
        """Try the best without pairs that look wrong, if too many do."""
        found = pair_cosines(self.X, self.Y, self.pairs)
        if found.wrong_share >= NOISY:
            self._suspicious[None] = found.suspicious
            best = self.best.candidate
            for trial in self._race([best._replace(name=f"{best.name}, without suspicious pairs", cleans=True)]):
                self._take_if_clearly_better(trial)

    def _try_self_learning(self) -> None:
        """Try the best with pairs that it finds itself."""
        best = self.best.candidate
        weights = _WEIGHTS if best.aligner.takes_weights else _WEIGHTS[-1:]
        tried = self._race([_learning(best, *weighted) for weighted in weights])
        if not tried or _clearly_better(self.best.ranks, _best(tried).ranks, by=1.0):
            return
        if len(self.pairs) >= min(self.X.shape[1], self.Y.shape[1]):
            self._take_if_clearly_better(_best(tried))
        else:
            # So few pairs may be all of one kind, as names are: the held-out ones do not show what other words gain.
            self._bests.append(_best(tried))
        if self.best.candidate is best:
            self._as_good = [_best(tried)]

    def _try_ranking(self) -> None:
        """Try the best with its map refined so that known pairs rank before others."""
        # Found pairs help ranking too, more than they help the map that it begins with.
        for start in (self.best, *self._as_good):
            self._rank(start)

    def _rank(self, start: CandidateScore) -> None:
        def fit_all(racing: Sequence[Candidate], part: int) -> Sequence[BaseAligner]:
            return self._refine(start.fitted[part], start.candidate, part, [each.steps for each in racing])

        name = start.candidate.name
        ranked = [start.candidate._replace(name=f"{name}, {steps} steps of ranking", steps=steps) for steps in _STEPS]
        for trial in self._race(ranked, fit_all):
            self._take_if_better(trial)

    def _try_local(self) -> None:
        """Try the best with local corrections, which cost almost nothing."""
        best, linear = self.best.candidate, self.best.fitted

        def fit_all(racing: Sequence[Candidate], part: int) -> Sequence[BaseAligner]:
            return [Local.correcting(linear[part], self.X, self.Y, self.known(each, part)) for each in racing]

        for trial in self._race([best._replace(name=f"{best.name}, local corrections", local=True)], fit_all):
            self._take_if_better(trial)

    def _take_if_better(self, trial: CandidateScore) -> None:
        """Take a candidate that is better over both measures, unless one of them pays for the other."""
        if trial.mrr > self.best.mrr and not self._pays(trial):
            self._bests.append(trial)

    def _pays(self, trial: CandidateScore) -> bool:
        """Return whether a candidate is worse by cosine or by CSLS than one that was the best before."""
        return any(
            _clearly_better(*both, by=1.0)
            for before in self._bests
            for both in zip(before.ranks, trial.ranks, strict=True)
        )

    def _take_if_clearly_better(self, trial: CandidateScore) -> None:
        """Take a candidate that is better by more than a standard error of the difference."""
        if _clearly_better(trial.ranks, self.best.ranks, by=1.0):
            self._take_if_better(trial)


def _telling(pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which pairs are looked up when they are held out: all of them, unless too many share their target word.

    Examples
    --------
    >>> shared = np.stack([np.arange(300), np.arange(300) % 200], axis=1)
    >>> int(_telling(shared).sum()), int(_telling(shared[:250]).sum()), int(_telling(shared[:220]).sum())
    (100, 150, 220)
    """
    _, word, count = np.unique(pairs[:, 1], return_inverse=True, return_counts=True)
    alone: NDArray[np.bool_] = count[word] == 1
    few = np.mean(~alone) <= _SHARED_TARGETS or len(np.unique(pairs[alone, 0])) < _ENOUGH_OTHERS
    return np.ones_like(alone) if few else alone


def _best(trials: Iterable[CandidateScore]) -> CandidateScore:
    return max(trials, key=lambda trial: trial.mrr)


def _clearly_better(ranks: NDArray[np.float64], others: NDArray[np.float64], by: float = _CLEARLY) -> bool:
    """Return whether reciprocal ranks are higher than others by more than ``by`` standard errors of the difference."""
    gain = np.atleast_2d(ranks - others).mean(axis=0)
    return bool(gain.mean() > by * _standard_error(gain))


def _standard_error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _beyond(tried: Sequence[float], best: float) -> float | None:
    """Return the next ridge beyond the best of those tried if that is the smallest or the largest of them.

    Examples
    --------
    >>> _beyond([1, 2, 4], 4), _beyond([1, 2, 4], 1), _beyond([1, 2, 4], 2)
    (8, 0.5, None)
    """
    if best == max(tried) < _LARGEST_RIDGE:
        return best * 2
    return best / 2 if best == min(tried) > _SMALLEST_RIDGE else None


def _learning(best: Candidate, weight: float, weighting: Literal["csls"] | None) -> Candidate:
    name = f"{best.name}, self-learning, {'' if weighting else 'all '}found pairs × {weight:g}"
    return best._replace(name=name, learns=True, learned_weight=weight, weighting=weighting)
