"""Tables in PostgreSQL with pgvector: read in the order of a key, each fragment from one snapshot."""

from __future__ import annotations

import weakref
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from fipp._optional import require
from fipp.exceptions import FippError
from fipp.stores._columns import ID_NAMES, column_of, usual_column
from fipp.stores._store import BATCH_ROWS, FRAGMENT_ROWS, Address, Fragment, Key, key_ranges, pyarrow

POSTGRES_TYPE = b"fipp.postgresql.type"
"""The key of a field's metadata under which a column keeps its type in PostgreSQL."""

_PLAIN = {
    "int2": "int16", "int4": "int32", "int8": "int64", "float4": "float32", "float8": "float64", "bool": "bool_",
    "text": "string", "varchar": "string", "bytea": "binary", "date": "date32",
}  # fmt: skip
_VECTORS = {"vector": "f4", "halfvec": "f2"}
# Values are text in the same form whatever the server's settings are.
_SETTINGS = "-c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres -c extra_float_digits=1"


def psycopg(module: str = "psycopg") -> Any:
    """Return psycopg or one of its modules."""
    return require(module, "a table in PostgreSQL", extra="postgres")


class Database:
    """A connection that is opened whenever it is needed. Passwords are left to libpq, which knows where to look."""

    def __init__(self, address: Address) -> None:
        self.place = address.place
        self._connection: Any = None

    @property
    def connection(self) -> Any:
        """The connection, in which a transaction begins with the first statement and sees one snapshot."""
        if self._connection is None or self._connection.closed:
            with self.explained("cannot be reached"):
                given = psycopg("psycopg.conninfo").conninfo_to_dict(self.place).get("options", "")
                options = f"{given} {_SETTINGS}".strip()
                connection = psycopg().connect(self.place, options=options, application_name="fipp")
            connection.isolation_level = psycopg().IsolationLevel.REPEATABLE_READ
            weakref.finalize(self, connection.close)
            self._connection = connection
        return self._connection

    @contextmanager
    def explained(self, problem: str) -> Iterator[None]:
        """Turn an error of the database into a FippError."""
        try:
            yield
        except psycopg().Error as error:
            reason = " ".join(str(error).split())[:300]
            raise FippError(f"{self.place} {problem}: {reason}") from None

    @contextmanager
    def transaction(self, problem: str) -> Iterator[None]:
        """Do everything or nothing."""
        self.end()
        try:
            with self.explained(f"{problem}, and nothing was changed"):
                yield
                self.connection.commit()
        finally:
            self.end()

    def run(self, statement: Any, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        with self.explained("refuses a statement"):
            cursor = self.connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def end(self) -> None:
        """End a transaction that has only read, or has failed; a connection that was lost has none."""
        if self._connection is not None:
            try:
                self._connection.rollback()
            except psycopg().Error:
                self.close()

    def close(self) -> None:
        """Close the connection, if there is one, and with it its locks; the next statement opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@dataclass(frozen=True)
class Column:
    """A column of a table: its type in PostgreSQL and in Arrow, and the type of a vector's numbers if it is one."""

    name: str
    kind: str
    type: Any
    numbers: str | None = None
    as_text: bool = False

    @classmethod
    def of(cls, name: str, kind: str, short: str, modifier: int) -> Column:
        """Return the column for a row of the catalogue; a type without an equal in Arrow is read as its text."""
        arrow = pyarrow()
        if short in _VECTORS:
            numbers = arrow.from_numpy_dtype(np.dtype(_VECTORS[short]))
            sized = arrow.list_(numbers, modifier) if modifier > 0 else arrow.list_(numbers)
            return cls(name, kind, sized, _VECTORS[short])
        if short in _PLAIN:
            return cls(name, kind, getattr(arrow, _PLAIN[short])())
        if short in ("timestamp", "timestamptz"):
            return cls(name, kind, arrow.timestamp("us", "UTC" if short == "timestamptz" else None))
        if short.startswith("_") and short[1:] in _PLAIN:
            return cls(name, kind, arrow.list_(getattr(arrow, _PLAIN[short[1:]])()))
        return cls(name, kind, arrow.string(), as_text=True)

    @property
    def field(self) -> Any:
        """The Arrow field."""
        return pyarrow().field(self.name, self.type, metadata={POSTGRES_TYPE: self.kind})

    def selected(self) -> Any:
        """Return what to select."""
        sql = psycopg("psycopg.sql")
        name = sql.Identifier(self.name)
        return sql.SQL("{}::text").format(name) if self.as_text else name

    def array(self, values: Sequence[Any]) -> Any:
        """Return values as they are read, vectors as bytes, as an Arrow array."""
        arrow = pyarrow()
        if self.numbers is None:
            return arrow.array(values, self.type)
        valid = np.array([value is not None for value in values])
        # Two bytes with the number of dimensions and two unused ones, then the numbers, the high byte first.
        rows = [np.frombuffer(value, f">{self.numbers}", offset=4) for value in values if value is not None]
        if len({len(row) for row in rows}) > 1:
            raise FippError(f"the vectors of the column {self.name!r} have different lengths")
        width = self.type.list_size if arrow.types.is_fixed_size_list(self.type) else 0
        matrix = np.array(rows, self.numbers) if rows else np.empty((0, width), self.numbers)
        return column_of(matrix, valid, self.type)


class PostgresStore:
    """The rows of a table, ordered by its primary key or by another unique column."""

    key: str | None
    fragment_rows = FRAGMENT_ROWS

    def __init__(self, address: Address, key: str | None = None) -> None:
        self.address = str(address)
        self.database = Database(address)
        self.table = identifier(address.collection)
        try:
            self.columns, self.is_view = self._look()
            self.key = self._key(key)
        finally:
            self.close()
        self._key_type = next(column.kind for column in self.columns if column.name == self.key)

    def close(self) -> None:
        """Let go of the connection."""
        self.database.close()

    def _look(self) -> tuple[list[Column], bool]:
        database = self.database
        found = database.run("SELECT to_regclass(%s)::oid", [self.table.as_string(database.connection)])[0][0]
        if found is None:
            raise FippError(f"there is no table {self.address}")
        self._oid = found
        rows = database.run(
            "SELECT attname, format_type(atttypid, atttypmod), typname, atttypmod, attgenerated::text "
            "FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid "
            "WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            [found],
        )
        kind = database.run("SELECT relkind::text FROM pg_class WHERE oid = %s", [found])[0][0]
        database.end()
        self.generated = {row[0] for row in rows if row[4]}
        return [Column.of(*row[:4]) for row in rows], kind in ("v", "f")

    def _key(self, given: str | None) -> str:
        """Return the column that orders the rows: no two rows may have the same value, and none may have none."""
        if self.is_view:
            named = usual_column(self.schema(), ID_NAMES, given, store=self.address)
            if named is None:
                raise FippError(f"{self.address} is a view: name the column that orders its rows with --id")
            return named
        rows = self.database.run(
            "SELECT attname, indisprimary FROM pg_index JOIN pg_attribute ON attrelid = indrelid "
            "AND attnum = indkey[0] WHERE indrelid = %s AND indisunique AND indnkeyatts = 1 AND indpred IS NULL "
            "AND attnotnull ORDER BY indisprimary DESC, attname",
            [self._oid],
        )
        if given is not None:
            usual_column(self.schema(), ID_NAMES, given, store=self.address)
            if given not in [name for name, _ in rows]:
                raise FippError(
                    f"the column {given!r} of {self.address} may repeat or be NULL: it needs a unique index"
                )
            return given
        if not rows or not rows[0][1]:
            raise FippError(f"{self.address} has no primary key of one column: name a unique column with --id")
        return str(rows[0][0])

    def schema(self) -> Any:
        """Return the Arrow schema of the rows."""
        return pyarrow().schema([column.field for column in self.columns])

    def count(self) -> int:
        """Return the number of rows."""
        count = self.database.run(self._sql("SELECT count(*) FROM {table}"))[0][0]
        self.database.end()
        return int(count)

    def plan(self, rows: int, done: Sequence[Fragment] = ()) -> Generator[Fragment, None, None]:
        """Yield ranges of keys; which transactions wrote their rows is the version.

        A fragment is planned and read in one transaction, which ends when the next one is asked for.
        """

        def look(name: str, after: Key, last: Key) -> Fragment | None:
            self.database.end()
            found = self._last_of(after, rows) if last is None else last
            return None if found is None else self._fragment(name, after, found)

        try:
            yield from key_ranges(done, look)
        finally:
            self.database.end()

    def _last_of(self, after: Key, rows: int) -> Key:
        """Return the key of the last of the next rows."""
        query = self._sql(
            "SELECT {key}::text AS fipp_key FROM (SELECT {key} FROM {table} {where} ORDER BY {key} LIMIT %s) "
            "AS next_rows ORDER BY {key} DESC LIMIT 1",
            after,
        )
        found = self.database.run(query, [*self._bounds(after, None), rows])
        return found[0][0] if found else None

    def _fragment(self, name: str, after: Key, last: Key) -> Fragment:
        # Every change of a row makes a new version of it with the number of its transaction in xmin.
        version = "whole_row.*::text" if self.is_view else "{key}::text || ' ' || whole_row.xmin::text"
        query = (
            f"""SELECT count(*), sum(hashtextextended(({version}) COLLATE "C", 0))::text FROM {{table}} AS whole_row"""
        )
        count, total = self.database.run(
            self._sql(query + " {where}", after, last), self._bounds(after, last)
        )[0]  # fmt: skip
        return Fragment(name, after, last, count, total or "")

    def _sql(self, query: str, after: Key = None, last: Key = None) -> Any:
        """Return a query with its names put in."""
        sql = psycopg("psycopg.sql")
        key = sql.Identifier(str(self.key))
        parts = [
            sql.SQL(f"{{}} {sign} %s::{self._key_type}").format(key)
            for sign, bound in ((">", after), ("<=", last))
            if bound is not None
        ]
        where = sql.SQL("WHERE ") + sql.SQL(" AND ").join(parts) if parts else sql.SQL("")
        selected = sql.SQL(", ").join(column.selected() for column in self.columns)
        return sql.SQL(query).format(table=self.table, key=key, where=where, selected=selected)

    @staticmethod
    def _bounds(after: Key, last: Key) -> list[Any]:
        return [bound for bound in (after, last) if bound is not None]

    def scan(self, fragments: Iterable[Fragment]) -> Generator[tuple[Fragment, Any], None, None]:
        """Yield each fragment with its record batches."""
        for fragment in fragments:
            if fragment.rows == 0:
                yield fragment, self._batch([])
                continue
            for batch in self._between(fragment.after, fragment.last):
                yield fragment, batch

    def batches(self) -> Generator[Any, None, None]:
        """Yield all rows as record batches, from one snapshot."""
        try:
            yield from self._between(None, None)
        finally:
            self.database.end()

    def _between(self, after: Key, last: Key) -> Iterator[Any]:
        """Yield the rows of a range of keys, page by page."""
        # The key's own text may have its name, and sorts otherwise.
        page = (
            "SELECT {key}::text AS fipp_key, {selected} FROM {table} AS source_rows {where} "
            "ORDER BY source_rows.{key} LIMIT %s"
        )
        while rows := self._read(self._sql(page, after, last), [*self._bounds(after, last), BATCH_ROWS]):
            after = rows[-1][0]
            yield self._batch([row[1:] for row in rows])

    def rows_of(self, keys: Sequence[Any]) -> Iterator[Any]:
        """Yield the rows with the given keys, in their order, as record batches."""
        query = self._sql(
            f"SELECT {{selected}} FROM unnest(%s::{self._key_type}[]) WITH ORDINALITY AS wanted (fipp_key, fipp_place) "
            "JOIN {table} ON {key} = fipp_key ORDER BY fipp_place"
        )
        for start in range(0, len(keys), BATCH_ROWS):
            yield self._batch(self._read(query, [list(keys[start : start + BATCH_ROWS])]))
        self.database.end()

    def _read(self, query: Any, values: list[Any]) -> list[tuple[Any, ...]]:
        """Return rows, with values as bytes where there is a choice."""
        with self.database.explained("cannot be read"):
            rows: list[tuple[Any, ...]] = self.database.connection.execute(query, values, binary=True).fetchall()
            return rows

    def _batch(self, rows: list[tuple[Any, ...]]) -> Any:
        arrow = pyarrow()
        values = zip(*rows, strict=True) if rows else ([] for _ in self.columns)
        try:
            arrays = [column.array(list(each)) for column, each in zip(self.columns, values, strict=True)]
        except (arrow.ArrowException, OverflowError) as error:
            raise FippError(f"{self.address} has values that cannot be converted: {error}") from None
        return arrow.RecordBatch.from_arrays(arrays, schema=self.schema())


def identifier(collection: str) -> Any:
    """Return ``table`` or ``schema.table`` as an identifier of SQL."""
    return psycopg("psycopg.sql").Identifier(*collection.split("."))
