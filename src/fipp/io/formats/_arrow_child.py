"""Decoding Parquet and Arrow files, in a process of its own that may take only so much memory; `_arrow` starts it.

A few hundred bytes can decode to gigabytes: a long word in a dictionary that every row refers to, lists of a million
equal numbers, compressed buffers. Neither the metadata of a file nor pyarrow set a limit, so the system must: an
allocation that exceeds it fails, and nothing that happens here can harm the process of the user. Linux enforces the
limit; macOS and Windows have none that holds.

This file is a script that imports nothing of fipp, so that it starts quickly. It writes one `Batch` after the other to
standard output, each after a `HEADER`, or with the argument `WHOLE` every column as one uncompressed Arrow stream. If
it refuses a file, it writes the reason to standard error and ends with the code `REFUSED`.
"""

from __future__ import annotations

import os
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

PARQUET_MARK = b"PAR1"
FILE_MARK = b"ARROW1"
HEADER = struct.Struct("<4q")
"""The numbers of rows, of vectors, of their dimensions, and of bytes of text."""

REFUSED = 3
WHOLE = "whole"
GOOD, NULL, RAGGED = 0, 1, 2
"""The states of a row: it has a vector, none, or one of another length."""

_ID_NAMES = ("word", "words", "token", "id", "ids", "key")
_BATCH_ROWS = 4096
_BATCH_NUMBERS = 1 << 20
_WORKING_BYTES = 64 << 20


class RefusedError(ValueError):
    """A file that cannot be used; the message is for people."""


class Batch(NamedTuple):
    """Some rows of a table."""

    states: npt.NDArray[np.int8]
    """Whether each row has a vector."""
    matrix: npt.NDArray[np.float32]
    """The vectors of the rows that have one."""
    lengths: npt.NDArray[np.int64]
    """The bytes of each word, -1 for a null."""
    text: bytes
    """The bytes of all words."""


def main() -> int:
    """Decode the file that the arguments name, within the memory that they allow."""
    path, max_bytes = sys.argv[1], int(sys.argv[2])
    import pyarrow
    import pyarrow.compute
    import pyarrow.ipc
    import pyarrow.parquet

    pyarrow.set_cpu_count(1)
    limit_memory(max_bytes + os.path.getsize(path) + _WORKING_BYTES)
    try:
        write = _write_whole if WHOLE in sys.argv[3:] else _write_batches
        with explained(path, max_bytes):
            write(path, max_bytes)
        sys.stdout.buffer.flush()
    except RefusedError as error:
        sys.stderr.write(f"{error}\n")
        return REFUSED
    except BrokenPipeError:  # the parent has all that it wants
        os._exit(0)
    return 0


