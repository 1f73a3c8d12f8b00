"""The shortest decimal text of float32 numbers, many at a time.

A number between 10⁻⁴ and 10 is tried with 6, 7 and 8 digits: ``r = round(x·10ᶠ)`` is its text without the point if the
double ``r / 10ᶠ``, which is what a reader makes of the text, rounds to x again; nine digits always do. The digits then
come from a table of all four-digit texts. Other numbers are rare in vectors and take numpy's own way.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

_DIGITS = 12
"""Digits after the point that a number of at least 10⁻⁴ can need."""

_WIDTH = 16
"""Bytes for a number: sign, digit, point, twelve digits, and a space."""

_TENS = np.array([10**power for power in range(_DIGITS + 1)], dtype=np.int64)
_TENS_EXACT = _TENS.astype(np.float64)
_FOURS = np.frombuffer(b"".join(b"%04d" % number for number in range(10_000)), dtype="<u4")
# Which bytes of a number are used, by its sign and the number of its digits after the point.
_USED = np.array(
    [
        [[sign == 1, True, True, *(place < digits for place in range(_DIGITS)), True] for digits in range(_DIGITS + 1)]
        for sign in (0, 1)
    ]
)


def float32_rows(matrix: npt.NDArray[np.float32]) -> Iterator[bytes]:
    """Yield the text of each row, its numbers separated by spaces.

    Examples
    --------
    >>> list(float32_rows(np.array([[0.1, 1 / 3], [-2.5, 1e-5]], dtype=np.float32)))
    [b'0.1 0.33333334', b'-2.5 1e-05']
    """
    numbers = matrix.ravel()
    size = np.abs(numbers).astype(np.float64)
    rare = np.flatnonzero(((size < 1e-4) & (size > 0)) | (size >= 9.5))
    size[rare] = 0
    rounded, digits = _shortest(size)
    text = np.empty((len(numbers), _WIDTH), dtype=np.uint8)
    _put(rounded, digits, text)
    used = _USED[np.signbit(numbers).view(np.uint8), digits]
    for place in rare.tolist():
        other = _other(numbers[place])
        text[place, : len(other)] = np.frombuffer(other, dtype=np.uint8)
        used[place, :-1] = np.arange(_WIDTH - 1) < len(other)
    rows, columns = matrix.shape
    used.reshape(rows, -1)[:, -1] = False  # no space after the last number
    stops = np.cumsum(used.reshape(rows, columns * _WIDTH).sum(axis=1)).tolist()
    joined = text[used].tobytes()
    start = 0
    for stop in stops:
        yield joined[start:stop]
        start = stop


def _shortest(size: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """Give whole numbers r and digits f, as small as can be, such that r / 10ᶠ rounds to the float32 number."""
    target = size.astype(np.float32)
    # The digits after the point that make six significant ones.
    six = np.full(len(size), 9, dtype=np.intp)
    for bound in (1e-3, 1e-2, 1e-1, 1.0):
        six -= size >= bound
    digits = six + 3
    rounded = np.rint(size * _TENS_EXACT[digits])
    # A power of two has a nearer neighbour below, where the nearest text of few digits may not be the right one:
    # each is checked like any other, and takes a digit more.
    left = np.arange(len(size))
    for more in (2, 1, 0):
        fewer = six[left] + more
        tens = _TENS_EXACT[fewer]
        trial = np.rint(size[left] * tens)
        good = np.flatnonzero((trial / tens).astype(np.float32) == target[left])
        left = left[good]
        digits[left], rounded[left] = fewer[good], trial[good]
    whole = rounded.astype(np.int64)
    while len(left):  # six digits were enough, and may end in zeros
        left = left[(digits[left] > 1) & (whole[left] % 10 == 0)]
        whole[left] //= 10
        digits[left] -= 1
    return whole, digits


def _put(rounded: npt.NDArray[np.int64], digits: npt.NDArray[np.intp], text: npt.NDArray[np.uint8]) -> None:
    """Write sign, digit, point and all twelve digits of each number, and a space."""
    scaled = (rounded * _TENS[_DIGITS - digits]).astype(np.uint64)
    whole, fraction = _split(scaled, 10**12)
    text[:, 0] = ord("-")
    text[:, 1] = whole + ord("0")
    text[:, 2] = ord(".")
    text[:, -1] = ord(" ")
    high, low = _split(fraction, 10**8)
    middle, low = _split(low, 10**4)
    fours = np.empty((len(text), 3), dtype="<u4")
    for column, four in enumerate((high, middle, low)):
        fours[:, column] = _FOURS[four.astype(np.intp)]
    text[:, 3 : 3 + _DIGITS] = fours.view(np.uint8)


def _split(number: npt.NDArray[np.uint64], divisor: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Divide with remainder: twice as fast as `numpy.divmod`, which has no vector instructions."""
    quotient = number // np.uint64(divisor)
    return quotient, number - quotient * np.uint64(divisor)


def _other(number: np.float32) -> bytes:
    """Give the text of a number that is very small or not below ten."""
    text = str(number)
    # Most readers turn the text into a double and that into a float32. Rounding twice can miss the number when its
    # shortest text lies within a double's precision of the middle between two float32, as 7.038531e-26 does.
    if np.float32(float(text)) != number:
        text = f"{float(number):.9g}"
    if len(text) >= _WIDTH:
        text = np.format_float_scientific(number, trim="-")
    return text.encode()
