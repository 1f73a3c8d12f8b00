"""The result of bilingual lexicon induction: scores, their intervals, and the same for parts of the queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.evaluate._statistics import Interval, bootstrap_interval
from fipp.exceptions import FippError

MEASURES = ("map", "mrr", "p@1", "p@5", "p@10")
BANDS = (1000, 5000, 20_000)
"""Row numbers at which the next frequency band begins: words are in order of frequency."""


class Lines(NamedTuple):
    """For each query, how many lines of the dictionary ask for it, and the sum of 1 / rank over them."""

    counts: NDArray[np.int64]
    sums: NDArray[np.float64]


class Seen(NamedTuple):
    """Which queries have a translation that was in the seed, and which were in the seed with any translation."""

    pairs: NDArray[np.bool_]
    words: NDArray[np.bool_]


class Slice(NamedTuple):
    """Positions of the queries of a part, and how many source words the part has, whether looked up or not."""

    places: NDArray[np.int64]
    total: int


@dataclass(frozen=True)
class BLIResult:
    """Scores of bilingual lexicon induction.

    A query is a source word with all of its translations. Figures about *lines* treat each pair of the dictionary,
    duplicates included, as a query of its own, as the authors of FIPP and of XLING do.

    Without a test dictionary, the scores are cross-validated on the seed pairs: each is looked up by a map that was
    learned without it. Maps learned from fewer pairs are a little worse than the map itself; seed words are more
    frequent than others, and so easier.

    Attributes
    ----------
    map : float
        MAP per word: mean over the queries of their average precision over all distinct translations. With one
        translation each, this is the mean reciprocal rank.
    mrr : float
        Mean over the queries of 1 / rank of the best translation.
    p_at_1, p_at_5, p_at_10 : float
        Share of the queries with a translation among the 1, 5 or 10 best keys.
    n_queries, total : int
        Number of queries: distinct source words that were looked up; and of all source words in the test dictionary.
    retrieval : str
        How keys were ranked: ``"cosine"``, ``"dot"``, ``"csls"``, ``"isf"`` or ``"dualis"``. Scores of different
        retrievals cannot be compared.
    ranks : ndarray of int64, shape (n_queries,)
        Rank of the best translation of each query, in ascending order of the query's row number. Arrays and words do
        not count when two results are compared by ``==``.
    precision, queries : ndarray of float64 and int64, shape (n_queries,), or None
        Average precision and row number of each query.
    words : tuple of str or None
        The word of each query, if `Alignment.evaluate` made the result.
    missed : ndarray of int64 or None
        Row numbers of source words without a translation among the target words: they count in ``total``.
    parts : dict of str to Slice
        Which queries have a pair of each label, if labels were given.
    per_line : Lines or None
        Lines and their reciprocal ranks, for ``map_per_line``.
    seen : Seen or None
        Which queries were in the seed, for ``seen_pairs``, ``seen_words`` and ``unseen``, if `Alignment.evaluate` made
        the result.
    folds : int or None
        Into how many parts the seed pairs were divided for cross-validation; None for a test dictionary.
    mutual_rate, mutual_words : float and int, or None
        With cross-validation: share of the ``mutual_words`` most frequent source words that are the nearest neighbour
        of their own nearest target word, by CSLS.
    mean_csls : float or None
        With cross-validation: mean CSLS of those mutual neighbours, None if there are none. It compares maps of the
        same two spaces, and nothing else.

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
    n_queries: int
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
    folds: int | None = None
    mutual_rate: float | None = None
    mean_csls: float | None = None
    mutual_words: int | None = None

    @classmethod
    def of_queries(
        cls,
        precision: NDArray[np.float64],
        ranks: NDArray[np.int64],
        queries: NDArray[np.int64],
        total: int,
        retrieval: str,
        **known: Any,
    ) -> BLIResult:
        """Return the result that has this average precision and best rank of each query, and ``known`` attributes."""
        return cls(
            map=float(precision.mean()),
            mrr=float((1 / ranks).mean()),
            p_at_1=float((ranks <= 1).mean()),
            p_at_5=float((ranks <= 5).mean()),
            p_at_10=float((ranks <= 10).mean()),
            n_queries=len(ranks),
            total=total,
            retrieval=retrieval,
            ranks=ranks,
            precision=precision,
            queries=queries,
            **known,
        )

    @property
    def evaluated_on(self) -> str:
        """``"test dictionary"`` or ``"seed pairs, by cross-validation"``."""
        return "test dictionary" if self.folds is None else "seed pairs, by cross-validation"

    @property
    def coverage(self) -> float:
        """Share of the test dictionary that could be looked up: ``n_queries / total``."""
        return self.n_queries / self.total

    @property
    def lines(self) -> int | None:
        """Number of lines of the dictionary that could be looked up, duplicates included."""
        return None if self.per_line is None else int(self.per_line.counts.sum())

    @property
    def map_per_line(self) -> float | None:
        """MAP per line: mean over ``lines`` of 1 / rank of the line's own translation among all keys.

        Other translations of the word are keys like any other, so only one of several lines of a word can have rank 1.
        A line that the dictionary has twice counts twice. This is what the papers of FIPP and XLING call MAP.

        Examples
        --------
        >>> from fipp.evaluate import bli
        >>> result = bli(np.eye(3), np.eye(3), [0, 1, 1], [0, 1, 2])
        >>> result.map, result.map_per_line  # the second translation of query 1 shares the last rank
        (0.9166666666666666, 0.7777777777777777)
        """
        return None if self.per_line is None else float(self.per_line.sums.sum() / self.per_line.counts.sum())

    @property
    def seen_pairs(self) -> int | None:
        """Number of queries with a translation that the model was given as a seed pair; None if the seed is unknown."""
        return None if self.seen is None else int(self.seen.pairs.sum())

    @property
    def seen_words(self) -> int | None:
        """Number of queries whose source word was in the seed, with any translation; None if the seed is unknown."""
        return None if self.seen is None else int(self.seen.words.sum())

    @property
    def unseen(self) -> BLIResult | None:
        """The result without the queries that ``seen_pairs`` counts; None if none is left or the seed is unknown.

        Such a query is left out with all of its translations. Queries that were in the seed with other translations
        only are kept.
        """
        if self.seen is None or self.seen.pairs.all():
            return None
        if not self.seen.pairs.any():
            return self
        places = np.flatnonzero(~self.seen.pairs)
        return self._of(Slice(places, self.total - self.n_queries + len(places)))

    def seed_note(self) -> str | None:
        """Return a sentence on how many queries were in the seed, and the score without them; None if none was."""
        if not self.seen_words:
            return None
        n, unseen = self.n_queries, self.unseen
        others = self.seen_words - (self.seen_pairs or 0)
        if not self.seen_pairs:
            return f"{others:,} of the {n:,} test words had another translation in the seed"
        how_many = f"all {n:,}" if unseen is None else f"{self.seen_pairs:,} of the {n:,}"
        also = f", and {others:,} more had another one" if others else ""
        said = f"{how_many} test words had the same translation in the seed{also}: "
        if unseen is None:
            return said + "the score shows how well known pairs are remembered, and nothing about other words"
        return said + f"MAP is {unseen.map:.4f} without the {self.seen_pairs:,}, {self.map:.4f} with them"

    def per_query(self, measure: str = "map") -> NDArray[np.float64]:
        """Return the score of each query; their mean is the score of the result.

        Parameters
        ----------
        measure : {"map", "mrr", "p@1", "p@5", "p@10"}, default="map"
            Which score.

        Returns
        -------
        ndarray of shape (n_queries,)

        Examples
        --------
        >>> from fipp.evaluate import bli
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
        >>> from fipp.evaluate import bli
        >>> rng = np.random.default_rng(0)
        >>> Y = rng.standard_normal((200, 10))
        >>> result = bli(Y + rng.standard_normal((200, 10)), Y, np.arange(200), np.arange(200))
        >>> low, high = result.interval("p@1")
        >>> low < result.p_at_1 < high
        True
        """
        values = self.per_query(measure)
        return bootstrap_interval(values, level=level, n_resamples=n_resamples, random_state=random_state)

    def by_band(self, edges: Sequence[int] = BANDS) -> dict[str, BLIResult]:
        """Return the result of each frequency band of the source words, given by their row numbers.

        The coverage of a band counts only words of the source vocabulary: the band of other words is unknown.

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
        >>> from fipp.evaluate import bli
        >>> result = bli(np.eye(3), np.eye(3), [0, 1, 2], [0, 1, 0])
        >>> {name: part.p_at_1 for name, part in result.by_band([2]).items()}
        {'0-2': 1.0, '2+': 0.0}
        """
        if self.queries is None:
            raise FippError("this result was made without the row numbers of its queries")
        if not len(edges) or any(low >= high for low, high in pairwise([0, *edges])):
            raise FippError(f"bands takes rising row numbers above 0, such as {BANDS}, not {tuple(edges)}")
        numbers, missed = (
            np.searchsorted(edges, () if rows is None else rows, side="right") for rows in (self.queries, self.missed)
        )
        bands = {}
        for number, name in enumerate(_band_names(edges)):
            places = np.flatnonzero(numbers == number)
            if len(places):
                bands[name] = self._of(Slice(places, len(places) + int((missed == number).sum())))
        return bands

    def by_label(self) -> dict[str, BLIResult]:
        """Return the result of each part of the test dictionary, if its pairs were given labels.

        A query belongs to each part in which it has a pair, with all of its translations.

        Examples
        --------
        >>> from fipp.evaluate import bli
        >>> result = bli(np.eye(3), np.eye(3), [0, 1, 2], [0, 1, 0], labels=["noun", "noun", "verb"])
        >>> {name: part.p_at_1 for name, part in result.by_label().items()}
        {'noun': 1.0, 'verb': 0.0}
        """
        return {name: self._of(part) for name, part in self.parts.items()}

    def _of(self, part: Slice) -> BLIResult:
        assert self.precision is not None and self.queries is not None  # a result that knows parts knows these
        places = part.places
        return self.of_queries(
            self.precision[places],
            self.ranks[places],
            self.queries[places],
            part.total,
            self.retrieval,
            words=None if self.words is None else tuple(self.words[place] for place in places),
            per_line=None if self.per_line is None else Lines._make(each[places] for each in self.per_line),
            seen=None if self.seen is None else Seen._make(each[places] for each in self.seen),
            folds=self.folds,
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
            ``"parts"`` holds the parts by label, if there are labels. If any pair was in the seed, ``"unseen"`` holds
            the scores without such pairs, or None if there are no others. ``"folds"``, ``"mutual_rate"``,
            ``"mean_csls"`` and ``"mutual_words"`` are those of a cross-validation.

        Examples
        --------
        >>> from fipp.evaluate import bli
        >>> bli(np.eye(3), np.eye(3), [0, 1], [0, 1]).as_dict(interval=0.9)["intervals"]["map"]
        [1.0, 1.0]
        """
        names = ["map", "map_per_line", "mrr", "p_at_1", "p_at_5", "p_at_10", "evaluated_on", "n_queries", "lines"]
        names += ["total", "coverage", "retrieval", "seen_pairs", "seen_words"]
        if self.folds is not None:
            names += ["folds", "mutual_rate", "mean_csls", "mutual_words"]
        told: dict[str, Any] = {name.replace("p_at_", "p@"): getattr(self, name) for name in names}
        draws: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state}
        if interval is not None:
            ends = {measure: list(self.interval(measure, interval, **draws)) for measure in MEASURES}
            told["intervals"] = {"level": interval, **draws, **ends}
        if self.seen_pairs:
            told["unseen"] = None if self.unseen is None else self.unseen.as_dict(interval=interval, **draws)
        by_band = {} if bands is False else self.by_band() if bands is True else self.by_band(bands)
        for name, parts in (("bands", by_band), ("parts", self.by_label())):
            if parts:
                told[name] = {part: result.as_dict(interval=interval, **draws) for part, result in parts.items()}
        return told

    def __str__(self) -> str:
        per_line = "" if self.map_per_line is None else f" ({self.map_per_line:.4f} per line)"
        seed = self.seed_note()
        scores = (
            f"MAP {self.map:.4f}{per_line}, MRR {self.mrr:.4f}, "
            f"P@1 {self.p_at_1:.4f}, P@5 {self.p_at_5:.4f}, P@10 {self.p_at_10:.4f} by {self.retrieval}; "
            f"{self.n_queries:,} of {self.total:,} looked up ({100 * self.coverage:.1f} %)"
            f"{f'; {seed}' if seed else ''}"
        )
        if self.folds is not None:
            scores = f"no test dictionary: {self.folds}-fold cross-validation on the seed pairs gives {scores}"
        return scores if self.mutual_rate is None else f"{scores}; {self.mutual_note()}"

    def mutual_note(self) -> str | None:
        """Return a line on the mutual nearest neighbours of a cross-validated alignment; None for other results."""
        if self.mutual_rate is None:
            return None
        share = f"{100 * self.mutual_rate:.1f} % of the {self.mutual_words:,} most frequent words"
        csls = "" if self.mean_csls is None else f", mean CSLS {self.mean_csls:.4f}"
        return f"mutual nearest neighbours: {share}{csls}"


def _band_names(edges: Sequence[int]) -> list[str]:
    """Return the names of the bands between row numbers, such as ``0-1k``, ``1k-5k``, ``5k-20k`` and ``20k+``."""
    short = [f"{row // 1000}k" if row and row % 1000 == 0 else str(row) for row in (0, *edges)]
    return [f"{low}-{high}" for low, high in pairwise(short)] + [f"{short[-1]}+"]
