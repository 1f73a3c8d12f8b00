"""One member of a zip archive, taken out with care."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

from fipp.datasets._fetch import Progress, has_checksum
from fipp.exceptions import FippError
from fipp.io import atomic_path

LARGEST_MEMBER = 64 << 30
"""Bytes that a member may have, unpacked."""

_BLOCK = 1 << 20
_ENCRYPTED = 0x1


def extract(
    archive: Path,
    member: str,
    target: Path,
    *,
    checksum: str | None = None,
    largest: int = LARGEST_MEMBER,
    progress: Progress | None = None,
) -> None:
    """Write one member of a zip archive to ``target``.

    At most as many bytes are written as the archive says the member has; what it says is compared with ``largest``.
    Names inside the archive are compared and never used as paths, so that none can lead out of the folder.

    Parameters
    ----------
    archive : pathlib.Path
        The zip file.
    member : str
        The name of the member.
    target : pathlib.Path
        Where to write it.
    checksum : str or None, default=None
        An algorithm of hashlib and the sum that the member has to have, such as ``"sha256:e3b0…"``.
    largest : int, default=LARGEST_MEMBER
        Bytes that it may have, unpacked.
    progress : callable or None, default=None
        Called as ``progress(bytes_done, bytes_in_all)``.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with zipfile.ZipFile(folder / "a.zip", "w") as packed:
    ...     packed.writestr("a/words.txt", "cat")
    >>> extract(folder / "a.zip", "a/words.txt", folder / "words.txt")
    >>> (folder / "words.txt").read_text()
    'cat'
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            entry = _find(packed, archive, member, largest)
            with packed.open(entry) as source, atomic_path(target) as temporary:
                with open(temporary, "wb") as file:
                    done = 0
                    while block := source.read(_BLOCK):
                        file.write(block)
                        done += len(block)
                        if progress:
                            progress(done, max(done, entry.file_size))
                _check(temporary, archive, member, checksum)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise FippError(
            f"{archive} is no zip archive that can be read ({error}); delete it and download it again"
        ) from error
    except OSError as error:
        raise FippError(
            f"cannot take {member} out of {archive}: {error.strerror or error}; make room or choose another folder"
        ) from error


def _check(unpacked: Path, archive: Path, member: str, checksum: str | None) -> None:
    if checksum is not None and not has_checksum(unpacked, checksum):
        raise FippError(
            f"{member} of {archive} has another checksum than {checksum}, and was not kept. Download the archive again "
            "with --force; if it stays so and you trust the file, --no-verify takes it"
        )


def _find(packed: zipfile.ZipFile, archive: Path, member: str, largest: int) -> zipfile.ZipInfo:
    try:
        entry = packed.getinfo(member)
    except KeyError:
        raise FippError(f"{archive} has no {member} in it; it is not the archive that was expected") from None
    if entry.is_dir() or entry.flag_bits & _ENCRYPTED:
        raise FippError(f"{member} in {archive} is a folder or encrypted; it is not the archive that was expected")
    if entry.file_size > largest:
        raise FippError(
            f"{member} in {archive} unpacks to {entry.file_size:,} bytes, more than {largest:,}; not taken out"
        )
    return entry
