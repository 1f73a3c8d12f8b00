"""Collections of Qdrant on a server: points in the order of their ids, as rows with all vectors and the payload."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import numpy as np

from fipp._optional import require
from fipp.exceptions import FippError, warn
from fipp.stores._columns import column_of, dtype_of
from fipp.stores._store import FRAGMENT_ROWS, Address, Fragment, Key, key_ranges, pyarrow

QDRANT = b"fipp.qdrant"
"""The key of a field's metadata under which a column keeps what it is in a collection: a kind, a colon and a name."""

_SECONDS = 60
_REQUEST_BYTES = 4 << 20
_BYTES_PER_NUMBER = 20
_NUMBERS = {None: "float32", "float32": "float32", "float16": "float16", "uint8": "uint8"}
_LAST_NUMBER = (1 << 64) - 1
_FIRST_UUID = UUID(int=0)


def qdrant(module: str = "qdrant_client") -> Any:
    """Return the client's package or one of its modules."""
    return require(module, "a collection of Qdrant", extra="qdrant")


def connect(place: str) -> Any:
    """Return a client for ``qdrant://host:port``, or ``qdrant+https://``; the key is taken from QDRANT_API_KEY."""
    if not urlsplit(place).hostname:
        raise FippError(f"{place} names no server; folders of Qdrant's local mode hold pickles, which fipp never opens")
    secure, key = place.startswith("qdrant+https:"), os.environ.get("QDRANT_API_KEY")
    if key and not secure and urlsplit(place).hostname not in ("localhost", "127.0.0.1", "::1"):
        warn(f"QDRANT_API_KEY is sent to {place} without encryption: qdrant+https:// encrypts it")
    url = f"{'https' if secure else 'http'}://{place.partition('://')[2]}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about the same
        return qdrant().QdrantClient(url=url, api_key=key, timeout=_SECONDS, check_compatibility=False)


class Server:
    """A client that is opened when it is needed."""

    def __init__(self, address: Address) -> None:
        self.place = address.place
        self._client: Any = None

    @property
    def client(self) -> Any:
        """The client."""
        if self._client is None:
            with self.explained("cannot be reached"):
                self._client = connect(self.place)
        return self._client

    @contextmanager
    def explained(self, problem: str) -> Iterator[None]:
        """Turn an error of the server or of the connection into a FippError."""
        errors = qdrant("qdrant_client.http.exceptions")
        try:
            yield
        except FippError:
            raise
        except errors.UnexpectedResponse as error:
            advice = ": set QDRANT_API_KEY" if error.status_code in (401, 403) else ""
            reason = f"{error.status_code} {error.reason_phrase}{advice}"
            raise FippError(
                f"{self.place} {problem}: {reason} {error.content.decode(errors='replace')[:200]}"
            ) from None
        except (errors.ApiException, ValueError) as error:
            raise FippError(f"{self.place} {problem}: {' '.join(str(error).split())[:300]}") from None

    def close(self) -> None:
        """Close the client; what is asked for later opens another."""
        if self._client is not None:
            self._client.close()
            self._client = None


