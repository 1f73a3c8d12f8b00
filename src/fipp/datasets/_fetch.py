"""One file over HTTP: resumed after a cut, checked, and in its place only when whole.

pooch would do checksums and folders, but it cannot resume: a cut at the end of a file of seven gigabytes would begin it
anew. What is left, a request with a range and a file that is moved, the standard library has.

The bytes so far are in ``.NAME.part`` beside the file, with ``.NAME.part.json`` about the version that they are of. The
part is locked while it is written, so that a second download of the same file waits for the first and finds it done.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fipp.datasets._http import Answer, Cut, NoSuchPart, open_url
from fipp.datasets._lock import lock
from fipp.exceptions import FippError
from fipp.io import flush_to_disk

Progress = Callable[[int, int], None]

ATTEMPTS = 4
"""So often in a row may a connection fail without a byte gained."""

PAUSE = 1.0
"""Seconds before the second attempt; twice as many before each further one."""

_BLOCK = 1 << 18
_SECONDS_BETWEEN_LOOKS = 0.1


def fetch(
    url: str,
    target: Path,
    *,
    checksum: str | None = None,
    timeout: float = 30.0,
    replace: bool = False,
    progress: Progress | None = None,
) -> None:
    """Download ``url`` to ``target``, which is then whole and has the checksum, or is not there.

    Parameters
    ----------
    url : str
        An address that begins with ``https://`` or ``http://``.
    target : pathlib.Path
        Where to put the file; its folder has to exist.
    checksum : str or None, default=None
        An algorithm of hashlib and the sum, such as ``"sha256:e3b0…"``.
    timeout : float, default=30.0
        Seconds without a byte after which a connection counts as cut.
    replace : bool, default=False
        Whether a file that is there already is downloaded again.
    progress : callable or None, default=None
        Called as ``progress(bytes_done, bytes_in_all)``, if the server says how many there are.

    Raises
    ------
    FippError
        If the file cannot be had, is not what it should be, or cannot be written.
    """
    target = Path(os.path.realpath(target))  # a symbolic link stays one
    part = target.with_name(f".{target.name}.part")
    with _writing(target), _own(part, target, replace) as file:
        if file is None:
            return
        transfer = _Transfer(url, part, file, timeout, checksum is not None, progress)
        transfer.run()
        if checksum is not None:
            _check(url, part, checksum, transfer)
        flush_to_disk(part)
        transfer.forget()
        if os.name == "nt":
            file.close()  # Windows moves no open file
        os.replace(part, target)


def has_checksum(path: Path, checksum: str) -> bool:
    """Tell whether a file has a checksum such as ``"sha256:e3b0…"``."""
    return _sum(path, checksum) == checksum.lower()


def _sum(path: Path, checksum: str) -> str:
    algorithm = checksum.partition(":")[0]
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False))
    return f"{algorithm}:{digest.hexdigest()}"


def _check(url: str, part: Path, checksum: str, transfer: _Transfer) -> None:
    found = _sum(part, checksum)
    if found != checksum.lower():
        transfer.begin_anew()  # an empty part does not stay
        raise FippError(
            f"{url} has the checksum {found} instead of {checksum}, and was not kept: it was damaged on its way, or "
            "another file is there now. Try again; if it stays so and you trust the file, --no-verify takes it"
        )


@dataclass
class _Transfer:
    """Brings the bytes of a part up to all, over as many connections as it takes."""

    url: str
    part: Path
    file: BinaryIO
    timeout: float
    can_be_checked: bool
    progress: Progress | None

    def run(self) -> None:
        """Return when all bytes are there; raise a FippError if they cannot be had."""
        failures, most = 0, self._size()
        while True:
            try:
                self._attempt()
                return
            except Cut as cut:
                # Beginning anew and coming as far as before is no gain, or a server that lies would be asked for ever.
                failures = 1 if self._size() > most else failures + 1
                most = max(most, self._size())
                if failures >= ATTEMPTS:
                    raise FippError(
                        f"{self.url}: {cut}, {failures} times in a row. What has come is kept, and the same command "
                        "goes on from there; a longer --timeout or a mirror (FIPP_MIRROR) may help"
                    ) from cut
                time.sleep(PAUSE * 2 ** (failures - 1))

    def forget(self) -> None:
        """Remove what is noted about the part."""
        self._notes.unlink(missing_ok=True)

    @property
    def _notes(self) -> Path:
        return self.part.with_name(self.part.name + ".json")

    def _size(self) -> int:
        return os.fstat(self.file.fileno()).st_size

    def _attempt(self) -> None:
        start, version, total = self._state()
        if total is not None and start == total:
            return
        with self._answer(start, version) as answer:
            if answer.start != start or (start and answer.total != total):
                # The server cannot resume, or the file is another one by now.
                start = answer.start
                if start:
                    self.begin_anew()
                    raise Cut("the server sent another part than was asked for")
            if not (answer.tells_its_end or self.can_be_checked):
                raise FippError(
                    f"{self.url}: the server does not say how long the file is, so that nobody could tell half of it "
                    "from the whole; download it by other means"
                )
            self.file.truncate(start)
            self.file.seek(start)
            self._note(answer)
            self._ensure_room(answer.total, start)
            done = self._receive(answer, start)
        if answer.total is not None and done < answer.total:
            raise Cut(f"the connection ended after {done:,} of {answer.total:,} bytes")

    @contextmanager
    def _answer(self, start: int, version: str | None) -> Iterator[Answer]:
        try:
            with open_url(self.url, start, version, self.timeout) as answer:
                yield answer
        except NoSuchPart:
            self.begin_anew()
            raise

    def _receive(self, answer: Answer, done: int) -> int:
        if self.progress and answer.total:
            self.progress(done, answer.total)
        try:
            for block in answer.blocks(_BLOCK):
                self.file.write(block)
                done += len(block)
                if self.progress and answer.total:
                    self.progress(done, answer.total)
        finally:
            self.file.flush()
        return done

    def _state(self) -> tuple[int, str | None, int | None]:
        """Return how much is there, of which version, and of how much; nothing, if it cannot be gone on with."""
        try:
            notes = json.loads(self._notes.read_text(encoding="utf-8"))
            url, version, total = notes["url"], notes["version"], notes["total"]
        except (OSError, ValueError, KeyError, TypeError):
            url = None
        # Without a version only a checksum would tell if halves of two files had been put together.
        known = url == self.url and isinstance(total, int) and (isinstance(version, str) or self.can_be_checked)
        if not known or self._size() > total:
            self.begin_anew()
            return 0, None, None
        return self._size(), version, total

    def begin_anew(self) -> None:
        """Drop the bytes so far."""
        self.file.truncate(0)
        self.forget()

    def _note(self, answer: Answer) -> None:
        notes = {"url": self.url, "version": answer.version, "total": answer.total}
        self._notes.write_text(json.dumps(notes), encoding="utf-8")

    def _ensure_room(self, total: int | None, done: int) -> None:
        free = shutil.disk_usage(self.part.parent).free
        if total is not None and total - done > free:
            raise FippError(
                f"{self.url} takes {(total - done) / 1e9:.1f} GB more, and {self.part.parent} has room for "
                f"{free / 1e9:.1f} GB; choose another folder with --to"
            )


@contextmanager
def _own(part: Path, target: Path, replace: bool) -> Iterator[BinaryIO | None]:
    """Return the part, open and locked; None if the file is there, perhaps since somebody else has just finished it."""
    while True:
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        with os.fdopen(descriptor, "r+b", buffering=_BLOCK) as file:
            while not lock(descriptor):
                time.sleep(_SECONDS_BETWEEN_LOOKS)
            if _is(part, descriptor):
                try:
                    yield None if target.exists() and not replace else file
                finally:
                    if not file.closed and _is(part, descriptor) and os.fstat(descriptor).st_size == 0:
                        _remove(part, file)
                return
        if target.exists():  # the part that was waited for has been moved there
            yield None
            return


def _remove(part: Path, file: BinaryIO) -> None:
    if os.name == "nt":
        file.close()  # Windows removes no open file
    with suppress(OSError):
        part.unlink()


def _is(path: Path, descriptor: int) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    return False


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FippError(
            f"cannot write {target}: {error.strerror or error}; make room or choose another folder with --to"
        ) from error
