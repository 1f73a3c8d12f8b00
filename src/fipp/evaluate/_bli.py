"""Bilingual lexicon induction: whether the translations of a test dictionary are found, and at which rank."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._progress import Progress
from fipp.evaluate._result import BLIResult, Lines, Seen, Slice
from fipp.exceptions import FippError
from fipp.io import Vectors, fold
from fipp.retrieve import check_retrieval, ranks_of_gold


def bli(
    queries: ArrayLike,
    keys: ArrayLike,
    query_rows: ArrayLike,
    gold_rows: ArrayLike,
    *,
    retrieval: str = "cosine",
    total: int | None = None,
    labels: ArrayLike | None = None,
    n_neighbours: int = 10,
    beta: float = 30.0,
    hub_reference: ArrayLike | None = None,
    max_memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> BLIResult:
    r"""Rank all keys for each query of a test dictionary, and find the ranks of its golds, the known answers.

    All pairs of one query belong together. Its average precision over its g golds, in the order of their ranks, is

    .. math:: \mathrm{AP} = \frac{1}{g} \sum_{j=1}^{g} \frac{j}{\mathrm{rank}_j}.

    Ties are counted as errors: among keys of equal score, golds come last. A pair given twice counts once, except in
    `BLIResult.map_per_line`.

    Parameters
    ----------
    queries, keys : array-like of shape (q, d) and (m, d)
        Mapped source vectors and target vectors of one space; whole vocabularies.
    query_rows, gold_rows : array-like of int, shape (n,)
        The pairs of the test dictionary that were found in both vocabularies, as row numbers.
    retrieval : {"cosine", "nn", "dot", "csls", "isf", "dualis"}
        How keys are ranked. ``"dot"``, with target vectors as they are, is the published evaluation of FIPP;
        the baselines it quotes are by ``"cosine"``.
    total : int, optional
        Number of distinct source words in the whole test dictionary, for the coverage. By default, all are assumed to
        have been found.
    labels : array-like of str, shape (n,), optional
        A label for each pair, such as the part of speech, for `BLIResult.by_label`.
    n_neighbours : int
        Number of neighbours in the means of CSLS.
    beta : float
        β of the inverted softmax.
    hub_reference : array-like of shape (r, d), optional
        The reference of CSLS and the inverted softmax; all rows of ``queries`` by default.
    max_memory : int, float or str, optional
        Working memory beside the inputs; 1 GiB by default.
    progress : callable, optional
        Called as ``progress(done, total)`` after each finished block.

    Returns
    -------
    BLIResult

    Raises
    ------
    FippError
        If there is no pair to evaluate, or ``total`` is smaller than the number of queries.

    Examples
    --------
    >>> keys = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> result = bli([[0.9, 0.1], [0.6, 0.7]], keys, [0, 1, 1], [1, 1, 2], total=4)
    >>> result.map, result.p_at_1, result.n_queries, result.coverage
    (0.75, 0.5, 2, 0.5)
    >>> result.ranks
    array([2, 1])
    """
    retrieval = check_retrieval(retrieval)
    asked, gold = np.asarray(query_rows), np.asarray(gold_rows)
    if asked.size == 0:
        raise FippError("there is no pair to evaluate: none of the test dictionary is in both vocabularies")
    ranks = ranks_of_gold(
        queries,
        keys,
        asked,
        gold,
        retrieval=retrieval,
        n_neighbours=n_neighbours,
        beta=beta,
        hub_reference=hub_reference,
        max_memory=max_memory,
        progress=progress,
    )
    _, once = np.unique(np.stack([asked, gold]), axis=1, return_index=True)
    precision, best = _per_query(asked[once], ranks[once])
    distinct, place, counts = np.unique(asked, return_inverse=True, return_counts=True)
    if total is not None and total < len(best):
        raise FippError(f"total is {total}, but {len(best)} distinct queries were looked up")
    return BLIResult.of_queries(
        precision,
        best,
        distinct,
        len(best) if total is None else int(total),
        retrieval,
        parts={} if labels is None else _labelled(asked, labels),
        per_line=Lines(counts, np.bincount(place, weights=1 / ranks).astype(np.float64)),
    )


def _per_query(query: NDArray[np.int64], rank: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the average precision and the best rank of each query, in ascending order of its number."""
    order = np.lexsort((rank, query))
    query, rank = query[order], rank[order]
    number = np.arange(len(query))
    # Golds of one query that share a rank r share a score, and r counts them all. In a list they would follow one
    # another, the last of them at r, so that golds do not push each other down.
    last_of_run = np.append((query[1:] != query[:-1]) | (rank[1:] != rank[:-1]), True)
    run_end = np.flatnonzero(last_of_run)[np.append(0, np.cumsum(last_of_run)[:-1])]
    rank = rank - (run_end - number)
    _, first, golds = np.unique(query, return_index=True, return_counts=True)
    found = number - np.repeat(first, golds) + 1
    return np.add.reduceat(found / rank, first) / golds, rank[first]


def _labelled(asked: NDArray[np.int64], labels: ArrayLike) -> dict[str, Slice]:
    """Group queries by the labels of their pairs; a query with pairs of several labels is in several parts."""
    named = np.asarray(labels).astype(str)
    if named.shape != asked.shape:
        raise FippError(f"there are {len(asked)} pairs but {named.size} labels; each pair takes one")
    labelled = {label: np.unique(asked[named == label]) for label in dict.fromkeys(named.tolist())}
    queries = np.unique(asked)
    return {label: Slice(np.searchsorted(queries, rows), len(rows)) for label, rows in labelled.items()}


def seed_keys(source: Vectors, target: Vectors, pairs: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return keys that identify the words of pairs of rows, whatever the file and its order, shape (c, 2).

    Words that differ only in case or Unicode composition share a key, because one dictionary entry finds them all.
    Pairs with a row that a vocabulary does not have are left out.
    """
    inside = pairs[(pairs < (len(source), len(target))).all(axis=1)]
    sides = ((vectors.words[row] for row in rows) for vectors, rows in zip((source, target), inside.T, strict=True))
    return np.stack([_keys(words) for words in sides], axis=1)


def seen_queries(known: NDArray[np.uint64], source: Vectors, target: Vectors, pairs: NDArray[np.int64]) -> Seen:
    """Return which queries (distinct source rows, ascending) of a test dictionary were in a seed, given by its keys."""
    asked = seed_keys(source, target, pairs)
    given = set(map(tuple, known.tolist()))
    pair_seen = np.array([tuple(pair) in given for pair in asked.tolist()], dtype=np.bool_)
    word_seen = np.isin(asked[:, 0], known[:, 0])
    queries = np.unique(pairs[:, 0])
    return Seen(*(np.isin(queries, pairs[seen, 0]) for seen in (pair_seen, word_seen)))


def _keys(words: Iterable[str]) -> NDArray[np.uint64]:
    digests = (blake2b(fold(word).encode("utf-8", "surrogatepass"), digest_size=8).digest() for word in words)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
