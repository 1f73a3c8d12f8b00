"""The search of `Auto`: candidates, from simple to costly, scored on the same held-out words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fipp._deadline import Deadline
from fipp.aligners._base import BaseAligner
from fipp.aligners._fipp import FIPP
from fipp.aligners._holdout import held_out_parts
from fipp.aligners._local import Local
from fipp.aligners._procrustes import Procrustes
from fipp.aligners._ranking import PAIRS_AT_ONCE
from fipp.aligners._regression import Ridge
from fipp.aligners._score import reciprocal_ranks_by_cosine_and_csls
from fipp.aligners._self_learning import RANKED_WORDS, Learned, Round, learn_in_rounds, plan
from fipp.aligners._spectral import Spectral
from fipp.aligners._work import Work
from fipp.linalg import Progress

_FOLDS = 5
# Methods differ by a point or less, which few words cannot tell: three parts are held out in turn of fewer source words
# than this, one of more than that, two between. More would take too long.
_FEW_WORDS, _MANY_WORDS = 1500, 6000
# CSLS asks so many source words for hubs, which is enough to compare methods.
_HUB_WORDS = 1000
_RIDGES = (0.5, 1.0, 2.0, 4.0, 8.0)
_PLAIN: dict[str, BaseAligner] = {
    "procrustes": Procrustes(),
    "procrustes, isotropic": Procrustes("isotropic"),
    "fipp": FIPP(),
    "ridge": Ridge(),
}
# Rounds of self-learning; it stops after the one that held-out words like best.
_ROUNDS = 2
# Numbers of steps of refinement by ranking.
_STEPS = (3, 6, 10)
# What found pairs count beside known ones, in the rounds and as the first choice afterwards.
_LEARNED_WEIGHT = 0.3


class Candidate(NamedTuple):
    """Something that could be chosen."""

    name: str
    aligner: BaseAligner
    """Unfitted."""
    rounds: int = 0
    """Of self-learning; none without it."""
    learned_weight: float = 1.0
    """What found pairs count in the mean."""
    weighting: Literal["csls"] | None = "csls"
    """Whether the nearer of them count for more."""
    steps: int = 0
    """Of refinement by ranking."""
    local: bool = False


class Trial(NamedTuple):
    """How well a candidate did on every held-out word."""

    candidate: Candidate
    ranks: NDArray[np.float64]
    fitted: Sequence[BaseAligner]
    """On what each part does not hold out."""

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank, rounded so that equals are equal."""
        return round(float(self.ranks.mean()), 12)

    def as_dict(self) -> dict[str, Any]:
        error = float(self.ranks.std(ddof=1) / np.sqrt(len(self.ranks)))
        return {"name": self.candidate.name, "mrr": round(self.mrr, 6), "standard_error": round(error, 6)}


class Stage(NamedTuple):
    """Candidates that are tried together."""

    name: str
    work: float
    """In trillions of multiply-adds, with what fitting the chosen one on the whole seed will add."""
    run: Callable[[], None]


class Skipped(NamedTuple):
    """A stage that was not tried, and why."""

    stage: str
    work: float
    """What it would have taken, in trillions of multiply-adds."""
    by: Literal["budget", "deadline"]

    def as_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "work": round(self.work, 3)}


