"""How well many maps find the translations of held-out words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fipp._progress import Progress, Steps
from fipp.aligners._base import BaseAligner
from fipp.retrieve import best_reciprocal_ranks, corrects_hubs

# The number of mapped words that are looked up together; the target is read once for all of them.
_QUERIES_AT_ONCE = 1 << 15

HUB_WORDS = 5_000
"""CSLS asks how near the source words are to each target word. For every map anew and with all words this would take
hundreds of times as long as the rest; this many words, spread over the vocabulary, show hubs as well."""


def reciprocal_ranks(
    aligners: Sequence[BaseAligner],
    X: NDArray,
    Y: NDArray,
    held_out: NDArray[np.int64],
    *,
    retrieval: str = "cosine",
    n_hub_words: int = HUB_WORDS,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return 1 / rank of the best translation among all target words, for each aligner and each held-out source word.

    Parameters
    ----------
    aligners : sequence of fitted aligners
        They differ in how they map the source; the target is transformed once for those that agree on it.
    X, Y : ndarray of shape (n, d1) and (m, d2)
        The whole vocabularies.
    held_out : ndarray of shape (c, 2)
        Pairs that none of the aligners has seen.
    retrieval, max_memory
        As for `fipp.retrieve.ranks_of_gold`.
    n_hub_words : int
        Number of source words that hubs are measured by.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    ndarray of shape (aligners, words)
        The words in the order of their rows.
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
    aligner: BaseAligner, X: NDArray, Y: NDArray, held_out: NDArray[np.int64], n_hub_words: int
) -> NDArray[np.float64]:
    """Return the result of `reciprocal_ranks` for one aligner by cosine and by CSLS; vectors are mapped once.

    Returns
    -------
    ndarray of shape (2, words)
        By cosine, and by CSLS.

    Examples
    --------
    >>> from fipp import Procrustes
    >>> X = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)
    >>> pairs = np.stack([np.arange(50)] * 2, axis=1)
    >>> reciprocal_ranks_by_cosine_and_csls(Procrustes().fit(X, X), X, X, pairs, 50).mean(axis=1)
    array([1., 1.])
    """
    words, position = np.unique(held_out[:, 0], return_inverse=True)
    return best_reciprocal_ranks(
        aligner.transform(X[words]),
        aligner.transform_target(Y),
        position,
        held_out[:, 1],
        retrievals=("cosine", "csls"),
        hub_reference=aligner.transform(X[_spread(len(X), n_hub_words)]),
    )


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
