"""What a fitted aligner does to word similarity, to the spectrum and to inner products: several rows a pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp._alignment import Alignment
from fipp.aligners import FIPP, BaseAligner
from fipp.evaluate import SimilarityResult, cross_similarity, load_similarity, similarity_before_after
from fipp.exceptions import FippError
from fipp.io import Vectors
from fipp.reproduce._discover import SimilaritySet
from fipp.reproduce._results import Record

Rows = dict[str, dict[str, float | str | None]]
"""Figures by row, by name."""

_EIGENVALUES = (1, 2, 5, 10, 20, 50, 100, 150, 200, 250, 300)
# Of the largest eigenvalue; below it is rounding of float32, squared.
_RANK_TOLERANCE = 1e-9

_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_BINS = 60
# Four million inner products tell the distribution as well as all.
_WORDS_COMPARED = 2000


@dataclass(frozen=True)
class Fitted:
    """A fitted aligner with what it was fitted on."""

    aligner: BaseAligner
    source: Vectors
    target: Vectors
    pairs: NDArray[np.int64]


def word_similarity(fitted: Fitted, sets: tuple[SimilaritySet, ...], pair: str) -> Record:
    """Correlate cosines with human scores, before and after alignment within a language, after it across two."""
    alignment = Alignment(fitted.aligner, fitted.source, fitted.target)
    rows: Rows = {}
    for known in sets:
        try:
            rows[f"{'-'.join(known.languages)} {known.name}"] = _agreement(alignment, known, pair)
        except FippError:  # no pair of words was found
            continue
    return {"rows": _in_order(rows)}


def _agreement(alignment: Alignment, known: SimilaritySet, pair: str) -> dict[str, float | str | None]:
    items = load_similarity(known.path)
    if len(known.languages) == 2:
        across = cross_similarity(alignment, items)
        return {"before": None, "after": across.spearman, "pairs": _found(across)}
    side = "source" if known.languages[0] == pair.split("-")[0] else "target"
    before, after = similarity_before_after(alignment, items, side)
    return {"before": before.spearman, "after": after.spearman, "pairs": _found(before)}


def _found(result: SimilarityResult) -> str:
    return f"{result.pairs} of {result.total}"


def gram_spectrum(fitted: Fitted) -> Record:
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
    rows["rank"] = {name: str(_rank(values)) for name, values in spectra.items()}
    return {"rows": _in_order(rows), "spectra": {name: _rounded(values) for name, values in spectra.items()}}


def _spectrum(X: NDArray[np.float32]) -> NDArray[np.float64]:
    # In float64: rounding of the products would hide what the rank is.
    exact = X.astype(np.float64)
    return np.maximum(np.linalg.eigvalsh(exact.T @ exact)[::-1], 0).astype(np.float64)


def _rank(values: NDArray[np.float64]) -> int:
    return int((values > _RANK_TOLERANCE * values.max(initial=0)).sum())


def inner_products(fitted: Fitted) -> Record:
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
        name: _largest_gap(products[name], products[other]) for name, other in compared.items()
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


def _largest_gap(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Return the distance of Kolmogorov and Smirnov: the largest gap between the two distribution functions."""
    first, second = np.sort(first), np.sort(second)
    places = np.concatenate([first, second])
    below = (np.searchsorted(values, places, side="right") / len(values) for values in (first, second))
    return float(np.abs(next(below) - next(below)).max()) if len(places) else 0.0


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
    """Return rows as a list, because the names of an object may come back from JSON in another order."""
    return [[label, figures] for label, figures in rows.items()]


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.6g}") for value in values]