class QdrantStore:
    """The points of a collection, numbers before UUIDs. The column of ids is called ``key``, or ``id``."""

    key: str | None
    fragment_rows = FRAGMENT_ROWS

    def __init__(self, address: Address, key: str | None = None) -> None:
        self.address = str(address)
        self.name = address.collection
        self.key = self._id = key or "id"
        self.server = Server(address)
        try:
            with self.server.explained(f"cannot read {self.name}"):
                if not self.server.client.collection_exists(self.name):
                    raise FippError(f"there is no collection {self.address}")
                self.config = self.server.client.get_collection(self.name)
            self._schema = self._look()
        finally:
            self.close()

    def close(self) -> None:
        """Close the client."""
        self.server.close()

    @property
    def dense(self) -> dict[str, Any]:
        """How each vector is configured by its name, which is empty for the only one of a collection without names."""
        vectors = self.config.config.params.vectors
        return dict(vectors) if isinstance(vectors, Mapping) else {} if vectors is None else {"": vectors}

    def settings(self) -> dict[str, Any]:
        """Return what a new collection takes over beside vectors, as a client takes it."""
        config, params = self.config.config, self.config.config.params
        names = ("shard_number", "replication_factor", "write_consistency_factor", "on_disk_payload")
        found = {name: getattr(params, name, None) for name in names}
        found["sparse_vectors_config"] = params.sparse_vectors
        found["quantization_config"] = config.quantization_config
        if config.hnsw_config is not None:
            given = config.hnsw_config.model_dump(exclude_none=True)
            found["hnsw_config"] = qdrant("qdrant_client.models").HnswConfigDiff(**given)
        return {name: value for name, value in found.items() if value is not None}

    def _look(self) -> Any:
        arrow = pyarrow()
        params = self.config.config.params
        if getattr(params.sharding_method, "value", params.sharding_method) == "custom":
            raise FippError(f"{self.address} has shards that are chosen by a key, which fipp does not know")
        fields = [_field(self._id, self._id_type(), "id")]
        for name, vector in self.dense.items():
            numbers = getattr(arrow, _NUMBERS[getattr(vector.datatype, "value", vector.datatype)])()
            kind = arrow.list_(numbers, vector.size)
            many = vector.multivector_config is not None
            fields.append(
                _field(name or "vector", arrow.list_(kind) if many else kind, "many" if many else "one", name)
            )
        for name in params.sparse_vectors or {}:
            kind = arrow.struct([("indices", arrow.list_(arrow.uint32())), ("values", arrow.list_(arrow.float32()))])
            fields.append(_field(name, kind, "sparse", name))
        fields.append(_field("payload", arrow.string(), "payload"))
        names = [field.name for field in fields]
        if len(set(names)) < len(names):
            raise FippError(f"{self.address} has a vector with the name of another column: {', '.join(names)}")
        return arrow.schema(fields)

    def _id_type(self) -> Any:
        """Return the type of numbers if all ids are numbers; otherwise all of them are text."""
        first, _ = self._scroll(None, 1, with_vectors=False)
        others, _ = self._scroll(str(_FIRST_UUID), 1, with_vectors=False)
        arrow = pyarrow()
        return arrow.string() if others or not first else arrow.uint64()

    def schema(self) -> Any:
        """Return the Arrow schema of the rows."""
        return self._schema

    def count(self) -> int:
        """Return the number of points."""
        with self.server.explained(f"cannot count {self.name}"):
            return int(self.server.client.count(self.name, exact=True).count)

    def plan(self, rows: int, done: Sequence[Fragment] = ()) -> Generator[Fragment, None, None]:
        """Yield ranges of ids; Qdrant keeps no versions of points, so that a digest of all they have is the version."""

        def look(name: str, after: Key, last: Key) -> Fragment | None:
            count, digest, reached = self._digest(after, last, None if last is not None else rows)
            found = last if last is not None else reached
            return None if found is None else Fragment(name, after, found, count, digest)

        return key_ranges(done, look)

    def _digest(self, after: Key, last: Key, most: int | None) -> tuple[int, str, Key]:
        """Return how many points are in a range, a digest of them, and the id of the last one."""
        digest, count, reached = hashlib.blake2b(digest_size=16), 0, None
        for records in self._pages(after, last, most):
            digest.update(self._batch(records).serialize())
            count, reached = count + len(records), records[-1].id
        return count, digest.hexdigest(), reached

    def checksum(self) -> str:
        """Return the number of all points, and a digest of them."""
        count, digest, _ = self._digest(None, None, None)
        return f"{count}.{digest}"

    def scan(self, fragments: Iterable[Fragment]) -> Generator[tuple[Fragment, Any], None, None]:
        """Yield each fragment with its record batches."""
        for fragment in fragments:
            if fragment.rows == 0:
                yield fragment, self._batch([])
                continue
            for records in self._pages(fragment.after, fragment.last):
                yield fragment, self._batch(records)

    def batches(self) -> Generator[Any, None, None]:
        """Yield all points as record batches."""
        for records in self._pages(None, None):
            yield self._batch(records)

    def ids(self) -> Iterator[list[Key]]:
        """Yield the ids of all points, page by page."""
        for records in self._pages(None, None, with_vectors=False):
            yield [record.id for record in records]

    def records_of(self, ids: Sequence[Key]) -> list[Any]:
        """Return the points with the given ids, in their order; those that are not there are left out."""
        with self.server.explained(f"cannot read {self.name}"):
            found = self.server.client.retrieve(self.name, list(ids), with_payload=True, with_vectors=True)
        by_id = {record.id: record for record in found}
        return [by_id[each] for each in ids if each in by_id]

    def _pages(
        self, after: Key, last: Key, most: int | None = None, *, with_vectors: bool = True
    ) -> Iterator[list[Any]]:
        """Yield the points behind ``after`` up to and with ``last``, ``most`` of them at most."""
        offset: Key = None if after is None else _following(after)
        size, left = points_per_request(self._schema), most
        while left is None or left > 0:
            records, offset = self._scroll(offset, size if left is None else min(size, left), with_vectors=with_vectors)
            inside = [record for record in records if last is None or _order(record.id) <= _order(last)]
            left = None if left is None else left - len(inside)
            if inside:
                yield inside
            if offset is None or len(inside) < len(records):
                return

    def _scroll(self, offset: Key, limit: int, *, with_vectors: bool) -> tuple[list[Any], Key]:
        with self.server.explained(f"cannot read {self.name}"):
            records, following = self.server.client.scroll(
                self.name, limit=limit, offset=offset, with_payload=with_vectors, with_vectors=with_vectors
            )
        return records, following

    def _batch(self, records: Sequence[Any]) -> Any:
        columns = [column_of_records(records, field) for field in self._schema]
        return pyarrow().RecordBatch.from_arrays(columns, schema=self._schema)


