"""Writing vectors as text: each number as the shortest text that reads back as the same float32, many at a time.

A number between 10⁻⁴ and 10 is tried with 6, 7 and 8 digits: ``r = round(x·10ᶠ)`` is its text without the point if the
double ``r / 10ᶠ``, which is what a reader makes of the text, rounds to x again; nine digits always do. The digits come
from a table of all four-digit texts. Other numbers are rare in vectors and are left to numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._report import quoted
from fipp.io._rows import FloatMatrix, blocks, keep_freed_pages
from fipp.io._stream import encoded, open_for_writing
from fipp.io._table import Table
from fipp.io.formats._text import SAMPLE_ROWS, Header, dimension_of
from fipp.linalg import ordered_map

_BLOCK_NUMBERS = 1 << 17
"""Numbers formatted by a thread at a time: few enough to stay in its cache."""

_MOST_THREADS = 12
"""Each thread needs some twenty megabytes, and one thread writes for all."""

_DIGITS = 12
"""The most digits after the point that a number of at least 10⁻⁴ needs."""

_WIDTH = 16
"""Bytes per number: a space, the sign, a digit, the point, twelve digits. Unused bytes are zero."""

_TENS = np.array([10**power for power in range(_DIGITS + 1)], dtype=np.uint64)
_TENS_EXACT = _TENS.astype(np.float64)


def write_text(table: Table, path: Path) -> None:
    """Write text vectors with a header, compressed if the file's name says so; float64 is written as float64."""
    words = [_encoded_word(word, path) for word in table.words]
    _check_dimension_is_plain(words, table, path)

    def lines(block: slice) -> bytes:
        numbers = table.rows(block)
        parts = (numbers[part] for part in blocks(len(numbers), table.dim, _BLOCK_NUMBERS))
        rows = zip(words[block], chain.from_iterable(map(_row_texts, parts)), strict=True)
        return b"".join([b"%b %b\n" % row for row in rows])

    keep_freed_pages()
    with open_for_writing(path) as file:
        file.write(b"%d %d\n" % (len(table), table.dim))
        for text in ordered_map(lines, table.blocks(_BLOCK_NUMBERS), at_most=_MOST_THREADS):
            file.write(text)


def _encoded_word(word: str, path: Path) -> bytes:
    raw = encoded(word, path, "\n\r")
    if not raw or raw != raw.strip():
        raise FippError(
            f"the word {word!r} cannot be written to {path}: it is empty, or has white space around it; use .npy"
        )
    return raw


def _check_dimension_is_plain(words: list[bytes], table: Table, path: Path) -> None:
    """Refuse a vocabulary like "Windows 3.1", "OS 4.5", …, whose rows would seem to have more dimensions."""
    numbers = b" 0.0" * table.dim
    header = Header(len(table), table.dim)
    if dimension_of([word + numbers for word in words[:SAMPLE_ROWS]], header) != table.dim:
        raise FippError(
            f"the words cannot be written to {path}: too many end in a number, such as {quoted(table.words[0])}, "
            "which a reader would take for a part of the vector; use .npy"
        )


def _row_texts(matrix: FloatMatrix) -> Iterator[bytes]:
    """Yield the numbers of each row, separated by spaces."""
    if matrix.dtype == np.float64:
        for row in matrix.tolist():
            yield " ".join(map(repr, row)).encode()
        return
    # Half precision is written as float32, so that either type reads it back.
    rows: npt.NDArray[np.float32] = np.ascontiguousarray(matrix, dtype=np.float32)
    yield from float32_rows(rows)


def _lookup_table(texts: Iterable[bytes]) -> npt.NDArray[np.uint32]:
    return np.frombuffer(b"".join(texts), dtype=np.uint32)


_HEADS = _lookup_table(b" %b%d." % (sign, digit) for sign in (b"\0", b"-") for digit in range(10))
_FOURS = _lookup_table(b"%04d" % number for number in range(10_000))
# Which of the first, second and last four digits are used, by the number of digits after the point.
_MASKS = [
    _lookup_table(bytes(255 * (4 * part + place < digits) for place in range(4)) for digits in range(_DIGITS + 1))
    for part in range(3)
]


