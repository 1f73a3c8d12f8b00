"""What a report says about an alignment: scores beside yardsticks, the filter, hubs, seed pairs; all made when read."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fipp._alignment import Alignment
from fipp._progress import Progress, Steps, stages
from fipp.aligners import FEWEST_TO_JUDGE, FIPP, METHODS, BaseAligner, PairCosines, pair_cosines
from fipp.evaluate import BLIResult, Interval, PairedComparison, compare_results, describe_space
from fipp.exceptions import FippError, FippWarning
from fipp.io import Lexicon, Vectors
from fipp.linalg import single_threaded_blas, unit_rows
from fipp.report._map import PairMap, layout
from fipp.retrieve import mutual_neighbours, neighbours, ranks_of_gold

Floats = NDArray[np.float64]
Pairs = NDArray[np.int64]

# What a model is compared with: methods that everyone knows, fitted on the same seed pairs.
YARDSTICKS = {"FIPP as published": "fipp-published", "Procrustes": "procrustes"}
BY_CSLS = "this model, by CSLS"
MOST_PUBLISHED = 20_000
"""With more seed pairs than this, the published method takes minutes or hours, and is left out like the filter."""

# More pairs than this cannot be told apart on a map.
_ON_THE_MAP = 150
# How many words are compared with each other for inner products and spectra.
_COMPARED, _BINS = 1000, 60
# How many words of each kind are shown with their translations, how many of these, and among how many frequent words.
_EXAMPLES, _ANSWERS, _FREQUENT = 10, 3, 5000
# Fewer source words than this cannot be held out in turn.
_FEWEST_TO_HOLD_OUT = 5
# Hubs are measured among the most frequent words, from some of them.
_HUB_WORDS, _HUB_QUERIES, _HUB_NEIGHBOURS = 20_000, 2000, 10
_MUTUAL_WORDS = 5000
# The parts of a report that take time, what is told of each, and its share of the work, roughly.
_WORK = {
    "yardsticks": ("fitting other methods", 1.0),
    "scores": ("measuring", 4.0),
    "examples": ("translating", 0.5),
    "map": ("drawing a map", 2.0),
    "hubs": ("counting hubs", 2.0),
    "spaces": ("comparing the spaces", 2.0),
    "filtered": ("filtering", 0.5),
    "judged": ("judging the seed pairs", 1.5),
    "products": ("comparing inner products", 0.5),
}


class Scored(NamedTuple):
    """How well one method finds translations, and how far the model of the report is ahead of it."""

    name: str
    result: BLIResult
    behind: PairedComparison | None


class Example(NamedTuple):
    """A source word, its best translations, those that the test dictionary has, and at which rank one is found."""

    word: str
    answers: list[str]
    right: list[str]
    rank: int | None


class Filtered(NamedTuple):
    """The share of the inner products of each seed pair that FIPP's filter keeps."""

    epsilon: float | None
    kept: Floats
    own: bool
    """Whether it is the filter that the model itself was fitted with."""


class Hubs(NamedTuple):
    """How often each target word is among the nearest of a sample of source words, by cosine and by CSLS."""

    words: list[str]
    counts: dict[str, Pairs]
    n_queries: int

    def skewness(self, retrieval: str) -> float:
        """Return how unevenly target words are found: 0 without hubs."""
        from scipy.stats import skew  # imported here because it takes longer than all of fipp

        counts = self.counts[retrieval]
        return float(skew(counts)) if np.ptp(counts) else 0.0

    def never(self, retrieval: str) -> float:
        """Return the share of the target words that no word of the sample finds."""
        return float((self.counts[retrieval] == 0).mean())


class Spread(NamedTuple):
    """Inner products and spectra of both sides, before and after alignment."""

    edges: dict[str, Floats]
    densities: dict[str, dict[str, Floats]]
    spectra: dict[str, dict[str, Floats]]


