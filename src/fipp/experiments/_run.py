"""Running many measurements: failures are recorded, results are kept as JSON lines, work can go to other processes.

Each result is written as soon as it is known, so that an interrupted run can be resumed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import BrokenProcessPool
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fipp._progress import Progress
from fipp.exceptions import FippError, FippWarning
from fipp.io import explain_failure, locked
from fipp.linalg import n_threads

Cell = TypeVar("Cell")
_Groups = dict[str, deque[tuple[str, Cell]]]
Record = dict[str, Any]
"""A result that JSON can hold. ``"key"`` identifies it; ``"error"`` says why it failed."""


def attempt(measure: Callable[..., Record], *arguments: Any) -> Record:
    """Return what ``measure`` returns or, under ``"error"``, why it failed; with the ``"warnings"`` of fipp, if any."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FippWarning)
        try:
            record = measure(*arguments)
        except Exception as error:  # also those of libraries, such as a decomposition that does not converge
            text = " ".join(str(error).split())
            record = {"error": text if isinstance(error, FippError) and text else f"{type(error).__name__}: {text}"}
    messages = [str(warning.message) for warning in caught if issubclass(warning.category, FippWarning)]
    return record | ({"warnings": list(dict.fromkeys(messages))} if messages else {})


def run_cells(
    cells: Mapping[str, Cell],
    run: Callable[[Cell], Record],
    *,
    results_path: str | os.PathLike[str] | None = None,
    n_jobs: int = 1,
    group: Callable[[Cell], str] = lambda cell: "",
    progress: Progress | None = None,
    on_result: Callable[[Record], object] = lambda record: None,
) -> dict[str, Record]:
    """Run the cells of an experiment, given by the keys of their results, and return all records by key.

    Results in the file ``results_path`` (JSON lines) are not measured again; new ones are added at once. With several
    jobs, each process has one thread; cells of the same group run one after another, most likely in one process, which
    can cache what they share. ``on_result`` is called with each record, first with those in the file.
    """
    if n_jobs < 1:
        raise FippError(f"the number of jobs must be at least 1, not {n_jobs}")
    advance = progress or (lambda done, total: None)
    kept = {} if results_path is None else read_results(results_path)
    records = {key: kept[key] for key in cells if key in kept}
    for record in records.values():
        on_result(record)
    advance(len(records), len(cells))
    groups: _Groups[Cell] = {}
    for key, cell in cells.items():
        if key not in records:
            groups.setdefault(group(cell), deque()).append((key, cell))
    made = ((key, run(cell)) for queue in groups.values() for key, cell in queue)
    if n_jobs > 1 and len(groups) > 1:
        made = _in_processes(run, groups, n_jobs)
    with appending(results_path) as keep, closing(made):
        for key, result in made:
            records[key] = {"key": key, **result}
            keep(records[key])
            on_result(records[key])
            advance(len(records), len(cells))
    return records


def _in_processes(
    run: Callable[[Cell], Record], groups: _Groups[Cell], n_jobs: int
) -> Generator[tuple[str, Record], None, None]:
    waiting = deque(groups.values())
    running: dict[Future[Record], tuple[str, deque[tuple[str, Cell]]]] = {}
    with _worker_pool(min(n_jobs, len(waiting)), 1) as pool:
        while waiting or running:
            # One cell of a group at a time: the process that ran the last one is likely to get the next.
            while waiting and len(running) < n_jobs:
                queue = waiting.popleft()
                key, cell = queue.popleft()
                running[pool.submit(run, cell)] = key, queue
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                key, queue = running.pop(future)
                if queue:
                    waiting.appendleft(queue)
                try:
                    yield key, future.result()
                except BrokenProcessPool:
                    raise FippError(
                        "a process ended unexpectedly, perhaps for lack of memory; finished results are kept. Use "
                        "fewer jobs or fewer words"
                    ) from None


def result_key(described: Mapping[str, Any], *rows: NDArray[np.int64] | None) -> str:
    """Return a SHA-256 of everything that a result depends on: what JSON can describe, and row numbers."""
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode())
    for each in rows:
        digest.update(b"none" if each is None else np.ascontiguousarray(each, dtype=np.int64).tobytes())
    return digest.hexdigest()


