"""Which seed pairs are held out, how well maps find their translations, and when to stop by that score."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, ShuffleSplit

from fipp._progress import Progress, Steps
from fipp.aligners._base import BaseAligner
from fipp.exceptions import FippError
from fipp.retrieve import best_reciprocal_ranks, corrects_hubs

SHARE = 0.2
"""The share of the seed that is held out by default, as published."""

# With fewer words, a held-out score would say nothing about the settings.
_FEWEST_WORDS = 5
# This many held-out words resolve differences of about a point; more are not worth their time.
_ENOUGH_WORDS = 400
# The number of mapped words that are looked up together; the target is read once for all of them.
_QUERIES_AT_ONCE = 1 << 15

HUB_WORDS = 5_000
"""CSLS asks how near the source words are to each target word. For every map anew and with all words this would take
hundreds of times as long as the rest; this many words, spread over the vocabulary, show hubs as well."""


def held_out_parts(
    source_rows: NDArray[np.int64],
    holdout: float | None = None,
    folds: int | None = None,
    random_state: int | np.random.RandomState | None = 0,
) -> list[NDArray[np.bool_]]:
    """Divide pairs by their source words, so that no source word is both learned from and held out.

    Either a share, ``holdout``, of the source words is held out once (at least two words, so that there is a standard
    error), or each of several ``folds`` in turn. The result marks the pairs that are held out, for each round.

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
    """Keeps the held-out scores, before the first step and after each, and says when no better one is to be expected.

    That is after ``patience`` steps without a higher score.

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


def reciprocal_ranks(
    aligners: Sequence[BaseAligner],
    X: NDArray[Any],
    Y: NDArray[Any],
    held_out: NDArray[np.int64],
    *,
    retrieval: str = "cosine",
    n_hub_words: int = HUB_WORDS,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return 1 / rank of the best translation among all target words, for each aligner and each held-out source word.

    The result has the shape (aligners, words), with the words in the order of their rows. The target is transformed
    once for the aligners that agree on it. Hubs are measured by ``n_hub_words`` source words.
    """
    words, position = np.unique(held_out[:, 0], return_inverse=True)
    hubs = _spread(len(X), n_hub_words) if corrects_hubs(retrieval) else None
    at_once = max(1, _QUERIES_AT_ONCE // len(words)) if hubs is None else 1
    best, steps = np.empty((len(aligners), len(words))), Steps(progress, len(aligners))
    for group in _agreeing_on_target(aligners):
        keys = aligners[group[0]].transform_target(Y)
        for start in range(0, len(group), at_once):
            members = group[start : start + at_once]
            (found,) = best_reciprocal_ranks(
                np.concatenate([aligners[member].transform(X[words]) for member in members]),
                keys,
                np.concatenate([position + number * len(words) for number in range(len(members))]),
                np.tile(held_out[:, 1], len(members)),
                retrievals=[retrieval],
                hub_reference=None if hubs is None else aligners[members[0]].transform(X[hubs]),
                max_memory=max_memory,
            )
            best[members] = found.reshape(len(members), -1)
            steps(len(members))
    return best


def reciprocal_ranks_by_cosine_and_csls(
    aligner: BaseAligner,
    X: NDArray[Any],
    Y: NDArray[Any],
    held_out: NDArray[np.int64],
    n_hub_words: int,
    n_targets: int,
) -> NDArray[np.float64]:
    """Return the result of `reciprocal_ranks` for one aligner by cosine and by CSLS; vectors are mapped once.

    The words are looked up among the first ``n_targets`` target words and their own translations.
    """
    words, position = np.unique(held_out[:, 0], return_inverse=True)
    targets, gold = first_and(held_out[:, 1], min(n_targets, len(Y)))
    return best_reciprocal_ranks(
        aligner.transform(X[words]),
        aligner.transform_target(Y if len(targets) == len(Y) else Y[targets]),
        position,
        gold,
        retrievals=("cosine", "csls"),
        hub_reference=aligner.transform(X[_spread(len(X), n_hub_words)]),
    )


def first_and(rows: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the first n row numbers and those of ``rows`` beyond them, and return also where ``rows`` are in the list.

    Examples
    --------
    >>> first_and(np.array([9, 1, 5, 9]), 3)
    (array([0, 1, 2, 5, 9]), array([4, 1, 3, 4]))
    """
    listed = np.union1d(np.arange(n), rows)
    return listed, np.searchsorted(listed, rows)


def _spread(n: int, max_words: int) -> NDArray[np.int64]:
    """Return at most ``max_words`` row numbers, spread evenly over the vocabulary."""
    return np.unique(np.linspace(0, n - 1, min(max_words, n)).astype(np.int64))


def _agreeing_on_target(aligners: Sequence[BaseAligner]) -> list[list[int]]:
    """Group aligners that do nothing to the target but one and the same preprocessing."""
    together: dict[int, list[int]] = {}
    for place, aligner in enumerate(aligners):
        own = type(aligner).transform_target is not BaseAligner.transform_target
        only_preprocessed = not own and aligner.target_map_ is None and aligner.target_offset_ is None
        together.setdefault(id(aligner.target_preprocess_ if only_preprocessed else aligner), []).append(place)
    return list(together.values())
