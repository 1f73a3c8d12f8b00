"""The best method for given vectors and pairs, chosen on held-out pairs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from fipp._deadline import Deadline
from fipp._progress import Progress, stages
from fipp.aligners._auto_search import Search, Skipped
from fipp.aligners._base import NO_PAIRS
from fipp.aligners._constraints import AT_LEAST_1, COUNT, NOT_NEGATIVE
from fipp.aligners._preprocessing import shared_preprocessing
from fipp.aligners._self_learning import SelfLearning
from fipp.aligners._unsupervised import FROM_GUESSES, Unsupervised, by_similarities
from fipp.aligners._wrapper import WrappingAligner
from fipp.exceptions import FippError, FippWarning, warn
from fipp.io import Each

# With fewer source words, too few can be held out to compare methods; self-learning is what helps then.
_FEWEST_TO_CHOOSE = 200
# What it began with.
_BESIDE = {"pairs": "", "spelling": " and words spelled alike", "similarities": " and words with similar similarities"}


class Auto(WrappingAligner):
    """The most accurate of several methods, chosen on pairs that are held out from the seed.

    First the plain methods compete: `Spectral` with several ridges, Procrustes, FIPP and ridge regression. If the seed
    is noisy, the best of them is tried without the pairs that look wrong. It is tried with self-learning, in which
    found pairs count less than known ones or as much; then with its map refined by `Ranking`, with and without found
    pairs if neither is clearly better; then with local corrections. The mean reciprocal rank of held-out words by
    cosine and by CSLS decides; neither of the two may pay for the other, and self-learning and leaving out pairs must
    be better by a standard error of the difference; with fewer pairs than dimensions, self-learning is taken unless it
    is worse by that much.
    Candidates that are clearly behind on some of the held-out words are not tried on the others. The chosen method is
    fitted again on the whole seed. With fewer than 200 source words, none can be held out: `SelfLearning` with a few
    steps of ranking is used. It begins with the known pairs or, if what it finds from them may not hold together, with
    guesses beside them: words spelled alike, which `fipp.align` looks for and ``fit`` takes, and words with similar
    similarities to others. Without known pairs, `Unsupervised` is used.

    Parameters
    ----------
    budget : float, default=50
        How much work may be spent on trying methods, in trillions (10¹²) of multiply-adds, each of which takes about 40
        seconds of one core. Stages for which not enough is left are skipped with a warning, except the ridges of
        `Spectral`. The work is estimated from the sizes of the vocabularies and the seed, so that the choice is the
        same on every machine: about 3.5 for two vocabularies of 50,000 words in 300 dimensions and 1,000 pairs.
    deadline : float, optional
        Seconds after which no further stage begins. A warning says what was not tried; another run may then choose
        differently. By default, the choice does not depend on time.
    max_words : int, default=30000
        Words of either side that self-learning pairs in its last round; while methods are compared, at most three
        fifths of small vocabularies.
    random_state : int, default=0
        Decides which pairs are held out.

    Attributes
    ----------
    aligner_ : aligner
        The chosen aligner, fitted on the whole seed.
    chosen_ : str
        Its name.
    trials_ : list of dict
        The candidates that were tried: names, mean reciprocal ranks over cosine and CSLS, standard errors, and the
        number of held-out words, which is smaller for those that fell clearly behind.
    skipped_ : list of dict
        The stages that were not tried, with their work and the reason, ``"budget"`` or ``"deadline"``; without known
        pairs, the starts that were not tried. Mostly empty.
    left_out_pairs_ : ndarray of shape (l, 2)
        Known pairs that the chosen method was fitted without, because they look wrong; mostly none.
    induced_pairs_ : ndarray of shape (k, 2)
        Pairs that the chosen method found itself and on which ``aligner_`` was fitted; often none.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed.head(60), "auto", max_words=4000)
    >>> alignment.aligner.chosen_
    'self-learning from few pairs'
    """

    guesses_below: ClassVar[int] = _FEWEST_TO_CHOOSE

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "budget": [NOT_NEGATIVE],
        "deadline": [NOT_NEGATIVE, None],
        "max_words": [AT_LEAST_1],
        "random_state": [COUNT],
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **WrappingAligner._fitted_constraints,
        "chosen_": [str],
        "left_out_pairs_?": "int64 l 2",
        "trials_": Each({"name": [str], "mrr": [Real], "standard_error": [Real], "words": [Integral]}),
        "skipped_": Each(
            {"by": [StrOptions({"budget", "deadline"})], "start?": [str], "stage?": [str], "work?": [Real]}
        ),
    }

    def __init__(
        self, *, budget: float = 50.0, deadline: float | None = None, max_words: int = 30_000, random_state: int = 0
    ) -> None:
        self.budget = budget
        self.deadline = deadline
        self.max_words = max_words
        self.random_state = random_state

    def _check_fitted(self) -> None:
        if self.trials_ and self.chosen_ not in [trial["name"] for trial in self.trials_]:
            raise FippError("the method that it chose is not among those that it tried")
        if self.trials_ and not all("stage" in skipped for skipped in self.skipped_):
            raise FippError("it does not say which stages it skipped")
        if len(self.left_out_pairs_) > len(self.pairs_):
            raise FippError("it left out more pairs than it was given")

    @property
    def takes_guesses(self) -> bool:
        """True: it learns from words spelled alike without known pairs, as `Unsupervised` does, and beside few."""
        return True

    def _fit_vocabulary(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> None:
        self.trials_: list[dict[str, Any]] = []
        self.skipped_: list[dict[str, Any]] = []
        guesses = NO_PAIRS if self._guesses is None else self._guesses
        if not len(self.pairs_):
            learner = Unsupervised(max_words=self.max_words, deadline=self.deadline)
            self.aligner_ = learner.fit(X, Y, guesses=guesses, progress=progress)
            self.chosen_, self.skipped_ = f"without known pairs, from {learner.describe()}", learner.skipped_
        elif len(np.unique(self.pairs_[:, 0])) < _FEWEST_TO_CHOOSE:
            few = SelfLearning(max_words=self.max_words, learned_weight=0.5, ranking_steps=3)
            few.trying(FROM_GUESSES, spelling=lambda: guesses, similarities=lambda: by_similarities(X, Y))
            self.aligner_ = few.fit(X, Y, self.pairs_, progress=progress)
            self.chosen_ = f"self-learning from few pairs{_BESIDE[few.start_]}"
        else:
            self._choose(X, Y, progress)

    def _choose(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> None:
        search = Search(X, Y, self.pairs_, self.random_state, self.max_words)
        parts = stages(progress, search.shares())
        with shared_preprocessing(), warnings.catch_warnings(action="ignore", category=FippWarning):
            # Ignore warnings from candidates that may not be chosen.
            search.run(self.budget, Deadline(self.deadline), parts)
            best = search.best.candidate
            for search.progress in parts:  # the last one
                self.chosen_, self.aligner_ = best.name, search.fit(best, None)
            by_chance = search.mrr_by_chance()
        if by_chance is not None:
            warn(
                f"the map is most likely wrong: it finds held-out pairs at a mean reciprocal rank of "
                f"{search.best.mrr:.4f}, hardly better than shuffled ones ({by_chance:.4f}). Check the pairs, and "
                "whether vectors and words of both sides belong together"
            )
        self.left_out_pairs_ = search.left_out(best)
        self.trials_ = [trial.as_dict() for trial in search.trials]
        self.skipped_ = [skipped.as_dict() for skipped in search.skipped]
        for message in self._left_out(search.skipped, search.spent):
            warn(message)

    def _left_out(self, skipped: Sequence[Skipped], spent: float) -> Iterator[str]:
        """Yield messages that say what was not tried, why, and what to do about it."""
        by_budget = [f"{each.stage} ({each.work:.2g})" for each in skipped if each.by == "budget"]
        by_deadline = [each.stage for each in skipped if each.by == "deadline"]
        if by_budget:
            everything = spent + sum(each.work for each in skipped)
            yield (
                f"auto has not tried {', '.join(by_budget)}: of the budget of {self.budget:g} trillion multiply-adds "
                f"{spent:.2g} were spent, and the rest is not enough. budget={math.ceil(everything)} tries everything"
            )
        if by_deadline:
            yield (
                f"auto has not tried {', '.join(by_deadline)}: the deadline of {self.deadline:g} seconds had passed. "
                "Another run may choose differently; without a deadline everything is tried"
            )


def why_chosen(trials: Sequence[Mapping[str, Any]], chosen: str, skipped: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the reason for a choice of `Auto`, given its ``trials_``, ``chosen_`` and ``skipped_``.

    Examples
    --------
    >>> why_chosen([{"name": "fipp", "mrr": 0.9, "words": 100}, {"name": "ridge", "mrr": 0.8, "words": 100}], "fipp")
    'the best of 2 on held-out pairs'
    """
    if not trials:
        few = "too few source words to hold some out"
        return "no pairs are known" if chosen.startswith("without known pairs") else few
    # Leave out candidates that fell clearly behind on the first of the held-out words.
    words = max(trial.get("words", 0) for trial in trials)
    mrr = {trial["name"]: trial["mrr"] for trial in trials if trial.get("words", 0) == words}
    best = max(mrr, key=lambda name: mrr[name])
    reason = f"{best} has a higher mean, but takes longer without being clearly better, or is worse by cosine or CSLS"
    if mrr[chosen] == mrr[best]:
        reason = f"the best of {len(trials)} on held-out pairs"
    for limit in ("budget", "deadline"):
        stages_left_out = [each["stage"] for each in skipped if each["by"] == limit]
        if stages_left_out:
            reason += f"; the {limit} left out {', '.join(stages_left_out)}"
    return reason
