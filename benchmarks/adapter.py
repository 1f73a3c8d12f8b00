"""Processor microseconds per query of a query adapter: in fipp, exported to numpy, and exported to ONNX.

Random vectors, one thread. A query comes alone, or 1,000 come at once. The fastest of five runs counts.
"""

from __future__ import annotations

import tempfile
import time
from functools import cache
from pathlib import Path

import numpy as np
from _benchmark import Benchmark
from _tables import table
from threadpoolctl import threadpool_limits

DIMENSIONS = {"384 to 256": (384, 256), "1536 to 768": (1536, 768)}
MAPS = {"linear": "linear", "kernel, 2,000 landmarks": "rbf"}
RUNTIMES = ("fipp", "numpy", "onnxruntime")
PAIRS = 2_000


@cache
def migration(dimensions, kind):
    """Return a migration for random vectors; what it costs does not depend on what it has learned."""
    from fipp import KernelRidge
    from fipp.migrate import Migration, PairedSample

    d2, d1 = DIMENSIONS[dimensions]
    rng = np.random.default_rng(0)
    new = rng.standard_normal((PAIRS, d2), dtype=np.float32) * np.geomspace(1, 0.1, d2, dtype=np.float32)
    old = new[:, :d1] + np.float32(0.01)
    small = PairedSample.from_arrays(old[:100], new[:100], old_queries=old[:50], new_queries=new[:50])
    fitted = vars(Migration.fit(small, direction="queries"))
    return Migration(**{**fitted, "aligner": KernelRidge(MAPS[kind], ridge=1.0, prior="zero").fit(new, old)}), new


def runner(fitted, runtime, folder):
    """Return a function that maps vectors in a runtime."""
    if runtime == "fipp":
        return lambda X: fitted.adapt_queries(X, check=False)
    if runtime == "numpy":
        from fipp.migrate._adapter import Adapter

        fitted.export(folder / "adapter.npz")
        return Adapter(folder / "adapter.npz")
    import onnxruntime

    fitted.export(folder / "adapter.onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "adapter.onnx", options, providers=["CPUExecutionProvider"])
    return lambda X: session.run(None, {"vectors": X})


def measure(dimensions, map, runtime):
    fitted, new = migration(dimensions, map)
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        run = runner(fitted, runtime, Path(folder))
        return {"alone": microseconds(run, new[:1], 200), "together": microseconds(run, new[:1000], 3)}


def microseconds(run, X, times):
    run(X)
    best = np.inf
    for _ in range(5):
        start = time.process_time()
        for _ in range(times):
            run(X)
        best = min(best, time.process_time() - start)
    return 1e6 * best / times / len(X)


def obstacle():
    from importlib.util import find_spec

    return None if find_spec("onnxruntime") and find_spec("onnx") else "onnx and onnxruntime are not installed"


PLAN = [{"dimensions": d, "map": kind, "runtime": runtime} for d in DIMENSIONS for kind in MAPS for runtime in RUNTIMES]
benchmark = Benchmark("adapter", PLAN, measure, minutes=2, obstacle=obstacle)


def microseconds_table():
    rows = []
    for dimensions in DIMENSIONS:
        for kind in MAPS:
            found = [benchmark.get(dimensions=dimensions, map=kind, runtime=runtime) for runtime in RUNTIMES]
            shown = [f"{record['alone']:,.0f} / {record['together']:,.0f}" if record else "–" for record in found]
            rows.append([dimensions, kind, *shown])
    return table(["dimensions", "map", *RUNTIMES], rows)


if __name__ == "__main__":
    benchmark.main()
