"""NumPy's archives ``.npz``: one array of words, one matrix."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._assemble import assemble
from fipp.io._atomic import atomic_path
from fipp.io._named import ArrayKind, check_bytes, check_counts, check_unicode, matrix_name, split_words, words_name
from fipp.io._report import Inspector
from fipp.io._rows import FloatMatrix, RowCollector, as_float32
from fipp.io._stream import DEFAULT_MAX_BYTES
from fipp.io._vectors import Vectors

_ZIP_MAGIC = b"PK\x03\x04"
_MEMBERS = 1000
_BLOCK_BYTES = 8 << 20
_MAX_PADDING = 1 << 30


class _Header(NamedTuple):
    """What an array's header says."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]


def recognises(path: Path, opening: bytes) -> bool:
    """Tell whether a file is a zip archive; no other format of vectors is."""
    return opening.startswith(_ZIP_MAGIC)


def read_npz(
    path: Path, *, limit: int | None = None, strict: bool = False, max_bytes: int = DEFAULT_MAX_BYTES
) -> Vectors:
    """Read an archive with an array ``words`` (text, bytes, or one text with a word a line) and a 2-D ``matrix``.

    Other names are understood when there is no doubt. Nothing is unpickled, nothing is unpacked to disk, and sizes are
    compared with ``max_bytes`` before anything is decompressed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "animals.npz")
    >>> np.savez(path, words=["cat", "dog"], vectors=[[1.0, 0.0], [0.5, 2.0]])
    >>> read_npz(path).words
    ('cat', 'dog')
    """
    inspector = Inspector(path, strict)
    with _reading(path), zipfile.ZipFile(path) as archive:
        members = _members(archive, path)
        total = sum(info.file_size for info in members.values())
        if total > max_bytes:
            raise FippError(f"{path} would unpack to {total:,} bytes, more than {max_bytes:,}; max_bytes is the limit")
        headers = {name: _header(archive, info, path) for name, info in members.items()}
        kinds = {name: ArrayKind(header.shape, header.dtype.kind) for name, header in headers.items()}
        chosen = matrix_name(kinds, path)
        named = words_name(kinds)
        if named is None:
            raise FippError(f"{path} has no words: save them beside the matrix as an array named 'words'")
        rows, columns = headers[chosen].shape
        if rows * columns == 0 or headers[named].dtype.itemsize == 0:
            raise FippError(f"{path} is empty: its matrix is {rows:,} x {columns:,}, its words {headers[named].dtype}")
        check_bytes(rows, columns, max_bytes, path)
        if headers[named].dtype != np.uint8:
            check_counts(headers[named].shape[0], rows, path)
        words = _read_words(archive, members[named], headers[named], inspector)
        check_counts(len(words), rows, path)
        count = len(words) if limit is None else min(limit, len(words))
        matrix = _read_matrix(archive, members[chosen], headers[chosen], count, path)
    return assemble(words[:count], matrix, inspector)


def write_npz(vectors: Vectors, path: Path) -> None:
    """Write an archive that ``numpy.load`` reads: ``words`` as text, ``matrix`` as float32.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "animals.npz")
    >>> write_npz(Vectors(["cat", "dog"], [[1.0], [2.0]]), path)
    >>> with np.load(path) as arrays:
    ...     print(arrays["words"], arrays["matrix"].dtype)
    ['cat' 'dog'] float32
    """
    check_unicode(vectors.words, path)
    for word in vectors.words:
        if word.endswith("\0"):
            raise FippError(f"the word {word!r} cannot be written to {path}: NumPy drops the \\0 at its end")
    longest = max(map(len, vectors.words))
    if 4 * longest * len(vectors) > _MAX_PADDING:
        raise FippError(
            f"{path} would be too large, since NumPy gives every word the room of the longest, which has {longest:,} "
            "characters; use .safetensors"
        )
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, array in [("words", np.array(vectors.words)), ("matrix", vectors.matrix)]:
            # A fixed date: the same vectors give the same bytes.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except FippError:
        raise
    # What the zip module and numpy's header parser raise depends on the damage.
    except Exception as error:
        raise FippError(f"{path} is not a whole NumPy archive: {error}") from error


def _members(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    infos = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    if not infos:
        what = " but a file of pickled objects, which fipp never loads" if _has_pickle(archive) else ""
        raise FippError(f"{path} is a zip archive without NumPy arrays{what}")
    if len(infos) > _MEMBERS:
        raise FippError(f"{path} has {len(infos):,} arrays; vectors need two")
    return {info.filename.removesuffix(".npy"): info for info in infos}


def _has_pickle(archive: zipfile.ZipFile) -> bool:
    return any(name.endswith((".pkl", ".pickle")) for name in archive.namelist())


def _header(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> _Header:
    with archive.open(info) as member:
        return _parse_header(member, info, path)


def _parse_header(member: IO[bytes], info: zipfile.ZipInfo, path: Path) -> _Header:
    major, _ = np.lib.format.read_magic(member)
    read = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
    header = _Header(*read(member))
    if header.dtype.hasobject:
        raise FippError(
            f"the array {info.filename!r} of {path} holds pickled Python objects, which fipp never loads; save words "
            "as np.array(words, dtype=str)"
        )
    present = info.file_size - member.tell()
    promised = math.prod(header.shape) * header.dtype.itemsize
    if promised > present or min(header.shape, default=0) < 0:
        raise FippError(
            f"{path} is cut short: {info.filename!r} promises {promised:,} bytes, but only {present:,} follow"
        )
    return header


def _read_words(archive: zipfile.ZipFile, info: zipfile.ZipInfo, header: _Header, inspector: Inspector) -> list[str]:
    array = _read_whole(archive, info, header, inspector.path)
    if header.dtype == np.uint8:
        return split_words(array.tobytes(), inspector)
    if header.dtype.kind == "U":
        return [str(word) for word in array.tolist()]
    if header.dtype.kind == "S":
        return [inspector.decode(word, f"word {row}") for row, word in enumerate(array.tolist())]
    if header.dtype.kind in "iu":
        return [str(number) for number in array.tolist()]
    raise FippError(f"the words of {inspector.path} must be text, not {header.dtype}")


def _read_matrix(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, header: _Header, count: int, path: Path
) -> FloatMatrix:
    columns = header.shape[1]
    if header.by_columns:
        return as_float32(_read_whole(archive, info, header, path))[:count]
    collected = RowCollector(columns)
    size = columns * header.dtype.itemsize
    with archive.open(info) as member:
        _parse_header(member, info, path)
        while len(collected) < count:
            step = min(count - len(collected), max(1, _BLOCK_BYTES // size))
            block = _read_exactly(member, step * size, path)
            collected.append(as_float32(np.frombuffer(block, dtype=header.dtype).reshape(step, columns)))
    return collected.finish()


def _read_whole(archive: zipfile.ZipFile, info: zipfile.ZipInfo, header: _Header, path: Path) -> npt.NDArray[Any]:
    with archive.open(info) as member:
        _parse_header(member, info, path)
        content = _read_exactly(member, math.prod(header.shape) * header.dtype.itemsize, path)
    return np.frombuffer(content, dtype=header.dtype).reshape(header.shape, order="F" if header.by_columns else "C")


def _read_exactly(member: IO[bytes], count: int, path: Path) -> bytearray:
    content = bytearray()
    # In pieces: the zip module would copy all that it has at every step.
    while len(content) < count and (piece := member.read(min(1 << 20, count - len(content)))):
        content += piece
    if len(content) < count:
        raise FippError(f"{path} is cut short: {count - len(content):,} bytes are missing")
    return content
