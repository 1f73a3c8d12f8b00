"""Bilingual lexicon induction: are the translations of a test dictionary found, and at which rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp.exceptions import FippError
from fipp.retrieve import gold_ranks
from fipp.retrieve._options import check_retrieval


@dataclass(frozen=True)
class BLIResult:
    """Scores of bilingual lexicon induction.

    Attributes
    ----------
    map : float
        Mean over the queries of their average precision. With one gold each this is the mean reciprocal rank.
    mrr : float
        Mean over the queries of 1 / rank of the best gold.
    p_at_1, p_at_5, p_at_10 : float
        Share of the queries with a gold among the 1, 5 or 10 best keys.
    pairs : int
        Number of queries evaluated: distinct source words that were looked up. In a dictionary with one
        translation for each source word, this is the number of pairs.
    total : int
        Number of distinct source words in the test dictionary, found or not.
    retrieval : str
        How keys were ranked: ``"cosine"``, ``"dot"``, ``"csls"``, ``"isf"`` or ``"dualis"``. Scores of different
        ways do not compare.
    ranks : ndarray of int64, shape (pairs,)
        Rank of the best gold of each query, in ascending order of the query's row number. Results are
        compared without it.

    Examples
    --------
    >>> result = BLIResult(0.5, 0.5, 0.25, 0.75, 1.0, 4, 5, "cosine", np.array([1, 2, 3, 6]))
    >>> str(result)
    'MAP 0.5000, MRR 0.5000, P@1 0.2500, P@5 0.7500, P@10 1.0000 by cosine; 4 of 5 looked up (80.0 %)'
    """

    map: float
    mrr: float
    p_at_1: float
    p_at_5: float
    p_at_10: float
    pairs: int
    total: int
    retrieval: str
    ranks: NDArray[np.int64] = field(compare=False, repr=False)

    @property
    def coverage(self) -> float:
        """Share of the test dictionary that could be looked up: ``pairs / total``."""
        return self.pairs / self.total

    def as_dict(self) -> dict[str, float | int | str]:
        """Give everything but the ranks as numbers and text that JSON can hold.

        Examples
        --------
        >>> BLIResult(0.5, 0.5, 0.25, 0.75, 1.0, 4, 5, "cosine", np.array([1, 2, 3, 6])).as_dict()["p@5"]
        0.75
        """
        return {
            "map": self.map,
            "mrr": self.mrr,
            "p@1": self.p_at_1,
            "p@5": self.p_at_5,
            "p@10": self.p_at_10,
            "pairs": self.pairs,
            "total": self.total,
            "coverage": self.coverage,
            "retrieval": self.retrieval,
        }

    def __str__(self) -> str:
        return (
            f"MAP {self.map:.4f}, MRR {self.mrr:.4f}, "
            f"P@1 {self.p_at_1:.4f}, P@5 {self.p_at_5:.4f}, P@10 {self.p_at_10:.4f} by {self.retrieval}; "
            f"{self.pairs:,} of {self.total:,} looked up ({100 * self.coverage:.1f} %)"
        )


def bli(
    queries: ArrayLike,
    keys: ArrayLike,
    query_rows: ArrayLike,
    gold_rows: ArrayLike,
    *,
    retrieval: str = "cosine",
    total: int | None = None,
    csls_k: int = 10,
    beta: float = 30.0,
    hub_reference: ArrayLike | None = None,
    max_memory: int | float | str | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> BLIResult:
    r"""Rank all keys for each query of a test dictionary, and see where its golds, the known answers, stand.

    Pairs of one query belong together. Its average precision over its golds, in the order they are found, is

    .. math:: \mathrm{AP} = \frac{1}{g} \sum_{j=1}^{g} \frac{j}{\mathrm{rank}_j}.

    Ties count against us: among keys of equal score the golds come last. A pair given twice counts once.

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
        Number of distinct source words in the whole test dictionary, for the coverage. Without it, all are
        taken to have been found.
    csls_k : int
        Number of neighbours in the means of CSLS.
    beta : float
        β of the inverted softmax.
    hub_reference : array-like of shape (r, d), optional
        The reference of CSLS and the inverted softmax; all rows of ``queries`` when left out.
    max_memory : int, float or str, optional
        Working memory beside the inputs; 1 GiB when left out.
    progress : callable, optional
        Called as ``progress(done, total)`` after each finished block.

    Returns
    -------
    BLIResult
        The scores, with the coverage and the name of the retrieval.

    Raises
    ------
    FippError
        If there is no pair to evaluate, or ``total`` is smaller than the number of queries.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp.evaluate import bli
    >>> keys = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> result = bli([[0.9, 0.1], [0.6, 0.7]], keys, [0, 1, 1], [1, 1, 2], total=4)
    >>> result.map, result.p_at_1, result.pairs, result.coverage
    (0.75, 0.5, 2, 0.5)
    >>> result.ranks
    array([2, 1])
    """
    retrieval = check_retrieval(retrieval)
    asked, gold = np.asarray(query_rows), np.asarray(gold_rows)
    if asked.size == 0:
        raise FippError("there is no pair to evaluate: none of the test dictionary is in both vocabularies")
    ranks = gold_ranks(
        queries,
        keys,
        asked,
        gold,
        retrieval=retrieval,
        csls_k=csls_k,
        beta=beta,
        hub_reference=hub_reference,
        max_memory=max_memory,
        progress=progress,
    )
    _, once = np.unique(np.stack([asked, gold]), axis=1, return_index=True)
    precision, best = _per_query(asked[once], ranks[once])
    if total is not None and total < len(best):
        raise FippError(f"total is {total}, but {len(best)} distinct queries were looked up")
    return BLIResult(
        map=float(precision.mean()),
        mrr=float((1 / best).mean()),
        p_at_1=float((best <= 1).mean()),
        p_at_5=float((best <= 5).mean()),
        p_at_10=float((best <= 10).mean()),
        pairs=len(best),
        total=len(best) if total is None else int(total),
        retrieval=retrieval,
        ranks=best,
    )


def _per_query(query: NDArray[np.int64], rank: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Give the average precision and the best rank of each query, in ascending order of its number."""
    order = np.lexsort((rank, query))
    query, rank = query[order], rank[order]
    number = np.arange(len(query))
    # Golds of one query that share a rank r share a score, and r counts them all. In a list they would stand
    # one after the other, the last of them at r, so that golds do not stand in each other's way.
    last_of_run = np.append((query[1:] != query[:-1]) | (rank[1:] != rank[:-1]), True)
    run_end = np.flatnonzero(last_of_run)[np.append(0, np.cumsum(last_of_run)[:-1])]
    rank = rank - (run_end - number)
    _, first, golds = np.unique(query, return_index=True, return_counts=True)
    found = number - np.repeat(first, golds) + 1
    return np.add.reduceat(found / rank, first) / golds, rank[first]
