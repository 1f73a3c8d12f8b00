"""Conversions that are killed at random moments and resumed.

    python tests/migrate/conversion_trials.py 5 new/ new.npy postgresql://host/database#new qdrant://local#new

Each conversion runs in a forked process that kills itself before a random line of the code that reads, converts, writes
and records. Files are converted from a folder of Parquet files, a collection from another one beside it. Collections of
Qdrant are those of the client's local mode. What was counted is printed as JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, chdir, closing, contextmanager, nullcontext, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import fipp
from fipp import Ridge
from fipp.migrate import Conversion, manifest_path
from fipp.stores import open_source

ROWS, FRAGMENT = 700, 100
FILES = ("new/", "new.parquet", "new.arrow", "new.npy", "new.safetensors", "new.faiss")
FILES = (*FILES, "new.lance") if find_spec("lance") else FILES
_TRACED = ("fipp/stores/", "fipp/migrate/_", "fipp/io/_atomic")
_LOG = Path("log")


def counted_in_a_process(kills: int, *sinks: str) -> dict[str, dict[str, int]]:
    """Return the counts of the trials of several sinks, which fork a process of their own."""
    command = [sys.executable, __file__, str(kills), *sinks]
    code = {**os.environ, "PYTHONPATH": str(Path(fipp.__file__).parents[1])}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=code)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, dict[str, int]] = json.loads(ran.stdout)
    return found


def trial(sink: str, kills: int, seed: int = 0) -> dict[str, int]:
    """Kill conversions to a sink so many times in all, some of them more than once before they end."""
    for client in ("psycopg", "qdrant_client"):  # once for all processes; Lance's threads do not survive a fork
        with suppress(ImportError):
            import_module(client)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as name, chdir(name):
        source = _make(sink)
        assert not killed(lambda: _convert(source, sink), None, Path("lines"))
        lines, undisturbed = int(Path("lines").read_text()), _contents(sink)
        killed(lambda: _delete(sink), None)
        chance = random.Random(seed)
        counts = {"kills": 0, "conversions": 0, "fragments done again": 0, "done again after one kill at most": 0}
        counts |= {"different results": 0, "failures": 0}
        while counts["kills"] < kills:
            ended = False
            while not ended:
                moment = chance.randint(1, lines) if counts["kills"] < kills else None
                before = _begun()
                ended = not killed(lambda moment=moment: _convert(source, sink), moment)
                again = sum(name in before for name in _begun()[len(before) :])
                counts["kills"] += not ended
                counts["fragments done again"] += again
                counts["done again after one kill at most"] = max(counts["done again after one kill at most"], again)
                counts["failures"] += again > 1
            different = _contents(sink) != undisturbed
            counts["conversions"] += 1
            counts["different results"] += different
            counts["failures"] += different
            killed(lambda: _delete(sink), None)
        if source != "old":
            killed(lambda: _delete(source), None)
    return counts


def _make(sink: str) -> str:
    """Write a model and the source of a conversion, and return the address of the source."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 5)).astype(np.float32)
    Ridge().fit(X, X @ rng.standard_normal((5, 7))).save("model.fipp")
    Ridge().fit(X, X).save("copy.fipp")
    Path("old").mkdir()
    for part, start in (("a", 0), ("b", ROWS // 2)):
        vectors = rng.standard_normal((ROWS // 2, 5)).astype(np.float32)
        column = pa.FixedSizeListArray.from_arrays(vectors.ravel(), 5)
        table = pa.table({"id": np.arange(start, start + ROWS // 2), "vector": column})
        pq.write_table(table, f"old/{part}.parquet", row_group_size=130)
    if "://" not in sink:
        return "old"
    assert not killed(lambda: _convert("old", f"{sink}_old", "copy.fipp"), None)
    _LOG.unlink()
    return f"{sink}_old"


def _convert(source: str, sink: str, model: str = "model.fipp") -> None:
    """Start a conversion, or go on with one, and note every fragment that is begun."""
    with _clients(sink):
        if manifest_path(sink).exists():
            conversion = Conversion.load(sink)
        else:
            conversion = Conversion.start(model, source, sink, fragment_rows=FRAGMENT)
        write = conversion.sink.write

        def noted(fragment, batches):
            with open(_LOG, "a") as log:
                log.write(f"{fragment.name}\n")
            return write(fragment, batches)

        conversion.sink.write = noted
        conversion.run()


def _begun() -> list[str]:
    return _LOG.read_text().split() if _LOG.exists() else []


def _delete(sink: str) -> None:
    with _clients(sink):
        Conversion.load(sink).delete()
    _LOG.unlink(missing_ok=True)


def _contents(sink: str) -> object:
    """Return all rows of a collection; for files, digests of what is there under any name that was not there before.

    Lance's own records have random names; without them, a table is not found at all.
    """
    if "://" in sink:
        with _clients(sink), closing(open_source(sink)) as store:
            return [row for batch in store.batches() for row in batch.to_pylist()]
    found = [path for path in Path().rglob("*") if path.is_file() and path.parts[0] != "old"]
    found = [path for path in found if path.parent.name not in ("_versions", "_transactions")]
    found = [path for path in found if len(path.parts) > 1 or path.name.startswith((".", "new"))]
    found = [path for path in found if not path.name.endswith((".json", ".jsonl"))]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(found)}


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


def _clients(sink: str) -> AbstractContextManager[object]:
    """Return what must be open while there is work with a sink."""
    return local_qdrant(_patch, "qdrant") if sink.startswith("qdrant") else nullcontext()


def _patch(name: str, value: object) -> None:
    module, _, attribute = name.rpartition(".")
    setattr(import_module(module), attribute, value)


@contextmanager
def local_qdrant(patch: Callable[..., object], place: object) -> Iterator[object]:
    """Let addresses of servers mean one client of Qdrant's local mode, which stays open."""
    from qdrant_client import QdrantClient

    client = QdrantClient(":memory:") if place == ":memory:" else QdrantClient(path=str(place))
    client.close, close = lambda: None, client.close
    patch("fipp.stores._qdrant.connect", lambda address: client)
    yield client
    close()


if __name__ == "__main__":
    print(json.dumps({sink: trial(sink, int(sys.argv[1])) for sink in sys.argv[2:]}))
