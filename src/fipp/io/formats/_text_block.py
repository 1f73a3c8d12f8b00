"""Many lines of text vectors at once, with whole-array operations that run on every thread.

Ours rather than a library's: polars and pyarrow are no faster (docs/results/loading.md) and cannot report single bad
rows, `numpy.loadtxt` takes three times as long, and none of them knows words that contain spaces.

A block of text is one array of bytes. Lines with the right number of fields are found by the positions of their
separators; all other lines go back to the caller. A number that is written plainly (``-0.0123``: a digit, a point, up
to 16 digits) is converted eight digits at a time: eight bytes are one 64-bit integer, in which neighbouring digits,
then pairs, then fours are joined by three multiplications. Its value is a whole number up to 2⁵³ divided by a power of
ten that a double holds exactly, so the quotient is the double nearest to the text, as `float` computes it. Numbers with
more digits before the point, none after it, or an exponent take a second pass of the same kind. A number with even more
digits is known to within a small error; if everything within that error rounds to the same float32, that is the result.
The rest goes to `float`.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

MARGIN = 24
"""Bytes put before the text, so that the sixteen bytes before the end of any field exist."""

_MINUS, _PLUS, _POINT = 45, 43, 46
_SPACE, _NEWLINE = 32, 10
_LONGEST = 16
"""The number of digits after the point that two 64-bit integers hold."""

_TENS = np.array([10**power for power in range(_LONGEST + 1)], dtype=np.uint64)
_TENS_EXACT = np.array([float(10**power) for power in range(23)])
_SIGNS = np.array([1.0, -1.0])
_ZEROS = np.uint64(0x3030303030303030)
_CARRY, _HIGH = np.uint64(0x7676767676767676), np.uint64(0x8080808080808080)
# Which of eight bytes belong to a number with 0, 1, … 8 digits: the last ones, which are the highest.
_LAST_BYTES = np.array([0, *((~0 << (64 - 8 * digits)) & (2**64 - 1) for digits in range(1, 9))], dtype=np.uint64)
_EXACT = np.uint64(2**53)

Positions = npt.NDArray[np.intp]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


class Parsed(NamedTuple):
    """The contents of a block of text; ``len(words)`` is less than ``rows`` if only some words were wanted."""

    words: list[bytes]
    matrix: npt.NDArray[Any]
    finite: npt.NDArray[np.bool_]
    """Which rows have neither NaN nor infinity."""
    lines: Positions
    """The line number of each row, from 0."""
    odd: list[tuple[int, bytes]]
    """The other lines, which must be parsed one by one, without blank ones."""
    total: int
    """The number of lines."""
    rows: int
    """The number of rows, odd lines aside."""


def parse_block(
    block: bytes, dimension: int, dtype: npt.DTypeLike = np.float32, wanted: Container[bytes] | None = None
) -> Parsed:
    r"""Parse the lines of a block, each ending in ``\n``, that are a word without spaces and ``dimension`` numbers.

    Rows of words that are not ``wanted`` are skipped.

    Examples
    --------
    >>> parsed = parse_block(b"cat 0.5 2\nNew York 1 2\ndog 1e2 -1\n", 2)
    >>> parsed.words, parsed.matrix.tolist(), parsed.odd
    ([b'cat', b'dog'], [[0.5, 2.0], [100.0, -1.0]], [(1, b'New York 1 2')])
    """
    text = _Text(block)
    if text.is_ragged:  # fastText ends lines with a space, Windows with a carriage return; some files use tabs
        text = _Text(_plain_ends(block))
    padded, array = text.padded, text.array
    starts, ends, lines, odd = _regular_lines(text, dimension)
    words = [padded[start:end] for start, end in zip(starts.tolist(), ends[:, 0].tolist(), strict=True)]
    rows = len(words)
    if wanted is not None:
        chosen = np.flatnonzero([word in wanted for word in words])
        words, ends, lines = [words[row] for row in chosen.tolist()], ends[chosen], lines[chosen]
    matrix, unreadable = _numbers(padded, array, ends, np.dtype(dtype))
    if len(unreadable):
        odd = np.sort(np.concatenate([odd, lines[unreadable]]))
        kept = np.delete(np.arange(len(words)), unreadable)
        words, matrix, lines = [words[row] for row in kept.tolist()], matrix[kept], lines[kept]
        rows -= len(unreadable)
    return Parsed(words, matrix, np.isfinite(matrix).all(axis=1), lines, _lines_of(block, odd), len(text.last), rows)


class _Text:
    """A block as an array of bytes, with the positions of its separators."""

    def __init__(self, block: bytes) -> None:
        self.padded = b"0" * MARGIN + block + b"0" * 8
        self.array = np.frombuffer(self.padded, dtype=np.uint8)
        self.separators = np.flatnonzero(self.array <= _SPACE)
        kinds = self.array[self.separators]
        is_newline = kinds == _NEWLINE
        self.last = np.flatnonzero(is_newline)
        self.is_plain = bool(((kinds == _SPACE) | is_newline).all())

    @property
    def is_ragged(self) -> bool:
        """Whether there are separators other than spaces, or two in a row."""
        return not self.is_plain or bool((np.diff(self.separators) == 1).any())


def _plain_ends(block: bytes) -> bytes:
    """Turn tabs into spaces and drop white space at the ends of lines; the number of lines stays the same."""
    # Only once each, so that no file can make this slow: a line with more spaces at its end is odd.
    return block.replace(b"\t", b" ").replace(b"\r\n", b"\n").replace(b" \n", b"\n")


def _regular_lines(text: _Text, dimension: int) -> tuple[Positions, Positions, Positions, Positions]:
    """Find the lines with the right number of fields.

    Return their starts, the positions of the separators after their fields (rows, d + 1), their numbers, and the
    numbers of the other lines that are not blank.
    """
    separators, last = text.separators, text.last
    every_start = np.concatenate([[MARGIN], separators[last] + 1])[:-1]
    good = np.diff(last, prepend=-1) == dimension + 1
    if good.all():
        ends = separators.reshape(len(last), dimension + 1)
    else:
        ends = separators[last[good][:, np.newaxis] + np.arange(-dimension, 1)]
        every_start = every_start[good]
    lines = np.flatnonzero(good)
    fine = ends[:, 0] > every_start  # there is a word
    if not text.is_plain:
        # Other control characters look like separators here, but belong to a word.
        fine &= (text.array[ends[:, :-1]] == _SPACE).all(axis=1)
    if not fine.all():
        every_start, ends, lines = every_start[fine], ends[fine], lines[fine]
    is_odd = np.diff(separators[last], prepend=MARGIN - 1) > 1  # blank lines are neither
    is_odd[lines] = False
    return every_start, ends, lines, np.flatnonzero(is_odd)


def _lines_of(block: bytes, numbers: Positions) -> list[tuple[int, bytes]]:
    if not len(numbers):
        return []
    lines = block.split(b"\n")
    return [(number, lines[number]) for number in numbers.tolist()]


def _numbers(padded: bytes, array: Bytes, ends: Positions, dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], Positions]:
    """Convert the fields after the word to numbers; return also the rows with a field that is not a number.

    ``padded`` and ``array`` are the text, with ``MARGIN`` bytes before it and eight after it. ``ends`` has shape
    (rows, d + 1): the positions of the separators after the word and after each number.
    """
    shape = (len(ends), ends.shape[1] - 1)
    stops = ends[:, 1:].ravel()
    first = ends[:, :-1].ravel() + 1
    # Every eight consecutive bytes as one integer, whose lowest byte is the first.
    eights = np.ndarray(len(array) - 7, dtype="<u8", buffer=padded, strides=(1,))
    values, plain = _plain(array, eights, first, stops)
    with np.errstate(over="ignore"):
        result = values.astype(dtype)
        others = np.flatnonzero(~plain)
        if len(others):
            result[others], done = _less_plain(array, eights, first[others], stops[others], dtype)
            others = others[~done]
        unreadable = _by_python(padded, first, stops, others, result) if len(others) else others
    return result.reshape(shape), np.unique(unreadable // max(1, shape[1]))


def _plain(
    array: Bytes, eights: npt.NDArray[np.uint64], first: Positions, stops: Positions
) -> tuple[npt.NDArray[np.float64], Mask]:
    """Convert fields that are a digit, a point and digits; return also which fields are."""
    minus = array[first] == _MINUS
    start = first + minus
    whole = array[start] - np.uint8(48)
    digits = stops - start - 2  # after the point
    plain = (array[start + 1] == _POINT) & (whole < 10) & (digits >= 0) & (digits <= _LONGEST)
    digits[~plain] = 0
    mantissa = _digits(eights[stops - 8], np.minimum(digits, 8), plain)
    long = np.flatnonzero(digits > 8)
    if len(long):
        plain_long = plain[long]
        mantissa[long] += _TENS[8] * _digits(eights[stops[long] - 16], digits[long] - 8, plain_long)
        plain[long] = plain_long
    mantissa += whole * _TENS[digits]
    plain &= mantissa <= _EXACT
    values = mantissa.astype(np.float64)
    values /= _TENS_EXACT[digits]
    values *= _SIGNS[minus.view(np.uint8)]
    return values, plain


def _less_plain(
    array: Bytes, eights: npt.NDArray[np.uint64], first: Positions, stops: Positions, dtype: np.dtype[Any]
) -> tuple[npt.NDArray[Any], Mask]:
    """Convert fields with up to eight digits before the point, up to 24 after it, and an exponent of two digits."""
    minus = array[first] == _MINUS
    start = first + minus
    power, stops = _exponent(array, start, stops)
    length = stops - start
    point = length.copy()  # the digits before it
    for place in range(8, 0, -1):
        point[(place < length) & (array[start + place] == _POINT)] = place
    digits = np.maximum(length - point - 1, 0)
    good = (point >= 1) & (point <= 8) & (digits <= _LONGEST + 8)
    point[~good], digits[~good] = 1, 0
    # Check that digits beyond the sixteenth are digits, and drop them.
    dropped = np.maximum(digits - _LONGEST, 0)
    _digits(eights[stops - 8], dropped, good)
    stops = stops - dropped
    digits -= dropped
    good &= point + digits <= 18  # below 2⁶³
    digits[~good] = 0
    mantissa = _digits(eights[stops - 8], np.minimum(digits, 8), good)
    mantissa += _TENS[8] * _digits(eights[stops - 16], np.maximum(digits - 8, 0), good)
    mantissa += _TENS[digits] * _digits(eights[start + point - 8], point, good)
    scale = power - digits
    good &= np.abs(scale) <= 22
    scale[~good] = 0
    values = mantissa.astype(np.float64)
    values = np.where(
        scale < 0, values / _TENS_EXACT[np.maximum(-scale, 0)], values * _TENS_EXACT[np.maximum(scale, 0)]
    )
    inexact = (mantissa > _EXACT) | (dropped > 0)
    # Two roundings, each of one part in 2⁵³, and less than one unit of the last digit kept.
    error = values * 2.0**-50
    error += (dropped > 0) * 10.0 ** np.maximum(scale, -22)
    if dtype == np.float64:
        good &= ~inexact
    else:
        good &= ~inexact | ((values - error).astype(dtype) == (values + error).astype(dtype))
    values *= _SIGNS[minus.view(np.uint8)]
    return values.astype(dtype), good


def _exponent(array: Bytes, start: Positions, stops: Positions) -> tuple[Positions, Positions]:
    """Return the exponents of fields that end like ``e-05``, 0 for others, and where the parts before them end."""
    sign, tens, ones = array[stops - 3], array[stops - 2] - np.uint8(48), array[stops - 1] - np.uint8(48)
    has = (array[stops - 4] | 32 == ord("e")) & ((sign == _MINUS) | (sign == _PLUS)) & (tens < 10) & (ones < 10)
    has &= stops - start > 4
    power = np.where(has, 10 * tens.astype(np.intp) + ones, 0)
    return np.where(sign == _MINUS, -power, power), stops - 4 * has


def _digits(eight: npt.NDArray[np.uint64], count: Positions, good: Mask) -> npt.NDArray[np.uint64]:
    """Convert the last ``count`` of eight bytes to a whole number; clear ``good`` where one is not a digit."""
    value = eight ^ _ZEROS
    value &= _LAST_BYTES[count]
    good &= ((value + _CARRY) | value) & _HIGH == 0
    for factor, shift, mask in (
        (10, 8, 0x00FF00FF00FF00FF),
        (100, 16, 0x0000FFFF0000FFFF),
        (10_000, 32, 0x00000000FFFFFFFF),
    ):
        value = value * np.uint64(factor) + (value >> np.uint64(shift))
        value &= np.uint64(mask)
    return value


def _by_python(
    padded: bytes, first: Positions, stops: Positions, others: Positions, result: npt.NDArray[Any]
) -> Positions:
    """Convert numbers written in any other way; return the positions of fields that are not numbers."""
    bad = []
    values = []
    for place, start, stop in zip(others.tolist(), first[others].tolist(), stops[others].tolist(), strict=True):
        try:
            values.append(float(padded[start:stop]))
        except ValueError:
            values.append(0.0)
            bad.append(place)
    result[others] = np.array(values).astype(result.dtype)
    return np.array(bad, dtype=np.intp)