def share_interval(result: BLIResult) -> Interval:
    """Return the 95 % interval of the share of words whose first answer is right.

    If all answers are right, or none is, every resample says the same, which does not mean that the share is known
    exactly: then the interval is that of Clopper and Pearson (1934).

    Examples
    --------
    >>> from fipp.evaluate import bli
    >>> low, high = share_interval(bli(np.eye(10), np.eye(10), np.arange(10), np.arange(10)))
    >>> print(round(low, 2), high)
    0.69 1.0
    """
    if 0 < result.p_at_1 < 1:
        return result.interval("p@1")
    bound = 0.025 ** (1 / max(result.n_queries, 1))
    return Interval(bound, 1.0) if result.p_at_1 else Interval(0.0, 1 - bound)


def method_of(aligner: BaseAligner) -> str:
    """Return the name of a method, and of the one that `Auto` chose.

    Examples
    --------
    >>> from fipp import Procrustes
    >>> method_of(Procrustes())
    'Procrustes'
    """
    chosen = getattr(aligner, "chosen_", None)
    name = type(aligner).__name__
    return f"{name}: {chosen}" if chosen else name


def filter_of(alignment: Alignment) -> Filtered | None:
    """Return what the filter keeps of each seed pair: the filter of the model or, if it has none, that of `FIPP`.

    None without seed pairs, or with so many that another fit would take long.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> found = filter_of(fipp.align(demo.source, demo.target, demo.seed, "procrustes"))
    >>> found.own, found.epsilon, len(found.kept) == len(demo.seed)
    (False, 0.1, True)
    """
    own: Any = getattr(alignment.aligner, "aligner_", alignment.aligner)
    pairs, source, target = alignment.known_pairs(), alignment.source, alignment.target
    if hasattr(own, "kept_per_pair_") and np.array_equal(own.pairs_, pairs):
        return Filtered(own.epsilon, own.kept_per_pair_[: len(pairs)], True)
    if not 0 < len(pairs) <= MOST_PUBLISHED or source is None or target is None:
        return None
    with _only_ours():
        fitted = FIPP().fit(source.matrix, target.matrix, pairs)
    return Filtered(fitted.epsilon, fitted.kept_per_pair_, False)


