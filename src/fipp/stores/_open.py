"""Which store an address means."""

from __future__ import annotations

from pathlib import Path

from fipp.exceptions import FippError
from fipp.stores._files import FileStore
from fipp.stores._outputs import FileSink, FolderSink
from fipp.stores._postgres import PostgresStore
from fipp.stores._postgres_sink import PostgresSink
from fipp.stores._store import Sink, Store, parse_address
from fipp.stores._writers import WRITERS

_KNOWN = "postgresql://, or a path of Parquet, Arrow, Feather, .npy, .safetensors or .faiss files"
_POSTGRES = ("postgresql", "postgres")


def open_source(address: str, *, key: str | None = None) -> Store:
    """Return the store to read that an address means.

    Parameters
    ----------
    address : str
        A file, a folder, a pattern such as ``old/*.parquet``, or a table such as ``postgresql://host/shop#documents``.
    key : str, optional
        The column that rows are ordered by, where a store needs one.

    Returns
    -------
    Store

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> path = f"{tempfile.mkdtemp()}/old.npy"
    >>> np.save(path, np.ones((5, 2), np.float32))
    >>> open_source(path).count()
    5
    """
    parsed = parse_address(address)
    if parsed is None:
        return FileStore(address)
    if parsed.scheme in _POSTGRES:
        return PostgresStore(parsed, key)
    raise FippError(f"there is no store {parsed.scheme}://: give {_KNOWN}")


def open_sink(address: str, *, key: str | None = None) -> Sink:
    """Return the store to write that an address means: a file if it ends like one, otherwise a folder.

    Parameters
    ----------
    address : str
        A path, or a table such as ``postgresql://host/shop#documents_new``.
    key : str, optional
        The column that rows are ordered by, where a store needs one.

    Returns
    -------
    Sink

    Examples
    --------
    >>> open_sink("new/").exists()
    False
    """
    parsed = parse_address(address)
    if parsed is None:
        path = Path(address)
        if path.suffix.lower() in WRITERS:
            return FileSink(address)
        if path.suffix and not path.is_dir() and not address.endswith("/"):
            raise FippError(f"{address} is in no format that fipp writes: give a folder, or {', '.join(WRITERS)}")
        return FolderSink(address)
    if parsed.scheme in _POSTGRES:
        return PostgresSink(parsed, key)
    raise FippError(f"there is no store {parsed.scheme}://: give {_KNOWN}")
