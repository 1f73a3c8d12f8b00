"""A collection of items that two made-up models embed, to try a migration on without any data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._optional import require
from fipp._progress import Progress, Steps
from fipp.exceptions import FippError
from fipp.io import atomic_path

OLD_DIMENSIONS, NEW_DIMENSIONS = 96, 128
"""The dimensions of the two models, unless others are asked for."""

_BLOCK = 4096
_MEANINGS, _TOPICS, _STYLES = 32, 40, 6
_NOISE = {"old": 0.3, "new": 0.1}
# How far a query's meaning is from its item's.
_ASKED = 0.9
_FILE_ROWS = 8 * _BLOCK
_QUERIES = 500

Model = Literal["old", "new"]


class MadeUpModels:
    """Two embedding models that were never trained: they embed items, which are numbers, the same way every time.

    An item belongs to a topic and has a meaning, which both models see. The old model is distracted by the style in
    which an item is written, the new one is not. Both add noise.

    Parameters
    ----------
    old_dimensions, new_dimensions : int
        How many numbers their vectors have.
    random_state : int, default 0
        The seed of the models and the items.

    Examples
    --------
    >>> models = MadeUpModels()
    >>> models.embed([3, 70_000], "old").shape, models.embed([3, 70_000], "new").shape
    ((2, 96), (2, 128))
    """

    def __init__(
        self, old_dimensions: int = OLD_DIMENSIONS, new_dimensions: int = NEW_DIMENSIONS, *, random_state: int = 0
    ) -> None:
        self.random_state = random_state
        rng = np.random.default_rng([random_state, 0])
        self._centres = rng.standard_normal((_TOPICS, _MEANINGS), np.float32)
        sizes = {"old": old_dimensions, "new": new_dimensions}
        self._maps = {
            name: rng.standard_normal((_MEANINGS + _STYLES, size), np.float32) for name, size in sizes.items()
        }
        self._maps["new"][_MEANINGS:] = 0

    def topics(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Return the topic of each item."""
        return np.asarray(ids, np.int64) * 7 % _TOPICS

    def embed(self, ids: ArrayLike, model: Model) -> NDArray[np.float32]:
        """Return the vectors of items, one per row, by one of the models."""
        numbers = np.asarray(ids, np.int64)
        found = np.empty((len(numbers), self._maps[model].shape[1]), np.float32)
        for block in np.unique(numbers // _BLOCK).tolist():
            here = np.flatnonzero(numbers // _BLOCK == block)
            found[here] = self._block(block, model)[numbers[here] % _BLOCK]
        return found

    def ask(self, ids: ArrayLike, model: Model) -> NDArray[np.float32]:
        """Return vectors of queries that are about items, one for each: near them in meaning, and in another style."""
        numbers = np.asarray(ids, np.int64)
        seen = np.concatenate([self._seen(number // _BLOCK)[[number % _BLOCK]] for number in numbers.tolist()])
        rng = np.random.default_rng([self.random_state, 4])
        seen[:, :_MEANINGS] += _ASKED * rng.standard_normal((len(seen), _MEANINGS), np.float32)
        seen[:, _MEANINGS:] = rng.standard_normal((len(seen), _STYLES), np.float32)
        vectors = seen @ self._maps[model]
        return vectors + _NOISE[model] * rng.standard_normal(vectors.shape, np.float32)

    def _seen(self, block: int) -> NDArray[np.float32]:
        """Return the meanings and styles of a block of items."""
        rng = np.random.default_rng([self.random_state, 1, block])
        seen = rng.standard_normal((_BLOCK, _MEANINGS + _STYLES), np.float32)
        seen[:, :_MEANINGS] *= np.float32(0.8)
        seen[:, :_MEANINGS] += self._centres[self.topics(block * _BLOCK + np.arange(_BLOCK))]
        return seen

    def _block(self, block: int, model: Model) -> NDArray[np.float32]:
        vectors = self._seen(block) @ self._maps[model]
        noise = np.random.default_rng([self.random_state, 2 if model == "old" else 3, block])
        vectors += _NOISE[model] * noise.standard_normal(vectors.shape, np.float32)
        return vectors


def make_collection(
    folder: str | os.PathLike[str],
    items: int = 50_000,
    *,
    models: MadeUpModels | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Write items that a made-up old model has embedded, as Parquet files with ids, texts and vectors.

    Parameters
    ----------
    folder : path
        Where to put the files; it must not have any yet.
    items : int, default 50,000
        How many items.
    models : MadeUpModels, optional
        The models; by default from 96 to 128 dimensions.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    list of Path
        The files.

    Examples
    --------
    >>> import tempfile
    >>> [path.name for path in make_collection(f"{tempfile.mkdtemp()}/old")]
    ['part-0000.parquet', 'part-0001.parquet']
    """
    parquet = _arrow("pyarrow.parquet")
    place, models = Path(folder), models or MadeUpModels()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise FippError(f"{place} is there already, and not empty: choose another folder")
    place.mkdir(parents=True, exist_ok=True)
    steps, paths = Steps(progress, items), []
    for number, start in enumerate(range(0, items, _FILE_ROWS)):
        stop = min(items, start + _FILE_ROWS)
        paths.append(place / f"part-{number:04d}.parquet")
        with atomic_path(paths[-1]) as temporary:
            tables = (_table(models, first, min(stop, first + _BLOCK)) for first in range(start, stop, _BLOCK))
            _write(parquet, temporary, tables)
        steps(stop - start)
    return paths


def _write(parquet: Any, path: Path, tables: Iterable[Any]) -> None:
    held: Iterator[Any] = iter(tables)
    first = next(held)
    # Vectors hardly compress; texts do, but are small.
    with parquet.ParquetWriter(str(path), first.schema, compression="none", use_dictionary=False) as writer:
        writer.write_table(first)
        for table in held:
            writer.write_table(table)


def _table(models: MadeUpModels, start: int, stop: int) -> Any:
    ids = np.arange(start, stop)
    texts = [f"Item {item} about topic {topic}" for item, topic in zip(ids, models.topics(ids), strict=True)]
    return _arrow("pyarrow").table({"id": ids, "text": texts, "vector": _column(models.embed(ids, "old"))})


def embed_sample(folder: str | os.PathLike[str], *, queries: int = _QUERIES) -> list[Path]:
    """Embed a sample by the made-up new model, and add queries whose answers are known.

    Parameters
    ----------
    folder : path
        What `fipp migrate sample` wrote for a collection of `make_collection`, with ``old.parquet``.
    queries : int, default 500
        How many queries, each about an item of the sample.

    Returns
    -------
    list of Path
        ``new.parquet`` and ``queries.parquet`` in the same folder.
    """
    parquet, models = _arrow("pyarrow.parquet"), MadeUpModels()
    place = Path(folder, "old.parquet")
    if not place.is_file():
        raise FippError(f"{folder} has no sample: fipp migrate sample writes {place}")
    sample = parquet.read_table(place)
    if not _is_ours(sample, models):
        raise FippError(
            f"{place} was not drawn from a collection that fipp migrate demo made: embed it with your model"
        )
    ids = sample.column("id").to_numpy()
    asked = np.random.default_rng(models.random_state).permutation(ids)[:queries]
    sides = {name: _column(models.ask(asked, name)) for name in ("old", "new")}
    tables = {
        "new.parquet": {"id": ids, "vector": _column(models.embed(ids, "new"))},
        "queries.parquet": {**sides, "gold": asked},
    }
    paths = []
    for name, columns in tables.items():
        paths.append(Path(folder, name))
        with atomic_path(paths[-1]) as temporary:
            parquet.write_table(_arrow("pyarrow").table(columns), str(temporary))
    return paths


def _is_ours(sample: Any, models: MadeUpModels) -> bool:
    if sample.column("id").type != _arrow("pyarrow").int64():
        return False
    ids = sample.column("id").to_numpy()[:1]
    vectors = np.array(sample.column("vector")[:1].to_pylist(), np.float32)
    return (
        bool((ids >= 0).all())
        and vectors.shape == (len(ids), OLD_DIMENSIONS)
        and np.allclose(vectors, models.embed(ids, "old"), rtol=1e-3, atol=1e-3)
    )


def _column(matrix: NDArray[np.float32]) -> Any:
    return _arrow("pyarrow").FixedSizeListArray.from_arrays(matrix.ravel(), matrix.shape[1])


def _arrow(module: str) -> Any:
    return require(module, "a collection in Parquet files", extra="arrow")
