"""Writing a file beside its target and moving it there when it is complete.

A writer holds a lock on its temporary file, which the system releases however the process ends. The next writer to the
same target removes temporary files that nobody has locked: their writers were killed. Windows cannot move a file that
is open, and thus locked, so that nothing is removed there.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fipp.exceptions import FippError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_FAR_BEHIND_THE_DATA = 1 << 62
_LOCKED_BY_ANOTHER = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
_SECONDS_BETWEEN_LOOKS = 0.1
_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than the system allows",
    errno.EROFS: "the disk can only be read",
}


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty temporary file beside ``path``; move it there if the block succeeds, otherwise remove it.

    Readers see the old file or the new one, never half of one. A symbolic link and the file's permissions are kept. If
    the disk is full, or writing fails in another way, a FippError names ``path``.
    """
    target = resolve_target(path)
    with explain_failure(path), temporary_file(target) as temporary:
        yield temporary
        keep_permissions(target, temporary)
        flush_to_disk(temporary)
        os.replace(temporary, target)
        flush_folder(target.parent)


@contextmanager
def explain_failure(path: str | os.PathLike[str], advice: str = "") -> Iterator[None]:
    """Turn an error of the system while ``path`` is written into a FippError that names it."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, error.strerror or error)
        raise FippError(f"cannot write {path}: {reason}{advice and '; '}{advice}") from error


@contextmanager
def temporary_file(target: Path) -> Iterator[Path]:
    """Yield a new empty file beside ``target``, locked by this process; what is left of it at the end is removed."""
    _sweep(target)
    temporary, descriptor = _create_beside(target)
    if sys.platform == "win32":
        os.close(descriptor)
    try:
        yield temporary
    finally:  # also after an interrupt
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if sys.platform != "win32":
            os.close(descriptor)


def resolve_target(path: str | os.PathLike[str]) -> Path:
    """Return the file that a writer to ``path`` replaces; raise a FippError if it cannot be replaced."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FippError(f"cannot write {path}: the folder {target.parent} does not exist")
    # Moving a file over /dev/null or a pipe would replace the device itself.
    if target.exists() and not target.is_file():
        raise FippError(f"cannot write {path}: it exists and is not a regular file")
    return target


def keep_permissions(target: Path, temporary: Path) -> None:
    """Copy the permissions of the file that ``temporary`` will replace."""
    with suppress(FileNotFoundError):  # nothing is replaced
        shutil.copymode(target, temporary)


def flush_to_disk(path: Path, flags: int = os.O_RDWR) -> None:
    """Wait until the contents of ``path`` would survive a power cut."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_folder(folder: Path) -> None:
    """Wait until the names in a folder would survive a power cut."""
    if hasattr(os, "O_DIRECTORY"):  # Windows cannot open a folder, and does not need this
        with suppress(OSError):
            flush_to_disk(folder, os.O_RDONLY | os.O_DIRECTORY)


def lock(descriptor: int, *, wait: bool) -> bool | None:
    """Lock an open file until it is closed; return False if another process has it, None if there are no locks here."""
    while True:
        try:
            if sys.platform == "win32":
                place = os.lseek(descriptor, 0, os.SEEK_CUR)
                os.lseek(descriptor, _FAR_BEHIND_THE_DATA, os.SEEK_SET)
                try:
                    msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
                finally:
                    os.lseek(descriptor, place, os.SEEK_SET)
            else:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            return True
        except OSError as error:
            if error.errno not in _LOCKED_BY_ANOTHER:
                return None
            if not wait:
                return False
        time.sleep(_SECONDS_BETWEEN_LOOKS)  # Windows waits for ten seconds at most, so it is asked again and again


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Yield an open file, made if there is none, that is locked by this process; wait for others that have it."""
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o666)
        try:
            lock(descriptor, wait=True)
            if is_same_file(descriptor, path):  # its last owner may have removed it
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _create_beside(target: Path) -> tuple[Path, int]:
    """Return a new file and its descriptor, which holds a lock."""
    while True:
        # Not tempfile.mkstemp: it makes files that only their owner can read, and the target would inherit that.
        temporary = target.with_name(f"{_prefix(target)}{secrets.token_hex(6)}.part")
        try:
            descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        except OSError as error:
            reason = _REASONS.get(error.errno or 0, error.strerror)
            raise FippError(f"cannot write in the folder {target.parent}: {reason}") from error
        # Another process may have found the file before it was locked, and removed it.
        lock(descriptor, wait=True)
        if is_same_file(descriptor, temporary):
            return temporary, descriptor
        os.close(descriptor)


def is_same_file(descriptor: int, path: Path) -> bool:
    """Return whether ``path`` still names the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _sweep(target: Path) -> None:
    """Remove the temporary files that killed writers to ``target`` left: those that nobody has locked."""
    if sys.platform == "win32":
        return
    pattern = re.compile(re.escape(_prefix(target)) + r"[0-9a-f]{12}\.part")
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    _remove_abandoned(Path(entry.path))


def _remove_abandoned(part: Path) -> None:
    descriptor = os.open(part, os.O_RDWR)
    try:
        if lock(descriptor, wait=False):
            part.unlink()  # its name is never used twice, so that this cannot be the file of another writer
    finally:
        os.close(descriptor)


def _prefix(target: Path) -> str:
    return f".{target.name[:60]}."
