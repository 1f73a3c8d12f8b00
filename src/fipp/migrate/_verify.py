"""Whether a converted collection is what it should be: counts, checksums, a sample converted again, and recall."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp._progress import Progress, Steps
from fipp.exceptions import FippError
from fipp.linalg import unit_rows
from fipp.migrate._convert import Conversion
from fipp.migrate._tables import read_items
from fipp.retrieve import neighbours
from fipp.stores import ID_NAMES, matrix_of, open_source, pyarrow, usual_column

_FRAGMENTS = 5
_MOST_NATIVE = 5000
# How far a number may be from what it is recalculated to, as a share of the largest; rounding, and nothing else.
_TOLERANCE = {"float32": 1e-5, "float16": 1e-3, "int8": 1.1 / 127}


@dataclass(frozen=True)
class Verification:
    """What was found in a converted collection.

    Attributes
    ----------
    source_rows, converted_rows : int
        How many rows there are now; -1 if what was converted cannot be read any more.
    checksums : int
        How many checksums were compared.
    changed : list of str
        What does not have the checksum that it was written with.
    outdated : int
        How many fragments of the source have changed since they were converted.
    sampled : int
        How many rows were recalculated.
    different : int
        How many of them are not what they should be, in their vectors or in any other column.
    recall : float or None
        The share of the ten nearest neighbours by the new model's own vectors that are found among the converted ones.
    """

    source_rows: int
    converted_rows: int
    checksums: int
    changed: list[str]
    outdated: int
    sampled: int
    different: int
    recall: float | None = None

    @property
    def is_right(self) -> bool:
        """Whether nothing is wrong."""
        return self.source_rows == self.converted_rows and not (self.changed or self.outdated or self.different)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {**asdict(self), "right": self.is_right}


def verify(
    conversion: Conversion, *, native: Any = None, random_state: int = 0, progress: Progress | None = None
) -> Verification:
    """Compare a finished conversion with its source.

    Parameters
    ----------
    conversion : Conversion
        What to verify.
    native : path or table, optional
        Some of the items embedded by the new model, with their ids.
    random_state : int, default 0
        Seed of the choice of fragments from which rows are recalculated.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    Verification
    """
    manifest = conversion.manifest
    if manifest.state == "converting":
        raise FippError(f"{manifest.sink} is not finished: `fipp migrate resume` goes on")
    with closing(conversion):
        return _verified(conversion, native, random_state, progress)


def _verified(conversion: Conversion, native: Any, random_state: int, progress: Progress | None) -> Verification:
    manifest = conversion.manifest
    conversion.sink.open(conversion.converter.schema(conversion.source.schema()), conversion.source)
    steps = Steps(progress, len(manifest.checksums) + _FRAGMENTS)
    by_name = {fragment.name: fragment for fragment in manifest.done}
    changed = []
    for name, checksum in manifest.checksums.items():
        if conversion.sink.checksum(name, by_name.get(name)) != checksum:
            changed.append(name)
        steps()
    outdated = sum(not manifest.has(each) for each in conversion.source.plan(manifest.fragment_rows, manifest.done))
    sampled, different = (0, 0) if changed or outdated else _recalculated(conversion, random_state)
    steps.finish()
    return Verification(
        source_rows=conversion.source.count(),
        converted_rows=_count(conversion),
        checksums=len(manifest.checksums),
        changed=changed,
        outdated=outdated,
        sampled=sampled,
        different=different,
        recall=None if native is None or changed else _recall(conversion, native),
    )


def _count(conversion: Conversion) -> int:
    try:
        with closing(open_source(conversion.manifest.sink, key=conversion.manifest.key)) as written:
            return written.count()
    except FippError:
        return -1


def _recalculated(conversion: Conversion, random_state: int) -> tuple[int, int]:
    """Return how many rows were converted again, and how many of those are not what was written."""
    done = conversion.manifest.done
    offsets = [0, *accumulate(fragment.rows for fragment in done)]
    filled = [number for number, fragment in enumerate(done) if fragment.rows]
    rng = np.random.default_rng(random_state)
    chosen = sorted(rng.choice(filled, min(_FRAGMENTS, len(filled)), replace=False).tolist()) if filled else []
    sampled = different = 0
    for number in chosen:
        fragment = done[number]
        with closing(conversion.source.scan([fragment])) as batches:
            _, batch = next(batches)
        expected = conversion.converter(batch)
        found = _first(conversion.sink.read(fragment, offsets[number], expected), len(batch))
        sampled += len(batch)
        different += _differences(conversion, expected, found)
    return sampled, different


def _first(batches: Iterator[Any], count: int) -> Any:
    parts = []
    for batch in batches:
        parts.append(batch.slice(0, count))
        count -= len(parts[-1])
        if not count:
            break
    return pyarrow().Table.from_batches(parts).combine_chunks().to_batches()[0]


def _differences(conversion: Conversion, expected: Any, found: Any) -> int:
    """Return in how many rows two record batches differ by more than rounding."""
    if len(expected) != len(found) or expected.schema.names != found.schema.names:
        return len(expected)
    column = conversion.manifest.column
    wrong = np.zeros(len(expected), bool)
    scale = conversion.converter.scale_column if conversion.manifest.dtype == "int8" else None
    for name in expected.schema.names:
        if name not in (column, scale) and not expected.column(name).equals(found.column(name)):
            pairs = zip(expected.column(name).to_pylist(), found.column(name).to_pylist(), strict=True)
            wrong |= np.array([one != other for one, other in pairs])
    (one, valid), (other, also_valid) = (matrix_of(batch.column(column), column) for batch in (expected, found))
    if not np.array_equal(valid, also_valid) or one.shape != other.shape:
        return len(expected)
    gaps = np.abs(one.astype(np.float32) - other.astype(np.float32)).max(axis=1, initial=0)
    largest = np.abs(one.astype(np.float32)).max(axis=1, initial=0)
    wrong[valid] |= gaps > _TOLERANCE[conversion.manifest.dtype] * largest
    return int(wrong.sum())


def _recall(conversion: Conversion, native: Any) -> float:
    """Return how many of the new model's own neighbours its queries find among converted vectors of the same items."""
    items = read_items(native)
    if items.ids is None:
        raise FippError(f"{items.name} has no ids, by which its items are found in {conversion.manifest.sink}")
    own = items.only_vectors(("new", "vector", "embedding"))[:_MOST_NATIVE]
    wanted = {key: row for row, key in enumerate(items.ids.tolist()[: len(own)])}
    rows, converted = _converted_of(conversion, wanted)
    if len(rows) < 20:
        raise FippError(f"only {len(rows)} ids of {items.name} are in {conversion.manifest.sink}: give at least 20")
    asking, pool = unit_rows(own[rows]), unit_rows(converted)
    k = min(10, len(rows) - 1)
    truth = _neighbours_of(asking, asking, k)
    found = _neighbours_of(asking, pool, k)
    return float(np.mean([len(one & other) / k for one, other in zip(truth, found, strict=True)]))


