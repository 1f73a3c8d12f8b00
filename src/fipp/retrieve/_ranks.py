"""At which rank a known answer is found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._progress import Progress, Steps
from fipp.exceptions import FippError
from fipp.linalg import ordered_map, row_blocks
from fipp.retrieve._scan import ROWS_READ_AT_A_TIME, Pairs, Rows, Scan, Tiles, kernels
from fipp.retrieve._scores import Hubs, Settings


def ranks_of_gold(
    queries: ArrayLike,
    keys: ArrayLike,
    query_rows: ArrayLike,
    gold_rows: ArrayLike,
    *,
    retrieval: str = "cosine",
    n_neighbours: int = 10,
    beta: float = 30.0,
    hub_reference: ArrayLike | None = None,
    max_memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> NDArray[np.int64]:
    """Return the rank, from 1, that key ``gold_rows[i]`` has among all keys for query ``query_rows[i]``.

    Ties are counted as errors: the rank is the number of keys that score at least as high as the gold key, itself
    included. An exact copy of the gold key ties exactly. Each query is compared with the keys once, however many gold
    keys it has.

    Parameters
    ----------
    queries, keys : array-like of shape (q, d) and (m, d)
        Vectors of one space, one per row. Only the rows in ``query_rows`` are looked up.
    query_rows, gold_rows : array-like of int, shape (n,)
        The pairs to rank. A query with several gold keys has several pairs.
    retrieval : {"cosine", "nn", "dot", "csls", "isf", "dualis"}
        How a query and a key are scored; see :func:`fipp.retrieve.neighbours`.
    n_neighbours : int
        Number of neighbours in the means of CSLS.
    beta : float
        β of the inverted softmax.
    hub_reference : array-like of shape (r, d), optional
        The reference of CSLS and the inverted softmax; by default all rows of ``queries``, not only those looked up.
    max_memory : int, float or str, optional
        Working memory beside inputs and result; 1 GiB by default.
    progress : callable, optional
        Called as ``progress(done, total)`` after each finished block.

    Returns
    -------
    ndarray of int64, shape (n,)
        A rank for each pair.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp.retrieve import ranks_of_gold
    >>> keys = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    >>> ranks_of_gold([[2.0, 0.1]], keys, [0, 0, 0], [0, 1, 2])
    array([1, 4, 3])
    """
    settings = Settings.checked(retrieval, n_neighbours, beta)
    both = Rows(queries, "queries", unit=settings.unit), Rows(keys, "keys", unit=settings.unit)
    return _ranks(*both, query_rows, gold_rows, hub_reference, settings, max_memory, progress)


def best_reciprocal_ranks(
    queries: ArrayLike,
    keys: ArrayLike,
    query_rows: ArrayLike,
    gold_rows: ArrayLike,
    *,
    retrievals: Sequence[str] = ("cosine",),
    hub_reference: ArrayLike | None = None,
    max_memory: int | float | str | None = None,
) -> NDArray[np.float64]:
    """Return 1 / rank of the best gold key by each way to score (rows) and for each query (columns), 0 without gold.

    The parameters are those of `ranks_of_gold`; several ways to score share one float32 copy of the keys.

    Examples
    --------
    >>> best_reciprocal_ranks(np.eye(2), np.eye(2), [0, 1, 1], [1, 0, 1])
    array([[0.5, 1. ]])
    """
    best = np.zeros((len(retrievals), len(np.asarray(queries))))
    read: dict[bool, tuple[Rows, Rows]] = {}
    for retrieval, found in zip(retrievals, best, strict=True):
        settings = Settings.checked(retrieval, 10, 30.0)
        if settings.unit not in read:
            rows = Rows(queries, "queries", unit=settings.unit), Rows(keys, "keys", unit=settings.unit)
            read[settings.unit] = (rows[0].converted(), rows[1].converted()) if len(retrievals) > 1 else rows
        ranks = _ranks(*read[settings.unit], query_rows, gold_rows, hub_reference, settings, max_memory, None)
        np.maximum.at(found, np.asarray(query_rows, dtype=np.int64), 1 / ranks)
    return best


def _check_rows(rows: ArrayLike, size: int, name: str, matrix: str) -> NDArray[np.int64]:
    """Return row numbers as an array of int64, all of them within a matrix of ``size`` rows."""
    numbers = np.asarray(rows)
    if numbers.size == 0:
        numbers = numbers.astype(np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise FippError(
            f"{name} must be a list of row numbers, not an array of shape {numbers.shape} and type {numbers.dtype}"
        )
    outside = (numbers < 0) | (numbers >= size)
    if outside.any():
        raise FippError(f"{name} asks for row {numbers[outside][0]} of {matrix}, which has rows 0 to {size - 1}")
    return numbers.astype(np.int64)


def _ranks(
    queries: Rows,
    keys: Rows,
    query_rows: ArrayLike,
    gold_rows: ArrayLike,
    hub_reference: ArrayLike | None,
    settings: Settings,
    max_memory: int | float | str | None,
    progress: Progress | None,
) -> NDArray[np.int64]:
    asked = _check_rows(query_rows, len(queries), "query_rows", "queries")
    gold = _check_rows(gold_rows, len(keys), "gold_rows", "keys")
    if len(asked) != len(gold):
        raise FippError(f"query_rows has {len(asked)} numbers and gold_rows {len(gold)}; they come in pairs")
    distinct, position = np.unique(asked, return_inverse=True)
    scan = Scan(queries.pick(distinct), keys, max_memory)
    hubs = Hubs.plan(settings, keys, settings.reference(queries, hub_reference), max_memory)
    steps = Steps(progress, len(hubs) + len(scan))
    offsets = hubs.offsets(steps)

    order = np.argsort(position, kind="stable")
    goals = _exact_scores(queries.pick(asked[order]), keys.pick(gold[order]), gold[order], offsets)
    ranks = np.empty(len(asked), dtype=np.int64)
    ranks[order] = _count_reaching(scan, position[order], goals, offsets, steps)
    return ranks


def _exact_scores(
    queries: Rows, keys: Rows, gold: NDArray[np.int64], offsets: NDArray[np.float32] | None
) -> NDArray[np.float32]:
    """Score row i of the queries with row i of the keys, whose number among all keys is ``gold[i]``."""

    def work(part: slice) -> NDArray[np.float32]:
        pairs = Pairs(queries.read(part), keys.read(part), part, part)
        places, scores = np.arange(part.stop - part.start), np.empty(part.stop - part.start, dtype=np.float32)
        kernels().score_pairs(pairs.vectors(None if offsets is None else offsets[gold[part]]), places, places, scores)
        return scores

    parts = row_blocks(len(queries), ROWS_READ_AT_A_TIME)
    return np.concatenate([np.empty(0, dtype=np.float32), *ordered_map(work, parts)])


def _count_reaching(
    scan: Scan,
    position: NDArray[np.int64],
    goals: NDArray[np.float32],
    offsets: NDArray[np.float32] | None,
    steps: Steps,
) -> NDArray[np.int64]:
    """Count for each pair, sorted by the position of its query in ``scan``, the keys that reach its score."""
    first_pair = np.searchsorted(position, np.arange(len(scan.queries) + 1))

    def work(pairs: Pairs, tiles: Tiles) -> NDArray[np.int64]:
        asked = slice(first_pair[pairs.rows.start], first_pair[pairs.rows.stop])
        rows, found = position[asked] - pairs.rows.start, np.zeros(asked.stop - asked.start, dtype=np.int64)
        vectors = pairs.vectors(None if offsets is None else offsets[pairs.columns])
        for part, tile in tiles:
            kernels().count_reaching(tile, kernels().BLOCK, part.start, rows, goals[asked], pairs.error, vectors, found)
        return found

    counts = np.zeros(len(position), dtype=np.int64)
    for strip in scan.strips():
        for rows, found in strip.run(work):
            counts[first_pair[rows.start] : first_pair[rows.stop]] += found
            steps()
    return counts
