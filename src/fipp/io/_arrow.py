"""Tables of ids and vectors in Parquet, Arrow IPC and Feather files, through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from fipp.exceptions import FippError
from fipp.io._arrow_columns import Columns, rows_of
from fipp.io._assemble import assemble
from fipp.io._atomic import atomic_path
from fipp.io._named import check_bytes, check_unicode
from fipp.io._report import Inspector
from fipp.io._rows import RowCollector, blocks
from fipp.io._stream import DEFAULT_MAX_BYTES
from fipp.io._vectors import Vectors

_PARQUET = b"PAR1"
_FILE = b"ARROW1"
_STREAM = b"\xff\xff\xff\xff"
_FEATHER_1 = b"FEA1"
_BATCH_ROWS = 4096


def recognises_parquet(path: Path, opening: bytes) -> bool:
    """Tell whether a file is in Parquet."""
    return opening.startswith(_PARQUET)


def recognises_arrow(path: Path, opening: bytes) -> bool:
    """Tell whether a file is Arrow IPC, as a file or a stream, or Feather."""
    return opening.startswith((_FILE, _FEATHER_1)) or (opening.startswith(_STREAM) and len(opening) > 8)


def read_arrow(
    path: Path, *, limit: int | None = None, strict: bool = False, max_bytes: int = DEFAULT_MAX_BYTES
) -> Vectors:
    """Read a table: the words are its first column of text, the vectors its first column of lists of numbers.

    Without a column of lists, every column of numbers is a dimension. Rows without word or vector are skipped and
    counted.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow, pyarrow.feather
    >>> path = Path(tempfile.mkdtemp(), "animals.feather")
    >>> pyarrow.feather.write_feather(pyarrow.table({"id": ["cat", "dog"], "v": [[1.0, 0.0], [0.5, 2.0]]}), path)
    >>> read_arrow(path)["dog"]
    array([0.5, 2. ], dtype=float32)
    """
    inspector = Inspector(path, strict)
    words: list[str] = []
    collected: RowCollector | None = None
    seen = 0
    with _reading(path) as arrow:
        for schema, batch in _batches(path, arrow):
            dimension = None if collected is None else collected.dimensions
            found, matrix = rows_of(batch, Columns.choose(schema, path), inspector, seen, dimension)
            seen += batch.num_rows
            if not found:
                continue
            if collected is None:
                collected = RowCollector(matrix.shape[1])
            check_bytes(len(words) + len(found), collected.dimensions, max_bytes, path)
            words += found
            collected.append(matrix)
            if limit is not None and len(words) >= limit:
                break
    if collected is None:
        raise FippError(f"{path} holds no vector that can be used")
    return assemble(words, collected.finish(), inspector, limit)


def write_parquet(vectors: Vectors, path: Path) -> None:
    """Write Parquet with the columns ``word`` and ``vector``.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "animals.parquet")
    >>> write_parquet(Vectors(["cat", "dog"], [[1.0], [2.0]]), path)
    >>> read_arrow(path).words
    ('cat', 'dog')
    """
    with _importing(path) as arrow:
        from pyarrow.parquet import ParquetWriter

        with atomic_path(path) as temporary, ParquetWriter(temporary, _schema(arrow, vectors)) as writer:
            for batch in _record_batches(arrow, vectors, path):
                writer.write_batch(batch)


def write_arrow(vectors: Vectors, path: Path) -> None:
    """Write an Arrow IPC file, which is Feather too, with the columns ``word`` and ``vector``.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "animals.arrow")
    >>> write_arrow(Vectors(["cat", "dog"], [[1.0], [2.0]]), path)
    >>> read_arrow(path).words
    ('cat', 'dog')
    """
    with (
        _importing(path) as arrow,
        atomic_path(path) as temporary,
        arrow.ipc.new_file(str(temporary), _schema(arrow, vectors)) as writer,
    ):
        for batch in _record_batches(arrow, vectors, path):
            writer.write_batch(batch)


@contextmanager
def _importing(path: Path) -> Iterator[ModuleType]:
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError as error:
        raise FippError(f"{path} needs pyarrow: pip install 'fipp[arrow]'") from error
    yield pyarrow


@contextmanager
def _reading(path: Path) -> Iterator[ModuleType]:
    with _importing(path) as arrow:
        try:
            yield arrow
        except FippError:
            raise
        except (arrow.ArrowException, OSError, MemoryError, ValueError, KeyError, OverflowError) as error:
            raise FippError(f"{path} is damaged, or pyarrow cannot read it: {error}") from error


def _batches(path: Path, arrow: ModuleType) -> Iterator[tuple[Any, Any]]:
    """Yield the schema and each batch of rows."""
    with open(path, "rb") as file:
        opening = file.read(8)
    if opening.startswith(_FEATHER_1):
        raise FippError(f"{path} is Feather of version 1; write it again with a newer library, or as Parquet")
    if opening.startswith(_PARQUET):
        from pyarrow.parquet import ParquetFile

        with ParquetFile(path) as table:
            wanted = Columns.choose(table.schema_arrow, path).names
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


def _schema(arrow: ModuleType, vectors: Vectors) -> Any:
    return arrow.schema([("word", arrow.string()), ("vector", arrow.list_(arrow.float32(), vectors.dim))])


def _record_batches(arrow: ModuleType, vectors: Vectors, path: Path) -> Iterator[Any]:
    for block in blocks(len(vectors), vectors.dim):
        words = vectors.words[block]
        check_unicode(words, path)
        numbers = arrow.array(np.ascontiguousarray(vectors.matrix[block]).ravel(), arrow.float32())
        lists = arrow.FixedSizeListArray.from_arrays(numbers, vectors.dim)
        yield arrow.record_batch([arrow.array(words, arrow.string()), lists], schema=_schema(arrow, vectors))
