"""Record batches written to one file, in the format that its name asks for, in constant memory."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError
from fipp.io import atomic_pair, atomic_path
from fipp.stores._columns import dtype_of, is_vector, matrix_of
from fipp.stores._matrices import FAISS_METRIC
from fipp.stores._store import pyarrow

_ROW_GROUP = 16_384
_SAFETENSORS = {"f8": "F64", "f4": "F32", "f2": "F16", "i8": "I64", "i4": "I32", "i2": "I16", "i1": "I8", "u1": "U8"}


def write_rows(path: Path, schema: Any, batches: Iterable[Any], rows: int) -> None:
    """Write ``rows`` rows to a file, whole or not at all."""
    WRITERS[path.suffix.lower()](path, schema, iter(batches), rows)


def check_writable(path: Path, schema: Any) -> None:
    """Raise a FippError if a file of this kind has no place for some of the columns."""
    suffix = path.suffix.lower()
    if suffix in TABLE_SUFFIXES:
        return
    vectors = [field.name for field in schema if is_vector(field.type)]
    others = [field for field in schema if field.name not in vectors]
    types = pyarrow().types
    if suffix == ".safetensors":
        homeless = [
            field.name for field in others if not (types.is_integer(field.type) or types.is_floating(field.type))
        ]
    else:
        homeless = vectors[1:] + [field.name for field in others if field.name != "id"]
    if homeless:
        raise FippError(f"{path} has no place for the columns {', '.join(homeless)}: write Parquet or Arrow instead")
    numbers = schema.field(vectors[0]).type.value_type
    if suffix in FAISS_SUFFIXES and numbers != pyarrow().float32():
        raise FippError(f"{path} can only hold vectors of float32, not {dtype_of(numbers)}: leave --dtype out")
    if suffix in FAISS_SUFFIXES and others and not types.is_integer(others[0].type):
        raise FippError(f"{path} can only hold ids that are whole numbers, not {others[0].type}")


def _write_parquet(path: Path, schema: Any, batches: Iterator[Any], rows: int) -> None:
    arrow, parquet = pyarrow(), pyarrow("pyarrow.parquet")
    plain = [field.name for field in schema if not is_vector(field.type)]
    # Vectors do not get smaller by compression or dictionaries, but take several times as long.
    leaves = [name for name in _leaves(schema) if name.partition(".")[0] not in plain]
    compression = {**dict.fromkeys(_leaves(schema), "zstd"), **dict.fromkeys(leaves, "none")}
    options = {"compression": compression, "use_dictionary": plain or False, "write_statistics": plain or False}
    with atomic_path(path) as temporary, parquet.ParquetWriter(str(temporary), schema, **options) as writer:
        held: list[Any] = []
        for batch in batches:
            held.append(batch)
            if sum(map(len, held)) >= _ROW_GROUP:
                _write_group(writer, arrow.Table.from_batches(held, schema))
                held = []
        if held:
            _write_group(writer, arrow.Table.from_batches(held, schema))


def _write_group(writer: Any, table: Any) -> None:
    try:
        writer.write_table(table, row_group_size=_ROW_GROUP)
    except pyarrow().ArrowNotImplementedError as error:  # rows without a vector, before pyarrow 25
        raise FippError(
            f"this version of pyarrow cannot write the table as Parquet: {error}. Upgrade pyarrow, or write .arrow"
        ) from None


def _leaves(schema: Any) -> list[str]:
    """Return the names of a schema's columns as Parquet has them, with dots for what is nested."""
    arrow, parquet = pyarrow(), pyarrow("pyarrow.parquet")
    sink = arrow.BufferOutputStream()
    parquet.write_table(schema.empty_table(), sink)
    columns = parquet.ParquetFile(arrow.BufferReader(sink.getvalue())).schema
    return [columns.column(place).path for place in range(len(columns))]


