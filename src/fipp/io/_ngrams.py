"""Vectors of words from the hashed rows of their character n-grams, as fastText and floret make them.

FNV-1a is as Fowler, Noll and Vo describe it; MurmurHash is by Austin Appleby, who placed it in the public domain. The
packages that offer them hash one input per call; here a matrix of inputs of equal length is hashed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from fipp.io._rows import MAPPED_BYTES, FloatMatrix, copy_rows, release_pages
from fipp.linalg import row_blocks

MAX_NGRAM = 64
"""The longest n-gram, in characters, that a file may declare; people use 3 to 6."""

_BLOCK_NGRAMS = 1 << 18
_BLOCK_NUMBERS = 1 << 21
_U64 = np.uint64

Bytes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]


class Ngrams(NamedTuple):
    """N-grams as spans of one buffer that holds the bytes of all words; ``owners`` are the words they belong to."""

    buffer: Bytes
    starts: Numbers
    ends: Numbers
    owners: Numbers


def character_ngrams(words: Sequence[bytes], shortest: int, longest: int, *, ends_alone: bool = False) -> Ngrams:
    """List the n-grams, in UTF-8 characters, of words that already carry their boundary marks.

    A mark alone is an n-gram of length 1 only with ``ends_alone``. Invalid bytes belong to the character before them.
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
    none = np.zeros(0, dtype=np.int64)
    found = [(none, none, none)]
    for count in range(max(1, shortest), min(longest, len(characters)) + 1):
        begins = np.arange(len(characters) - count + 1)
        whole = owners[begins] == owners[begins + count - 1]
        if count == 1 and not ends_alone:
            whole &= ~(first | last)
        begins = begins[whole]
        if not len(begins) and count > 1:
            break
        found.append((bounds[begins], bounds[begins + count], owners[begins]))
    return Ngrams(buffer, *(np.concatenate(parts) for parts in zip(*found, strict=True)))