def limit_memory(more: int) -> None:
    """Let this process take ``more`` bytes than it has now."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + more, size + more))


@contextmanager
def explained(path: str, max_bytes: int) -> Iterator[None]:
    """Raise a RefusedError for whatever pyarrow says about a file."""
    import pyarrow

    try:
        yield
    except (RefusedError, BrokenPipeError):
        raise
    except (MemoryError, pyarrow.ArrowMemoryError) as error:
        raise RefusedError(_too_large(path, max_bytes)) from error
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        raise RefusedError(f"{path} is damaged, or pyarrow cannot read it: {error}"[:2000]) from error


def _write_batches(path: str, max_bytes: int) -> None:
    for batch in decode(path, max_bytes):
        sys.stdout.buffer.write(HEADER.pack(len(batch.states), *batch.matrix.shape, len(batch.text)))
        for part in batch:
            sys.stdout.buffer.write(part if isinstance(part, bytes) else part.tobytes())


def _write_whole(path: str, _: int) -> None:
    """Write every column of every row, checked and without dictionaries, as a stream that needs no decoding."""
    import pyarrow as arrow

    writer = None
    for batch in _all_batches(path):
        batch.validate(full=True)
        columns = [each.dictionary_decode() if arrow.types.is_dictionary(each.type) else each for each in batch.columns]
        plain = arrow.record_batch(columns, names=batch.schema.names)
        writer = writer or arrow.ipc.new_stream(sys.stdout.buffer, plain.schema)
        writer.write_batch(plain)
    if writer is None:
        raise RefusedError(f"{path} has no rows")
    writer.close()


def _all_batches(path: str) -> Iterator[Any]:
    """Yield all columns of a table in small batches of rows."""
    import pyarrow.parquet

    if _opening(path).startswith(PARQUET_MARK):
        with pyarrow.parquet.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as table:
            yield from table.iter_batches(_BATCH_ROWS, use_threads=False)
    else:
        for _, whole in _ipc_batches(path):
            yield from (whole.slice(start, _BATCH_ROWS) for start in range(0, whole.num_rows, _BATCH_ROWS))


def decode(path: str, max_bytes: int) -> Iterator[Batch]:
    """Yield the rows of a table; raise a RefusedError if that is not possible."""
    with explained(path, max_bytes):
        yield from _decode(path, max_bytes)


def _decode(path: str, max_bytes: int) -> Iterator[Batch]:
    dimension: int | None = None
    for columns, batch in _batches(path):
        lengths, text = _words(batch.column(columns.word), path, max_bytes)
        if columns.are_lists:
            matrix, states, dimension = _from_lists(batch.column(columns.vectors[0]), dimension)
        else:
            matrix, states = _from_columns(batch, columns.vectors), np.zeros(batch.num_rows, dtype=np.int8)
        yield Batch(states, matrix, lengths, text)


def _batches(path: str) -> Iterator[tuple[_Columns, Any]]:
    """Yield small batches of rows, and which columns to take."""
    if _opening(path).startswith(PARQUET_MARK):
        yield from _parquet_batches(path)
        return
    columns = None
    for schema, batch in _ipc_batches(path):
        columns = columns or _Columns.choose(schema, path)
        rows = _rows_per_batch(batch.nbytes / 4, batch.num_rows)
        for start in range(0, batch.num_rows, rows):
            yield columns, batch.slice(start, rows)


def _opening(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(8)


def _ipc_batches(path: str) -> Iterator[tuple[Any, Any]]:
    """Yield the schema and each batch of an Arrow file or stream."""
    import pyarrow as arrow

    options = arrow.ipc.IpcReadOptions(use_threads=False)
    with arrow.memory_map(path) as source:
        if _opening(path).startswith(FILE_MARK):
            reader = arrow.ipc.open_file(source, options=options)
            whole = (reader.get_batch(number) for number in range(reader.num_record_batches))
        else:
            reader = arrow.ipc.open_stream(source, options=options)
            whole = iter(reader)
        for batch in whole:
            batch.validate()
            yield reader.schema, batch


def _parquet_batches(path: str) -> Iterator[tuple[_Columns, Any]]:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as table:
        columns = _Columns.choose(table.schema_arrow, path)
        groups = [table.metadata.row_group(number) for number in range(table.num_row_groups)]
        parts = [group.column(number) for group in groups for number in range(group.num_columns)]
    # Words that a dictionary lists once are not repeated before their lengths are known. pyarrow cannot do that if
    # some words are stored as their differences.
    has_differences = any(
        "DELTA" in name for part in parts if part.path_in_schema == columns.word for name in part.encodings
    )
    dictionaries = [] if has_differences else [columns.word]
    with pyarrow.parquet.ParquetFile(
        path, read_dictionary=dictionaries, buffer_size=1 << 20, pre_buffer=False
    ) as table:
        for number, group in enumerate(groups):
            numbers = sum(group.column(column).num_values for column in range(group.num_columns))
            rows = _rows_per_batch(numbers, group.num_rows)
            for batch in table.iter_batches(rows, row_groups=[number], columns=columns.names, use_threads=False):
                yield columns, batch


def _rows_per_batch(numbers: float, rows: int) -> int:
    return max(1, min(_BATCH_ROWS, int(_BATCH_NUMBERS * rows / max(1, numbers))))


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
    def choose(cls, schema: Any, path: str) -> _Columns:
        """Choose by type: the first column of text, and the first column of lists or else all columns of numbers."""
        import pyarrow.types as kind

        names = schema.names
        if len(set(names)) < len(names):
            raise RefusedError(f"{path} has two columns of the same name")
        types = dict(zip(names, schema.types, strict=True))
        texts = [name for name in names if _is_text(types[name])]
        numbers = [name for name in names if kind.is_integer(types[name]) or kind.is_floating(types[name])]
        ids = texts or [name for name in numbers if name.lower() in _ID_NAMES and kind.is_integer(types[name])]
        if not ids:
            raise RefusedError(f"{path} has no column of text for the words; its columns are: {', '.join(names[:10])}")
        lists = [name for name in names if _is_list(types[name])]
        if lists:
            return cls(ids[0], (lists[0],), True)
        dimensions = tuple(name for name in numbers if name != ids[0])
        if not dimensions:
            raise RefusedError(f"{path} has no column of lists of numbers, and no columns of numbers, for the vectors")
        return cls(ids[0], dimensions, False)


def _is_text(type_: Any) -> bool:
    import pyarrow.types as kind

    if kind.is_dictionary(type_):
        return _is_text(type_.value_type)
    return bool(kind.is_string(type_) or kind.is_large_string(type_) or str(type_) == "string_view")


def _is_list(type_: Any) -> bool:
    import pyarrow.types as kind

    is_list = kind.is_list(type_) or kind.is_large_list(type_) or kind.is_fixed_size_list(type_)
    return bool(is_list and (kind.is_floating(type_.value_type) or kind.is_integer(type_.value_type)))


def _words(column: Any, path: str, max_bytes: int) -> tuple[npt.NDArray[np.int64], bytes]:
    """Return the lengths of the words, -1 for null, and their bytes: Arrow does not check that text is UTF-8."""
    import pyarrow as arrow

    if arrow.types.is_integer(column.type):
        column.validate(full=True)
        column = column.cast(arrow.string())
    if arrow.types.is_dictionary(column.type):
        texts, column = _as_bytes(column.dictionary), column.indices
        column.validate(full=True)
        needed = arrow.compute.sum(arrow.compute.binary_length(texts).take(column).cast(arrow.int64())).as_py() or 0
        if needed > max_bytes:
            raise RefusedError(_too_large(path, max_bytes))
        column = texts.take(column)
    column = _as_bytes(column)
    lengths = arrow.compute.binary_length(column).cast(arrow.int64()).fill_null(-1).to_numpy()
    # One list of all words, joined: without bytes behind nulls, or of rows that the batch leaves out.
    present = column.drop_null().cast(arrow.large_binary())
    together = arrow.LargeListArray.from_arrays(arrow.array([0, len(present)], arrow.int64()), present)
    joined = arrow.compute.binary_join(together, arrow.scalar(b"", arrow.large_binary()))
    return lengths, joined[0].as_buffer().to_pybytes()


def _as_bytes(column: Any) -> Any:
    import pyarrow as arrow

    if str(column.type) == "string_view":
        column.validate(full=True)
        column = column.cast(arrow.large_string())
    raw = column.cast(arrow.binary() if arrow.types.is_string(column.type) else arrow.large_binary())
    raw.validate(full=True)
    return raw


def _from_lists(column: Any, dimension: int | None) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int8], int | None]:
    """Return the lists of one length as a matrix, the states of all rows, and that length.

    It is ``dimension``, or the most frequent one if that is None.
    """
    import pyarrow.compute

    column.validate(full=True)
    lengths = pyarrow.compute.list_value_length(column).fill_null(-1).to_numpy().astype(np.int64)
    # flatten skips the values behind nulls.
    values = np.asarray(column.flatten().to_numpy(zero_copy_only=False))
    if dimension is None:
        # The most frequent length, the first of equals.
        common = Counter(lengths[lengths > 0].tolist()).most_common(1)
        dimension = common[0][0] if common else None
    states = np.where(lengths < 0, NULL, RAGGED).astype(np.int8)
    if dimension is None:
        return np.zeros((0, 1), dtype=np.float32), states, None
    good = lengths == dimension
    states[good] = GOOD
    if not good.all():
        ends = np.cumsum(np.maximum(lengths, 0))
        values = values[((ends - lengths)[good])[:, np.newaxis] + np.arange(dimension)]
    return _as_floats(values).reshape(-1, dimension), states, dimension


def _from_columns(batch: Any, names: tuple[str, ...]) -> npt.NDArray[np.float32]:
    matrix = np.empty((batch.num_rows, len(names)), dtype=np.float32)
    for place, name in enumerate(names):
        column = batch.column(name)
        column.validate(full=True)
        matrix[:, place] = _as_floats(np.asarray(column.to_numpy(zero_copy_only=False)))
    return matrix


def _as_floats(values: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore"):  # numbers that are too large become infinite, which is checked later
        return values.astype(np.float32, copy=False)


def _too_large(path: str, max_bytes: int) -> str:
    return f"{path} needs more than {max_bytes:,} bytes of memory; max_bytes sets the limit"


if __name__ == "__main__":
    sys.exit(main())
