"""How long text vectors take to load and to save: fipp against gensim, np.loadtxt and a plain Python loop.

    python benchmarks/load.py [--rows 200000] [--dimensions 300] [--json FILE]

Makes a file of random vectors in a temporary folder and loads it by each way in a fresh process, one after the other;
fipp first without a cache, then writing one, then from it. Seconds are those of the load alone, imports aside. Peak
memory is what the load adds to the process, as a multiple of the matrix. np.loadtxt and the loop read a tenth of the
rows, and their seconds and memory are multiplied. gensim is left out where it is not installed. On a machine that does
other work at the same time, compare the processor seconds, which are those of all threads together.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

SHARE = 10
"""The slow ways read one row in so many."""


def make_file(path, rows, dimensions):
    """Write random vectors with the sizes that word vectors have, each number in its shortest form."""
    from fipp import Vectors

    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((rows, dimensions), dtype=np.float32) * np.float32(0.1)
    vectors = Vectors([f"word{row}" for row in range(rows)], matrix)
    start = time.perf_counter()
    vectors.save(path)
    return time.perf_counter() - start


def load_fipp(path, rows):
    from fipp import Vectors

    return lambda: Vectors.load(path)


def load_head(path, rows):
    from fipp import Vectors

    return lambda: Vectors.load(path, limit=1000, cache=False)


def load_gensim(path, rows):
    from gensim.models import KeyedVectors

    return lambda: KeyedVectors.load_word2vec_format(path)


def load_loadtxt(path, rows):
    def load():
        with open(path, "rb") as file:
            _, dimensions = map(int, file.readline().split())
            lines = [next(file) for _ in range(rows // SHARE)]
        words = [line.split(b" ", 1)[0].decode() for line in lines]
        return words, np.loadtxt(
            lines, dtype=np.float32, delimiter=" ", comments=None, usecols=range(1, dimensions + 1)
        )

    return load


def load_loop(path, rows):
    def load():
        words, vectors = [], []
        with open(path, encoding="utf-8") as file:
            next(file)
            for _ in range(rows // SHARE):
                word, *numbers = next(file).rstrip().split(" ")
                words.append(word)
                vectors.append([float(number) for number in numbers])
        return words, np.array(vectors, dtype=np.float32)

    return load


WAYS = {
    "fipp": load_fipp,
    "limit": load_head,
    "gensim": load_gensim,
    "loadtxt": load_loadtxt,
    "loop": load_loop,
}


def measure_here(way, path, rows):
    """Load once and print seconds, processor seconds and the bytes added at the peak; what the child process does."""
    load = WAYS[way](path, rows)
    before, peak, done = resident(), [0], threading.Event()

    def watch():
        while not done.wait(0.005):
            peak[0] = max(peak[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start, processor = time.perf_counter(), time.process_time()
    result = load()
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    done.set()
    watcher.join()
    print(json.dumps([seconds, processor, max(peak[0], resident()) - before]))
    return result


def resident():
    """Give the memory of this process; pages of a mapped file that were touched count too."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure(way, path, rows, cache):
    """Load in a fresh process."""
    command = [sys.executable, __file__, "--way", way, "--file", str(path), "--rows", str(rows)]
    environment = {**os.environ, "FIPP_CACHE": str(cache)}
    output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout
    return json.loads(output.splitlines()[-1])


def has_gensim():
    from importlib.util import find_spec

    return find_spec("gensim") is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--dimensions", type=int, default=300)
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way:
        measure_here(arguments.way, arguments.file, arguments.rows)
        return
    rows, dimensions = arguments.rows, arguments.dimensions
    with tempfile.TemporaryDirectory() as folder:
        path, cache = Path(folder, "vectors.vec"), Path(folder, "cache")
        saved = make_file(path, rows, dimensions)
        print(
            f"{rows:,} x {dimensions} numbers, {path.stat().st_size / 1e6:,.0f} MB of text, {os.cpu_count()} processors"
        )
        print(f"Vectors.save took {saved:.1f} s\n")
        time.sleep(2.5)  # a file that has just changed is not cached
        figures = {"save": saved}
        figures["fipp, cold"] = measure("fipp", path, rows, "off")
        figures["fipp, cold, writing the cache"] = measure("fipp", path, rows, cache)
        figures["fipp, cached"] = min(measure("fipp", path, rows, cache) for _ in range(3))
        figures["fipp, limit=1000"] = measure("limit", path, rows, "off")
        if has_gensim():
            figures["gensim"] = measure("gensim", path, rows, "off")
        for name, way in [("np.loadtxt", "loadtxt"), ("Python loop", "loop")]:
            seconds, processor, memory = measure(way, path, rows, "off")
            figures[name] = [SHARE * seconds, SHARE * processor, SHARE * memory]
    show(figures, rows * dimensions * 4)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2))


def show(figures, matrix_bytes):
    reference = "gensim" if "gensim" in figures else "Python loop"
    slow = figures[reference][0]
    print(f"{'':32s}{'seconds':>9s}{'processor':>11s}   {'peak / matrix':>13s}   against {reference}")
    for name, measured in figures.items():
        if name != "save":
            seconds, processor, memory = measured
            print(
                f"{name:32s}{seconds:9.2f}{processor:11.2f}   {memory / matrix_bytes:13.2f}   "
                f"{slow / seconds:,.1f} times as fast"
            )


if __name__ == "__main__":
    main()