def _neighbours_of(queries: NDArray[Any], pool: NDArray[Any], k: int) -> list[set[int]]:
    """Return the k rows of ``pool`` nearest to each query, without its own row."""
    found = neighbours(queries, pool, k + 1).indices.tolist()
    return [set([other for other in row if other != own][:k]) for own, row in enumerate(found)]


def _converted_of(conversion: Conversion, wanted: dict[Any, int]) -> tuple[list[int], NDArray[Any]]:
    """Return the rows of wanted ids, and their converted vectors, in one pass over the collection."""
    manifest = conversion.manifest
    rows, vectors = [], []
    with closing(open_source(manifest.sink, key=manifest.key)) as written:
        named = usual_column(written.schema(), ID_NAMES, manifest.key, store=manifest.sink)
        if named is None:
            raise FippError(f"{manifest.sink} has no column of ids")
        for batch in written.batches():
            places = [place for place, key in enumerate(batch.column(named).to_pylist()) if key in wanted]
            part = batch.take(pyarrow().array(places, pyarrow().int64()))
            matrix, valid = matrix_of(part.column(manifest.column), manifest.column)
            keys = part.column(named).to_pylist()
            rows += [wanted[key] for key, there in zip(keys, valid, strict=True) if there]
            vectors += [matrix.astype(np.float32)] if len(matrix) else []
    return rows, np.concatenate(vectors) if vectors else np.empty((0, 0), np.float32)
