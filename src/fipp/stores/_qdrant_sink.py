"""Converted points in a new collection of Qdrant, and the alias that is switched to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError
from fipp.stores._columns import ID_NAMES, column_of, matrix_of, usual_column, vector_type
from fipp.stores._qdrant import (
    QDRANT,
    QdrantStore,
    Server,
    as_json,
    column_of_records,
    points_per_request,
    qdrant,
    role,
)
from fipp.stores._store import Address, Fragment, Store, pyarrow, switched_since


class QdrantSink:
    """A new collection, or one that was made beforehand and is empty. Names are switched by aliases."""

    def __init__(self, address: Address, key: str | None = None, column: str | None = None) -> None:
        self.address = str(address)
        self.name = address.collection
        self._parsed, self._key, self._column = address, key, column
        self._schema: Any = None
        self._source: Store | None = None
        self._made = False
        self.server = Server(address)

    def _explained(self) -> Any:
        return self.server.explained(f"refuses to write {self.name}")

    def exists(self) -> bool:
        """Return whether there is already something under this name; an empty collection is there to be filled."""
        with self._explained():
            client = self.server.client
            return client.collection_exists(self.name) and client.count(self.name, exact=True).count > 0

    def create(self, schema: Any, source: Store, size: int) -> None:
        """Look whether there is a place for all columns; the collection is made when the first vectors are there."""
        if not size:
            raise FippError(f"{source.address} has no vectors, of which a collection could be made")
        self.open(schema, source)

    def open(self, schema: Any, source: Store) -> None:
        """Go on with what `create` began."""
        self._source = source
        named = usual_column(schema, ID_NAMES, self._key, store=self.address)
        if named is None:
            raise FippError(f"{self.address} needs a column with unique ids: name it with --id")
        self._key = named
        with self._explained():
            self._made = self.server.client.collection_exists(self.name)
        names: dict[str, Any] = {}
        if self._made:
            with closing(QdrantStore(self._parsed, named)) as written:
                names = written.dense
        self._schema = _with_roles(schema, named, self._column, names, self.address)

    def close(self) -> None:
        """Close the client."""
        self.server.close()

    def _make(self, batch: Any) -> None:
        """Make the collection if there is none, with the settings of the source if that is a collection, too."""
        client = self.server.client
        given: dict[str, Any] = {}
        options: dict[str, Any] = {}
        indexes: dict[str, Any] = {}
        if isinstance(self._source, QdrantStore):
            given, options = self._source.dense, self._source.settings()
            indexes = self._source.config.payload_schema or {}
        vectors = {}
        for field, column in zip(self._schema, batch.columns, strict=True):
            kind, name = role(field)
            if kind in ("one", "many"):
                vectors[name] = _params(given.get(name), column)
        try:
            client.create_collection(self.name, vectors_config=vectors.get("", vectors), **options)
        except Exception:
            if not client.collection_exists(self.name):  # or another process has just made it
                raise
        for name, index in indexes.items():
            client.create_payload_index(self.name, name, field_schema=index.params or index.data_type)
        self._made = True

    def write(self, fragment: Fragment, batches: Iterable[Any]) -> str:
        """Write the points of a fragment, in the place of those with the same ids; return how many they are."""
        count = 0
        for batch in batches:
            with self._explained():
                if len(batch) and not self._made:
                    self._make(batch)
                points = self._points(batch)
                size = points_per_request(batch.schema)
                for start in range(0, len(points), size):
                    self.server.client.upsert(self.name, points[start : start + size], wait=True)
            count += len(batch)
        return str(count)

    def _points(self, batch: Any) -> list[Any]:
        models = qdrant("qdrant_client.models")
        ids = _ids(batch, self._key)
        payloads: list[dict[str, Any]] = [{} for _ in ids]
        vectors: list[dict[str, Any]] = [{} for _ in ids]
        for place, field in enumerate(self._schema):
            (kind, name), column = role(field), batch.column(place)
            if kind == "payload":
                for payload, text in zip(payloads, column.to_pylist(), strict=True):
                    payload.update(json.loads(text) if text else {})
            elif kind == "field":
                for payload, value in zip(payloads, _plain(column).to_pylist(), strict=True):
                    payload[field.name] = value
            elif kind != "id":
                for vector, value in zip(vectors, _numbers(column, kind, models), strict=True):
                    if value is not None:
                        vector[name] = value
        return [
            models.PointStruct(id=key, vector=vector.get("", vector), payload=payload)
            for key, vector, payload in zip(ids, vectors, payloads, strict=True)
        ]

    def remove(self, fragment: Fragment) -> None:
        """Do nothing: points that the source no longer has are removed at the end."""

    def finish(self, fragments: Sequence[Fragment], checksums: dict[str, str]) -> dict[str, str]:
        """Remove points that the source had only for a while; return a checksum of all."""
        rows = sum(fragment.rows for fragment in fragments)
        with self._explained():
            client = self.server.client
            if client.count(self.name, exact=True).count > rows:
                self._remove_the_others()
            found = client.count(self.name, exact=True).count
        if found != rows:
            raise FippError(
                f"{self.address} has {found:,} points, but the source has {rows:,} rows: "
                + ("ids repeat, and Qdrant keeps one point for each" if found < rows else "somebody else writes to it")
            )
        return {self.name: self.checksum(self.name, None)}

    def _remove_the_others(self) -> None:
        """Remove the points that are not in the source."""
        assert self._source is not None
        parts = [_digests(_ids(batch, self._key)) for batch in self._source.batches()]
        known = np.sort(np.concatenate([np.empty(0, np.uint64), *parts]))
        with closing(QdrantStore(self._parsed, self._key)) as written:
            for page in written.ids():
                digests = _digests(page)
                places = np.minimum(np.searchsorted(known, digests), max(0, len(known) - 1))
                gone = [key for key, there in zip(page, known[places] == digests, strict=True) if not there]
                if gone:
                    self.server.client.delete(self.name, gone, wait=True)

    def checksum(self, name: str, fragment: Fragment | None) -> str:
        """Return the number of points and a digest of them, or nothing if the collection is gone."""
        with self._explained():
            there = self.server.client.collection_exists(self.name)
        if not there:
            return ""
        with closing(QdrantStore(self._parsed, self._key)) as written:
            return written.checksum()

    def read(self, fragment: Fragment, offset: int, like: Any) -> Iterator[Any]:
        """Yield the points with the ids of ``like``; where only directions are kept, lengths are those of ``like``."""
        with closing(QdrantStore(self._parsed, self._key)) as written:
            size = points_per_request(like.schema)
            for start in range(0, len(like), size):
                part = like.slice(start, size)
                records = written.records_of(_ids(part, self._key))
                if len(records) < len(part):
                    return
                yield self._as_like(records, part, written)

    def _as_like(self, records: list[Any], like: Any, written: QdrantStore) -> Any:
        arrow = pyarrow()
        fields = [field.name for field in self._schema if role(field)[0] == "field"]
        columns = []
        for field, expected in zip(self._schema, like.columns, strict=True):
            kind, name = role(field)
            if kind == "field":
                values = [(record.payload or {}).get(field.name) for record in records]
                column = arrow.array(values, _plain_type(field.type)).cast(field.type)
            elif kind == "payload":
                rest = [
                    {key: value for key, value in record.payload.items() if key not in fields} for record in records
                ]
                texts = [
                    None if text is None and not left else as_json(left)
                    for text, left in zip(expected.to_pylist(), rest, strict=True)
                ]
                column = arrow.array(texts, field.type)
            elif kind == "one":
                there = written.schema().field(name or "vector")
                by_cosine = getattr(written.dense[name].distance, "value", "") == "Cosine"
                column = _restored(column_of_records(records, there), expected, only_directions=by_cosine)
            elif kind == "id":
                column = expected
            else:
                column = column_of_records(records, field)
            columns.append(column)
        return arrow.RecordBatch.from_arrays(columns, names=like.schema.names)

    def before(self, name: str) -> str:
        """Return the collection that an alias means, or nothing if there is none; a collection cannot be switched."""
        with self._explained():
            aliases = {each.alias_name: each.collection_name for each in self.server.client.get_aliases().aliases}
            if name not in aliases and self.server.client.collection_exists(name):
                raise FippError(
                    f"{name} is a collection, and nothing but an alias can be switched in one step: let applications "
                    "read an alias"
                )
        return aliases.get(name, "")

    def switch(self, name: str) -> None:
        """Let an alias mean this collection, in one step."""
        self._alias(name, self.name, self.before(name))

    def switch_back(self, name: str, before: str) -> None:
        """Let the alias mean again what it meant before."""
        if (present := self.before(name)) == before:
            return
        if present != self.name:
            raise switched_since(name, present or "nothing", self.address)
        self._alias(name, before, present)

    def _alias(self, name: str, collection: str, present: str) -> None:
        models = qdrant("qdrant_client.models")
        changes: list[Any] = []
        if present:
            changes.append(models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=name)))
        if collection:
            made = models.CreateAlias(collection_name=collection, alias_name=name)
            changes.append(models.CreateAliasOperation(create_alias=made))
        with self._explained():
            self.server.client.update_collection_aliases(changes)

    def original(self, source: str, name: str, before: str) -> str:
        """Return the source itself, or the collection that it was an alias of before that was switched."""
        is_alias = before and source == str(self._parsed._replace(collection=name))
        return str(self._parsed._replace(collection=before)) if is_alias else source

    def tidy(self) -> None:
        """Leave everything as it is: nothing is kept beside the collection."""

    def discard(self) -> None:
        """Remove the collection."""
        with self._explained():
            self.server.client.delete_collection(self.name)


def _with_roles(schema: Any, key: str, column: str | None, names: dict[str, Any], address: str) -> Any:
    """Return the schema with what each column becomes, which those from a collection know already.

    The converted column becomes the only vector; in a collection that has ``names`` for vectors, those that are called
    so do. All other columns become fields of the payload.
    """
    fields = []
    for field in schema:
        kind, name = role(field)
        if field.name == key:
            kind = "id"
        elif kind == "field" and (field.name in names or (field.name == column and (not names or "" in names))):
            kind, name = "one", field.name if field.name in names else ""
        elif kind == "field":
            _check_payload(field, address)
        if kind == "one" and pyarrow().types.is_signed_integer(field.type.value_type):
            raise FippError(f"{address} has no place for int8 with scales: leave it to Qdrant to quantize vectors")
        if field.name == column and kind == "field":
            raise FippError(f"{address} has no vector called {column!r}; it has {', '.join(names)}")
        fields.append(field.with_metadata({QDRANT: f"{kind}:{name}".encode()}))
    return pyarrow().schema(fields)


def _check_payload(field: Any, address: str) -> None:
    """Refuse a column that JSON has no place for."""
    types = pyarrow().types
    kind = field.type.value_type if types.is_dictionary(field.type) else field.type

    def fits(kind: Any) -> bool:
        if types.is_struct(kind):
            return all(fits(kind.field(place).type) for place in range(kind.num_fields))
        if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            return fits(kind.value_type)
        tests = (types.is_null, types.is_boolean, types.is_integer, types.is_floating)
        return types.is_string(kind) or types.is_large_string(kind) or any(test(kind) for test in tests)

    if not (types.is_temporal(kind) or fits(kind)):
        raise FippError(f"{address} has no place for the column {field.name!r} of the type {field.type}")


def _plain_type(kind: Any) -> Any:
    """Return the type that a column has as JSON: times are text."""
    arrow = pyarrow()
    kind = kind.value_type if arrow.types.is_dictionary(kind) else kind
    return arrow.string() if arrow.types.is_temporal(kind) else kind


def _plain(column: Any) -> Any:
    return column.cast(_plain_type(column.type))


def _ids(batch: Any, name: str | None) -> list[Any]:
    """Return the ids of a batch as Qdrant takes them: whole numbers or UUIDs."""
    column = batch.column(name)
    ids: list[Any] = column.to_pylist()
    if pyarrow().types.is_integer(column.type) and all(each is not None and each >= 0 for each in ids):
        return ids
    try:
        return [int(each) if each.isdecimal() else str(UUID(each)) for each in ids]
    except (ValueError, AttributeError, TypeError):
        raise FippError(
            f"Qdrant's ids are whole numbers from 0 or UUIDs, but the column {name!r} has others, such as "
            f"{next(each for each in ids if not _is_id(each))!r}"
        ) from None


def _is_id(value: Any) -> bool:
    try:
        return int(value) >= 0 if isinstance(value, int) or value.isdecimal() else bool(UUID(value))
    except (ValueError, AttributeError, TypeError):
        return False


def _digests(ids: Sequence[Any]) -> NDArray[np.uint64]:
    found = [hashlib.blake2b(str(each).encode(), digest_size=8).digest() for each in ids]
    return np.frombuffer(b"".join(found), np.uint64)


def _numbers(column: Any, kind: str, models: Any) -> list[Any]:
    """Return the vectors of a column, None where there are none."""
    if kind != "one":
        values = column.to_pylist()
        return [value and models.SparseVector(**value) for value in values] if kind == "sparse" else values
    matrix, valid = matrix_of(column, "the column of vectors")
    rows = iter(matrix.tolist())
    return [next(rows) if there else None for there in valid]


def _params(given: Any, column: Any) -> Any:
    """Return how a vector is configured: as before, with the length and the type of the new ones."""
    models = qdrant("qdrant_client.models")
    if given is not None and given.multivector_config is not None:
        return given
    half = column.type.value_type == pyarrow().float16()
    changes = {"size": matrix_of(column, "the column of vectors")[0].shape[1]}
    changes["datatype"] = models.Datatype.FLOAT16 if half else None
    if given is None:
        return models.VectorParams(distance=models.Distance.COSINE, **changes)
    return given.model_copy(update=changes)


def _restored(found: Any, expected: Any, *, only_directions: bool) -> Any:
    """Return what was found as a column like the expected one: with its type, and with its lengths if they are lost."""
    (matrix, valid), (other, _) = (matrix_of(each, "the column of vectors") for each in (found, expected))
    restored = matrix.astype(other.dtype)
    if matrix.shape == other.shape:
        if only_directions:
            restored *= np.linalg.norm(other.astype(np.float32), axis=1, keepdims=True).astype(other.dtype)
        kept = matrix == other.astype(matrix.dtype)  # as exactly as a collection can
        restored[kept] = other[kept]
    return column_of(restored, valid, vector_type(expected.type, expected.type.value_type, matrix.shape[1]))
