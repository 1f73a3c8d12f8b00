"""Analogies: a is to b as c is to d, in one space or across two."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.evaluate._similarity import Aligned, Side, side_of
from fipp.exceptions import FippError, warn
from fipp.io import MALFORMED, Inspector, Vectors, counted, read_lines
from fipp.linalg import rows_per_block, unit_rows
from fipp.retrieve import check_count

Questions = str | os.PathLike[str] | Iterable[tuple[str, ...]]
_METHODS = ("3cosadd", "3cosmul")

# Avoids division by zero (Levy and Goldberg 2014).
_EPSILON = np.float32(1e-3)


class Analogy(NamedTuple):
    """a is to b as c is to d; ``section`` is the kind of question."""

    a: str
    b: str
    c: str
    d: str
    section: str = ""


class SectionScore(NamedTuple):
    """Right answers, questions whose four words have vectors, and all questions."""

    correct: int
    questions: int
    total: int


@dataclass(frozen=True)
class AnalogyResult:
    """How many analogies were completed correctly.

    Attributes
    ----------
    correct : int
        Right answers. An answer that ties with another word counts as wrong.
    questions, total : int
        Questions whose four words have vectors, and all questions.
    method : str
        ``"3cosadd"`` or ``"3cosmul"``.
    sections : dict of str to SectionScore
        The same by section, in the order of the questions.

    Examples
    --------
    >>> print(AnalogyResult(3, 4, 5, "3cosadd", {"": SectionScore(3, 4, 5)}))
    accuracy 0.7500 by 3cosadd; 4 of 5 questions found (80.0 %)
    """

    correct: int
    questions: int
    total: int
    method: str
    sections: Mapping[str, SectionScore]

    @property
    def accuracy(self) -> float:
        """Share of right answers among the questions found."""
        return self.correct / self.questions

    @property
    def coverage(self) -> float:
        """Share of the questions that were found."""
        return self.questions / self.total

    def as_dict(self) -> dict[str, Any]:
        """Return everything as numbers and text that JSON can hold."""
        names = ("accuracy", "correct", "questions", "total", "coverage", "method")
        sections = {name: score._asdict() for name, score in self.sections.items()}
        return {**{name: getattr(self, name) for name in names}, "sections": sections}

    def __str__(self) -> str:
        return (
            f"accuracy {self.accuracy:.4f} by {self.method}; "
            f"{self.questions:,} of {self.total:,} questions found ({100 * self.coverage:.1f} %)"
        )


def analogies(
    vectors: Vectors,
    questions: Questions,
    *,
    method: str = "3cosadd",
    limit: int | None = None,
    max_memory: int | float | str | None = None,
) -> AnalogyResult:
    r"""Complete analogies: a is to b as c is to d, which is searched among all words but a, b and c.

    With all vectors at unit length, the answer is the word x with the largest

    .. math:: \text{3CosAdd: } \cos(x, b) - \cos(x, a) + \cos(x, c), \qquad
              \text{3CosMul: } \frac{s(x, b)\, s(x, c)}{s(x, a) + 0.001},\quad s = (\cos + 1) / 2.

    Parameters
    ----------
    vectors : Vectors
        The space. Words are looked up by `Vectors.find`.
    questions : path, or iterable of (a, b, c, d) or (a, b, c, d, section)
        See `load_analogies` for files.
    method : {"3cosadd", "3cosmul"}, default="3cosadd"
        What is maximised (Mikolov et al. 2013, Levy and Goldberg 2014).
    limit : int, optional
        Use only this many of the first words, as is often done to make results comparable.
    max_memory : int or str, optional
        Working memory.

    Returns
    -------
    AnalogyResult

    Raises
    ------
    FippError
        If no question has vectors for all four words.

    Examples
    --------
    >>> matrix = [[1, 0, 1], [1, 1, 1], [1, 0, 0], [1, 1, 0], [0, 1, 9]]
    >>> vectors = Vectors(["man", "king", "woman", "queen", "car"], matrix)
    >>> print(analogies(vectors, [("man", "king", "woman", "queen")]))
    accuracy 1.0000 by 3cosadd; 1 of 1 questions found (100.0 %)
    """
    space = Side(vectors)
    return _complete(space, space, slice(0, 3), questions, method, limit, max_memory)


def cross_analogies(
    alignment: Aligned,
    questions: Questions,
    *,
    method: str = "3cosadd",
    limit: int | None = None,
    max_memory: int | float | str | None = None,
) -> AnalogyResult:
    """Complete analogies across two spaces: a is to b in the source as c is to d in the target.

    The answer is searched among all target words but c, in the shared space.

    Parameters
    ----------
    alignment : Alignment
        With the vectors of both sides.
    questions : path, or iterable of (a, b, c, d) or (a, b, c, d, section)
        Two source words and two target words.
    method, limit, max_memory
        As for `analogies`; the limit applies to either side.

    Returns
    -------
    AnalogyResult

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed, "fipp")
    >>> print(cross_analogies(alignment, [("man", "woman", "roi", "reine")]))
    accuracy 1.0000 by 3cosadd; 1 of 1 questions found (100.0 %)
    """
    sides = side_of(alignment, "source"), side_of(alignment, "target")
    return _complete(*sides, slice(2, 3), questions, method, limit, max_memory)


def load_analogies(
    path: str | os.PathLike[str], *, strict: bool = False, max_bytes: int | float | str | None = None
) -> list[Analogy]:
    r"""Read analogies in Google's layout: four words per line, and lines ``: name`` that begin a section.

    Parameters
    ----------
    path : str or path-like
        The file, compressed or not.
    strict : bool, default=False
        Refuse a file with a line that is neither; otherwise a warning says how many were skipped.
    max_bytes : int or str, optional
        Refuse a file that takes more memory than this, as in `Vectors.load`.

    Returns
    -------
    list of Analogy

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "questions-words.txt")
    >>> _ = path.write_text(": capitals\nAthens Greece Oslo Norway\n")
    >>> load_analogies(path)
    [Analogy(a='Athens', b='Greece', c='Oslo', d='Norway', section='capitals')]
    """
    path = Path(path)
    inspector = Inspector(path, strict)
    section, analogies = "", []
    for number, raw in enumerate(map(bytes.strip, read_lines(path, max_bytes)), 1):
        text = inspector.decode(raw, f"line {number}")
        words = text.split("\t") if text.count("\t") == 3 else text.split()
        if text.startswith(":"):
            section = text[1:].strip()
        elif len(words) == 4:
            a, b, c, d = words
            analogies.append(Analogy(a, b, c, d, section))
        elif text and not text.startswith("#"):
            inspector.skip(MALFORMED, f"line {number}", text, counted(len(words), "word"))
    report = inspector.report(f"{len(analogies):,} analogies").summary()
    if not analogies:
        raise FippError(f"{path} holds no line of four words. {report or ''}".strip())
    if report:
        warn(report)
    return analogies


def check_analogy_method(method: str) -> None:
    """Refuse a method other than ``"3cosadd"`` and ``"3cosmul"``."""
    if method not in _METHODS:
        raise FippError(f"there is no method {method!r}; choose from {', '.join(_METHODS)}")


def _complete(
    source: Side,
    target: Side,
    excluded: slice,
    questions: Questions,
    method: str,
    limit: int | None,
    max_memory: int | float | str | None,
) -> AnalogyResult:
    """Search d among the target words; ``excluded`` are the columns of a question that are no answers to it."""
    check_analogy_method(method)
    if limit is not None:
        limit = check_count(limit, "limit")
        source, target = (side._replace(vectors=side.vectors.head(limit)) for side in (source, target))
    listed = load_analogies(questions) if isinstance(questions, (str, os.PathLike)) else questions
    asked = [Analogy(*question) for question in listed]
    sides = (source.vectors, source.vectors, target.vectors, target.vectors)
    rows = np.stack([side.find(question[place] for question in asked) for place, side in enumerate(sides)], axis=1)
    found = rows.min(axis=1) >= 0
    if not found.any():
        raise FippError(f"none of the {len(rows):,} analogies has vectors for all four words")
    right = np.zeros(len(asked), dtype=bool)
    right[found] = _answered(source, target, rows[found], excluded, method, max_memory)
    sections: dict[str, list[int]] = {}
    for number, question in enumerate(asked):
        sections.setdefault(question.section, []).append(number)
    return AnalogyResult(
        correct=int(right.sum()),
        questions=int(found.sum()),
        total=len(asked),
        method=method,
        sections={
            name: SectionScore(int(right[places].sum()), int(found[places].sum()), len(places))
            for name, places in sections.items()
        },
    )


def _answered(
    source: Side,
    target: Side,
    rows: NDArray[np.int64],
    excluded: slice,
    method: str,
    max_memory: int | float | str | None,
) -> NDArray[np.bool_]:
    """Return for each question whether d scores higher than all other words that count."""
    keys = unit_rows(target.rows(slice(None)))
    # Only source words that occur in a question are mapped.
    needed, places = np.unique(rows[:, :2], return_inverse=True)
    mapped, places = unit_rows(source.rows(needed)), places.reshape(-1, 2)
    right = np.empty(len(rows), dtype=bool)
    step = rows_per_block(16 * len(keys), max_memory, at_most=512)
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        wanted, own = rows[block, 3], rows[block, excluded]
        scores = _scores(mapped[places[block, 0]], mapped[places[block, 1]], keys[rows[block, 2]], keys, method)
        every = np.arange(len(scores))
        score = scores[every, wanted].copy()
        scores[every, wanted] = -np.inf
        scores[every[:, None], own] = -np.inf
        # A wanted word that is one of the question's own words is excluded like them.
        right[block] = (score > scores.max(axis=1)) & ~(own == wanted[:, None]).any(axis=1)
    return right


def _scores(
    a: NDArray[np.float32], b: NDArray[np.float32], c: NDArray[np.float32], keys: NDArray[np.float32], method: str
) -> NDArray[np.float32]:
    if method == "3cosadd":
        return np.matmul(b - a + c, keys.T)
    near_a, near_b, near_c = ((np.matmul(side, keys.T) + np.float32(1)) / np.float32(2) for side in (a, b, c))
    return near_b * near_c / (near_a + _EPSILON)
