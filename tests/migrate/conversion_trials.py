"""Conversions that are killed at random moments and resumed.

    python tests/migrate/conversion_trials.py 5 [seed]

Each conversion runs in a forked process that kills itself before a random line of the code that reads, converts, writes
and records. What was counted is printed as JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fipp import Ridge
from fipp.migrate import Conversion

ROWS, FRAGMENT = 700, 100
_TRACED = ("fipp/stores/", "fipp/migrate/_", "fipp/io/_atomic")
SINKS = ("new/", "new.parquet", "new.npy", *(["new.lance"] if find_spec("lance") else []))


def make(folder: Path) -> None:
    """Write a model and two Parquet files."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 5)).astype(np.float32)
    Ridge().fit(X, X @ rng.standard_normal((5, 7))).save(folder / "model.fipp")
    (folder / "old").mkdir()
    for part, start in (("a", 0), ("b", ROWS // 2)):
        vectors = rng.standard_normal((ROWS // 2, 5)).astype(np.float32)
        column = pa.FixedSizeListArray.from_arrays(vectors.ravel(), 5)
        table = pa.table({"id": np.arange(start, start + ROWS // 2), "vector": column})
        pq.write_table(table, folder / "old" / f"{part}.parquet", row_group_size=130)


def convert(folder: Path, sink: str) -> None:
    """Start a conversion, or go on with one, and note every fragment that is written whole."""
    place = str(folder) + "/" + sink
    if (folder / f"{sink.rstrip('/')}.migration.jsonl").exists():
        conversion = Conversion.load(place)
    else:
        conversion = Conversion.start(folder / "model.fipp", str(folder / "old"), place, fragment_rows=FRAGMENT)
    write = conversion.sink.write

    def noted(fragment, batches):
        checksum = write(fragment, batches)
        with open(folder / "log", "a") as log:
            log.write(fragment.name + "\n")
        return checksum

    conversion.sink.write = noted
    conversion.run()


class Moments:
    """Counts the lines of the code that matters, and kills the process at one of them."""

    def __init__(self, moment: int | None = None) -> None:
        self.seen, self._moment = 0, moment

    def trace(self, frame, event: str, argument: object):
        if not any(part in frame.f_code.co_filename for part in _TRACED):
            return None
        if event == "line":
            self.seen += 1
            if self.seen == self._moment:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.trace


def killed(work: Callable[[], None], moment: int | None, count: Path | None = None) -> bool:
    """Run work in a forked process that is killed at a moment; return whether it was, and write how many there are."""
    child = os.fork()
    if child == 0:
        code, moments = 1, Moments(moment)
        try:
            sys.settrace(moments.trace)
            work()
            sys.settrace(None)
            if count is not None:
                count.write_text(str(moments.seen))
            code = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            os._exit(code)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended in (0, -signal.SIGKILL), f"exit code {ended}"
    return ended != 0


def contents(folder: Path, sink: str) -> dict[str, str]:
    """Return the digests of everything that is there under the sink's name, and of what must not be left.

    Lance's own records have random names; without them, a table is not found at all.
    """
    found = [path for path in folder.rglob("*") if path.is_file() and path.relative_to(folder).parts[0] != "old"]
    found = [path for path in found if path.parent.name not in ("_versions", "_transactions")]
    found = [
        path for path in found if path.name not in ("log", "model.fipp") and not path.name.endswith((".json", ".jsonl"))
    ]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(found)}


def reset(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name not in ("old", "model.fipp"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def trial(kills: int, seed: int = 0) -> dict[str, int]:
    """Kill so many conversions, some of them more than once before they end."""
    chance = random.Random(seed)
    counts = {"kills": 0, "conversions": 0, "fragments done again": 0, "most fragments done again by a kill": 0}
    counts |= {"different results": 0, "failures": 0}
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as name:
        folder = Path(name)
        make(folder)
        undisturbed, lines, fragments = {}, {}, {}
        for sink in SINKS:
            # In a process of its own, because Lance's threads do not survive a fork.
            assert not killed(lambda sink=sink: convert(folder, sink), None, folder / "lines")
            lines[sink] = int((folder / "lines").read_text())
            (folder / "lines").unlink()
            undisturbed[sink] = contents(folder, sink)
            fragments[sink] = len((folder / "log").read_text().split())
            reset(folder)
        while counts["kills"] < kills:
            sink = SINKS[counts["conversions"] % len(SINKS)]
            kills_here, ended = 0, False
            while not ended:
                more = counts["kills"] + kills_here < kills
                moment = chance.randint(1, lines[sink]) if more else None
                ended = not killed(lambda sink=sink: convert(folder, sink), moment)
                kills_here += not ended
            again = len((folder / "log").read_text().split()) - fragments[sink]
            counts["kills"] += kills_here
            counts["conversions"] += 1
            counts["fragments done again"] += again
            if kills_here:
                worst = -(-again // kills_here)
                counts["most fragments done again by a kill"] = max(
                    counts["most fragments done again by a kill"], worst
                )
                counts["failures"] += again > kills_here
            different = contents(folder, sink) != undisturbed[sink]
            counts["different results"] += different
            counts["failures"] += different
            reset(folder)
    return counts


if __name__ == "__main__":
    print(json.dumps(trial(*map(int, sys.argv[1:]))))
