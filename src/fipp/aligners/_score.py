"""How well many maps find the translations of held-out words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp.aligners._base import BaseAligner
from fipp.linalg import Progress, ordered_map, row_blocks, unit_rows
from fipp.retrieve import ranks_of_gold

# So many mapped words are looked up together; the target is read once for all of them.
_QUERIES_AT_ONCE = 1 << 15

# CSLS asks how near the source words are to each target word. For every map anew and with all words this would take
# hundreds of times as long as the rest; so many words spread over the vocabulary tell hubs as well.
HUB_WORDS = 5_000
_NEIGHBOURS = 10
# Measured: blocks of target words whose scores stay in the cache.
_ROWS = 512
# Scores that differ by less are equal but for rounding, which depends on where a word stands in its block.
_ROUNDING = np.float32(1e-6)


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
        That differ in what they make of the source; the target is transformed once for those that agree on it.
    X, Y : ndarray of shape (n, d1) and (m, d2)
        The whole vocabularies.
    held_out : ndarray of shape (c, 2)
        Pairs that none of them has seen.
    retrieval, max_memory
        As for `fipp.retrieve.ranks_of_gold`.
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
    hubs = _spread(len(X), n_hub_words)
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


def reciprocal_ranks_by_cosine_and_csls(
    aligner: BaseAligner, X: NDArray, Y: NDArray, held_out: NDArray[np.int64], n_hub_words: int
) -> NDArray[np.float64]:
    """Return what `reciprocal_ranks` gives for one aligner, by cosine and by CSLS, from one look at the target words.

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
    gold, hubs = held_out[:, 1], _spread(len(X), n_hub_words)
    asked = unit_rows(aligner.transform(X[np.concatenate([words[position], hubs])]))
    queries, hub_words = asked[: len(gold)], asked[len(gold) :]
    keys = unit_rows(aligner.transform_target(Y))

    def nearness(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
        k = min(_NEIGHBOURS, len(hubs))
        return np.partition(cosines, len(hubs) - k, axis=1)[:, len(hubs) - k :].mean(axis=1)

    cosine = np.einsum("ij,ij->i", queries, keys[gold])
    csls = 2 * cosine - nearness(keys[gold] @ hub_words.T)

    def count(rows: slice) -> NDArray[np.int64]:
        """Count the other words that score at least as high: ties are counted as errors."""
        scores = keys[rows] @ asked.T
        near, others = nearness(scores[:, len(gold) :]), scores[:, : len(gold)]
        inside = np.flatnonzero((gold >= rows.start) & (gold < rows.stop))
        others[gold[inside] - rows.start, inside] = -np.inf
        by_cosine = (others >= cosine - _ROUNDING).sum(axis=0)
        return np.stack([by_cosine, (2 * others - near[:, None] >= csls - _ROUNDING).sum(axis=0)])

    ranks = np.ones((2, len(gold)), np.int64)
    for counted in ordered_map(count, row_blocks(len(keys), _ROWS)):
        ranks += counted
    best = np.zeros((2, len(words)))
    for each, found in zip(best, 1 / ranks, strict=True):
        np.maximum.at(each, position, found)
    return best


def _spread(n: int, max_words: int) -> NDArray[np.int64]:
    """Return so many row numbers, spread over the vocabulary."""
    return np.unique(np.linspace(0, n - 1, min(max_words, n)).astype(np.int64))


def best_reciprocal_ranks(
    queries: NDArray, keys: NDArray, asked: NDArray[np.int64], gold: NDArray[np.int64], **options: Any
) -> NDArray[np.float64]:
    """Return 1 / rank of the best right key of each query, 0 if it has none; ``gold[i]`` is one of ``asked[i]``.

    Examples
    --------
    >>> best_reciprocal_ranks(np.eye(2), np.eye(2), np.array([0, 1, 1]), np.array([1, 0, 1]))
    array([0.5, 1. ])
    """
    best = np.zeros(len(queries))
    np.maximum.at(best, asked, 1 / ranks_of_gold(queries, keys, asked, gold, **options))
    return best


def _agreeing_on_target(aligners: Sequence[BaseAligner]) -> list[list[int]]:
    """Put aligners together whose preprocessing of the target is one and the same, and is all they do to it."""
    together: dict[int, list[int]] = {}
    for place, aligner in enumerate(aligners):
        own = type(aligner).transform_target is not BaseAligner.transform_target
        only_preprocessed = not own and aligner.target_map_ is None and aligner.target_offset_ is None
        together.setdefault(id(aligner.target_preprocess_ if only_preprocessed else aligner), []).append(place)
    return list(together.values())
