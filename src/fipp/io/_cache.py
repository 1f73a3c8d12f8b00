"""Loading vectors: parsed once, then stored in a form that can be mapped into memory the next time.

A cache file holds a JSON header with its checksum, the words as one text, the matrix, which begins at a multiple of the
page size, and the checksums of all its blocks, which are compared whenever it is loaded. It is used only for the very
file it was made from: the same path, device, inode, size and times (including the time of the last change of any kind,
which no program can set back) and the same bytes in samples from the beginning, the end and between. A cache file with
any defect is ignored and written again. The files are in a folder of their own, ``fipp-vectors`` in the cache folder or
in the one that the user names, whose permissions stay as they are. That folder and the files in it are made private; a
folder or file that belongs to another user, or a symbolic link, is never used.

What cannot be guaranteed: a change of a file whose times stay the same is noticed only if it falls into a sample. That
takes a file system that does not record when a file is changed (in memory, such as tmpfs, through a memory map; on some
network drives) or someone who can set the clock or write to the disk itself. Checksums find accidents; against programs
that run as the same user nothing protects a cache, nor the file itself. On Windows, the permissions of the folder are
those of the user's profile.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import sys
import time
import zlib
from collections.abc import Generator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from fipp._progress import Progress
from fipp._version import __version__
from fipp.exceptions import FippError
from fipp.io._atomic import atomic_path, flush_to_disk
from fipp.io._report import Finding, Kind, LoadReport, counted
from fipp.io._rows import float_type
from fipp.io._stream import Source
from fipp.io._table import Options, Table
from fipp.io.formats import Format, format_to_read
from fipp.linalg import ordered_map, parse_memory, row_blocks

SMALLEST_BYTES = 1 << 20
"""Smaller matrices are parsed too quickly for a user to notice."""

DEFAULT_CACHE_SIZE = 10 << 30
"""The most that all cache files take together; the environment variable ``FIPP_CACHE_SIZE`` overrides it."""

_OWN_FOLDER = "fipp-vectors"
_MAGIC = b"FIPPVEC\x02"
_SUFFIX = ".fippvec"
_PAGE = 4096
_LARGEST_HEADER = 1 << 20
_SEPARATORS = "\n\0\x1f\x1e\t "
_BLOCK_BYTES = 1 << 23
_SAMPLE_BYTES, _SAMPLES = 4096, 32
_END_BYTES = 1 << 16
_SETTLED_SECONDS = 2.0
"""A file changed more recently could change again within one tick of its file system's clock."""

_STALE_SECONDS = 3600.0


def cache_folder() -> Path | None:
    """Return the folder for caches: ``FIPP_CACHE``, or the platform's usual place; None if caching is ``off``."""
    chosen = os.environ.get("FIPP_CACHE")
    if chosen is not None:
        return None if chosen.strip().lower() in {"", "0", "off", "no", "false"} else Path(chosen).expanduser()
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
        return base / "fipp" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "fipp"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "fipp"


def load_table(
    place: str | os.PathLike[str] | BinaryIO,
    options: Options,
    use_cache: bool | str | os.PathLike[str],
    progress: Progress | None = None,
) -> Table:
    """Read a file or folder; ``use_cache`` is ``cache`` of `Vectors.load`."""
    with Source(place, options.max_bytes, progress) as source:
        chosen = format_to_read(source)
        cache = _cache_for(source, chosen, options, use_cache)
        if cache is not None:
            # A cache of the whole file has the wanted words; a cache of its beginning may not.
            table = cache.load(options.limit if options.words is None else None, options.strict)
            if table is not None and options.words is None:
                return table
            if table is not None and _is_clean(table):
                return _select(table, options)
            cache.prepare()
        table = _read_source(source, chosen, options)
    # A cache holds rows, but not what composes vectors for other words.
    if cache is not None and options.words is None and table.composer is None:
        cache.store(table, options.limit)
    return table


