"""One method in a process of its own: its memory can be told, and what it leaves behind disturbs no other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import fipp
from fipp.aligners import METHODS, BaseAligner, from_state, to_state
from fipp.comparison._measure import Problem, Record, measure
from fipp.exceptions import FippError
from fipp.linalg import n_threads

_JOB, _RESULT, _COMPLAINT = "job.json", "result.json", "stderr.txt"


@contextmanager
def stored(problem: Problem) -> Iterator[Path]:
    """Write a problem to a folder that other processes can read; it is removed in the end."""
    with tempfile.TemporaryDirectory(prefix="fipp-") as name:
        folder = Path(name)
        for array, values in {"X": problem.X, "Y": problem.Y, "test": problem.test}.items():
            np.save(folder / f"{array}.npy", values)
        for kind, rows in problem.pairs.items():
            np.save(folder / f"pairs {kind}.npy", rows)
        yield folder


def describe(name: str, aligner: BaseAligner) -> dict[str, Any] | None:
    """Say which aligner another process is to make; None if it cannot be said, as for a class of the user's own.

    Examples
    --------
    >>> from fipp import FIPP
    >>> describe("fipp", FIPP()), describe("wide", FIPP(epsilon=0.2))["state"]["params"]["epsilon"]
    ({'method': 'fipp'}, 0.2)
    """
    if not type(aligner).__module__.startswith("fipp."):
        return None
    if name in METHODS and repr(METHODS[name]) == repr(aligner):
        return {"method": name}
    try:
        state = to_state(aligner)[1]
    except FippError:  # with preprocessing of another library
        return None
    return {"state": state} if repr(from_state({}, state)) == repr(aligner) else None


def run_apart(description: dict[str, Any], folder: Path, timeout: float | None = None) -> Record:
    """Measure the aligner described on the problem in ``folder``, in a process of its own.

    Started by hand, not by multiprocessing: that would run the user's script again in the new process unless it is
    guarded by ``if __name__ == "__main__"``.
    """
    (folder / _JOB).write_text(json.dumps({**description, "threads": n_threads()}))
    (folder / _RESULT).unlink(missing_ok=True)
    # The new process must import this fipp, wherever it was found.
    home = str(Path(fipp.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))}
    command = [sys.executable, "-c", f"from {__name__} import main; main()", str(folder)]
    with open(folder / _COMPLAINT, "wb") as complaint:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=complaint, env=environment
        )
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            return {"error": f"it was stopped after {timeout:g} seconds", "warnings": []}
        finally:
            process.kill()
            process.communicate()
    if process.returncode == 0:
        record: Record = json.loads((folder / _RESULT).read_text())
        return record
    return {"error": _why_it_ended(process.returncode, folder / _COMPLAINT), "warnings": []}


def _why_it_ended(code: int, complaint: Path) -> str:
    if code == -9:
        return "its process was ended from outside, perhaps for lack of memory"
    lines = complaint.read_text(errors="replace").strip().splitlines()
    return f"its process ended with {code}: {lines[-1] if lines else 'no word'}"


def main() -> None:
    """Measure what the folder named on the command line describes, and write the result into it."""
    threading.Thread(target=_follow_parent, daemon=True).start()
    folder = Path(sys.argv[1])
    job = json.loads((folder / _JOB).read_text())
    aligner = make_aligner(job)
    # Read, not mapped: the vocabularies are there before the method begins, and do not count as its memory.
    pairs = {path.stem.removeprefix("pairs "): np.load(path) for path in folder.glob("pairs *.npy")}
    X, Y, test = (np.load(folder / f"{name}.npy") for name in ("X", "Y", "test"))
    problem = Problem(X, Y, pairs, test)
    with threadpool_limits(job["threads"]):
        record = measure(aligner, problem, with_memory=True)
    (folder / _RESULT).write_text(json.dumps(record))


def make_aligner(description: dict[str, Any]) -> BaseAligner:
    """Make the aligner that `describe` described.

    Examples
    --------
    >>> from fipp import FIPP
    >>> make_aligner(describe("wide", FIPP(epsilon=0.2)))
    FIPP(epsilon=0.2)
    """
    from fipp._inputs import make_aligner

    if "method" in description:
        return make_aligner(description["method"], {})
    aligner: BaseAligner = from_state({}, description["state"])
    return aligner


def _follow_parent() -> None:
    """End with the process that started this one: it holds the other end of standard input."""
    os.read(0, 1)  # not sys.stdin, whose lock a daemon thread must not hold when Python ends
    os._exit(1)
