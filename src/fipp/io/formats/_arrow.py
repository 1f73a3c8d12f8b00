"""Tables of ids and vectors in Parquet, Arrow IPC and Feather files, through pyarrow."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from fipp._optional import require
from fipp.exceptions import FippError
from fipp.io._atomic import atomic_path
from fipp.io._budget import Budget, bytes_allowed
from fipp.io._report import NO_VECTOR, NO_WORD, RAGGED, Inspector
from fipp.io._rows import BLOCK_NUMBERS, FloatMatrix, RowCollector
from fipp.io._stream import check_readable, check_unicode
from fipp.io._table import Options, Table, assemble
from fipp.io.formats import _arrow_child
from fipp.io.formats._arrow_child import FILE_MARK, Batch

_STREAM = b"\xff\xff\xff\xff"
_FEATHER_1 = b"FEA1"


def recognises_arrow(path: Path, opening: bytes) -> bool:
    """Return whether a file is Arrow IPC, as a file or a stream, or Feather."""
    return opening.startswith((FILE_MARK, _FEATHER_1)) or (opening.startswith(_STREAM) and len(opening) > 8)


def read_arrow(path: Path, options: Options) -> Table:
    """Read a table: the words are its first column of text, the vectors its first column of lists of numbers.

    Without a column of lists, every column of numbers is a dimension.
    """
    check_readable(path)
    with open(path, "rb") as file:
        if file.read(4) == _FEATHER_1:
            raise FippError(f"{path} is Feather of version 1; write it again with a newer library, or as Parquet")
    inspector = Inspector(path, options.strict)
    budget = options.budget(path)
    words: list[str] = []
    collected: RowCollector | None = None
    seen = 0
    with closing(decoded(path, budget)) as batches:
        for batch in batches:
            found, matrix = _rows_of(batch, inspector, seen)
            seen += len(batch.states)
            if not found:
                continue
            if collected is None:
                collected = RowCollector(matrix.shape[1], scratch=options.scratch)
            budget.take_words(found)
            budget.take_numbers(matrix.nbytes)
            words += found
            collected.append(matrix)
            if options.limit is not None and len(words) >= options.limit:
                break
    if collected is None:
        raise FippError(f"{path} holds no vector that can be used")
    return assemble(words, collected.finish(), inspector, options.limit, options.scratch)


def decoded(path: Path, budget: Budget) -> Generator[Batch, None, None]:
    """Yield the batches of a table from a process of its own."""
    with _child(path, budget) as stream:
        while (batch := _next_batch(stream, budget)) is not None:
            yield batch


def read_whole(path: Path, max_bytes: int | float | str | None = None) -> Any:
    """Return a Parquet, Arrow or Feather file with all its columns as a `pyarrow.Table`, decoded within ``max_bytes``.

    None is half of the machine's memory.
    """
    with closing(whole_batches(path, max_bytes, kept=True)) as batches:
        return _pyarrow().Table.from_batches(list(batches))


def whole_batches(
    path: Path, max_bytes: int | float | str | None = None, *, kept: bool = False
) -> Generator[Any, None, None]:
    """Yield the record batches of a file with all its columns, each within ``max_bytes``, or all if they are kept."""
    check_readable(path)
    arrow, max_bytes = _pyarrow(), bytes_allowed(max_bytes)
    with _child(path, Budget(path, max_bytes), _arrow_child.WHOLE) as stream:
        counted = _Counted(stream, Budget(path, max_bytes))
        try:
            for batch in arrow.ipc.open_stream(counted):
                yield batch
                if not kept:
                    counted.budget = Budget(path, max_bytes)
            return
        except arrow.ArrowInvalid:  # the process ended early, and says why when its stream is closed
            stream.read()
    raise FippError(f"{path} is damaged: its decoded stream ended early")


class _Counted:
    """A stream for pyarrow, which says beforehand how much it reads."""

    def __init__(self, stream: IO[bytes], budget: Budget) -> None:
        self._stream, self.budget = stream, budget
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        self.budget.expect(max(size, 0))
        found = self._stream.read(size)
        self.budget.take(len(found))
        return found

    def close(self) -> None:
        self.closed = True


@contextmanager
def _child(path: Path, budget: Budget, *arguments: str) -> Iterator[IO[bytes]]:
    """Decode a file in a process of its own; what that writes is yielded as a stream."""
    if importlib.util.find_spec("pyarrow") is None:
        _pyarrow()  # says what to install
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(folder or os.getcwd() for folder in sys.path),
        # A limit counts address space, of which these would reserve more than they use.
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "MALLOC_ARENA_MAX": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, _arrow_child.__file__, str(path.absolute()), str(budget.max_bytes), *arguments]
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints, env=environment
        ) as child,
    ):
        assert child.stdout is not None
        try:
            yield child.stdout
        except BaseException:  # the caller has all that it wants, or was interrupted
            child.kill()
            raise
        if code := child.wait():
            complaints.seek(0)
            said = complaints.read(4000).decode("utf-8", "replace").strip()
            if code == _arrow_child.REFUSED:
                raise FippError(said)
            raise FippError(
                f"{path} is damaged, or needs more than {budget.max_bytes:,} bytes of memory: pyarrow ended with "
                f"{code}. {said[-300:]}"
            )


def _next_batch(stream: IO[bytes], budget: Budget) -> Batch | None:
    """Read a batch; None if there is no further one that is whole."""
    opening = stream.read(_arrow_child.HEADER.size)
    if len(opening) < _arrow_child.HEADER.size:
        return None
    rows, good, dimensions, text = _arrow_child.HEADER.unpack(opening)
    budget.expect(4 * good * dimensions + 2 * text)  # words are there as bytes and as text
    sizes = (rows, 4 * good * dimensions, 8 * rows, text)
    parts = [stream.read(size) for size in sizes]
    if len(parts[-1]) < text:
        return None
    states, matrix, lengths = (
        np.frombuffer(*part) for part in zip(parts, (np.int8, np.float32, np.int64), strict=False)
    )
    return Batch(states, matrix.reshape(good, dimensions), lengths, parts[-1])


def _rows_of(batch: Batch, inspector: Inspector, seen: int) -> tuple[list[str], FloatMatrix]:
    """Return the words and vectors of a batch that follows ``seen`` rows; rows without one of them are skipped."""
    words: list[str] = []
    kept: list[bool] = []
    end = 0
    for row, (state, length) in enumerate(zip(batch.states.tolist(), batch.lengths.tolist(), strict=True), seen):
        start, end = end, end + max(0, length)
        where = f"row {row}"
        word = inspector.decode(batch.text[start:end], where)
        if state != _arrow_child.GOOD:
            inspector.skip(NO_VECTOR if state == _arrow_child.NULL else RAGGED, where, word)
            continue
        kept.append(length >= 0)
        if length < 0:
            inspector.skip(NO_WORD, where, "")
        else:
            words.append(word)
    return words, batch.matrix if all(kept) else batch.matrix[kept]


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
    for module in ("pyarrow.ipc", "pyarrow.parquet"):
        require(module, "a Parquet or Arrow file", extra="arrow")
    return require("pyarrow", "a Parquet or Arrow file", extra="arrow")
