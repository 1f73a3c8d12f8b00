"""A whole dictionary from an alignment: words that choose each other, and how likely each pair is to be right."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from fipp._progress import Progress, Steps
from fipp.aligners import BaseAligner, held_out_parts
from fipp.evaluate._self_evaluation import given_pairs, refits
from fipp.exceptions import FippError
from fipp.io import Lexicon, Vectors
from fipp.retrieve import MutualNeighbours, check_count, mutual_neighbours

# Fewer held-out pairs that were found say nothing about how often such pairs are right.
_FEWEST_JUDGED = 30


class InducedPairs(NamedTuple):
    """Pairs of rows that choose each other, most likely ones first.

    Attributes
    ----------
    rows : ndarray of int64 of shape (k, 2)
        Source row and target row of each pair.
    scores : ndarray of float32 of shape (k,)
        CSLS.
    probabilities : ndarray of float64 of shape (k,), or None
        Estimates that a pair is right; None without given pairs to learn them from.
    n_judged : int
        The number of given pairs, held out, from which the probabilities were learned.
    """

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]
    probabilities: NDArray[np.float64] | None
    n_judged: int

    def best(self, precision: float | None = None) -> InducedPairs:
        """Return the pairs that are more likely right than wrong, or as many as the ``precision`` of all allows."""
        if self.probabilities is None:
            return self
        if precision is None:
            kept = int((self.probabilities >= 0.5).sum())
        else:
            means = np.cumsum(self.probabilities) / np.arange(1, len(self.probabilities) + 1)
            kept = int((means >= precision).sum())
        return self._replace(rows=self.rows[:kept], scores=self.scores[:kept], probabilities=self.probabilities[:kept])


class Induction(NamedTuple):
    """A dictionary that an alignment found.

    Attributes
    ----------
    lexicon : Lexicon
        Pairs of words that choose each other, best first. Their scores are estimates of the probability that a pair is
        right, or CSLS where no pairs are known to learn that from.
    precision : float or None
        The estimated share of right pairs among them; None if it is not known.
    n_found, n_judged : int
        The number of pairs that choose each other, kept or not, and of held-out pairs that the estimate comes from.
    """

    lexicon: Lexicon
    precision: float | None
    n_found: int
    n_judged: int


def induce_pairs(
    aligner: BaseAligner,
    X: NDArray[Any],
    Y: NDArray[Any],
    *,
    folds: int = 5,
    random_state: int = 0,
    max_memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> InducedPairs:
    r"""Pair the rows that are each other's nearest neighbour by CSLS, and estimate how many of them are right.

    Copies of the aligner are fitted, each without a part of the given pairs. A logistic regression on the score learns
    from the pairs that these copies find for held-out source words,

    .. math:: P(\text{right}) = 1 / (1 + e^{-(a + b\,\mathrm{CSLS})}).

    A pair that is right but not in the dictionary counts as wrong. Of an aligner that chose a method, only the chosen
    method is fitted again.

    Parameters
    ----------
    aligner : aligner
        Fitted on ``X``, ``Y`` and known pairs.
    X, Y : ndarray of shape (n, d1) and (m, d2)
        The two vocabularies.
    folds : int, default=5
        Into how many parts the given pairs are divided.
    random_state : int, default=0
        The seed of the division.
    max_memory : int or str, optional
        Working memory.
    progress : callable, optional
        Called as ``progress(done, total)`` after each fold.

    Returns
    -------
    InducedPairs
        Without probabilities if the aligner was given no pairs, or if too few were found again.

    Examples
    --------
    >>> from fipp import Procrustes
    >>> Y = np.random.default_rng(0).standard_normal((200, 8))
    >>> aligner = Procrustes().fit(Y[:, ::-1], Y, [(i, i) for i in range(100)])
    >>> found = induce_pairs(aligner, Y[:, ::-1], Y)
    >>> len(found.rows), found.n_judged, bool((found.rows[:, 0] == found.rows[:, 1]).all())
    (200, 100, True)
    """
    folds = check_count(folds, "folds")
    known = len(aligner.pairs_) > 0
    steps = Steps(progress, 1 + folds * known)
    steps(0)
    found = _mutual(aligner, X, Y, max_memory)
    steps()
    order = np.argsort(-found.scores, kind="stable")
    rows, scores = found.pairs[order], found.scores[order]
    if not known:
        return InducedPairs(rows, scores, None, 0)
    pairs = given_pairs(aligner, len(X), len(Y))
    parts = held_out_parts(pairs[:, 0], folds=min(folds, len(np.unique(pairs[:, 0]))), random_state=random_state)
    judged_scores, right = [], []
    chosen = aligner.aligner_ if hasattr(aligner, "aligner_") else aligner
    for refitted, asked in refits(chosen, X, Y, pairs, parts):
        again = _mutual(refitted, X, Y, max_memory)
        of_asked = np.isin(again.pairs[:, 0], asked[:, 0])
        judged_scores.append(again.scores[of_asked])
        right.append(_contained(again.pairs[of_asked], pairs, len(Y)))
        steps()
    probabilities = _probabilities(np.concatenate(judged_scores), np.concatenate(right), scores)
    return InducedPairs(rows, scores, probabilities, sum(map(len, right)))


def check_precision(precision: float | None) -> None:
    """Refuse a precision that is not a share."""
    if precision is not None and not 0 < precision < 1:
        raise FippError(f"precision must lie between 0 and 1, such as 0.8, not {precision:g}")


def induce(
    aligner: BaseAligner,
    source: Vectors,
    target: Vectors,
    precision: float | None = None,
    *,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> Induction:
    """Find a whole dictionary; see `fipp.Alignment.induce`."""
    check_precision(precision)
    everything = induce_pairs(aligner, source.matrix, target.matrix, max_memory=max_memory, progress=progress)
    if precision is not None and everything.probabilities is None:
        raise FippError("the precision cannot be estimated: too few known pairs were found again when held out")
    best = everything.best(precision)
    words = [(source.words[s], target.words[t]) for s, t in best.rows.tolist()]
    scores = best.scores if best.probabilities is None else best.probabilities
    expected = float(scores.mean()) if best.probabilities is not None and len(scores) else None
    lexicon = Lexicon(words, scores.astype(float).round(4))
    return Induction(lexicon, expected, len(everything.rows), everything.n_judged)


def _mutual(
    aligner: BaseAligner, X: NDArray[Any], Y: NDArray[Any], max_memory: int | float | str | None
) -> MutualNeighbours:
    mapped = aligner.transform(X), aligner.transform_target(Y)
    return mutual_neighbours(*mapped, retrieval="csls", max_memory=max_memory)


def _contained(pairs: NDArray[np.int64], known: NDArray[np.int64], m: int) -> NDArray[np.bool_]:
    """Return whether each pair is among the known ones; the target has ``m`` rows."""
    return np.isin(pairs @ [m, 1], known @ [m, 1])


def _probabilities(
    judged: NDArray[np.float32], right: NDArray[np.bool_], scores: NDArray[np.float32]
) -> NDArray[np.float64] | None:
    if len(judged) < _FEWEST_JUDGED:
        return None
    if right.all() or not right.any():
        # One kind only: the rule of succession, the same for all scores.
        return np.full(len(scores), (right.sum() + 1) / (len(right) + 2))
    centre, spread = judged.mean(dtype=np.float64), judged.std(dtype=np.float64)
    model = LogisticRegression().fit(((judged - centre) / spread)[:, None], right)
    # A score that says the opposite of what it should says nothing.
    if model.coef_[0, 0] <= 0:
        return np.full(len(scores), right.mean())
    return model.predict_proba(((scores - centre) / spread)[:, None])[:, 1]
