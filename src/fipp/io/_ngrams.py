"""Vectors of words from the rows of their character n-grams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from fipp.io._hashing import Bytes, fnv1a, hash_spans, murmur3
from fipp.io._rows import FloatMatrix

MAX_NGRAM = 64
"""The longest n-gram in characters that is believed; people use 3 to 6."""

_BLOCK_NGRAMS = 1 << 18

Numbers = npt.NDArray[np.int64]


class Ngrams(NamedTuple):
    """Parts of words: the bytes of all words in a row, where each part begins and ends, and whose part it is."""

    buffer: Bytes
    starts: Numbers
    ends: Numbers
    owners: Numbers

    def texts(self) -> list[bytes]:
        """Return the n-grams themselves."""
        return [self.buffer[start:end].tobytes() for start, end in zip(self.starts, self.ends, strict=True)]


def character_ngrams(words: Sequence[bytes], shortest: int, longest: int, *, ends_alone: bool = False) -> Ngrams:
    """List the n-grams of words that have their boundary marks already.

    A character is what UTF-8 says, and broken bytes follow the character before. The first and the last character
    alone are no n-grams, since they are the marks, unless ``ends_alone``.

    Examples
    --------
    >>> character_ngrams([b"<cat>"], 3, 4).texts()
    [b'<ca', b'cat', b'at>', b'<cat', b'cat>']
    """
    buffer = np.frombuffer(b"".join(words), dtype=np.uint8)
    is_start = (buffer & 0xC0) != 0x80
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    first_bytes = np.cumsum(lengths) - lengths
    is_start[first_bytes[lengths > 0]] = True
    owner_of_byte = np.repeat(np.arange(len(words)), lengths)
    characters = np.flatnonzero(is_start)
    owners = owner_of_byte[characters]
    bounds = np.append(characters, len(buffer))
    first = np.append(True, owners[1:] != owners[:-1]) if len(owners) else np.zeros(0, dtype=bool)
    last = np.append(first[1:], True) if len(owners) else first
    found = []
    for count in range(max(1, shortest), min(longest, len(characters)) + 1):
        begins = np.arange(len(characters) - count + 1)
        whole = owners[begins] == owners[begins + count - 1]
        if count == 1 and not ends_alone:
            whole &= ~(first | last)
        begins = begins[whole]
        if not len(begins) and count > 1:
            break
        found.append((bounds[begins], bounds[begins + count], owners[begins]))
    starts, ends, owner = (np.concatenate([np.zeros(0, dtype=np.int64), *parts]) for parts in _columns(found))
    return Ngrams(buffer, starts, ends, owner)


def _columns(found: list[tuple[Numbers, Numbers, Numbers]]) -> list[list[Numbers]]:
    return [[part[column] for part in found] for column in range(3)]


def mean_rows(matrix: npt.NDArray[np.float32], rows: Numbers, owners: Numbers, count: int) -> FloatMatrix:
    """Return for each of ``count`` owners the mean of its rows of ``matrix``, zero for one without rows.

    Examples
    --------
    >>> mean_rows(np.array([[1, 2], [3, 4]], dtype=np.float32), np.array([0, 1, 1]), np.array([0, 0, 2]), 3)
    array([[2., 3.], [0., 0.], [3., 4.]], dtype=float32)
    """
    used, places = np.unique(rows, return_inverse=True)
    shares = np.bincount(owners, minlength=count)
    # Only the rows that are used: the matrix may be larger than the memory.
    gathered = np.ascontiguousarray(matrix[used], dtype=np.float32)
    weights = np.ones(len(rows), dtype=np.float32)
    sums = csr_array((weights, (owners, places)), shape=(count, len(used))) @ gathered
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(sums / np.maximum(shares, 1)[:, np.newaxis], dtype=np.float32)


class Composed(NamedTuple):
    """The vectors of words, and which of them could be made."""

    matrix: FloatMatrix
    known: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FastTextNgrams:
    """fastText's table: n-grams between ``<`` and ``>``, hashed by FNV-1a into buckets.

    Attributes
    ----------
    matrix : ndarray of shape (words + buckets, d)
        The rows of the words, then those of the buckets.
    offset : int
        The number of rows before the first bucket.
    buckets, shortest, longest : int
        The number of buckets, and the lengths of the n-grams in characters.
    """

    matrix: npt.NDArray[np.float32]
    offset: int
    buckets: int
    shortest: int
    longest: int

    def compose(self, words: Sequence[bytes], own_rows: Numbers | None = None) -> Composed:
        """Return the mean of the rows of each word's n-grams, and of its own row if there is one."""

        def rows_of(block: slice) -> tuple[Numbers, Numbers]:
            part = words[block]
            # The end of a sentence is no word, so that it has no n-grams.
            marked = [b"<%b>" % word if word != b"</s>" else b"" for word in part]
            grams = character_ngrams(marked, self.shortest, self.longest if self.buckets else 0)
            hashes = hash_spans(grams.buffer, grams.starts, grams.ends, fnv1a) % np.uint64(max(1, self.buckets))
            rows, owners = hashes.astype(np.int64) + self.offset, grams.owners
            if own_rows is not None:
                rows, owners = np.append(own_rows[block], rows), np.append(np.arange(len(part)), owners)
            return rows, owners

        return _compose(self.matrix, words, self.longest - self.shortest + 1, rows_of)


