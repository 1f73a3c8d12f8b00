"""The conversion as a plain function of record batches, which anything that speaks Arrow can call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp._validation import rows_not_finite
from fipp.exceptions import FippError
from fipp.io import whole_batches
from fipp.linalg import ordered_map
from fipp.stores import (
    ID_NAMES,
    column_of,
    is_vector,
    matrix_of,
    pyarrow,
    usual_column,
    vector_column,
    vector_type,
    write_rows,
)

DTYPES = ("float32", "float16", "int8")


@dataclass(frozen=True)
class BatchConverter:
    """Converts one column of vectors of an Arrow record batch; all other columns stay as they are.

    Parameters
    ----------
    transform : callable
        Takes a matrix and returns as many rows, such as ``aligner.transform``.
    column : str
        The column of vectors. Rows without a vector keep NULL.
    dtype : {"float32", "float16", "int8"}, default "float32"
        What numbers become. With int8, the column ``<column>_scale`` is added: a vector is its numbers times its scale.

    Examples
    --------
    >>> import pyarrow as pa
    >>> batch = pa.record_batch({"id": [7, 8], "vector": [[1.0, 2.0], None]})
    >>> BatchConverter(lambda X: 2 * X, "vector")(batch).to_pylist()
    [{'id': 7, 'vector': [2.0, 4.0]}, {'id': 8, 'vector': None}]
    """

    transform: Callable[[NDArray[Any]], NDArray[Any]]
    column: str
    dtype: str = "float32"

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise FippError(f"dtype is one of {', '.join(DTYPES)}, not {self.dtype!r}")

    @property
    def scale_column(self) -> str:
        """The name of the column with the scales of int8."""
        return f"{self.column}_scale"

    def schema(self, schema: Any) -> Any:
        """Return the schema of what becomes of record batches with a schema."""
        arrow = pyarrow()
        place = schema.get_field_index(vector_column(schema, self.column, store="the record batch"))
        field = schema.field(place)
        dimensions = 0
        if arrow.types.is_fixed_size_list(field.type):
            dimensions = self._convert(np.random.default_rng(0).standard_normal((1, field.type.list_size))).shape[1]
        kind = vector_type(field.type, getattr(arrow, self.dtype)(), dimensions)
        changed = schema.set(place, field.with_type(kind))
        if self.dtype != "int8":
            return changed
        if self.scale_column in schema.names:
            raise FippError(f"the scales of int8 need the column {self.scale_column!r}, which is there already")
        return changed.append(arrow.field(self.scale_column, arrow.float32()))

    def __call__(self, batch: Any) -> Any:
        """Return the converted record batch."""
        schema = self.schema(batch.schema)
        place = schema.get_field_index(self.column)
        matrix, valid = matrix_of(batch.column(place), f"the column {self.column!r}")
        mapped = self._mapped(matrix, valid, batch, _width(schema.field(place).type))
        columns = list(batch.columns)
        if self.dtype == "int8":
            mapped, scales = _quantized(mapped)
            full = np.zeros(len(valid), np.float32)
            full[valid] = scales
            columns.append(pyarrow().array(full, mask=~valid))
        columns[place] = column_of(self._rounded(mapped), valid, schema.field(place).type)
        return pyarrow().RecordBatch.from_arrays(columns, schema=schema)

    def _mapped(self, matrix: NDArray[Any], valid: NDArray[np.bool_], batch: Any, width: int) -> NDArray[Any]:
        if not len(matrix):
            return np.zeros((0, width), np.float32)
        try:
            return self._convert(matrix)
        except FippError as error:
            raise row_named(error, batch, matrix, valid) from None

    def _convert(self, matrix: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self.transform(matrix.astype(np.float32, copy=False)))

    def _rounded(self, mapped: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(over="ignore"):
            rounded = mapped.astype(self.dtype, copy=False)
        if self.dtype == "float16" and not np.isfinite(rounded).all():
            raise FippError("a converted vector has a number too large for float16: use float32 or int8")
        return rounded


def row_named(error: FippError, batch: Any, matrix: NDArray[Any], valid: NDArray[np.bool_]) -> FippError:
    """Return an error about the vectors of a record batch; one that NaN may have caused names the row by its id."""
    wrong = next(rows_not_finite(matrix), None)
    if wrong is None:
        return error
    row = int(np.flatnonzero(valid)[wrong])
    name = usual_column(batch.schema, ID_NAMES)
    which = f"row {row} of the record batch" if name is None else f"the row with {name} {batch[name][row]}"
    return FippError(f"the vector of {which} has NaN or infinity in it: repair or remove it")


def convert_table(
    transform: Callable[[NDArray[Any]], NDArray[Any]], source: Path, output: Path, *, limit: int | None = None
) -> int | None:
    """Convert the first column of vectors of a table file to another file; return the number of rows.

    All other columns and all rows stay. The source may be anybody's: it is decoded within half of the machine's memory.
    Return None, and write nothing, if no column holds lists of numbers.
    """
    written = 0

    def rows(batches: Iterable[Any]) -> Iterator[Any]:
        nonlocal written
        for batch in batches:
            part = batch if limit is None else batch.slice(0, limit - written)
            written += len(part)
            yield part
            if written == limit:
                return

    with closing(whole_batches(source)) as batches:
        first = next(batches)
        column = next((field.name for field in first.schema if is_vector(field.type)), None)
        if column is None:
            return None
        converter = BatchConverter(transform, column)
        converted = ordered_map(converter, rows(chain([first], batches)))
        write_rows(output, converter.schema(first.schema), converted, limit or 0)
    return written


def _quantized(mapped: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return whole numbers from -127 to 127, and the scale of each row."""
    scales = (np.abs(mapped).max(axis=1, initial=0) / 127).astype(np.float32)
    divisors = np.where(scales > 0, scales, np.float32(1))
    return np.rint(mapped / divisors[:, None]).astype(np.int8), scales


def _width(kind: Any) -> int:
    return int(kind.list_size) if pyarrow().types.is_fixed_size_list(kind) else 0
