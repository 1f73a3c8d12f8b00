"""Running the cells of a plan: those that are not finished, one after the other or several pairs at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from multiprocessing.connection import wait as wait_for
from pathlib import Path

from threadpoolctl import threadpool_limits

from fipp.exceptions import FippError
from fipp.linalg import Progress
from fipp.reproduce._cell import run_cell
from fipp.reproduce._plan import Cell
from fipp.reproduce._results import Record, appending, read_results


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
