"""Text that holds vectors: whether bytes are such text, and the word and the numbers of one line."""

from __future__ import annotations

from collections import Counter
from itertools import takewhile
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fipp.io._report import counted
from fipp.io._rows import FloatMatrix

SAMPLE_ROWS = 100
"""The number of rows that decide the number of dimensions."""

_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r")


class Header(NamedTuple):
    """What the first line of a word2vec file declares."""

    rows: int
    dimension: int


class Row(NamedTuple):
    """A line that can be used."""

    word: bytes
    values: FloatMatrix


class Defect(NamedTuple):
    """A line that cannot be used: it has too few numbers, or a field that is not a number."""

    word: bytes
    detail: str
    unreadable: bool


def is_text(sample: bytes) -> bool:
    r"""Return whether bytes look like UTF-8 text: no control characters except tabs and line ends.

    A character cut off at the end is ignored. Real vocabularies contain a few broken characters, so one byte in a
    hundred may be invalid.
    """
    if sample.translate(None, _CONTROLS) != sample:
        return False
    broken = sample.decode("utf-8", "replace").count("\N{REPLACEMENT CHARACTER}")
    return broken <= 1 + len(sample) // 100


def is_text_row(sample: bytes) -> bool:
    """Return whether at least half of the first line is numbers: then it is text, whatever bytes its word has."""
    line, end, _ = sample.partition(b"\n")
    fields = line.split()[: None if end else -1]
    return len(_numbers_at_end(fields)) >= max(1, len(fields) // 2)


def is_text_table(sample: bytes) -> bool:
    r"""Return whether bytes are text, or at least begin with a row of text, perhaps below a header.

    Examples
    --------
    >>> is_text_table(b"1 2\n\x01 0.5 2\n"), is_text_table(b"cat 0.5 2"), is_text_table(b"\x00\x01")
    (True, True, False)
    """
    _, _, after_header = sample.partition(b"\n")
    return is_text(sample) or is_text_row(sample) or is_text_row(after_header)


def parse_header(line: bytes) -> Header | None:
    """Return the header if a line is two whole numbers and nothing else.

    Examples
    --------
    >>> parse_header(b"50000 300")
    Header(rows=50000, dimension=300)
    >>> parse_header(b"the 0.1 0.2")
    """
    fields = line.split()
    # Longer numbers are not counts, and converting them to int could take very long.
    if len(fields) == 2 and all(field.isdigit() and len(field) < 20 for field in fields):
        return Header(int(fields[0]), int(fields[1]))
    return None


def dimension_of(lines: list[bytes], header: Header | None) -> int | None:
    """Return the number of dimensions that the first rows have; None if no row has a number.

    The header is believed if half of the rows agree with it. A row whose word seems to end in whole numbers
    (``channel 4 0.1 0.2``) agrees too. Otherwise the most frequent count wins.

    Examples
    --------
    >>> dimension_of([b"cat 0.1 0.2", b"New York 0.3 0.4"], header=None)
    2
    >>> dimension_of([b"cat 0.1 0.2", b"dog 0.3 0.4"], Header(2, 300))
    2
    >>> dimension_of([b"channel 4 0.1 0.2"], Header(1, 2))
    2
    """
    endings = [_numbers_at_end(line.split()) for line in lines]
    if header is not None and header.dimension > 0:
        agreeing = sum(
            len(numbers) >= header.dimension
            and all(number.isdigit() for number in numbers[: len(numbers) - header.dimension])
            for numbers in endings
        )
        if 2 * agreeing >= len(lines):
            return header.dimension
    counts = Counter(len(numbers) for numbers in endings if numbers)
    return counts.most_common(1)[0][0] if counts else None


def parse_row(line: bytes, dimension: int, dtype: npt.DTypeLike = np.float32) -> Row | Defect:
    """Parse a line: its last ``dimension`` fields are the numbers, everything before them is the word.

    Examples
    --------
    >>> parse_row(b"New York 0.5 2", 2)
    Row(word=b'New York', values=array([0.5, 2. ], dtype=float32))
    >>> parse_row(b"New York 0.5", 2)
    Defect(word=b'New York', detail='1 number', unreadable=False)
    """
    fields = line.rsplit(None, dimension)
    if len(fields) == dimension + 1:
        try:
            with np.errstate(over="ignore"):
                return Row(fields[0], np.array(list(map(float, fields[1:]))).astype(dtype))
        except ValueError:
            pass
    return _explain(line.split())


def ends_in_number(word: bytes) -> bool:
    """Return whether a word contains spaces and ends in a number: the row may have too many numbers.

    Examples
    --------
    >>> ends_in_number(b"Windows 3.1"), ends_in_number(b"New York"), ends_in_number(b"2016")
    (True, False, False)
    """
    fields = word.split()
    return len(fields) > 1 and _is_number(fields[-1]) and any(byte in b"0123456789" for byte in fields[-1])


def _explain(fields: list[bytes]) -> Defect:
    """Describe what is wrong with a row; its numbers begin at the first number after the first field."""
    start = next((i for i, field in enumerate(fields[1:], 1) if _is_number(field)), len(fields))
    word, numbers = b" ".join(fields[:start]), fields[start:]
    bad = next((field for field in numbers if not _is_number(field)), None)
    if bad is not None:
        return Defect(word, f"{bad[:40].decode('utf-8', 'replace')!r} is not a number", unreadable=True)
    return Defect(word, counted(len(numbers), "number"), unreadable=False)


def _numbers_at_end(fields: list[bytes]) -> list[bytes]:
    """Return the numbers at the end of a row, in order; the first field is a word even if it looks like a number."""
    return list(takewhile(_is_number, reversed(fields[1:])))[::-1]


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
