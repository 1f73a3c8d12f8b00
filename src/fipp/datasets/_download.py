"""Public data sets, downloaded once."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from fipp.datasets._archive import extract
from fipp.datasets._fetch import Progress, fetch, has_checksum
from fipp.datasets._registry import find_data_set
from fipp.exceptions import FippError
from fipp.io import cache_folder


def download(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    *,
    base_url: str | None = None,
    timeout: float = 30.0,
    verify: bool = True,
    force: bool = False,
) -> list[Path]:
    """Download a public data set, unless it is there already, and say where its files are.

    A download that was cut or interrupted is gone on with the next time. A file has its final name only when it is
    whole and, where a checksum is known, has it. Files are not converted.

    Parameters
    ----------
    name : str
        ``"xling:en-fr"`` or ``"xling"`` (all pairs), ``"muse:en-hr"``, ``"fasttext:hr"``, ``"fasttext-crawl:hr"``,
        ``"fasttext-crawl-bin:hr"``, ``"glove:6B.100d"``, ``"simlex"``; ``fipp download --list`` shows all.
        Mind the licences: `find_data_set` tells them.
    folder : path-like or None, default=None
        Where to put the files, in a folder for each family; made if need be. None is ``downloads`` in the cache folder
        of fipp.
    progress : callable or None, default=None
        Called as ``progress(bytes_done, bytes_in_all)`` for each file.
    base_url : str or None, default=None
        A mirror, which has each file as ``base_url/HOST/PATH``, where ``https://HOST/PATH`` is its public address. None
        is what the environment variable ``FIPP_MIRROR`` says, or the public address itself.
    timeout : float, default=30.0
        Seconds without a byte after which a connection counts as cut, and is tried again.
    verify : bool, default=True
        Whether known checksums are compared.
    force : bool, default=False
        Whether files that are there already are downloaded again.

    Returns
    -------
    list of pathlib.Path
        The files, in the order of the registry.

    Raises
    ------
    FippError
        If there is no such data set, a file cannot be had or is not what it should be, or the folder cannot be written.

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
        checksum = file.checksum if verify else None
        if not force and _is_there(target, checksum):
            continue
        _make_folder(target.parent)
        url = address(file.url, mirror)
        if file.member is None:
            fetch(url, target, checksum=checksum, timeout=timeout, replace=force, progress=progress)
            continue
        # The archive stays: others of its members may be wanted, and it is the larger part of the work.
        archive = target.with_name(Path(urlsplit(file.url).path).name)
        fetch(url, archive, timeout=timeout, replace=force and archive not in archives, progress=progress)
        archives.add(archive)
        extract(archive, file.member, target, checksum=checksum, progress=progress)
    return [base / file.path for file in data_set.files]


def default_folder() -> Path:
    """Return the folder for downloads if none is named."""
    cache = cache_folder()
    if cache is None:
        raise FippError("FIPP_CACHE switches the cache folder off, so name a folder for the files (--to)")
    return cache / "downloads"


def address(url: str, mirror: str | None) -> str:
    """Return the address of a public file on a mirror.

    Examples
    --------
    >>> address("https://nlp.stanford.edu/data/glove.6B.zip", "https://mirror.example/public/")
    'https://mirror.example/public/nlp.stanford.edu/data/glove.6B.zip'
    """
    if mirror is None:
        return url
    parts = urlsplit(url)
    return f"{mirror.rstrip('/')}/{parts.netloc}{parts.path}"


def _is_there(target: Path, checksum: str | None) -> bool:
    if not os.path.exists(target):  # Path.exists raises if the folder may not be looked into
        return False
    if not target.is_file():
        raise FippError(f"{target} is in the way: it is not a file")
    if checksum is not None and not has_checksum(target, checksum):
        raise FippError(
            f"{target} is there and is not the public file: its checksum is not {checksum}. Move it away, or replace "
            "it with --force; --no-verify takes it as it is"
        )
    return True


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FippError(
            f"cannot make the folder {folder}: {error.strerror}; choose another folder with --to"
        ) from error
