"""Every method on the same vocabularies and dictionaries, each in a process of its own."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from fipp._inputs import (
    LexiconLike,
    VectorsLike,
    as_lexicon,
    as_vectors,
    found_pairs,
    make_aligner,
    words_spelled_alike,
)
from fipp._progress import Progress
from fipp._version import __version__
from fipp.aligners import METHODS, BaseAligner
from fipp.evaluate import BLIResult, bli, seed_keys, seen_queries
from fipp.exceptions import FippError, warn
from fipp.experiments._comparison import RETRIEVALS, MethodComparison, MethodScore, Setting
from fipp.experiments._grid import format_value
from fipp.experiments._run import PeakMemory, Record, attempt, result_key, run_cells, run_in_subprocess
from fipp.io import Lexicon, Lookup, Vectors
from fipp.linalg import n_threads

Methods = str | Iterable[str | BaseAligner] | Mapping[str, str | BaseAligner]
Arrays = dict[str, Any]
"""What all methods are given: vocabularies ``"X"`` and ``"Y"``, row numbers ``"test"``, and pairs by their kind."""

# What a method is given to learn from. One that needs no pairs gets none, even if there are some.
_TAKEN = {"pairs": "seed", "identical": "identical words", "spelling": "words spelled alike", "nothing": "none"}


def compare(
    source: VectorsLike,
    target: VectorsLike,
    seed: LexiconLike | None,
    test: LexiconLike,
    methods: Methods = "all",
    *,
    level: float = 0.95,
    in_subprocess: bool = True,
    timeout: float | None = None,
    results_path: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    on_result: Callable[[MethodScore], object] = lambda score: None,
) -> MethodComparison:
    """Align with every method, and return their scores, seconds and memory side by side.

    Parameters
    ----------
    source, target : Vectors or path
        The two vocabularies.
    seed : Lexicon, path or iterable of (str, str), or None
        The pairs that supervised methods learn from; the others do not see them.
    test : Lexicon, path or iterable of (str, str)
        The pairs that all methods are scored on.
    methods : "all", iterable of str or aligners, or dict, default="all"
        Names in ``fipp.aligners.METHODS``, or aligners with their settings; a dict names them in the table.
    level : float, default=0.95
        Level of the bootstrap intervals.
    in_subprocess : bool, default=True
        Run each method in a process of its own, with as many threads as this one may use. Its memory can only be
        measured this way.
    timeout : float, optional
        Seconds after which a method in its own process is stopped.
    results_path : path, optional
        A file of JSON lines. Results that it holds are not measured again; new ones are added at once.
    progress : callable, optional
        Called as ``progress(done, total)`` before the first and after each method.
    on_result : callable, optional
        Called with the `MethodScore` of each method as soon as it is known.

    Returns
    -------
    MethodComparison
        In the order of ``methods``. A method that could not run is included with the reason.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> compared = fipp.compare(
    ...     demo.source, demo.target, demo.seed, demo.test, ["procrustes", "fipp"], in_subprocess=False
    ... )
    >>> compared.best("csls").name
    'fipp'
    >>> [score.name for score in compared.scores if score.error]
    []
    """
    aligners = as_methods(methods)
    source, target = as_vectors(source), as_vectors(target)
    setting, arrays = _set_up(source, target, seed, as_lexicon(test), aligners, level)
    cells = {_key(name, aligner, arrays, setting): (name, aligner) for name, aligner in aligners.items()}

    def score(record: Record) -> MethodScore:
        return _score(*cells[record["key"]], record, setting)

    with tempfile.TemporaryDirectory(prefix="fipp-") as folder:
        path = Path(folder, "arrays.npz")

        def run(cell: tuple[str, BaseAligner]) -> Record:
            name, aligner = cell
            if not in_subprocess:
                return {"method": name, **attempt(_measure, clone(aligner), arrays)}
            if not path.exists():
                np.savez(path, **arrays)
            return {"method": name, **run_in_subprocess(_measure_saved, aligner, path, timeout=timeout)}

        records = run_cells(
            cells, run, results_path=results_path, progress=progress, on_result=lambda record: on_result(score(record))
        )
    return MethodComparison(tuple(score(records[key]) for key in cells), setting)


def as_methods(methods: Methods) -> dict[str, BaseAligner]:
    """Return aligners by name; refuse names that are not methods."""
    if isinstance(methods, str):
        methods = METHODS if methods == "all" else [methods]
    if not isinstance(methods, Mapping):
        methods = {method if isinstance(method, str) else format_value(method): method for method in methods}
    if not methods:
        raise FippError("no method is given; 'all' takes every one")
    return {name: make_aligner(method, {}) for name, method in methods.items()}


def _set_up(
    source: Vectors,
    target: Vectors,
    seed: LexiconLike | None,
    test: Lexicon,
    aligners: Mapping[str, BaseAligner],
    level: float,
) -> tuple[Setting, Arrays]:
    """Look all dictionaries up, once for all methods."""
    taken = {_TAKEN[aligner.learns_from] for aligner in aligners.values()}
    lookups: dict[str, Lookup] = {}
    if seed is not None and "seed" in taken:
        lookups["seed"] = found_pairs(as_lexicon(seed), source, target)
    for kind, guess in (("identical words", Lexicon.identical), ("words spelled alike", words_spelled_alike)):
        if kind in taken:
            lookups[kind] = guess(source, target).lookup(source, target)
    found = found_pairs(test, source, target)
    known = lookups["seed"].rows if "seed" in lookups else found.rows[:0]
    seen = seen_queries(seed_keys(source, target, known), source, target, found.rows)
    queries = np.unique(found.rows[:, 0])
    if seen.pairs.any():
        warn(
            f"{seen.pairs.sum():,} of the {len(queries):,} test words had the same translation in the seed: the "
            "comparison as JSON has the scores without them under 'unseen'"
        )
    setting = Setting(
        dimensions=(source.dim, target.dim),
        words=(len(source), len(target)),
        seed={kind: (lookup.found, lookup.total) for kind, lookup in lookups.items()},
        queries=queries,
        query_words=tuple(source.words[row] for row in queries),
        total=len({word for word, _ in test}),
        level=level,
        threads=n_threads(),
        checksums=(source.checksum, target.checksum),
        seen=seen,
    )
    pairs = {kind: lookup.rows for kind, lookup in lookups.items() if lookup.found}
    return setting, {"X": source.matrix, "Y": target.matrix, "test": found.rows, **pairs}


def _key(name: str, aligner: BaseAligner, arrays: Arrays, setting: Setting) -> str:
    described = {
        "version": __version__,
        "name": name,
        "aligner": type(aligner).__name__,
        "settings": {setting: repr(value) for setting, value in aligner.get_params(deep=False).items()},
        "vectors": setting.checksums,
        "total": setting.total,
    }
    return result_key(described, arrays.get(_TAKEN[aligner.learns_from]), arrays["test"])


def _measure(aligner: BaseAligner, arrays: Arrays, peak: PeakMemory | None = None) -> Record:
    """Return seconds and memory of the fit, and for each retrieval the ranks and average precision of all queries."""
    X, Y, test = (arrays[name] for name in ("X", "Y", "test"))
    taken = _TAKEN[aligner.learns_from]
    pairs = arrays.get(taken)
    if pairs is None and aligner.learns_from in ("pairs", "identical"):
        raise FippError(f"it learns from known pairs ({taken}), and there are none")
    started = time.perf_counter()
    aligner.fit(X, Y, pairs)
    record: Record = {"seconds": time.perf_counter() - started, "memory": peak.growth() if peak else None}
    source, target = aligner.transform(X), aligner.transform_target(Y)
    for retrieval in RETRIEVALS:
        result = bli(source, target, *test.T, retrieval=retrieval)
        assert result.precision is not None  # bli always has it
        record[retrieval] = {"ranks": result.ranks.tolist(), "precision": result.precision.tolist()}
    return record


def _measure_saved(aligner: BaseAligner, path: Path) -> Record:
    # Arrays are read before the memory is measured, so that they do not count.
    with np.load(path) as arrays:
        return _measure(aligner, dict(arrays), PeakMemory())


def _score(name: str, aligner: BaseAligner, record: Record, setting: Setting) -> MethodScore:
    taken = _TAKEN[aligner.learns_from]
    results = {
        retrieval: BLIResult.of_queries(
            np.array(record[retrieval]["precision"]),
            np.array(record[retrieval]["ranks"], dtype=np.int64),
            setting.queries,
            setting.total,
            retrieval,
            words=setting.query_words,
            seen=setting.seen if taken == "seed" else None,
        )
        for retrieval in RETRIEVALS
        if retrieval in record
    }
    return MethodScore(
        name=name,
        aligner=format_value(aligner),
        pairs=taken,
        results=results,
        warnings=tuple(record.get("warnings", ())),
        **{field: record.get(field) for field in ("seconds", "memory", "error")},
    )
