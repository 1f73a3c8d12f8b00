"""The method chosen for these vectors and these pairs, on pairs held out."""

from __future__ import annotations

import json
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from fipp.aligners._guessing import GuessingAligner
from fipp.aligners._search import Search
from fipp.aligners._self_learned import SelfLearning
from fipp.aligners._unsupervised import Unsupervised
from fipp.exceptions import FippWarning
from fipp.linalg import Progress

# With fewer source words too few can be held out to tell anything; self-learning is what helps then.
_FEWEST_TO_CHOOSE = 200


class Auto(GuessingAligner):
    """The most accurate of several methods, chosen on pairs that are held out from the seed.

    First the plain methods compete: `Spectral` with several ridges, Procrustes, FIPP and ridge regression. The best of
    them is tried with self-learning, after each of its rounds, found pairs counting less than known ones or as much;
    then with its map refined by `Ranking`, and with local corrections. Held-out words are looked up among all target
    words by cosine and by CSLS, and the mean of both reciprocal ranks decides; self-learning must be better by a
    standard error of the difference. What is chosen is fitted again on the whole seed. From fewer than 200 source words
    nothing is chosen: self-learning over a growing vocabulary and a few steps of ranking are taken, with a warning if
    the found pairs do not hold together. Without known pairs, from guesses such as words spelled alike or from nothing,
    it is `Unsupervised`.

    Parameters
    ----------
    budget : float, default=150
        Seconds after which nothing further is tried. What is chosen depends on it only if time runs out.
    n_words : int, default=20000
        Words of either side that self-learning pairs in its last round.
    random_state : int, default=0
        Which pairs are held out.

    Attributes
    ----------
    aligner_ : aligner
        The one chosen, fitted on the whole seed.
    chosen_ : str
        Its name.
    trials_ : str
        What was tried, as JSON: a list of names and mean reciprocal ranks, half by cosine and half by CSLS, with
        standard errors.
    timed_out_ : bool
        Whether time ran out before everything was tried.
    pairs_ : ndarray of shape (c, 2)
        The given pairs.
    induced_pairs_ : ndarray of shape (k, 2)
        Pairs that the chosen method found itself and ``aligner_`` was fitted on; often none.

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

    def __init__(self, *, budget: float = 150.0, n_words: int = 20_000, random_state: int = 0) -> None:
        self.budget = budget
        self.n_words = n_words
        self.random_state = random_state

    @property
    def needs_pairs(self) -> bool:
        """Whether known pairs are needed: unless ``fit`` was given guesses, perhaps none, in their place."""
        return self._guesses is None

    def _fit_vocabulary(self, X: NDArray, Y: NDArray, progress: Progress | None) -> None:
        self.timed_out_ = False
        if not self.needs_pairs:
            learner = Unsupervised(n_words=self.n_words).fit(X, Y, guesses=self._guesses, progress=progress)
            self.aligner_, self.chosen_, self.trials_ = learner, f"without known pairs, from {learner.describe()}", "[]"
            return
        if len(np.unique(self.pairs_[:, 0])) < _FEWEST_TO_CHOOSE:
            learner = SelfLearning(n_words=self.n_words, learned_weight=0.5, ranking_steps=3)
            self.aligner_ = learner.fit(X, Y, self.pairs_, progress=progress)
            self.chosen_, self.trials_ = "self-learning from few pairs", "[]"
            return
        search = Search(X, Y, self.pairs_, self.random_state, self.n_words, self.budget)
        with warnings.catch_warnings():
            # Of methods that may not be chosen.
            warnings.simplefilter("ignore", FippWarning)
            self.timed_out_ = not search.run(progress)
            best = search.best.candidate
            self.chosen_, self.aligner_ = best.name, search.fit(best, None)
        self.trials_ = json.dumps([trial.as_dict() for trial in search.trials])
        if progress is not None:
            progress(Search.N_STAGES + 1, Search.N_STAGES + 1)
