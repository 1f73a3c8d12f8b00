"""Word similarity: whether cosines rank pairs of words as people do, in one space or across two."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fipp.aligners import BaseAligner
from fipp.exceptions import FippError, warn
from fipp.io import MALFORMED, Inspector, Vectors, counted, layout_of, number_of, read_lines

SimilarityItems = str | os.PathLike[str] | Iterable[tuple[str, str, float]]


class ScoredPair(NamedTuple):
    """Two words, and how similar people find them."""

    first: str
    second: str
    score: float


class Aligned(Protocol):
    """The part of an `Alignment` that evaluation needs."""

    aligner: BaseAligner
    source: Vectors | None
    target: Vectors | None


class Side(NamedTuple):
    """A vocabulary, and the map of its vectors to the shared space; None if they are in it already."""

    vectors: Vectors
    transform: Callable[[NDArray[Any]], NDArray[Any]] | None = None

    def rows(self, rows: NDArray[np.int64] | slice) -> NDArray[Any]:
        """Return these rows in the shared space; only they are mapped."""
        vectors = self.vectors.matrix[rows]
        return vectors if self.transform is None else self.transform(vectors)


def side_of(alignment: Aligned, side: str) -> Side:
    """Return the source or the target of an alignment; refuse one that was loaded without its vectors."""
    if side not in ("source", "target"):
        raise FippError(f"side must be 'source' or 'target', not {side!r}")
    vectors: Vectors | None = getattr(alignment, side)
    if vectors is None:
        raise FippError(f"this needs the {side} vectors: Alignment.load(path, source=…, target=…)")
    aligner = alignment.aligner
    return Side(vectors, aligner.transform if side == "source" else aligner.transform_target)


@dataclass(frozen=True)
class SimilarityResult:
    """How well cosines agree with human scores.

    Attributes
    ----------
    spearman, pearson : float
        Correlations of the ranks (mean ranks for ties), and of cosines and scores; NaN if one side does not vary.
    pairs, total : int
        Pairs of which both words have a vector, and all pairs.

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
        figures = {**asdict(self), "coverage": self.coverage}
        return {name: None if np.isnan(value) else value for name, value in figures.items()}

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
        The space. Words are looked up by `Vectors.find`.
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
    >>> round(result.spearman, 6), result.pairs, result.coverage
    (1.0, 2, 0.6666666666666666)
    """
    return _agreement(Side(vectors), Side(vectors), items)


def cross_similarity(alignment: Aligned, items: SimilarityItems) -> SimilarityResult:
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
    return _agreement(side_of(alignment, "source"), side_of(alignment, "target"), items)


def similarity_before_after(alignment: Aligned, items: SimilarityItems, side: str = "source") -> BeforeAfter:
    """Compare the word similarity within one side before and after alignment, which may have harmed it.

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
    mapped = side_of(alignment, side)
    items = _listed(items)
    return BeforeAfter(similarity(mapped.vectors, items), _agreement(mapped, mapped, items))


