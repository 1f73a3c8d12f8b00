"""Which seed pairs a map is learned from, and which are held out to see how well it does."""

from __future__ import annotations

from operator import index

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fipp.exceptions import FippError

SHARE = 0.2
"""The share of the seed that is held out if nothing is said, as published."""

# With fewer, nothing could be said about the settings.
_FEWEST_WORDS = 5
# So many held-out words tell differences of about a point; more are not worth their time.
_ENOUGH_WORDS = 400


def held_out_parts(
    source_rows: NDArray[np.int64],
    holdout: float | None = None,
    folds: int | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> list[NDArray[np.bool_]]:
    """Divide pairs by their source words, so that no source word is both learned from and held out.

    Parameters
    ----------
    source_rows : ndarray of shape (c,)
        The source word of each pair.
    holdout : float, optional
        Share of the source words to hold out once; two words at least, so that there is a standard error.
    folds : int, optional
        Divide the source words into so many parts and hold out each in turn.
    random_state : int, RandomState or None
        Which words.

    Returns
    -------
    list of ndarray of bool of shape (c,)
        For each round, the pairs held out.

    Examples
    --------
    >>> [part] = held_out_parts(np.array([0, 0, 1, 2, 3, 4]), holdout=0.4)
    >>> bool(part[0] == part[1]), len(held_out_parts(np.arange(6), folds=3))
    (True, 3)
    """
    words, position = np.unique(source_rows, return_inverse=True)
    if len(words) < _FEWEST_WORDS:
        raise FippError(
            f"{_FEWEST_WORDS} source words at least must have a known translation, because some are held out; here "
            f"there are {len(words)}. Find more pairs, or hold none out: take the defaults instead of choosing "
            "settings, and a test dictionary to evaluate with"
        )
    if folds is not None and holdout is not None:
        raise FippError("take either holdout, a share to hold out once, or folds, each held out in turn")
    order = check_random_state(random_state).permutation(len(words))
    if folds is not None:
        parts = np.array_split(order, _check_folds(folds, len(words)))
    else:
        share = _check_share(SHARE if holdout is None else holdout)
        parts = [order[: min(max(2, round(share * len(words))), len(words) - 1)]]
    return [np.isin(position, part) for part in parts]


def enough_parts(
    source_rows: NDArray[np.int64], holdout: float = SHARE, random_state: int = 0
) -> list[NDArray[np.bool_]]:
    """Hold out a share of the source words, and as many further shares in turn as make about 400 words.

    Examples
    --------
    >>> len(enough_parts(np.arange(5000))), len(enough_parts(np.arange(1000))), len(enough_parts(np.arange(50)))
    (1, 2, 5)
    """
    max_words, folds = len(np.unique(source_rows)), max(round(1 / holdout), 2)
    parts = held_out_parts(source_rows, folds=min(folds, max_words), random_state=random_state)
    return parts[: max(round(folds * _ENOUGH_WORDS / max_words), 1)]


def _check_share(holdout: float) -> float:
    if isinstance(holdout, bool) or not isinstance(holdout, (int, float, np.number)) or not 0 < holdout < 1:
        raise FippError(f"holdout is the share of source words to hold out, between 0 and 1, not {holdout!r}")
    return float(holdout)


def _check_folds(folds: int, max_words: int) -> int:
    try:
        number = index(folds)
    except TypeError:
        number = 0
    if not 2 <= number <= max_words:
        raise FippError(f"folds must be a whole number from 2 to {max_words:,}, the number of words, not {folds!r}")
    return number