class Search:
    """Everything tried so far.

    Parameters
    ----------
    X, Y : ndarray of shape (n, d1), (m, d2)
        Whole vocabularies.
    pairs : ndarray of shape (c, 2)
        Known pairs, some of which are held out in turn.
    random_state : int
        Which.
    max_words : int
        Of either side, for self-learning.
    """

    def __init__(self, X: NDArray, Y: NDArray, pairs: NDArray[np.int64], random_state: int, max_words: int) -> None:
        self.X, self.Y, self.pairs, self.max_words = X, Y, pairs, max_words
        folds = held_out_parts(pairs[:, 0], folds=_FOLDS, random_state=random_state)
        sources = len(np.unique(pairs[:, 0]))
        self.parts = folds[: 3 if sources < _FEW_WORDS else 2 if sources < _MANY_WORDS else 1]
        self.trials: list[Trial] = []
        self.skipped: list[Skipped] = []
        self.spent = 0.0
        self.best: Trial
        self._found: dict[tuple[str, int | None], list[Learned]] = {}

    def run(self, budget: float, deadline: Deadline, progress: Progress | None) -> None:
        """Try every stage that the budget has enough left for when its turn comes, until a deadline; the first always.

        Parameters
        ----------
        budget : float
            Trillions of multiply-adds.
        deadline : Deadline
        progress : callable, optional
            Called as ``progress(done, total)``; the fit of the chosen one is the last part.
        """
        stages = self._stages()
        for done, stage in enumerate(stages):
            if progress is not None:
                progress(done, len(stages) + 1)
            if self.trials and self.spent + stage.work > budget:
                self.skipped.append(Skipped(stage.name, stage.work, "budget"))
            elif self.trials and deadline.passed:
                self.skipped.append(Skipped(stage.name, stage.work, "deadline"))
            else:
                self.spent += stage.work
                stage.run()

    def _stages(self) -> list[Stage]:
        """List what is tried, each stage with the best of those before it."""
        (n, d1), (m, d2), c = self.X.shape, self.Y.shape, len(self.pairs)
        work, parts = Work(n, m, d1, d2, c), len(self.parts)
        fit = work.fit()
        score = work.score(max(int(part.sum()) for part in self.parts) + _HUB_WORDS)
        learn = work.learn(each.max_words for each in self._plan(self.pairs))
        rank = work.rank(max(_STEPS), min(PAIRS_AT_ONCE, c + min(self.max_words, n, m)), RANKED_WORDS)
        plain = len(_PLAIN) * (fit + score) + work.filter_gram()
        # Found pairs count little after each round, and then in two more ways; self-learning and ranking are done once
        # more if they are chosen.
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
        pairs = self._pairs(held_out)
        if candidate.rounds:
            found = self._learn(candidate.aligner, held_out)[candidate.rounds - 1]
            weights = candidate.learned_weight, candidate.weighting
            fitted = found.fit(self.X, self.Y, pairs, candidate.aligner, *weights)
        else:
            fitted = clone(candidate.aligner).fit(self.X, self.Y, pairs)
        if candidate.steps:
            (fitted,) = self._refine(fitted, candidate, held_out, [candidate.steps])
        return Local.correcting(fitted, self.X, self.Y, pairs) if candidate.local else fitted

    def _refine(
        self, fitted: BaseAligner, candidate: Candidate, held_out: int | None, steps: Sequence[int]
    ) -> list[BaseAligner]:
        """Refine by the known pairs and the more trusted half of those that were found, if any were."""
        nothing = Learned.guessed(np.empty((0, 2), np.int64))
        found = self._learn(candidate.aligner, held_out)[candidate.rounds - 1] if candidate.rounds else nothing
        return found.refine(fitted, self.X, self.Y, self._pairs(held_out), steps)

    def _pairs(self, held_out: int | None) -> NDArray[np.int64]:
        return self.pairs if held_out is None else self.pairs[~self.parts[held_out]]

    def _learn(self, aligner: BaseAligner, held_out: int | None) -> list[Learned]:
        """Return what is found in each round over the whole vocabulary."""
        key = repr(aligner), held_out
        if key not in self._found:
            pairs = self._pairs(held_out)
            learning = learn_in_rounds(self.X, self.Y, pairs, aligner, self._plan(pairs), weight=_LEARNED_WEIGHT)
            self._found[key] = list(learning)[-_ROUNDS:]
        return self._found[key]

    def _plan(self, pairs: NDArray[np.int64]) -> list[Round]:
        return plan(pairs, self.X, self.Y, self.max_words, _ROUNDS)

    def _try(
        self, candidates: Sequence[Candidate], fit_all: Callable[[int], Sequence[BaseAligner]] | None = None
    ) -> list[Trial]:
        """Score candidates, simpler ones first."""
        scored, fitted = [], []
        for number, part in enumerate(self.parts):
            fitted.append(fit_all(number) if fit_all else [self.fit(candidate, number) for candidate in candidates])
            scored.append(self._score(fitted[-1], self.pairs[part]))
        ranks, by_candidate = np.concatenate(scored, axis=1), zip(*fitted, strict=True)
        trials = [Trial(*trial) for trial in zip(candidates, ranks, by_candidate, strict=True)]
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
        """Try methods with nothing to choose; they are as simple."""
        self._try([Candidate(name, aligner) for name, aligner in _PLAIN.items()])
        self.best = _best(self.trials)

    def _try_self_learning(self) -> None:
        """Try the best with pairs that it finds itself."""
        name, aligner = self.best.candidate.name, self.best.candidate.aligner
        weight = _LEARNED_WEIGHT if aligner.takes_weights else 1.0
        tried = self._try([_learning(name, aligner, rounds, weight) for rounds in range(1, _ROUNDS + 1)])
        self._take_if_clearly_better(_best(tried))
        if weight != 1:
            # Found pairs count as much as known ones, the nearer ones for more, or all alike if most seem to be right.
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
        """Try the best with local corrections, which cost nothing to speak of."""
        best, linear = self.best.candidate, self.best.fitted
        corrected = best._replace(name=f"{best.name}, local corrections", local=True)
        (tried,) = self._try(
            [corrected], lambda part: [Local.correcting(linear[part], self.X, self.Y, self._pairs(part))]
        )
        self._take_if_better(tried)

    def _take_if_better(self, trial: Trial) -> None:
        if trial.mrr > self.best.mrr:
            self.best = trial

    def _take_if_clearly_better(self, trial: Trial) -> None:
        """Take what is better by more than a standard error of the difference."""
        gain = trial.ranks - self.best.ranks
        if gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)):
            self.best = trial


def _best(trials: Iterable[Trial]) -> Trial:
    return max(trials, key=lambda trial: trial.mrr)


def _learning(
    name: str, aligner: BaseAligner, rounds: int, weight: float, weighting: Literal["csls"] | None = "csls"
) -> Candidate:
    times = f"{rounds} round{'s' if rounds > 1 else ''} of self-learning"
    pairs = "found pairs" if weighting else "all found pairs"
    return Candidate(f"{name}, {times}, {pairs} × {weight:g}", aligner, rounds, weight, weighting)
