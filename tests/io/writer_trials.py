"""Writers that are killed everywhere, and writers and readers of one pair of files that work at the same time.

    python tests/io/writer_trials.py calls x.npy    # kill before every system call that changes something
    python tests/io/writer_trials.py lines x.npy    # kill before every line of the code that writes
    python tests/io/writer_trials.py race 300       # two writers, each of which saves so many times, and two readers

Each trial forks, so it runs in a process of its own that has no threads, and prints what was counted as JSON.
"""

from __future__ import annotations

import builtins
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fipp.exceptions import FippError
from fipp.io import Vectors, _atomic, _pair, _stream
from fipp.io.formats import _arrow, _numpy, _safetensors, _text_writer, _word2vec

ROWS, DIMENSIONS = 7, 3
_CALLS = ("open", "replace", "fsync", "write", "ftruncate", "unlink", "chmod", "close")
_QUICK = "/dev/shm" if os.path.isdir("/dev/shm") else None  # no disk has to be waited for there
_TRACED = {
    module.__file__ for module in (_atomic, _pair, _stream, _arrow, _numpy, _safetensors, _text_writer, _word2vec)
}


def version(number: int) -> Vectors:
    """Return vectors whose words and numbers all tell which version they are of."""
    return Vectors([f"w{row}-{number}" for row in range(ROWS)], np.full((ROWS, DIMENSIONS), float(number)))


def version_of(path: Path) -> int:
    """Return the version of a file; a mixture of two is an AssertionError."""
    vectors = Vectors.load(path, cache=False)
    found = {int(word.split("-")[1]) for word in vectors.words} | set(vectors.matrix.ravel().astype(int).tolist())
    assert len(vectors) == ROWS and len(found) == 1, f"a mixture of the versions {found}"
    return found.pop()


def fork(work: Callable[[], object]) -> int:
    """Run ``work`` in a child and return its process number; an exception there becomes exit code 1."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Killer:
    """Kills this process at the n-th place that is counted."""

    def __init__(self, place: int) -> None:
        self._left = place

    def count(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def trace(self, frame: object, event: str, argument: object) -> object:
        """Count the lines of the code that writes; for `sys.settrace`."""
        if frame.f_code.co_filename not in _TRACED:
            return None
        if event == "line":
            self.count()
        return self.trace

    def counted(self, call: Callable[..., object]) -> Callable[..., object]:
        def run(*arguments: object, **options: object) -> object:
            self.count()
            return call(*arguments, **options)

        return run


def killed_at(place: int, save: Callable[[], object], by_lines: bool) -> Callable[[], object]:
    """Return ``save`` as run by a process that kills itself at the n-th line or system call."""

    def run() -> None:
        killer = Killer(place)
        if by_lines:
            sys.settrace(killer.trace)
        else:
            for name in _CALLS:
                setattr(os, name, killer.counted(getattr(os, name)))
            builtins.open = killer.counted(open)
        save()

    return run


def kill_everywhere(name: str, by_lines: bool) -> dict[str, int]:
    """Kill a writer everywhere: before there is a file, over a file, and over what a killed writer left."""
    counts = {"kills": 0, "old": 0, "new": 0, "failures": 0}
    with tempfile.TemporaryDirectory(dir=_QUICK) as folder:
        place = Path(folder, name)
        version(0).save(place)
        files = sorted(os.listdir(folder))
        for first_kill in (None, 0, *_places_that_leave_a_record(place, by_lines)):
            at = 0
            while True:
                at += 1
                for left in os.listdir(folder):
                    os.unlink(Path(folder, left))
                expected = {1, 2}
                if first_kill is not None:
                    version(1).save(place)
                if first_kill:
                    expected = {1, 2, 3}
                    ended(fork(killed_at(first_kill, lambda: version(3).save(place), by_lines)))
                code = ended(fork(killed_at(at, lambda: version(2).save(place), by_lines)))
                if code == 0:
                    break
                counts["kills"] += 1
                try:
                    assert code == -signal.SIGKILL, f"exit code {code}"
                    try:
                        found = version_of(place)
                        assert found in expected
                        counts["new" if found == 2 else "old"] += 1
                    except FippError:
                        # Without an old file there may be none afterwards either.
                        assert first_kill is None and not place.exists(), "the old file cannot be read"
                        counts["old"] += 1
                    version(4).save(place)
                    assert version_of(place) == 4
                    assert sorted(os.listdir(folder)) == files, f"litter: {os.listdir(folder)}"
                except (AssertionError, FippError) as error:
                    counts["failures"] += 1
                    print(f"{name}, after {first_kill}, at {at}: {error}", file=sys.stderr)
    return counts


def _places_that_leave_a_record(place: Path, by_lines: bool) -> list[int]:
    """Return some places at which a kill leaves a pair that is not yet in its place."""
    found = []
    at, code = 0, -1
    while code:
        at += 1
        code = ended(fork(killed_at(at, lambda: version(1).save(place), by_lines)))
        record = place.with_name(f".{place.name}.pair")
        if code and record.exists() and record.stat().st_size:
            found.append(at)
        version(1).save(place)
    return sorted({found[0], found[len(found) // 2], found[-1]}) if found else []


def race(saves: int, writers: int = 2, readers: int = 2) -> dict[str, int]:
    """Let processes save and read one pair at the same time, until each writer has saved so many times."""
    with tempfile.TemporaryDirectory(dir=_QUICK) as folder:
        place = Path(folder, "x.npy")
        version(0).save(place)

        def write(writer: int) -> None:
            for number in range(1, saves + 1):
                version(writer * saves + number).save(place)

        def read(report: Path) -> None:
            count = 0
            signal.signal(signal.SIGTERM, lambda *_: done.append(True))
            done: list[bool] = []
            while not done:
                version_of(place)
                count += 1
            report.write_text(str(count))

        reports = [Path(folder, f"reader-{number}") for number in range(readers)]
        reading = [fork(lambda report=report: read(report)) for report in reports]
        writing = [fork(lambda writer=writer: write(writer)) for writer in range(writers)]
        failures = sum(ended(child) != 0 for child in writing)
        for child in reading:
            time.sleep(0.01)
            os.kill(child, signal.SIGTERM)
        failures += sum(ended(child) != 0 for child in reading)
        reads = sum(int(report.read_text()) for report in reports if report.exists())
        left = set(os.listdir(folder)) - {"x.npy", "x.txt", *(report.name for report in reports)}
        if left:
            print(f"litter: {left}", file=sys.stderr)
        version_of(place)
    return {"saves": saves * writers, "reads": reads, "failures": failures + len(left)}


if __name__ == "__main__":
    trial, argument = sys.argv[1:]
    print(json.dumps(race(int(argument)) if trial == "race" else kill_everywhere(argument, trial == "lines")))
