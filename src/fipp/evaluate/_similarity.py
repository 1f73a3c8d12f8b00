"""Word similarity: do cosines rank pairs of words as people do, in one space or across two."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.evaluate._similarity_file import load_similarity
from fipp.exceptions import FippError
from fipp.io import Vectors

if TYPE_CHECKING:
    from fipp._alignment import Alignment

_Map = Callable[[NDArray[np.int64]], NDArray]
SimilarityItems = str | os.PathLike[str] | Iterable[tuple[str, str, float]]


@dataclass(frozen=True)
class SimilarityResult:
    """How well cosines agree with human scores.

    Attributes
    ----------
    spearman : float
        Correlation of the ranks, mean ranks for ties; NaN if one side does not vary.
    pearson : float
        Correlation of cosines and scores; NaN if one side does not vary.
    pairs : int
        Pairs of which both words have a vector.
    total : int
        All pairs.

    Examples
    --------
    >>> print(SimilarityResult(0.713, 0.69, 340, 353))
    Spearman 0.7130, Pearson 0.6900; 340 of 353 pairs found (96.3 %)
    """

    spearman: float
    pearson: float
    pairs: int
    total: int

    @property
    def coverage(self) -> float:
        """Share of the pairs that were found: ``pairs / total``."""
        return self.pairs / self.total

    def as_dict(self) -> dict[str, Any]:
        """Return everything as numbers that JSON can hold; None stands for NaN."""
        correlations = {"spearman": self.spearman, "pearson": self.pearson}
        return {
            **{name: None if np.isnan(value) else value for name, value in correlations.items()},
            "pairs": self.pairs,
            "total": self.total,
            "coverage": self.coverage,
        }

    def __str__(self) -> str:
        return (
            f"Spearman {self.spearman:.4f}, Pearson {self.pearson:.4f}; "
            f"{self.pairs:,} of {self.total:,} pairs found ({100 * self.coverage:.1f} %)"
        )


class BeforeAfter(NamedTuple):
    """Word similarity within one side, before and after alignment."""

    before: SimilarityResult
    after: SimilarityResult


def similarity(vectors: Vectors, items: SimilarityItems) -> SimilarityResult:
    """Compare the cosines of pairs of words with human scores.

    Parameters
    ----------
    vectors : Vectors
        The space. Words are sought as they are, then in other case.
    items : path, or iterable of (str, str, float)
        Two words and their score; see `load_similarity` for files.

    Returns
    -------
    SimilarityResult
        Of the pairs that were found.

    Raises
    ------
    FippError
        If no pair was found.

    Examples
    --------
    >>> vectors = Vectors(["cat", "tiger", "car"], [[1.0, 0.0], [0.9, 0.1], [0.1, 1.0]])
    >>> result = similarity(vectors, [("Cat", "tiger", 8.0), ("cat", "car", 1.0), ("cat", "zebra", 5.0)])
    >>> result.spearman, result.pairs, result.coverage
    (1.0, 2, 0.6666666666666666)
    """
    return _agreement(vectors, vectors, items, lambda rows: vectors.matrix[rows], lambda rows: vectors.matrix[rows])


def cross_similarity(alignment: Alignment, items: SimilarityItems) -> SimilarityResult:
    """Compare the cosines of pairs of a source word and a target word, in the shared space, with human scores.

    Parameters
    ----------
    alignment : Alignment
        With the vectors of both sides.
    items : path, or iterable of (str, str, float)
        A source word, a target word and their score.

    Returns
    -------
    SimilarityResult

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed, "fipp")
    >>> items = [("house", "maison", 4.0), ("house", "toit", 2.5), ("house", "mardi", 0.1)]
    >>> cross_similarity(alignment, items).spearman
    1.0
    """
    source, target = _side(alignment, "source"), _side(alignment, "target")
    return _agreement(
        source,
        target,
        items,
        lambda rows: alignment.aligner.transform(source.matrix[rows]),
        lambda rows: alignment.aligner.transform_target(target.matrix[rows]),
    )


def similarity_before_after(alignment: Alignment, items: SimilarityItems, side: str = "source") -> BeforeAfter:
    """Tell whether a side is still as good a space in itself as it was before alignment.

    Parameters
    ----------
    alignment : Alignment
        With the vectors of that side.
    items : path, or iterable of (str, str, float)
        Two words of that side and their score.
    side : {"source", "target"}, default="source"
        Which side.

    Returns
    -------
    BeforeAfter

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed, "fipp")
    >>> items = [("house", "home", 8.0), ("house", "roof", 5.0), ("house", "tuesday", 0.5)]
    >>> before, after = similarity_before_after(alignment, items)
    >>> before.pairs == after.pairs
    True
    """
    vectors = _side(alignment, side)
    if isinstance(items, (str, os.PathLike)):
        items = load_similarity(items)
    items = list(items)
    transform = alignment.aligner.transform if side == "source" else alignment.aligner.transform_target

    def mapped(rows: NDArray[np.int64]) -> NDArray[np.float32]:
        return transform(vectors.matrix[rows])

    return BeforeAfter(similarity(vectors, items), _agreement(vectors, vectors, items, mapped, mapped))


def _side(alignment: Alignment, side: str) -> Vectors:
    if side not in ("source", "target"):
        raise FippError(f"side must be 'source' or 'target', not {side!r}")
    vectors: Vectors | None = getattr(alignment, side)
    if vectors is None:
        raise FippError(f"this needs the {side} vectors: Alignment.load(path, source=…, target=…)")
    return vectors


def _agreement(
    first: Vectors, second: Vectors, items: SimilarityItems, map_first: _Map, map_second: _Map
) -> SimilarityResult:
    """Look the pairs up, map only the rows that are asked for, and correlate."""
    listed = load_similarity(items) if isinstance(items, (str, os.PathLike)) else list(items)
    if not listed:
        raise FippError("there are no pairs of words to compare")
    words, others, scores = zip(*listed, strict=True)
    rows, other_rows = first.find(words), second.find(others)
    found = (rows >= 0) & (other_rows >= 0)
    if not found.any():
        raise FippError(
            f"none of the {len(listed):,} pairs of words has vectors for both, such as {words[0]!r} and {others[0]!r}: "
            "are the vectors of that language?"
        )
    cosines = _cosines(map_first(rows[found]), map_second(other_rows[found]))
    human = np.array(scores, dtype=np.float64)[found]
    return SimilarityResult(
        spearman=_pearson(_ranks(cosines), _ranks(human)),
        pearson=_pearson(cosines, human),
        pairs=int(found.sum()),
        total=len(listed),
    )


def _cosines(first: NDArray, second: NDArray) -> NDArray[np.float64]:
    """Return the cosine of each row with the same row of the other; 0 when one is zero."""
    first, second = first.astype(np.float64), second.astype(np.float64)
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    products: NDArray[np.float64] = np.einsum("ij,ij->i", first, second)
    cosines = np.divide(products, norms, out=np.zeros(len(norms)), where=norms > 0)
    # The cosine of a word with itself is 1, whichever the word; rounding errors would put such pairs in an order.
    return cosines.round(12)


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of each value from below, equal ones the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    ranks: NDArray[np.float64] = (last - (count - 1) / 2)[place]
    return ranks


def _pearson(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    first, second = first - first.mean(), second - second.mean()
    length = np.sqrt((first @ first) * (second @ second))
    return float(np.clip(first @ second / length, -1, 1)) if length > 0 else float("nan")
