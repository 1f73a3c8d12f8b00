"""How well many maps find the translations of held-out words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp.aligners._base import BaseAligner
from fipp.linalg import Progress
from fipp.retrieve import gold_ranks

# So many mapped words are looked up together; the target is read once for all of them.
_QUERIES_AT_ONCE = 1 << 15

# CSLS asks how near the source words are to each target word. For every map anew and with all words this would take
# hundreds of times as long as the rest; so many words spread over the vocabulary tell hubs as well.
HUB_WORDS = 5_000


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
    """Give 1 / rank of the best translation among all target words, for each aligner and each held-out source word.

    Parameters
    ----------
    aligners : sequence of fitted aligners
        That differ in what they make of the source; the target is transformed once for those that agree on it.
    X, Y : ndarray of shape (n, d1) and (m, d2)
        The whole vocabularies.
    held_out : ndarray of shape (c, 2)
        Pairs that none of them has seen.
    retrieval, max_memory
        As for `fipp.retrieve.gold_ranks`.
    n_hub_words : int
        So many source words tell hubs.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    ndarray of shape (aligners, words)
        The words in the order of their rows.
    """
    words, position = np.unique(held_out[:, 0], return_inverse=True)
    density = retrieval not in ("cosine", "dot")
    at_once = 1 if density else max(1, _QUERIES_AT_ONCE // len(words))
    hubs = np.unique(np.linspace(0, len(X) - 1, min(n_hub_words, len(X))).astype(np.int64))
    best = np.empty((len(aligners), len(words)))
    done = 0
    for group in _agreeing_on_target(aligners):
        keys = aligners[group[0]].transform_target(Y)
        for start in range(0, len(group), at_once):
            members = group[start : start + at_once]
            asked = np.concatenate([position + number * len(words) for number in range(len(members))])
            found = best_reciprocal_ranks(
                np.concatenate([aligners[member].transform(X[words]) for member in members]),
                keys,
                asked,
                np.tile(held_out[:, 1], len(members)),
                retrieval=retrieval,
                hub_reference=aligners[members[0]].transform(X[hubs]) if density else None,
                max_memory=max_memory,
            )
            best[members] = found.reshape(len(members), -1)
            done += len(members)
            if progress is not None:
                progress(done, len(aligners))
    return best


def best_reciprocal_ranks(
    queries: NDArray, keys: NDArray, asked: NDArray[np.int64], gold: NDArray[np.int64], **options: Any
) -> NDArray[np.float64]:
    """Give 1 / rank of the best of its right keys for each query, 0 if it has none; ``gold[i]`` is one of ``asked[i]``.

    Examples
    --------
    >>> best_reciprocal_ranks(np.eye(2), np.eye(2), np.array([0, 1, 1]), np.array([1, 0, 1]))
    array([0.5, 1. ])
    """
    best = np.zeros(len(queries))
    np.maximum.at(best, asked, 1 / gold_ranks(queries, keys, asked, gold, **options))
    return best


def _agreeing_on_target(aligners: Sequence[BaseAligner]) -> list[list[int]]:
    """Put aligners together whose preprocessing of the target is one and the same, and is all they do to it."""
    together: dict[int, list[int]] = {}
    for place, aligner in enumerate(aligners):
        own = type(aligner).transform_target is not BaseAligner.transform_target
        only_preprocessed = not own and aligner.target_map_ is None and aligner.target_offset_ is None
        together.setdefault(id(aligner.target_preprocess_ if only_preprocessed else aligner), []).append(place)
    return list(together.values())
