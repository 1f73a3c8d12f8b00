"""Tables of LanceDB, which keeps the table ``docs`` in the folder ``docs.lance``: read, written and switched."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fipp._optional import require
from fipp.exceptions import FippError
from fipp.io import atomic_path, explain_failure, flush_folder, flush_to_disk
from fipp.stores._outputs import PathSink
from fipp.stores._store import BATCH_ROWS, FRAGMENT_ROWS, Fragment, Store, digest_of_file, pyarrow, scanned

LANCE = ".lance"
# A fragment is one file, however large; Lance counts its rows by 32 bits.
_MOST_ROWS, _MOST_BYTES = (1 << 31) - 1, 1 << 60


def _lance(module: str = "lance") -> Any:
    return require(module, "a table of LanceDB", extra="lance")


@contextmanager
def _explained(path: Path, problem: str) -> Iterator[None]:
    """Turn an error of Lance into a FippError; damaged files may even end in a panic of its own."""
    try:
        yield
    except FippError:
        raise
    except BaseException as error:
        if isinstance(error, (OSError, ValueError, RuntimeError)) or type(error).__name__ == "PanicException":
            raise FippError(f"{path} {problem}: {' '.join(str(error).split())[:300]}") from None
        raise


class LanceStore:
    """The rows of a table in the order of its own fragments, which never change but are replaced."""

    key: str | None = None
    fragment_rows = FRAGMENT_ROWS

    def __init__(self, address: str) -> None:
        self.address = address
        self.path = Path(address)
        if not self.path.is_dir():
            raise FippError(f"there is no table of LanceDB {self.path}")
        self._opened: Any = None

    @property
    def dataset(self) -> Any:
        """The table in one version, which stays the same while others write."""
        if self._opened is None:
            with _explained(self.path, "cannot be read as a table of LanceDB"):
                self._opened = _lance().dataset(str(self.path))
        return self._opened

    def close(self) -> None:
        """Forget the version; what is asked for later opens the newest one."""
        self._opened = None

    def schema(self) -> Any:
        """Return the Arrow schema of the rows."""
        return self.dataset.schema

    def count(self) -> int:
        """Return the number of rows."""
        with _explained(self.path, "cannot be counted"):
            return int(self.dataset.count_rows())

    def plan(self, rows: int, done: Sequence[Fragment] = ()) -> Generator[Fragment, None, None]:
        """Yield ranges of rows of the newest version, none of which spans two of its own fragments."""
        self.close()
        parts = self.dataset.get_fragments()
        for part in parts:
            version = hashlib.blake2b(json.dumps(_described(part)).encode(), digest_size=8).hexdigest()
            count, number = part.count_rows(), part.fragment_id
            for start in range(0, count, rows):
                stop = min(count, start + rows)
                yield Fragment(f"{number:08d}.{start:012d}", [number, start], [number, stop], stop - start, version)
        if not parts:
            yield Fragment("empty", None, None, 0)

    def scan(self, fragments: Iterable[Fragment]) -> Generator[tuple[Fragment, Any], None, None]:
        """Yield each fragment with its record batches."""
        for fragment in fragments:
            if fragment.rows == 0:
                yield fragment, pyarrow().RecordBatch.from_pylist([], self.schema())
                continue
            number, start = fragment.after
            with _explained(self.path, "cannot be read"):
                part = self.dataset.get_fragment(number)
                if part is None:
                    raise FippError(f"{self.path} was compacted while it was read: `fipp migrate resume` goes on")
                for batch in part.scanner(offset=start, limit=fragment.rows, batch_size=BATCH_ROWS).to_batches():
                    yield fragment, batch

    def batches(self) -> Generator[Any, None, None]:
        """Yield all rows as record batches."""
        return scanned(self)


class LanceSink(PathSink):
    """A new table. Its data files are collected beside the place, and one commit makes a table of them."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.suffix = ".json"
        self._pieces, self._table = self.staging / "pieces", self.staging / "table"
        self._there: dict[str, Any] | None = None

    def create(self, schema: Any, source: Store, size: int) -> None:
        """Make a folder for the fragments beside the place."""
        _lance()
        super().create(schema, source, size)

    def open(self, schema: Any, source: Store) -> None:
        """Go on with what `create` began."""
        super().open(schema, source)
        self._there = None

    def write(self, fragment: Fragment, batches: Iterable[Any]) -> str:
        """Write the data file of a fragment, then what the table must know of it, and return the file's checksum."""
        self.remove(fragment)
        failures: list[BaseException] = []

        def passed() -> Iterator[Any]:
            try:
                yield from batches
            except BaseException as error:  # Lance would make another one of it
                failures.append(error)
                raise

        reader = pyarrow().RecordBatchReader.from_batches(self._schema, passed())
        try:
            with _explained(self.path, "cannot be written"):
                parts = _lance("lance.fragment").write_fragments(
                    reader, str(self._table), schema=self._schema, mode="create", max_rows_per_file=_MOST_ROWS,
                    max_bytes_per_file=_MOST_BYTES,
                )  # fmt: skip
        except FippError:
            if failures:
                raise failures[0] from None
            raise
        if len(parts) > 1:
            raise FippError(f"{fragment.name} is too large for one data file of Lance: make --fragment-rows smaller")
        return self._keep(fragment, [part.to_json() for part in parts])

    def _keep(self, fragment: Fragment, described: list[dict[str, Any]]) -> str:
        """Name the data file, if there are rows, after its fragment, and note that it is whole."""
        named, checksum = self._data_file(fragment.name), ""
        for part in described:
            written = self._table / "data" / part["files"][0]["path"]
            part["files"][0]["path"] = named.name
            with explain_failure(named):
                flush_to_disk(written)
                os.replace(written, named)
                flush_folder(named.parent)
            checksum = digest_of_file(named)
        piece = self._piece(self._pieces, fragment.name)
        with explain_failure(piece):
            piece.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(piece) as temporary:
            temporary.write_text(json.dumps(described), encoding="utf-8")
        return checksum

    def _data_file(self, name: str, table: Path | None = None) -> Path:
        return (table or self._table) / "data" / (quote(name, safe="") + LANCE)

    def remove(self, fragment: Fragment) -> None:
        """Remove a fragment that the source no longer has."""
        self._piece(self._pieces, fragment.name).unlink(missing_ok=True)
        self._data_file(fragment.name).unlink(missing_ok=True)

    def finish(self, fragments: Sequence[Fragment], checksums: dict[str, str]) -> dict[str, str]:
        """Commit the fragments in their order as the first version of the table, and rename its folder."""
        if not self.path.exists():
            pieces = [self._piece(self._pieces, fragment.name).read_text(encoding="utf-8") for fragment in fragments]
            described = [part for piece in pieces for part in json.loads(piece)]
            self._remove_what_is_left(described)
            lance = _lance()
            from_json = _lance("lance.fragment").FragmentMetadata.from_json
            parts = [from_json(json.dumps(part)) for part in described]
            with _explained(self.path, "cannot be written"), explain_failure(self.path):
                lance.LanceDataset.commit(str(self._table), lance.LanceOperation.Overwrite(self._schema, parts))
                os.rename(self._table, self.path)
                flush_folder(self.path.parent)
        return checksums

    def _remove_what_is_left(self, described: list[dict[str, Any]]) -> None:
        """Remove what killed processes left: files that were not whole, and a commit that was not renamed."""
        known = {file["path"] for part in described for file in part["files"]}
        for path in self._table.glob("*/*"):
            if path.parent.name != "data" or path.name not in known:
                path.unlink()

    def checksum(self, name: str, fragment: Fragment | None) -> str:
        """Return the checksum of a data file, or nothing if the table has not got all of its rows any more."""
        if self._there is None:
            self._there = {}
            if self.path.exists():
                with closing(LanceStore(self.address)) as store:
                    parts = store.dataset.get_fragments()
                self._there = {part.metadata.files[0].path: part for part in parts}
        path = self._data_file(name, self.path)
        if path.name not in self._there:
            return ""
        return "" if self._there[path.name].num_deletions else digest_of_file(path)

    def read(self, fragment: Fragment, offset: int, like: Any) -> Iterator[Any]:
        """Yield the rows of a fragment."""
        with closing(LanceStore(self.address)) as store:
            for part in store.dataset.get_fragments():
                if part.metadata.files[0].path == self._data_file(fragment.name).name:
                    yield from part.to_batches(batch_size=BATCH_ROWS)

    def discard(self) -> None:
        """Remove everything that was written."""
        self._there = None
        super().discard()


def _described(part: Any) -> Any:
    return part.metadata.to_json()
