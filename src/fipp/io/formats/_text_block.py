"""Many lines of text vectors at once, by a compiled loop. This module is imported only when text is read.

Ours rather than a library's: polars and pyarrow are slower (docs/results/loading.md), cannot report single bad rows,
and do not know words that contain spaces.

Every number becomes the float64 nearest to its text, as `float` computes it. Its first 19 digits are a whole number, by
which the first 128 bits of a power of five are multiplied (after Lemire, *Number parsing at a gigabyte per second*,
2021). Where the bits that were left out could change the rounding, and with whatever is not written in digits, the line
is read by `float`. Lines that are not a word and the right number of numbers go back to the caller.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit, types

from fipp._compiled import compiled, instruction

_TAB, _NEWLINE, _RETURN, _SPACE, _PLUS, _MINUS, _POINT, _ZERO, _E = b"\t\n\r +-.0e"
_LOWER_CASE = 32
_FIRST_POWER, _LAST_POWER = -342, 308
_LONGEST_EXPONENT = 10_000
# A mantissa below these has room for one digit more, and for eight.
_ROOM_FOR_ONE, _ROOM_FOR_EIGHT = np.uint64(10**18), np.uint64(10**10)
_ONE, _EIGHT = np.uint64(1), np.uint64(8)
_ALL_ONES = np.uint64(2**64 - 1)

Positions = npt.NDArray[np.int64]


class Parsed(NamedTuple):
    """The contents of a block of text; ``len(matrix)`` is less than ``rows`` if only some words were wanted."""

    joined: bytes
    """The words with line breaks between them, because a list of short words takes seven times their memory."""
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

    @property
    def words(self) -> list[bytes]:
        """The word of each row."""
        return self.joined.split(b"\n") if self.joined else []


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
    if not block.endswith(b"\n"):  # the loop looks for nothing else to stop at
        block += b"\n" * bool(block)
    text = np.frombuffer(block, dtype=np.uint8)
    total = int(np.count_nonzero(text == _NEWLINE))
    most = min(total, len(block) // (2 * dimension + 2))  # each line has a digit and a separator for each, and a word
    values, places, odd = np.empty((most, dimension)), np.empty((most, 3), dtype=np.int64), np.empty(total, np.int64)
    is_doubtful, letters = np.empty(most, dtype=np.bool_), np.empty(len(text), dtype=np.uint8)
    rows, n_letters, n_odd = parse_lines(text, letters, values, places, is_doubtful, odd)
    values, places, odd = values[:rows], places[:rows], odd[:n_odd]
    joined = letters[: max(0, n_letters - 1)].tobytes()
    kept = np.ones(rows, dtype=np.bool_)
    if wanted is not None and rows:
        kept[:] = [word in wanted for word in joined.split(b"\n")]
    for row in np.flatnonzero(is_doubtful[:rows] & kept).tolist():
        if not _read(block, places[row], values[row]):
            kept[row] = False
            odd = np.append(odd, places[row, 2])
    rows -= len(odd) - n_odd
    if not kept.all():
        joined = b"\n".join(compress(joined.split(b"\n"), kept.tolist()))
        values, places = values[kept], places[kept]
    with np.errstate(over="ignore"):
        matrix = values.astype(dtype)
    odd_lines = _lines_of(block, np.sort(odd))
    return Parsed(joined, matrix, np.isfinite(matrix).all(axis=1), places[:, 2].copy(), odd_lines, total, rows)


def _read(block: bytes, place: Positions, values: npt.NDArray[np.float64]) -> bool:
    """Read the numbers of a row in Python; return whether they are numbers."""
    try:
        values[:] = [float(field) for field in block[place[0] : place[1]].split()]
    except ValueError:
        return False
    return True


def _lines_of(block: bytes, numbers: Positions) -> list[tuple[int, bytes]]:
    if not len(numbers):
        return []
    lines = block.split(b"\n")
    return [(number, lines[number]) for number in numbers.tolist()]


def _powers_of_five() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Return the first 128 bits of every power of five, as two integers, and the exponents of their highest bits."""
    first, exponents = [], []
    for power in range(_FIRST_POWER, _LAST_POWER + 1):
        five = 5 ** abs(power)
        length = five.bit_length()
        first.append(divmod((five << 128) >> length if power >= 0 else (1 << (length + 127)) // five, 1 << 64))
        exponents.append(length - 1 if power >= 0 else -length)
    return np.array(first, dtype=np.uint64), np.array(exponents)


_FIVES, _EXPONENTS = _powers_of_five()


@instruction
def _multiply_high(_: Any, a: Any, b: Any) -> Any:
    """Return the upper 64 of the 128 bits of a product."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(each, wide) for each in given))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@instruction
def _leading_zeros(_: Any, bits: Any) -> Any:
    """Return how many of 64 bits are above the highest that is set."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.ctlz(given[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@instruction
def _float_of(_: Any, bits: Any) -> Any:
    """Return the float64 that has these bits."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.bitcast(given[0], ir.DoubleType())

    return types.float64(types.uint64), generate


@instruction
def _eight_bytes(_: Any, text: Any, place: Any) -> Any:
    """Return eight bytes as one integer, whose lowest byte is the first."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array, number = context.make_array(signature.args[0])(context, builder, given[0]), ir.IntType(64)
        bits = builder.load(builder.bitcast(builder.gep(array.data, [given[1]]), number.as_pointer()), align=1)
        return bits if np.little_endian else builder.bswap(bits)

    return types.uint64(text, types.uint64), generate


@njit(forceinline=True)
def _nearest(mantissa: Any, power: Any) -> Any:
    """Return the float64 nearest to mantissa · 10^power, or NaN where 128 bits of the power do not tell."""
    if mantissa == np.uint64(0):
        return 0.0
    if power < _FIRST_POWER or power > _LAST_POWER:
        return np.nan
    zeros = _leading_zeros(mantissa)
    mantissa <<= zeros
    # The upper 128 of 192 bits. The bits of the power that were left out could add less than one to them.
    upper, lower = _multiply_high(mantissa, _FIVES[power - _FIRST_POWER, 0]), mantissa * _FIVES[power - _FIRST_POWER, 0]
    carried = lower + _multiply_high(mantissa, _FIVES[power - _FIRST_POWER, 1])
    upper += np.uint64(carried < lower)
    top = upper >> np.uint64(63)
    surplus, half = np.uint64(10) + top, _ONE << (np.uint64(9) + top)
    rest = upper & ((half << _ONE) - _ONE)
    if (rest == half - _ONE and carried == _ALL_ONES) or (rest == half and carried == np.uint64(0)):
        return np.nan
    # The highest bit of the significand, which the format leaves out, adds one to the exponent.
    exponent = 1022 + 63 + np.int64(top) - np.int64(zeros) + _EXPONENTS[power - _FIRST_POWER] + power
    if exponent < 0 or exponent > 2043:
        return np.nan
    return _float_of((np.uint64(exponent) << np.uint64(52)) + (upper >> surplus) + np.uint64(rest >= half))


@njit(forceinline=True)
def _digit(text: npt.NDArray[np.uint8], at: Any) -> Any:
    """Return the value of a digit, 10 or more for anything else."""
    return np.uint64(np.uint8(text[at] - np.uint8(_ZERO)))


@njit(forceinline=True)
def _digits(text: npt.NDArray[np.uint8], at: Any, mantissa: Any) -> Any:
    """Append digits to a mantissa while there is room; return it, how many were dropped, and the place after them."""
    dropped = 0
    while at + _EIGHT <= np.uint64(len(text)) and mantissa < _ROOM_FOR_EIGHT:
        # Neighbouring digits, then pairs, then fours are joined by three multiplications.
        bits = _eight_bytes(text, at) ^ np.uint64(0x3030303030303030)
        if ((bits + np.uint64(0x7676767676767676)) | bits) & np.uint64(0x8080808080808080):
            break
        bits = (bits * np.uint64(10) + (bits >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
        bits = (bits * np.uint64(100) + (bits >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
        bits = (bits * np.uint64(10_000) + (bits >> np.uint64(32))) & np.uint64(0x00000000FFFFFFFF)
        mantissa = mantissa * np.uint64(100_000_000) + bits
        at += _EIGHT
    digit = _digit(text, at)
    while digit < np.uint64(10):
        if mantissa < _ROOM_FOR_ONE:
            mantissa = mantissa * np.uint64(10) + digit
        else:
            dropped += 1
        at += _ONE
        digit = _digit(text, at)
    return mantissa, dropped, at


@njit(forceinline=True)
def _number(text: npt.NDArray[np.uint8], at: Any) -> Any:
    """Read a number; return it, NaN if only `float` can tell what it is, and the place after it."""
    is_negative = text[at] == _MINUS
    if is_negative or text[at] == _PLUS:
        at += _ONE
    start = at
    mantissa, dropped, at = _digits(text, at, np.uint64(0))
    power, count = dropped, at - start
    if text[at] == _POINT:
        start = at + _ONE
        mantissa, more, at = _digits(text, start, mantissa)
        power -= np.int64(at - start) - more
        dropped += more
        count += at - start
    if text[at] | _LOWER_CASE == _E and count > np.uint64(0):
        at += _ONE
        is_below = text[at] == _MINUS
        if is_below or text[at] == _PLUS:
            at += _ONE
        start = at
        exponent, _, at = _digits(text, at, np.uint64(0))
        count = at - start
        exponent = np.int64(min(exponent, np.uint64(_LONGEST_EXPONENT)))
        power += -exponent if is_below else exponent
    value = _nearest(mantissa, power)
    if dropped > 0 and _nearest(mantissa + _ONE, power) != value:
        value = np.nan
    if count == np.uint64(0) or text[at] > _SPACE:
        value = np.nan
        while text[at] > _SPACE:
            at += _ONE
    return (-value if is_negative else value), at


@njit(forceinline=True)
def _numbers(text: npt.NDArray[np.uint8], at: Any, values: npt.NDArray[np.float64], row: Any) -> Any:
    """Read a row of numbers, each after one space or tab; return whether it is one, is doubtful, and where it ends."""
    doubtful = False
    for number in range(np.uint64(values.shape[1])):
        if text[at] != _SPACE and text[at] != _TAB:
            return False, doubtful, at
        start = at + _ONE
        value, at = _number(text, start)
        if at == start:
            return False, doubtful, at
        values[row, number] = value
        doubtful |= np.isnan(value)
    return True, doubtful, at


_TEXT = types.Array(types.uint8, 1, "C", readonly=True)
_LETTERS, _VALUES, _PLACES = types.uint8[::1], types.float64[:, ::1], types.int64[:, ::1]


@compiled(types.UniTuple(types.int64, 3)(_TEXT, _LETTERS, _VALUES, _PLACES, types.boolean[::1], types.int64[::1]))
def parse_lines(
    text: npt.NDArray[np.uint8],
    letters: npt.NDArray[np.uint8],
    values: npt.NDArray[np.float64],
    places: Positions,
    is_doubtful: npt.NDArray[np.bool_],
    odd: Positions,
) -> Any:
    """Read the rows of a text; return how many rows and letters there are, and lines that are neither rows nor blank.

    Letters are the words, each with a line break after it. Places are where a word ends, where its numbers end, and the
    number of the line. Doubtful rows have a field that `float` must read.
    """
    at, rows, n_letters, line, n_odd = np.uint64(0), 0, np.uint64(0), 0, 0
    while at < np.uint64(len(text)):
        start, is_row, doubtful = at, False, False
        while text[at] > _SPACE:
            at += _ONE
        end = at
        if end > start and rows < len(values):
            is_row, doubtful, at = _numbers(text, at, values, rows)
        last = at
        # fastText ends lines with a space, Windows with a carriage return.
        if text[at] == _SPACE or text[at] == _TAB:
            at += _ONE
        if text[at] == _RETURN:
            at += _ONE
        if text[at] != _NEWLINE or (end > start and not is_row):
            while text[at] != _NEWLINE:
                at += _ONE
            odd[n_odd] = line
            n_odd += 1
        elif is_row:
            for place in range(start, end):
                letters[n_letters] = text[place]
                n_letters += _ONE
            letters[n_letters] = _NEWLINE
            n_letters += _ONE
            places[rows, 0], places[rows, 1], places[rows, 2] = end, last, line
            is_doubtful[rows] = doubtful
            rows += 1
        at += _ONE
        line += 1
    return rows, n_letters, n_odd
