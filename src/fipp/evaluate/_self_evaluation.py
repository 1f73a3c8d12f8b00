"""How well an alignment may have worked when there is no test dictionary."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fipp.aligners import BaseAligner
from fipp.aligners._holdout import held_out_parts
from fipp.aligners._mutual_pairs import mutual_pairs
from fipp.evaluate._bli import BLIResult, bli, result_of_queries
from fipp.exceptions import FippError, FippWarning
from fipp.linalg import Progress
from fipp.retrieve._options import check_count, check_retrieval


@dataclass(frozen=True)
class SelfEvaluation:
    """What can be said without a test dictionary.

    Attributes
    ----------
    cross_validation : BLIResult
        Of all seed pairs together, each looked up by a map that was learned without it. Maps learned from fewer
        pairs are a little worse than the map itself; seed words are more frequent, and so easier, than others.
    folds : int
        Into how many parts the seed pairs were cut.
    mutual_rate : float
        Share of the most frequent source words that are the nearest of their nearest target word, by CSLS.
    mean_csls : float
        Mean CSLS of those pairs. Useful to compare maps of the same two spaces, and for nothing else.
    words : int
        How many of the most frequent words of either side the last two figures are about, at most.

    Examples
    --------
    >>> scores = BLIResult(0.5, 0.5, 0.25, 0.75, 1.0, 4, 4, "cosine", np.array([1, 2, 3, 6]))
    >>> print(SelfEvaluation(scores, 2, 0.6, 0.123, 5000))
    no test dictionary: 2-fold cross-validation on the seed pairs gives MAP 0.5000, MRR 0.5000, P@1 0.2500, P@5 0.7500,
    P@10 1.0000 by cosine; 4 of 4 looked up (100.0 %). Of the 5,000 most frequent words 60.0 % have a mutual nearest
    neighbour, with a mean CSLS of 0.1230
    """

    cross_validation: BLIResult
    folds: int
    mutual_rate: float
    mean_csls: float
    words: int

    def as_dict(self, **options: Any) -> dict[str, Any]:
        """Return everything as numbers and text that JSON can hold.

        Parameters
        ----------
        **options
            ``interval``, ``bands``, … of `BLIResult.as_dict`, for the cross-validation.

        Returns
        -------
        dict
            ``"evaluated_on"`` says that this is no test dictionary.
        """
        return {
            "evaluated_on": "seed pairs, by cross-validation",
            "folds": self.folds,
            "cross_validation": self.cross_validation.as_dict(**options),
            "mutual_rate": self.mutual_rate,
            "mean_csls": None if np.isnan(self.mean_csls) else self.mean_csls,
            "words": self.words,
        }

    def __str__(self) -> str:
        return (
            f"no test dictionary: {self.folds}-fold cross-validation on the seed pairs gives {self.cross_validation}. "
            f"Of the {self.words:,} most frequent words {100 * self.mutual_rate:.1f} % have a mutual nearest "
            f"neighbour, with a mean CSLS of {self.mean_csls:.4f}"
        )


def self_evaluate(
    aligner: BaseAligner,
    X: NDArray,
    Y: NDArray,
    *,
    folds: int = 5,
    words: int = 5000,
    retrieval: str = "cosine",
    random_state: int = 0,
    max_memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> SelfEvaluation:
    """Judge a fitted aligner by the pairs that it was given and by mutual nearest neighbours.

    Copies of the aligner are fitted again, each without a part of the given pairs, which it is then asked for. Pairs
    that the method found itself are never asked for: it would only find again what it has made fit. Methods that
    learned from no given pairs are refused for the same reason.

    Parameters
    ----------
    aligner : aligner
        Fitted on ``X``, ``Y`` and known pairs.
    X, Y : ndarray of shape (n, d1) and (m, d2)
        The two vocabularies, in the order of frequency.
    folds : int, default=5
        Into how many parts the given pairs are cut. All pairs of a source word are in one.
    words : int, default=5000
        How many of the first words of either side the mutual neighbours are sought among.
    retrieval : {"cosine", "dot", "csls"}, default="cosine"
        How target words are ranked in the cross-validation.
    random_state : int, default=0
        The seed of the cut.
    max_memory : int or str, optional
        Working memory.
    progress : callable, optional
        Called as ``progress(done, total)`` after each fold.

    Returns
    -------
    SelfEvaluation

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import Procrustes
    >>> Y = np.random.default_rng(0).standard_normal((200, 8))
    >>> aligner = Procrustes().fit(Y[:, ::-1], Y, [(i, i) for i in range(100)])
    >>> result = self_evaluate(aligner, Y[:, ::-1], Y)
    >>> result.cross_validation.p_at_1, result.cross_validation.pairs, result.mutual_rate
    (1.0, 100, 1.0)
    """
    words = check_count(words, "words")
    pairs = _given_pairs(aligner, len(X), len(Y))
    searching: dict[str, Any] = {"retrieval": check_retrieval(retrieval), "max_memory": max_memory}
    folds = min(check_count(folds, "folds"), len(np.unique(pairs[:, 0])))
    parts = held_out_parts(pairs[:, 0], folds=folds, random_state=random_state)
    results = []
    for refitted, asked in _refits(aligner, X, Y, pairs, parts):
        results.append(bli(refitted.transform(X), refitted.transform_target(Y), *asked.T, **searching))
        if progress is not None:
            progress(len(results), folds)
    source, target = aligner.transform(X[:words]), aligner.transform_target(Y[:words])
    mutual, csls = mutual_pairs(source, target, retrieval="csls", max_memory=max_memory)
    mean_csls = float(csls.mean(dtype=np.float64)) if len(csls) else float("nan")
    return SelfEvaluation(_joined(results), folds, len(mutual) / len(source), mean_csls, len(source))


def _given_pairs(aligner: BaseAligner, n: int, m: int) -> NDArray[np.int64]:
    """Return the pairs that the aligner was given, or refuse if there are none that can be asked for."""
    pairs, name = aligner.pairs_, type(aligner).__name__
    if not len(pairs):
        raise FippError(
            f"{name} learned from no known pairs, and what a method found or guessed itself cannot tell how good it "
            "is: give a test dictionary, or align with known pairs and a method that learns from them"
        )
    if (pairs.max(axis=0) >= (n, m)).any():
        raise FippError(
            "the seed pairs of this model lie beyond the vectors given: without a test dictionary it takes all the "
            "vectors that it was fitted on"
        )
    return pairs


def _refits(
    aligner: BaseAligner, X: NDArray, Y: NDArray, pairs: NDArray[np.int64], parts: list[NDArray[np.bool_]]
) -> Iterator[tuple[BaseAligner, NDArray[np.int64]]]:
    """Fit a copy of the aligner without each part of the pairs in turn; yield it with the pairs held out."""
    for held_out in parts:
        with warnings.catch_warnings():
            # What there is to say about few pairs was said when the aligner itself was fitted.
            warnings.simplefilter("ignore", FippWarning)
            # A copy has the settings and nothing that was learned: neither the map, nor found pairs, nor guesses.
            refitted = clone(aligner).fit(X, Y, pairs[~held_out])
        yield refitted, pairs[held_out]


def _joined(results: list[BLIResult]) -> BLIResult:
    """Put results on different queries together, in the order of their row numbers."""
    queries = np.concatenate([result.queries for result in results if result.queries is not None])
    precision, ranks = (
        np.concatenate([values(result) for result in results])
        for values in (lambda result: result.per_query("map"), lambda result: result.ranks)
    )
    order = np.argsort(queries)
    return result_of_queries(precision[order], ranks[order], queries[order], len(queries), results[0].retrieval)
