"""Which columns of an Arrow table are the words and the vectors, and their values."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fipp.exceptions import FippError
from fipp.io._report import NO_VECTOR, NO_WORD, RAGGED, Inspector
from fipp.io._rows import FloatMatrix, as_float32

_ID_NAMES = ("word", "words", "token", "id", "ids", "key")


class Columns(NamedTuple):
    """The name of the column of words, and that of the lists or those of the dimensions."""

    word: str
    vectors: tuple[str, ...]
    are_lists: bool

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [self.word, *self.vectors]

    @classmethod
    def choose(cls, schema: Any, path: Path) -> Columns:
        """Choose by type: the first column of text, the first column of lists, otherwise all columns of numbers."""
        import pyarrow.types as kind

        names = schema.names
        if len(set(names)) < len(names):
            raise FippError(f"{path} has two columns of the same name")
        types = {name: schema.field(name).type for name in names}
        texts = [name for name in names if _is_text(types[name])]
        numbers = [name for name in names if kind.is_integer(types[name]) or kind.is_floating(types[name])]
        ids = texts or [name for name in numbers if name.lower() in _ID_NAMES and kind.is_integer(types[name])]
        if not ids:
            raise FippError(f"{path} has no column of text for the words; its columns are: {', '.join(names[:10])}")
        lists = [name for name in names if _is_list(types[name])]
        if lists:
            return cls(ids[0], (lists[0],), True)
        dimensions = tuple(name for name in numbers if name != ids[0])
        if not dimensions:
            raise FippError(f"{path} has no column of lists of numbers, and no columns of numbers, for the vectors")
        return cls(ids[0], dimensions, False)


def rows_of(
    batch: Any, columns: Columns, inspector: Inspector, seen: int, dimension: int | None
) -> tuple[list[str], FloatMatrix]:
    """Return the words and vectors of a batch of rows, ``seen`` being the number of rows before it.

    Lists of another length than ``dimension``, or than most if that is None, are skipped.
    """
    raw = _texts(batch.column(columns.word))
    matrix, good = (
        _from_lists(batch.column(columns.vectors[0]), dimension)
        if columns.are_lists
        else (_from_columns(batch, columns.vectors), np.ones(len(raw), dtype=bool))
    )
    words: list[str] = []
    kept = np.ones(len(matrix), dtype=bool)
    place = 0
    for row, (text, whole) in enumerate(zip(raw, good.tolist(), strict=True), seen):
        where = f"row {row}"
        word = "" if text is None else text if isinstance(text, str) else inspector.decode(text, where)
        if not whole:
            null = batch.column(columns.vectors[0])[row - seen].as_py() is None
            inspector.skip(NO_VECTOR if null else RAGGED, where, word)
            continue
        if text is None:
            inspector.skip(NO_WORD, where, "")
            kept[place] = False
        else:
            words.append(word)
        place += 1
    return words, matrix if kept.all() else matrix[kept]


def _is_text(type_: Any) -> bool:
    import pyarrow.types as kind

    if kind.is_dictionary(type_):
        return _is_text(type_.value_type)
    return bool(kind.is_string(type_) or kind.is_large_string(type_) or _is_view(type_))


def _is_view(type_: Any) -> bool:
    return str(type_) == "string_view"


def _is_list(type_: Any) -> bool:
    import pyarrow.types as kind

    is_list = kind.is_list(type_) or kind.is_large_list(type_) or kind.is_fixed_size_list(type_)
    return bool(is_list and (kind.is_floating(type_.value_type) or kind.is_integer(type_.value_type)))


def _texts(column: Any) -> list[Any]:
    """Return the values of a column of words: bytes, or text where Arrow has checked it, or None."""
    import pyarrow

    if pyarrow.types.is_integer(column.type):
        return [None if number is None else str(number) for number in column.to_pylist()]
    if pyarrow.types.is_dictionary(column.type) or _is_view(column.type):
        column.validate(full=True)
        return list((column.dictionary_decode() if hasattr(column, "dictionary_decode") else column).to_pylist())
    as_bytes = pyarrow.binary() if pyarrow.types.is_string(column.type) else pyarrow.large_binary()
    # As bytes, because Arrow does not look whether text is UTF-8, and we count it where it is not.
    raw = column.cast(as_bytes)
    raw.validate(full=True)
    return list(raw.to_pylist())


def _from_lists(column: Any, dimension: int | None) -> tuple[FloatMatrix, Any]:
    """Return the lists of one length as a matrix, and which rows they are."""
    column.validate(full=True)
    valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    lengths = np.full(len(column), -1, dtype=np.int64)
    lengths[valid] = _lengths(column, valid)
    # A slice's flatten leaves out what nulls hide.
    values = np.asarray(column.flatten().to_numpy(zero_copy_only=False))
    if values.dtype.kind not in "fiu":
        values = values.astype(np.float64)
    if dimension is None:
        # Of lengths that are equally frequent, the first.
        common = Counter(lengths[lengths > 0].tolist()).most_common(1)
        if not common:
            return np.zeros((0, 1), dtype=np.float32), np.zeros(len(column), dtype=bool)
        dimension = common[0][0]
    good = lengths == dimension
    if good.all():
        return as_float32(values.reshape(-1, dimension)), good
    ends = np.cumsum(np.maximum(lengths, 0))
    starts = (ends - lengths)[good]
    return as_float32(values[starts[:, np.newaxis] + np.arange(dimension)]), good


def _lengths(column: Any, valid: Any) -> Any:
    import pyarrow

    if pyarrow.types.is_fixed_size_list(column.type):
        return column.type.list_size
    return np.diff(column.offsets.to_numpy())[valid]


def _from_columns(batch: Any, names: tuple[str, ...]) -> FloatMatrix:
    columns = []
    for name in names:
        column = batch.column(name)
        column.validate(full=True)
        columns.append(np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64))
    with np.errstate(over="ignore"):
        return np.stack(columns, axis=1).astype(np.float32)
