"""Texts as rows of a vocabulary: one pass over the text, and one look-up for each distinct word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from fipp.exceptions import FippError
from fipp.io import Vectors
from fipp.linalg import unit_rows

# Letters and digits joined by apostrophes and hyphens: "aujourd'hui", "multi-user".
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_PART = re.compile(r"[^\W_]+")
_MISSING_SHOWN = 10
# Eigenvalues below this share of the largest are rounding errors of float32.
_NO_DIRECTION = 1e-9

Map = Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True)
class Coverage:
    """How much of some texts has vectors.

    Attributes
    ----------
    words, found : int
        Words of all texts, and those that have a vector. A word of which only the parts are found, such as ``l`` and
        ``eau`` of ``l'eau``, counts as its parts.
    distinct, distinct_found : int
        The same, each word counted once.
    texts, empty : int
        Texts, and those without a single word that has a vector.
    missing : tuple of (str, int)
        The words without a vector that occur most often.

    Examples
    --------
    >>> print(Coverage(words=200, found=150, distinct=40, distinct_found=30, texts=10, empty=1))
    150 of 200 words have vectors (75.0 %), 30 of 40 different ones; 1 of 10 texts has none
    """

    words: int
    found: int
    distinct: int
    distinct_found: int
    texts: int
    empty: int
    missing: tuple[tuple[str, int], ...] = ()

    @property
    def share(self) -> float:
        """The share of the words that have a vector."""
        return self.found / self.words if self.words else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return everything as numbers and text that JSON can hold."""
        return {**asdict(self), "share": self.share, "missing": [list(word) for word in self.missing]}

    def __str__(self) -> str:
        without = f"; {self.empty:,} of {self.texts:,} texts {'has' if self.empty == 1 else 'have'} none"
        return (
            f"{self.found:,} of {self.words:,} words have vectors ({100 * self.share:.1f} %), "
            f"{self.distinct_found:,} of {self.distinct:,} different ones{without if self.empty else ''}"
        )


