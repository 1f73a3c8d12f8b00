"""Results of an index that is half converted: found among the new model's own vectors, and among converted ones.

Converted vectors have other scores than the new model's own, so that results cannot be merged by score. If documents
were embedded again in random order, both halves have equally good answers in proportion to their sizes. So the
converted document that is r-th of m gets the score that a native one at the same height, r n / m of n, would have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp.exceptions import FippError


class Merged(NamedTuple):
    """Results of both halves in one order.

    Attributes
    ----------
    is_native : ndarray of bool
        Whether each result is one of the new model's own vectors.
    places : ndarray of int
        The place of each result in the list that it comes from, from 0.
    scores : ndarray
        Scores on the scale of the native ones.
    """

    is_native: NDArray[np.bool_]
    places: NDArray[np.int64]
    scores: NDArray[np.float64]


def merge_halves(native: ArrayLike, converted: ArrayLike, *, n_native: int, n_converted: int, k: int = 10) -> Merged:
    """Merge what one query found among native and among converted vectors so that neither half is preferred.

    Documents must have been embedded again in random order: if the most wanted ones came first, they are better answers
    than their number says, and no merging that was tried is fair (docs/results/serving.md).

    Parameters
    ----------
    native, converted : array of shape (k or more,)
        The scores of the best results in either half, best first.
    n_native, n_converted : int
        How many vectors either half has.
    k : int, default=10
        How many results to return.

    Returns
    -------
    Merged

    Examples
    --------
    >>> merge_halves([0.9, 0.7, 0.5], [0.6, 0.5, 0.2], n_native=1000, n_converted=1000, k=4).is_native.tolist()
    [True, False, True, False]
    >>> merge_halves([0.9, 0.7, 0.5], [0.6, 0.5, 0.2], n_native=500, n_converted=1500, k=4).is_native.tolist()
    [False, True, False, False]
    """
    ours, theirs = (np.asarray(scores, np.float64) for scores in (native, converted))
    for name, scores, size in (("native", ours, n_native), ("converted", theirs, n_converted)):
        if scores.ndim != 1 or (np.diff(scores) > 0).any() or not np.isfinite(scores).all():
            raise FippError(f"{name} must be a list of numbers, best first")
        if size < len(scores):
            raise FippError(f"n_{name} is {size:,}, but there are {len(scores):,} results: it is the size of the half")
    # The height of the r-th of n is (r + ½) / n, as seen from the top.
    heights = [
        (np.arange(len(scores)) + 0.5) / max(size, 1) for scores, size in ((ours, n_native), (theirs, n_converted))
    ]
    scores = np.concatenate([ours, np.interp(heights[1], heights[0], ours) if len(ours) else theirs])
    order = np.argsort(np.concatenate(heights), kind="stable")[:k]
    is_native = np.arange(len(scores)) < len(ours)
    places = np.where(is_native, np.arange(len(scores)), np.arange(len(scores)) - len(ours))
    return Merged(is_native[order], places[order], scores[order])
