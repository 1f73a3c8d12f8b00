"""What every store offers: rows in fragments, each read once and written whole; and how a store is named."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, urlsplit

from fipp._optional import require
from fipp.exceptions import FippError

Key = Any
"""What rows are ordered by, as JSON can hold it: a value of the store's key, or a file's name and a row number."""

BATCH_ROWS = 2048
"""Rows that are read, converted and written at a time."""
FRAGMENT_ROWS = 65_536
"""Rows of a fragment, unless others are asked for or the store had better be read in others."""

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
    key: str | None
    """The column that orders the rows; None if they have an order of their own."""

    @property
    def fragment_rows(self) -> int:
        """How many rows a fragment should have unless others are asked for."""

    def schema(self) -> Any:
        """Return the Arrow schema of the rows."""

    def count(self) -> int:
        """Return the number of rows."""

    def plan(self, rows: int, done: Sequence[Fragment] = ()) -> Generator[Fragment, None, None]:
        """Yield the fragments of about ``rows`` rows that make up the store now.

        Where nothing has changed since, they are equal to those that are already ``done``.
        """

    def scan(self, fragments: Iterable[Fragment]) -> Generator[tuple[Fragment, Any], None, None]:
        """Yield each fragment with one record batch after the other, at least one, in order."""

    def batches(self) -> Generator[Any, None, None]:
        """Yield all rows as record batches; whoever stops before the end closes the generator."""

    def close(self) -> None:
        """Let go of connections and locks; what is asked for later opens them again."""


def scanned(store: Store) -> Generator[Any, None, None]:
    """Yield all rows of a store whose plan costs nothing."""
    with closing(store.plan(FRAGMENT_ROWS)) as fragments, closing(store.scan(fragments)) as batches:
        for _, batch in batches:
            yield batch


def key_ranges(
    done: Sequence[Fragment], look: Callable[[str, Key, Key], Fragment | None]
) -> Generator[Fragment, None, None]:
    """Yield the fragments of a store that is ordered by a key: those that are done, as they are now, then new ones.

    ``look(name, after, last)`` returns the fragment with these keys; without ``last``, it chooses where the fragment
    ends, and returns None behind the last row.
    """
    after, number = None, 0
    for last in (fragment.last for fragment in done):
        if last is not None and (fragment := look(_name(number), after, last)) is not None:
            yield fragment
            after, number = last, number + 1
    while (fragment := look(_name(number), after, None)) is not None:
        yield fragment
        after, number = fragment.last, number + 1
    if number == 0:
        yield Fragment(_name(0), None, None, 0)


def _name(number: int) -> str:
    return f"part-{number:08d}"


class Sink(Protocol):
    """A place that several processes may write fragments to. Nobody sees them under its own name until `finish`."""

    address: str

    def exists(self) -> bool:
        """Return whether there is already something under this name."""

    def create(self, schema: Any, source: Store, size: int) -> None:
        """Make room for vectors of so many bytes in all; what an earlier conversion left unfinished is removed."""

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

    def read(self, fragment: Fragment, offset: int, like: Any) -> Iterator[Any]:
        """Yield the finished rows of a fragment, ``offset`` rows from the start, as record batches.

        ``like`` is what its first rows should be; a store without an order of its own looks for rows with these keys.
        """

    def before(self, name: str) -> str:
        """Return what ``name`` means now, which is needed to switch back; refuse a name that cannot be switched."""

    def switch(self, name: str) -> None:
        """Let ``name`` mean this collection, in one step."""

    def switch_back(self, name: str, before: str) -> None:
        """Let ``name`` mean again what it meant before; refuse if it means something else since."""

    def original(self, source: str, name: str, before: str) -> str:
        """Return the address under which the source is found after ``name`` was switched."""

    def tidy(self) -> None:
        """Remove what is not needed any more once everything is in its place."""

    def discard(self) -> None:
        """Remove everything that was written."""

    def close(self) -> None:
        """Let go of connections and locks; what is asked for later opens them again."""


def switched_since(name: str, present: str, address: str) -> FippError:
    """Return an error about a name that cannot be switched back, because it was switched to something else."""
    return FippError(f"{name} means {present} since, not {address}, and was left alone")


class Address(NamedTuple):
    """A store on a server or in a database: ``scheme://place#collection``."""

    scheme: str
    place: str
    collection: str

    def __str__(self) -> str:
        return f"{self.place}#{self.collection}"


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
    asked = {name.lower() for name, _ in parse_qsl(urlsplit(place).query, keep_blank_values=True)}
    # A password may contain the very characters that end it in a well-formed address; a port has digits only.
    if re.match(r"[^:]+://[^@/?#]*:(?!\d*[/?#])[^@]*@", address) or asked & set(_SECRETS):
        raise FippError(
            f"the address of the {scheme} store has a password or a key in it, which would stay in the history of the "
            f"shell and in the manifest: {_WHERE.get(scheme, 'put it into the environment')}"
        )
    if not collection and scheme in _WHERE:
        raise FippError(f"{address} names no collection: add it after a #, such as {place}#documents")
    return Address(scheme, place, collection)


_WHERE = {
    "postgresql": "set PGPASSWORD, or use ~/.pgpass or a service file",
    "postgres": "set PGPASSWORD, or use ~/.pgpass or a service file",
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
