"""The methods of the paper, and its tables.

``tables.tsv`` lists the columns of the tables: method, result, and the paper's figure beside it. The paper's VecMap,
MUSE and ICP have no seed; its CCA is that of the XLING comparison, which does not whiten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.cross_decomposition import CCA

from fipp._progress import Progress
from fipp.aligners import BaseAligner
from fipp.reproduce._paper import read_tsv

BLI, SIMILARITY, SPECTRUM, INNER_PRODUCTS = "bli", "similarity", "spectrum", "inner products"
"""What can be measured."""

SCIKIT_CCA = "cca-scikit"
"""A method that fipp does not offer, because its own CCA is better and thousands of times as fast."""

REDUCED = (250, 200)
"""Dimensions to which the source is reduced in section 5.2 of the paper."""

# With scikit-learn's 500, a fifth of 300 components have not converged.
_MAX_ITER = 5000


@dataclass(frozen=True)
class Variant:
    """A method with the settings that differ from its defaults.

    ``dimensions``: reduce the source to this many principal components first. ``tune``: choose the settings on held-out
    seed pairs, as the paper did. ``authors``: use the ε and λ that the authors' code lists for the pair; pairs that it
    does not list are left out.
    """

    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    dimensions: int | None = None
    tune: bool = False
    authors: bool = False


# Either FIPP, and what is changed in it to measure one of its parts.
_BOTH = ("fipp-published", "fipp")
_CHANGED: dict[str, Mapping[str, Any]] = {
    "": {},
    "-sl": {"self_learning": 14000},
    "-no-ip": {"preprocess": "unit"},
    "-no-filter": {"epsilon": None},
    "-no-weights": {"weighting": None},
    "-iterative": {"preprocess": "iterative"},
    **{f"-{rounds}-rounds": {"n_rounds": rounds} for rounds in range(2, 6)},
}
_SMALLEST = min(REDUCED)

VARIANTS: dict[str, Variant] = {
    "procrustes": Variant("procrustes"),
    "procrustes-isotropic": Variant("procrustes", {"preprocess": "isotropic"}),
    "procrustes-iterative": Variant("procrustes", {"preprocess": "iterative"}),
    **{base + change: Variant(base, settings) for base in _BOTH for change, settings in _CHANGED.items()},
    "fipp-tuned": Variant("fipp", tune=True),
    "fipp-authors": Variant("fipp-published", authors=True),
    # The other solvers on the same objective.
    **{f"fipp-published-{solver}": Variant("fipp-published", {"solver": solver}) for solver in ("linear", "sgd")},
    # The other methods of tables 1 and 2, and GWA of the tables after them.
    **{name: Variant(name) for name in ("proc-b", "dlv", "rcsls", "muse-adversarial", "icp", "gwa", "cca-rotation")},
    # With its 20,000 words it would take hours.
    "vecmap-4000": Variant("vecmap-unsupervised", {"max_words": 4000}),
    **{name: Variant(name) for name in ("cca", SCIKIT_CCA)},
    **{
        f"{method}-{d}": Variant(method, {}, d) for method in ("procrustes", "cca", SCIKIT_CCA, *_BOTH) for d in REDUCED
    },
    f"procrustes-isotropic-{_SMALLEST}": Variant("procrustes", {"preprocess": "isotropic"}, _SMALLEST),
    f"rcsls-{_SMALLEST}": Variant("rcsls", {}, _SMALLEST),
}
"""The methods of the paper by name. Every other aligner of fipp goes by its own name."""


@dataclass(frozen=True)
class Column:
    """A column of a table: a result of a method, and the paper's figure to show beside it."""

    label: str
    variant: str
    paper: str | None = None
    retrieval: str = "cosine"
    value: str = "test.map"
    averaged: bool = True  # whether the mean over the pairs is meaningful


@dataclass(frozen=True)
class TableSpec:
    """A table of the paper. What it measures has one row per pair, or several, which ``rows`` names."""

    title: str
    columns: tuple[Column, ...] = ()
    digits: int = 3
    measure: str = BLI
    rows: str = ""


