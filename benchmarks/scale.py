"""The cost of converting, searching and fitting by size, in one process and on a cluster, and of a billion vectors.

Each measurement has a process of its own; the cluster is Dask's `LocalCluster` with two processes of one thread. Rows
are converted from Parquet to Parquet, with an id and a title beside each vector. The largest sizes need 50 GB of disk.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from _benchmark import Benchmark, in_new_process
from _tables import count, table

ROWS = (100_000, 1_000_000, 10_000_000)
PAIRS = (5_000, 20_000, 60_000)
OLD, NEW = 384, 768
SEARCHED = 256
QUERIES = 1_000
SIZES = {"convert": ROWS, "search": ROWS, "fit": PAIRS}
PLACES = ("one process", "cluster")
SUBJECTS = {
    "convert": f"convert, {OLD} to {NEW} dimensions",
    "search": f"search, {QUERIES:,} queries, {SEARCHED} dimensions",
    "fit": f"fit FIPP, {OLD} to {NEW} dimensions",
}
UNITS = {"convert": "rows", "search": "rows", "fit": "pairs"}
_ROWS_PER_FILE = 250_000
_NEEDED = 50 << 30

BILLION = 1_000_000_000
CORES = 16
"""The machine of the calculation; its disk reads and writes a gigabyte per second."""
BYTES_PER_SECOND = 1_000_000_000


def vectors(first, n, dimensions):
    """Return rows of a made-up collection, the same for whichever part is asked for."""
    return np.random.default_rng((0, first)).standard_normal((n, dimensions), dtype=np.float32)


def prepared(work, size, folder):
    """Write what is worked on to a folder."""
    if work == "convert":
        _collection(size, folder)
    elif work == "search":
        matrix = np.lib.format.open_memmap(folder / "keys.npy", "w+", np.float16, (size, SEARCHED))
        for start in range(0, size, _ROWS_PER_FILE):
            stop = min(size, start + _ROWS_PER_FILE)
            matrix[start:stop] = vectors(start, stop - start, SEARCHED)
        matrix.flush()


def _collection(size, folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from fipp.migrate import Migration, PairedSample

    new = vectors(0, 2_000, NEW)
    sample = PairedSample.from_arrays(new[:, :OLD] + vectors(1, 2_000, OLD) / 10, new)
    migration = Migration.fit(sample, direction="documents")
    assert migration.map == "linear", "a kernel would cost more"
    migration.save(folder / "model.fipp")
    (folder / "old").mkdir()
    for start in range(0, size, _ROWS_PER_FILE):
        n = min(size - start, _ROWS_PER_FILE)
        X = pa.FixedSizeListArray.from_arrays(pa.array(vectors(start, n, OLD).ravel()), OLD)
        ids, titles = np.arange(start, start + n), [f"item {row}" for row in range(start, start + n)]
        pq.write_table(pa.table({"id": ids, "title": titles, "vector": X}), folder / "old" / f"{start:010d}.parquet")


def runner(work, size, folder):
    """Return the work as a function without arguments."""
    if work == "convert":
        from fipp.migrate import Conversion

        return Conversion.start(folder / "model.fipp", folder / "old", folder / "new").run
    if work == "search":
        from fipp.retrieve import neighbours

        keys = np.load(folder / "keys.npy", mmap_mode="r")
        return lambda: neighbours(vectors(1, QUERIES, SEARCHED), keys, 10)
    from fipp import FIPP

    Y = vectors(0, size, NEW) * np.geomspace(1, 0.1, NEW, dtype=np.float32)
    X = Y[:, :OLD] + vectors(1, size, OLD) / 10
    return lambda: FIPP().fit(X, Y)


def measure(work, size, place):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepared(work, size, folder)
        told = in_new_process(_measure_here, work, size, place, folder)
        for part in ("old", "new"):
            if (folder / part).exists():
                told[f"bytes_{part}"] = sum(file.stat().st_size for file in (folder / part).iterdir())
        return told


def _measure_here(work, size, place, folder):
    with ExitStack() as stack:
        client = stack.enter_context(_cluster()) if place == "cluster" else None
        run = runner(work, size, folder)
        if client is not None:
            from fipp.cluster import on_dask

            stack.enter_context(on_dask(client))
        before, start = _spent(client), time.perf_counter()
        run()
        seconds, after = time.perf_counter() - start, _spent(client)
        memory = [_peak(), *(client.run(_peak).values() if client is not None else ())]
        return {"processor": after - before, "seconds": seconds, "memory": max(memory)}


@contextmanager
def _cluster():
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": 0, "dashboard_address": None}
    with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


def _spent(client):
    """Return the processor seconds of this process and of the workers."""
    return time.process_time() + sum(client.run(time.process_time).values() if client is not None else ())


def _peak():
    """Return the peak memory of a process."""
    return 1024 * int(re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())[1])


def obstacle():
    from importlib.util import find_spec

    if not (find_spec("pyarrow") and find_spec("distributed")):
        return "pyarrow or dask is not installed"
    free = shutil.disk_usage(tempfile.gettempdir()).free
    return f"only {free >> 30} GB of disk are free" if free < _NEEDED else None


PLAN = [{"work": work, "size": size, "place": place} for work in SIZES for size in SIZES[work] for place in PLACES]
benchmark = Benchmark("scale", PLAN, measure, minutes=90, obstacle=obstacle)


def size_table():
    """Return the costs of each work by size and place."""
    rows = []
    for record in benchmark.records:
        work, size = record["work"], record["size"]
        rows.append(
            [
                SUBJECTS[work],
                f"{count(size)} {UNITS[work]}",
                record["place"],
                f"{record['processor']:.3g}",
                f"{record['memory'] / 1e6:,.0f}",
            ]
        )
    return table(["", "size", "on", "processor seconds", "peak MB of a process"], rows)


def exponent_table():
    """Return the exponents of processor seconds and of memory, and what the cluster costs beside one process."""
    rows = []
    for work, subject in SUBJECTS.items():
        alone, together = (benchmark.find(work=work, place=place) for place in PLACES)
        largest = together[-1]
        extra = largest["processor"] / _alone(work, largest["size"])["processor"]
        shown = [f"{_exponent(records, 'processor'):.2f}" for records in (alone, together)]
        rows.append([subject, *shown, f"{_exponent(alone, 'memory'):.2f}", f"{extra:.2f}"])
    header = ["", "exponent, one process", "exponent, cluster", "exponent of memory"]
    return table([*header, "processor seconds of the cluster by those of one process, largest size of both"], rows)


def _exponent(records, name):
    sizes, values = ([record[field] for record in records] for field in ("size", name))
    return np.polyfit(np.log(sizes), np.log(values), 1)[0] + 0.0


def _alone(work, size):
    return benchmark.one(work=work, size=size, place=PLACES[0])


def conversion(size, name, digits=3):
    """Return a measurement of a conversion in one process: its seconds, or its memory in MB."""
    value = _alone("convert", size)[name]
    return f"{value / 1e6:,.0f}" if name == "memory" else f"{value:.{digits}g}"


def billion_table():
    """Return the cost of a billion vectors step by step, each calculated from the ones above."""
    largest, searched = (benchmark.find(work=work, place="cluster")[-1] for work in ("convert", "search"))
    per_row = largest["processor"] / largest["size"]
    core_hours = per_row * BILLION / 3600
    read, written = (largest[f"bytes_{part}"] / largest["size"] for part in ("old", "new"))
    moved = (read + written) * BILLION
    disk_hours = moved / BYTES_PER_SECOND / 3600
    found = searched["processor"] / searched["size"]
    rows = [
        [
            "processor time of a row, on a cluster",
            f"{largest['processor']:,.0f} s / {count(largest['size'])} rows",
            f"{1e6 * per_row:.1f} µs",
        ],
        ["of a billion rows", f"{1e6 * per_row:.1f} µs × 10⁹ / 3,600", f"{core_hours:.1f} core hours"],
        ["bytes read and written for a row", f"{read:,.0f} + {written:,.0f}", f"{read + written:,.0f} bytes"],
        ["of a billion rows", f"{read + written:,.0f} × 10⁹", f"{moved / 1e12:.2f} TB"],
    ]
    for machines in (1, 4, 16):
        calculated, moving = core_hours / CORES / machines, disk_hours / machines
        slower = "processors" if calculated > moving else "disks"
        rows.append(
            [
                f"{machines} machine{'s' * (machines > 1)} of {CORES} cores, each with a disk of 1 GB/s",
                f"processors {core_hours:.1f} / {CORES * machines} = {calculated:.2f} h; "
                f"disks {moved / 1e12:.2f} TB / {machines} GB/s = {moving:.2f} h",
                f"{max(calculated, moving):.2f} hours ({slower})",
            ]
        )
    rows.append(
        [
            f"an exact search of {QUERIES:,} queries in a billion vectors of {SEARCHED} dimensions",
            f"{1e6 * found:.1f} µs × 10⁹ / 3,600",
            f"{found * BILLION / 3600:.1f} core hours",
        ]
    )
    return table(["what", "arithmetic", "result"], rows)


if __name__ == "__main__":
    benchmark.main()
