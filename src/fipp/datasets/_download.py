"""Public data sets, downloaded once, and members of zip archives."""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from pathlib import Path
from urllib.parse import urlsplit

from fipp._progress import Progress, Steps
from fipp.datasets._fetch import LARGEST, checksum_of, fetch, has_checksum
from fipp.datasets._registry import RemoteFile, find_data_set
from fipp.exceptions import FippError
from fipp.io import atomic_path, cache_folder
from fipp.linalg import parse_memory

_BLOCK = 1 << 20
_ENCRYPTED = 0x1


def download(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    *,
    base_url: str | None = None,
    timeout: float = 30.0,
    max_size: int | str | None = None,
    verify: bool = True,
    force: bool = False,
) -> list[Path]:
    """Download a public data set, unless it is already there, and return the paths of its files.

    An interrupted download resumes the next time. A file gets its final name only when it is complete and, if a
    checksum is known, matches it. If none is known, the SHA-256 sum of the first download is kept beside the file as
    ``NAME.sha256``, in the format of ``sha256sum``, and later calls compare with that. Files are not converted.

    Parameters
    ----------
    name : str
        ``"xling:en-fr"`` or ``"xling"`` (all pairs), ``"muse:en-hr"``, ``"fasttext:hr"``, ``"fasttext-crawl:hr"``,
        ``"fasttext-crawl-bin:hr"``, ``"glove:6B.100d"``, ``"simlex"``; ``fipp download --list`` shows all. Mind the
        licences, which `find_data_set` returns.
    folder : path-like or None, default=None
        Where to put the files, in a folder per family, which is created if necessary. None means ``downloads`` in
        fipp's cache folder.
    progress : callable or None, default=None
        Called as ``progress(bytes_done, bytes_in_all)`` for each file.
    base_url : str or None, default=None
        A mirror that has each file ``https://HOST/PATH`` as ``base_url/HOST/PATH``. None means the environment variable
        ``FIPP_MIRROR``, or the public address if it is not set.
    timeout : float, default=30.0
        Seconds without a byte after which a connection is considered lost and tried again. A server that sends less
        than 1,000 bytes per second for four times as long is given up; the next call resumes.
    max_size : int, str or None, default=None
        The largest file to accept, such as ``"10GB"``. None means twice the size in the registry, or 64 GiB if that
        does not know it.
    verify : bool, default=True
        Whether to compare checksums.
    force : bool, default=False
        Whether to download files again that are already there.

    Returns
    -------
    list of pathlib.Path
        The files, in the order of the registry.

    Raises
    ------
    FippError
        If there is no such data set, a file cannot be downloaded or has a wrong checksum, or the folder cannot be
        written.

    Examples
    --------
    >>> from fipp.datasets import download
    >>> dictionaries = download("muse:en-hr", "data")  # doctest: +SKIP
    >>> dictionaries[1]  # doctest: +SKIP
    PosixPath('data/muse/en-hr.0-5000.txt')
    """
    data_set = find_data_set(name)
    if not timeout > 0:
        raise FippError(f"timeout is a number of seconds above 0, not {timeout}")
    base = default_folder() if folder is None else Path(folder).expanduser()
    mirror = base_url or os.environ.get("FIPP_MIRROR") or None
    archives: set[Path] = set()
    for file in data_set.files:
        target = base / file.path
        checksum = (file.checksum or _recorded(target)) if verify else None
        if not force and _is_there(target, checksum):
            continue
        _make_folder(target.parent, private=folder is None)
        url, largest = address(file.url, mirror), _largest(file, max_size)
        if file.member is None:
            fetch(url, target, checksum=checksum, timeout=timeout, largest=largest, replace=force, progress=progress)
        else:
            # Keep the archive: other members may be wanted later, and the transfer takes longest.
            archive = target.with_name(Path(urlsplit(file.url).path).name)
            again = force and archive not in archives
            fetch(url, archive, timeout=timeout, largest=largest, replace=again, progress=progress)
            archives.add(archive)
            extract(archive, file.member, target, checksum=checksum, progress=progress)
        if file.checksum is None:
            _record(target)
    return [base / file.path for file in data_set.files]