def with_others(name: str, spec: TableSpec, others: list[str]) -> TableSpec:
    """Add columns for methods that the paper does not have to the tables that compare methods."""
    added = [Column(other, other) for other in others]
    if name == "retrieval":
        added = [
            replace(column, label=f"{column.label} + {label}", retrieval=retrieval)
            for column in added
            for label, retrieval in (("NN", "cosine"), ("CSLS", "csls"))
        ]
    elif name == "times":
        added = [replace(column, value="fit_seconds") for column in added]
    elif name != "methods":
        return spec
    return replace(spec, columns=(*spec.columns, *added))


def _columns(table: str) -> tuple[Column, ...]:
    return tuple(
        Column(
            row["label"],
            row["variant"],
            row["paper"] or None,
            row["retrieval"] or "cosine",
            row["value"],
            row["averaged"] != "no",
        )
        for row in read_tsv("tables.tsv")
        if row["table"] == table
    )


_SPECS = {
    "main": TableSpec("Mean average precision"),
    "methods": TableSpec("Mean average precision of the other methods of the paper"),
    "tuning": TableSpec("ε and λ as they are by default, and chosen on held-out seed pairs"),
    "ablation": TableSpec(
        "Ablation: without isotropic preprocessing (IP), inner product filter (IPF), weights of the rotation (WP)"
    ),
    "preprocessing": TableSpec("Iterative normalisation (IN) against isotropic preprocessing (IP)"),
    "rotation": TableSpec("Plain (P) against weighted (WP) rotation"),
    "retrieval": TableSpec("Nearest neighbours (NN) against CSLS"),
    "rounds": TableSpec("Repeated rounds of FIPP"),
    "learned": TableSpec("The most similar pairs that self-learning adds, with their similarities"),
    "dimensions": TableSpec("The source reduced by principal components"),
    "spectrum": TableSpec(
        f"Eigenvalues of the Gram matrix of the seed words, source of {min(REDUCED)} dimensions at most",
        measure=SPECTRUM,
        rows="eigenvalue",
    ),
    "deviation": TableSpec(
        "Deviation of FIPP from the nearest rotation, with the authors' ε and λ and with the defaults"
    ),
    "filtered": TableSpec("Least and most filtered pairs of words"),
    "similarity": TableSpec(
        "Word similarity before and after alignment, Spearman's correlation", measure=SIMILARITY, rows="set"
    ),
    "sgd": TableSpec(
        "FIPP (published) by low rank, by descent (SGD) and by the linear solver: objective, MAP, and distances from "
        "the low-rank solution"
    ),
    "products": TableSpec(
        "Inner products of seed words without preprocessing, with isotropic preprocessing (IP), and aligned",
        measure=INNER_PRODUCTS,
        rows="of all",
    ),
    "times": TableSpec("Seconds to fit", digits=2),
}
TABLES = {name: replace(spec, columns=_columns(name)) for name, spec in _SPECS.items()}
"""The tables of the paper by name."""


class ScikitCCA(BaseAligner):
    """The CCA of section 5.2: scikit-learn's iterative one, all components, of vectors of unit length."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    preprocess = "unit"

    def _fit_seed(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> None:
        d1, d2 = X_s.shape[1], X_t.shape[1]
        cca = CCA(min(len(X_s), d1, d2), max_iter=_MAX_ITER).fit(X_s.astype(np.float64), X_t.astype(np.float64))
        # An affine map is determined by the images of zero and of the unit vectors.
        origins = cca.transform(np.zeros((1, d1)), np.zeros((1, d2)))
        units = cca.transform(np.eye(d1), np.eye(d2))
        self.offset_, self.target_offset_ = (origin[0].astype(np.float32) for origin in origins)
        self.map_, self.target_map_ = (
            (unit - origin).astype(np.float32) for unit, origin in zip(units, origins, strict=True)
        )
