"""Which store an address means."""

from __future__ import annotations

from pathlib import Path

from fipp.exceptions import FippError
from fipp.stores._files import FileStore
from fipp.stores._lance import LANCE, LanceSink, LanceStore
from fipp.stores._outputs import FileSink, FolderSink
from fipp.stores._postgres import PostgresStore
from fipp.stores._postgres_sink import PostgresSink
from fipp.stores._qdrant import QdrantStore
from fipp.stores._qdrant_sink import QdrantSink
from fipp.stores._store import Sink, Store, parse_address
from fipp.stores._writers import WRITERS

_KNOWN = "postgresql://, qdrant://, or a path of Parquet, Arrow, Feather, .npy, .safetensors, .faiss or .lance"
_UNKNOWN = f"there is no store {{}}://: give {_KNOWN}; copy or mount files that are kept elsewhere"
_POSTGRES = ("postgresql", "postgres")
_QDRANT = ("qdrant", "qdrant+https")


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
        return LanceStore(address) if _is_lance(address) else FileStore(address)
    if parsed.scheme in _POSTGRES:
        return PostgresStore(parsed, key)
    if parsed.scheme in _QDRANT:
        return QdrantStore(parsed, key)
    raise FippError(_UNKNOWN.format(parsed.scheme))


def open_sink(address: str, *, key: str | None = None, column: str | None = None) -> Sink:
    """Return the store to write that an address means: a file if it ends like one, otherwise a folder.

    Parameters
    ----------
    address : str
        A path, or a table such as ``postgresql://host/shop#documents_new``.
    key, column : str, optional
        The column that rows are ordered by and the column of vectors, where a store needs to know them.

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
        if _is_lance(address):
            return LanceSink(address)
        if path.suffix.lower() in WRITERS:
            return FileSink(address)
        if path.suffix and not path.is_dir() and not address.endswith("/"):
            known = ", ".join((*WRITERS, LANCE))
            raise FippError(f"{address} is in no format that fipp writes: give a folder, or {known}")
        return FolderSink(address)
    if parsed.scheme in _POSTGRES:
        return PostgresSink(parsed, key)
    if parsed.scheme in _QDRANT:
        return QdrantSink(parsed, key, column)
    raise FippError(_UNKNOWN.format(parsed.scheme))


def is_within(path: Path, address: str) -> bool:
    """Return whether a file that is written to a path would belong to a store."""
    return parse_address(address) is None and not _is_lance(address) and FileStore(address).holds(path)


def _is_lance(address: str) -> bool:
    return Path(address).suffix.lower() == LANCE