def _largest(file: RemoteFile, max_size: int | str | None) -> int:
    if max_size is None:
        return LARGEST if file.size is None else 2 * file.size
    try:
        return parse_memory(max_size)
    except FippError:
        raise FippError(f"max_size (--max-size) {max_size!r} is not a size; write it like '10GB'") from None


def _record_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.sha256")


def _record(target: Path) -> None:
    """Keep the checksum of a file that nobody has published one for."""
    digest = checksum_of(target).partition(":")[2]
    with atomic_path(_record_of(target)) as temporary:
        temporary.write_text(f"{digest}  {target.name}\n", encoding="utf-8")


def _recorded(target: Path) -> str | None:
    """Return the checksum that was kept when a file was first downloaded; None if there is none."""
    try:
        digest = _record_of(target).read_text(encoding="utf-8").partition(" ")[0]
    except (OSError, UnicodeDecodeError):
        return None
    return f"sha256:{digest}" if re.fullmatch("[0-9a-f]{64}", digest) else None


def default_folder() -> Path:
    """Return the folder for downloads if the user names none."""
    cache = cache_folder()
    if cache is None:
        raise FippError("FIPP_CACHE switches the cache folder off, so name a folder for the files (--output)")
    return cache / "downloads"


def address(url: str, mirror: str | None) -> str:
    """Return the address of a public file on a mirror, ``MIRROR/HOST/PATH``."""
    if mirror is None:
        return url
    parts = urlsplit(url)
    return f"{mirror.rstrip('/')}/{parts.netloc}{parts.path}"


def _is_there(target: Path, checksum: str | None) -> bool:
    if not os.path.exists(target):  # Path.exists raises if the folder cannot be read
        return False
    if not target.is_file():
        raise FippError(f"{target} exists and is not a file")
    if checksum is not None and not has_checksum(target, checksum):
        raise FippError(
            f"{target} exists but is not the file that was published or first downloaded: its checksum is not "
            f"{checksum}. Move it away, or replace "
            "it with --force; --no-verify accepts it"
        )
    return True


def _make_folder(folder: Path, private: bool) -> None:
    """Make a folder and those above it; nobody else may look into private ones, such as the cache folder."""
    try:
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        for each in reversed(missing or [folder]):
            each.mkdir(0o700 if private else 0o777, exist_ok=True)
    except OSError as error:
        raise FippError(
            f"cannot create the folder {folder}: {error.strerror}; choose another folder with --output"
        ) from error


def extract(
    archive: Path,
    member: str,
    target: Path,
    *,
    checksum: str | None = None,
    largest: int = LARGEST,
    progress: Progress | None = None,
) -> None:
    """Write one member of a zip archive to ``target``, but no more bytes than it declares.

    Names in the archive are compared but never used as paths, so that none can lead out of the folder.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            entry = _find_member(packed, archive, member, largest)
            with packed.open(entry) as source, atomic_path(target) as temporary:
                steps = Steps(progress, entry.file_size)
                with open(temporary, "wb") as file:
                    while block := source.read(_BLOCK):
                        file.write(block)
                        steps(len(block))
                _check_member(temporary, archive, member, checksum)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise FippError(
            f"{archive} is not a zip archive that can be read ({error}); delete it and download it again"
        ) from error
    except OSError as error:
        raise FippError(
            f"cannot extract {member} from {archive}: {error.strerror or error}; make room or choose another folder"
        ) from error


def _check_member(unpacked: Path, archive: Path, member: str, checksum: str | None) -> None:
    if checksum is not None and not has_checksum(unpacked, checksum):
        raise FippError(
            f"{member} of {archive} does not have the checksum {checksum} and was not kept. Download the archive again "
            "with --force; if that does not help and you trust the file, --no-verify accepts it"
        )


def _find_member(packed: zipfile.ZipFile, archive: Path, member: str, largest: int) -> zipfile.ZipInfo:
    try:
        entry = packed.getinfo(member)
    except KeyError:
        raise FippError(f"{archive} has no {member}; it is not the expected archive") from None
    if entry.is_dir() or entry.flag_bits & _ENCRYPTED:
        raise FippError(f"{member} in {archive} is a folder or encrypted; it is not the expected archive")
    if entry.file_size > largest:
        raise FippError(
            f"{member} in {archive} unpacks to {entry.file_size:,} bytes, more than {largest:,}; it was not extracted"
        )
    return entry
