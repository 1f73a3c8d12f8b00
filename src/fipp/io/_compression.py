"""Compressed streams: gzip, bzip2, xz and Zstandard, detected by their first bytes and decompressed piece by piece.

Ours rather than `gzip.open` and the like: the file objects of `bz2` and `lzma` silently drop what follows padding, and
that of `lzma` has no memory limit.
"""

from __future__ import annotations

import gzip
import importlib
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from fipp._optional import require
from fipp.exceptions import FippError

_DICTIONARY_BYTES = 256 << 20
"""The memory that an xz stream may use for its dictionary; streams from ``xz -9`` need 65 MiB."""


class _GzipDecoder:
    """Gives `zlib` the interface of the decompressors of `bz2`, `lzma` and `compression.zstd`."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(wbits=31)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decoder, name)  # eof and unused_data

    @property
    def needs_input(self) -> bool:
        return not self._decoder.unconsumed_tail and not self._decoder.eof

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)


@dataclass(frozen=True)
class Compression:
    """A kind of compression: its name, the ending of its files, and how to detect, decompress and write it."""

    name: str
    suffix: str
    recognises: Callable[[bytes], bool]
    decoder: Callable[[], Any]
    open: Callable[[BinaryIO], Any]


def _module(name: str) -> Any:
    """Return ``bz2`` or ``lzma``, which some builds of Python lack."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise FippError(f"this Python was built without {name}, which the file needs; unpack it first") from error


def _zstd() -> Any:
    """Return the zstd module of Python 3.14, or its backport for earlier versions."""
    try:
        return importlib.import_module("compression.zstd")
    except ImportError:
        return require("backports.zstd", "a Zstandard file (before Python 3.14)", extra="zstd")


def _is_zstd(opening: bytes) -> bool:
    # Parallel compressors put a skippable frame first.
    return opening.startswith(b"\x28\xb5\x2f\xfd") or (
        opening[1:4] == b"\x2a\x4d\x18" and 0x50 <= opening[0] <= 0x5F and len(opening) > 8
    )


def _is_bz2(opening: bytes) -> bool:
    # Three letters and a digit could be a word; in a real file the number π follows, or √π in an empty one.
    return opening.startswith(b"BZh") and opening[4:10] in (b"1AY&SY", b"\x17rE8P\x90")


# fmt: off
COMPRESSIONS = (
    Compression(
        "gzip", ".gz", lambda opening: opening.startswith(b"\x1f\x8b"), _GzipDecoder,
        # Neither name nor time in the header, so that equal vectors give equal bytes.
        lambda file: gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0),
    ),
    Compression(
        "bzip2", ".bz2", _is_bz2,
        lambda: _module("bz2").BZ2Decompressor(), lambda file: _module("bz2").BZ2File(file, "wb"),
    ),
    Compression(
        "xz", ".xz", lambda opening: opening.startswith(b"\xfd7zXZ\x00"),
        lambda: _module("lzma").LZMADecompressor(memlimit=_DICTIONARY_BYTES),
        lambda file: _module("lzma").LZMAFile(file, "wb"),
    ),
    Compression(
        "zstd", ".zst", _is_zstd, lambda: _zstd().ZstdDecompressor(), lambda file: _zstd().ZstdFile(file, "wb"),
    ),
)
# fmt: on


def compression_of(opening: bytes) -> Compression | None:
    """Return how a file that begins with these bytes is compressed; None if it is not."""
    return next((one for one in COMPRESSIONS if one.recognises(opening)), None)


def compression_named(name: str) -> Compression | None:
    """Return the compression that the ending of a file's name asks for; None if there is none."""
    return next((one for one in COMPRESSIONS if name.lower().endswith(one.suffix)), None)


def decompressed(chunks: Iterator[bytes], compression: Compression, name: str, size: int) -> Iterator[bytes]:
    """Yield the decompressed contents of ``chunks``, of one stream or several, at most ``size`` bytes at a time."""
    decoder = compression.decoder()
    data = next(chunks, b"")
    try:
        while True:
            piece = decoder.decompress(data, size)
            data = b""
            if piece:
                yield piece
            if decoder.eof:
                data = _next_stream(decoder.unused_data, chunks)
                if not data:
                    return
                decoder = compression.decoder()
            elif decoder.needs_input:
                data = next(chunks, b"")
                if not data and not piece:
                    raise FippError(
                        f"{name} is cut short: the {compression.name} stream ends too early; fetch it again"
                    )
    except (FippError, MemoryError):
        raise
    except Exception as error:  # each module has an error of its own
        raise FippError(f"{name} is a damaged {compression.name} file ({error}); fetch it again") from error


def _next_stream(rest: bytes, chunks: Iterator[bytes]) -> bytes:
    """Return the beginning of the next stream in the file; zeros between streams are padding."""
    rest = rest.lstrip(b"\0")
    while not rest:
        chunk = next(chunks, b"")
        if not chunk:
            return b""
        rest = chunk.lstrip(b"\0")
    return rest


@contextmanager
def compressing(file: BinaryIO, compression: Compression | None) -> Iterator[BinaryIO]:
    """Open a stream that writes compressed bytes to ``file``, or ``file`` itself without compression."""
    if compression is None:
        yield file
        return
    with compression.open(file) as compressed:
        yield cast(BinaryIO, compressed)
