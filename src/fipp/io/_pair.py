"""Two files that belong together, such as a matrix and its words, replaced and opened as one.

No system moves two files in one step, so a third file decides: the record, ``.x.npy.pair`` for the pair ``x.npy`` and
``x.txt``. It exists only while the pair is replaced. A writer

1. writes both new files under temporary names and waits until they are on disk;
2. locks the record, so that there is one writer from here on. If it is valid, an earlier writer was killed after step
   3: its files are moved first;
3. moves the new files to ``.x.npy.new`` and ``.x.txt.new``, writes the record and waits until all this is on disk.
   **Now the new pair is in force**: a kill before this point leaves the old pair, a kill after it the new one;
4. moves both new files to their places and removes the record.

A reader needs no lock and writes nothing. It reads the record, opens both files, and reads the record again. While one
record is in force, each new file is either under its temporary name or in its place, and nobody but its writer, or one
that completes its work, moves anything. Without a record at both times, the two files belong together if both are
still in their places: between the two readings there was a moment without a record at which both were, because a file
that has been replaced never returns. Otherwise the reader tries again.

A record holds the sizes and times of the old files and the new ones, but no paths: a file from a stranger must not
decide what is moved where. If a program that knows nothing of records has changed one of the files since, then the
record is void: readers refuse the pair, because nobody can tell what belongs together, and the next writer discards
the record. Programs that read both files without a look at the record can find a mixture while step 4 lasts.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from fipp.exceptions import FippError
from fipp.io._atomic import (
    explain_failure,
    flush_folder,
    flush_to_disk,
    is_same_file,
    keep_permissions,
    locked,
    resolve_target,
    temporary_file,
)

_LONGEST_NAME = 240
"""Bytes of a name to which a few more can be added."""

_ATTEMPTS = 200
_PAUSE = 0.005
_LARGEST_RECORD = 1 << 16

_State = tuple[int, int] | None
"""The size of a file and the time of its last change in nanoseconds; None if it does not exist."""

_Record = tuple[str, tuple[tuple[_State, _State], tuple[_State, _State]]]
"""A mark that is never used twice, and the states of both files, before and after."""


class _Pair(NamedTuple):
    """The places of two files, and of what exists only while they are replaced."""

    places: tuple[Path, Path]
    new: tuple[Path, Path]
    record: Path

    @classmethod
    def of(cls, first: Path, second: Path) -> _Pair:
        places = (Path(os.path.realpath(first)), Path(os.path.realpath(second)))
        return cls(places, (_beside(places[0], "new"), _beside(places[1], "new")), _beside(places[0], "pair"))

    def flush_folders(self) -> None:
        for folder in {place.parent for place in self.places}:
            flush_folder(folder)

    def in_force(self, record: _Record | None) -> tuple[Path, ...] | None:
        """Return where both files are, or None if the record is void, or if a file was moved just now."""
        if record is None:
            return self.places
        found = []
        for place, new, (before, after) in zip(self.places, self.new, record[1], strict=True):
            if _state(new) == after and _state(place) == before:
                found.append(new)
            elif _state(place) == after:
                found.append(place)
        return tuple(found) if len(found) == len(self.places) else None

    def complete(self, record: _Record | None) -> None:
        """Do the last step of a writer that was killed, if it is known what that is."""
        files = self.in_force(record)
        if record is not None and files is not None:
            for file, place in zip(files, self.places, strict=True):
                if file != place:
                    os.replace(file, place)
            self.flush_folders()

    def replace(self, descriptor: int, files: tuple[Path, Path]) -> None:
        """Do steps 3 and 4; ``descriptor`` is the locked, empty record."""
        try:
            for file, new in zip(files, self.new, strict=True):
                os.replace(file, new)
            states = [(_state(place), _state(new)) for place, new in zip(self.places, self.new, strict=True)]
            text = json.dumps([secrets.token_hex(16), states]).encode() + b"\n"
            if os.write(descriptor, text) < len(text):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
            self.flush_folders()
            # The first file first: without an old pair, the second alone would look like a file of its own.
            for new, place in zip(self.new, self.places, strict=True):
                os.replace(new, place)
            self.flush_folders()
        except BaseException:
            if self.new[0].exists():  # nothing has been moved to its place: keep the old pair
                os.ftruncate(descriptor, 0)
            raise
        os.ftruncate(descriptor, 0)

    def tidy(self, descriptor: int) -> None:
        """Remove the record and new files that are not in force."""
        if _parse(_read_all(descriptor)) is None:
            for path in (*self.new, self.record):
                with suppress(OSError):  # Windows cannot remove the record while it is open; empty, it means nothing
                    path.unlink(missing_ok=True)


@contextmanager
def atomic_pair(first: Path, second: Path) -> Iterator[tuple[Path, Path]]:
    """Yield two empty temporary files; if the block succeeds, they replace ``first`` and ``second`` together.

    As `atomic_path` otherwise. Processes that save the same pair, read it or are killed never leave or see a mixture.
    """
    pair = _Pair.of(resolve_target(first), resolve_target(second))
    with (
        explain_failure(first),
        temporary_file(pair.places[0]) as new_first,
        temporary_file(pair.places[1]) as new_second,
    ):
        yield new_first, new_second
        for place, new in zip(pair.places, (new_first, new_second), strict=True):
            keep_permissions(place, new)
            flush_to_disk(new)
        with locked(pair.record) as descriptor:
            try:
                pair.complete(_parse(_read_all(descriptor)))
                os.ftruncate(descriptor, 0)
                pair.replace(descriptor, (new_first, new_second))
            finally:
                pair.tidy(descriptor)


@contextmanager
def open_pair(first: Path, second: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open two files that were written together, also while others replace them, or after a writer was killed.

    A missing file raises a FileNotFoundError.
    """
    pair = _Pair.of(first, second)
    for _ in range(_ATTEMPTS):
        record = _parse_file(pair.record)
        paths = pair.in_force(record)
        if paths is not None:
            with ExitStack() as stack:
                try:
                    files = [stack.enter_context(open(path, "rb")) for path in paths]
                except FileNotFoundError as missing:
                    # Without a record it is really missing, unless the pair was completed a moment ago.
                    if _parse_file(pair.record) is None and record is None and not os.path.exists(missing.filename):
                        raise
                    continue
                if _parse_file(pair.record) == record and all(map(_is_at, files, paths)):
                    yield files[0], files[1]
                    return
        time.sleep(_PAUSE)
    raise FippError(
        f"{first} and {second} may not belong together: a program was stopped while it replaced them, and one of them "
        f"was changed later. Save them again; if you know that both are right, delete {pair.record}"
    )


def _is_at(file: BinaryIO, path: Path) -> bool:
    return is_same_file(file.fileno(), path)


def _parse_file(record: Path) -> _Record | None:
    try:
        with open(record, "rb") as file:
            return _parse(file.read(_LARGEST_RECORD))
    except FileNotFoundError:
        return None


def _read_all(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    text = os.read(descriptor, _LARGEST_RECORD)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return text


def _parse(text: bytes) -> _Record | None:
    """Return a record, or None for one that is not whole: its writer has not come to move anything."""
    if not text.endswith(b"\n"):
        return None
    try:
        mark, ((before, after), (before_2, after_2)) = json.loads(text)
        return str(mark), ((_as_state(before), _as_state(after)), (_as_state(before_2), _as_state(after_2)))
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def _as_state(state: Any) -> _State:
    return None if state is None else (int(state[0]), int(state[1]))


def _state(path: Path) -> _State:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns


def _beside(place: Path, ending: str) -> Path:
    name = os.fsencode(place.name)
    stem = place.name if len(name) <= _LONGEST_NAME else hashlib.blake2b(name, digest_size=16).hexdigest()
    return place.with_name(f".{stem}.{ending}")
