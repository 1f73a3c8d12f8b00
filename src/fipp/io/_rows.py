"""Rows of numbers: converted, checked and collected without large temporary arrays."""

from __future__ import annotations

import mmap
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from fipp._validation import rows_not_finite
from fipp.exceptions import FippError
from fipp.io._atomic import explain_failure
from fipp.linalg import row_blocks

FloatMatrix = npt.NDArray[Any]
"""A matrix of float32, or of the float type requested."""

FLOAT_TYPES = ("float32", "float16", "float64")
"""The types that `Vectors` can have."""

_CHUNK_BYTES = 8 << 20
_PAGE = 4096
MAPPED_BYTES = 32 << 20
"""About how much of a mapped matrix is in memory at a time, unless a reader may take more."""

BLOCK_NUMBERS = 1 << 20
"""About how many numbers are worked on at a time."""


def float_type(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return a float type that vectors can have, in native byte order; raise a FippError for any other type."""
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in FLOAT_TYPES:
        raise FippError(f"dtype must be one of {', '.join(FLOAT_TYPES)}, not {dtype!r}")
    return np.dtype(name)


def as_floats(matrix: npt.ArrayLike, dtype: npt.DTypeLike = np.float32) -> FloatMatrix:
    """Return ``matrix`` as 2-D floats of a type in native byte order, without a copy if possible."""
    array: npt.NDArray[Any] = np.asarray(matrix)
    if array.ndim != 2:
        raise FippError(f"vectors must be a 2-D matrix with a row for each word, not {array.ndim}-D")
    if array.dtype.kind not in "fiu":
        raise FippError(f"vectors must be real numbers, not {array.dtype}")
    if array.shape[1] == 0:
        raise FippError("vectors must have at least one dimension")
    with np.errstate(over="ignore"):  # numbers that are too large become infinite, which is checked later
        return array.astype(float_type(dtype), copy=False)


def convert(matrix: npt.NDArray[Any], dtype: npt.DTypeLike, scratch: Path | None) -> FloatMatrix:
    """Return what `as_floats` does; with a folder ``scratch``, a copy is kept on disk there."""
    if scratch is None or matrix.dtype == np.dtype(dtype):
        return as_floats(matrix, dtype)
    collected = RowCollector(matrix.shape[1], dtype=dtype, scratch=scratch)
    for block in blocks(*matrix.shape):
        collected.append(as_floats(matrix[block], dtype))
        release_pages(matrix)
    return collected.finish()


def take_rows(matrix: FloatMatrix, rows: list[int], scratch: Path | None) -> FloatMatrix:
    """Return a copy of some rows; with a folder ``scratch``, it is kept on disk there."""
    numbers = np.array(rows, dtype=np.int64)
    if scratch is None:
        return copy_rows(matrix, numbers)
    collected = RowCollector(matrix.shape[1], dtype=matrix.dtype, scratch=scratch)
    for block in blocks(len(rows), matrix.shape[1]):
        collected.append(copy_rows(matrix, numbers[block]))
        release_pages(matrix)
    return collected.finish()


def copy_rows(
    matrix: npt.NDArray[Any],
    rows: npt.NDArray[np.int64],
    columns: slice = slice(None),
    mapped_bytes: int = MAPPED_BYTES,
) -> npt.NDArray[Any]:
    """Return a copy of some columns of some rows; about ``mapped_bytes`` of a mapped matrix are in memory at a time.

    Each row is counted with all the pages that it lies in, so that as many calls as there are columns, for the same
    rows, keep to the limit together.
    """
    result = np.empty((len(rows), len(range(matrix.shape[1])[columns])), dtype=matrix.dtype)
    pages = matrix.shape[1] * matrix.itemsize // _PAGE + 2
    step = max(1, mapped_bytes // (pages * _PAGE))
    for block in row_blocks(len(rows), step):
        result[block] = matrix[rows[block], columns]
        if len(rows) > step:
            release_pages(matrix)
    return result


def blocks(count: int, dimensions: int, numbers: int = BLOCK_NUMBERS) -> Iterator[slice]:
    """Split ``count`` rows into slices of about a million numbers, or as many as ``numbers``."""
    return row_blocks(count, max(1, numbers // dimensions))


def read_rows_not_finite(matrix: FloatMatrix) -> Iterator[int]:
    """Yield what `rows_not_finite` does, for a matrix that may be mapped from a file: its pages are not kept."""
    for block in blocks(*matrix.shape):
        found = list(rows_not_finite(matrix[block]))
        release_pages(matrix)
        yield from (block.start + row for row in found)


def release_pages(matrix: npt.NDArray[Any]) -> None:
    """Tell the system that the pages of a mapped matrix are not needed now; the next access reads them again.

    Without this, a file that is read once from start to end seems to take as much memory as it is long.
    """
    array: Any = matrix
    while isinstance(array, np.ndarray):
        pages: Any = array.base
        # Private changes ("c") and memory without a file would be lost.
        if isinstance(pages, mmap.mmap) and isinstance(array, np.memmap) and array.mode != "c":
            if hasattr(mmap, "MADV_DONTNEED"):
                pages.madvise(mmap.MADV_DONTNEED)
            return
        array = pages


def gather(
    matrix: npt.NDArray[Any],
    rows: slice | npt.NDArray[np.int64],
    weights: npt.NDArray[Any] | None = None,
    *,
    is_bfloat16: bool = False,
) -> FloatMatrix:
    """Return some rows as float32, each multiplied by its weight if there are any; temporary arrays are small.

    The bits of bfloat16, for which NumPy has no type, come as 16-bit integers.
    """
    numbers = np.arange(len(matrix))[rows] if isinstance(rows, slice) else rows
    result = np.empty((len(numbers), matrix.shape[1]), dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite are found later
        for block in blocks(*result.shape):
            part = copy_rows(matrix, numbers[block])
            release_pages(matrix)
            # bfloat16 is the upper half of a float32.
            result[block] = (part.astype(np.uint32) << np.uint32(16)).view(np.float32) if is_bfloat16 else part
            if weights is not None:
                result[block] *= np.asarray(weights[block], dtype=np.float32).reshape(-1, 1)
    return result


def keep_freed_pages() -> None:
    """Make arrays of up to 4 MiB that are created and freed in a loop reuse their memory.

    The GNU C library returns such memory to the system at once, and a parser would spend half its time asking for it
    again. Once an array of this size has been freed, the library keeps twice as much. Elsewhere this does nothing.
    """
    np.empty(4 << 20, dtype=np.uint8)


class RowCollector:
    """Collects blocks of rows, whose number is not known beforehand, into one matrix.

    Each chunk of rows is freed once it has been copied: the peak is the matrix and one chunk, not twice the matrix.
    With a folder ``scratch``, the rows are kept in a file there, which has no name and vanishes with the matrix.
    """

    def __init__(
        self,
        dimensions: int,
        chunk_bytes: int = _CHUNK_BYTES,
        dtype: npt.DTypeLike = np.float32,
        scratch: Path | None = None,
    ) -> None:
        self.dimensions = dimensions
        self.dtype = np.dtype(dtype)
        self._rows_per_chunk = max(1, chunk_bytes // (self.dtype.itemsize * dimensions))
        self._chunks: list[FloatMatrix] = []
        self._length = 0
        self._scratch = scratch
        self._file: BinaryIO | None = None
        if scratch is not None:
            with explain_failure(f"a temporary file in {scratch}"):
                self._file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115
            weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return self._length

    @property
    def nbytes(self) -> int:
        """The size of the rows collected so far."""
        return self._length * self.dimensions * self.dtype.itemsize

    def append(self, block: FloatMatrix) -> None:
        """Add a copy of the rows of ``block``."""
        if self._file is not None:
            with explain_failure(f"a temporary file in {self._scratch}"):
                self._file.write(np.ascontiguousarray(block, dtype=self.dtype).data)
            self._length += len(block)
            return
        done = 0
        while done < len(block):
            used = self._length % self._rows_per_chunk
            if used == 0:
                self._chunks.append(self._new_chunk())
            step = min(len(block) - done, self._rows_per_chunk - used)
            self._chunks[-1][used : used + step] = block[done : done + step]
            done += step
            self._length += step

    def _new_chunk(self) -> FloatMatrix:
        # Mapped pages return to the system when they are freed; memory from malloc may not.
        numbers = self._rows_per_chunk * self.dimensions
        pages = mmap.mmap(-1, numbers * self.dtype.itemsize)
        return np.frombuffer(pages, dtype=self.dtype).reshape(self._rows_per_chunk, self.dimensions)

    def finish(self) -> FloatMatrix:
        """Return the matrix of all rows; the collector is empty afterwards."""
        if self._file is not None and self._length:
            shape, self._length = (self._length, self.dimensions), 0
            with explain_failure(f"a temporary file in {self._scratch}"), self._file as file:
                file.flush()
                return np.memmap(file, dtype=self.dtype, mode="r+", shape=shape)
        matrix = np.empty((self._length, self.dimensions), dtype=self.dtype)
        while self._chunks:
            chunk = self._chunks.pop()
            start, stop = len(self._chunks) * self._rows_per_chunk, self._length
            matrix[start:stop] = chunk[: stop - start]
            self._length = start
        return matrix
