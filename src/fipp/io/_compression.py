"""Compressed streams: gzip, bzip2, xz and Zstandard, known by their first bytes, and never unpacked all at once."""

from __future__ import annotations

import gzip
import importlib
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, cast

from fipp.exceptions import FippError

GZIP_MAGIC = b"\x1f\x8b"

_DICTIONARY_BYTES = 256 << 20
"""Memory that an xz stream may ask for its dictionary; ``xz -9`` makes streams that need 65 MiB."""


class Decoder(Protocol):
    """What `bz2`, `lzma` and Python 3.14's `compression.zstd` decode one stream with."""

    eof: bool
    needs_input: bool
    unused_data: bytes

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _GzipDecoder:
    """The same for gzip: `zlib` has another interface."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def needs_input(self) -> bool:
        return not self._decoder.unconsumed_tail and not self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._decoder.decompress(self._decoder.unconsumed_tail + data, max_length)


@dataclass(frozen=True)
class Compression:
    """A way to compress: its name, the ending of its files, and how it is known, undone and done."""

    name: str
    suffix: str
    recognises: Callable[[bytes], bool]
    decoder: Callable[[], Decoder]
    open: Callable[[BinaryIO], Any]


def _module(name: str) -> Any:
    """Return ``bz2`` or ``lzma``, which a Python may have been built without."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise FippError(f"this Python was built without {name}, which the file needs; unpack it first") from error


def _zstd() -> Any:
    """Return Python's zstd module, or the package that offers the same for Pythons before 3.14."""
    try:
        from compression import zstd
    except ImportError:
        try:
            from backports import zstd
        except ImportError as error:
            raise FippError(
                "Zstandard files need Python 3.14, or a package that reads them: pip install 'fipp[zstd]'"
            ) from error
    return zstd


def _is_zstd(opening: bytes) -> bool:
    # Parallel compressors put a skippable frame first.
    return opening.startswith(b"\x28\xb5\x2f\xfd") or (
        opening[1:4] == b"\x2a\x4d\x18" and 0x50 <= opening[0] <= 0x5F and len(opening) > 8
    )


def _is_bz2(opening: bytes) -> bool:
    # Three letters and a digit could be a word: what follows in a real file is the number π, or √π in an empty one.
    return opening.startswith(b"BZh") and opening[4:10] in (b"1AY&SY", b"\x17rE8P\x90")


COMPRESSIONS = (
    Compression(
        "gzip",
        ".gz",
        lambda opening: opening.startswith(GZIP_MAGIC),
        lambda: cast(Decoder, _GzipDecoder()),
        # Neither name nor time in the header: the same vectors give the same bytes.
        lambda file: gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0),
    ),
    Compression(
        "bzip2",
        ".bz2",
        _is_bz2,
        lambda: cast(Decoder, _module("bz2").BZ2Decompressor()),
        lambda file: _module("bz2").BZ2File(file, "wb"),
    ),
    Compression(
        "xz",
        ".xz",
        lambda opening: opening.startswith(b"\xfd7zXZ\x00"),
        lambda: cast(Decoder, _module("lzma").LZMADecompressor(memlimit=_DICTIONARY_BYTES)),
        lambda file: _module("lzma").LZMAFile(file, "wb"),
    ),
    Compression(
        "zstd",
        ".zst",
        _is_zstd,
        lambda: cast(Decoder, _zstd().ZstdDecompressor()),
        lambda file: _zstd().ZstdFile(file, "wb"),
    ),
)
"""The known compressions."""


def compression_of(opening: bytes) -> Compression | None:
    """Tell how a file that begins so is compressed; None if it is not.

    Examples
    --------
    >>> compression_of(gzip.compress(b"cat 1 2")).name
    'gzip'
    >>> compression_of(b"BZh 1 2 3")
    """
    return next((one for one in COMPRESSIONS if one.recognises(opening)), None)


def compression_named(name: str) -> Compression | None:
    """Tell which compression the name of a file asks for; None if it asks for none.

    Examples
    --------
    >>> compression_named("wiki.hr.vec.XZ").name
    'xz'
    """
    return next((one for one in COMPRESSIONS if name.lower().endswith(one.suffix)), None)


def decompressed(chunks: Iterator[bytes], compression: Compression, name: str, size: int) -> Iterator[bytes]:
    """Yield the contents of a compressed file, at most ``size`` bytes at a time, whatever its bytes would grow to.

    Several streams in one file, as parallel compressors write them, are read one after the other.

    Parameters
    ----------
    chunks : iterator of bytes
        The compressed bytes.
    compression : Compression
        How they are compressed.
    name : str
        The file's name, for errors.
    size : int
        The most to give at once.
    """
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
    except Exception as error:  # each of the modules has an error of its own
        raise FippError(f"{name} is a damaged {compression.name} file ({error}); fetch it again") from error


def _next_stream(rest: bytes, chunks: Iterator[bytes]) -> bytes:
    """Return the beginning of the next stream in the file: zeros between streams are padding."""
    rest = rest.lstrip(b"\0")
    while not rest:
        chunk = next(chunks, b"")
        if not chunk:
            return b""
        rest = chunk.lstrip(b"\0")
    return rest


@contextmanager
def compressing(file: BinaryIO, compression: Compression | None) -> Iterator[BinaryIO]:
    """Return a file whose bytes arrive in ``file`` compressed; ``file`` itself if there is no compression."""
    if compression is None:
        yield file
        return
    with compression.open(file) as compressed:
        yield cast(BinaryIO, compressed)
