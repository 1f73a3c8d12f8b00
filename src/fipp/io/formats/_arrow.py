"""Tables of ids and vectors in Parquet, Arrow IPC and Feather files, through pyarrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fipp._optional import require
from fipp.exceptions import FippError
from fipp.io._atomic import atomic_path
from fipp.io._report import NO_VECTOR, NO_WORD, RAGGED, Inspector
from fipp.io._rows import BLOCK_NUMBERS, FloatMatrix, RowCollector, as_floats
from fipp.io._stream import check_unicode, explained
from fipp.io._table import Options, Table, assemble, check_size

PARQUET_MARK = b"PAR1"
_FILE = b"ARROW1"
_STREAM = b"\xff\xff\xff\xff"
_FEATHER_1 = b"FEA1"
_BATCH_ROWS = 4096
_ID_NAMES = ("word", "words", "token", "id", "ids", "key")


def recognises_arrow(path: Path, opening: bytes) -> bool:
    """Return whether a file is Arrow IPC, as a file or a stream, or Feather."""
    return opening.startswith((_FILE, _FEATHER_1)) or (opening.startswith(_STREAM) and len(opening) > 8)


def read_arrow(path: Path, options: Options) -> Table:
    """Read a table: the words are its first column of text, the vectors its first column of lists of numbers.

    Without a column of lists, every column of numbers is a dimension.
    """
    inspector = Inspector(path, options.strict)
    words: list[str] = []
    collected: RowCollector | None = None
    seen = 0
    arrow = _pyarrow()
    errors = (arrow.ArrowException, OSError, MemoryError, ValueError, KeyError, OverflowError)
    with explained(path, "is damaged, or pyarrow cannot read it", *errors):
        for schema, batch in _batches(path, arrow):
            dimension = None if collected is None else collected.dimensions
            found, matrix = _rows_of(batch, _Columns.choose(schema, path), inspector, seen, dimension)
            seen += batch.num_rows
            if not found:
                continue
            if collected is None:
                collected = RowCollector(matrix.shape[1], scratch=options.scratch)
            check_size(len(words) + len(found), collected.dimensions, options.max_bytes, path)
            words += found
            collected.append(matrix)
            if options.limit is not None and len(words) >= options.limit:
                break
    if collected is None:
        raise FippError(f"{path} holds no vector that can be used")
    return assemble(words, collected.finish(), inspector, options.limit, options.scratch)


def write_parquet(table: Table, path: Path) -> None:
    """Write Parquet with the columns ``word`` and ``vector``."""
    _write(table, path, _pyarrow().parquet.ParquetWriter)


def write_arrow(table: Table, path: Path) -> None:
    """Write an Arrow IPC file, which is also Feather, with the columns ``word`` and ``vector``."""
    _write(table, path, _pyarrow().ipc.new_file)


def _write(table: Table, path: Path, open_writer: Callable[[str, Any], Any]) -> None:
    arrow = _pyarrow()
    check_unicode(table.words, path)
    schema = arrow.schema([("word", arrow.string()), ("vector", arrow.list_(arrow.float32(), table.dim))])
    with atomic_path(path) as temporary, open_writer(str(temporary), schema) as writer:
        for block in table.blocks(BLOCK_NUMBERS):
            words = arrow.array(table.words[block], arrow.string())
            numbers = arrow.array(np.ascontiguousarray(table.rows(block)).ravel(), arrow.float32())
            lists = arrow.FixedSizeListArray.from_arrays(numbers, table.dim)
            writer.write_batch(arrow.record_batch([words, lists], schema=schema))


def _pyarrow() -> Any:
    for module in ("pyarrow.compute", "pyarrow.ipc", "pyarrow.parquet", "pyarrow.types"):
        require(module, "a Parquet or Arrow file", extra="arrow")
    return require("pyarrow", "a Parquet or Arrow file", extra="arrow")


def _batches(path: Path, arrow: Any) -> Iterator[tuple[Any, Any]]:
    """Yield batches of rows, each with its schema."""
    with open(path, "rb") as file:
        opening = file.read(8)
    if opening.startswith(_FEATHER_1):
        raise FippError(f"{path} is Feather of version 1; write it again with a newer library, or as Parquet")
    if opening.startswith(PARQUET_MARK):
        with arrow.parquet.ParquetFile(path) as table:
            wanted = _Columns.choose(table.schema_arrow, path).names
            for batch in table.iter_batches(_BATCH_ROWS, columns=wanted):
                yield batch.schema, batch
        return
    with arrow.memory_map(str(path)) as source:
        if opening.startswith(_FILE):
            reader = arrow.ipc.open_file(source)
            whole = (reader.get_batch(number) for number in range(reader.num_record_batches))
        else:
            reader = arrow.ipc.open_stream(source)
            whole = iter(reader)
        for batch in whole:
            batch.validate()
            for start in range(0, batch.num_rows, _BATCH_ROWS):
                yield reader.schema, batch.slice(start, _BATCH_ROWS)


class _Columns(NamedTuple):
    """The column of words, and the column of lists or one column per dimension."""

    word: str
    vectors: tuple[str, ...]
    are_lists: bool

    @property
    def names(self) -> list[str]:
        """The names of all columns that are needed."""
        return [self.word, *self.vectors]

    @classmethod
    def choose(cls, schema: Any, path: Path) -> _Columns:
        """Choose by type: the first column of text, and the first column of lists or else all columns of numbers."""
        kind = _pyarrow().types
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


def _rows_of(
    batch: Any, columns: _Columns, inspector: Inspector, seen: int, dimension: int | None
) -> tuple[list[str], FloatMatrix]:
    """Return the words and vectors of a batch that follows ``seen`` rows.

    Lists whose length is not ``dimension``, or the most frequent one if that is None, are skipped.
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
    kind = _pyarrow().types
    if kind.is_dictionary(type_):
        return _is_text(type_.value_type)
    return bool(kind.is_string(type_) or kind.is_large_string(type_) or str(type_) == "string_view")


