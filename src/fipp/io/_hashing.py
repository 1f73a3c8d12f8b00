"""The hash functions by which n-grams and words find their rows: FNV-1a and MurmurHash, many inputs at a time.

FNV-1a as Fowler, Noll and Vo describe it; MurmurHash by Austin Appleby, who placed it in the public domain.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint64]

_U64 = np.uint64


def hash_spans(
    buffer: Bytes, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], function: Callable[[Bytes], Hashes]
) -> Hashes:
    """Hash parts of ``buffer``; ``function`` takes inputs of one length as the rows of a matrix.

    Examples
    --------
    >>> buffer = np.frombuffer(b"catdog!", dtype=np.uint8)
    >>> hash_spans(buffer, np.array([0, 3, 0]), np.array([3, 7, 3]), fnv1a)
    array([ 108289031, 3739338232,  108289031], dtype=uint64)
    """
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
    """Hash each row to 32 bits as fastText does: FNV-1a, but bytes above 127 are taken for negative numbers.

    Examples
    --------
    >>> fnv1a(np.frombuffer(b"a", dtype=np.uint8)[np.newaxis]) == 0xE40C292C
    array([ True])
    """
    state = np.full(len(rows), 2166136261, dtype=np.uint32)
    for column in rows.view(np.int8).T.astype(np.int32).view(np.uint32):
        state = (state ^ column) * np.uint32(16777619)
    return state.astype(np.uint64)


def murmur3(rows: Bytes, seed: int) -> Hashes:
    """Hash each row to four numbers of 32 bits: MurmurHash3_x64_128.

    Examples
    --------
    >>> murmur3(np.frombuffer(b"hello", dtype=np.uint8)[np.newaxis], 0)[0, :2].tolist() == [0x41BD9B02, 0xCBD8A7B3]
    True
    """
    c1, c2 = _U64(0x87C37B91114253D5), _U64(0x4CF5AD432745937F)
    length = rows.shape[1]
    words = _words(rows, 16)
    h1 = np.full(len(rows), seed, dtype=np.uint64)
    h2 = h1.copy()
    for block in range(length // 16):
        k1, k2 = words[:, 2 * block], words[:, 2 * block + 1]
        h1 ^= _rotate(k1 * c1, 31) * c2
        h1 = (_rotate(h1, 27) + h2) * _U64(5) + _U64(0x52DCE729)
        h2 ^= _rotate(k2 * c2, 33) * c1
        h2 = (_rotate(h2, 31) + h1) * _U64(5) + _U64(0x38495AB5)
    if length % 16:
        # What is missing of the last block is zero, and zero changes nothing.
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
    """Hash each row to 64 bits: MurmurHash64A, by which spaCy names its words.

    Examples
    --------
    >>> murmur2(np.frombuffer(b"coffee", dtype=np.uint8)[np.newaxis]).tolist()  # as in spaCy's manual
    [3197928453018144401]
    """
    m, shift = _U64(0xC6A4A7935BD1E995), _U64(47)
    length = rows.shape[1]
    words = _words(rows, 8)
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


def _words(rows: Bytes, block: int) -> Hashes:
    """Return rows of bytes as little-endian numbers of 64 bits, filled up with zeros to whole blocks."""
    padded = np.zeros((len(rows), -(-rows.shape[1] // block) * block), dtype=np.uint8)
    padded[:, : rows.shape[1]] = rows
    return padded.view("<u8").astype(np.uint64, copy=False)


def _rotate(value: Hashes, count: int) -> Hashes:
    return (value << _U64(count)) | (value >> _U64(64 - count))


def _finish(value: Hashes) -> Hashes:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ (value >> _U64(33))) * _U64(factor)
    return value ^ (value >> _U64(33))
