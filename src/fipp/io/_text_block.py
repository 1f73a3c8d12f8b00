"""Many lines of text vectors at once, with numpy's whole-array operations, which run on every thread.

A block of text is one array of bytes. Every number that is written plainly (``-0.0123``: a digit, a point, up to 16
digits) is turned into digits eight at a time: eight bytes are one 64-bit integer, in which neighbouring digits, then
pairs, then fours are joined by three multiplications. Its value is a whole number below 2⁵³ divided by a power of ten
that a double holds exactly, so that the quotient is the double nearest to the text, as `float` gives it. Numbers
written otherwise go to `float` itself, and lines that are not a word and its numbers go back to the caller.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

_SPACE, _NEWLINE, _MINUS, _POINT = 32, 10, 45, 46
_MARGIN = 24
"""Bytes before the text, so that the sixteen before the end of any field can be looked at."""

_LONGEST = 16
"""Digits after the point that two 64-bit integers hold."""

_TENS = np.array([10**power for power in range(_LONGEST + 1)], dtype=np.uint64)
_TENS_EXACT = _TENS.astype(np.float64)
_SIGNS = np.array([1.0, -1.0])
_ZEROS = np.uint64(0x3030303030303030)
_CARRY, _HIGH = np.uint64(0x7676767676767676), np.uint64(0x8080808080808080)
# Which of eight bytes belong to a number with 0, 1, … 8 digits: the last ones, which are the highest.
_LAST_BYTES = np.array([0, *((~0 << (64 - 8 * digits)) & (2**64 - 1) for digits in range(1, 9))], dtype=np.uint64)

Positions = npt.NDArray[np.intp]


class Parsed(NamedTuple):
    """What a block of text holds.

    Attributes
    ----------
    words : list of bytes
        The words of the rows that could be parsed together.
    matrix : ndarray of shape (rows, d)
        Their numbers.
    finite : ndarray of bool
        Which of these rows have no NaN and no infinity.
    lines : ndarray of int
        Their lines in the block, from 0.
    odd : list of (int, bytes)
        The other lines, which have to be looked at one by one.
    total : int
        All lines.
    rows : int
        Lines that are rows, odd ones aside; more than ``words`` when only some were wanted.
    """

    words: list[bytes]
    matrix: npt.NDArray[Any]
    finite: npt.NDArray[np.bool_]
    lines: Positions
    odd: list[tuple[int, bytes]]
    total: int
    rows: int


def parse_block(
    block: bytes, dimension: int, dtype: npt.DTypeLike = np.float32, wanted: Container[bytes] | None = None
) -> Parsed:
    r"""Parse the lines of a block that are a word without spaces and ``dimension`` numbers.

    Parameters
    ----------
    block : bytes
        Whole lines, each ending in ``\n``.
    dimension : int
        How many numbers a row has.
    dtype : dtype
        float16, float32 or float64.
    wanted : container of bytes, optional
        Leave out the rows of other words.

    Examples
    --------
    >>> parsed = parse_block(b"cat 0.5 2\nNew York 1 2\ndog 1e2 -1\n", 2)
    >>> parsed.words, parsed.matrix.tolist(), parsed.odd
    ([b'cat', b'dog'], [[0.5, 2.0], [100.0, -1.0]], [(1, b'New York 1 2')])
    """
    text = _Text(block)
    if text.is_ragged:  # fastText ends lines with a space, Windows with a carriage return; some separate by tabs
        text = _Text(_plain_ends(block))
    padded, array = text.padded, text.array
    starts, ends, lines, odd = _regular_lines(text, dimension)
    words = [padded[start:end] for start, end in zip(starts.tolist(), ends[:, 0].tolist(), strict=True)]
    rows = len(words)
    if wanted is not None:
        chosen = np.flatnonzero([word in wanted for word in words])
        words, ends, lines = [words[row] for row in chosen.tolist()], ends[chosen], lines[chosen]
    values, unreadable = _numbers(padded, array, ends)
    if len(unreadable):
        odd = np.sort(np.concatenate([odd, lines[unreadable]]))
        kept = np.delete(np.arange(len(words)), unreadable)
        words, values, lines = [words[row] for row in kept.tolist()], values[kept], lines[kept]
        rows -= len(unreadable)
    with np.errstate(over="ignore"):
        matrix = values.astype(dtype)
    return Parsed(words, matrix, np.isfinite(matrix).all(axis=1), lines, _lines_of(block, odd), len(text.last), rows)


class _Text:
    """A block as an array of bytes, with the places of what separates its fields."""

    def __init__(self, block: bytes) -> None:
        self.padded = b"0" * _MARGIN + block + b"0" * 8
        self.array = np.frombuffer(self.padded, dtype=np.uint8)
        self.separators = np.flatnonzero(self.array <= _SPACE)
        kinds = self.array[self.separators]
        is_newline = kinds == _NEWLINE
        self.last = np.flatnonzero(is_newline)
        self.is_plain = bool(((kinds == _SPACE) | is_newline).all())

    @property
    def is_ragged(self) -> bool:
        """Whether there are other separators than spaces, or two side by side."""
        return not self.is_plain or bool((np.diff(self.separators) == 1).any())


def _plain_ends(block: bytes) -> bytes:
    """Make tabs spaces, and drop the white space that ends a line; the lines stay as many."""
    # Once each: a line with more spaces at its end is odd, and no file can make this take long.
    return block.replace(b"\t", b" ").replace(b"\r\n", b"\n").replace(b" \n", b"\n")


def _regular_lines(text: _Text, dimension: int) -> tuple[Positions, Positions, Positions, Positions]:
    """Give where fields begin and end, for lines with as many fields as a row has; and which lines those are.

    Returns
    -------
    starts : ndarray of shape (rows,)
        Where each of these lines begins.
    ends : ndarray of shape (rows, d + 1)
        The position of the separator after each field.
    lines, odd : ndarray
        The numbers of these lines and of the others.
    """
    separators, last = text.separators, text.last
    every_start = np.concatenate([[_MARGIN], separators[last] + 1])[:-1]
    good = np.diff(last, prepend=-1) == dimension + 1
    if good.all():
        ends = separators.reshape(len(last), dimension + 1)
    else:
        ends = separators[last[good][:, np.newaxis] + np.arange(-dimension, 1)]
        every_start = every_start[good]
    lines = np.flatnonzero(good)
    fine = ends[:, 0] > every_start  # there is a word
    if not text.is_plain:
        # Other control characters are part of a word, though they may look like a separator here.
        fine &= (text.array[ends[:, :-1]] == _SPACE).all(axis=1)
    if not fine.all():
        every_start, ends, lines = every_start[fine], ends[fine], lines[fine]
    return every_start, ends, lines, np.delete(np.arange(len(last)), lines)


def _numbers(padded: bytes, array: npt.NDArray[np.uint8], ends: Positions) -> tuple[npt.NDArray[np.float64], Positions]:
    """Turn the fields after the word into numbers; give, too, the rows with a field that is none."""
    shape = (len(ends), ends.shape[1] - 1)
    stops = ends[:, 1:].ravel()
    first = ends[:, :-1].ravel() + 1
    minus = array[first] == _MINUS
    start = first + minus
    whole = array[start] - np.uint8(48)
    digits = stops - start - 2  # after the point
    plain = (array[start + 1] == _POINT) & (whole < 10) & (digits >= 0) & (digits <= _LONGEST)
    digits[~plain] = 0
    # Any eight bytes in a row, as one integer whose lowest byte is the first.
    eights = np.ndarray(len(array) - 7, dtype="<u8", buffer=padded, strides=(1,))
    mantissa = _digits(eights[stops - 8], np.minimum(digits, 8), plain)
    long = np.flatnonzero(digits > 8)
    if len(long):
        plain_long = plain[long]
        mantissa[long] += _TENS[8] * _digits(eights[stops[long] - 16], digits[long] - 8, plain_long)
        plain[long] = plain_long
    mantissa += whole * _TENS[digits]
    plain &= mantissa <= np.uint64(2**53)
    values = mantissa.astype(np.float64)
    values /= _TENS_EXACT[digits]
    values *= _SIGNS[minus.view(np.uint8)]
    others = np.flatnonzero(~plain)
    unreadable = _others(padded, first, stops, others, values) if len(others) else others
    return values.reshape(shape), np.unique(unreadable // max(1, shape[1]))


def _digits(
    eight: npt.NDArray[np.uint64], count: npt.NDArray[np.intp], plain: npt.NDArray[np.bool_]
) -> npt.NDArray[np.uint64]:
    """Read the last ``count`` of eight bytes as a whole number; unset ``plain`` where one of them is no digit."""
    value = eight ^ _ZEROS
    value &= _LAST_BYTES[count]
    plain &= ((value + _CARRY) | value) & _HIGH == 0
    for factor, shift, mask in (
        (10, 8, 0x00FF00FF00FF00FF),
        (100, 16, 0x0000FFFF0000FFFF),
        (10_000, 32, 0x00000000FFFFFFFF),
    ):
        value = value * np.uint64(factor) + (value >> np.uint64(shift))
        value &= np.uint64(mask)
    return value


def _others(
    padded: bytes, first: Positions, stops: Positions, others: Positions, values: npt.NDArray[np.float64]
) -> Positions:
    """Set the values of numbers written in another way; give the places of those that are no numbers."""
    fields = [padded[a:b] for a, b in zip(first[others].tolist(), stops[others].tolist(), strict=True)]
    try:
        values[others] = [float(field) for field in fields]
        return others[:0]
    except ValueError:
        pass
    bad = []
    for place, field in zip(others.tolist(), fields, strict=True):
        try:
            values[place] = float(field)
        except ValueError:
            bad.append(place)
    return np.array(bad, dtype=np.intp)


def _lines_of(block: bytes, numbers: Positions) -> list[tuple[int, bytes]]:
    if not len(numbers):
        return []
    lines = block.split(b"\n")
    return [(number, lines[number]) for number in numbers.tolist()]
