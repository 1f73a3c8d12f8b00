"""Converted rows in files: a folder with one file per fragment, or one file that is put together at the end."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fipp.exceptions import FippError
from fipp.io import explain_failure, flush_folder
from fipp.stores._files import KINDS, FileStore
from fipp.stores._matrices import beside
from fipp.stores._store import Fragment, Store, digest_of_file, switched_since
from fipp.stores._writers import check_writable, write_rows


class PathSink:
    """What a folder and a file share: fragments are collected beside the place, and a name may be a link to it."""

    copies = 1

    def __init__(self, address: str) -> None:
        self.address = address
        self.path = Path(address.rstrip("/") or "/")
        self.staging = self.path.with_name(self.path.name + ".partial")
        self.suffix = ".arrow"
        self._schema: Any = None

    def exists(self) -> bool:
        """Return whether there is already something under this name."""
        return self.path.exists()

    def create(self, schema: Any, source: Store, size: int) -> None:
        """Make a folder for the fragments beside the place, and see whether they will fit on the disk."""
        self.open(schema, source)
        if isinstance(source, FileStore) and source.holds(self.path):
            raise FippError(f"{self.path} would be a part of {source.address} itself: choose a place outside")
        if not self.path.parent.is_dir():
            raise FippError(f"cannot write {self.path}: the folder {self.path.parent} does not exist")
        with explain_failure(self.staging):
            shutil.rmtree(self.staging, ignore_errors=True)
            needed, free = self.copies * size, shutil.disk_usage(self.path.parent).free
            if needed > free:
                raise FippError(
                    f"{self.path} needs {needed:,} bytes for its vectors alone, but only {free:,} are free on its disk"
                )
            self.staging.mkdir()

    def open(self, schema: Any, source: Store) -> None:
        """Go on with what `create` began."""
        self._schema = schema

    def write(self, fragment: Fragment, batches: Iterable[Any]) -> str:
        """Write a fragment whole or not at all, instead of what was there before, and return its checksum."""
        path = self._piece(self.staging, fragment.name)
        with explain_failure(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_rows(path, self._schema, batches, fragment.rows)
        return digest_of_file(path)

    def remove(self, fragment: Fragment) -> None:
        """Remove a fragment that the source no longer has."""
        self._piece(self.staging, fragment.name).unlink(missing_ok=True)

    def _piece(self, folder: Path, name: str) -> Path:
        path = folder / f"{name}{self.suffix}"
        if folder.resolve() not in path.resolve().parents:
            raise FippError(f"the fragment {name!r} would be written outside of {folder}")
        return path

    def before(self, name: str) -> str:
        """Return where a symbolic link points, or nothing if there is none."""
        link = Path(name)
        if link.exists() and not link.is_symlink():
            raise FippError(
                f"{link} is not a symbolic link, and nothing but a link can be switched in one step: rename it, and "
                f"let {link} be a link to the new name"
            )
        return os.readlink(link) if link.is_symlink() else ""

    def switch(self, name: str) -> None:
        """Let a symbolic link point here, in one step."""
        _link(Path(name), self._seen_from(name))

    def switch_back(self, name: str, before: str) -> None:
        """Let the link point where it pointed before."""
        if (present := self.before(name)) == before:
            return
        if present != self._seen_from(name):
            raise switched_since(name, present or "nothing", self.address)
        if before:
            _link(Path(name), before)
        else:
            Path(name).unlink()

    def _seen_from(self, link: str) -> str:
        return os.path.relpath(self.path, Path(link).absolute().parent)

    def original(self, source: str, name: str, before: str) -> str:
        """Return the source itself, or where it was a link to before that was switched."""
        is_link = before and os.path.abspath(name) == source.rstrip("/")
        return os.path.join(os.path.dirname(os.path.abspath(name)), before) if is_link else source

    def tidy(self) -> None:
        """Remove what is not needed any more once everything is in its place."""
        shutil.rmtree(self.staging, ignore_errors=True)

    def discard(self) -> None:
        """Remove everything that was written."""
        self.tidy()
        if self.path.is_dir():
            shutil.rmtree(self.path)
        else:
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Do nothing: a file is open only while it is written."""


class FolderSink(PathSink):
    """A folder with one file per fragment, of the same kind as the source's files, or Parquet."""

    def open(self, schema: Any, source: Store) -> None:
        """Go on with what `create` began."""
        super().open(schema, source)
        self.suffix = getattr(source, "suffix", ".parquet")
        check_writable(self.path / f"fragment{self.suffix}", schema)

    def finish(self, fragments: Sequence[Fragment], checksums: dict[str, str]) -> dict[str, str]:
        """Rename the folder; the checksums of its files stay the same."""
        if self.staging.exists():
            with explain_failure(self.path):
                os.rename(self.staging, self.path)
                flush_folder(self.path.parent)
        return checksums

    def checksum(self, name: str, fragment: Fragment | None) -> str:
        """Return the checksum of a file, or nothing if it is gone."""
        path = self._piece(self.path, name)
        return digest_of_file(path) if path.exists() else ""

    def read(self, fragment: Fragment, offset: int, like: Any) -> Iterator[Any]:
        """Yield the rows of a fragment."""
        yield from KINDS[self.suffix].batches(self._piece(self.path, fragment.name), 0)


class FileSink(PathSink):
    """One file, which is put together from the fragments at the end."""

    copies = 2

    def exists(self) -> bool:
        """Return whether there is already something under this name, or beside a matrix, where its ids will be."""
        return any(path.exists() for path in (self.path, *beside(self.path)))

    def discard(self) -> None:
        """Remove everything that was written."""
        super().discard()
        for path in beside(self.path):
            path.unlink(missing_ok=True)

    def open(self, schema: Any, source: Store) -> None:
        """Go on with what `create` began."""
        super().open(schema, source)
        check_writable(self.path, schema)

    def finish(self, fragments: Sequence[Fragment], checksums: dict[str, str]) -> dict[str, str]:
        """Write the file; its own checksum takes the place of those of the fragments."""
        pieces = (self._piece(self.staging, fragment.name) for fragment in fragments)
        batches = (batch for piece in pieces for batch in KINDS[self.suffix].batches(piece, 0))
        write_rows(self.path, self._schema, batches, sum(fragment.rows for fragment in fragments))
        return {self.path.name: digest_of_file(self.path)}

    def checksum(self, name: str, fragment: Fragment | None) -> str:
        """Return the checksum of the file, or nothing if it is gone."""
        return digest_of_file(self.path) if self.path.exists() else ""

    def read(self, fragment: Fragment, offset: int, like: Any) -> Iterator[Any]:
        """Yield the rows of a fragment."""
        left = fragment.rows
        for batch in KINDS[self.path.suffix.lower()].batches(self.path, offset):
            yield batch.slice(0, left)
            left -= min(left, len(batch))
            if not left:
                return


def _link(link: Path, target: str) -> None:
    """Make a symbolic link, or replace one, in one step."""
    temporary = link.with_name(f".{link.name}.{secrets.token_hex(6)}")
    with explain_failure(link):
        temporary.symlink_to(target)
        os.replace(temporary, link)
        flush_folder(link.absolute().parent)
