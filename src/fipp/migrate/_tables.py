"""Ids, vectors and texts from the tables that people have: Parquet, Arrow and Feather, ``.npy``, data frames."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp._optional import require
from fipp._validation import as_matrix
from fipp.exceptions import FippError
from fipp.stores import ID_NAMES, TEXT_NAMES, is_vector

OLD = "old.parquet"
"""The file with the items of a sample, in the folder that `fipp migrate sample` writes."""


class ItemTable(NamedTuple):
    """Items with their vectors by column, their ids if there are any, and whatever else the table has."""

    name: str
    ids: NDArray[Any] | None
    vectors: dict[str, NDArray[Any]]
    texts: list[str] | None
    gold: list[Any] | None = None

    def only_vectors(self, preferred: tuple[str, ...]) -> NDArray[Any]:
        """Return the one column of vectors, or the first of several preferred names."""
        if len(self.vectors) == 1:
            return next(iter(self.vectors.values()))
        for name in preferred:
            if name in self.vectors:
                return self.vectors[name]
        raise FippError(
            f"{self.name} has {len(self.vectors)} columns of vectors ({', '.join(self.vectors) or 'none'}): "
            f"name one of them {preferred[0]!r}"
        )


def sample_files(folder: Any, queries: Any) -> tuple[Any, Any, Any] | None:
    """Return the files of a folder with a sample: old, new and queries; None if it is not such a folder."""
    if not isinstance(folder, (str, os.PathLike)) or not Path(folder, OLD).is_file():
        return None
    found = {}
    for name in ("new", "queries"):
        places = [Path(folder, name + suffix) for suffix in (".parquet", ".arrow", ".feather", ".npy")]
        found[name] = next((place for place in places if place.is_file()), None)
    if found["new"] is None:
        raise FippError(
            f"{folder} has no new.parquet: embed the texts of {Path(folder, OLD)} with the new model, and write their "
            "ids and vectors there"
        )
    return Path(folder, OLD), found["new"], found["queries"] if queries is None else queries


def read_items(source: Any, *, id_column: str | None = None) -> ItemTable:
    """Return the items of a file, a folder of Parquet files, a data frame, an Arrow table or an array."""
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if not path.exists():
            raise FippError(f"{path} does not exist")
        if path.suffix.lower() == ".npy":
            return _read_npy(path)
        return _from_arrow(_open_arrow(path), str(path), id_column)
    if hasattr(source, "__arrow_c_stream__") or type(source).__module__.partition(".")[0] in ("pandas", "pyarrow"):
        arrow = _pyarrow()
        frame = hasattr(source, "iloc")  # a pandas data frame, whose older versions have no Arrow stream
        table = arrow.Table.from_pandas(source, preserve_index=False) if frame else arrow.table(source)
        return _from_arrow(table, "the table", id_column)
    return ItemTable("the array", None, {"vector": as_matrix(source, "the array")}, None)


def _pyarrow() -> Any:
    return require("pyarrow", "a table of vectors", extra="arrow")


def _read_npy(path: Path) -> ItemTable:
    """Map a matrix; ids may stand beside it in ``x.ids.npy``, or as text, one per line, in ``x.txt``."""
    from fipp.io import map_matrix, read_batches

    matrix = map_matrix(path)
    ids: NDArray[Any] | None = None
    numbers, lines = path.with_suffix(".ids.npy"), path.with_suffix(".txt")
    if numbers.exists():
        ids = np.load(numbers, allow_pickle=False)
    elif lines.exists():
        found = [line.decode("utf-8", "replace") for batch in read_batches(lines) for line in batch]
        ids = np.array(found, dtype=object)
    if ids is not None and ids.shape != (len(matrix),):
        raise FippError(f"{path} has {len(matrix):,} rows, but the file of ids beside it has {len(ids):,}")
    return ItemTable(str(path), ids, {path.stem: as_matrix(matrix, str(path))}, None)


def _open_arrow(path: Path) -> Any:
    """Return a file, or all Parquet files of a folder, as one table, decoded by a process with bounded memory."""
    from fipp.io import read_whole

    arrow = _pyarrow()
    if not path.is_dir():
        return read_whole(path)
    parts = [part for part in sorted(path.rglob("*.parquet")) if not part.name.startswith((".", "_"))]
    if not parts:
        raise FippError(f"{path} has no Parquet files in it")
    try:
        return arrow.concat_tables([read_whole(part) for part in parts])
    except arrow.ArrowInvalid as error:
        raise FippError(f"the files of {path} have different columns: {error}") from None


def _from_arrow(table: Any, name: str, id_column: str | None) -> ItemTable:
    vectors = {}
    for field in table.schema:
        if is_vector(field.type) and field.name != "gold":
            vectors[field.name] = as_matrix(_matrix(table.column(field.name), name), f"{field.name!r} of {name}")
    found = {field.name.lower(): field.name for field in table.schema if field.name not in vectors}
    named = id_column or next((found[each] for each in ID_NAMES if each in found), None)
    if named is not None and named not in table.column_names:
        raise FippError(f"{name} has no column {named!r}; its columns are {', '.join(table.column_names)}")
    ids = None if named is None else _ids(table.column(named))
    text = next((found[each] for each in TEXT_NAMES if each in found and found[each] != named), None)
    texts = None if text is None else [str(each) for each in table.column(text).to_pylist()]
    gold = table.column(found["gold"]).to_pylist() if "gold" in found else None
    return ItemTable(name, ids, vectors, texts, gold)


def _ids(column: Any) -> NDArray[Any]:
    """Return ids of whatever type, as Python objects that can be compared."""
    ids = np.empty(len(column), dtype=object)
    ids[:] = column.to_pylist()
    return ids


def _matrix(column: Any, name: str) -> NDArray[Any]:
    combined = column.combine_chunks()
    if combined.null_count:
        raise FippError(f"{combined.null_count:,} rows of {name} have no vector: leave them out of the sample")
    lengths = np.unique(_lengths(combined))
    if len(lengths) != 1:
        raise FippError(f"the vectors of {name} have different lengths, from {lengths[0]} to {lengths[-1]}")
    return np.asarray(combined.flatten().to_numpy(zero_copy_only=False)).reshape(len(combined), int(lengths[0]))


def _lengths(column: Any) -> NDArray[np.int64]:
    compute = require("pyarrow.compute", "a table of vectors", extra="arrow")
    return np.asarray(compute.list_value_length(column).to_numpy(zero_copy_only=False))


def match_ids(first: ItemTable, second: ItemTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of two tables that have the same id, in the order of the first."""
    places = [_places(table) for table in (first, second)]
    shared = [key for key in places[0] if key in places[1]]
    if not shared:
        examples = [next(iter(place)) for place in places]
        raise FippError(
            f"{first.name} and {second.name} have no id in common; their first ids are {examples[0]!r} and "
            f"{examples[1]!r}: ids must be of the same type and spelled alike"
        )
    return tuple(np.array([place[key] for key in shared], np.int64) for place in places)  # type: ignore[return-value]


def _places(table: ItemTable) -> Mapping[Any, int]:
    assert table.ids is not None
    place: dict[Any, int] = {}
    for row, key in enumerate(table.ids.tolist()):
        if key is None:
            raise FippError(f"row {row} of {table.name} has no id")
        if key in place:
            raise FippError(f"{table.name} has the id {key!r} twice, in rows {place[key]} and {row}")
        place[key] = row
    return place
