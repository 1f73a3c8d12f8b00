"""Speed beside other tools: scikit-learn, gensim, POT, faiss, polars and others, in turn on the same data.

For each work, its floor, fipp and the other tools are timed one after the other in one process, after a small run of
each, which imports what is needed; the best of several rounds counts. The floor is the least that the work could take:
its matrix products alone, or reading the bytes. Compare processor seconds, which cover all threads and which other work
on the machine hardly changes.
"""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from importlib.util import find_spec

import fit
import load
import numpy as np
from _benchmark import Benchmark, in_new_process
from _tables import table

import retrieve
from fipp import CCA, FIPP, PLS, Alignment, GromovWasserstein, Procrustes, Ridge, Vectors
from fipp.linalg import n_threads, unit_rows

FLOOR = "floor: "
OURS = "fipp"
ROUNDS = 3
LONG = 5.0
"""What takes more processor seconds than this is not repeated."""
DIMENSIONS = 300
PENALTIES = np.logspace(-2, 4, 13)
"""As many as fipp's `Ridge` compares."""
QUERIES = 300
POT_TOLERANCE = 1e-7
"""With which POT ends at a distance as good as fipp's; it compares couplings, and fipp what follows from them."""
PEERS = {"scikit-learn": "sklearn", "gensim": "gensim", "POT": "ot", "faiss-cpu": "faiss", "polars": "polars"}


def loading(rows):
    path = load.vector_file(rows)
    os.environ["FIPP_CACHE"] = str(path.with_name("cache"))
    return {
        FLOOR + "reading the bytes": path.read_bytes,
        OURS: lambda: Vectors.load(path, cache=False),
        "fipp, the second time, from its cache": load.load_fipp(path),
        load.POLARS: load.load_polars(path),
        load.PYARROW: load.load_pyarrow(path),
        load.GENSIM: load.load_gensim(path),
    }


def keyed(letter, matrix):
    """Return the vectors as gensim has them, named by a letter and their row."""
    return Vectors([f"{letter}{row}" for row in range(len(matrix))], matrix).to_gensim()


def word_pairs(rows):
    return [(f"s{row}", f"t{row}") for row in range(rows)]


def rotating(pairs):
    from scipy.linalg import orthogonal_procrustes

    X, Y, rows = fit.synthetic(pairs, DIMENSIONS)
    return {
        FLOOR + "its product": lambda: X.T @ Y,
        f"{OURS}, `Procrustes`": lambda: Procrustes(preprocess=None).fit(X, Y, rows),
        "SciPy `orthogonal_procrustes`": lambda: orthogonal_procrustes(X, Y),
    }


def filtered(pairs):
    X, Y, rows = fit.synthetic(pairs, DIMENSIONS)
    return {FLOOR + "its products": fit.products(X, Y, rows), f"{OURS}, `FIPP`": lambda: FIPP().fit(X, Y, rows)}


def regressing(pairs):
    from gensim.models import TranslationMatrix
    from sklearn import linear_model

    X, Y, rows = fit.synthetic(pairs, DIMENSIONS)
    source, target, words = keyed("s", X), keyed("t", Y), word_pairs(pairs)
    penalised = linear_model.RidgeCV(PENALTIES)
    return {
        FLOOR + "its products": lambda: (X.T @ X, X.T @ Y),
        f"{OURS}, `Ridge`, penalty chosen": lambda: Ridge().fit(X, Y, rows),
        f"{OURS}, `Ridge`, penalty given": lambda: Ridge(0.1).fit(X, Y, rows),
        "scikit-learn `RidgeCV`, penalty chosen": lambda: penalised.fit(X, Y),
        "scikit-learn `Ridge`, penalty given": lambda: linear_model.Ridge(0.1).fit(X, Y),
        "gensim `TranslationMatrix`, no penalty": lambda: TranslationMatrix(source, target, words),
    }


