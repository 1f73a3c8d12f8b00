"""Bilingual lexicon induction: are the translations of a test dictionary found, and at which rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp.evaluate._resampling import Interval, bootstrap_interval
from fipp.evaluate._seen import Seen
from fipp.evaluate._slices import BANDS, Slice, bands, labelled
from fipp.exceptions import FippError
from fipp.retrieve import check_retrieval, ranks_of_gold

MEASURES = ("map", "mrr", "p@1", "p@5", "p@10")


class Lines(NamedTuple):
    """For each query, how many lines of the dictionary ask for it, and the sum of 1 / rank over them."""

    counts: NDArray[np.int64]
    sums: NDArray[np.float64]

    def of(self, places: NDArray[np.int64]) -> Lines:
        """Return the same for some of the queries."""
        return Lines(self.counts[places], self.sums[places])


@dataclass(frozen=True)
class BLIResult:
    """Scores of bilingual lexicon induction.

    A query is a source word, with all of its translations. What is about *lines* takes each pair of the dictionary,
    duplicates included, for a query of its own, as the authors of FIPP and of XLING do.

    Attributes
    ----------
    map : float
        MAP per word: mean over the queries of their average precision over all translations, duplicates left out. With
        one gold each this is the mean reciprocal rank.
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
        compared without it, and without what follows.
    precision : ndarray of float64, shape (pairs,), or None
        Average precision of each query.
    queries : ndarray of int64, shape (pairs,), or None
        Row number of each query.
    words : tuple of str or None
        The word of each query; `Alignment.evaluate` knows it.
    missed : ndarray of int64 or None
        Row numbers of source words of which no translation is in the target: they count in ``total``.
    parts : dict of str to Slice
        Which queries have a pair of each label, if labels were given.
    per_line : Lines or None
        Lines and their reciprocal ranks, for ``map_per_line``.
    seen : Seen or None
        Which queries were in the seed, for ``seen_pairs``, ``seen_words`` and ``unseen``; `Alignment.evaluate` knows.

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
    precision: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    queries: NDArray[np.int64] | None = field(default=None, compare=False, repr=False)
    words: tuple[str, ...] | None = field(default=None, compare=False, repr=False)
    missed: NDArray[np.int64] | None = field(default=None, compare=False, repr=False)
    parts: Mapping[str, Slice] = field(default_factory=dict, compare=False, repr=False)
    per_line: Lines | None = field(default=None, compare=False, repr=False)
    seen: Seen | None = field(default=None, compare=False, repr=False)

    @property
    def coverage(self) -> float:
        """Share of the test dictionary that could be looked up: ``pairs / total``."""
        return self.pairs / self.total

    @property
    def lines(self) -> int | None:
        """Number of lines of the dictionary that could be looked up, duplicates included."""
        return None if self.per_line is None else int(self.per_line.counts.sum())

    @property
    def map_per_line(self) -> float | None:
        """MAP per line: mean over ``lines`` of 1 / rank of the line's own translation among all keys.

        Other translations of the word are keys like any other, so that only one of several lines of a word can have
        rank 1. A line that the dictionary has twice counts twice. This is what the papers of FIPP and XLING call MAP.

        Examples
        --------
        >>> result = bli(np.eye(3), np.eye(3), [0, 1, 1], [0, 1, 2])
        >>> result.map, result.map_per_line  # the second translation of query 1 shares the last rank
        (0.9166666666666666, 0.7777777777777777)
        """
        return None if self.per_line is None else float(self.per_line.sums.sum() / self.per_line.counts.sum())

    @property
    def seen_pairs(self) -> int | None:
        """Number of queries with a translation that the model was given as a seed pair; None if that is not known."""
        return None if self.seen is None else int(self.seen.pairs.sum())

    @property
    def seen_words(self) -> int | None:
        """Number of queries whose source word was in the seed, with a translation of the test or another."""
        return None if self.seen is None else int(self.seen.words.sum())

    @property
    def unseen(self) -> BLIResult | None:
        """The result without the queries that ``seen_pairs`` counts; None if none is left, or if the seed is not known.

        Such a query is left out with all of its translations. Queries that were in the seed with other translations
        only stay.
        """
        if self.seen is None or self.seen.pairs.all():
            return None
        if not self.seen.pairs.any():
            return self
        places = np.flatnonzero(~self.seen.pairs)
        return self._of(Slice(places, self.total - self.pairs + len(places)))

    def seed_note(self) -> str | None:
        """Say how many queries were in the seed, and what the score is without them; None if none was.

        Examples
        --------
        >>> import fipp
        >>> demo = fipp.datasets.load_demo()
        >>> alignment = fipp.align(demo.source, demo.target, demo.seed, "fipp")
        >>> alignment.evaluate(demo.test).seed_note()
        """
        if not self.seen_words:
            return None
        others = self.seen_words - (self.seen_pairs or 0)
        if not self.seen_pairs:
            return f"{others:,} of the {self.pairs:,} test words had another translation in the seed"
        how_many = f"all {self.pairs:,}" if self.unseen is None else f"{self.seen_pairs:,} of the {self.pairs:,}"
        also = f", and {others:,} more had another one" if others else ""
        said = f"{how_many} test words had the same translation in the seed{also}: "
        if self.unseen is None:
            return said + "the score tells how well known pairs are remembered, and nothing about other words"
        return said + f"MAP is {self.unseen.map:.4f} without the {self.seen_pairs:,}, {self.map:.4f} with them"

    def per_query(self, measure: str = "map") -> NDArray[np.float64]:
        """Return the score of each query, whose mean is the result's.

        Parameters
        ----------
        measure : {"map", "mrr", "p@1", "p@5", "p@10"}, default="map"
            Which score.

        Returns
        -------
        ndarray of shape (pairs,)

        Examples
        --------
        >>> bli(np.eye(3), np.eye(3), [0, 1], [0, 2]).per_query("p@1")
        array([1., 0.])
        """
        if measure not in MEASURES:
            raise FippError(f"there is no measure {measure!r}; choose from {', '.join(MEASURES)}")
        if measure == "map":
            if self.precision is None:
                raise FippError("this result was made without the average precision of each query")
            return self.precision
        if measure == "mrr":
            return 1 / self.ranks
        return (self.ranks <= int(measure.removeprefix("p@"))).astype(np.float64)

    def interval(
        self, measure: str = "map", level: float = 0.95, *, n_resamples: int = 1000, random_state: int = 0
    ) -> Interval:
        """Return the bootstrap confidence interval of a score: how far it would move with other queries.

        Parameters
        ----------
        measure : {"map", "mrr", "p@1", "p@5", "p@10"}, default="map"
            Which score.
        level : float, default=0.95
            The share of resamples whose score lies in the interval.
        n_resamples : int, default=1000
            How often as many queries are drawn with replacement.
        random_state : int, default=0
            The seed of the draws.

        Returns
        -------
        Interval
            ``low`` and ``high``.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> Y = rng.standard_normal((200, 10))
        >>> result = bli(Y + rng.standard_normal((200, 10)), Y, np.arange(200), np.arange(200))
        >>> low, high = result.interval("p@1")
        >>> low < result.p_at_1 < high
        True
        """
        return bootstrap_interval(self.per_query(measure), level, n_resamples=n_resamples, random_state=random_state)

    def by_band(self, edges: Sequence[int] = BANDS) -> dict[str, BLIResult]:
        """Return the result of each band of frequency of the source word, told by its row number.

        The coverage of a band counts words that are in the source; of the others nobody knows the band.

        Parameters
        ----------
        edges : sequence of int, default=(1000, 5000, 20000)
            Row numbers at which the next band begins.

        Returns
        -------
        dict of str to BLIResult
            Bands with a query, the most frequent words first.

        Examples
        --------
        >>> result = bli(np.eye(3), np.eye(3), [0, 1, 2], [0, 1, 0])
        >>> {name: part.p_at_1 for name, part in result.by_band([2]).items()}
        {'0-2': 1.0, '2+': 0.0}
        """
        if self.queries is None:
            raise FippError("this result was made without the row numbers of its queries")
        return {name: self._of(part) for name, part in bands(self.queries, self.missed, edges).items()}

    def by_label(self) -> dict[str, BLIResult]:
        """Return the result of each part of the test dictionary, if its pairs were given labels.

        A query belongs to each part that it has a pair in, with all of its golds.

        Examples
        --------
        >>> result = bli(np.eye(3), np.eye(3), [0, 1, 2], [0, 1, 0], labels=["noun", "noun", "verb"])
        >>> {name: part.p_at_1 for name, part in result.by_label().items()}
        {'noun': 1.0, 'verb': 0.0}
        """
        return {name: self._of(part) for name, part in self.parts.items()}

    def _of(self, part: Slice) -> BLIResult:
        assert self.precision is not None and self.queries is not None  # whoever knows parts knows these
        places = part.places
        words = None if self.words is None else tuple(self.words[place] for place in places)
        return result_of_queries(
            self.precision[places],
            self.ranks[places],
            self.queries[places],
            part.total,
            self.retrieval,
            words=words,
            per_line=None if self.per_line is None else self.per_line.of(places),
            seen=None if self.seen is None else self.seen.of(places),
        )

    def as_dict(
        self,
        *,
        interval: float | None = None,
        bands: bool | Sequence[int] = False,
        n_resamples: int = 1000,
        random_state: int = 0,
    ) -> dict[str, Any]:
        """Return the scores as numbers and text that JSON can hold.

        Parameters
        ----------
        interval : float, optional
            Add ``"intervals"`` of this level, such as 0.95.
        bands : bool or sequence of int, default=False
            Add ``"bands"``, with these edges if they are given.
        n_resamples, random_state
            As for `interval`.

        Returns
        -------
        dict
            With ``"parts"`` too if the pairs have labels. If any pair was in the seed, ``"unseen"`` has the scores
            without such pairs, or None if there are no others.

        Examples
        --------
        >>> BLIResult(0.5, 0.5, 0.25, 0.75, 1.0, 4, 5, "cosine", np.array([1, 2, 3, 6])).as_dict()["p@5"]
        0.75
        >>> bli(np.eye(3), np.eye(3), [0, 1], [0, 1]).as_dict(interval=0.9)["intervals"]["map"]
        [1.0, 1.0]
        """
        told: dict[str, Any] = {
            "map": self.map,
            "map_per_line": self.map_per_line,
            "mrr": self.mrr,
            "p@1": self.p_at_1,
            "p@5": self.p_at_5,
            "p@10": self.p_at_10,
            "pairs": self.pairs,
            "lines": self.lines,
            "total": self.total,
            "coverage": self.coverage,
            "retrieval": self.retrieval,
            "seen_pairs": self.seen_pairs,
            "seen_words": self.seen_words,
        }
        draws: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state}
        if interval is not None:
            ends = {measure: list(self.interval(measure, interval, **draws)) for measure in MEASURES}
            told["intervals"] = {"level": interval, **draws, **ends}
        if self.seen_pairs:
            told["unseen"] = None if self.unseen is None else self.unseen.as_dict(interval=interval, **draws)
        if bands is not False:
            by_band = self.by_band() if bands is True else self.by_band(bands)
            told["bands"] = {name: part.as_dict(interval=interval, **draws) for name, part in by_band.items()}
        if self.parts:
            parts = self.by_label().items()
            told["parts"] = {name: part.as_dict(interval=interval, **draws) for name, part in parts}
        return told

    def __str__(self) -> str:
        per_line = "" if self.map_per_line is None else f" ({self.map_per_line:.4f} per line)"
        seed = self.seed_note()
        return (
            f"MAP {self.map:.4f}{per_line}, MRR {self.mrr:.4f}, "
            f"P@1 {self.p_at_1:.4f}, P@5 {self.p_at_5:.4f}, P@10 {self.p_at_10:.4f} by {self.retrieval}; "
            f"{self.pairs:,} of {self.total:,} looked up ({100 * self.coverage:.1f} %)"
            f"{f'; {seed}' if seed else ''}"
        )


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
    progress: Callable[[int, int], object] | None = None,
) -> BLIResult:
    r"""Rank all keys for each query of a test dictionary, and see where its golds, the known answers, stand.

    Pairs of one query belong together. Its average precision over its golds, in the order they are found, is

    .. math:: \mathrm{AP} = \frac{1}{g} \sum_{j=1}^{g} \frac{j}{\mathrm{rank}_j}.

    Ties are counted as errors: among keys of equal score the golds come last. A pair given twice counts once, except in
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
        Number of distinct source words in the whole test dictionary, for the coverage. Without it, all are
        taken to have been found.
    labels : array-like of str, shape (n,), optional
        A label for each pair, such as the part of speech, for `BLIResult.by_label`.
    n_neighbours : int
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
    return result_of_queries(
        precision,
        best,
        distinct,
        len(best) if total is None else int(total),
        retrieval,
        parts={} if labels is None else labelled(asked, labels),
        per_line=Lines(counts, np.bincount(place, weights=1 / ranks).astype(np.float64)),
    )


def result_of_queries(
    precision: NDArray[np.float64],
    ranks: NDArray[np.int64],
    queries: NDArray[np.int64],
    total: int,
    retrieval: str,
    **known: Any,
) -> BLIResult:
    """Put a result together from the average precision and the best rank of each query."""
    return BLIResult(
        map=float(precision.mean()),
        mrr=float((1 / ranks).mean()),
        p_at_1=float((ranks <= 1).mean()),
        p_at_5=float((ranks <= 5).mean()),
        p_at_10=float((ranks <= 10).mean()),
        pairs=len(ranks),
        total=total,
        retrieval=retrieval,
        ranks=ranks,
        precision=precision,
        queries=queries,
        **known,
    )


def _per_query(query: NDArray[np.int64], rank: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the average precision and the best rank of each query, in ascending order of its number."""
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
