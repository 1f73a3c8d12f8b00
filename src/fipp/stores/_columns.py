"""Columns of vectors in Arrow tables: which one it is, its rows as a matrix, and a matrix as such a column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError
from fipp.stores._store import pyarrow

ID_NAMES = ("id", "ids", "_id", "doc_id", "document_id", "key", "uuid", "pk")
TEXT_NAMES = ("text", "content", "document", "body", "title", "chunk")


def is_vector(kind: Any) -> bool:
    """Return whether an Arrow type is a list of numbers."""
    types = pyarrow().types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)))


def vector_column(schema: Any, name: str | None = None, *, store: str = "the table") -> str:
    """Return the name of the column of vectors: the only one, or the one that was named."""
    found = [field.name for field in schema if is_vector(field.type)]
    if name is not None:
        if name not in found:
            raise FippError(f"{store} has no column of vectors {name!r}; it has {', '.join(found) or 'none'}")
        return name
    if len(found) != 1:
        raise FippError(
            f"{store} has {len(found)} columns of vectors ({', '.join(found)}): name one of them with --column"
            if found
            else f"{store} has no column of vectors, which are lists of numbers; it has {', '.join(schema.names)}"
        )
    return found[0]


def usual_column(schema: Any, names: tuple[str, ...], given: str | None = None, *, store: str = "") -> str | None:
    """Return the column that was given, or the first with one of the usual names."""
    if given is not None:
        if given not in schema.names:
            raise FippError(f"{store} has no column {given!r}; it has {', '.join(schema.names)}")
        return given
    lower = {name.lower(): name for name in schema.names if not is_vector(schema.field(name).type)}
    return next((lower[name] for name in names if name in lower), None)


def matrix_of(column: Any, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the vectors of the rows that have one, as a matrix of the column's own type, and which rows those are."""
    compute = pyarrow("pyarrow.compute")
    valid = np.asarray(column.is_valid())
    lengths = np.unique(np.asarray(compute.list_value_length(column.drop_null()), dtype=np.int64))
    if len(lengths) > 1:
        raise FippError(f"the vectors of {name} have different lengths, from {lengths[0]} to {lengths[-1]}")
    numbers = column.flatten()
    if numbers.null_count:
        raise FippError(f"a vector of {name} has {numbers.null_count:,} numbers that are NULL")
    dimensions = int(lengths[0]) if len(lengths) else _fixed_size(column.type)
    return numbers.to_numpy(zero_copy_only=False).reshape(int(valid.sum()), dimensions), valid


def _fixed_size(kind: Any) -> int:
    return int(kind.list_size) if pyarrow().types.is_fixed_size_list(kind) else 0


def dtype_of(kind: Any) -> np.dtype[Any]:
    """Return numpy's type for numbers of a type of Arrow, whose own function asks for pandas before pyarrow 26."""
    dtype: np.dtype[Any] = pyarrow().array([], kind).to_numpy(zero_copy_only=False).dtype
    return dtype


def vector_type(like: Any, numbers: Any, dimensions: int) -> Any:
    """Return the type of lists of the same kind as ``like``, with other numbers and another length."""
    arrow = pyarrow()
    if arrow.types.is_fixed_size_list(like):
        return arrow.list_(numbers, dimensions)
    return arrow.large_list(numbers) if arrow.types.is_large_list(like) else arrow.list_(numbers)


def column_of(matrix: NDArray[Any], valid: NDArray[np.bool_], kind: Any) -> Any:
    """Return a column of the type ``kind``: the rows of a matrix where ``valid``, NULL elsewhere."""
    arrow = pyarrow()
    n, dimensions = len(valid), matrix.shape[1]
    mask = None if valid.all() else arrow.array(~valid)
    if arrow.types.is_fixed_size_list(kind):
        full = matrix
        if mask is not None:
            full = np.zeros((n, dimensions), matrix.dtype)
            full[valid] = matrix
        numbers = arrow.array(np.ascontiguousarray(full).reshape(-1), kind.value_type)
        return arrow.FixedSizeListArray.from_arrays(numbers, type=kind, mask=mask)
    large = arrow.types.is_large_list(kind)
    offsets = np.concatenate([[0], np.cumsum(valid * dimensions)]).astype(np.int64 if large else np.int32)
    numbers = arrow.array(np.ascontiguousarray(matrix).reshape(-1), kind.value_type)
    make = arrow.LargeListArray if large else arrow.ListArray
    return make.from_arrays(arrow.array(offsets), numbers, type=kind, mask=mask)
