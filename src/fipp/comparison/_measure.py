"""One method on one pair of vocabularies: fitted, timed, scored. Runs in this process or in one of its own."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp.aligners import BaseAligner
from fipp.comparison._memory import PeakMemory
from fipp.evaluate import bli
from fipp.exceptions import FippError, FippWarning

RETRIEVALS = ("cosine", "csls")

Record = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """What all methods are given.

    Attributes
    ----------
    X, Y : ndarray
        The two vocabularies.
    pairs : dict of str to ndarray
        Row numbers of pairs to learn from: ``"seed"``, if there is one, ``"identical words"``, ``"words spelled
        alike"``.
    test : ndarray of shape (n, 2)
        Row numbers of the test dictionary.
    """

    X: NDArray
    Y: NDArray
    pairs: dict[str, NDArray[np.int64]]
    test: NDArray[np.int64]


_TAKEN = {"pairs": "seed", "identical": "identical words", "spelling": "words spelled alike", "nothing": "none"}


def pairs_taken(aligner: BaseAligner) -> str:
    """Name what a method learns from; one that learns without pairs gets none, also if there are some.

    Examples
    --------
    >>> from fipp import Procrustes
    >>> pairs_taken(Procrustes())
    'seed'
    """
    return _TAKEN[aligner.learns_from]


def measure(aligner: BaseAligner, problem: Problem, *, with_memory: bool) -> Record:
    """Fit and score an aligner; whatever stops it is told in the record.

    Parameters
    ----------
    aligner : aligner
        Not fitted yet.
    problem : Problem
    with_memory : bool
        Whether the growth of this process's memory tells something.

    Returns
    -------
    dict
        ``"seconds"`` and ``"memory"`` of the fit, for each retrieval the ranks and the average precision of all
        queries; or ``"error"``. ``"warnings"`` in either case.
    """
    record: Record = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FippWarning)
        try:
            record |= _measure(aligner, problem, with_memory)
        except Exception as error:  # one method's failure must not cost the others' results
            record["error"] = _reason(error)
    remarks = [str(remark.message) for remark in caught if issubclass(remark.category, FippWarning)]
    return record | {"warnings": list(dict.fromkeys(remarks))}


def _measure(aligner: BaseAligner, problem: Problem, with_memory: bool) -> Record:
    taken = pairs_taken(aligner)
    pairs = problem.pairs.get(taken)
    if pairs is None and aligner.learns_from in ("pairs", "identical"):
        raise FippError(f"it learns from known pairs ({taken}), and there are none")
    peak, started = PeakMemory() if with_memory else None, time.perf_counter()
    aligner.fit(problem.X, problem.Y, pairs)
    record: Record = {"seconds": time.perf_counter() - started, "memory": peak.growth() if peak else None}
    source, target = aligner.transform(problem.X), aligner.transform_target(problem.Y)
    for retrieval in RETRIEVALS:
        result = bli(source, target, *problem.test.T, retrieval=retrieval)
        assert result.precision is not None  # bli always has it
        record[retrieval] = {"ranks": result.ranks.tolist(), "precision": result.precision.tolist()}
    return record


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, FippError) and text else f"{type(error).__name__}: {text}"
