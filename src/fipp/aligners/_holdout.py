"""Which seed pairs a map is learned from, which are held out, and when to stop by the score of those."""

from __future__ import annotations

from operator import index

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, ShuffleSplit

from fipp.exceptions import FippError

SHARE = 0.2
"""The share of the seed that is held out by default, as published."""

# With fewer words, a held-out score would say nothing about the settings.
_FEWEST_WORDS = 5
# This many held-out words resolve differences of about a point; more are not worth their time.
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
        Share of the source words to hold out once; at least two words, so that there is a standard error.
    folds : int, optional
        Number of parts that the source words are divided into, each of which is held out in turn.
    random_state : int, RandomState or None
        Decides which words are held out.

    Returns
    -------
    list of ndarray of bool of shape (c,)
        The pairs that are held out, for each round.

    Examples
    --------
    >>> [part] = held_out_parts(np.array([0, 0, 1, 2, 3, 4]), holdout=0.4)
    >>> bool(part[0] == part[1]), len(held_out_parts(np.arange(6), folds=3))
    (True, 3)
    """
    words, word_of_pair = np.unique(source_rows, return_inverse=True)
    if len(words) < _FEWEST_WORDS:
        raise FippError(
            f"{_FEWEST_WORDS} source words at least must have a known translation, because some are held out; here "
            f"there are {len(words)}. Find more pairs, or hold none out: take the defaults instead of choosing "
            "settings, and a test dictionary to evaluate with"
        )
    if folds is not None and holdout is not None:
        raise FippError("take either holdout, a share to hold out once, or folds, each held out in turn")
    if folds is not None:
        splitter = KFold(_check_folds(folds, len(words)), shuffle=True, random_state=random_state)
    else:
        n_held_out = round(_check_share(SHARE if holdout is None else holdout) * len(words))
        n_held_out = min(max(2, n_held_out), len(words) - 1)
        splitter = ShuffleSplit(1, test_size=n_held_out, random_state=random_state)
    return [np.isin(word_of_pair, held_out) for _, held_out in splitter.split(words)]


def enough_parts(
    source_rows: NDArray[np.int64], holdout: float = SHARE, random_state: int = 0
) -> list[NDArray[np.bool_]]:
    """Hold out a share of the source words, and as many further shares in turn as make about 400 words.

    Examples
    --------
    >>> len(enough_parts(np.arange(5000))), len(enough_parts(np.arange(1000))), len(enough_parts(np.arange(50)))
    (1, 2, 5)
    """
    n_words, folds = len(np.unique(source_rows)), max(round(1 / holdout), 2)
    parts = held_out_parts(source_rows, folds=min(folds, n_words), random_state=random_state)
    return parts[: max(round(folds * _ENOUGH_WORDS / n_words), 1)]


def spread_part(source_rows: NDArray[np.int64], holdout: float) -> NDArray[np.bool_]:
    """Hold out a share of the source words at equal distances, from the frequent to the rare; nothing is random.

    Examples
    --------
    >>> spread_part(np.array([0, 1, 1, 2, 3]), 0.5)
    array([False,  True,  True, False,  True])
    """
    words, word_of_pair = np.unique(source_rows, return_inverse=True)
    quota = np.floor(np.arange(len(words) + 1) * holdout)
    held_out: NDArray[np.bool_] = np.diff(quota)[word_of_pair] > 0
    return held_out


class EarlyStopping:
    """Keeps the held-out score of every step, and says when no better one is to be expected.

    Parameters
    ----------
    patience : int
        Number of steps without a better score after which to stop.

    Attributes
    ----------
    scores : list of float
        The score before the first step and after each; the higher, the better.

    Examples
    --------
    >>> stopping = EarlyStopping(patience=2)
    >>> [stopping(score) for score in (0.1, 0.3, 0.3, 0.2)]
    [False, False, False, True]
    >>> stopping.best_step
    1
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.scores: list[float] = []

    def __call__(self, score: float) -> bool:
        """Add the score after one more step; return whether to stop."""
        self.scores.append(score)
        return len(self.scores) - 1 - self.best_step >= self.patience

    @property
    def best_step(self) -> int:
        """The number of steps with the best score, the fewest of equals."""
        return int(np.argmax(self.scores))


def _check_share(holdout: float) -> float:
    if isinstance(holdout, bool) or not isinstance(holdout, (int, float, np.number)) or not 0 < holdout < 1:
        raise FippError(f"holdout is the share of source words to hold out, between 0 and 1, not {holdout!r}")
    return float(holdout)


def _check_folds(folds: int, n_words: int) -> int:
    try:
        number = index(folds)
    except TypeError:
        number = 0
    if not 2 <= number <= n_words:
        raise FippError(f"folds must be a whole number from 2 to {n_words:,}, the number of words, not {folds!r}")
    return number
