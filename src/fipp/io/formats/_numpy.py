"""NumPy's files: a matrix ``x.npy`` with its words in ``x.txt`` beside it, and archives ``x.npz`` that hold both.

The functions at the end find the words and the matrix among named arrays; safetensors files need them too.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._atomic import atomic_path
from fipp.io._budget import Budget
from fipp.io._pair import atomic_pair, open_pair
from fipp.io._report import Inspector
from fipp.io._rows import BLOCK_NUMBERS, FloatMatrix, RowCollector, as_floats, convert
from fipp.io._stream import BYTE_ORDER_MARK, FileInPieces, check_unicode, encoded, explained, read_batches
from fipp.io._table import Options, Table, assemble

MATRIX_NAMES = ("matrix", "vectors", "embeddings", "embedding", "embedding.weight", "weight")
WORD_NAMES = ("words", "vocab", "vocabulary", "tokens", "keys", "ids", "labels")

_NPY_MAGIC = b"\x93NUMPY"
ZIP_MARK = b"PK\x03\x04"
_MAX_HEADER = 1 << 16
_MAX_MEMBERS = 1000
_MAX_PADDING = 1 << 30
_BLOCK_BYTES = 8 << 20


class _Header(NamedTuple):
    """The header of an array."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]

    @classmethod
    def read(cls, file: IO[bytes]) -> _Header:
        major, _ = np.lib.format.read_magic(file)
        size = file.read(2 if major == 1 else 4)
        length = int.from_bytes(size, "little")
        if length > _MAX_HEADER:  # numpy would read all of it first
            raise ValueError(f"its header has {length:,} bytes")
        read = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
        return cls(*read(io.BytesIO(size + file.read(length))))

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def order(self) -> Any:
        return "F" if self.by_columns else "C"


def recognises_npy(path: Path, opening: bytes) -> bool:
    """Return whether a file is a NumPy matrix, or the words of the matrix beside it."""
    return opening.startswith(_NPY_MAGIC) or (path.suffix.lower() == ".txt" and path.with_suffix(".npy").is_file())


def read_npy(path: Path, options: Options) -> Table:
    """Map the matrix of a pair ``x.npy`` and ``x.txt`` into memory; ``path`` is either of them.

    A matrix of the requested type without defects stays on disk; any other is copied.
    """
    matrix_path, words_path = _pair(path)
    inspector = Inspector(matrix_path, options.strict, options.encoding_errors)
    if words_path.is_dir():
        raise FippError(f"{matrix_path} has no words: {words_path} is a folder, not a file")
    budget = options.budget(matrix_path)
    try:
        with open_pair(matrix_path, words_path) as (matrix_file, words_file):
            mapped = map_open_matrix(matrix_file, matrix_path)
            count = len(mapped) if options.limit is None else min(options.limit, len(mapped))
            if mapped.dtype != options.dtype:
                budget.take_numbers(count * mapped.shape[1] * options.dtype.itemsize)
            words, total = read_words(words_path, count, inspector, budget, words_file)
    except FileNotFoundError as error:
        raise FippError(f"{matrix_path} has no words: {words_path}, with one word per line, is missing") from error
    if total != len(mapped):
        raise FippError(f"{matrix_path} has {len(mapped):,} rows but {words_path} has {total:,} words")
    numbers = convert(mapped[:count], options.dtype, options.scratch)
    return assemble(words, numbers, inspector, scratch=options.scratch)


def write_npy(table: Table, path: Path) -> None:
    """Write the pair ``x.npy`` and ``x.txt``."""
    matrix_path, words_path = _pair(path)
    if words_path.exists() and not matrix_path.exists():
        # Most likely text vectors: saving glove.npy must not destroy glove.txt.
        raise FippError(f"{words_path} exists and would be overwritten by the words of {matrix_path}; use another name")
    lines = [encoded(word, words_path, "\n\r") for word in table.words]
    # The reader drops a byte order mark at the start of the file; a first word that begins with one needs another.
    mark = BYTE_ORDER_MARK if lines[0].startswith(BYTE_ORDER_MARK) else b""
    with atomic_pair(matrix_path, words_path) as (new_matrix, new_words):
        with open(new_matrix, "wb") as file:
            _write_matrix(file, table)
        new_words.write_bytes(mark + b"\n".join(lines) + b"\n")


