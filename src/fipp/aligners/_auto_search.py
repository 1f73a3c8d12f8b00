"""The search of `Auto`: candidates, from simple to costly, scored on the same held-out words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fipp._deadline import Deadline
from fipp._progress import Steps
from fipp.aligners._base import BaseAligner
from fipp.aligners._fipp import FIPP
from fipp.aligners._holdout import held_out_parts, reciprocal_ranks_by_cosine_and_csls
from fipp.aligners._local import Local
from fipp.aligners._procrustes import Procrustes
from fipp.aligners._ranking import PAIRS_AT_ONCE
from fipp.aligners._regression import Ridge
from fipp.aligners._self_learning import RANKED_WORDS, FoundPairs, Learner, Round, plan
from fipp.aligners._spectral import Spectral

_FOLDS = 5
# Methods differ by a point or less, which few words cannot show. With fewer source words than the first number, three
# parts are held out in turn; with more than the second, one; in between, two. More would take too long.
_FEW_WORDS, _MANY_WORDS = 1500, 6000
# CSLS finds hubs among this many source words, which is enough to compare methods.
_HUB_WORDS = 1000
_RIDGES = (0.5, 1.0, 2.0, 4.0, 8.0)
_PLAIN: dict[str, BaseAligner] = {
    "procrustes": Procrustes(),
    "procrustes, isotropic": Procrustes("isotropic"),
    "fipp": FIPP(),
    "ridge": Ridge(),
}
# Rounds of self-learning; the one with the best held-out score is the last.
_ROUNDS = 2
# Numbers of steps of refinement by ranking.
_STEPS = (3, 6, 10)
# Weight of found pairs relative to known ones, in the rounds and as the first choice afterwards.
_LEARNED_WEIGHT = 0.3
# An eigendecomposition or a singular value decomposition of a d × d matrix takes about this many times d³.
_DECOMPOSITION = 10


class Candidate(NamedTuple):
    """A method that could be chosen: an unfitted aligner, with what refines it.

    That is rounds of self-learning, with the weights that it gives to found pairs; steps of ranking; local corrections.
    """

    name: str
    aligner: BaseAligner
    rounds: int = 0
    learned_weight: float = 1.0
    weighting: Literal["csls"] | None = "csls"
    steps: int = 0
    local: bool = False


class CandidateScore(NamedTuple):
    """How well a candidate did on every held-out word, and the aligners fitted without each part."""

    candidate: Candidate
    ranks: NDArray[np.float64]
    fitted: Sequence[BaseAligner]

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank, rounded so that equals are equal."""
        return round(float(self.ranks.mean()), 12)

    def as_dict(self) -> dict[str, Any]:
        error = float(self.ranks.std(ddof=1) / np.sqrt(len(self.ranks)))
        return {"name": self.candidate.name, "mrr": round(self.mrr, 6), "standard_error": round(error, 6)}


class Stage(NamedTuple):
    """Candidates that are tried together, and the work in trillions, including what the final fit will add."""

    name: str
    work: float
    run: Callable[[], None]


class Skipped(NamedTuple):
    """A stage that was not tried, the work that it would have taken, and why."""

    stage: str
    work: float
    by: Literal["budget", "deadline"]

    def as_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "work": round(self.work, 3)}