def correlating(pairs, dimensions=50):
    from sklearn import cross_decomposition

    X, Y, rows = fit.synthetic(pairs, dimensions)
    peer = cross_decomposition.CCA(dimensions, scale=False, max_iter=2000)
    return {
        FLOOR + "its products": lambda: (X.T @ X, X.T @ Y, Y.T @ Y),
        f"{OURS}, `CCA`": lambda: CCA().fit(X, Y, rows),
        "scikit-learn `CCA`": lambda: peer.fit(X, Y),
    }


def least_squares(pairs):
    from sklearn.cross_decomposition import PLSSVD

    X, Y, rows = fit.synthetic(pairs, DIMENSIONS)
    peer = PLSSVD(min(pairs, DIMENSIONS), scale=False)
    return {
        FLOOR + "its product": lambda: X.T @ Y,
        f"{OURS}, `PLS`": lambda: PLS().fit(X, Y, rows),
        "scikit-learn `PLSSVD`": lambda: peer.fit(X, Y),
    }


def mapping(rows):
    from sklearn import linear_model

    X, Y, pairs = fit.synthetic(rows, DIMENSIONS)
    ours, peer = Ridge(0.1).fit(X, Y, pairs[:1000]), linear_model.Ridge(0.1).fit(X[:1000], Y[:1000])
    return {
        FLOOR + "its product": lambda: X @ ours.map_,
        f"{OURS}, `transform`": lambda: ours.transform(X),
        "scikit-learn `Ridge.predict`": lambda: peer.predict(X),
    }


def searching(rows):
    from sklearn.neighbors import NearestNeighbors

    X, Y = map(unit_rows, fit.synthetic(rows, DIMENSIONS)[:2])
    peer = NearestNeighbors(n_neighbors=retrieve.K, algorithm="brute", metric="cosine").fit(Y)
    return {
        FLOOR + "the product": lambda: retrieve.product(X, Y),
        OURS: lambda: retrieve.ours(X, Y),
        "faiss `IndexFlatIP`": lambda: retrieve.faiss_flat(X, Y),
        "scikit-learn `NearestNeighbors`": lambda: peer.kneighbors(X, return_distance=False),
        "numpy, in blocks": lambda: retrieve.numpy_loop(X, Y),
    }


def searching_csls(rows):
    X, Y = map(unit_rows, fit.synthetic(rows, DIMENSIONS)[:2])
    return {
        FLOOR + "the product": lambda: retrieve.product(X, Y),
        OURS: lambda: retrieve.ours_csls(X, Y),
        "faiss for the means, numpy": lambda: retrieve.faiss_csls(X, Y),
        "numpy, two passes": lambda: retrieve.numpy_csls(X, Y),
    }


def translating(rows):
    from gensim.models import TranslationMatrix

    X, Y, pairs = fit.synthetic(rows, DIMENSIONS)
    source, target = keyed("s", X), keyed("t", Y)
    aligner = Procrustes().fit(X, Y, pairs[:1000])
    ours = Alignment(aligner, Vectors.from_gensim(source), Vectors.from_gensim(target))
    peer = TranslationMatrix(source, target, word_pairs(min(rows, 1000)))
    words = source.index_to_key[: min(rows, QUERIES)]
    return {
        FLOOR + "the product": lambda: X[: len(words)] @ Y.T,
        f"{OURS}, `Alignment.translate_all`": lambda: ours.translate_all(words, k=retrieve.K),
        "gensim `TranslationMatrix.translate`": lambda: peer.translate(
            words, retrieve.K, source_lang_vec=source, target_lang_vec=target
        ),
    }


def coupling(words):
    import ot

    X, Y = (unit_rows(each).astype(np.float64) for each in fit.synthetic(words, DIMENSIONS)[:2])
    ours = GromovWasserstein(words, preprocess=None)
    return {
        FLOOR + "the products of one step": lambda: X @ (X.T @ Y) @ Y.T,
        f"{OURS}, `GromovWasserstein`": lambda: ours.fit(X, Y),
        "POT `entropic_gromov_wasserstein`": lambda: ot.gromov.entropic_gromov_wasserstein(
            X @ X.T, Y @ Y.T, epsilon=ours.entropy, max_iter=ours.n_iterations, tol=POT_TOLERANCE, warn=False
        ),
    }