def read_results(path: str | os.PathLike[str]) -> dict[str, Record]:
    """Return the finished records of a file by key, the last one of each key; none if there is no such file.

    Failed records are not finished. An incomplete last line, left by a run that was killed, is ignored.
    """
    path = Path(path)
    if not path.exists():
        return {}
    *lines, _incomplete = path.read_bytes().split(b"\n")
    records: dict[str, Record] = {}
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            key = record["key"]
        except (ValueError, TypeError, KeyError):
            raise FippError(
                f"line {number} of {path} is not a result written by fipp; choose another file, or remove this one"
            ) from None
        if "error" not in record:
            records[key] = record
    return records


@contextmanager
def appending(path: str | os.PathLike[str] | None) -> Iterator[Callable[[Record], None]]:
    """Return a function that adds a record to the file and does not return before it is on disk.

    Several runs may add to the same file: it is locked while a line is written.
    """
    if path is None:
        yield lambda record: None
        return
    _append(Path(path), b"")  # a file that cannot be written is refused before anything is measured
    yield lambda record: _append(Path(path), json.dumps(record, ensure_ascii=False, sort_keys=True).encode() + b"\n")


def _append(path: Path, line: bytes) -> None:
    with explain_failure(path), locked(path) as descriptor:
        end = _end_of_lines(path)
        os.ftruncate(descriptor, end)
        os.lseek(descriptor, end, os.SEEK_SET)
        if os.write(descriptor, line) < len(line):
            os.ftruncate(descriptor, end)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(descriptor)


def _end_of_lines(path: Path) -> int:
    """Return where the last complete line ends; a run that was killed may have left half of one after it."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        if file.read() in (b"", b"\n"):
            return size
        file.seek(0)
        return file.read().rfind(b"\n") + 1


class PeakMemory:
    """Measures by how much the peak memory of this process grows after the object is made.

    Linux reports the peak of one process and lets it be reset. ``getrusage`` does neither there: a new process begins
    with the peak of its parent. On other systems ``getrusage`` is the only source.
    """

    def __init__(self) -> None:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # reset the peak to the present use
        self._before = _peak()

    def growth(self) -> int | None:
        """Return the growth of the peak in bytes; None where the system does not report it."""
        now = _peak()
        return None if now is None or self._before is None else max(0, now - self._before)


def _peak() -> int | None:
    with suppress(OSError):
        found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
        if found:
            return 1024 * int(found[1])
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def run_in_subprocess(measure: Callable[..., Record], *arguments: Any, timeout: float | None = None) -> Record:
    """Return what `attempt` returns, from a process of its own, which is stopped after ``timeout`` seconds."""
    with _worker_pool(1, n_threads()) as pool:
        try:
            record: Record = pool.submit(attempt, measure, *arguments).result(timeout)
        except TimeoutError:
            return {"error": f"it was stopped after {timeout:g} seconds"}
        except BrokenProcessPool as error:
            codes = ", ".join(re.findall(r"{(.*)}", str(error)))
            return {"error": f"its process ended unexpectedly, perhaps for lack of memory: {codes}"}
    return record


@contextmanager
def _worker_pool(n_workers: int, threads: int) -> Generator[ProcessPoolExecutor, None, None]:
    """Return processes that end with the block.

    They are loky's, because those of multiprocessing run the user's script again unless it is guarded by
    ``if __name__ == "__main__"``.
    """
    pool = ProcessPoolExecutor(n_workers, initializer=_become_worker, initargs=(threads, os.getpid()))
    try:
        yield pool
    finally:
        pool.shutdown(kill_workers=True)


def _become_worker(threads: int, parent: int) -> None:
    """Limit the threads of this process, keep standard output clean, and do not outlive the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # after Ctrl-C the parent ends its workers
    os.dup2(2, 1)  # what libraries print must not mix with tables
    threadpool_limits(threads)

    def follow_parent() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=follow_parent, daemon=True).start()