def float32_rows(matrix: npt.NDArray[np.float32]) -> Iterator[bytes]:
    """Yield the text of each row, its numbers separated by spaces."""
    numbers = matrix.ravel()
    size = np.abs(numbers).astype(np.float64)
    rare = np.flatnonzero(((size < 1e-4) & (size > 0)) | (size >= 9.5))
    size[rare] = 0
    rounded, digits = _shortest(size)
    minus = np.signbit(numbers)
    # A bytearray, so that the zeros can be removed without another copy.
    buffer = bytearray(_WIDTH * len(numbers))
    text = np.frombuffer(buffer, dtype=np.uint32).reshape(-1, _WIDTH // 4)
    _put(rounded, digits, minus, text)
    lengths = digits + minus + 3
    for place in rare.tolist():
        other = b" " + _other(numbers[place])
        buffer[place * _WIDTH : (place + 1) * _WIDTH] = other.ljust(_WIDTH, b"\0")
        lengths[place] = len(other)
    joined = bytes(buffer.translate(None, b"\0"))
    start = 0
    for length in lengths.reshape(matrix.shape).sum(axis=1).tolist():
        yield joined[start + 1 : start + length]
        start += length


def _shortest(size: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.intp]]:
    """Return the smallest whole numbers r and digits f such that r / 10ᶠ rounds to the float32 number."""
    target = size.astype(np.float32)
    # The digits after the point that make eight significant ones.
    digits = np.full(len(size), 11, dtype=np.intp)
    for bound in (1e-3, 1e-2, 1e-1, 1.0):
        digits -= size >= bound
    rounded, good = _trial(size, digits, target)
    nine = np.flatnonzero(~good)
    digits[nine] += 1
    rounded[nine] = np.rint(size[nine] * _TENS_EXACT[digits[nine]])
    left = np.flatnonzero(good)
    for _ in range(2):  # with seven digits, with six
        fewer = digits[left] - 1
        trial, good = _trial(size[left], fewer, target[left])
        left = left[good]
        digits[left], rounded[left] = fewer[good], trial[good]
    whole = rounded.astype(np.uint64)
    while len(left):  # six digits were enough, and may end in zeros
        left = left[(digits[left] > 1) & (whole[left] % np.uint64(10) == 0)]
        whole[left] //= np.uint64(10)
        digits[left] -= 1
    return whole, digits


def _trial(
    size: npt.NDArray[np.float64], digits: npt.NDArray[np.intp], target: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Round to ``digits`` after the point; return also where a reader would still get the same float32."""
    tens = _TENS_EXACT[digits]
    rounded = np.rint(size * tens)
    tens = rounded / tens
    return rounded, tens.astype(np.float32) == target


def _put(
    rounded: npt.NDArray[np.uint64],
    digits: npt.NDArray[np.intp],
    minus: npt.NDArray[np.bool_],
    text: npt.NDArray[np.uint32],
) -> None:
    """Write the bytes of each number into ``text``, four at a time."""
    whole, fraction = _split(rounded * _TENS[_DIGITS - digits], 10**12)
    high, low = _split(fraction, 10**8)
    middle, low = _split(low, 10**4)
    text[:, 0] = _HEADS[whole.astype(np.intp) + 10 * minus]
    for column, (four, mask) in enumerate(zip((high, middle, low), _MASKS, strict=True), 1):
        text[:, column] = _FOURS[four.astype(np.intp)] & mask[digits]


def _split(number: npt.NDArray[np.uint64], divisor: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Divide with remainder, twice as fast as `numpy.divmod`, which uses no vector instructions."""
    quotient = number // np.uint64(divisor)
    return quotient, number - quotient * np.uint64(divisor)


def _other(number: np.float32) -> bytes:
    """Return the text of a very small number, or of one that is not below ten."""
    text = str(number)
    # Most readers round the text to a double, and that to a float32. This misses the number if its shortest text lies
    # within a double's precision of the midpoint between two float32, as 7.038531e-26 does.
    if np.float32(float(text)) != number:
        text = f"{float(number):.9g}"
    if len(text) >= _WIDTH:
        text = np.format_float_scientific(number, trim="-")
    return text.encode()