def map_matrix(path: Path) -> npt.NDArray[Any]:
    """Map a .npy file into memory after checking its header."""
    with open(path, "rb") as file:
        return map_open_matrix(file, path)


def map_open_matrix(file: BinaryIO, path: Path) -> npt.NDArray[Any]:
    """Map an open .npy file into memory after checking its header; numpy's own errors speak of pickles and mmap."""
    # The header is parsed as Python text, and what that raises depends on the damage.
    with explained(path, "is not a NumPy matrix", Exception):
        header = _Header.read(file)
        start = file.tell()
        present = os.fstat(file.fileno()).st_size - start
    shape, dtype = header.shape, header.dtype
    if dtype.hasobject:
        raise FippError(f"{path} holds pickled Python objects, which fipp never loads; save it as float32")
    if dtype.kind not in "fiu":
        raise FippError(f"{path} must hold real numbers, not {dtype}")
    if len(shape) != 2:
        raise FippError(f"{path} must hold a 2-D matrix with a row for each word, not {len(shape)}-D")
    if header.nbytes > present or min(shape) < 0:
        raise FippError(
            f"{path} is cut short: its header promises {shape[0]:,} x {shape[1]:,} {dtype} numbers "
            f"({header.nbytes:,} bytes), but only {present:,} bytes follow"
        )
    if header.nbytes == 0:
        raise FippError(f"{path} is empty: its matrix has the shape {shape}")
    # Not numpy.load, which would parse the header again and is able to unpickle.
    return np.memmap(file, dtype=dtype, mode="r", offset=start, shape=(shape[0], shape[1]), order=header.order)


def read_npz(path: Path, options: Options) -> Table:
    """Read an archive with an array ``words`` (text, bytes, or one text with a word per line) and a 2-D ``matrix``.

    Sizes are compared with ``max_bytes`` before anything is decompressed.
    """
    inspector = Inspector(path, options.strict)
    # What the zip module and numpy's header parser raise depends on the damage.
    with (
        explained(path, "is not a whole NumPy archive", Exception),
        FileInPieces(path) as file,
        zipfile.ZipFile(file) as archive,
    ):
        members = _members(archive, path)
        total = sum(info.file_size for info in members.values())
        if total > options.max_bytes:
            raise FippError(
                f"{path} would unpack to {total:,} bytes, more than {options.max_bytes:,}; max_bytes is the limit"
            )
        arrays = {name: _Member(archive, info, path) for name, info in members.items()}
        kinds = {name: ArrayKind(array.header.shape, array.header.dtype.kind) for name, array in arrays.items()}
        matrix = arrays[matrix_name(kinds, path)]
        named = words_name(kinds)
        if named is None:
            raise FippError(f"{path} has no words: save them beside the matrix as an array named 'words'")
        rows, columns = matrix.header.shape
        dtype = arrays[named].header.dtype
        if rows * columns == 0 or dtype.itemsize == 0:
            raise FippError(f"{path} is empty: its matrix is {rows:,} x {columns:,}, its words {dtype}")
        if dtype != np.uint8:
            check_counts(arrays[named].header.shape[0], rows, path)
        count = rows if options.limit is None else min(options.limit, rows)
        budget = options.budget(path)
        budget.take(matrix.header.nbytes * matrix.header.by_columns)
        budget.take_numbers(4 * count * columns)
        # The array of words and the words made from it are there at the same time.
        budget.expect_rows(rows, 0)
        budget.expect(2 * arrays[named].header.nbytes)
        words = _as_words(arrays[named].read(), rows, inspector)
        budget.take_words(words)
        check_counts(len(words), rows, path)
        rows_read = matrix.read_rows(count, options.scratch)
    return assemble(words[:count], rows_read, inspector, scratch=options.scratch)


