"""A sample of a collection for the new model to embed: representative, and from all parts of the space."""

from __future__ import annotations

import json
import os
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp._progress import Progress, Steps
from fipp.exceptions import FippError
from fipp.io import atomic_path, explain_failure
from fipp.linalg import unit_rows
from fipp.migrate._tables import OLD
from fipp.stores import (
    ID_NAMES,
    TEXT_NAMES,
    Store,
    column_of,
    is_within,
    matrix_of,
    open_source,
    pyarrow,
    usual_column,
    vector_column,
)

# So many candidates per item are kept in the pass over the store, and so many items make a cluster on average.
_CANDIDATES = 10
_ITEMS_PER_CLUSTER = 20
_MOST_CLUSTERS = 200
PAYLOAD = "payload"
"""The column with all other fields of a point, as JSON, in stores without columns."""


def draw(
    source: str | os.PathLike[str],
    n: int = 2000,
    *,
    column: str | None = None,
    id_column: str | None = None,
    text_column: str | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Any:
    """Return a sample of a store, drawn in one pass in constant memory.

    Ten times as many rows are drawn uniformly and clustered by k-means; each cluster is represented by its share of
    ``n``, and by one row at least.

    Parameters
    ----------
    source : str or path
        The address of the store.
    n : int, default 2000
        How many rows; all of them if there are fewer.
    column, id_column, text_column : str, optional
        The columns of vectors, ids and texts; by default the only one of vectors, and the usual names of the others.
        Without ids, rows are numbered.
    random_state : int, default 0
        Seed of the choice.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    pyarrow.Table
        The columns ``id``, ``text`` if there is one, and ``vector``, in the order of the store.

    Examples
    --------
    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/old.npy"
    >>> np.save(path, np.random.default_rng(0).standard_normal((500, 4)))
    >>> draw(path, 50).num_rows
    50
    """
    if n < 1:
        raise FippError(f"a sample has at least one item, not {n}")
    with closing(open_source(os.fspath(source), key=id_column)) as store:
        schema = store.schema()
        vectors = vector_column(schema, column, store=str(source))
        ids = usual_column(schema, ID_NAMES, id_column or store.key, store=str(source))
        texts = _text_column(schema, text_column, str(source))
        pool = _candidates(store, _CANDIDATES * n, (ids, texts, vectors), random_state, progress)
    matrix, _ = matrix_of(pool.column("vector").combine_chunks(), str(source))
    chosen = _spread(unit_rows(matrix.astype(np.float32)), n, random_state)
    return pool.take(pyarrow().array(chosen))


def sample_path(folder: str | os.PathLike[str], source: str | os.PathLike[str] | None = None) -> Path:
    """Return the file of a sample in a folder; refuse one that is there, or that would belong to the source."""
    path = Path(folder, OLD)
    if path.exists():
        raise FippError(f"{path} exists already: choose another folder, or remove it")
    if source is not None and is_within(path, os.fspath(source)):
        raise FippError(f"{path} would be a part of {source} itself: choose a folder outside")
    return path


def write_sample(table: Any, folder: str | os.PathLike[str]) -> Path:
    """Write what `draw` returned to a folder, as the file that `PairedSample.load` looks for; return its path."""
    path = sample_path(folder)
    with explain_failure(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary:
        pyarrow("pyarrow.parquet").write_table(table, str(temporary))
    return path


def _text_column(schema: Any, given: str | None, store: str) -> str | None:
    """Return the column of texts; one whose values are JSON is followed by a dot and the name of a field, if given."""
    whole, dot, _ = (given or "").partition(".")
    if dot and given not in schema.names and usual_column(schema, (), whole, store=store):
        return given
    found = usual_column(schema, TEXT_NAMES, given, store=store)
    return PAYLOAD if found is None and PAYLOAD in schema.names else found


def _texts(part: Any, name: str) -> Any:
    """Return a column of texts, or a field of JSON: the one that was named, or the first with a usual name."""
    arrow = pyarrow()
    whole, dot, field = name.partition(".")
    if name in part.schema.names and name != PAYLOAD:
        return part.column(name)
    values = [json.loads(text) if text else {} for text in part.column(whole).cast(arrow.string()).to_pylist()]
    names = (field,) if dot else TEXT_NAMES
    found = [next((value[each] for each in names if each in value), None) for value in values]
    return arrow.array([None if text is None else str(text) for text in found], arrow.string())


def _candidates(
    store: Store,
    size: int,
    columns: tuple[str | None, str | None, str],
    random_state: int,
    progress: Progress | None,
) -> Any:
    """Return ``size`` rows that have a vector, each as likely as any other, in the order of the store."""
    arrow = pyarrow()
    rng = np.random.default_rng(random_state)
    steps = Steps(progress, store.count())
    held: list[tuple[Any, NDArray[np.float64]]] = []
    bound, first = 1.0, 0
    for batch in store.batches():
        # Every row gets a random number, and those with the smallest stay: the choice does not depend on the batches.
        drawn = rng.random(len(batch))
        rows = _filled(batch.column(columns[2]), np.flatnonzero(drawn < bound))
        if len(rows):
            held.append((_chosen(batch, rows, columns, first), drawn[rows]))
        first += len(batch)
        steps(len(batch))
        if sum(len(part) for _, part in held) > 2 * size:
            held, bound = _smallest(held, size)
    if not held:
        raise FippError(f"{store.address} has no row with a vector")
    held, _ = _smallest(held, size)
    return arrow.concat_tables([part for part, _ in held])


def _filled(column: Any, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of the rows that have a vector with a direction: not zero, and without NaN."""
    matrix, valid = matrix_of(column.take(pyarrow().array(rows)), "the column of vectors")
    return rows[valid][np.isfinite(matrix).all(axis=1) & matrix.any(axis=1)]


def _chosen(batch: Any, rows: NDArray[np.int64], columns: tuple[str | None, str | None, str], first: int) -> Any:
    arrow = pyarrow()
    ids, texts, vectors = columns
    part = batch.take(arrow.array(rows))
    found = {"id": arrow.array(first + rows) if ids is None else part.column(ids)}
    if texts is not None:
        found["text"] = _texts(part, texts)
    matrix, valid = matrix_of(part.column(vectors), vectors)
    kind = arrow.list_(arrow.from_numpy_dtype(matrix.dtype), matrix.shape[1])
    return arrow.table({**found, "vector": column_of(matrix, valid, kind)})


def _smallest(held: list[tuple[Any, NDArray[np.float64]]], size: int) -> tuple[list[Any], float]:
    """Keep the ``size`` rows with the smallest numbers, in their order; return them and the largest of the numbers."""
    arrow = pyarrow()
    drawn = np.concatenate([part for _, part in held])
    kept = np.sort(np.argsort(drawn, kind="stable")[:size])
    table = arrow.concat_tables([part for part, _ in held]).take(arrow.array(kept)).combine_chunks()
    return [(table, drawn[kept])], float(drawn[kept].max(initial=0.0)) if len(kept) == size else 1.0


def _spread(X: NDArray[np.float32], n: int, random_state: int) -> NDArray[np.int64]:
    """Return rows from all clusters, as many of each as is its share, and one at least."""
    if len(X) <= n:
        return np.arange(len(X))
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    k = max(1, min(_MOST_CLUSTERS, n // _ITEMS_PER_CLUSTER))
    with warnings.catch_warnings():
        # Equal vectors make fewer clusters, which is as good.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = KMeans(k, n_init=1, max_iter=20, random_state=random_state).fit_predict(X)
    rng = np.random.default_rng(random_state)
    members = [rng.permutation(np.flatnonzero(labels == label)) for label in range(k)]
    members = [part for part in members if len(part)]
    shares = np.array([len(part) for part in members]) * n / len(X)
    counts = np.maximum(1, np.floor(shares).astype(int))
    # What is left goes to the largest remainders, which are less than one each.
    for place in np.argsort(counts - shares, kind="stable")[: max(0, n - counts.sum())]:
        counts[place] += 1
    chosen = np.concatenate([part[:count] for part, count in zip(members, counts, strict=True)])
    return np.sort(rng.permutation(chosen)[:n] if len(chosen) > n else chosen)