WORKS = {
    "loading text": (loading, 15_000, "{} rows of 300 numbers in word2vec's text format"),
    "mapping vectors": (mapping, 50_000, "{} vectors of 300 dimensions to 300"),
    "rotation": (rotating, 5_000, "{} pairs of 300 dimensions"),
    "FIPP": (filtered, 5_000, "{} pairs of 300 dimensions"),
    "regression": (regressing, 5_000, "{} pairs of 300 dimensions"),
    "PLS": (least_squares, 5_000, "{} pairs of 300 dimensions, 300 components"),
    "CCA": (correlating, 2_000, "{} pairs of 50 dimensions, 50 components"),
    "neighbours by cosine": (searching, 10_000, "10 of {0} vectors for each of {0}, 300 dimensions"),
    "neighbours by CSLS": (searching_csls, 10_000, "10 of {0} vectors for each of {0}, 300 dimensions"),
    "translating words": (translating, 10_000, f"10 of {{}} words for each of {QUERIES}, 300 dimensions"),
    "Gromov-Wasserstein": (coupling, 1_000, "{0} words with {0}, 300 dimensions"),
}
"""By name: a function that returns the contenders for a size, that size, and its description."""
SMALL = 400
"""The size of the run before the measurement."""


def obstacle():
    missing = [name for name, module in PEERS.items() if not find_spec(module)]
    return f"because {missing[0]} is not installed: pip install {missing[0]}" if missing else None


def measure(work):
    seconds = in_new_process(_measure_here, work)
    return {"processor": seconds, "threads": n_threads(), "machine": machine(), "versions": versions()}


def _measure_here(work):
    prepare, size, _ = WORKS[work]
    for run in prepare(SMALL).values():
        run()
    contenders = prepare(size)
    best = {}
    for _ in range(ROUNDS):
        for way, run in contenders.items():
            if best.get(way, 0) < LONG:
                best[way] = min(fit.seconds_of(run), best.get(way, np.inf))
    return best


def machine():
    """Return the processor, its cores and the system."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{models[0]}, {len(models)} cores, {platform.system()} {platform.machine()}"


def versions():
    names = ("numpy", "scipy", *PEERS, "pyarrow")
    return {"Python": platform.python_version(), **{name: version(name) for name in names}}


benchmark = Benchmark("bench", [{"work": work} for work in WORKS], measure, minutes=4, obstacle=obstacle)


def speed_table():
    """Return the processor seconds of all works, in floors and relative to fipp."""
    rows = []
    for record in benchmark.records:
        _, size, text = WORKS[record["work"]]
        label = f"**{record['work']}**: {text.format(f'{size:,}')}"
        floor = next(iter(record["processor"].values()))
        ours = next(value for way, value in record["processor"].items() if way.startswith(OURS))
        for way, seconds in record["processor"].items():
            rows.append([label, way, f"{seconds:.2g}", _times(seconds / floor), _times(seconds / ours)])
            label = "″"
    return table(["work", "", "processor seconds", "in floors", "relative to fipp"], rows)


def _times(ratio):
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.2g}"


def conditions():
    """Return the machine and the versions of the records."""
    told = {
        (
            record["machine"],
            record["threads"],
            record["date"],
            ", ".join(f"{name} {number}" for name, number in record["versions"].items()),
        )
        for record in benchmark.records
    }
    return "; ".join(
        f"{machine}; {'one thread' if threads == 1 else f'{threads} threads'}; {versions}; measured on {date}"
        for machine, threads, date, versions in sorted(told)
    )


if __name__ == "__main__":
    try:
        benchmark.main()
    finally:
        print(speed_table())
        print(conditions())