@dataclass(frozen=True, eq=False)
class FloretNgrams:
    """floret's table: the marked word and its n-grams, hashed by MurmurHash3 into a few rows each.

    Attributes
    ----------
    matrix : ndarray of shape (buckets, d)
        The rows.
    shortest, longest : int
        The lengths of the n-grams in characters.
    hashes, seed : int
        How many rows each n-gram has, and the seed of the hash function.
    begin, end : bytes
        The marks around a word.
    ends_alone : bool
        Whether single marks count as n-grams, as they do in spaCy but not in floret.
    """

    matrix: npt.NDArray[np.float32]
    shortest: int
    longest: int
    hashes: int
    seed: int
    begin: bytes = b"<"
    end: bytes = b">"
    ends_alone: bool = False

    def compose(self, words: Sequence[bytes]) -> Composed:
        """Return the mean of the rows of each word and its n-grams."""
        function = partial(murmur3, seed=self.seed)

        def rows_of(block: slice) -> tuple[Numbers, Numbers]:
            marked = [self.begin + word + self.end for word in words[block]]
            whole = character_ngrams(marked, 1, 0)
            grams = character_ngrams(marked, self.shortest, self.longest, ends_alone=self.ends_alone)
            lengths = np.fromiter(map(len, marked), dtype=np.int64, count=len(marked))
            ends = np.cumsum(lengths)
            starts = np.append(ends - lengths, grams.starts)
            hashed = hash_spans(whole.buffer, starts, np.append(ends, grams.ends), function)
            rows = hashed[:, : self.hashes].astype(np.int64) % len(self.matrix)
            owners = np.append(np.arange(len(marked)), grams.owners)
            return rows.ravel(), np.repeat(owners, self.hashes)

        return _compose(self.matrix, words, self.hashes * (self.longest - self.shortest + 2), rows_of)


Composer = FastTextNgrams | FloretNgrams


def _compose(
    matrix: FloatMatrix,
    words: Sequence[bytes],
    per_byte: int,
    rows_of: Callable[[slice], tuple[Numbers, Numbers]],
) -> Composed:
    """Take the means block by block; ``rows_of`` gives the rows of a block's words, and whose they are."""
    result = np.empty((len(words), matrix.shape[1]), dtype=np.float32)
    known = np.zeros(len(words), dtype=bool)
    for block in _blocks(words, max(1, per_byte)):
        rows, owners = rows_of(block)
        count = block.stop - block.start
        result[block] = mean_rows(matrix, rows, owners, count)
        known[block] = np.bincount(owners, minlength=count) > 0
    return Composed(result, known)


def _blocks(words: Sequence[bytes], per_byte: int) -> Iterator[slice]:
    """Cut words into blocks of about a quarter of a million n-grams."""
    start = size = 0
    for row, word in enumerate(words):
        size += (len(word) + 2) * per_byte
        if size > _BLOCK_NGRAMS:
            yield slice(start, row + 1)
            start, size = row + 1, 0
    if start < len(words):
        yield slice(start, len(words))
