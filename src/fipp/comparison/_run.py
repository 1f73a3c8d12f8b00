"""Running every method on the same vocabularies and dictionaries, one after the other."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
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
from fipp._version import __version__
from fipp.aligners import METHODS, BaseAligner
from fipp.comparison._measure import Problem, Record, measure, pairs_taken
from fipp.comparison._process import describe, run_apart, stored
from fipp.comparison._result import MethodComparison, MethodScore, Setting
from fipp.evaluate import seed_keys, seen_queries
from fipp.exceptions import FippError, warn
from fipp.io import Lexicon, Lookup, Vectors
from fipp.linalg import Progress, n_threads
from fipp.reproduce._results import appending, read_results

Methods = str | Iterable[str | BaseAligner] | Mapping[str, str | BaseAligner]
Runner = Callable[[str, BaseAligner], Record]


def compare_methods(
    source: VectorsLike,
    target: VectorsLike,
    seed: LexiconLike | None,
    test: LexiconLike,
    methods: Methods = "all",
    *,
    level: float = 0.95,
    apart: bool = True,
    timeout: float | None = None,
    keep: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    finished: Callable[[MethodScore], object] | None = None,
) -> MethodComparison:
    """Align with every method and put their scores, seconds and memory side by side.

    Parameters
    ----------
    source, target : Vectors or path
        The two vocabularies.
    seed : Lexicon, path or iterable of (str, str), or None
        What supervised methods learn from; the others do not see it.
    test : Lexicon, path or iterable of (str, str)
        What all are scored on.
    methods : "all", iterable of str or aligners, or dict, default="all"
        Names in ``fipp.aligners.METHODS``, or aligners with their settings; a dict gives them names for the table.
    level : float, default=0.95
        Of the bootstrap intervals.
    apart : bool, default=True
        Run each method in a process of its own, with as many threads as this one may use. Only so can its memory be
        told. Aligners of classes that are not fipp's run in this process always.
    timeout : float, optional
        Seconds after which a method in its own process is stopped.
    keep : path, optional
        A file of JSON lines: what it holds is not run again, what is run is added to it at once.
    progress : callable, optional
        Called as ``progress(done, total)`` before the first and after each method.
    finished : callable, optional
        Called with the `MethodScore` of each method when it is there.

    Returns
    -------
    MethodComparison
        In the order of ``methods``. A method that could not run is in it with the reason.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> compared = fipp.compare_methods(
    ...     demo.source, demo.target, demo.seed, demo.test, ["procrustes", "fipp"], apart=False
    ... )
    >>> compared.best("csls").name
    'fipp'
    >>> [score.name for score in compared.scores if score.error]
    []
    """
    aligners = as_methods(methods)
    source, target = as_vectors(source), as_vectors(target)
    setting, problem = _set_up(source, target, seed, as_lexicon(test), aligners, level)
    records = read_results(Path(keep)) if keep is not None else {}
    advance = progress or (lambda done, total: None)
    scores: list[MethodScore] = []
    with appending(None if keep is None else Path(keep)) as write, _runner(problem, apart, timeout) as run:
        for name, aligner in aligners.items():
            advance(len(scores), len(aligners))
            key = _key(name, aligner, problem, setting)
            if key not in records:
                records[key] = {"key": key, "method": name, **run(name, aligner)}
                write(records[key])
            scores.append(MethodScore.of(name, aligner, records[key], setting))
            if finished is not None:
                finished(scores[-1])
        advance(len(scores), len(aligners))
    return MethodComparison(tuple(scores), setting)


def as_methods(methods: Methods) -> dict[str, BaseAligner]:
    """Return aligners by name; refuse now what is no method.

    Examples
    --------
    >>> from fipp import FIPP
    >>> as_methods(["procrustes", FIPP(epsilon=0.2)])
    {'procrustes': Procrustes(), 'FIPP(epsilon=0.2)': FIPP(epsilon=0.2)}
    """
    if isinstance(methods, str):
        methods = METHODS if methods == "all" else [methods]
    if isinstance(methods, Mapping):
        chosen = {name: make_aligner(method, {}) for name, method in methods.items()}
    else:
        chosen = {}
        for method in methods:
            aligner = make_aligner(method, {})
            chosen[method if isinstance(method, str) else " ".join(repr(aligner).split())] = aligner
    if not chosen:
        raise FippError("no method is given; 'all' takes every one")
    return chosen


def _set_up(
    source: Vectors,
    target: Vectors,
    seed: LexiconLike | None,
    test: Lexicon,
    aligners: Mapping[str, BaseAligner],
    level: float,
) -> tuple[Setting, Problem]:
    """Look everything up once, for all methods."""
    taken = {pairs_taken(aligner) for aligner in aligners.values()}
    lookups: dict[str, Lookup] = {}
    if seed is not None and "seed" in taken:
        lookups["seed"] = found_pairs(as_lexicon(seed), source, target)
    if "identical words" in taken:
        lookups["identical words"] = Lexicon.identical(source, target).lookup(source, target)
    if "words spelled alike" in taken:
        lookups["words spelled alike"] = words_spelled_alike(source, target).lookup(source, target)
    found = found_pairs(test, source, target)
    known = lookups["seed"].rows if "seed" in lookups else found.rows[:0]
    seen = seen_queries(seed_keys(source, target, known), source, target, found.rows)
    asked = np.unique(found.rows[:, 0])
    setting = Setting(
        dimensions=(source.dim, target.dim),
        words=(len(source), len(target)),
        seed={kind: (lookup.found, lookup.total) for kind, lookup in lookups.items()},
        queries=asked,
        query_words=tuple(source.words[row] for row in asked),
        total=len({word for word, _ in test}),
        level=level,
        threads=n_threads(),
        checksums=(source.checksum, target.checksum),
        seen=seen,
    )
    if seen.pairs.any():
        warn(
            f"{seen.pairs.sum():,} of the {len(asked):,} test words had the same translation in the seed: the "
            "comparison as JSON has the scores without them under 'unseen'"
        )
    pairs = {kind: lookup.rows for kind, lookup in lookups.items() if lookup.found}
    return setting, Problem(source.matrix, target.matrix, pairs, found.rows)


@contextmanager
def _runner(problem: Problem, apart: bool, timeout: float | None) -> Iterator[Runner]:
    def here(name: str, aligner: BaseAligner) -> Record:
        return measure(clone(aligner), problem, with_memory=False)

    if not apart:
        yield here
        return
    with stored(problem) as folder:

        def there(name: str, aligner: BaseAligner) -> Record:
            description = describe(name, aligner)
            return here(name, aligner) if description is None else run_apart(description, folder, timeout)

        yield there


def _key(name: str, aligner: BaseAligner, problem: Problem, setting: Setting) -> str:
    """Name a result by all that it depends on."""
    digest = hashlib.sha256()
    known: dict[str, Any] = {
        "version": __version__,
        "name": name,
        "aligner": type(aligner).__name__,
        "settings": {setting: repr(value) for setting, value in aligner.get_params(deep=False).items()},
        "vectors": setting.checksums,
        "total": setting.total,
    }
    digest.update(json.dumps(known, sort_keys=True).encode())
    for rows in (problem.pairs.get(pairs_taken(aligner)), problem.test):
        digest.update(b"none" if rows is None else np.ascontiguousarray(rows, dtype=np.int64).tobytes())
    return digest.hexdigest()[:32]
