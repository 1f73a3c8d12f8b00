"""The method chosen for these vectors and these pairs, on pairs held out."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Interval

from fipp.aligners._base import BaseAligner
from fipp.aligners._fipp import FIPP
from fipp.aligners._holdout import enough_parts
from fipp.aligners._local import Local
from fipp.aligners._procrustes import Procrustes
from fipp.aligners._ridge import Ridge
from fipp.aligners._score import reciprocal_ranks
from fipp.aligners._self_learned import Learned, SelfLearning, learn, plan
from fipp.aligners._spectral import Spectral
from fipp.aligners._wrapper import WrappingAligner
from fipp.exceptions import FippWarning
from fipp.linalg import Progress

# With fewer source words too few can be held out to tell anything; self-learning is what helps then.
_FEWEST_TO_CHOOSE = 200
_LEARNED_WEIGHTS = (0.3, 1.0)


class Auto(WrappingAligner):
    """The most accurate of several methods, chosen on pairs that are held out from the seed.

    First the plain methods compete: `Spectral` with several ridges and weights, Procrustes, FIPP and ridge regression.
    Then the best of them is tried with self-learning, found pairs counting less than known ones or as much, and with
    local corrections. Held-out words are looked up among all target words by cosine. What takes longer must be better
    by a standard error of the difference to be taken. From fewer than 200 source words nothing is chosen:
    self-learning over a growing vocabulary is taken, with a warning if what it found does not hold together.

    Parameters
    ----------
    budget : float, default=150
        Seconds after which nothing further is tried. What is chosen depends on it only if time runs out.
    n_words : int, default=12000
        Words of either side that self-learning pairs.
    random_state : int, default=0
        Which pairs are held out.

    Attributes
    ----------
    aligner_ : aligner
        The one chosen, fitted on the whole seed.
    chosen_ : str
        Its name.
    trials_ : str
        What was tried, as JSON: a list of names, mean reciprocal ranks by cosine with standard errors.
    pairs_ : ndarray of shape (c, 2)
        The known pairs.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed.head(60), "auto", n_words=4000)
    >>> alignment.aligner.chosen_
    'self-learning from few pairs'
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "budget": [Interval(Real, 0, None, closed="neither")],
        "n_words": [Interval(Integral, 1, None, closed="left")],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(self, *, budget: float = 150.0, n_words: int = 12_000, random_state: int = 0) -> None:
        self.budget = budget
        self.n_words = n_words
        self.random_state = random_state

    def _fit_vocabulary(self, X: NDArray, Y: NDArray, progress: Progress | None) -> None:
        if len(np.unique(self.pairs_[:, 0])) < _FEWEST_TO_CHOOSE:
            learner = SelfLearning(Spectral(reweight=1.0), n_words=self.n_words)
            self.aligner_ = learner.fit(X, Y, self.pairs_, progress=progress)
            self.chosen_, self.trials_ = "self-learning from few pairs", "[]"
            return
        search = _Search(X, Y, self.pairs_, self.random_state, self.n_words)
        deadline = time.monotonic() + self.budget
        stages = [search.try_spectral, search.try_plain, search.try_self_learning, search.try_local]
        with warnings.catch_warnings():
            # Of methods that may not be chosen.
            warnings.simplefilter("ignore", FippWarning)
            for done, stage in enumerate(stages):
                if progress is not None:
                    progress(done, len(stages) + 1)
                if done == 0 or time.monotonic() < deadline:
                    stage()
            self.chosen_, self.aligner_ = search.best.candidate.name, search.fit(search.best.candidate, None)
        self.trials_ = json.dumps([trial.as_dict() for trial in search.trials])
        if progress is not None:
            progress(len(stages) + 1, len(stages) + 1)


class _Candidate(NamedTuple):
    """Something that could be chosen."""

    name: str
    aligner: BaseAligner
    """Unfitted."""
    learner: BaseAligner | None = None
    """What finds pairs in self-learning, unfitted; none without it."""
    learned_weight: float = 1.0
    """What found pairs count."""
    local: bool = False


class _Trial(NamedTuple):
    """How well a candidate did on every held-out word."""

    candidate: _Candidate
    ranks: NDArray[np.float64]

    def as_dict(self) -> dict[str, Any]:
        error = float(self.ranks.std(ddof=1) / np.sqrt(len(self.ranks)))
        mrr = float(self.ranks.mean())
        return {"name": self.candidate.name, "mrr": round(mrr, 6), "standard_error": round(error, 6)}


