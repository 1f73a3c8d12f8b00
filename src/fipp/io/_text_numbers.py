"""Numbers in a text, many at a time.

A number that is written plainly (``-0.0123``: a digit, a point, up to 16 digits) is turned into digits eight at a
time: eight bytes are one 64-bit integer, in which neighbouring digits, then pairs, then fours are joined by three
multiplications. Its value is a whole number up to 2⁵³ divided by a power of ten that a double holds exactly, so that
the quotient is the double nearest to the text, as `float` gives it. Those with more digits before the point, none
after it, or an exponent are done alike in a second pass. One with more digits than that is known to within a small
error; if all that lies within it rounds to the same float32, that is the number. What is left goes to `float` itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

MARGIN = 24
"""Bytes that have to stand before the text, so that the sixteen before the end of any field can be looked at."""

_MINUS, _PLUS, _POINT = 45, 43, 46
_LONGEST = 16
"""Digits after the point that two 64-bit integers hold."""

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


def numbers(padded: bytes, array: Bytes, ends: Positions, dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], Positions]:
    """Turn the fields after the word into numbers; give, too, the rows with a field that is none.

    Parameters
    ----------
    padded, array : bytes and ndarray of uint8
        The text, with ``MARGIN`` bytes before it and eight behind.
    ends : ndarray of shape (rows, d + 1)
        The position of the separator after the word and after each number.
    dtype : dtype
        The type of the numbers.

    Examples
    --------
    >>> text = b"0" * MARGIN + b"w 0.5 x" + b"0" * 8
    >>> ends = np.array([[MARGIN + 1, MARGIN + 5]])
    >>> numbers(text, np.frombuffer(text, dtype=np.uint8), ends, np.dtype("f4"))
    (array([[0.5]], dtype=float32), array([], dtype=int64))
    """
    shape = (len(ends), ends.shape[1] - 1)
    stops = ends[:, 1:].ravel()
    first = ends[:, :-1].ravel() + 1
    # Any eight bytes in a row, as one integer whose lowest byte is the first.
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
    """Read fields that are a digit, a point and digits; say which are."""
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
    """Read fields with up to eight digits before the point, up to 24 after it, and an exponent of two digits."""
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
    # Digits beyond the sixteenth only have to be digits.
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
    # Two roundings, of a part in 2⁵³ each, and less than one in the last digit that was kept.
    error = values * 2.0**-50
    error += (dropped > 0) * 10.0 ** np.maximum(scale, -22)
    if dtype == np.float64:
        good &= ~inexact
    else:
        good &= ~inexact | ((values - error).astype(dtype) == (values + error).astype(dtype))
    values *= _SIGNS[minus.view(np.uint8)]
    return values.astype(dtype), good


def _exponent(array: Bytes, start: Positions, stops: Positions) -> tuple[Positions, Positions]:
    """Return the exponents of fields that end like ``e-05``, 0 for others, and where the part before them ends."""
    sign, tens, ones = array[stops - 3], array[stops - 2] - np.uint8(48), array[stops - 1] - np.uint8(48)
    has = (array[stops - 4] | 32 == ord("e")) & ((sign == _MINUS) | (sign == _PLUS)) & (tens < 10) & (ones < 10)
    has &= stops - start > 4
    power = np.where(has, 10 * tens.astype(np.intp) + ones, 0)
    return np.where(sign == _MINUS, -power, power), stops - 4 * has


def _digits(eight: npt.NDArray[np.uint64], count: Positions, good: Mask) -> npt.NDArray[np.uint64]:
    """Read the last ``count`` of eight bytes as a whole number; unset ``good`` where one of them is no digit."""
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
    """Set the values of numbers written in yet another way; give the places of those that are no numbers."""
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
