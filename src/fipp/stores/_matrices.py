"""Matrices in files, read a few rows at a time: ``.npy``, safetensors shards and FAISS indexes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from fipp._optional import require
from fipp.exceptions import FippError
from fipp.io import map_matrix, read_batches, release_pages
from fipp.stores._columns import column_of
from fipp.stores._store import BATCH_ROWS, pyarrow

_TYPES = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1"}
"""The types of safetensors that numpy has too."""

FAISS_METRIC = b"fipp.faiss.metric"
"""The key of a schema's metadata under which an index keeps how it compares vectors, as FAISS numbers it."""


@dataclass(frozen=True)
class FileKind:
    """How files of one kind are read."""

    description: str
    schema: Callable[[Path], Any]
    count: Callable[[Path], int]
    batches: Callable[[Path, int], Iterator[Any]]
    """Yields record batches from a row on."""
    rows_read_together: Callable[[Path], int] = lambda path: 1
    """Returns how many rows are read even if only the last of them is asked for."""


@dataclass(frozen=True)
class _Column:
    """Rows that are read when they are sliced."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[slice], NDArray[Any]]

    @classmethod
    def of(cls, array: NDArray[Any]) -> _Column:
        def read(rows: slice) -> NDArray[Any]:
            part = np.array(array[rows])
            release_pages(array)
            return part

        return cls(array.shape, array.dtype, read)

    @property
    def type(self) -> Any:
        """The Arrow type: a list of a fixed size for a matrix."""
        arrow = pyarrow()
        numbers = arrow.string() if self.dtype.kind == "O" else arrow.from_numpy_dtype(self.dtype)
        return numbers if len(self.shape) == 1 else arrow.list_(numbers, self.shape[1])

    def arrow(self, rows: slice) -> Any:
        """Return some rows as an Arrow array."""
        part = self.read(rows)
        if part.ndim == 1:
            return pyarrow().array(part, self.type)
        return column_of(part, np.ones(len(part), bool), self.type)


def beside(path: Path) -> list[Path]:
    """Return where the ids of a matrix are kept: as numbers, or as text, one per line. Other files have them inside.

    A link to a matrix has the ids of that matrix.
    """
    if path.suffix.lower() != ".npy":
        return []
    matrix = Path(os.path.realpath(path)) if path.is_symlink() else path
    return [matrix.with_suffix(suffix) for suffix in (".ids.npy", ".txt")]


def _npy_columns(path: Path) -> dict[str, _Column]:
    """Return a matrix, with ids from a file beside it if there is one."""
    columns = {}
    numbers, lines = beside(path)
    if numbers.exists():
        columns["id"] = _Column.of(np.load(numbers, mmap_mode="r", allow_pickle=False))
    elif lines.exists():
        found = [line.decode("utf-8", "replace") for batch in read_batches(lines) for line in batch]
        columns["id"] = _Column.of(np.array(found, dtype=object))
    return {**columns, "vector": _Column.of(map_matrix(path))}


def _safetensors_columns(path: Path) -> dict[str, _Column]:
    """Return the tensors of a shard, all of which have a row for each item."""
    try:
        file = safe_open(path, framework="numpy")
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise FippError(f"{path} is not a whole safetensors file: {error}") from None
    columns = {}
    for name, found in slices.items():
        shape = tuple(found.get_shape())
        if found.get_dtype() not in _TYPES or len(shape) not in (1, 2):
            raise FippError(f"the tensor {name!r} of {path} is {found.get_dtype()} of shape {shape}, not rows of items")
        columns[name] = _Column(shape, np.dtype(_TYPES[found.get_dtype()]), found.__getitem__)
    if not any(len(column.shape) == 2 for column in columns.values()):
        raise FippError(f"{path} has no matrix among its tensors ({', '.join(columns) or 'none'})")
    return columns


def _faiss_index(path: Path) -> Any:
    """Return an index; one that is flat stays on disk."""
    faiss = require("faiss", "a FAISS index", extra="ann")
    try:
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as error:
        raise FippError(f"{path} is not a FAISS index: {str(error).splitlines()[-1][:200]}") from None


def _faiss_columns(path: Path) -> dict[str, _Column]:
    """Return the ids and vectors of an index."""
    index = _faiss_index(path)
    faiss = require("faiss", "a FAISS index", extra="ann")
    outer = faiss.downcast_index(index)
    has_ids = hasattr(outer, "id_map")
    inner = faiss.downcast_index(outer.index) if has_ids else outer
    if hasattr(inner, "make_direct_map"):
        inner.make_direct_map()

    def read(rows: slice) -> NDArray[Any]:
        try:
            return np.asarray(inner.reconstruct_n(rows.start, rows.stop - rows.start))
        except RuntimeError:
            raise FippError(f"{path}: an index of the type {type(inner).__name__} keeps no vectors") from None

    ids = faiss.vector_to_array(outer.id_map) if has_ids else np.arange(index.ntotal)
    # `read` keeps the index, which owns what it was cast to.
    read.index = index  # type: ignore[attr-defined]
    return {"id": _Column.of(ids), "vector": _Column((index.ntotal, index.d), np.dtype(np.float32), read)}


def _length(columns: Mapping[str, _Column], path: Path) -> int:
    counts = {name: column.shape[0] for name, column in columns.items()}
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"{name}: {count:,}" for name, count in counts.items())
        raise FippError(f"{path} does not have a row for each item everywhere ({shown})")
    return next(iter(counts.values()))


def _schema(columns: Mapping[str, _Column]) -> Any:
    return pyarrow().schema([(name, column.type) for name, column in columns.items()])


def _matrix(description: str, columns_of: Callable[[Path], dict[str, _Column]]) -> FileKind:
    def batches(path: Path, start: int) -> Iterator[Any]:
        columns = columns_of(path)
        count, schema = _length(columns, path), _schema(columns)
        for first in range(start, count, BATCH_ROWS):
            rows = slice(first, min(count, first + BATCH_ROWS))
            yield pyarrow().record_batch([column.arrow(rows) for column in columns.values()], schema=schema)

    return FileKind(
        description,
        lambda path: _schema(columns_of(path)),
        lambda path: _length(columns_of(path), path),
        batches,
    )


def _with_metric(kind: FileKind) -> FileKind:
    """Add to the schema how an index compares vectors."""

    def schema(path: Path) -> Any:
        return kind.schema(path).with_metadata({FAISS_METRIC: str(int(_faiss_index(path).metric_type))})

    return replace(kind, schema=schema)


_FAISS = _with_metric(_matrix("a FAISS index", _faiss_columns))
MATRICES = {
    ".npy": _matrix("a NumPy matrix", _npy_columns),
    ".safetensors": _matrix("a safetensors shard", _safetensors_columns),
    ".faiss": _FAISS,
    ".index": _FAISS,
}
"""The kinds of files with matrices by their suffix."""
