"""Running the cells of a plan that are not finished: reading vectors, fitting methods, keeping results."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from fipp._inputs import make_aligner
from fipp._progress import Progress
from fipp._version import __version__
from fipp.aligners import BaseAligner
from fipp.exceptions import FippError
from fipp.experiments import Record, attempt, run_cells, run_in_parallel, tune_arrays
from fipp.io import Vectors
from fipp.linalg import mean_and_scatter, single_threaded_blas
from fipp.reproduce._measure import Fitted, measure
from fipp.reproduce._plan import Cell
from fipp.reproduce._specs import BLI
from fipp.reproduce._variants import SCIKIT_CCA, ScikitCCA


def run(
    cells: Sequence[Cell],
    results_path: str | os.PathLike[str] | None = None,
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> dict[str, Record]:
    """Run the cells that are not finished, and return all records by key.

    Parameters
    ----------
    cells : sequence of Cell
        From `make_plan`.
    results_path : path, optional
        A file of JSON lines. Results that it holds are not measured again; new ones are added at once.
    n_jobs : int, default=1
        How many pairs of languages to run at a time, each in a process with one thread. One job uses all threads.
    progress : callable, optional
        Called as ``progress(done, total)`` before the first and after each cell.

    Returns
    -------
    dict
        Records by the key of their cell. One that failed has the reason in ``"error"``, and is tried again next time.
    """
    if n_jobs < 1:
        raise FippError(f"the number of jobs must be at least 1, not {n_jobs}")

    def measure_all(todo: dict[str, Cell]) -> Generator[Record, None, None]:
        by_pair: dict[str, list[tuple[str, Cell]]] = {}
        for key, cell in todo.items():
            by_pair.setdefault(cell.pair, []).append((key, cell))
        if n_jobs == 1 or len(by_pair) < 2:
            yield from map(run_cell, todo.items())
        else:
            yield from run_in_parallel(run_cell, by_pair.values(), n_jobs)

    by_key: dict[str, Cell] = {}
    for cell in cells:
        by_key.setdefault(cell.key, cell)
    return run_cells(by_key, measure_all, results_path=results_path, progress=progress)


def run_cell(item: tuple[str, Cell]) -> Record:
    """Fit and measure one cell, given with its key; if it fails, the record holds the reason."""
    key, cell = item
    return {"key": key, **cell.as_dict(), "version": __version__, **attempt(_run, cell)}


def _run(cell: Cell) -> Record:
    source, target = _load(cell.source, cell.limit, cell.dimensions), _load(cell.target, cell.limit, None)
    sides = {
        side: {"name": path.name, "words": len(vectors), "dimensions": vectors.dim}
        for side, path, vectors in (("source", cell.source, source), ("target", cell.target, target))
    }
    if cell.measure == BLI and cell.dimensions is not None and source.dim < cell.dimensions:
        return sides | {"skipped": f"the source has {source.dim} dimensions, not {cell.dimensions} or more"}
    lookup = cell.train.load().lookup(source, target).require()
    start = time.perf_counter()
    aligner, chosen = _fit(cell, source, target, lookup.rows)
    seconds = time.perf_counter() - start
    seed = {"used": len(lookup.rows), "total": lookup.total, "coverage": lookup.coverage}
    measured = measure(cell, Fitted(aligner, source, target, lookup.rows))
    return sides | {"seed": seed, "fit_seconds": seconds} | chosen | measured


def _fit(cell: Cell, source: Vectors, target: Vectors, pairs: NDArray[np.int64]) -> tuple[BaseAligner, Record]:
    if not cell.tune:
        method = ScikitCCA() if cell.method == SCIKIT_CCA else cell.method
        return make_aligner(method, cell.settings).fit(source.matrix, target.matrix, pairs), {}
    tuning = tune_arrays(source.matrix, target.matrix, pairs, cell.method, **cell.settings)
    assert tuning.aligner is not None
    return tuning.aligner, {"chosen": tuning.best_params, "held_out_mrr": tuning.best.mrr}


@lru_cache(maxsize=3)
def _load(path: Path, limit: int | None, dimensions: int | None) -> Vectors:
    vectors = Vectors.load(path, limit=limit)
    return vectors if dimensions is None or vectors.dim <= dimensions else reduced(vectors, dimensions)


def reduced(vectors: Vectors, dimensions: int) -> Vectors:
    """Return the vectors in their first principal components."""
    mean, scatter = mean_and_scatter(vectors.matrix, lambda rows: rows.astype(np.float32, copy=False))
    d = vectors.dim
    with single_threaded_blas:
        _, components = scipy.linalg.eigh(scatter, subset_by_index=[d - dimensions, d - 1])
        matrix = (vectors.matrix - mean.astype(np.float32)) @ components[:, ::-1].astype(np.float32)
    return Vectors(vectors.words, matrix)