def load_similarity(
    path: str | os.PathLike[str], *, strict: bool = False, max_bytes: int | float | str | None = None
) -> list[ScoredPair]:
    r"""Read a file of word similarity: two words and a score per line.

    Columns may be separated by tabs, commas, semicolons or white space. A column of row numbers before the words,
    columns between the words and the first number, columns after it, a header and lines that begin with ``#`` are
    ignored.

    Parameters
    ----------
    path : str or path-like
        The file, compressed or not.
    strict : bool, default=False
        Refuse a file with a line that cannot be used; otherwise a warning says how many were skipped.
    max_bytes : int or str, optional
        Refuse a file that takes more memory than this, as in `Vectors.load`.

    Returns
    -------
    list of ScoredPair

    Raises
    ------
    FippError
        If there are no two words with a number.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "similar.csv")
    >>> _ = path.write_text(",word1,word2,similarity,sd\n0,cat,tiger,7.5,1.2\n1,cat,global warming,0.3,0.5\n")
    >>> load_similarity(path)
    [ScoredPair(first='cat', second='tiger', score=7.5), ScoredPair(first='cat', second='global warming', score=0.3)]
    """
    path = Path(path)
    inspector = Inspector(path, strict)
    lines = [
        # A header may begin with an empty field, so only the end is stripped.
        (number, inspector.decode(line.rstrip(b"\r"), f"line {number}"))
        for number, line in enumerate(read_lines(path, max_bytes), 1)
        if line.strip() and not line.startswith(b"#")
    ]
    # A header whose first field is empty, above row numbers, does not look like a pair.
    layout = layout_of([text for _, text in lines if text[0] not in ",;"], path)
    rows = [layout.split(text) for _, text in lines]
    words, score = _columns(rows[1:] or rows, layout.separator, path)
    pairs = []
    for place, ((number, text), row) in enumerate(zip(lines, rows, strict=True)):
        value = number_of(row[score], layout.separator) if len(row) > score else None
        if value is not None and row[words] and row[words + 1]:
            pairs.append(ScoredPair(row[words], row[words + 1], value))
        elif place:  # the first is the header
            inspector.skip(MALFORMED, f"line {number}", text, counted(len(row), "field"))
    if remarks := inspector.report(counted(len(pairs), "pair")).summary():
        warn(remarks)
    return pairs


def _columns(rows: list[list[str]], separator: str, path: Path) -> tuple[int, int]:
    """Return the column of the first word, which the second follows, and that of the score."""
    widest = max(map(len, rows), default=0)

    def is_numeric(column: int) -> bool:
        values = [number_of(row[column], separator) for row in rows if len(row) > column]
        return 2 * sum(value is not None for value in values) >= len(rows)

    numeric = [is_numeric(column) for column in range(widest)]
    words = 1 if numeric[:3] == [True, False, False] else 0
    for column in range(words + 2, widest):
        if numeric[column]:
            return words, column
    raise FippError(f"{path} has no two words with a number after them in at least half of its lines")


def _listed(items: SimilarityItems) -> list[Any]:
    return load_similarity(items) if isinstance(items, (str, os.PathLike)) else list(items)


def _agreement(first: Side, second: Side, items: SimilarityItems) -> SimilarityResult:
    """Look the pairs up and correlate the cosines of those that are found."""
    from scipy.stats import pearsonr, spearmanr  # imported here because it takes longer than all of fipp

    listed = _listed(items)
    if not listed:
        raise FippError("there are no pairs of words to compare")
    words, others, scores = zip(*listed, strict=True)
    rows, other_rows = first.vectors.find(words), second.vectors.find(others)
    found = (rows >= 0) & (other_rows >= 0)
    if not found.any():
        raise FippError(
            f"none of the {len(listed):,} pairs of words has vectors for both, such as {words[0]!r} and {others[0]!r}: "
            "are the vectors of that language?"
        )
    cosines = _cosines(first.rows(rows[found]), second.rows(other_rows[found]))
    human = np.array(scores, dtype=np.float64)[found]
    if not np.isfinite(human).all():
        raise FippError("the scores of pairs of words must be finite numbers")
    varies = np.ptp(cosines) > 0 and np.ptp(human) > 0
    spearman, pearson = (
        float(correlation(cosines, human).statistic) if varies else float("nan")
        for correlation in (spearmanr, pearsonr)
    )
    return SimilarityResult(spearman, pearson, int(found.sum()), len(listed))


def _cosines(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Return the cosine of each row with the same row of the other; 0 if one of them is zero."""
    first, second = (_of_largest_1(rows.astype(np.float64)) for rows in (first, second))
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    products: NDArray[np.float64] = np.einsum("ij,ij->i", first, second)
    cosines = np.divide(products, norms, out=np.zeros(len(norms)), where=norms > 0)
    # The cosine of any word with itself is 1; without rounding, errors in the last digit would rank such pairs.
    return cosines.round(12)


def _of_largest_1(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale each row so that its largest number is about 1 and no square leaves the range of float64."""
    # By a power of two, which changes no digit.
    exponents = np.frexp(np.abs(rows).max(axis=1))[1]
    return np.ldexp(rows, -exponents[:, None])
