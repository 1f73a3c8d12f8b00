"""Conversions of a collection in a database that are killed at random moments, resumed, and killed again.

    python tests/migrate/collection_trials.py MODEL SOURCE SINK KILLS [SEED]

Each runs in a forked process that kills itself before a random line of the code that reads, converts, writes and
records. The last one runs to the end. What was counted is printed as JSON. The manifest is in the current folder.
Collections of Qdrant are those of the client's local mode, in the folder that LOCAL_QDRANT names.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from importlib import import_module

from conversion_trials import Moments, killed

from fipp.migrate import Conversion, Manifest, manifest_path

FRAGMENT = 50


@contextmanager
def local_qdrant(patch: Callable[..., object], place: object) -> Iterator[object]:
    """Let addresses of servers mean one client of Qdrant's local mode, which stays open."""
    from qdrant_client import QdrantClient

    client = QdrantClient(":memory:") if place == ":memory:" else QdrantClient(path=str(place))
    client.close, close = lambda: None, client.close
    patch("fipp.stores._qdrant.connect", lambda address: client)
    yield client
    close()


def _patch(name: str, value: object) -> None:
    module, _, attribute = name.rpartition(".")
    setattr(import_module(module), attribute, value)


def stores() -> AbstractContextManager[object]:
    """Return what must be open while there is work with collections."""
    return local_qdrant(_patch, os.environ["LOCAL_QDRANT"]) if "LOCAL_QDRANT" in os.environ else nullcontext()


def convert(model: str, source: str, sink: str) -> None:
    """Start a conversion, or go on with one that was started."""
    with stores():
        if manifest_path(sink).exists():
            Conversion.load(sink).run()
        else:
            Conversion.start(model, source, sink, fragment_rows=FRAGMENT).run()


def delete(sink: str) -> None:
    """Remove what was converted."""
    with stores():
        Conversion.load(sink).delete()


def count_lines(model: str, source: str, sink: str) -> None:
    """Write how many lines of code an undisturbed conversion runs, and remove what it wrote."""
    moments = Moments()
    sys.settrace(moments.trace)
    convert(model, source, sink)
    sys.settrace(None)
    delete(sink)
    with open("lines", "w") as file:
        file.write(str(moments.seen))


def trial(model: str, source: str, sink: str, kills: int, seed: int) -> dict[str, int]:
    """Kill a conversion so many times before it ends, and run the last one undisturbed."""
    for client in ("psycopg", "qdrant_client"):  # once for all processes; lancedb cannot be forked
        with suppress(ImportError):
            import_module(client)
    assert not killed(lambda: count_lines(model, source, sink), None)
    with open("lines") as file:
        lines = int(file.read())
    chance, counts = random.Random(seed), {"kills": 0, "kills with fragments done": 0}
    while counts["kills"] < kills:
        moment = chance.randint(1, lines)
        if not killed(lambda moment=moment: convert(model, source, sink), moment):
            assert not killed(lambda: delete(sink), None)
            continue
        counts["kills"] += 1
        counts["kills with fragments done"] += bool(
            manifest_path(sink).exists() and Manifest.load(manifest_path(sink)).fragments
        )
    assert not killed(lambda: convert(model, source, sink), None)
    return counts


if __name__ == "__main__":
    print(json.dumps(trial(*sys.argv[1:4], int(sys.argv[4]), int((*sys.argv, 0)[5]))))
