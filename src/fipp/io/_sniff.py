"""Looking into a file, compressed or not, to tell what it is."""

from __future__ import annotations

from collections.abc import Generator
from itertools import takewhile
from pathlib import Path

from fipp.io._stream import DEFAULT_MAX_BYTES, Source

_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r")


def bytes_of(path: Path, max_bytes: int = DEFAULT_MAX_BYTES) -> Generator[bytes, None, None]:
    """Yield the bytes of a file, decompressed, in chunks; raise a FippError at more than ``max_bytes``."""
    with Source(path, max_bytes) as source:
        yield from source.chunks()


def is_text(sample: bytes) -> bool:
    r"""Tell whether bytes look like text in UTF-8: no other control characters than tabs and line ends.

    A character cut off at the end does no harm. Real vocabularies hold a broken character here and there, so
    that one part in a hundred may be no UTF-8.

    Examples
    --------
    >>> is_text("čvor 0.25".encode()), is_text(b"cat \x00\x00\x80?")
    (True, False)
    """
    if sample.translate(None, _CONTROLS) != sample:
        return False
    broken = sample.decode("utf-8", "replace").count("\N{REPLACEMENT CHARACTER}")
    return broken <= 1 + len(sample) // 100


def is_text_row(sample: bytes) -> bool:
    r"""Tell whether the second half of the first line is numbers: then it is text, whatever its word is made of.

    Examples
    --------
    >>> is_text_row(b"\x01\x02 0.5 2\n"), is_text_row(b"cat \x00\x00\x80?\n")
    (True, False)
    """
    line, end, _ = sample.partition(b"\n")
    fields = line.split()[: None if end else -1]
    numbers = list(takewhile(_is_number, reversed(fields[1:])))
    return len(numbers) >= max(1, len(fields) // 2)


def is_text_table(sample: bytes) -> bool:
    r"""Tell whether bytes are lines of text, of words and numbers at least.

    Examples
    --------
    >>> is_text_table(b"1 2\n\x01 0.5 2\n"), is_text_table(b"cat 0.5 2"), is_text_table(b"\x00\x01")
    (True, True, False)
    """
    _, _, after_header = sample.partition(b"\n")
    return is_text(sample) or is_text_row(sample) or is_text_row(after_header)


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
