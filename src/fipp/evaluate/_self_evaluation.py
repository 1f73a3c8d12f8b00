"""Evaluation without a test dictionary: cross-validation on the seed pairs, and mutual nearest neighbours."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fipp._progress import Progress, Steps
from fipp.aligners import BaseAligner, held_out_parts
from fipp.evaluate._bli import bli
from fipp.evaluate._result import BLIResult
from fipp.exceptions import FippError, FippWarning
from fipp.retrieve import check_count, check_retrieval, mutual_neighbours


def self_evaluate(
    aligner: BaseAligner,
    X: NDArray[Any],
    Y: NDArray[Any],
    *,
    folds: int = 5,
    words: int = 5000,
    retrieval: str = "cosine",
    random_state: int = 0,
    max_memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> BLIResult:
    """Evaluate a fitted aligner by the pairs that it was given and by mutual nearest neighbours.

    Copies of the aligner are fitted, each without a part of the given pairs, which it then looks up. Pairs that the
    method found itself are never looked up, because it would only find again what it made fit. Methods that learned
    from no given pairs are refused for the same reason.

    Parameters
    ----------
    aligner : aligner
        Fitted on ``X``, ``Y`` and known pairs.
    X, Y : ndarray of shape (n, d1) and (m, d2)
        The two vocabularies, in the order of frequency.
    folds : int, default=5
        Into how many parts the given pairs are divided. All pairs of a source word are in the same part.
    words : int, default=5000
        Mutual neighbours are searched among this many of the most frequent words of either side.
    retrieval : {"cosine", "dot", "csls"}, default="cosine"
        How target words are ranked in the cross-validation.
    random_state : int, default=0
        The seed of the division.
    max_memory : int or str, optional
        Working memory.
    progress : callable, optional
        Called as ``progress(done, total)`` after each fold.

    Returns
    -------
    BLIResult
        On all given pairs together, with ``folds``, ``mutual_rate``, ``mean_csls`` and ``mutual_words``.

    Examples
    --------
    >>> from fipp import Procrustes
    >>> Y = np.random.default_rng(0).standard_normal((200, 8))
    >>> aligner = Procrustes().fit(Y[:, ::-1], Y, [(i, i) for i in range(100)])
    >>> result = self_evaluate(aligner, Y[:, ::-1], Y)
    >>> result.p_at_1, result.n_queries, result.mutual_rate
    (1.0, 100, 1.0)
    """
    words = check_count(words, "words")
    pairs = given_pairs(aligner, len(X), len(Y))
    searching: dict[str, Any] = {"retrieval": check_retrieval(retrieval), "max_memory": max_memory}
    folds = min(check_count(folds, "folds"), len(np.unique(pairs[:, 0])))
    parts = held_out_parts(pairs[:, 0], folds=folds, random_state=random_state)
    results, steps = [], Steps(progress, folds)
    for refitted, asked in refits(aligner, X, Y, pairs, parts):
        results.append(bli(refitted.transform(X), refitted.transform_target(Y), *asked.T, **searching))
        steps()
    source, target = aligner.transform(X[:words]), aligner.transform_target(Y[:words])
    mutual = mutual_neighbours(source, target, retrieval="csls", max_memory=max_memory)
    queries = np.concatenate([each.queries for each in results])
    order = np.argsort(queries)
    return BLIResult.of_queries(
        np.concatenate([each.precision for each in results])[order],
        np.concatenate([each.ranks for each in results])[order],
        queries[order],
        len(queries),
        results[0].retrieval,
        folds=folds,
        mutual_rate=len(mutual.pairs) / len(source),
        mean_csls=mutual.mean_score if len(mutual.pairs) else None,
        mutual_words=len(source),
    )


def given_pairs(aligner: BaseAligner, n: int, m: int) -> NDArray[np.int64]:
    """Return the pairs that the aligner was given, or refuse if there are none that can be looked up."""
    pairs, name = aligner.pairs_, type(aligner).__name__
    if not len(pairs):
        raise FippError(
            f"{name} learned from no known pairs, and pairs that a method found or guessed itself do not show how good "
            "it is: give a test dictionary, or align with known pairs and a method that learns from them"
        )
    if (pairs.max(axis=0) >= (n, m)).any():
        raise FippError(
            "the seed pairs of this model lie beyond the vectors given: evaluation without a test dictionary needs all "
            "the vectors that it was fitted on"
        )
    return pairs


def refits(
    aligner: BaseAligner, X: NDArray[Any], Y: NDArray[Any], pairs: NDArray[np.int64], parts: list[NDArray[np.bool_]]
) -> Iterator[tuple[BaseAligner, NDArray[np.int64]]]:
    """Fit a copy of the aligner without each part of the pairs in turn; yield it with the pairs held out."""
    for held_out in parts:
        with warnings.catch_warnings():
            # Ignore warnings about few pairs: the fit of the aligner itself raised them.
            warnings.simplefilter("ignore", FippWarning)
            # A clone has the settings and nothing that was learned: no map, no found pairs, no guesses.
            refitted = clone(aligner).fit(X, Y, pairs[~held_out])
        yield refitted, pairs[held_out]
