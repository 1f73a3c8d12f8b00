"""Writing a file beside its target and moving it there when it is complete."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fipp.exceptions import FippError


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty temporary file beside ``path``; move it there if the block succeeds, otherwise remove it.

    Readers see the old file or the new one, never half of one. A symbolic link and the file's permissions are kept.
    """
    target = _resolve_target(path)
    temporary = _create_beside(target)
    try:
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)
        flush_to_disk(temporary)
        os.replace(temporary, target)
    except BaseException:  # an interrupt must not leave litter either
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    # The move is recorded in the folder itself. Windows cannot open a folder, and does not need this.
    if hasattr(os, "O_DIRECTORY"):
        with suppress(OSError):
            flush_to_disk(target.parent, os.O_RDONLY | os.O_DIRECTORY)


def flush_to_disk(path: Path, flags: int = os.O_RDWR) -> None:
    """Wait until the contents of ``path`` would survive a power cut."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _resolve_target(path: str | os.PathLike[str]) -> Path:
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FippError(f"cannot write {path}: the folder {target.parent} does not exist")
    # Moving a file over /dev/null or a pipe would replace the device itself.
    if target.exists() and not target.is_file():
        raise FippError(f"cannot write {path}: it exists and is not a regular file")
    return target


def _create_beside(target: Path) -> Path:
    # Not tempfile.mkstemp: it makes files that only their owner can read, and the target would inherit that.
    temporary = target.with_name(f".{target.name[:60]}.{secrets.token_hex(6)}.part")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        raise FippError(f"cannot write in the folder {target.parent}: {error.strerror}") from error
    return temporary
