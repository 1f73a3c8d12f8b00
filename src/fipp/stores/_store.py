"""What every store offers: rows in fragments, each read once and written whole; and how a store is named."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from fipp._optional import require
from fipp.exceptions import FippError

Key = Any
"""What rows are ordered by, as JSON can hold it: a value of the store's key, or a file's name and a row number."""

BATCH_ROWS = 4096
"""Rows that are read, converted and written at a time."""

_SECRETS = ("password", "passwd", "token", "secret", "api_key", "apikey", "sslpassword")


@dataclass(frozen=True)
class Fragment:
    """A range of rows that is converted as a whole: the unit of resuming.

    Attributes
    ----------
    name : str
        A name that sorts as the rows do.
    after, last : key
        The range: rows behind ``after`` (None: from the start) up to and with ``last``.
    rows : int
        How many rows it has.
    version : str
        What changes when any row of the range does.
    """

    name: str
    after: Key
    last: Key
    rows: int
    version: str = ""


class Store(Protocol):
    """A place that rows with vectors are read from."""

    address: str

    def schema(self) -> Any:
        """Return the Arrow schema of the rows."""

    def count(self) -> int:
        """Return the number of rows."""

    def plan(self, rows: int, done: Sequence[Fragment] = ()) -> Iterator[Fragment]:
        """Yield the fragments of about ``rows`` rows that make up the store now.

        Where nothing has changed since, they are equal to those that are already ``done``.
        """

    def scan(self, fragments: Iterable[Fragment]) -> Iterator[tuple[Fragment, Any]]:
        """Yield each fragment with one record batch after the other, at least one, in order."""


class Sink(Protocol):
    """A place that fragments are written to. Nobody sees them under its own name until `finish`."""

    address: str

    def exists(self) -> bool:
        """Return whether there is already something under this name."""

    def create(self, schema: Any, source: Store, rows: int) -> None:
        """Make room for so many rows of this schema; what an earlier conversion left unfinished is removed."""

    def open(self, schema: Any, source: Store) -> None:
        """Go on with what `create` began."""

    def write(self, fragment: Fragment, batches: Iterable[Any]) -> str:
        """Write a fragment whole or not at all, instead of what was there before, and return its checksum."""

    def remove(self, fragment: Fragment) -> None:
        """Remove a fragment that the source no longer has."""

    def finish(self, fragments: Sequence[Fragment], checksums: dict[str, str]) -> dict[str, str]:
        """Put everything in its place in one step; return the checksums by which it can be verified later."""

    def checksum(self, name: str, fragment: Fragment | None) -> str:
        """Return the checksum of what is in its place now under a name that `finish` returned."""

    def read(self, fragment: Fragment, offset: int) -> Iterator[Any]:
        """Yield the finished rows of a fragment, ``offset`` rows from the start, as record batches."""

    def before(self, name: str) -> str:
        """Return what ``name`` means now, which is needed to switch back; refuse a name that cannot be switched."""

    def switch(self, name: str) -> None:
        """Let ``name`` mean this collection, in one step."""

    def switch_back(self, name: str, before: str) -> None:
        """Let ``name`` mean again what it meant before."""

    def tidy(self) -> None:
        """Remove what is not needed any more once everything is in its place."""

    def discard(self) -> None:
        """Remove everything that was written."""


class Address(NamedTuple):
    """A store on a server or in a database: ``scheme://place#collection``."""

    scheme: str
    place: str
    collection: str


def parse_address(address: str) -> Address | None:
    """Return the parts of an address, or None for a path; raise a FippError if it holds a secret.

    Examples
    --------
    >>> parse_address("postgresql://reader@db.example/shop#documents")
    Address(scheme='postgresql', place='postgresql://reader@db.example/shop', collection='documents')
    >>> parse_address("old/*.parquet") is None
    True
    """
    if not re.match(r"[a-z][a-z0-9+.-]+://", address):
        return None
    place, _, collection = address.partition("#")
    scheme = place.partition(":")[0]
    parts = urlsplit(place)
    asked = {name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    if parts.password is not None or asked & set(_SECRETS):
        raise FippError(
            f"the address of the {scheme} store has a password or a key in it, which would stay in the history of the "
            f"shell and in the manifest: {_WHERE.get(scheme, 'put it into the environment')}"
        )
    if not collection:
        raise FippError(f"{address} names no collection: add it after a #, such as {place}#documents")
    return Address(scheme, place, collection)


_WHERE = {
    "postgresql": "set PGPASSWORD, or use ~/.pgpass",
    "postgres": "set PGPASSWORD, or use ~/.pgpass",
    "qdrant": "set QDRANT_API_KEY",
    "qdrant+https": "set QDRANT_API_KEY",
}


def pyarrow(module: str = "pyarrow") -> Any:
    """Return pyarrow or one of its modules."""
    return require(module, "a store of vectors", extra="arrow")


def digest_of_file(path: Path) -> str:
    """Return a digest of the bytes of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


class RowDigest:
    """A digest of keys and vectors that does not depend on how rows are cut into batches."""

    def __init__(self) -> None:
        self._keys, self._vectors = (hashlib.blake2b(digest_size=16) for _ in range(2))

    def update(self, keys: Iterable[Any], vectors: Any) -> None:
        """Add rows: their keys and their matrix."""
        for key in keys:
            self._keys.update(repr(key).encode() + b"\n")
        self._vectors.update(np.ascontiguousarray(vectors).data)

    def hexdigest(self) -> str:
        """Return the digest of all rows so far."""
        return hashlib.blake2b(self._keys.digest() + self._vectors.digest(), digest_size=16).hexdigest()