def _is_list(type_: Any) -> bool:
    kind = _pyarrow().types
    is_list = kind.is_list(type_) or kind.is_large_list(type_) or kind.is_fixed_size_list(type_)
    return bool(is_list and (kind.is_floating(type_.value_type) or kind.is_integer(type_.value_type)))


def _texts(column: Any) -> list[Any]:
    """Return the values of a column of words: bytes, None, or text where Arrow has checked it."""
    arrow = _pyarrow()
    if arrow.types.is_integer(column.type):
        return [None if number is None else str(number) for number in column.to_pylist()]
    if arrow.types.is_dictionary(column.type) or str(column.type) == "string_view":
        column.validate(full=True)
        return list((column.dictionary_decode() if hasattr(column, "dictionary_decode") else column).to_pylist())
    as_bytes = arrow.binary() if arrow.types.is_string(column.type) else arrow.large_binary()
    # As bytes, because Arrow does not check that text is UTF-8, and we count text that is not.
    raw = column.cast(as_bytes)
    raw.validate(full=True)
    return list(raw.to_pylist())


def _from_lists(column: Any, dimension: int | None) -> tuple[FloatMatrix, Any]:
    """Return the lists of one length as a matrix, and a mask of their rows."""
    column.validate(full=True)
    lengths = _pyarrow().compute.list_value_length(column).fill_null(-1).to_numpy().astype(np.int64)
    # flatten skips the values behind nulls.
    values = np.asarray(column.flatten().to_numpy(zero_copy_only=False))
    if values.dtype.kind not in "fiu":
        values = values.astype(np.float64)
    if dimension is None:
        # The most frequent length, the first of equals.
        common = Counter(lengths[lengths > 0].tolist()).most_common(1)
        if not common:
            return np.zeros((0, 1), dtype=np.float32), np.zeros(len(column), dtype=bool)
        dimension = common[0][0]
    good = lengths == dimension
    if good.all():
        return as_floats(values.reshape(-1, dimension)), good
    ends = np.cumsum(np.maximum(lengths, 0))
    starts = (ends - lengths)[good]
    return as_floats(values[starts[:, np.newaxis] + np.arange(dimension)]), good


def _from_columns(batch: Any, names: tuple[str, ...]) -> FloatMatrix:
    columns = [batch.column(name) for name in names]
    for column in columns:
        column.validate(full=True)
    arrays = [np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64) for column in columns]
    with np.errstate(over="ignore"):
        return np.stack(arrays, axis=1).astype(np.float32)
