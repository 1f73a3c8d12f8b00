"""The rows of files, folders and patterns, in order; and how tables in Parquet, Arrow and Feather are read."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate
from pathlib import Path
from typing import Any

from fipp.exceptions import FippError
from fipp.io import explained
from fipp.stores._matrices import MATRICES, FileKind, beside
from fipp.stores._store import BATCH_ROWS, FRAGMENT_ROWS, Fragment, pyarrow, scanned

_STREAM_BYTES = 1 << 20
# Row groups of Parquet with more rows are divided, so that an interruption does not cost too much.
_MOST_FRAGMENT_ROWS = 1 << 20


class FileStore:
    """The rows of one file, of a folder or of all files that match a pattern, in the order of their names."""

    key: str | None = None

    def __init__(self, address: str) -> None:
        self.address = address
        self.root, self.paths = _find_files(address)
        self.suffix = self.paths[0].suffix.lower()
        self._kind = KINDS[self.suffix]

    def schema(self) -> Any:
        """Return the Arrow schema of the rows."""
        return self._explained(self.paths[0], self._kind.schema)

    def count(self) -> int:
        """Return the number of rows; refuse files that do not belong together before they are read."""
        schema = self.schema()
        for path in self.paths[1:]:
            self._check_columns(path, schema)
        return sum(self._explained(path, self._kind.count) for path in self.paths)

    @property
    def fragment_rows(self) -> int:
        """How many rows a fragment should have: whole row groups, because workers read one from its start."""
        together = self._explained(self.paths[0], self._kind.rows_read_together)
        rows = together * -(-FRAGMENT_ROWS // together)
        return rows if rows <= _MOST_FRAGMENT_ROWS else FRAGMENT_ROWS

    @property
    def partition(self) -> str:
        """The first folder like ``year=2024`` whose value is in no column of the files; nothing if there is none."""
        folders = (part for path in self.paths for part in path.relative_to(self.root).parts[:-1] if "=" in part)
        columns = self.schema().names
        return next((folder for folder in folders if folder.partition("=")[0] not in columns), "")

    def plan(self, rows: int, done: Sequence[Fragment] = ()) -> Generator[Fragment, None, None]:
        """Yield ranges of rows, none of which spans two files; a file's size and time are the version."""
        _, paths = _find_files(self.address)
        for path in paths:
            version = ".".join(map(_stamp, [path, *filter(Path.exists, beside(path))]))
            count = self._explained(path, self._kind.count)
            place = path.relative_to(self.root).as_posix()
            stem = place[: -len(path.suffix)]
            for start in range(0, max(count, 1), rows):
                stop = min(count, start + rows)
                name = stem if stop - start == count else f"{stem}.{start:012d}"
                yield Fragment(name, [place, start], [place, stop], stop - start, version)

    def scan(self, fragments: Iterable[Fragment]) -> Generator[tuple[Fragment, Any], None, None]:
        """Yield each fragment with its record batches; neighbouring fragments are read on without a new start."""
        reached: list[Any] = []
        rows = _Rows(iter(()))
        schema = self.schema()
        for fragment in fragments:
            if fragment.after != reached:
                path = self.root / fragment.after[0]
                self._check_columns(path, schema)
                rows = _Rows(self._batches(path, fragment.after[1]))
            reached = fragment.last
            left = fragment.rows
            while left:
                batch = rows.take(min(left, BATCH_ROWS))
                left -= len(batch)
                yield fragment, batch
            if fragment.rows == 0:
                yield fragment, pyarrow().RecordBatch.from_pylist([], schema)

    def batches(self) -> Generator[Any, None, None]:
        """Yield all rows as record batches."""
        return scanned(self)

    def close(self) -> None:
        """Do nothing: a file is open only while it is read."""

    def holds(self, path: Path) -> bool:
        """Return whether what is written to a path, or to files in it, would belong to the store."""
        here = Path(os.path.realpath(path))
        if Path(self.address).is_dir():
            return here.is_relative_to(os.path.realpath(self.address))
        # Only the folder of a pattern is certain to be there, and may be a link.
        root, pattern = Path(os.path.realpath(self.root)), Path(self.address).parts[len(self.root.parts) :]
        return here.is_relative_to(root) and any(
            _fits(each.relative_to(root).parts, pattern) for each in (here, here / f"fragment{self.suffix}")
        )

    def _batches(self, path: Path, start: int) -> Iterator[Any]:
        arrow = pyarrow()
        with explained(path, f"cannot be read as {self._kind.description}", arrow.ArrowException, OSError, ValueError):
            yield from self._kind.batches(path, start)

    def _explained(self, path: Path, ask: Callable[[Path], Any]) -> Any:
        arrow = pyarrow()
        with explained(path, f"cannot be read as {self._kind.description}", arrow.ArrowException, OSError, ValueError):
            return ask(path)

    def _check_columns(self, path: Path, schema: Any) -> None:
        if not self._explained(path, self._kind.schema).equals(schema):
            raise FippError(f"{path} has other columns, or columns of other types, than {self.paths[0]}")


