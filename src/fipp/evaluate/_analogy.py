"""Analogies: a is to b as c is to what."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError, FippWarning
from fipp.io import Vectors
from fipp.io._report import MALFORMED, Inspector, counted
from fipp.io._stream import read_batches
from fipp.linalg import unit_rows
from fipp.linalg._memory import rows_per_block
from fipp.retrieve._options import check_count

_MAX_BYTES = 1 << 28
# Keeps a product from being divided by nothing (Levy and Goldberg 2014).
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
    """How many analogies were completed.

    Attributes
    ----------
    correct : int
        Right answers. Another word with the same score makes an answer wrong.
    questions : int
        Questions whose four words have vectors.
    total : int
        All questions.
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
        """Give everything as numbers and text that JSON can hold."""
        return {
            "accuracy": self.accuracy,
            "correct": self.correct,
            "questions": self.questions,
            "total": self.total,
            "coverage": self.coverage,
            "method": self.method,
            "sections": {name: score._asdict() for name, score in self.sections.items()},
        }

    def __str__(self) -> str:
        return (
            f"accuracy {self.accuracy:.4f} by {self.method}; "
            f"{self.questions:,} of {self.total:,} questions found ({100 * self.coverage:.1f} %)"
        )


def load_analogies(path: str | os.PathLike[str], *, strict: bool = False) -> list[Analogy]:
    r"""Read analogies in Google's layout: four words a line, and lines ``: name`` that begin a section.

    Parameters
    ----------
    path : str or path-like
        The file, compressed or not.
    strict : bool, default=False
        Refuse a file with a line that is neither; otherwise a warning tells how many were skipped.

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
    every_line = (line.strip() for batch in read_batches(path, _MAX_BYTES) for line in batch)
    for number, raw in enumerate(every_line, 1):
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
        warnings.warn(report, FippWarning, stacklevel=2)
    return analogies


def analogies(
    vectors: Vectors,
    questions: str | os.PathLike[str] | Iterable[tuple[str, ...]],
    *,
    method: str = "3cosadd",
    limit: int | None = None,
    max_memory: int | float | str | None = None,
) -> AnalogyResult:
    r"""Complete analogies: a is to b as c is to d, which is sought among all words but a, b and c.

    With all vectors at unit length, the answer is the word x with the largest

    .. math:: \text{3CosAdd: } \cos(x, b) - \cos(x, a) + \cos(x, c), \qquad
              \text{3CosMul: } \frac{s(x, b)\, s(x, c)}{s(x, a) + 0.001},\quad s = (\cos + 1) / 2.

    Parameters
    ----------
    vectors : Vectors
        The space. Words are sought as they are, then in other case.
    questions : path, or iterable of (a, b, c, d) or (a, b, c, d, section)
        See `load_analogies` for files.
    method : {"3cosadd", "3cosmul"}, default="3cosadd"
        What is maximised (Mikolov et al. 2013, Levy and Goldberg 2014).
    limit : int, optional
        Use only the first so many words, as is often done to make results comparable.
    max_memory : int or str, optional
        Working memory.

    Returns
    -------
    AnalogyResult

    Raises
    ------
    FippError
        If the words of no question were found.

    Examples
    --------
    >>> matrix = [[1, 0, 1], [1, 1, 1], [1, 0, 0], [1, 1, 0], [0, 1, 9]]
    >>> vectors = Vectors(["man", "king", "woman", "queen", "car"], matrix)
    >>> print(analogies(vectors, [("man", "king", "woman", "queen")]))
    accuracy 1.0000 by 3cosadd; 1 of 1 questions found (100.0 %)
    """
    if method not in ("3cosadd", "3cosmul"):
        raise FippError(f"there is no method {method!r}; choose from 3cosadd, 3cosmul")
    if limit is not None:
        vectors = vectors.head(check_count(limit, "limit"))
    listed = load_analogies(questions) if isinstance(questions, (str, os.PathLike)) else list(questions)
    asked = [Analogy(*question) for question in listed]
    rows = vectors.find(word for question in asked for word in question[:4]).reshape(-1, 4)
    found: NDArray[np.bool_] = rows.min(axis=1) >= 0
    if not found.any():
        raise FippError(f"of none of the {len(asked):,} analogies are all four words among the vectors")
    right = np.zeros(len(asked), dtype=bool)
    right[found] = _answered(unit_rows(vectors.matrix), rows[found], method, max_memory)
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
    unit: NDArray[np.float32], rows: NDArray[np.int64], method: str, max_memory: int | float | str | None
) -> NDArray[np.bool_]:
    """Tell of each question whether the fourth word scores higher than all but the first three."""
    right = np.empty(len(rows), dtype=bool)
    step = rows_per_block(16 * len(unit), max_memory, at_most=512)
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        scores = _scores(unit, block, method)
        every = np.arange(len(block))
        wanted = scores[every, block[:, 3]].copy()
        scores[every[:, None], block] = -np.inf
        # A wanted word that is one of the question's own is excluded like them.
        own = (block[:, :3] == block[:, 3:]).any(axis=1)
        right[start : start + step] = (wanted > scores.max(axis=1)) & ~own
    return right


def _scores(unit: NDArray[np.float32], rows: NDArray[np.int64], method: str) -> NDArray[np.float32]:
    a, b, c = (unit[rows[:, column]] for column in range(3))
    if method == "3cosadd":
        return np.matmul(b - a + c, unit.T)
    near_a, near_b, near_c = ((np.matmul(side, unit.T) + np.float32(1)) / np.float32(2) for side in (a, b, c))
    return near_b * near_c / (near_a + _EPSILON)