def write_npz(table: Table, path: Path) -> None:
    """Write an archive that ``numpy.load`` reads: ``words`` as text, ``matrix`` as float32."""
    check_unicode(table.words, path)
    for word in table.words:
        if word.endswith("\0"):
            raise FippError(f"the word {word!r} cannot be written to {path}: NumPy drops the \\0 at its end")
    longest = max(map(len, table.words))
    if 4 * longest * len(table) > _MAX_PADDING:
        raise FippError(
            f"{path} would be too large, since NumPy stores every word in the {longest:,} characters of the longest; "
            "use .safetensors"
        )
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        # A ZipInfo has a fixed date, so that equal vectors give equal bytes.
        with archive.open(zipfile.ZipInfo("words.npy"), "w", force_zip64=True) as member:
            np.lib.format.write_array(member, np.array(table.words), allow_pickle=False)
        with archive.open(zipfile.ZipInfo("matrix.npy"), "w", force_zip64=True) as member:
            _write_matrix(member, table)


def _write_matrix(file: IO[bytes], table: Table) -> None:
    """Write what `numpy.save` would write for the matrix, block by block."""
    header = {"descr": table.dtype.str, "fortran_order": False, "shape": (len(table), table.dim)}
    np.lib.format.write_array_header_1_0(file, header)
    for block in table.blocks(BLOCK_NUMBERS):
        file.write(np.ascontiguousarray(table.rows(block)).data)