class Search:
    """The candidates tried so far on two vocabularies, with some of the known pairs held out in turn."""

    def __init__(self, X: NDArray, Y: NDArray, pairs: NDArray[np.int64], random_state: int, max_words: int) -> None:
        self.X, self.Y, self.pairs, self.max_words = X, Y, pairs, max_words
        folds = held_out_parts(pairs[:, 0], folds=_FOLDS, random_state=random_state)
        sources = len(np.unique(pairs[:, 0]))
        self.parts = folds[: 3 if sources < _FEW_WORDS else 2 if sources < _MANY_WORDS else 1]
        self.trials: list[CandidateScore] = []
        self.skipped: list[Skipped] = []
        self.spent = 0.0
        self.best: CandidateScore
        self._found: dict[tuple[str, int | None], list[FoundPairs]] = {}

    def run(self, budget: float, deadline: Deadline, steps: Steps) -> None:
        """Try every stage for which enough of the budget is left, until a deadline; the first is always tried."""
        steps(0)
        for stage in self.stages():
            if self.trials and self.spent + stage.work > budget:
                self.skipped.append(Skipped(stage.name, stage.work, "budget"))
            elif self.trials and deadline.passed:
                self.skipped.append(Skipped(stage.name, stage.work, "deadline"))
            else:
                self.spent += stage.work
                stage.run()
            steps()

    def stages(self) -> list[Stage]:
        """List what is tried, each stage with the best of those before it."""
        (n, d1), (m, d2), c = self.X.shape, self.Y.shape, len(self.pairs)
        work, parts = Work(n, m, d1, d2, c), len(self.parts)
        fit = work.fit()
        score = work.score(max(int(part.sum()) for part in self.parts) + _HUB_WORDS)
        learn = work.learn(each.max_words for each in self._plan(self.pairs))
        rank = work.rank(max(_STEPS), min(PAIRS_AT_ONCE, c + min(self.max_words, n, m)), RANKED_WORDS)
        plain = len(_PLAIN) * (fit + score) + work.filter_gram()
        # Found pairs count little after each round, and then in two more ways; self-learning and ranking are repeated
        # on the whole seed if they are chosen.
        learned = (parts + 1) * learn + parts * (_ROUNDS + 2) * (fit + score)
        return [
            Stage("spectral", parts * (fit + len(_RIDGES) * score), self._try_spectral),
            Stage("plain methods", parts * plain, self._try_plain),
            Stage("self-learning", learned, self._try_self_learning),
            Stage("ranking", (parts + 1) * rank + parts * len(_STEPS) * score, self._try_ranking),
            Stage("local corrections", parts * score, self._try_local),
        ]

    def fit(self, candidate: Candidate, held_out: int | None) -> BaseAligner:
        """Fit a candidate on all pairs, or on those that a part does not hold out."""
        pairs, learner = self._pairs(held_out), self._learner(candidate.aligner, held_out)
        if candidate.rounds:
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
        found = self._find(candidate, held_out) if candidate.rounds else FoundPairs.guessed()
        return self._learner(candidate.aligner, held_out).refine(fitted, found, steps)

    def _pairs(self, held_out: int | None) -> NDArray[np.int64]:
        return self.pairs if held_out is None else self.pairs[~self.parts[held_out]]

    def _learner(self, aligner: BaseAligner, held_out: int | None) -> Learner:
        return Learner(self.X, self.Y, self._pairs(held_out), aligner, _LEARNED_WEIGHT)

    def _find(self, candidate: Candidate, held_out: int | None) -> FoundPairs:
        """Return the pairs of a candidate's last round of self-learning; those of all rounds are kept."""
        key = repr(candidate.aligner), held_out
        if key not in self._found:
            learner = self._learner(candidate.aligner, held_out)
            self._found[key] = list(learner.rounds(self._plan(learner.known)))[-_ROUNDS:]
        return self._found[key][candidate.rounds - 1]

    def _plan(self, pairs: NDArray[np.int64]) -> list[Round]:
        return plan(pairs, self.X, self.Y, self.max_words, _ROUNDS)

    def _try(
        self, candidates: Sequence[Candidate], fit_all: Callable[[int], Sequence[BaseAligner]] | None = None
    ) -> list[CandidateScore]:
        """Score candidates, simpler ones first."""
        scored, fitted = [], []
        for number, part in enumerate(self.parts):
            fitted.append(fit_all(number) if fit_all else [self.fit(candidate, number) for candidate in candidates])
            scored.append(self._score(fitted[-1], self.pairs[part]))
        ranks, by_candidate = np.concatenate(scored, axis=1), zip(*fitted, strict=True)
        trials = [CandidateScore(*trial) for trial in zip(candidates, ranks, by_candidate, strict=True)]
        self.trials += trials
        return trials

    def _score(self, fitted: Sequence[BaseAligner], held_out: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean of both reciprocal ranks, by cosine and by CSLS, of each held-out word."""
        ranks = [reciprocal_ranks_by_cosine_and_csls(each, self.X, self.Y, held_out, _HUB_WORDS) for each in fitted]
        return np.mean(ranks, axis=1)

    def _try_spectral(self) -> None:
        candidates = [Candidate(f"spectral, ridge {ridge:g}", Spectral(ridge)) for ridge in _RIDGES]
        settings = [{"ridge": ridge} for ridge in _RIDGES]
        fit_all = partial(Spectral().fit_many, self.X, self.Y, settings=settings)
        self.best = _best(self._try(candidates, lambda part: fit_all(self._pairs(part))))

    def _try_plain(self) -> None:
        """Try methods that are as simple and have nothing to choose."""
        self._try([Candidate(name, aligner) for name, aligner in _PLAIN.items()])
        self.best = _best(self.trials)

    def _try_self_learning(self) -> None:
        """Try the best with pairs that it finds itself."""
        name, aligner = self.best.candidate.name, self.best.candidate.aligner
        weight = _LEARNED_WEIGHT if aligner.takes_weights else 1.0
        tried = self._try([_learning(name, aligner, rounds, weight) for rounds in range(1, _ROUNDS + 1)])
        self._take_if_clearly_better(_best(tried))
        if weight != 1:
            # Found pairs count as much as known ones: the nearer ones for more, or all alike if most seem right.
            rounds = _best(tried).candidate.rounds
            heavier = _best(self._try([_learning(name, aligner, rounds, 1.0, kind) for kind in ("csls", None)]))
            self._take_if_better(heavier) if self.best.candidate.rounds else self._take_if_clearly_better(heavier)

    def _try_ranking(self) -> None:
        """Try the best with its map refined so that known pairs rank before others."""
        best = self.best.candidate
        candidates = [best._replace(name=f"{best.name}, {steps} steps of ranking", steps=steps) for steps in _STEPS]
        start = self.best.fitted
        tried = self._try(candidates, lambda part: self._refine(start[part], best, part, _STEPS))
        self._take_if_better(_best(tried))

    def _try_local(self) -> None:
        """Try the best with local corrections, which cost almost nothing."""
        best, linear = self.best.candidate, self.best.fitted
        corrected = best._replace(name=f"{best.name}, local corrections", local=True)
        (tried,) = self._try(
            [corrected], lambda part: [Local.correcting(linear[part], self.X, self.Y, self._pairs(part))]
        )
        self._take_if_better(tried)

    def _take_if_better(self, trial: CandidateScore) -> None:
        if trial.mrr > self.best.mrr:
            self.best = trial

    def _take_if_clearly_better(self, trial: CandidateScore) -> None:
        """Take a candidate that is better by more than a standard error of the difference."""
        gain = trial.ranks - self.best.ranks
        if gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)):
            self.best = trial


def _best(trials: Iterable[CandidateScore]) -> CandidateScore:
    return max(trials, key=lambda trial: trial.mrr)


def _learning(
    name: str, aligner: BaseAligner, rounds: int, weight: float, weighting: Literal["csls"] | None = "csls"
) -> Candidate:
    times = f"{rounds} round{'s' if rounds > 1 else ''} of self-learning"
    pairs = "found pairs" if weighting else "all found pairs"
    return Candidate(f"{name}, {times}, {pairs} × {weight:g}", aligner, rounds, weight, weighting)


class Work(NamedTuple):
    """Estimates of the work on n × d1 and m × d2 vectors and c known pairs, in trillions (10¹²) of multiply-adds.

    Only matrix products are counted, which take nearly all of the time. How many pairs self-learning will find is not
    known beforehand; the estimate assumes the largest possible number.

    Examples
    --------
    >>> Work(n=50_000, m=50_000, d1=300, d2=300, c=4000).score(max_words=1800)
    0.0315
    """

    n: int
    m: int
    d1: int
    d2: int
    c: int

    def fit(self) -> float:
        """Fit a map in closed form: second moments of both vocabularies and of the pairs, and a few decompositions."""
        moments = self.n * self.d1**2 + self.m * self.d2**2 + self.c * (self.d1 + self.d2) ** 2
        return _trillions(moments + 3 * _DECOMPOSITION * max(self.d1, self.d2) ** 3)

    def filter_gram(self) -> float:
        """Make one pass over the Gram tiles of FIPP."""
        return _trillions(self.c**2 * (self.d1 + self.d2))

    def score(self, max_words: int) -> float:
        """Map the target vocabulary, and compare it with ``max_words`` words."""
        return _trillions(self.m * self.d2 * (self.d2 + max_words))

    def learn(self, rounds: Iterable[int]) -> float:
        """Find pairs in rounds of self-learning over given numbers of words: a fit, hubs, and mutual pairs in each."""
        products = [2 * min(max_words, self.n) * min(max_words, self.m) * self.d2 for max_words in rounds]
        return len(products) * self.fit() + _trillions(sum(products))

    def rank(self, n_steps: int, n_pairs: int, max_words: int) -> float:
        """Take steps of ranking: search ``max_words`` words in both directions every other step, map them in each."""
        source, target = min(max_words, self.n), min(max_words, self.m)
        searched = -(-n_steps // 2) * n_pairs * (source + target) * self.d2
        return _trillions(searched + 2 * n_steps * (source + target) * self.d2**2)


def _trillions(multiply_adds: float) -> float:
    return multiply_adds / 1e12