class _Rows:
    """Takes as many rows as are asked for from record batches of any size."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches
        self._held: Any = None

    def take(self, count: int) -> Any:
        """Return the next ``count`` rows as one record batch."""
        parts, missing = [], count
        while missing:
            if self._held is None or not len(self._held):
                self._held = next(self._batches, None)
                if self._held is None:
                    raise FippError("a file of the source became shorter while it was read")
            part = self._held.slice(0, missing)
            self._held = self._held.slice(len(part))
            missing -= len(part)
            parts.append(part)
        if len(parts) == 1:
            return parts[0]
        return pyarrow().Table.from_batches(parts).combine_chunks().to_batches()[0]


def _find_files(address: str) -> tuple[Path, list[Path]]:
    """Return a folder and the files in it that an address names, in order."""
    path = Path(address)
    if path.is_dir():
        root = path
        found = [each for each in path.rglob("*") if each.is_file() and _is_visible(each.relative_to(path))]
        found = [each for each in found if each.suffix.lower() in KINDS]
    elif glob.has_magic(address) and not path.exists():
        root = Path(*_before_magic(path.parts))
        found = [Path(each) for each in glob.glob(address, recursive=True) if os.path.isfile(each)]
    else:
        root, found = path.parent, [path]
        if not path.exists():
            raise FippError(f"there is no file {path}")
    unknown = [each for each in found if each.suffix.lower() not in KINDS]
    if unknown or not found:
        known = ", ".join(KINDS)
        raise FippError(f"{unknown[0] if unknown else address} is no store that fipp knows: files end in {known}")
    kinds = {each.suffix.lower() for each in found}
    if len(kinds) > 1:
        raise FippError(f"{address} has files of several kinds ({', '.join(sorted(kinds))}): name one of them")
    return root, sorted(found, key=lambda each: each.as_posix())


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether the parts of a path match those of a pattern."""
    if not (parts and pattern):
        return not parts and set(pattern) <= {"**"}
    if pattern[0] == "**":
        return _fits(parts, pattern[1:]) or _fits(parts[1:], pattern)
    return fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size}.{status.st_mtime_ns}"


def _is_visible(path: Path) -> bool:
    return not any(part.startswith((".", "_")) for part in path.parts) and not path.name.endswith(".ids.npy")


def _before_magic(parts: tuple[str, ...]) -> list[str]:
    magic = next(place for place, part in enumerate(parts) if glob.has_magic(part))
    return list(parts[:magic])


# Parquet


def _parquet(path: Path) -> Any:
    # A buffered stream reads pages one after the other instead of a whole row group.
    return pyarrow("pyarrow.parquet").ParquetFile(path, buffer_size=_STREAM_BYTES, pre_buffer=False)


def _parquet_schema(path: Path) -> Any:
    with _parquet(path) as file:
        return file.schema_arrow


def _parquet_count(path: Path) -> int:
    with _parquet(path) as file:
        return int(file.metadata.num_rows)


def _rows_of_a_group(path: Path) -> int:
    with _parquet(path) as file:
        return max(1, file.metadata.row_group(0).num_rows) if file.metadata.num_row_groups else 1


def _parquet_batches(path: Path, start: int) -> Iterator[Any]:
    with _parquet(path) as file:
        groups = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
        ends = list(accumulate(groups))
        first = next((group for group, end in enumerate(ends) if end > start), len(groups))
        skipped = start - (ends[first - 1] if first else 0)
        wanted = list(range(first, len(groups)))
        for batch in file.iter_batches(BATCH_ROWS, row_groups=wanted, use_threads=False):
            if skipped >= len(batch):
                skipped -= len(batch)
                continue
            yield batch.slice(skipped)
            skipped = 0


# Arrow and Feather: the file format, or the stream format that some programs write under the same name


def _arrow_reader(file: Any) -> Any:
    ipc = pyarrow("pyarrow.ipc")
    try:
        return ipc.open_file(file)
    except pyarrow().ArrowInvalid:
        file.seek(0)
        return ipc.open_stream(file)


def _arrow_batches(path: Path, start: int = 0) -> Iterator[Any]:
    with pyarrow().OSFile(str(path)) as file, _arrow_reader(file) as reader:
        count = getattr(reader, "num_record_batches", None)
        batches = reader if count is None else (reader.get_batch(number) for number in range(count))
        for batch in batches:
            if start >= len(batch):
                start -= len(batch)
                continue
            yield batch.slice(start)
            start = 0


def _arrow_count(path: Path) -> int:
    return sum(map(len, _arrow_batches(path)))


def _arrow_schema(path: Path) -> Any:
    with pyarrow().OSFile(str(path)) as file, _arrow_reader(file) as reader:
        return reader.schema


_PARQUET = FileKind("Parquet", _parquet_schema, _parquet_count, _parquet_batches, _rows_of_a_group)
TABLES = {
    ".parquet": _PARQUET,
    ".pq": _PARQUET,
    ".arrow": FileKind("Arrow", _arrow_schema, _arrow_count, _arrow_batches),
    ".ipc": FileKind("Arrow", _arrow_schema, _arrow_count, _arrow_batches),
    ".feather": FileKind("Feather", _arrow_schema, _arrow_count, _arrow_batches),
}
KINDS: Mapping[str, FileKind] = {**TABLES, **MATRICES}
"""The kinds of files by their suffix."""