def _cache_for(
    source: Source, chosen: Format, options: Options, use_cache: bool | str | os.PathLike[str]
) -> Cache | None:
    """Return the cache of a file that is slow to read: text, or anything compressed."""
    if not use_cache or not source.is_path or not source.path.is_file():
        return None
    if not chosen.streams and source.compression is None:
        return None
    folder = cache_folder() if use_cache is True else Path(use_cache)
    if folder is None or source.path.stat().st_size < SMALLEST_BYTES // 8:
        return None
    with suppress(OSError):
        return Cache(source.path, folder, {"dtype": options.dtype.name, "encoding_errors": options.encoding_errors})
    return None


def _read_source(source: Source, chosen: Format, options: Options) -> Table:
    """Read, and do what the reader cannot: select words, convert to the type asked for."""
    selects = options.words is None or chosen.selects
    asked = options if selects else replace(options, limit=None, words=None)
    if chosen.streams:
        table = chosen.read(source, asked)
    else:
        with source.as_file() as path:
            table = chosen.read(path, asked)
    if not selects:
        table = _select(table, options)
    return table if table.matrix.dtype == options.dtype else table.astype(options.dtype)


def _select(table: Table, options: Options) -> Table:
    """Keep the wanted words, in the order of the file."""
    wanted = options.words or ()
    rows = sorted(table.index[word] for word in wanted if word in table.index)
    chosen = table.take(rows[: options.limit])
    if table.report is None:
        return chosen
    contents = f"{counted(len(chosen), 'word')} x {chosen.dim} of {len(wanted):,} asked for"
    return replace(chosen, report=replace(table.report, contents=contents))


@dataclass(frozen=True)
class Fingerprint:
    """What distinguishes one state of a file from another."""

    path: str
    device: int
    inode: int
    size: int
    modified: int
    changed: int
    sample: str

    @classmethod
    def of(cls, path: Path) -> Fingerprint:
        """Return the fingerprint of a file; at most a quarter of a megabyte is read."""
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            sample = _sample(file, status.st_size)
        return cls(
            os.path.realpath(path),
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            sample,
        )

    @property
    def is_settled(self) -> bool:
        """Whether the file is old enough for its times to reveal a later change."""
        return time.time() - max(self.modified, self.changed) / 1e9 >= _SETTLED_SECONDS