class Findings:
    """All that is known of an alignment. Each part is calculated when it is first read, and is None if it cannot be.

    Parameters
    ----------
    alignment : Alignment
        With the vectors of both sides.
    test : Lexicon, optional
        Pairs to measure with; without them, the seed pairs are cross-validated.
    names : (str, str)
        What to call source and target.
    retrieval : str
        How target words are ranked.
    """

    def __init__(
        self, alignment: Alignment, test: Lexicon | None, names: tuple[str, str], retrieval: str = "cosine"
    ) -> None:
        if alignment.source is None or alignment.target is None:
            raise FippError("a report needs the vectors of both sides: Alignment.load(path, source=…, target=…)")
        self.source: Vectors = alignment.source
        self.target: Vectors = alignment.target
        self.alignment, self.test, self.names, self.retrieval = alignment, test, names, retrieval
        self.pairs = alignment.known_pairs()
        self._progress: Progress | None = None

    def prepare(self, progress: Progress | None) -> None:
        """Calculate everything, and report how far it is."""
        parts = stages(progress, dict(_WORK.values()))
        for name, self._progress in zip(_WORK, parts, strict=True):
            getattr(self, name)
        self._progress = None

    @property
    def aligner(self) -> BaseAligner:
        """The fitted aligner."""
        return self.alignment.aligner

    @property
    def method(self) -> str:
        """The name of the method."""
        return method_of(self.aligner)

    @cached_property
    def shared(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """All vectors of both sides in the shared space."""
        return self.alignment.transform().matrix, self.alignment.transform_target().matrix

    @cached_property
    def scores(self) -> list[Scored] | None:
        """The model, the same by CSLS if a test dictionary was given, and the yardsticks; None without enough pairs."""
        if self.test is None and min(len(np.unique(pairs[:, 0])) for pairs in (self.pairs, self.aligner.pairs_)) < (
            _FEWEST_TO_HOLD_OUT
        ):
            return None
        ways = {"this model": (self.alignment, self.retrieval)}
        if self.test is not None and self.retrieval != "csls":
            ways[BY_CSLS] = (self.alignment, "csls")
        steps, results = Steps(self._progress, len(ways) + len(self.yardsticks)), {}
        with _only_ours():
            for name, (alignment, retrieval) in ways.items():
                results[name] = alignment.evaluate(self.test, retrieval=retrieval, progress=steps.part())
            for name, aligner in self.yardsticks.items():
                # Whole vocabularies are mapped for it, and must not stay longer than it is measured.
                other = Alignment(aligner, self.source, self.target)
                results[name] = other.evaluate(self.test, retrieval=self.retrieval, progress=steps.part())
        own = results["this model"]
        return [
            Scored(name, result, None if result is own else compare_results(own, result, "p@1"))
            for name, result in results.items()
        ]

    @cached_property
    def yardsticks(self) -> dict[str, BaseAligner]:
        """The methods that everyone knows, fitted on the same seed pairs; none without seed pairs."""
        fitted = {}
        for name, method in YARDSTICKS.items() if len(self.pairs) else ():
            if method == "fipp-published" and len(self.pairs) > MOST_PUBLISHED:
                continue
            with _only_ours():
                fitted[name] = clone(METHODS[method]).fit(self.source.matrix, self.target.matrix, self.pairs)
        return fitted

    @cached_property
    def examples(self) -> list[Example]:
        """Words with their translations: of the test dictionary, or else frequent ones that are not in the seed."""
        right: dict[int, list[str]] = {}
        if self.test is None:
            rest = np.setdiff1d(np.arange(min(len(self.source), _FREQUENT)), self.pairs[:, 0])
            chosen = _spread(rest, 2 * _EXAMPLES)
            ranks: list[int | None] = [None] * len(chosen)
        else:
            assert self.scores is not None  # there are test pairs
            result = self.scores[0].result
            assert result.queries is not None  # an evaluation knows its queries
            right_or_wrong = (np.flatnonzero(result.ranks == 1), np.flatnonzero(result.ranks > 1))
            places = np.concatenate([_spread(each, _EXAMPLES) for each in right_or_wrong])
            chosen, ranks = result.queries[places], result.ranks[places].tolist()
            for source, target in self.known.tolist():
                right.setdefault(source, []).append(self.target.words[target])
        words = [self.source.words[row] for row in chosen.tolist()]
        answers = self.alignment.translate_all(words, min(_ANSWERS, len(self.target)), retrieval=self.retrieval)
        return [
            Example(word, [each.word for each in found], right.get(row, []), rank)
            for row, word, found, rank in zip(chosen.tolist(), words, answers, ranks, strict=True)
        ]

    @cached_property
    def mutual(self) -> float:
        """The share of the most frequent source words that are the nearest neighbour of their own nearest, by CSLS."""
        source, target = (vectors[:_MUTUAL_WORDS] for vectors in self.shared)
        return len(mutual_neighbours(source, target, retrieval="csls").pairs) / len(source)

    @cached_property
    def known(self) -> Pairs:
        """Pairs of rows that are known to be right: those of the test dictionary, or else of the seed; maybe none."""
        return self.pairs if self.test is None else self.test.lookup(self.source, self.target).require().rows

    @cached_property
    def map(self) -> PairMap | None:
        """A map of the most frequent source words and the best found of their translations; None with fewer than 4."""
        shown = np.unique(self.known[:, 0])[:_ON_THE_MAP]
        if len(shown) < 4:
            return None
        source, target = self.shared
        rows = self.known[np.isin(self.known[:, 0], shown)]
        ranks = ranks_of_gold(source, target, *rows.T, retrieval=self.retrieval, progress=self._progress)
        order = np.lexsort((ranks, rows[:, 0]))
        _, first = np.unique(rows[order, 0], return_index=True)
        rows, ranks = rows[order[first]], ranks[order[first]]
        places = layout(np.concatenate([unit_rows(source[rows[:, 0]]), unit_rows(target[rows[:, 1]])]))
        words = [self.source.words[row] for row in rows[:, 0]], [self.target.words[row] for row in rows[:, 1]]
        return PairMap(*words, places[: len(rows)], places[len(rows) :], ranks)

    @cached_property
    @single_threaded_blas
    def products(self) -> Spread:
        """Inner products and spectra of some seed words, or of the most frequent words if there are no seed pairs."""
        rows = self.pairs if len(self.pairs) else np.arange(min(len(self.source), len(self.target)))[:, None] * [1, 1]
        rows = rows[_spread(np.arange(len(rows)), _COMPARED)]
        given = self.source.matrix[rows[:, 0]], self.target.matrix[rows[:, 1]]
        moved = self.shared[0][rows[:, 0]], self.shared[1][rows[:, 1]]
        edges, densities, spectra = {}, {}, {}
        for when, sides in (("before", given), ("after", moved)):
            unit = {name: unit_rows(side) for name, side in zip(("source", "target"), sides, strict=True)}
            products = {name: _products(side) for name, side in unit.items()}
            edges[when], densities[when] = _histograms(products)
            spectra[when] = {name: _spectrum(side) for name, side in unit.items()}
        return Spread(edges, densities, spectra)

    @cached_property
    def filtered(self) -> Filtered | None:
        """What the filter keeps of each seed pair; None if it is not known."""
        return filter_of(self.alignment)

    @cached_property
    def hubs(self) -> Hubs:
        """How often each of the most frequent target words is found, by cosine and by CSLS."""
        source, target = (vectors[:_HUB_WORDS] for vectors in self.shared)
        asked = _spread(np.arange(len(source)), _HUB_QUERIES)
        counts = {}
        for retrieval in ("cosine", "csls"):
            found = neighbours(
                source[asked],
                target,
                min(_HUB_NEIGHBOURS, len(target)),
                retrieval=retrieval,
                hub_reference=source if retrieval == "csls" else None,
            )
            counts[retrieval] = np.bincount(found.indices.ravel(), minlength=len(target))
        return Hubs(list(self.target.words[: len(target)]), counts, len(asked))

    @cached_property
    def spaces(self) -> dict[tuple[str, str], Any]:
        """Isotropy, effective dimensions and hubness of both sides, before and after."""
        given = self.source.matrix, self.target.matrix
        return {
            (name, when): describe_space(matrix[:_HUB_WORDS])
            for when, sides in (("before", given), ("after", self.shared))
            for name, matrix in zip(self.names, sides, strict=True)
        }

    @cached_property
    def cosines(self) -> Floats:
        """The cosine of each seed pair in the shared space."""
        left, right = (unit_rows(side[rows]) for side, rows in zip(self.shared, self.pairs.T, strict=True))
        return np.einsum("ij,ij->i", left, right).astype(np.float64)

    @cached_property
    def judged(self) -> PairCosines | None:
        """How near each seed pair is by maps that were learned without it; None if there are too few to judge."""
        if len(np.unique(self.pairs[:, 0])) < FEWEST_TO_JUDGE:
            return None
        return pair_cosines(self.source.matrix, self.target.matrix, self.pairs)

    @property
    def trials(self) -> list[dict[str, Any]]:
        """What `Auto` tried; nothing for other methods."""
        return list(getattr(self.aligner, "trials_", ()))

    def words_of(self, pairs: Pairs) -> list[tuple[str, str]]:
        """Return the words of pairs of rows."""
        return [(self.source.words[left], self.target.words[right]) for left, right in pairs.tolist()]


@contextmanager
def _only_ours() -> Iterator[None]:
    """Ignore warnings from fits and evaluations: the page itself says what they say."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FippWarning)
        yield


def _spread(rows: Pairs, count: int) -> Pairs:
    """Return some of the rows, evenly spread over all of them."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(np.int64))]


def _products(unit: NDArray[Any]) -> Floats:
    """Return the inner products of different rows, each once."""
    return (unit @ unit.T)[np.triu_indices(len(unit), 1)].astype(np.float64)


def _histograms(products: dict[str, Floats]) -> tuple[Floats, dict[str, Floats]]:
    """Return densities over one range that holds all but the outermost of each."""
    ends = np.array([np.quantile(values, (0.001, 0.999)) if len(values) else (0, 1) for values in products.values()])
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    edges = np.linspace(low, max(high, low + 1e-6), _BINS + 1)
    width = edges[1] - edges[0]
    counted = {
        name: np.histogram(values, edges)[0] / (max(len(values), 1) * width) for name, values in products.items()
    }
    return edges, counted


def _spectrum(unit: NDArray[Any]) -> Floats:
    """Return the eigenvalues of the Gram matrix, falling, as shares of their sum."""
    values = np.linalg.svd(unit.astype(np.float64), compute_uv=False) ** 2
    return values / (values.sum() or 1.0)
