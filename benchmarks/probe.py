"""Processor seconds of `fipp migrate probe`, by the number of pairs in the sample.

The command is run as a user runs it, in a process of its own, on Parquet files; starting Python and reading the files
are part of the figure. Most items have a query that they answer. One thread.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import _embeddings
from _benchmark import Benchmark
from _tables import count, table

PAIR = "wordllama → minilm"
COUNTS = (1_000, 2_000)


def measure(pairs):
    (part,) = _embeddings.parts(PAIR, 0, (pairs,), (pairs,))
    with tempfile.TemporaryDirectory() as folder:
        _write(part, Path(folder))
        command = [sys.executable, "-m", "fipp", "migrate", "probe", "old.parquet", "new.parquet", "--json"]
        environment = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [*command, "--queries", "queries.parquet", "--size", "1000000"],
            cwd=folder, env=environment, check=True, capture_output=True,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = json.loads(done.stdout)
    return {"queries": found["n_queries"], "map": found["map"], "processor": seconds}


def _write(part, folder):
    import pyarrow as pa
    from pyarrow import parquet

    def column(vectors):
        return pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])

    for side in ("old", "new"):
        vectors = getattr(part, side)
        parquet.write_table(
            pa.table({"id": range(len(vectors)), "vector": column(vectors)}), folder / f"{side}.parquet"
        )
    asked = {"old": column(part.old_queries), "new": column(part.new_queries), "gold": part.gold}
    parquet.write_table(pa.table(asked), folder / "queries.parquet")


PLAN = [{"pairs": pairs} for pairs in COUNTS]
benchmark = Benchmark("probe", PLAN, measure, minutes=1, obstacle=_embeddings.obstacle)


def seconds_table():
    """Return the seconds by the number of pairs."""
    rows = [
        [count(record["pairs"]), count(record["queries"]), record["map"], f"{record['processor']:.1f}"]
        for record in benchmark.records
    ]
    return table(["pairs", "queries", "map", "processor seconds"], rows)


if __name__ == "__main__":
    benchmark.main()