def _sample(file: BinaryIO, length: int) -> str:
    """Hash the first and last bytes of a file, and samples at equal distances between."""
    digest = hashlib.blake2b(digest_size=16)
    places = [(0, _END_BYTES), (max(0, length - _END_BYTES), _END_BYTES)]
    places += [(length * i // (_SAMPLES + 1), _SAMPLE_BYTES) for i in range(1, _SAMPLES + 1)]
    for place, count in places:
        file.seek(place)
        digest.update(file.read(count))
    return digest.hexdigest()


class Cache:
    """The cached vectors of one file; ``options`` are those that change the vectors read, except ``limit``."""

    def __init__(self, path: Path, folder: Path, options: dict[str, Any]) -> None:
        self._path = path
        self._folder = folder / _OWN_FOLDER
        self._options = {"fipp": __version__, **options}
        self._fingerprint = Fingerprint.of(path)

    def load(self, limit: int | None, strict: bool = False) -> Table | None:
        """Return the table if it is cached for this limit or for the whole file; None otherwise."""
        table = self._load(None, limit)
        if table is not None and limit is not None and limit < len(table):
            table = _first(table, limit) if _is_clean(table) else None
        if table is None and limit is not None:
            table = self._load(limit, limit)
        return None if table is None or (strict and not _is_clean(table)) else table

    def prepare(self) -> None:
        """Look at the file once more, just before it is read.

        A program that has mapped the file can change a page again and again, and only the first change after the page
        was written to the disk sets the time. So write all pages to the disk now.
        """
        with suppress(OSError):
            flush_to_disk(self._path, os.O_RDONLY)
            self._fingerprint = Fingerprint.of(self._path)

    def store(self, table: Table, limit: int | None) -> None:
        """Store vectors that were just read; do nothing, silently, if that is not possible."""
        if table.matrix.nbytes < SMALLEST_BYTES:
            return
        with suppress(OSError, ValueError):  # a full disk, a folder without permission, a FippError
            if self._fingerprint.is_settled and Fingerprint.of(self._path) == self._fingerprint:
                for folder in (self._folder.parent, self._folder):
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                if not _make_private(self._folder):
                    return
                largest = parse_memory(os.environ.get("FIPP_CACHE_SIZE") or DEFAULT_CACHE_SIZE)
                if table.matrix.nbytes < largest and table.matrix.nbytes < _free_bytes(self._folder) // 2:
                    place = self._place(limit)
                    place.unlink(missing_ok=True)  # it may be a link, or have other permissions
                    with atomic_path(place) as temporary, open(temporary, "wb") as file:
                        os.chmod(temporary, 0o600)
                        _write(file, table, self._key(limit))
                    _prune(self._folder, largest, place)

    def _key(self, limit: int | None) -> dict[str, Any]:
        return {**asdict(self._fingerprint), "limit": limit, **self._options}

    def _place(self, limit: int | None) -> Path:
        identity = json.dumps([self._fingerprint.path, limit, self._options], sort_keys=True, default=str)
        return self._folder / (
            hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest() + _SUFFIX
        )

    def _load(self, limit: int | None, wanted: int | None) -> Table | None:
        """Return the table that is cached for this limit, of which ``wanted`` rows will be used."""
        place = self._place(limit)
        # A damaged file can raise nearly anything on its way through JSON, numpy and UTF-8.
        with suppress(OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            if not _make_private(self._folder):
                return None
            table = _read(place, self._key(limit), str(self._path), wanted)
            if table is not None:
                os.utime(place)  # the least recently used file is removed first
            return table
        return None


def _make_private(place: Path | int) -> bool:
    """Keep others from a folder, or an open file, of ours; return False if it is not ours, or is a link."""
    status = os.lstat(place) if isinstance(place, Path) else os.fstat(place)
    is_folder = stat.S_ISDIR(status.st_mode)
    if not is_folder and not stat.S_ISREG(status.st_mode):
        return False
    if not hasattr(os, "geteuid"):
        return True
    if status.st_uid != os.geteuid() or (not is_folder and status.st_mode & 0o022):
        return False  # what others may write to cannot be believed afterwards
    if status.st_mode & 0o077:
        os.chmod(place, 0o700 if is_folder else 0o600)
    return True


def _checksums(matrix: npt.NDArray[Any], count: int | None = None) -> Generator[int, None, None]:
    """Yield the checksums of the first blocks, or of all blocks, of a matrix's bytes, computed on all threads."""
    content = matrix.reshape(-1).view(np.uint8)
    blocks = islice(row_blocks(len(content), _BLOCK_BYTES), count)
    return ordered_map(lambda block: zlib.crc32(content[block].data), blocks)


def _write(file: BinaryIO, table: Table, key: dict[str, Any]) -> None:
    words = table.words
    text = "".join(words)
    separator = next(mark for mark in (*_SEPARATORS, None) if mark is None or mark not in text)
    if separator is None:
        raise FippError("no character is left to separate the words")
    blob = separator.join(words).encode("utf-8", "surrogatepass")
    matrix = np.ascontiguousarray(table.matrix)
    header = {
        "key": key,
        "rows": len(words),
        "dimensions": table.dim,
        "dtype": matrix.dtype.name,
        "byteorder": sys.byteorder,
        "separator": separator,
        "words_bytes": len(blob),
        "words_checksum": zlib.crc32(blob),
        "report": None if table.report is None else asdict(table.report),
    }
    encoded = json.dumps(header).encode()
    file.write(_MAGIC + len(encoded).to_bytes(8, "little") + zlib.crc32(encoded).to_bytes(4, "little") + encoded)
    file.write(blob)
    file.write(b"\0" * (-file.tell() % _PAGE))
    file.write(matrix.data)
    file.write(np.fromiter(_checksums(matrix), dtype="<u4").tobytes())


def _read(place: Path, key: dict[str, Any], path: str, wanted: int | None) -> Table | None:
    """Map a cache file if it is ours, has this key, and is whole as far as it is wanted; None otherwise."""
    # Not through a link, and without waiting for the other end of a pipe.
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(place, os.O_RDONLY | flags), "rb") as file:
        if not _make_private(file.fileno()):
            return None
        size = os.fstat(file.fileno()).st_size
        opening = file.read(len(_MAGIC) + 12)
        length = int.from_bytes(opening[8:16], "little")
        if opening[:8] != _MAGIC or length > _LARGEST_HEADER:
            return None
        encoded = file.read(length)
        if zlib.crc32(encoded) != int.from_bytes(opening[16:20], "little"):
            return None
        header = json.loads(encoded)
        if header["key"] != key or header["byteorder"] != sys.byteorder:
            return None
        words_start = file.tell()
        start = words_start + header["words_bytes"]
        start += -start % _PAGE
        dtype = float_type(header["dtype"])
        shape = (header["rows"], header["dimensions"])
        stop = start + shape[0] * shape[1] * dtype.itemsize
        blocks = -(-(stop - start) // _BLOCK_BYTES)
        if size != stop + 4 * blocks:
            return None
        blob = file.read(header["words_bytes"])
        if zlib.crc32(blob) != header["words_checksum"]:
            return None
        file.seek(stop)
        expected = np.frombuffer(file.read(4 * blocks), dtype="<u4").tolist()
        matrix = np.memmap(file, dtype=dtype, mode="r", offset=start, shape=shape)
        if wanted is not None:
            expected = expected[: -(-wanted * shape[1] * dtype.itemsize // _BLOCK_BYTES)]
        with closing(_checksums(matrix, len(expected))) as found:
            if any(one != other for one, other in zip(found, expected, strict=True)):
                return None
    words = tuple(blob.decode("utf-8", "surrogatepass").split(header["separator"]))
    if len(words) != shape[0]:
        return None
    return Table(words, matrix, _report(header["report"], path))


def _report(stored: dict[str, Any] | None, path: str) -> LoadReport | None:
    if stored is None:
        return None
    findings = {
        verb: tuple(Finding(Kind(*item["kind"]), item["count"], item["example"]) for item in stored[verb])
        for verb in ("skipped", "repaired", "doubtful")
    }
    return LoadReport(path, stored["contents"], notes=tuple(stored["notes"]), **findings)


def _is_clean(table: Table) -> bool:
    return table.report is None or table.report.summary() is None


def _first(table: Table, limit: int) -> Table:
    head = table.take(slice(limit))
    if head.report is None:
        return head
    return replace(head, report=LoadReport(head.report.path, f"{counted(len(head), 'word')} x {head.dim}"))


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _prune(folder: Path, largest: int, newest: Path) -> None:
    """Remove the least recently used files until all fit, and files that killed writers left behind."""
    entries = []
    for place in folder.iterdir():
        with suppress(OSError):
            status = place.stat()
            if place.suffix == _SUFFIX:
                entries.append((place != newest, status.st_mtime, status.st_size, place))
            elif (
                place.name.endswith(".part")
                and _SUFFIX in place.name
                and time.time() - status.st_mtime > _STALE_SECONDS
            ):
                place.unlink()
    total = sum(size for _, _, size, _ in entries)
    for removable, _, size, place in sorted(entries, key=lambda entry: entry[1]):
        if total <= largest:
            return
        if removable:
            with suppress(OSError):
                place.unlink()
                total -= size