def _write_arrow(path: Path, schema: Any, batches: Iterator[Any], rows: int) -> None:
    with atomic_path(path) as temporary, pyarrow("pyarrow.ipc").new_file(str(temporary), schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _write_npy(path: Path, schema: Any, batches: Iterator[Any], rows: int) -> None:
    """Write a matrix, and ids beside it: numbers in ``x.ids.npy``, text in ``x.txt``, one per line."""
    vector = next(field for field in schema if is_vector(field.type))
    if "id" not in schema.names:
        with atomic_path(path) as temporary, open(temporary, "wb") as file:
            _npy_header(file, (rows, _width(vector)), dtype_of(vector.type.value_type))
            for batch in batches:
                file.write(_numbers(batch, vector.name, path).data)
        return
    ids = schema.field("id")
    as_text = not pyarrow().types.is_integer(ids.type)
    beside = path.with_suffix(".txt" if as_text else ".ids.npy")
    with (
        atomic_pair(path, beside) as (temporary, temporary_ids),
        open(temporary, "wb") as file,
        open(temporary_ids, "wb") as ids_file,
    ):
        _npy_header(file, (rows, _width(vector)), dtype_of(vector.type.value_type))
        if not as_text:
            _npy_header(ids_file, (rows,), dtype_of(ids.type))
        for batch in batches:
            file.write(_numbers(batch, vector.name, path).data)
            ids_file.write(_lines(batch, path) if as_text else _numbers(batch, "id", path).data)


def _lines(batch: Any, path: Path) -> bytes:
    lines = batch.column("id").cast(pyarrow().string()).to_pylist()
    for line in lines:
        if line is None or "\n" in line or "\r" in line:
            raise FippError(f"the id {line!r} cannot be written beside {path}, one per line: write Parquet or Arrow")
    return "".join(f"{line}\n" for line in lines).encode()


def _npy_header(file: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


def _write_safetensors(path: Path, schema: Any, batches: Iterator[Any], rows: int) -> None:
    shapes = {field.name: (rows, _width(field)) if is_vector(field.type) else (rows,) for field in schema}
    types = {field.name: dtype_of(field.type.value_type if is_vector(field.type) else field.type) for field in schema}
    header, places, end = {}, {}, 0
    # Readers want tensors without gaps and, for the sake of alignment, those of wide numbers first.
    for name in sorted(shapes, key=lambda name: (-types[name].itemsize, name)):
        size = int(np.prod(shapes[name])) * types[name].itemsize
        header[name] = {
            "dtype": _SAFETENSORS[types[name].str[1:]], "shape": shapes[name], "data_offsets": [end, end + size]
        }  # fmt: skip
        places[name], end = end, end + size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for batch in batches:
            for name in batch.schema.names:
                numbers = _numbers(batch, name, path)
                file.seek(8 + len(text) + places[name])
                places[name] += file.write(numbers.data)
        file.truncate(8 + len(text) + end)


def _write_faiss(path: Path, schema: Any, batches: Iterator[Any], rows: int) -> None:
    """Write a flat index, with ids if there are any, in FAISS's own layout: it cannot write one piece by piece."""
    vector = next(field for field in schema if is_vector(field.type))
    dimensions = _width(vector)
    metric = int((schema.metadata or {}).get(FAISS_METRIC, b"0"))
    header = struct.pack("<iqqq?i", dimensions, rows, 1 << 20, 1 << 20, True, metric)
    has_ids = "id" in schema.names
    ids: list[NDArray[Any]] = []
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        if has_ids:
            file.write(b"IxMp" + header)
        file.write((b"IxFI" if metric == 0 else b"IxF2") + header + struct.pack("<Q", rows * dimensions))
        for batch in batches:
            file.write(_numbers(batch, vector.name, path).astype(np.float32, copy=False).data)
            if has_ids:
                ids.append(_numbers(batch, "id", path).astype(np.int64))
        if has_ids:
            file.write(struct.pack("<Q", rows) + np.concatenate([*ids, np.empty(0, np.int64)]).tobytes())


def _width(field: Any) -> int:
    if not pyarrow().types.is_fixed_size_list(field.type):
        raise FippError(
            f"the vectors of the column {field.name!r} may differ in length: write Parquet or Arrow instead"
        )
    return int(field.type.list_size)


def _numbers(batch: Any, name: str, path: Path) -> NDArray[Any]:
    """Return a column as an array; NULL has no place in it."""
    column = batch.column(name)
    if column.null_count:
        raise FippError(f"{column.null_count:,} rows have no {name!r}, for which {path} has no place")
    if is_vector(column.type):
        return np.ascontiguousarray(matrix_of(column, name)[0])
    return np.ascontiguousarray(column.to_numpy(zero_copy_only=False))


TABLE_SUFFIXES = (".parquet", ".pq", ".arrow", ".ipc", ".feather")
FAISS_SUFFIXES = (".faiss", ".index")
WRITERS: dict[str, Callable[[Path, Any, Iterator[Any], int], None]] = {
    **dict.fromkeys((".parquet", ".pq"), _write_parquet),
    **dict.fromkeys((".arrow", ".ipc", ".feather"), _write_arrow),
    ".npy": _write_npy,
    ".safetensors": _write_safetensors,
    **dict.fromkeys(FAISS_SUFFIXES, _write_faiss),
}
"""What writes a file, by its suffix."""
