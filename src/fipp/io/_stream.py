"""Lines of bytes from and to a file, plain or gzipped, within limits that a hostile file cannot exceed."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from fipp.exceptions import FippError
from fipp.io._atomic import atomic_path

GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
DEFAULT_MAX_BYTES = 64 << 30
"""Decompressed bytes read from one file at most: a gzip bomb of a few megabytes could hold terabytes."""

MAX_LINE_BYTES = 16 << 20
"""The longest line: far above any vector, far below what would fill the memory."""

_CHUNK_BYTES = 1 << 20


def check_readable(path: Path) -> None:
    """Raise a FippError unless ``path`` is a file."""
    if path.is_dir():
        raise FippError(f"{path} is a folder, not a file")
    if not path.exists():
        raise FippError(f"there is no file {path}")


def first_bytes(path: Path, count: int = 16) -> bytes:
    """Give the first bytes of a file, by which its format may be known."""
    check_readable(path)
    try:
        with open(path, "rb") as file:
            return file.read(count)
    except OSError as error:
        raise FippError(f"cannot read {path}: {error.strerror}") from error


def read_batches(path: Path, max_bytes: int = DEFAULT_MAX_BYTES) -> Generator[list[bytes], None, None]:
    r"""Yield the lines of a plain or gzipped file, without their ``\n``, about a megabyte at a time.

    Only ``\n`` ends a line: words of real vocabularies contain the other characters that Unicode calls line
    breaks. A byte order mark at the start is dropped; the ``\r`` of CRLF is left to the caller.
    """
    total = 0
    rest = b""
    for chunk in _chunks(path):
        total += len(chunk)
        if total > max_bytes:
            raise FippError(f"{path} holds more than {max_bytes:,} bytes of text; max_bytes sets the limit")
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        # Only the first and the unfinished line can span chunks.
        if len(rest) > MAX_LINE_BYTES or (lines and len(lines[0]) > MAX_LINE_BYTES):
            raise FippError(f"{path} has a line of more than {MAX_LINE_BYTES:,} bytes; is it a text file?")
        if lines:
            yield lines
    if rest:
        yield [rest]


def _chunks(path: Path) -> Iterator[bytes]:
    opening = first_bytes(path)
    if opening.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FippError(f"{path} is UTF-16 text; save it as UTF-8")
    opener = gzip.open if opening.startswith(GZIP_MAGIC) else open
    try:
        with cast(BinaryIO, opener(path, "rb")) as stream:
            chunk = stream.read(_CHUNK_BYTES)
            if chunk:
                yield chunk.removeprefix(BYTE_ORDER_MARK)
            while chunk := stream.read(_CHUNK_BYTES):
                yield chunk
    except EOFError as error:
        raise FippError(f"{path} is cut short: the gzip stream ends too early; fetch it again") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FippError(f"{path} is a damaged gzip file ({error}); fetch it again") from error


@contextmanager
def open_for_writing(path: Path) -> Iterator[BinaryIO]:
    """Open a file for bytes: written atomically, gzipped when its name ends in ``.gz``."""
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        if path.name.lower().endswith(".gz"):
            # Neither name nor time in the gzip header: the same vectors give the same bytes.
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as compressed:
                yield cast(BinaryIO, compressed)
        else:
            yield file


def suffix_of(path: Path) -> str:
    """Give the suffix that tells the format, in lower case, without ``.gz``.

    Examples
    --------
    >>> suffix_of(Path("wiki.hr.VEC.gz")), suffix_of(Path("pairs.csv"))
    ('.vec', '.csv')
    """
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def encoded(word: str, path: Path, forbidden: str) -> bytes:
    """Encode a word for a file that cannot hold the ``forbidden`` characters; raise a FippError if it has one."""
    if any(character in word for character in forbidden):
        raise FippError(f"the word {word!r} cannot be written to {path}: it contains one of {forbidden!r}")
    try:
        return word.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FippError(f"the word {word!r} cannot be written to {path}: it is not valid Unicode") from error