def column_of_records(records: Sequence[Any], field: Any) -> Any:
    """Return what a column of a collection has of some points."""
    arrow = pyarrow()
    kind, name = role(field)
    if kind == "id":
        numbers = arrow.types.is_integer(field.type)
        return arrow.array([record.id if numbers else str(record.id) for record in records], field.type)
    if kind == "payload":
        return arrow.array([as_json(record.payload or {}) for record in records], field.type)
    vectors = [_vector(record.vector, name) for record in records]
    if kind == "one":
        valid = np.array([vector is not None for vector in vectors], bool)
        matrix = np.array([vector for vector in vectors if vector is not None], dtype_of(field.type.value_type))
        return column_of(matrix.reshape(int(valid.sum()), field.type.list_size), valid, field.type)
    if kind == "sparse":
        vectors = [vector and {"indices": vector.indices, "values": vector.values} for vector in vectors]
    return arrow.array(vectors, field.type)


def _vector(vectors: Any, name: str) -> Any:
    """Return a vector of a point by its name; None if the point has none."""
    if name:
        return (vectors or {}).get(name)
    return None if vectors is None or isinstance(vectors, Mapping) else vectors


def role(field: Any) -> tuple[str, str]:
    """Return what a column is in a collection, and its name there; a payload's field if it comes from elsewhere."""
    kind, _, name = (field.metadata or {}).get(QDRANT, b"field:").decode().partition(":")
    return kind, name


def _field(name: str, kind: Any, what: str, there: str = "") -> Any:
    return pyarrow().field(name, kind, metadata={QDRANT: f"{what}:{there}"})


def as_json(payload: Any) -> str:
    """Return a payload as the same text whenever it is equal."""
    return json.dumps(payload, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def points_per_request(schema: Any) -> int:
    """Return how many points fit into a request, by the length of their vectors."""
    numbers = sum(field.type.list_size for field in schema if pyarrow().types.is_fixed_size_list(field.type))
    return max(16, min(1000, _REQUEST_BYTES // (_BYTES_PER_NUMBER * max(1, numbers))))


def _order(key: Key) -> tuple[bool, int]:
    """Return what sorts as Qdrant sorts ids: numbers before UUIDs."""
    return (False, key) if isinstance(key, int) else (True, UUID(key).int)


def _following(key: Key) -> Key:
    """Return the least id behind another one."""
    if isinstance(key, int):
        return key + 1 if key < _LAST_NUMBER else str(_FIRST_UUID)
    return str(UUID(int=min(UUID(key).int + 1, (1 << 128) - 1)))
