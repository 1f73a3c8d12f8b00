"""Running the cells of a plan: those that are not finished, one after the other or several pairs at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import lru_cache
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_limits

from fipp._alignment import Alignment
from fipp._inputs import make_aligner
from fipp._version import __version__
from fipp.aligners import FIPP
from fipp.exceptions import FippError, FippWarning
from fipp.io import Vectors
from fipp.linalg import Progress, mean_and_scatter, single_threaded_blas
from fipp.study._plan import Cell
from fipp.study._results import Record, appending, read_results

_WORDS_SHOWN = 5


def run_study(
    cells: Sequence[Cell],
    results: str | Path | None = None,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> dict[str, Record]:
    """Run what is not finished, and give all records by key.

    Parameters
    ----------
    cells : sequence of Cell
        From `make_plan`.
    results : path, optional
        A file of JSON lines: what it holds is not run again, what is run is added to it at once.
    jobs : int, default=1
        How many pairs of languages at a time, each in a process with one thread. One job uses all threads.
    progress : callable, optional
        Called as ``progress(done, total)`` before the first and after each cell.

    Returns
    -------
    dict
        Records by the key of their cell. One that failed says why in ``"error"``, and is tried again the next time.
    """
    if jobs < 1:
        raise FippError(f"jobs must be at least 1, not {jobs}")
    keys = {cell.key: cell for cell in reversed(cells)}
    records = {key: record for key, record in (read_results(results) if results else {}).items() if key in keys}
    todo = [(key, cell) for key, cell in reversed(keys.items()) if key not in records]
    advance = progress or (lambda done, total: None)
    advance(len(records), len(keys))
    with appending(results) as keep, closing(_records(todo, jobs)) as made:
        for record in made:
            keep(record)
            records[record["key"]] = record
            advance(len(records), len(keys))
    return records


def _records(todo: list[tuple[str, Cell]], jobs: int) -> Generator[Record, None, None]:
    by_pair: dict[str, deque[tuple[str, Cell]]] = {}
    for key, cell in todo:
        by_pair.setdefault(cell.pair, deque()).append((key, cell))
    if jobs == 1 or len(by_pair) < 2:
        for key, cell in todo:
            yield run_cell(key, cell)
        return
    queues = deque(by_pair.values())
    # Not fork: threads of BLAS do not survive it.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(queues)), mp_context=context, initializer=_become_worker)
    running: dict[Future[Record], deque[tuple[str, Cell]]] = {}
    try:
        while queues or running:
            # One cell of a pair at a time: the process that has read its vectors is likely to get the next one.
            while queues and len(running) < jobs:
                queue = queues.popleft()
                running[pool.submit(run_cell, *queue.popleft())] = queue
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                queue = running.pop(future)
                if queue:
                    queues.appendleft(queue)
                yield future.result()
    except BrokenProcessPool:
        raise FippError(
            "a process of the study was ended from outside, perhaps for lack of memory; what is finished is kept. "
            "Take fewer --jobs, or fewer words with --limit"
        ) from None
    finally:
        pool.shutdown(wait=not running, cancel_futures=True)


def _become_worker() -> None:
    """Use one thread, end at once on Ctrl-C, and do not outlive a parent that was killed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threadpool_limits(1)
    parent = multiprocessing.parent_process()
    if parent is not None:
        sentinel = parent.sentinel

        def follow() -> None:
            wait_for([sentinel])
            os._exit(1)

        threading.Thread(target=follow, daemon=True).start()


def run_cell(key: str, cell: Cell) -> Record:
    """Fit and score one cell; a failure that is the data's is told in the record."""
    record: Record = {"key": key, **cell.as_dict(), "version": __version__}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FippWarning)
        try:
            record |= _measure(cell)
        except FippError as error:
            record["error"] = str(error)
    remarks = [str(remark.message) for remark in caught if issubclass(remark.category, FippWarning)]
    return record | ({"warnings": list(dict.fromkeys(remarks))} if remarks else {})


def _measure(cell: Cell) -> Record:
    source, target = _load(cell.source, cell.limit, cell.dimensions), _load(cell.target, cell.limit, None)
    sides = {
        side: {"name": path.name, "words": len(vectors), "dimensions": vectors.dim}
        for side, path, vectors in (("source", cell.source, source), ("target", cell.target, target))
    }
    if cell.dimensions is not None and source.dim < cell.dimensions:
        return sides | {"skipped": f"the source has {source.dim} dimensions, not {cell.dimensions} or more"}
    lookup = cell.train.load().lookup(source, target).require()
    aligner = make_aligner(cell.method, cell.settings)
    start = time.perf_counter()
    aligner.fit(source.matrix, target.matrix, lookup.rows)
    fitted = time.perf_counter()
    result = Alignment(aligner, source, target).evaluate(cell.test.load(), retrieval=cell.retrieval)
    return sides | {
        "seed": {"used": len(lookup.rows), "total": lookup.total, "coverage": lookup.coverage},
        "test": result.as_dict(),
        "fitted": _describe(aligner, source, target),
        "fit_seconds": fitted - start,
        "evaluate_seconds": time.perf_counter() - fitted,
    }


def _describe(aligner: Any, source: Vectors, target: Vectors) -> Record:
    described: Record = {"pairs": len(aligner.pairs_)}
    if isinstance(aligner, FIPP):
        order = np.argsort(-aligner.kept_per_pair_, kind="stable")
        words = [[source.words[i], target.words[j]] for i, j in aligner.pairs_[order]]
        described |= {
            "kept_fraction": float(aligner.kept_fraction_),
            "deviation": float(aligner.deviation_),
            "least_filtered": words[:_WORDS_SHOWN],
            "most_filtered": words[: -_WORDS_SHOWN - 1 : -1],
        }
        if not aligner.self_learning:  # with ten times the pairs it would take longer than the fit
            described["objective"] = float(aligner.objective_.total)
    return described


@lru_cache(maxsize=3)
def _load(path: Path, limit: int | None, dimensions: int | None) -> Vectors:
    vectors = Vectors.load(path, limit=limit)
    return vectors if dimensions is None or vectors.dim <= dimensions else _reduced(vectors, dimensions)


def _reduced(vectors: Vectors, dimensions: int) -> Vectors:
    """Give the vectors in their first principal components."""
    mean, scatter = mean_and_scatter(vectors.matrix, lambda rows: rows.astype(np.float32, copy=False))
    d = vectors.dim
    with single_threaded_blas:
        _, components = scipy.linalg.eigh(scatter, subset_by_index=[d - dimensions, d - 1])
        matrix = (vectors.matrix - mean.astype(np.float32)) @ components[:, ::-1].astype(np.float32)
    return Vectors(vectors.words, matrix)
