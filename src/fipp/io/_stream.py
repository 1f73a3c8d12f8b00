"""Bytes and lines from a path, a file object or standard input, decompressed, within limits no file can exceed."""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from fipp._progress import Progress, Steps
from fipp.exceptions import FippError
from fipp.io._atomic import atomic_path
from fipp.io._budget import Budget, bytes_allowed
from fipp.io._compression import COMPRESSIONS, Compression, compressing, compression_named, compression_of, decompressed

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAX_LINE_BYTES = 1 << 20
"""The longest line: much longer than any vector, much shorter than what would fill memory once it is split."""

OPENING_BYTES = 1 << 16
"""How much of a file is examined to detect its format."""

_CHUNK_BYTES = 1 << 20
_LARGEST_PIECE = 16 << 20


class Source:
    """A path, a binary file object or standard input (``"-"``), to be read once, from the start.

    Compressed bytes are detected and decompressed as they are read. They, and those of a stream, may be endless: more
    than ``max_bytes`` in all raise a FippError. A file object is left open. If ``is_path`` is false, ``path`` is only a
    name for messages. ``progress`` is told how many bytes of a file have been read.
    """

    def __init__(
        self,
        place: str | os.PathLike[str] | BinaryIO,
        max_bytes: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._max_bytes = bytes_allowed(max_bytes)
        self._progress, self._steps = progress, Steps(None, 0)
        self._file: BinaryIO | None = None
        self._owned = False
        self._raw: bytes | None = None
        self._held: list[bytes] = []
        self._rest: Iterator[bytes] | None = None
        self.is_path = False
        if isinstance(place, str) and place == "-":
            self.path, self._file = Path("standard input"), sys.stdin.buffer
        elif isinstance(place, str | os.PathLike):
            self.path, self.is_path = Path(place), True
        elif callable(getattr(place, "read", None)):
            name = getattr(place, "name", None)
            self.path = Path(name) if isinstance(name, str) and name else Path("the file object")
            self._file = place
        else:
            raise FippError(f"vectors are read from a path or a binary file object, not from {place!r}")

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, unless it was given open."""
        if self._owned and self._file is not None:
            self._file.close()

    @property
    def compression(self) -> Compression | None:
        """The compression, detected from the content."""
        return compression_of(self._opening())

    def peek(self, count: int = OPENING_BYTES) -> bytes:
        """Return the first decompressed bytes without consuming them; fewer if the source is shorter."""
        while sum(map(len, self._held)) < count and (chunk := next(self._contents(), b"")):
            self._held.append(chunk)
        return b"".join(self._held)[:count]

    def chunks(self) -> Iterator[bytes]:
        """Yield the decompressed bytes, about a megabyte at a time."""
        total = 0
        is_bounded = self.is_path and self.compression is None and self.path.is_file()
        while chunk := self._held.pop(0) if self._held else next(self._contents(), b""):
            total += len(chunk)
            if total > self._max_bytes and not is_bounded:
                raise FippError(
                    f"{self.path} unpacks to more than {self._max_bytes:,} bytes; max_bytes sets the limit, and a file "
                    "that was unpacked before has none"
                )
            yield chunk

    @contextmanager
    def as_file(self) -> Iterator[Path]:
        """Return a path with the decompressed bytes: the source's own if possible, otherwise a temporary file."""
        if self.is_path and (self.path.is_dir() or self.compression is None):
            self.close()
            yield self.path
            return
        with tempfile.TemporaryDirectory(prefix="fipp-", ignore_cleanup_errors=True) as folder:
            path = Path(folder, _without_compression(self.path.name))
            with open(path, "wb") as file:
                for chunk in self.chunks():
                    file.write(chunk)
            yield path

    def _opening(self) -> bytes:
        if self._raw is None:
            self._raw = self._read(16)
            while 0 < len(self._raw) < 16 and (more := self._read(16 - len(self._raw))):
                self._raw += more
        return self._raw

    def _read(self, count: int) -> bytes:
        try:
            if self._file is None:
                check_readable(self.path)
                self._file, self._owned = open(self.path, "rb", buffering=0), True  # noqa: SIM115
                self._steps = Steps(self._progress, os.fstat(self._file.fileno()).st_size)
            data = self._file.read(count)
        except OSError as error:
            raise FippError(f"cannot read {self.path}: {error.strerror or error}") from error
        if isinstance(data, str):
            raise FippError(f"{self.path} is open as text; open it with mode 'rb'")
        self._steps(len(data or b""))
        return data or b""

    def _raw_chunks(self) -> Iterator[bytes]:
        opening = self._opening()
        if opening:
            # Complete the first block, so that no chunk has only 16 bytes.
            yield opening + self._read(max(0, _CHUNK_BYTES - len(opening)))
        while chunk := self._read(_CHUNK_BYTES):
            yield chunk

    def _contents(self) -> Iterator[bytes]:
        if self._rest is None:
            compression = self.compression
            raw = self._raw_chunks()
            self._rest = raw if compression is None else decompressed(raw, compression, str(self.path), _CHUNK_BYTES)
        return self._rest


class FileInPieces(io.FileIO):
    """A file that is read in pieces: Python's modules for archives read a header at once, whatever size it claims."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read as usual, but no more than a piece."""
        wanted = os.fstat(self.fileno()).st_size - self.tell() if size is None or size < 0 else size
        if wanted > _LARGEST_PIECE:
            raise FippError(f"{self.name} is damaged: a part of it claims to have {wanted:,} bytes")
        return super().read(wanted) or b""


@contextmanager
def explained(path: Path, problem: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn errors that a damaged file causes, except FippErrors, into a FippError that says what it is."""
    try:
        yield
    except FippError:
        raise
    except errors as error:
        raise FippError(f"{path} {problem}: {error}") from error


def check_readable(path: Path) -> None:
    """Raise a FippError unless ``path`` is an existing file."""
    if path.is_dir():
        raise FippError(f"{path} is a folder, not a file")
    if not path.exists():
        raise FippError(f"there is no file {path}")


def read_blocks(
    place: str | os.PathLike[str] | BinaryIO | Source, max_bytes: int | None = None
) -> Generator[bytes, None, None]:
    r"""Yield blocks of whole lines, each ending in ``\n``, about a megabyte at a time, without a byte order mark."""
    with place if isinstance(place, Source) else Source(place, max_bytes) as source:
        if source.peek(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise FippError(f"{source.path} is UTF-16 text; save it as UTF-8")
        source.peek(len(BYTE_ORDER_MARK))
        waiting: list[bytes] = []
        length = 0
        first = True
        for chunk in source.chunks():
            if first:
                chunk, first = chunk.removeprefix(BYTE_ORDER_MARK), False
            end = chunk.rfind(b"\n") + 1
            if end:
                head = chunk.find(b"\n")
                _check_line(length + head, source)
                yield b"".join([*waiting, chunk[:end]])
                waiting, length = [], 0
            if end < len(chunk):
                waiting.append(chunk[end:] if end else chunk)
                length += len(chunk) - end
                _check_line(length, source)
        if length:
            yield b"".join([*waiting, b"\n"])


def _check_line(length: int, source: Source) -> None:
    if length > MAX_LINE_BYTES:
        raise FippError(f"{source.path} has a line of more than {MAX_LINE_BYTES:,} bytes; is it a text file?")


def read_batches(
    place: str | os.PathLike[str] | BinaryIO | Source, max_bytes: int | None = None
) -> Generator[list[bytes], None, None]:
    r"""Yield the lines of `read_blocks` as lists, without their ``\n``; the ``\r`` of CRLF is left to the caller.

    Only ``\n`` ends a line, because words of real vocabularies contain the other line breaks of Unicode.
    """
    for block in read_blocks(place, max_bytes):
        lines = block.split(b"\n")
        lines.pop()
        yield lines


@contextmanager
def open_for_writing(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write bytes atomically, compressed if its name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``."""
    with atomic_path(path) as temporary, open_as(temporary, path) as file:
        yield file


@contextmanager
def open_as(temporary: Path, path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file to write the bytes of ``path``, compressed if its name asks for it."""
    with open(temporary, "wb") as file, compressing(file, compression_named(path.name)) as stream:
        yield stream


def suffix_of(path: Path) -> str:
    """Return the suffix that names the format, in lower case: ``.vec`` for ``wiki.hr.VEC.gz``."""
    return Path(_without_compression(path.name.lower())).suffix


def _without_compression(name: str) -> str:
    for compression in COMPRESSIONS:
        if name.lower().endswith(compression.suffix):
            return name[: -len(compression.suffix)] or "x"
    return name or "x"


def encoded(word: str, path: Path, forbidden: str) -> bytes:
    """Encode a word without ``forbidden`` characters; surrogate escapes become the bytes they were read from."""
    if any(character in word for character in forbidden):
        raise FippError(f"the word {word!r} cannot be written to {path}: it contains one of {forbidden!r}")
    try:
        return word.encode("utf-8")
    except UnicodeEncodeError as error:
        with suppress(UnicodeEncodeError):
            raw = word.encode("utf-8", "surrogateescape")
            if raw.decode("utf-8", "surrogateescape") == word:
                return raw
        raise FippError(f"the word {word!r} cannot be written to {path}: it is not valid Unicode") from error


def check_unicode(words: tuple[str, ...], path: Path) -> None:
    """Raise a FippError if a word cannot be written as UTF-8."""
    for word in words:
        try:
            word.encode("utf-8")
        except UnicodeEncodeError as error:
            raise FippError(f"the word {word!r} cannot be written to {path}: it is not valid Unicode") from error


def read_bytes(path: Path, budget: Budget) -> bytes:
    """Return the contents of a file, which is not decompressed."""
    check_readable(path)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        budget.expect(size)
        return file.read(size)


def read_json(path: Path, budget: Budget) -> Any:
    """Return the contents of a JSON file."""
    check_readable(path)
    budget.expect_json(path.stat().st_size)
    content = path.read_bytes()
    with explained(path, "is not JSON", ValueError, RecursionError):
        return json.loads(content)