def mean_rows(
    matrix: npt.NDArray[np.float32], rows: Numbers, owners: Numbers, count: int, mapped_bytes: int = MAPPED_BYTES
) -> FloatMatrix:
    """Return the mean of each owner's rows of ``matrix``, zero for an owner without rows."""
    used, places = np.unique(rows, return_inverse=True)
    shares = np.bincount(owners, minlength=count)
    # Copy only the rows that are used, and some columns at a time: the matrix may be larger than memory.
    weights = np.ones(len(rows), dtype=np.float32)
    sums = csr_array((weights, (owners, places)), shape=(count, len(used)))
    means = np.empty((count, matrix.shape[1]), dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for columns in row_blocks(matrix.shape[1], max(1, _BLOCK_NUMBERS // max(1, len(used)))):
            gathered = copy_rows(matrix, used, columns, mapped_bytes).astype(np.float32, copy=False)
            means[:, columns] = (sums @ gathered) / np.maximum(shares, 1)[:, np.newaxis]
    if matrix.nbytes > mapped_bytes:
        release_pages(matrix)
    return means


class Composed(NamedTuple):
    """The vectors of words, and which of the words have one."""

    matrix: FloatMatrix
    known: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FastTextNgrams:
    """fastText's table: n-grams of ``<word>``, hashed by FNV-1a into buckets, which follow ``offset`` rows of words.

    About ``mapped_bytes`` of the matrix, which is mapped, are in memory at a time.
    """

    matrix: npt.NDArray[np.float32]
    offset: int
    buckets: int
    shortest: int
    longest: int
    mapped_bytes: int = MAPPED_BYTES

    def compose(self, words: Sequence[bytes], own_rows: Numbers | None = None) -> Composed:
        """Return the mean of the rows of each word's n-grams and, if given, of its own row."""

        def rows_of(block: slice) -> tuple[Numbers, Numbers]:
            part = words[block]
            # fastText gives its end-of-sentence mark no n-grams.
            marked = [b"<%b>" % word if word != b"</s>" else b"" for word in part]
            grams = character_ngrams(marked, self.shortest, self.longest if self.buckets else 0)
            hashes = hash_spans(grams.buffer, grams.starts, grams.ends, fnv1a) % np.uint64(max(1, self.buckets))
            rows, owners = hashes.astype(np.int64) + self.offset, grams.owners
            if own_rows is not None:
                rows, owners = np.append(own_rows[block], rows), np.append(np.arange(len(part)), owners)
            return rows, owners

        return _compose(self.matrix, words, self.longest - self.shortest + 1, rows_of, self.mapped_bytes)


@dataclass(frozen=True, eq=False)
class FloretNgrams:
    """floret's table: the marked word and each of its n-grams are hashed by MurmurHash3 into a few rows.

    With ``ends_alone``, a mark alone is an n-gram, as in spaCy but not in floret.
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
            grams = character_ngrams(marked, self.shortest, self.longest, ends_alone=self.ends_alone)
            lengths = np.fromiter(map(len, marked), dtype=np.int64, count=len(marked))
            ends = np.cumsum(lengths)
            starts = np.append(ends - lengths, grams.starts)
            hashed = hash_spans(grams.buffer, starts, np.append(ends, grams.ends), function)
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
    mapped_bytes: int = MAPPED_BYTES,
) -> Composed:
    """Compute the means block by block; ``rows_of`` returns the rows for a block of words, and their owners."""
    result = np.empty((len(words), matrix.shape[1]), dtype=np.float32)
    known = np.zeros(len(words), dtype=bool)
    for block in _blocks(words, max(1, per_byte)):
        rows, owners = rows_of(block)
        count = block.stop - block.start
        result[block] = mean_rows(matrix, rows, owners, count, mapped_bytes)
        known[block] = np.bincount(owners, minlength=count) > 0
    return Composed(result, known)


def _blocks(words: Sequence[bytes], per_byte: int) -> Iterator[slice]:
    """Split words into blocks of about a quarter of a million n-grams."""
    start = size = 0
    for row, word in enumerate(words):
        size += (len(word) + 2) * per_byte
        if size > _BLOCK_NGRAMS:
            yield slice(start, row + 1)
            start, size = row + 1, 0
    if start < len(words):
        yield slice(start, len(words))


def hash_spans(
    buffer: Bytes, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], function: Callable[[Bytes], Hashes]
) -> Hashes:
    """Hash spans of ``buffer``; ``function`` hashes inputs of one length, the rows of a matrix."""
    lengths = ends - starts
    order = np.argsort(lengths, kind="stable")
    sorted_lengths = lengths[order]
    edges = np.flatnonzero(np.diff(sorted_lengths)) + 1
    result = None
    for chosen in np.split(order, edges):
        if not len(chosen):
            continue
        length = int(lengths[chosen[0]])
        hashed = function(buffer[starts[chosen, np.newaxis] + np.arange(length)])
        if result is None:
            result = np.empty((len(starts), *hashed.shape[1:]), dtype=np.uint64)
        result[chosen] = hashed
    return np.empty(0, dtype=np.uint64) if result is None else result


def fnv1a(rows: Bytes) -> Hashes:
    """Hash each row to 32 bits as fastText does: FNV-1a, with bytes above 127 as negative numbers."""
    state = np.full(len(rows), 2166136261, dtype=np.uint32)
    for column in rows.view(np.int8).T.astype(np.int32).view(np.uint32):
        state = (state ^ column) * np.uint32(16777619)
    return state.astype(np.uint64)


def murmur3(rows: Bytes, seed: int) -> Hashes:
    """Hash each row to four 32-bit numbers: MurmurHash3_x64_128."""
    c1, c2 = _U64(0x87C37B91114253D5), _U64(0x4CF5AD432745937F)
    length = rows.shape[1]
    words = _as_words(rows, 16)
    h1 = np.full(len(rows), seed, dtype=np.uint64)
    h2 = h1.copy()
    for block in range(length // 16):
        k1, k2 = words[:, 2 * block], words[:, 2 * block + 1]
        h1 ^= _rotate(k1 * c1, 31) * c2
        h1 = (_rotate(h1, 27) + h2) * _U64(5) + _U64(0x52DCE729)
        h2 ^= _rotate(k2 * c2, 33) * c1
        h2 = (_rotate(h2, 31) + h1) * _U64(5) + _U64(0x38495AB5)
    if length % 16:
        # The last block is padded with zeros, which change nothing.
        h1 ^= _rotate(words[:, -2] * c1, 31) * c2
        h2 ^= _rotate(words[:, -1] * c2, 33) * c1
    h1 ^= _U64(length)
    h2 ^= _U64(length)
    h1 += h2
    h2 += h1
    h1, h2 = _finish(h1), _finish(h2)
    h1 += h2
    h2 += h1
    low = _U64(0xFFFFFFFF)
    return np.stack([h1 & low, h1 >> _U64(32), h2 & low, h2 >> _U64(32)], axis=1)


def murmur2(rows: Bytes, seed: int = 1) -> Hashes:
    """Hash each row to 64 bits: MurmurHash64A, which spaCy uses as the key of a word."""
    m, shift = _U64(0xC6A4A7935BD1E995), _U64(47)
    length = rows.shape[1]
    words = _as_words(rows, 8)
    state = np.full(len(rows), seed, dtype=np.uint64) ^ (_U64(length) * np.full(1, m, dtype=np.uint64))
    for block in range(length // 8):
        k = words[:, block] * m
        k ^= k >> shift
        state = (state ^ (k * m)) * m
    if length % 8:
        state = (state ^ words[:, -1]) * m
    state ^= state >> shift
    state *= m
    state ^= state >> shift
    return state


def _as_words(rows: Bytes, block: int) -> Hashes:
    """Return rows of bytes as little-endian 64-bit numbers, padded with zeros to whole blocks."""
    padded = np.zeros((len(rows), -(-rows.shape[1] // block) * block), dtype=np.uint8)
    padded[:, : rows.shape[1]] = rows
    return padded.view("<u8").astype(np.uint64, copy=False)


def _rotate(value: Hashes, count: int) -> Hashes:
    return (value << _U64(count)) | (value >> _U64(64 - count))


def _finish(value: Hashes) -> Hashes:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ (value >> _U64(33))) * _U64(factor)
    return value ^ (value >> _U64(33))