class _Member:
    """An array in an archive, whose header has been checked."""

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> None:
        self._archive, self._info, self._path = archive, info, path
        with self._open():
            pass

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        """Open the member at the first byte after its header."""
        name, path = self._info.filename, self._path
        with self._archive.open(self._info) as file:
            self.header = _Header.read(file)
            if self.header.dtype.hasobject:
                raise FippError(
                    f"the array {name!r} of {path} holds pickled Python objects, which fipp never loads; save words "
                    "as np.array(words, dtype=str)"
                )
            present = self._info.file_size - file.tell()
            if self.header.nbytes > present or min(self.header.shape, default=0) < 0:
                raise FippError(
                    f"{path} is cut short: {name!r} promises {self.header.nbytes:,} bytes, but only {present:,} follow"
                )
            yield file

    def read(self) -> npt.NDArray[Any]:
        """Return the whole array."""
        with self._open() as file:
            content = _read_exactly(file, self.header.nbytes, self._path)
        return np.frombuffer(content, dtype=self.header.dtype).reshape(self.header.shape, order=self.header.order)

    def read_rows(self, count: int, scratch: Path | None) -> FloatMatrix:
        """Return the first rows of a matrix as float32, in a file in the folder ``scratch`` if there is one."""
        if self.header.by_columns:
            return as_floats(self.read())[:count]
        columns, dtype = self.header.shape[1], self.header.dtype
        collected = RowCollector(columns, scratch=scratch)
        size = columns * dtype.itemsize
        with self._open() as file:
            while len(collected) < count:
                step = min(count - len(collected), max(1, _BLOCK_BYTES // size))
                block = _read_exactly(file, step * size, self._path)
                collected.append(as_floats(np.frombuffer(block, dtype=dtype).reshape(step, columns)))
        return collected.finish()


def _members(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    infos = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    if not infos:
        has_pickle = any(name.endswith((".pkl", ".pickle")) for name in archive.namelist())
        what = " but a file of pickled objects, which fipp never loads" if has_pickle else ""
        raise FippError(f"{path} is a zip archive without NumPy arrays{what}")
    if len(infos) > _MAX_MEMBERS:
        raise FippError(f"{path} has {len(infos):,} arrays; vectors need two")
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in infos):
        raise FippError(f"{path} is compressed in a way that NumPy does not use")
    return {info.filename.removesuffix(".npy"): info for info in infos}


def _as_words(array: npt.NDArray[Any], count: int, inspector: Inspector) -> list[str]:
    if array.dtype == np.uint8:
        return split_words(array.tobytes(), count, inspector)
    if array.dtype.kind in "Uiu":
        return [str(word) for word in array.tolist()]
    if array.dtype.kind == "S":
        return [inspector.decode(word, f"word {row}") for row, word in enumerate(array.tolist())]
    raise FippError(f"the words of {inspector.path} must be text, not {array.dtype}")


def _read_exactly(member: IO[bytes], count: int, path: Path) -> bytearray:
    content = bytearray()
    # Read in pieces: the zip module would copy all that it has at every step.
    while len(content) < count and (piece := member.read(min(1 << 20, count - len(content)))):
        content += piece
    if len(content) < count:
        raise FippError(f"{path} is cut short: {count - len(content):,} bytes are missing")
    return content


def _pair(path: Path) -> tuple[Path, Path]:
    matrix_path = path.with_suffix(".npy") if path.suffix.lower() == ".txt" else path
    return matrix_path, path.with_suffix(".txt")


class ArrayKind(NamedTuple):
    """What is known about an array before it is read: its shape, and the letter of its dtype's kind."""

    shape: tuple[int, ...]
    kind: str


def matrix_name(arrays: Mapping[str, ArrayKind], path: Path) -> str:
    """Return the name of the matrix: one of the usual names, or the only 2-D array of real numbers."""
    candidates = [name for name, array in arrays.items() if len(array.shape) == 2 and array.kind in "fiu"]
    usual = next((name for name in MATRIX_NAMES if name in candidates), None)
    if usual is not None:
        return usual
    if len(candidates) == 1:
        return candidates[0]
    names = ", ".join(sorted(arrays)[:10]) or "none"
    raise FippError(
        f"{path} must hold one 2-D matrix of real numbers, named 'matrix' or 'vectors'; its arrays are: {names}"
    )


def words_name(arrays: Mapping[str, ArrayKind]) -> str | None:
    """Return the name of the words: one of the usual names, or the only 1-D array of text; None if there is none."""
    usual = [name for name in WORD_NAMES if name in arrays and len(arrays[name].shape) == 1]
    texts = [name for name, array in arrays.items() if len(array.shape) == 1 and array.kind in "US"]
    if usual:
        return usual[0]
    return texts[0] if len(texts) == 1 else None


def split_words(joined: bytes, count: int, inspector: Inspector) -> list[str]:
    """Return the ``count`` words in ``joined``, which has one word per line."""
    check_counts(joined.count(b"\n") + (not joined.endswith(b"\n")), count, inspector.path)
    lines = io.BytesIO(joined)  # no list of all lines beside the list of all words
    return [inspector.decode(line.removesuffix(b"\n"), f"word {row}") for row, line in enumerate(lines)]


def read_words(
    path: Path, count: int | None, inspector: Inspector, budget: Budget, file: BinaryIO | None = None
) -> tuple[list[str], int]:
    """Return the first ``count`` words of a text file with one word per line, and the number of all.

    ``file`` is the file if it is already open.
    """
    words: list[str] = []
    total = 0
    for batch in read_batches(file or path, budget.max_bytes):
        chosen = batch if count is None else batch[: count - len(words)]
        found = [
            inspector.decode(line.removesuffix(b"\r"), f"{path.name} line {number}")
            for number, line in enumerate(chosen, total + 1)
        ]
        budget.take_words(found)
        words += found
        total += len(batch)
    return words, total


def check_counts(words: int, rows: int, path: Path) -> None:
    """Raise a FippError unless there is a row for each word."""
    if words != rows:
        raise FippError(f"{path} has {words:,} words but {rows:,} vectors")
