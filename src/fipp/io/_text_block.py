"""Many lines of text vectors at once, with numpy's whole-array operations, which run on every thread.

A block of text is one array of bytes. Lines with as many fields as a row has are found by the places of their
separators, and their numbers go to `_text_numbers`; lines that are not a word and its numbers go back to the caller.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fipp.io._text_numbers import MARGIN, Positions, numbers

_SPACE, _NEWLINE = 32, 10


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
    matrix, unreadable = numbers(padded, array, ends, np.dtype(dtype))
    if len(unreadable):
        odd = np.sort(np.concatenate([odd, lines[unreadable]]))
        kept = np.delete(np.arange(len(words)), unreadable)
        words, matrix, lines = [words[row] for row in kept.tolist()], matrix[kept], lines[kept]
        rows -= len(unreadable)
    return Parsed(words, matrix, np.isfinite(matrix).all(axis=1), lines, _lines_of(block, odd), len(text.last), rows)


class _Text:
    """A block as an array of bytes, with the places of what separates its fields."""

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
        """Whether there are other separators than spaces, or two side by side."""
        return not self.is_plain or bool((np.diff(self.separators) == 1).any())


def _plain_ends(block: bytes) -> bytes:
    """Make tabs spaces, and drop the white space that ends a line; the lines stay as many."""
    # Once each: a line with more spaces at its end is odd, and no file can make this take long.
    return block.replace(b"\t", b" ").replace(b"\r\n", b"\n").replace(b" \n", b"\n")


def _regular_lines(text: _Text, dimension: int) -> tuple[Positions, Positions, Positions, Positions]:
    """Return where fields begin and end, for lines with as many fields as a row has; and which lines those are.

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
        # Other control characters are part of a word, though they may look like a separator here.
        fine &= (text.array[ends[:, :-1]] == _SPACE).all(axis=1)
    if not fine.all():
        every_start, ends, lines = every_start[fine], ends[fine], lines[fine]
    return every_start, ends, lines, np.delete(np.arange(len(last)), lines)


def _lines_of(block: bytes, numbers: Positions) -> list[tuple[int, bytes]]:
    if not len(numbers):
        return []
    lines = block.split(b"\n")
    return [(number, lines[number]) for number in numbers.tolist()]