class _Search:
    """Everything tried so far, on the same held-out words."""

    def __init__(self, X: NDArray, Y: NDArray, pairs: NDArray[np.int64], random_state: int, n_words: int) -> None:
        self.X, self.Y, self.pairs, self.n_words = X, Y, pairs, n_words
        self.parts = enough_parts(pairs[:, 0], random_state=random_state)
        self.trials: list[_Trial] = []
        self.best: _Trial
        self._found: dict[tuple[str, int | None], Learned] = {}

    def fit(self, candidate: _Candidate, held_out: int | None) -> BaseAligner:
        """Fit a candidate on all pairs, or on those that a part does not hold out."""
        pairs = self._pairs(held_out)
        if candidate.learner is not None:
            found = self._learn(candidate.learner, held_out)
            fitted = found.fit(self.X, self.Y, pairs, candidate.aligner, candidate.learned_weight)
        else:
            fitted = clone(candidate.aligner).fit(self.X, self.Y, pairs)
        return Local.correcting(fitted, self.X, self.Y, pairs) if candidate.local else fitted

    def _pairs(self, held_out: int | None) -> NDArray[np.int64]:
        return self.pairs if held_out is None else self.pairs[~self.parts[held_out]]

    def _learn(self, aligner: BaseAligner, held_out: int | None) -> Learned:
        key = repr(aligner), held_out
        if key not in self._found:
            pairs = self._pairs(held_out)
            rounds = plan(pairs, self.X, self.Y, self.n_words, 3)
            self._found[key] = learn(self.X, self.Y, pairs, aligner, rounds)
        return self._found[key]

    def _try(
        self, candidates: Sequence[_Candidate], fit_all: Callable[[int], Sequence[BaseAligner]] | None = None
    ) -> None:
        """Score candidates, simpler ones first, and keep the best so far."""
        scored = []
        for number, part in enumerate(self.parts):
            fitted = fit_all(number) if fit_all else [self.fit(candidate, number) for candidate in candidates]
            scored.append(reciprocal_ranks(fitted, self.X, self.Y, self.pairs[part]))
        for candidate, ranks in zip(candidates, np.concatenate(scored, axis=1), strict=True):
            self.trials.append(_Trial(candidate, ranks))

    def _take_best(self, trials: Sequence[_Trial], *, over: _Trial | None = None) -> None:
        best = max(trials, key=lambda trial: round(float(trial.ranks.mean()), 12))
        if over is not None:
            gain = best.ranks - over.ranks
            if gain.mean() <= gain.std(ddof=1) / np.sqrt(len(gain)):
                return
        self.best = best

    def try_spectral(self) -> None:
        """Try `Spectral` with several ridges and weights."""
        grid = Spectral.default_grid
        settings = [{"reweight": weight, "ridge": ridge} for weight in grid["reweight"] for ridge in grid["ridge"]]
        candidates = [
            _Candidate(_name(changed["ridge"], changed["reweight"]), Spectral(**changed)) for changed in settings
        ]
        self._try(candidates, lambda part: Spectral().fit_many(self.X, self.Y, self._pairs(part), settings=settings))
        self._take_best(self.trials)

    def try_plain(self) -> None:
        """Try methods with nothing to choose; they are as simple."""
        plain = {"procrustes": Procrustes(), "procrustes, isotropic": Procrustes("isotropic"), "fipp": FIPP()}
        self._try([_Candidate(name, aligner) for name, aligner in {**plain, "ridge": Ridge()}.items()])
        self._take_best(self.trials)

    def try_self_learning(self) -> None:
        """Try the best with pairs that it finds itself."""
        before = self.best
        learner = before.candidate.aligner
        # With more pairs, other weights of the shared directions may be the better ones.
        finals = {before.candidate.name: learner}
        if isinstance(learner, Spectral):
            weights = Spectral.default_grid["reweight"]
            finals = {_name(learner.ridge, weight): Spectral(learner.ridge, weight) for weight in weights}
        candidates = [
            _Candidate(f"{name}, self-learning, found pairs {weight}", aligner, learner, weight)
            for name, aligner in finals.items()
            for weight in (_LEARNED_WEIGHTS if aligner.takes_weights else (1.0,))
        ]
        self._try(candidates)
        self._take_best(self.trials[-len(candidates) :], over=before)

    def try_local(self) -> None:
        """Try the best with local corrections."""
        before = self.best
        self._try([before.candidate._replace(name=f"{before.candidate.name}, local corrections", local=True)])
        self._take_best(self.trials[-1:], over=before)


def _name(ridge: float, reweight: float | str) -> str:
    return f"spectral, ridge {ridge}, weights {reweight}"
