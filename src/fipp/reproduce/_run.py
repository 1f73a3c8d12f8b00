"""Running the cells of a plan that are not finished: reading vectors, fitting methods, measuring, keeping results."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from fipp._alignment import Alignment
from fipp._inputs import make_aligner
from fipp._progress import Progress
from fipp._version import __version__
from fipp.aligners import FIPP, BaseAligner
from fipp.evaluate import cross_similarity, load_similarity, similarity_before_after
from fipp.exceptions import FippError
from fipp.experiments import Record, attempt, run_cells, tune_arrays
from fipp.io import Vectors
from fipp.linalg import deviation_from_orthogonal, mean_and_scatter, single_threaded_blas
from fipp.reproduce._data import SimilaritySet
from fipp.reproduce._paper import BLI, INNER_PRODUCTS, SCIKIT_CCA, SIMILARITY, SPECTRUM, ScikitCCA
from fipp.reproduce._plan import Cell

Rows = dict[str, dict[str, float | str | None]]
"""Figures by row and name."""

_WORDS_SHOWN = 5
_LEARNED_SHOWN = 10
_LOSSES_KEPT = 50

_EIGENVALUES = (1, 2, 5, 10, 20, 50, 100, 150, 200, 250, 300)
# Relative to the largest eigenvalue; what is smaller is rounding of float32, squared.
_RANK_TOLERANCE = 1e-9

_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_BINS = 60
# Four million inner products show the distribution as well as all.
_WORDS_COMPARED = 2000


def run(
    cells: Sequence[Cell],
    results_path: str | os.PathLike[str] | None = None,
    *,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> dict[str, Record]:
    """Run the cells that are not finished, and return all records by key.

    Parameters
    ----------
    cells : sequence of Cell
        From `make_plan`.
    results_path : path, optional
        A file of JSON lines. Results that it holds are not measured again; new ones are added at once.
    n_jobs : int, default=1
        How many pairs of languages to run at a time, each in a process with one thread. One job uses all threads.
    progress : callable, optional
        Called as ``progress(done, total)`` before the first and after each cell.

    Returns
    -------
    dict
        Records by the key of their cell. One that failed has the reason in ``"error"``, and is tried again next time.
    """
    by_key: dict[str, Cell] = {}
    for cell in cells:
        by_key.setdefault(cell.key, cell)
    return run_cells(
        by_key, run_cell, results_path=results_path, n_jobs=n_jobs, group=lambda cell: cell.pair, progress=progress
    )


def run_cell(cell: Cell) -> Record:
    """Fit and measure one cell; if it fails, the record holds the reason."""
    return {**cell.as_dict(), "version": __version__, **attempt(_run, cell)}


def _run(cell: Cell) -> Record:
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
    seed = {"used": len(lookup.rows), "total": lookup.total, "coverage": lookup.coverage}
    measured = _MEASURES[cell.measure](cell, _Fitted(aligner, source, target, lookup.rows))
    return sides | {"seed": seed, "fit_seconds": seconds} | chosen | measured


def _fit(cell: Cell, source: Vectors, target: Vectors, pairs: NDArray[np.int64]) -> tuple[BaseAligner, Record]:
    if not cell.tune:
        method = ScikitCCA() if cell.method == SCIKIT_CCA else cell.method
        return make_aligner(method, cell.settings).fit(source.matrix, target.matrix, pairs), {}
    tuning = tune_arrays(source.matrix, target.matrix, pairs, cell.method, **cell.settings)
    assert tuning.aligner is not None
    return tuning.aligner, {"chosen": tuning.best_params, "held_out_mrr": tuning.best.mrr}


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


@dataclass(frozen=True)
class _Fitted:
    """A fitted aligner with what it was fitted on."""

    aligner: BaseAligner
    source: Vectors
    target: Vectors
    pairs: NDArray[np.int64]

    @property
    def alignment(self) -> Alignment:
        """The aligner with the words of both sides."""
        return Alignment(self.aligner, self.source, self.target)


def _lexicon_induction(cell: Cell, fitted: _Fitted) -> Record:
    start = time.perf_counter()
    result = fitted.alignment.evaluate(cell.test.load(), retrieval=cell.retrieval)
    seconds = time.perf_counter() - start
    return {"test": result.as_dict(), "fitted": _describe(fitted), "evaluate_seconds": seconds}


def _describe(fitted: _Fitted) -> Record:
    aligner: Any = fitted.aligner
    described: Record = {"pairs": len(aligner.pairs_), "induced_pairs": len(aligner.induced_pairs_)}
    if not isinstance(aligner, FIPP):
        return described
    order = np.argsort(-aligner.kept_per_pair_, kind="stable")
    words = _words(fitted, np.concatenate([aligner.pairs_, aligner.induced_pairs_])[order])
    described |= {
        "kept_fraction": float(aligner.kept_fraction_),
        "deviation": float(aligner.deviation_),
        "least_filtered": words[:_WORDS_SHOWN],
        "most_filtered": words[: -_WORDS_SHOWN - 1 : -1],
    }
    if aligner.self_learning:
        best = _words(fitted, aligner.induced_pairs_[:_LEARNED_SHOWN])
        similarities = aligner.induced_similarity_[:_LEARNED_SHOWN]
        described["learned"] = [[*pair, round(float(s), 4)] for pair, s in zip(best, similarities, strict=True)]
    else:  # with ten times the pairs it would take longer than the fit
        described["objective"] = float(aligner.objective_.total)
    if aligner.solver == "sgd":
        described |= _beside_low_rank(aligner, fitted)
    return described


def _words(fitted: _Fitted, pairs: NDArray[np.int64]) -> list[list[str]]:
    return [[fitted.source.words[i], fitted.target.words[j]] for i, j in pairs]


def _beside_low_rank(descended: FIPP, fitted: _Fitted) -> Record:
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


def _word_similarity(cell: Cell, fitted: _Fitted) -> Record:
    """Correlate cosines with human scores, before and after alignment within a language, after it across two."""
    rows: Rows = {}
    for known in cell.similarity:
        try:
            rows[f"{'-'.join(known.languages)} {known.name}"] = _agreement(fitted.alignment, known, cell.pair)
        except FippError:  # no pair of words was found
            continue
    return {"rows": _in_order(rows)}


def _agreement(alignment: Alignment, known: SimilaritySet, pair: str) -> dict[str, float | str | None]:
    items = load_similarity(known.path)
    if len(known.languages) == 2:
        before, after = None, cross_similarity(alignment, items)
    else:
        side = "source" if known.languages[0] == pair.split("-")[0] else "target"
        before, after = similarity_before_after(alignment, items, side)
    found = f"{after.pairs} of {after.total}"
    return {"before": None if before is None else before.spearman, "after": after.spearman, "pairs": found}


def _gram_spectrum(cell: Cell, fitted: _Fitted) -> Record:
    """Return eigenvalues of the Gram matrices of the seed words: of both sides, as mapped, and X̃_s of FIPP itself."""
    aligner = fitted.aligner
    X, Y = fitted.source.matrix[fitted.pairs[:, 0]], fitted.target.matrix[fitted.pairs[:, 1]]
    spectra = {
        "source": _spectrum(aligner.source_preprocess_.transform(X)),
        "target": _spectrum(aligner.transform_target(Y)),
        "mapped": _spectrum(aligner.transform(X)),
    }
    if isinstance(aligner, FIPP):
        _, _, solution = aligner.seed_vectors()
        spectra["solution"] = _spectrum(solution)
    longest = max(map(len, spectra.values()))
    rows: Rows = {
        str(place): {name: float(values[place - 1]) for name, values in spectra.items() if place <= len(values)}
        for place in _EIGENVALUES
        if place <= longest
    }
    rows["rank"] = {
        name: str(int((values > _RANK_TOLERANCE * values.max(initial=0)).sum())) for name, values in spectra.items()
    }
    return {"rows": _in_order(rows), "spectra": {name: _rounded(values) for name, values in spectra.items()}}


def _spectrum(X: NDArray[np.float32]) -> NDArray[np.float64]:
    # In float64: rounding of the products would hide the rank.
    exact = X.astype(np.float64)
    return np.maximum(np.linalg.eigvalsh(exact.T @ exact)[::-1], 0).astype(np.float64)


def _inner_products(cell: Cell, fitted: _Fitted) -> Record:
    """Describe the inner products of pairs of seed words, before preprocessing, after it, and after alignment."""
    aligner = fitted.aligner
    chosen = np.unique(np.linspace(0, len(fitted.pairs) - 1, _WORDS_COMPARED).astype(np.int64))
    X, Y = (
        vectors.matrix[fitted.pairs[chosen, side]].astype(np.float32)
        for side, vectors in enumerate((fitted.source, fitted.target))
    )
    products = {
        "source": _products(X),
        "target": _products(Y),
        "source preprocessed": _products(aligner.source_preprocess_.transform(X)),
        "target preprocessed": _products(aligner.target_preprocess_.transform(Y)),
        "aligned": _products(aligner.transform(X)),
    }
    rows: Rows = {
        "mean": {name: float(values.mean(dtype=np.float64)) for name, values in products.items()},
        "standard deviation": {name: float(values.std(dtype=np.float64)) for name, values in products.items()},
    }
    quantiles = {name: np.quantile(values, _QUANTILES) for name, values in products.items()}
    for place, share in enumerate(_QUANTILES):
        rows[f"{100 * share:g} %"] = {name: float(values[place]) for name, values in quantiles.items()}
    compared = {"target": "source", "target preprocessed": "source preprocessed", "aligned": "target preprocessed"}
    rows["KS distance of the sides"] = {
        name: float(ks_2samp(products[name], products[other], method="asymp").statistic)
        for name, other in compared.items()
    }
    panels = {
        "before": _histograms({name: products[name] for name in ("source", "target")}),
        "after": _histograms({name: products[name] for name in list(products)[2:]}),
    }
    return {"rows": _in_order(rows), "histograms": panels}


def _products(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the inner products of different rows, each once."""
    rows, columns = np.triu_indices(len(X), 1)
    return (X @ X.T)[rows, columns]


def _histograms(products: Mapping[str, NDArray[np.float32]]) -> dict[str, Any]:
    """Return densities over one range that holds all but the outermost of each."""
    ends = [np.quantile(values, (0.001, 0.999)) for values in products.values()]
    edges = np.linspace(min(low for low, _ in ends), max(high for _, high in ends), _BINS + 1)
    width = edges[1] - edges[0]
    densities = {
        name: _rounded(np.histogram(values, edges)[0] / (len(values) * width or 1)) for name, values in products.items()
    }
    return {"edges": [float(edges[0]), float(edges[-1])], "densities": densities}


def _in_order(rows: Rows) -> list[list[Any]]:
    """Return rows as a list, because an object may come back from JSON in another order."""
    return [[label, figures] for label, figures in rows.items()]


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


_MEASURES = {
    BLI: _lexicon_induction,
    SIMILARITY: _word_similarity,
    SPECTRUM: _gram_spectrum,
    INNER_PRODUCTS: _inner_products,
}
