"""Converted rows in a new table of PostgreSQL, and the renaming that puts it in the place of the old one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, TypeGuard

import numpy as np

from fipp.exceptions import FippError
from fipp.io import float32_rows
from fipp.stores._columns import ID_NAMES, is_vector, matrix_of, usual_column
from fipp.stores._postgres import POSTGRES_TYPE, Database, PostgresStore, identifier, psycopg
from fipp.stores._store import Address, Fragment, Store, pyarrow, switched_since

_FRAGMENT = "fipp_fragment"
_PARTIAL, _BEFORE = "__fipp_partial", "__before"
_LONGEST_NAME = 63
_LOCK_TIMEOUT = "10s"


class PostgresSink:
    """A new table. Fragments are collected in another one, which gets the name when all are there."""

    def __init__(self, address: Address, key: str | None = None) -> None:
        self.address = str(address)
        self._parsed = address
        self._key = key
        self._schema: Any = None
        self._written: list[int] = []
        self.database = Database(address)
        self.name = address.collection
        self.table, self.staging = identifier(self.name), identifier(_suffixed(self.name, _PARTIAL))

    def exists(self) -> bool:
        """Return whether there is already something under this name."""
        found = self._is_there(self.table)
        self.database.end()
        return found

    def _is_there(self, table: Any) -> bool:
        name = table.as_string(self.database.connection)
        return self.database.run("SELECT to_regclass(%s)", [name])[0][0] is not None

    def create(self, schema: Any, source: Store, size: int) -> None:
        """Make an empty table. One for rows of the same database has the same defaults and constraints."""
        self.open(schema, source)
        with self._transaction("cannot have the new table"):
            self._run("DROP TABLE IF EXISTS {staging}")
            if self._is_beside(source):
                self._run(
                    "CREATE TABLE {staging} (LIKE {source} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING IDENTITY "
                    "INCLUDING GENERATED INCLUDING COMMENTS INCLUDING STORAGE)",
                    source=source.table,
                )
                self._grant(source)
                there = {column.name: column.kind for column in source.columns}
            else:
                self._run("CREATE TABLE {staging} ()")
                there = {}
            for field in schema:
                self._make_column(field, there)
            self._run("ALTER TABLE {staging} ADD COLUMN {fragment} text")
            self._run("CREATE INDEX ON {staging} ({fragment})")

    def _grant(self, source: PostgresStore) -> None:
        """Let whoever may use the source use the new table, too, which may take its name."""
        found = self._run(
            "SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END, "
            "CASE WHEN is_grantable THEN 'WITH GRANT OPTION' ELSE '' END "
            "FROM pg_class, aclexplode(relacl) WHERE pg_class.oid = to_regclass(%s)",
            [source.table.as_string(self.database.connection)],
        )
        plain = psycopg("psycopg.sql").SQL
        for right, grantee, option in found:
            parts = {"right": plain(right), "grantee": plain(grantee), "option": plain(option)}
            self._run("GRANT {right} ON {staging} TO {grantee} {option}", **parts)

    def _is_beside(self, source: Store) -> TypeGuard[PostgresStore]:
        """Return whether rows come from a table of the same database."""
        return isinstance(source, PostgresStore) and source.database.place == self._parsed.place and not source.is_view

    def _make_column(self, field: Any, there: dict[str, str]) -> None:
        sql, kind = psycopg("psycopg.sql"), self._kind(field)
        names = {"column": sql.Identifier(field.name), "kind": sql.SQL(kind)}
        if field.name not in there:
            self._run("ALTER TABLE {staging} ADD COLUMN {column} {kind}", **names)
        elif there[field.name] != kind:
            self._run("ALTER TABLE {staging} ALTER COLUMN {column} DROP DEFAULT", **names)
            self._run("ALTER TABLE {staging} ALTER COLUMN {column} TYPE {kind} USING NULL", **names)

    def _kind(self, field: Any) -> str:
        """Return the type of PostgreSQL for a column: the one that it had there, or one for its Arrow type."""
        arrow = pyarrow()
        given = (field.metadata or {}).get(POSTGRES_TYPE, b"").decode()
        if not _is_pgvector(field):
            return _plain_kind(field) if is_vector(field.type) else given or _plain_kind(field)
        numbers = field.type.value_type
        wanted = "halfvec" if numbers == arrow.float16() else "vector"
        found = self.database.run("SELECT oid::regtype::text FROM pg_type WHERE typname = %s", [wanted])
        if not found:
            needed = "pgvector 0.7 or later, for halfvec" if wanted == "halfvec" else "CREATE EXTENSION vector"
            raise FippError(f"{self._parsed.place} has no type {wanted} for {field.name!r}: it needs {needed}")
        is_sized = arrow.types.is_fixed_size_list(field.type)
        return f"{found[0][0]}({field.type.list_size})" if is_sized else str(found[0][0])

    def open(self, schema: Any, source: Store) -> None:
        """Go on with what `create` began."""
        self._schema = schema
        self._key = usual_column(schema, ID_NAMES, self._key, store=self.address)
        if self._key is None:
            raise FippError(f"{self.address} needs a column with unique ids: name it with --id")
        # What the database calculates itself cannot be written.
        generated = source.generated if self._is_beside(source) else set()
        self._written = [place for place, name in enumerate(schema.names) if name not in generated]

    def close(self) -> None:
        """Let go of the connection."""
        self.database.close()

    def write(self, fragment: Fragment, batches: Iterable[Any]) -> str:
        """Replace the rows of a fragment, in one transaction; return how many they are."""
        sql, count = psycopg("psycopg.sql"), 0
        fields = [self._schema.field(place) for place in self._written]
        names = [sql.Identifier(name) for name in (*(field.name for field in fields), _FRAGMENT)]
        copy = sql.SQL("COPY {} ({}) FROM STDIN").format(self.staging, sql.SQL(", ").join(names))
        if not self._is_there(self.staging):
            raise FippError(
                f"rows of the source changed after {self.address} was put in its place: remove it with "
                "`fipp migrate rollback --delete`, and convert again"
            )
        with self._transaction(f"cannot take {fragment.name}"):
            self._run("DELETE FROM {staging} WHERE {fragment} = %s", [fragment.name])
            with self.database.connection.cursor() as cursor, cursor.copy(copy) as rows:
                for batch in batches:
                    columns = [_values(batch.column(field.name), field) for field in fields]
                    for row in zip(*columns, strict=True):
                        rows.write_row((*row, fragment.name))
                    count += len(batch)
        return str(count)

    def remove(self, fragment: Fragment) -> None:
        """Remove a fragment that the source no longer has."""
        with self._transaction(f"cannot remove {fragment.name}"):
            self._run("DELETE FROM {staging} WHERE {fragment} = %s", [fragment.name])

    def finish(self, fragments: Sequence[Fragment], checksums: dict[str, str]) -> dict[str, str]:
        """Make the primary key and give the table its name; one checksum covers all rows, in whatever order."""
        sql = psycopg("psycopg.sql")
        with self._transaction("cannot finish the table"):
            if self._is_there(self.staging):
                self._run("ALTER TABLE {staging} DROP COLUMN {fragment}")
                self._run("ALTER TABLE {staging} RENAME TO {last}", last=sql.Identifier(self.name.split(".")[-1]))
                # The index of the key is named after the table.
                self._run("ALTER TABLE {table} ADD PRIMARY KEY ({key})", key=sql.Identifier(self._key))
                self._count_on()
        return {self.name: self.checksum(self.name, None)}

    def _count_on(self) -> None:
        """Let numbers that the database gives to new rows begin behind those that are there."""
        table = self._quoted()
        for (name,) in self._run(
            "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attidentity <> ''", [table]
        ):
            self._run(
                "SELECT setval(pg_get_serial_sequence(%s, %s), max({column})) FROM {table}",
                [table, name],
                column=psycopg("psycopg.sql").Identifier(name),
            )

    def checksum(self, name: str, fragment: Fragment | None) -> str:
        """Return the sum of the hashes of all rows, calculated by the server."""
        if not self.exists():
            return ""
        sql = psycopg("psycopg.sql")
        columns = sql.SQL(", ").join(sql.Identifier(name) for name in self._schema.names)
        query = sql.SQL("SELECT count(*), sum(hashtextextended(ROW({})::text, 0))::text FROM {}")
        count, total = self.database.run(query.format(columns, self.table))[0]
        self.database.end()
        return f"{count}.{total}"

    def read(self, fragment: Fragment, offset: int, like: Any) -> Iterator[Any]:
        """Yield the rows with the keys of ``like``."""
        with closing(PostgresStore(self._parsed, self._key)) as store:
            for batch in store.rows_of(like.column(self._key).to_pylist()):
                yield batch.select(like.schema.names)

    def before(self, name: str) -> str:
        """Return the name that the present table will have; refuse one in another schema."""
        if identifier(name) == self.table or name.rpartition(".")[0] != self.name.rpartition(".")[0]:
            raise FippError(f"{name} must be another name than {self.name}, in the same schema")
        if not self._is_there(identifier(name)):
            self.database.end()
            return ""
        kept = _suffixed(name, _BEFORE)
        taken = self._is_there(identifier(kept))
        self.database.end()
        if taken:
            raise FippError(f"{kept} is there already, from an earlier switch: drop it, or give it another name")
        return kept

    def switch(self, name: str) -> None:
        """Rename the present table and this one in one transaction; a view stays under this one's own name."""
        kept = self.before(name)
        with self._transaction(f"was not switched to {self.name}"):
            self._run("SET LOCAL lock_timeout = '" + _LOCK_TIMEOUT + "'")
            if kept:
                self._rename(name, kept)
            self._rename(self.name, name)
            self._run("CREATE VIEW {table} AS SELECT * FROM {other}", other=identifier(name))

    def switch_back(self, name: str, before: str) -> None:
        """Rename both tables back in one transaction, unless they were never renamed."""
        with self._transaction(f"was not switched back from {self.name}"):
            self._run("SET LOCAL lock_timeout = '" + _LOCK_TIMEOUT + "'")
            # The view that the switch made follows the table whatever its name becomes.
            views = self._run(
                "SELECT refobjid = to_regclass(%s) FROM pg_depend JOIN pg_rewrite ON pg_rewrite.oid = objid "
                "WHERE ev_class = to_regclass(%s) AND refclassid = 'pg_class'::regclass AND refobjid <> ev_class",
                [identifier(name).as_string(self.database.connection), self._quoted()],
            )
            if views:
                if not views[0][0]:
                    raise switched_since(name, "another table", self.address)
                self._run("DROP VIEW {table}")
                self._rename(name, self.name)
                if before:
                    self._rename(before, name)

    def _quoted(self) -> str:
        return str(self.table.as_string(self.database.connection))

    def _rename(self, name: str, to: str) -> None:
        sql = psycopg("psycopg.sql")
        self._run("ALTER TABLE {old} RENAME TO {new}", old=identifier(name), new=sql.Identifier(to.split(".")[-1]))

    def original(self, source: str, name: str, before: str) -> str:
        """Return the source under the name that it was given by the switch."""
        is_renamed = before and source == str(self._parsed._replace(collection=name))
        return str(self._parsed._replace(collection=before)) if is_renamed else source

    def tidy(self) -> None:
        """Leave everything as it is: nothing is kept beside the table."""

    def discard(self) -> None:
        """Drop everything that was written."""
        with self._transaction("cannot drop the table"):
            self._run("DROP TABLE IF EXISTS {staging}")
            self._run("DROP TABLE IF EXISTS {table}")

    def _transaction(self, problem: str) -> Any:
        return self.database.transaction(problem)

    def _run(self, statement: str, values: Sequence[Any] = (), **names: Any) -> list[tuple[Any, ...]]:
        sql = psycopg("psycopg.sql")
        known = {"staging": self.staging, "table": self.table, "fragment": sql.Identifier(_FRAGMENT), **names}
        return self.database.run(sql.SQL(statement).format(**known), values)


