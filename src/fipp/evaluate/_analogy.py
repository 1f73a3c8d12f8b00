"""Analogies: a is to b as c is to what."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.evaluate._analogy_file import Analogy, load_analogies
from fipp.exceptions import FippError
from fipp.io import Vectors
from fipp.linalg import rows_per_block, unit_rows
from fipp.retrieve._options import check_count

if TYPE_CHECKING:
    from fipp._alignment import Alignment

METHODS = ("3cosadd", "3cosmul")

# Keeps a product from being divided by nothing (Levy and Goldberg 2014).
_EPSILON = np.float32(1e-3)


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
        """Return everything as numbers and text that JSON can hold."""
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
    if limit is not None:
        vectors = vectors.head(check_count(limit, "limit"))
    asked = _asked(questions, method)
    rows = vectors.find(word for question in asked for word in question[:4]).reshape(-1, 4)
    found = _found(rows)
    unit = unit_rows(vectors.matrix)
    sought = _Sought(unit, rows[found, 3], rows[found, :3])
    return _result(asked, found, _answered((unit, unit, unit), rows[found], sought, method, max_memory), method)


def cross_analogies(
    alignment: Alignment,
    questions: str | os.PathLike[str] | Iterable[tuple[str, ...]],
    *,
    method: str = "3cosadd",
    limit: int | None = None,
    max_memory: int | float | str | None = None,
) -> AnalogyResult:
    """Complete analogies across two spaces: a is to b in the source as c is to d in the target.

    The answer is sought among all target words but c, in the shared space.

    Parameters
    ----------
    alignment : Alignment
        With the vectors of both sides.
    questions : path, or iterable of (a, b, c, d) or (a, b, c, d, section)
        Two source words and two target words.
    method, limit, max_memory
        As for `analogies`; the limit holds for either side.

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
    source, target = alignment._side("source"), alignment._side("target")
    if limit is not None:
        source, target = source.head(check_count(limit, "limit")), target.head(limit)
    asked = _asked(questions, method)
    rows = np.stack(
        [
            side.find(question[place] for question in asked)
            for place, side in enumerate((source, source, target, target))
        ],
        axis=1,
    )
    found = _found(rows)
    keys = unit_rows(alignment.aligner.transform_target(target.matrix))
    # Only source words that are asked for are mapped.
    needed, places = np.unique(rows[found, :2], return_inverse=True)
    mapped = unit_rows(alignment.aligner.transform(source.matrix[needed]))
    moved = np.concatenate([places.reshape(-1, 2), rows[found, 2:]], axis=1)
    sought = _Sought(keys, rows[found, 3], rows[found, 2:3])
    return _result(asked, found, _answered((mapped, mapped, keys), moved, sought, method, max_memory), method)


def check_method(method: str) -> None:
    """Refuse a method that there is not."""
    if method not in METHODS:
        raise FippError(f"there is no method {method!r}; choose from {', '.join(METHODS)}")


class _Sought(NamedTuple):
    """Where answers are sought: unit rows, the right one of each question, and those that do not count."""

    keys: NDArray[np.float32]
    wanted: NDArray[np.int64]
    excluded: NDArray[np.int64]


def _asked(questions: str | os.PathLike[str] | Iterable[tuple[str, ...]], method: str) -> list[Analogy]:
    check_method(method)
    listed = load_analogies(questions) if isinstance(questions, (str, os.PathLike)) else list(questions)
    return [Analogy(*question) for question in listed]


def _found(rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = rows.min(axis=1) >= 0
    if not found.any():
        raise FippError(f"of none of the {len(rows):,} analogies are all four words among the vectors")
    return found


def _result(asked: list[Analogy], found: NDArray[np.bool_], answered: NDArray[np.bool_], method: str) -> AnalogyResult:
    right = np.zeros(len(asked), dtype=bool)
    right[found] = answered
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
    sides: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]],
    rows: NDArray[np.int64],
    sought: _Sought,
    method: str,
    max_memory: int | float | str | None,
) -> NDArray[np.bool_]:
    """Tell of each question whether the fourth word scores higher than all others that count.

    ``sides`` are the unit rows that a, b and c are of, ``rows`` their numbers.
    """
    right = np.empty(len(rows), dtype=bool)
    step = rows_per_block(16 * len(sought.keys), max_memory, at_most=512)
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        a, b, c = (side[rows[block, column]] for column, side in enumerate(sides))
        scores = _scores(a, b, c, sought.keys, method)
        every = np.arange(len(scores))
        wanted, excluded = sought.wanted[block], sought.excluded[block]
        score = scores[every, wanted].copy()
        scores[every, wanted] = -np.inf
        scores[every[:, None], excluded] = -np.inf
        # A wanted word that is one of the question's own is excluded like them.
        own = (excluded == wanted[:, None]).any(axis=1)
        right[block] = (score > scores.max(axis=1)) & ~own
    return right


def _scores(
    a: NDArray[np.float32], b: NDArray[np.float32], c: NDArray[np.float32], keys: NDArray[np.float32], method: str
) -> NDArray[np.float32]:
    if method == "3cosadd":
        return np.matmul(b - a + c, keys.T)
    near_a, near_b, near_c = ((np.matmul(side, keys.T) + np.float32(1)) / np.float32(2) for side in (a, b, c))
    return near_b * near_c / (near_a + _EPSILON)
