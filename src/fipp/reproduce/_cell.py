"""One cell of the study: reading its vectors, fitting its method, measuring what the table shows."""

from __future__ import annotations

import time
import warnings
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from fipp._alignment import Alignment
from fipp._inputs import make_aligner
from fipp._version import __version__
from fipp.aligners import FIPP, BaseAligner
from fipp.exceptions import FippError, FippWarning
from fipp.io import Vectors
from fipp.linalg import deviation_from_orthogonal, mean_and_scatter, single_threaded_blas
from fipp.reproduce._measures import Fitted, gram_spectrum, inner_products, word_similarity
from fipp.reproduce._plan import Cell
from fipp.reproduce._results import Record
from fipp.reproduce._scikit_cca import ScikitCCA
from fipp.reproduce._specs import BLI, INNER_PRODUCTS, SIMILARITY, SPECTRUM
from fipp.reproduce._variants import SCIKIT_CCA
from fipp.selection import select

_WORDS_SHOWN = 5
_LEARNED_SHOWN = 10
_LOSSES_KEPT = 50


def run_cell(key: str, cell: Cell) -> Record:
    """Fit and score one cell; whatever fails is told in the record, so that it costs one cell and not the study."""
    record: Record = {"key": key, **cell.as_dict(), "version": __version__}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FippWarning)
        try:
            record |= _measure(cell)
        except FippError as error:
            record["error"] = str(error)
        except Exception as error:  # a method's own, such as a decomposition that does not converge
            record["error"] = f"{type(error).__name__}: {error}"
    remarks = [str(remark.message) for remark in caught if issubclass(remark.category, FippWarning)]
    return record | ({"warnings": list(dict.fromkeys(remarks))} if remarks else {})


def _measure(cell: Cell) -> Record:
    source, target = _load(cell.source, cell.limit, cell.dimensions), _load(cell.target, cell.limit, None)
    sides = {
        side: {"name": path.name, "words": len(vectors), "dimensions": vectors.dim}
        for side, path, vectors in (("source", cell.source, source), ("target", cell.target, target))
    }
    if cell.measure == BLI and cell.dimensions is not None and source.dim < cell.dimensions:
        return sides | {"skipped": f"the source has {source.dim} dimensions, not {cell.dimensions} or more"}
    lookup = cell.train.load().lookup(source, target).require()
    start = time.perf_counter()
    aligner, chosen = _fit(cell, source, target, lookup.rows)
    seconds = time.perf_counter() - start
    fitted = Fitted(aligner, source, target, lookup.rows)
    seed = {"used": len(lookup.rows), "total": lookup.total, "coverage": lookup.coverage}
    return sides | {"seed": seed, "fit_seconds": seconds} | chosen | _measured(cell, fitted)


def _fit(cell: Cell, source: Vectors, target: Vectors, pairs: NDArray[np.int64]) -> tuple[BaseAligner, Record]:
    if not cell.tune:
        method = ScikitCCA() if cell.method == SCIKIT_CCA else cell.method
        return make_aligner(method, cell.settings).fit(source.matrix, target.matrix, pairs), {}
    selection = select(source.matrix, target.matrix, pairs, cell.method, **cell.settings)
    assert selection.aligner is not None
    return selection.aligner, {"chosen": selection.best_params, "held_out_mrr": selection.best.mrr}


def _measured(cell: Cell, fitted: Fitted) -> Record:
    if cell.measure == SIMILARITY:
        return word_similarity(fitted, cell.similarity, cell.pair)
    if cell.measure == SPECTRUM:
        return gram_spectrum(fitted)
    if cell.measure == INNER_PRODUCTS:
        return inner_products(fitted)
    start = time.perf_counter()
    alignment = Alignment(fitted.aligner, fitted.source, fitted.target)
    result = alignment.evaluate(cell.test.load(), retrieval=cell.retrieval)
    seconds = time.perf_counter() - start
    return {"test": result.as_dict(), "fitted": _describe(fitted), "evaluate_seconds": seconds}


def _describe(fitted: Fitted) -> Record:
    aligner: Any = fitted.aligner
    described: Record = {"pairs": len(aligner.pairs_), "induced_pairs": len(aligner.induced_pairs_)}
    if not isinstance(aligner, FIPP):
        return described
    order = np.argsort(-aligner.kept_per_pair_, kind="stable")
    pairs = np.concatenate([aligner.pairs_, aligner.induced_pairs_])
    words = [[fitted.source.words[i], fitted.target.words[j]] for i, j in pairs[order]]
    described |= {
        "kept_fraction": float(aligner.kept_fraction_),
        "deviation": float(aligner.deviation_),
        "least_filtered": words[:_WORDS_SHOWN],
        "most_filtered": words[: -_WORDS_SHOWN - 1 : -1],
    }
    if aligner.self_learning:
        best = zip(aligner.induced_pairs_, aligner.induced_similarity_, strict=True)
        described["learned"] = [
            [fitted.source.words[i], fitted.target.words[j], round(float(similarity), 4)]
            for (i, j), similarity in islice(best, _LEARNED_SHOWN)
        ]
    else:  # with ten times the pairs it would take longer than the fit
        described["objective"] = float(aligner.objective_.total)
    if aligner.solver == "sgd":
        described |= _beside_low_rank(aligner, fitted)
    return described


def _beside_low_rank(descended: FIPP, fitted: Fitted) -> Record:
    """Compare the descent with the low-rank solution, up to a rotation (appendix F)."""
    low_rank = FIPP(**{**descended.get_params(), "solver": "eigen"})
    low_rank.fit(fitted.source.matrix, fitted.target.matrix, fitted.pairs)
    X_s, _, solution = low_rank.seed_vectors()
    _, _, aligned = descended.seed_vectors()
    steps = np.unique(np.linspace(0, len(descended.losses_) - 1, _LOSSES_KEPT).astype(int))
    return {
        "from_low_rank": _distance(aligned, solution),
        "source_from_low_rank": _distance(X_s, solution),
        "low_rank_objective": float(low_rank.objective_.total),
        "losses": [[int(step), float(descended.losses_[step])] for step in steps],
    }


def _distance(X: NDArray[np.float32], solution: NDArray[np.float32]) -> float:
    r"""Return \|solution − XΩ\|_F / \|solution\|_F for the best (semi-)orthogonal Ω."""
    return deviation_from_orthogonal(X, solution) * float(np.linalg.norm(X) / np.linalg.norm(solution))


@lru_cache(maxsize=3)
def _load(path: Path, limit: int | None, dimensions: int | None) -> Vectors:
    vectors = Vectors.load(path, limit=limit)
    return vectors if dimensions is None or vectors.dim <= dimensions else reduced(vectors, dimensions)


def reduced(vectors: Vectors, dimensions: int) -> Vectors:
    """Return the vectors in their first principal components."""
    mean, scatter = mean_and_scatter(vectors.matrix, lambda rows: rows.astype(np.float32, copy=False))
    d = vectors.dim
    with single_threaded_blas:
        _, components = scipy.linalg.eigh(scatter, subset_by_index=[d - dimensions, d - 1])
        matrix = (vectors.matrix - mean.astype(np.float32)) @ components[:, ::-1].astype(np.float32)
    return Vectors(vectors.words, matrix)
