"""Pairs of sentences: does the second follow from the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp.exceptions import FippError

LABELS = ("entailment", "neutral", "contradiction")
"""What the second sentence of a pair is to the first."""


@dataclass(frozen=True)
class InferenceCorpus:
    """Premises and hypotheses, and what they are to each other.

    Parameters
    ----------
    premises, hypotheses : sequence of str
        The sentences.
    labels : sequence of str or int
        One of ``"entailment"``, ``"neutral"`` and ``"contradiction"`` for each pair, or its number 0, 1, 2.
    left_out : int, default=0
        Pairs of the file on which the annotators did not agree.

    Examples
    --------
    >>> corpus = InferenceCorpus(["A cat sleeps."], ["An animal sleeps."], ["entailment"])
    >>> corpus, corpus.labels
    (InferenceCorpus(1 pairs), array([0], dtype=int8))
    """

    premises: tuple[str, ...]
    hypotheses: tuple[str, ...]
    labels: NDArray[np.int8]
    left_out: int = 0

    def __init__(
        self,
        premises: Sequence[str],
        hypotheses: Sequence[str],
        labels: Sequence[str] | ArrayLike,
        left_out: int = 0,
    ) -> None:
        numbers = np.array([_number(label) for label in np.asarray(labels).tolist()], dtype=np.int8)
        if not len(premises) == len(hypotheses) == len(numbers):
            raise FippError(
                f"there are {len(premises):,} premises, {len(hypotheses):,} hypotheses and {len(numbers):,} labels"
            )
        if not len(premises):
            raise FippError("a corpus needs at least one pair of sentences")
        object.__setattr__(self, "premises", tuple(premises))
        object.__setattr__(self, "hypotheses", tuple(hypotheses))
        object.__setattr__(self, "labels", numbers)
        object.__setattr__(self, "left_out", left_out)

    def __repr__(self) -> str:
        return f"InferenceCorpus({len(self)} pairs)"

    def __len__(self) -> int:
        return len(self.premises)

    def take(self, rows: ArrayLike) -> InferenceCorpus:
        """Return the pairs with these row numbers."""
        numbers = np.asarray(rows, dtype=np.int64)
        kept = numbers.tolist()
        return InferenceCorpus(
            [self.premises[row] for row in kept], [self.hypotheses[row] for row in kept], self.labels[numbers]
        )

    def sample(self, count: int | None, random_state: int = 0) -> InferenceCorpus:
        """Return at most ``count`` pairs, drawn at random; all if it is None."""
        if count is None or count >= len(self):
            return self
        return self.take(np.sort(np.random.default_rng(random_state).choice(len(self), count, replace=False)))


def _number(label: str | int) -> int:
    if isinstance(label, int) and 0 <= label < len(LABELS):
        return label
    if label in LABELS:
        return LABELS.index(str(label))
    raise FippError(f"{label!r} is no label; there are {', '.join(LABELS)}")
