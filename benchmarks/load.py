"""The speed of loading and saving text vectors: fipp compared with polars, pyarrow, gensim, np.loadtxt and a loop.

Each reader loads a file of 60,000 × 300 random vectors into a list of words and a float32 matrix, in fresh processes
and with as many threads as fipp. Seconds cover the load alone, after a tiny file has been loaded, which imports what
is needed. Peak memory is what the load adds to the process. np.loadtxt and the loop read a tenth of the rows, and their
seconds and memory are multiplied by ten. On a busy machine, compare the processor seconds, which cover all threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from shutil import rmtree

import numpy as np
from _benchmark import Benchmark
from _tables import table

from fipp.linalg import n_threads

ROWS, DIMENSIONS = 60_000, 300
SHARE = 10
"""The slow readers read only one row in this many."""
TIMES = 5
"""How often the fast readers are measured; the median of the processor times counts."""


@cache
def folder():
    """Return the folder for the file and the cache, which is removed when this process ends."""
    return tempfile.TemporaryDirectory()


@cache
def vector_file(rows=ROWS):
    """Write random vectors of the size of word vectors, each number in its shortest form, and return the path."""
    from fipp import Vectors

    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((rows, DIMENSIONS), dtype=np.float32) * np.float32(0.1)
    path, words = Path(folder().name, f"{rows}.vec"), [f"word{row}" for row in range(rows)]
    Vectors(words, matrix).save(path)
    Vectors(words[:10], matrix[:10]).save(tiny(path))
    time.sleep(2.5)  # fipp does not cache a file that has just changed
    return path


def tiny(path):
    """Return the path of a file with the first few rows."""
    return Path(path).with_name("tiny.vec")


def load_fipp(path):
    from fipp import Vectors

    Vectors.load(tiny(path), cache=False)
    return lambda: Vectors.load(path)


def load_compiled(path):
    import fipp.io  # noqa: F401

    return lambda: import_module("fipp.io.formats._text_block")


def load_head(path):
    from fipp import Vectors

    Vectors.load(tiny(path), cache=False)
    return lambda: Vectors.load(path, limit=1000, cache=False)


def load_polars(path):
    os.environ["POLARS_MAX_THREADS"] = str(n_threads())
    import polars

    types = {"column_1": polars.String, **{f"column_{column}": polars.Float32 for column in range(2, DIMENSIONS + 2)}}

    def load(path):
        frame = polars.read_csv(path, separator=" ", has_header=False, skip_rows=1, quote_char=None, schema=types)
        return frame["column_1"].to_list(), frame.drop("column_1").to_numpy(order="c")

    load(tiny(path))
    return lambda: load(path)


def load_pyarrow(path):
    import pyarrow
    from pyarrow import csv

    pyarrow.set_cpu_count(n_threads())
    names = ["word", *map(str, range(DIMENSIONS))]
    settings = {
        "read_options": csv.ReadOptions(skip_rows=1, column_names=names),
        "parse_options": csv.ParseOptions(delimiter=" ", quote_char=False),
        "convert_options": csv.ConvertOptions(column_types=dict.fromkeys(names[1:], pyarrow.float32())),
    }

    def load(path):
        table = csv.read_csv(path, **settings)
        matrix = np.empty((len(table), DIMENSIONS), dtype=np.float32)
        for column in range(DIMENSIONS):
            matrix[:, column] = table[column + 1].to_numpy()
        return table["word"].to_pylist(), matrix

    load(tiny(path))
    return lambda: load(path)


def load_gensim(path):
    from gensim.models import KeyedVectors

    return lambda: KeyedVectors.load_word2vec_format(path)


def load_loadtxt(path):
    def load():
        with open(path, "rb") as file:
            _, dimensions = map(int, file.readline().split())
            lines = [next(file) for _ in range(ROWS // SHARE)]
        words = [line.split(b" ", 1)[0].decode() for line in lines]
        return words, np.loadtxt(
            lines, dtype=np.float32, delimiter=" ", comments=None, usecols=range(1, dimensions + 1)
        )

    return load


def load_loop(path):
    def load():
        words, vectors = [], []
        with open(path, encoding="utf-8") as file:
            next(file)
            for _ in range(ROWS // SHARE):
                word, *numbers = next(file).rstrip().split(" ")
                words.append(word)
                vectors.append([float(number) for number in numbers])
        return words, np.array(vectors, dtype=np.float32)

    return load


def save_part(path):
    """Save 20,000 rows."""
    from fipp import Vectors

    vectors = Vectors.load(path, limit=20_000, cache=False)
    return lambda: vectors.save(Path(path).with_name("saved.vec"))


SAVING = "saving 20,000 rows"
COMPILED = "loading the compiled reader, once in each process"
OURS = "fipp, first time, no cache"
AGAIN = "fipp, second time, from the cache"
POLARS, PYARROW = "polars `read_csv`", "pyarrow `csv.read_csv`"
GENSIM = "gensim `KeyedVectors.load_word2vec_format`"
WAYS = {
    OURS: load_fipp,
    "fipp, first time, writing the cache": load_fipp,
    AGAIN: load_fipp,
    "fipp, `limit=1000`": load_head,
    POLARS: load_polars,
    PYARROW: load_pyarrow,
    GENSIM: load_gensim,
    "`np.loadtxt` (a tenth of the rows, times ten)": load_loadtxt,
    "a plain Python loop (a tenth of the rows, times ten)": load_loop,
    SAVING: save_part,
    COMPILED: load_compiled,
}


def measure(way):
    path, cache = vector_file(), Path(folder().name, way.replace(" ", "-").replace("/", ""))
    if way == AGAIN:
        _measure_apart(way, path, cache)
    times = SHARE if "times ten" in way else 1
    measured = []
    for _ in range(1 if way == GENSIM or times > 1 else TIMES):
        if "writing the cache" in way:
            rmtree(cache, ignore_errors=True)
        measured.append(_measure_apart(way, path, cache if "the cache" in way else "off"))
    seconds, processor, memory = sorted(measured, key=itemgetter(1))[len(measured) // 2]
    return {
        "seconds": times * seconds,
        "processor": times * processor,
        "memory": times * memory / (ROWS * DIMENSIONS * 4),
    }


def _measure_apart(way, path, cache):
    """Measure in a fresh process."""
    command = [sys.executable, __file__, "--here", way, str(path)]
    environment = {**os.environ, "FIPP_CACHE": str(cache)}
    output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout
    return json.loads(output.splitlines()[-1])


def measure_here(way, path):
    """Run once in the fresh process and print seconds, processor seconds and the bytes added at the peak."""
    work = WAYS[way](path)
    before, peak, done = resident(), [0], threading.Event()

    def watch():
        while not done.wait(0.005):
            peak[0] = max(peak[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start, processor = time.perf_counter(), time.process_time()
    result = work()
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    done.set()
    watcher.join()
    print(json.dumps([seconds, processor, max(peak[0], resident()) - before]))
    return result


def resident():
    """Return the memory of this process, including the pages of mapped files that were read."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


benchmark = Benchmark("load", [{"way": way} for way in WAYS], measure, minutes=6)


def seconds_table():
    rows = [
        [record["way"], *(f"{record[name]:,.2f}" for name in ("seconds", "processor", "memory"))]
        for record in benchmark.records
        if record["way"] not in (SAVING, COMPILED)
    ]
    return table(["", "wall s", "processor s", "peak memory / matrix"], rows)


def against(way):
    """Return how many times as long as fipp another reader takes, in processor seconds."""
    other, ours = (benchmark.one(way=name)["processor"] for name in (way, OURS))
    return f"{other / ours:.2g}"


def memory_of(way):
    """Return how many times as much memory as fipp another reader takes at its peak."""
    other, ours = (benchmark.one(way=name)["memory"] for name in (way, OURS))
    return f"{other / ours:.1f}"


def seconds(way):
    """Return the processor seconds of what is not in the table."""
    return f"{benchmark.one(way=way)['processor']:.1f}"


def megabytes(way):
    return f"{benchmark.one(way=way)['memory'] * ROWS * DIMENSIONS * 4 / 1e6:.0f}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        measure_here(*sys.argv[2:])
    else:
        benchmark.main()
