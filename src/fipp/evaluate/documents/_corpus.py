"""Texts with their topics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp.exceptions import FippError


@dataclass(frozen=True)
class DocumentCorpus:
    """Texts, and for each topic whether a text is about it.

    Parameters
    ----------
    texts : sequence of str
        The documents.
    labels : array-like of shape (texts, topics)
        1 if the text is about the topic, 0 if not, -1 if it is in neither set of that topic.
    topics : sequence of str
        Their names.

    Examples
    --------
    >>> corpus = DocumentCorpus(["a song", "a vote"], [[1, 0], [0, 1]], ["music", "politics"])
    >>> corpus
    DocumentCorpus(2 texts, 2 topics)
    >>> corpus.labels.sum(axis=0)
    array([1, 1])
    """

    texts: tuple[str, ...]
    labels: NDArray[np.int8]
    topics: tuple[str, ...]

    def __init__(self, texts: Sequence[str], labels: ArrayLike, topics: Sequence[str]) -> None:
        array = np.asarray(labels, dtype=np.int8)
        if array.shape != (len(texts), len(topics)):
            raise FippError(
                f"{len(texts):,} texts and {len(topics)} topics need labels of that shape, not {array.shape}"
            )
        if not len(texts) or not len(topics):
            raise FippError("a corpus needs at least one text and one topic")
        if not np.isin(array, (-1, 0, 1)).all():
            raise FippError("a label is 1 (about the topic), 0 (not) or -1 (in neither set)")
        if len(set(topics)) < len(topics):
            raise FippError("two topics have the same name")
        object.__setattr__(self, "texts", tuple(texts))
        object.__setattr__(self, "labels", array)
        object.__setattr__(self, "topics", tuple(topics))

    @classmethod
    def from_single(
        cls, texts: Sequence[str], topic: Sequence[str], topics: Iterable[str] | None = None
    ) -> DocumentCorpus:
        """Make a corpus of texts that have one topic each.

        Examples
        --------
        >>> DocumentCorpus.from_single(["a song", "a vote"], ["music", "politics"]).labels
        array([[1, 0],
               [0, 1]], dtype=int8)
        """
        names = sorted(set(topic)) if topics is None else list(topics)
        columns = {name: column for column, name in enumerate(names)}
        labels = np.zeros((len(texts), len(names)), dtype=np.int8)
        for row, name in enumerate(topic):
            if name not in columns:
                raise FippError(f"text {row} has the topic {name!r}, which is not among {', '.join(names)}")
            labels[row, columns[name]] = 1
        return cls(texts, labels, names)

    def __repr__(self) -> str:
        return f"DocumentCorpus({len(self)} texts, {len(self.topics)} topics)"

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: ArrayLike) -> DocumentCorpus:
        """Return the texts with these row numbers."""
        numbers = np.asarray(rows, dtype=np.int64)
        return DocumentCorpus([self.texts[row] for row in numbers.tolist()], self.labels[numbers], self.topics)

    def sample(self, count: int | None, random_state: int = 0) -> DocumentCorpus:
        """Return at most ``count`` texts, drawn at random; all if it is None."""
        if count is None or count >= len(self):
            return self
        return self.take(np.sort(np.random.default_rng(random_state).choice(len(self), count, replace=False)))