def _suffixed(name: str, suffix: str) -> str:
    if len((name.split(".")[-1] + suffix).encode()) > _LONGEST_NAME:
        raise FippError(
            f"the name {name} is too long: PostgreSQL takes {_LONGEST_NAME - len(suffix)} bytes beside a suffix"
        )
    return name + suffix


def _plain_kind(field: Any) -> str:
    """Return the type of PostgreSQL for an Arrow type."""
    arrow, kind = pyarrow(), field.type
    types = arrow.types
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return f"{_plain_kind(kind.value_field)}[]"
    for test, found in (
        (types.is_dictionary, "text"), (types.is_string, "text"), (types.is_large_string, "text"),
        (types.is_boolean, "boolean"), (types.is_int8, "smallint"), (types.is_int16, "smallint"),
        (types.is_uint8, "smallint"), (types.is_int32, "integer"), (types.is_uint16, "integer"),
        (types.is_int64, "bigint"), (types.is_uint32, "bigint"), (types.is_uint64, "numeric(20)"),
        (types.is_float16, "real"), (types.is_float32, "real"), (types.is_float64, "double precision"),
        (types.is_decimal, "numeric"), (types.is_date, "date"), (types.is_binary, "bytea"),
        (types.is_large_binary, "bytea"),
    ):  # fmt: skip
        if test(kind):
            return found
    if types.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    raise FippError(f"PostgreSQL has no type for the column {field.name!r} of the type {kind}")


def _is_pgvector(field: Any) -> bool:
    """Return whether a column becomes a vector of pgvector; what was an array stays one, and so do whole numbers."""
    given = (field.metadata or {}).get(POSTGRES_TYPE, b"")
    return is_vector(field.type) and pyarrow().types.is_floating(field.type.value_type) and not given.endswith(b"[]")


def _values(column: Any, field: Any) -> list[Any]:
    """Return the values of a column as COPY takes them; vectors as text that reads back as the same numbers."""
    if not _is_pgvector(field):
        return list(column.to_pylist())
    matrix, valid = matrix_of(column, field.name)
    texts = float32_rows(np.ascontiguousarray(matrix, np.float32))
    return ["[" + next(texts).decode().replace(" ", ",") + "]" if there else None for there in valid]