@dataclass(frozen=True)
class EncodedTexts:
    """Texts, or pairs of texts, as rows of a matrix of word vectors; words without a vector are left out.

    Attributes
    ----------
    ids : ndarray of int32
        A row of ``matrix`` for each word, text after text.
    offsets : ndarray of int64 of shape (texts + 1,)
        Where each text begins in ``ids``, and where the last one ends.
    matrix : ndarray of float32 of shape (words in use, d)
        Vectors of the words that occur.
    coverage : Coverage
        How many words were found.
    n_parts : int
        How many texts belong together: 2 if all premises are followed by all of their hypotheses.
    """

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    matrix: NDArray[np.float32]
    coverage: Coverage
    n_parts: int = 1

    def __len__(self) -> int:
        return (len(self.offsets) - 1) // self.n_parts

    @property
    def dim(self) -> int:
        """Dimensions of the vectors."""
        return int(self.matrix.shape[1])

    @property
    def parts(self) -> list[EncodedTexts]:
        """The texts that a network reads side by side, such as premises and hypotheses."""
        n = len(self)
        starts = range(0, n * self.n_parts, n) if n else ()
        return [replace(self, offsets=self.offsets[start : start + n + 1], n_parts=1) for start in starts]

    def padded(
        self, rows: NDArray[np.int64], max_words: int, at_least: int = 1
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the vectors of these texts, cut after ``max_words`` words, and their lengths.

        Vectors have the shape (texts, words, d) with at least ``at_least`` words, zero after the end of a text.
        """
        starts = self.offsets[rows]
        lengths = np.minimum(self.offsets[rows + 1] - starts, max_words)
        columns = np.arange(max(at_least, int(lengths.max(initial=0))))
        inside = columns < lengths[:, None]
        words = np.zeros((*inside.shape, self.dim), dtype=np.float32)
        words[inside] = self.matrix[self.ids[(starts[:, None] + columns)[inside]]]
        return words, lengths

    def span(self) -> NDArray[np.float32] | None:
        """Return an orthonormal basis, in columns, of the span of all vectors in use; None if it is the whole space.

        A source with fewer dimensions than the target fills only a part of the shared space. Outside that part, a
        network keeps its random initial weights, which the target's words would meet: the bias that the paper mentions
        where it aligns different dimensions. Networks therefore see the span only.
        """
        X = self.matrix.astype(np.float64)
        values, directions = np.linalg.eigh(X.T @ X)
        kept = directions[:, values > _NO_DIRECTION * values[-1]]
        return None if kept.shape[1] == len(values) else kept.astype(np.float32)

    def within(self, span: NDArray[np.float32] | None) -> EncodedTexts:
        """Return the same texts with vectors as coordinates in a span; unchanged if it is None."""
        return self if span is None else replace(self, matrix=self.matrix @ span)

    def means(self) -> NDArray[np.float32]:
        """Return the mean vector of each text at unit length; zero for a text without words."""
        ids, offsets = self.ids[self.offsets[0] : self.offsets[-1]], self.offsets - self.offsets[0]
        ones = np.ones(len(ids), dtype=np.float32)
        counts = csr_matrix((ones, ids, offsets), shape=(len(offsets) - 1, len(self.matrix)))
        sums: NDArray[np.float32] = np.asarray(counts @ self.matrix, dtype=np.float32)
        return unit_rows(sums)


def decode(contents: bytes, where: str) -> str:
    """Return the text of a file's contents; refuse what is not UTF-8, and say where it is."""
    try:
        return contents.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FippError(f"{where} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def tokenize(text: str) -> list[str]:
    """Return the words of a text in lower case; punctuation is left out."""
    return _WORD.findall(text.lower())


def encode(texts: Iterable[str], vectors: Vectors, transform: Map | None = None) -> EncodedTexts:
    """Look up the words of texts, and map the vectors of those that occur.

    A word without a vector is split at its apostrophes and hyphens. Mapped vectors are scaled to unit length, because
    methods differ in the lengths of the two sides.
    """
    words, offsets, distinct = _number_words(texts)
    starts, rows, parts = _look_up(distinct, vectors)
    counts = np.diff(starts)[words]
    # Word i of the texts becomes the rows starts[words[i]] … of its parts.
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    places = np.repeat(starts[:-1][words], counts) + within
    ends = np.concatenate([[0], np.cumsum(counts)])[offsets]
    found = rows[places] >= 0
    kept = np.concatenate([[0], np.cumsum(found)])[ends]
    used, ids = np.unique(rows[places][found], return_inverse=True)
    raw = np.asarray(vectors.matrix[used], dtype=np.float32)
    matrix = raw if transform is None or not len(used) else np.asarray(transform(raw), dtype=np.float32)
    coverage = _coverage(places, rows, parts, kept)
    return EncodedTexts(ids.astype(np.int32), kept.astype(np.int64), unit_rows(matrix), coverage)


def _number_words(texts: Iterable[str]) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Return a number for each word of the texts, where the texts begin, and the words by their numbers."""
    if isinstance(texts, str):
        raise FippError("texts must be several: to encode a single text, put it in a list")
    numbers: dict[str, int] = {}
    sequence: list[int] = []
    offsets = [0]
    for text in texts:
        sequence.extend(numbers.setdefault(word, len(numbers)) for word in tokenize(text))
        offsets.append(len(sequence))
    return np.array(sequence, dtype=np.int64), np.array(offsets, dtype=np.int64), list(numbers)


def _look_up(distinct: list[str], vectors: Vectors) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Return the parts of each word (the word itself if it has a vector): where they begin, their rows, their text."""
    whole = vectors.find(distinct)
    pieces = [
        [word] if row >= 0 or len(split := _PART.findall(word)) == 1 else split
        for word, row in zip(distinct, whole.tolist(), strict=True)
    ]
    parts = [part for split in pieces for part in split]
    starts = np.concatenate([[0], np.cumsum([len(split) for split in pieces], dtype=np.int64)]).astype(np.int64)
    return starts, vectors.find(parts), parts


def _coverage(
    places: NDArray[np.int64], rows: NDArray[np.int64], parts: list[str], kept: NDArray[np.int64]
) -> Coverage:
    occurrences = np.bincount(places, minlength=len(parts))
    by_word: Counter[str] = Counter()
    has_vector: dict[str, bool] = {}
    for part, row, count in zip(parts, rows.tolist(), occurrences.tolist(), strict=True):
        by_word[part] += count
        has_vector[part] = row >= 0
    missing = Counter({word: count for word, count in by_word.items() if not has_vector[word]})
    return Coverage(
        words=int(occurrences.sum()),
        found=int(kept[-1]),
        distinct=len(by_word),
        distinct_found=sum(has_vector.values()),
        texts=len(kept) - 1,
        empty=int((np.diff(kept) == 0).sum()),
        missing=tuple(missing.most_common(_MISSING_SHOWN)),
    )
