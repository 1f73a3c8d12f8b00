"""The paper (Sachidananda, Yang and Zhu, ICLR 2021): its methods, its tables, and the figures that it printed.

``paper.1k.tsv`` and ``paper.5k.tsv`` hold the tables of the main part and of appendices A, I and J: mean average
precision on XLING with fastText vectors of Wikipedia. Their last row is the mean as printed. For three columns it is
not the mean of the printed rows: FIPP+IN at 1K (0.331, the rows give 0.329), FIPP+P at 1K (0.336, 0.335) and PROC+CSLS
at 5K (0.454, 0.455). ``paper.further.tsv`` holds figures that the paper has for some pairs only. ``paper.settings.tsv``
holds ε and λ of each pair, which the paper does not print: those that the authors' code (vinsachi/FIPPCLE) lists for
FIPP at 5K and for FIPP with self-learning at 1K. ``paper.tasks.tsv`` holds the downstream tasks of section 5.2, from
English: micro-averaged F1 on TED-CLDC and accuracy on XNLI. An asterisk marks "language pairs for which unsupervised
methods were unable to yield successful runs". The mean of DLV on XNLI is printed as 0.571; the rows give 0.580.

``tables.tsv`` lists the columns of the tables: method, result, and the paper's figure beside it. The paper's VecMap,
MUSE and ICP have no seed; its CCA is that of the XLING comparison, which does not whiten.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.cross_decomposition import CCA

from fipp._progress import Progress
from fipp.aligners import BaseAligner

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


def _read_tsv(name: str) -> list[dict[str, str]]:
    """Return the rows of a table in this folder by the names of its columns; empty cells at the end may be left out."""
    text = (files("fipp.reproduce") / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t", restval=""))


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
        for row in _read_tsv("tables.tsv")
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


_SIZES = ("1k", "5k")
# Appendix D.3: English fastText vectors before and after alignment to Turkish, size not said.
_SIMILARITY = {
    "ws353": (0.739, 0.736),
    "wordsim": (0.739, 0.736),
    "mturk771": (0.669, 0.670),
    "semeval17": (0.722, 0.722),
    "semeval2017": (0.722, 0.722),
    "simlex": (0.382, 0.381),
}
# Columns of the downstream tasks by fipp's names. The paper's VecMap and MUSE are those without a dictionary.
_TASK_COLUMNS = {
    "vecmap-unsupervised": "VecMap",
    "muse-adversarial": "MUSE",
    "icp": "ICP",
    "gwa": "GWA",
    "procrustes": "PROC",
    "proc-b": "PROC-B",
    "dlv": "DLV",
    "rcsls": "RCSLS",
    "fipp": "FIPP",
    "fipp-published": "FIPP",
}

Printed = dict[str, dict[str, float | str]]
"""What the paper printed, by pair and column."""


@cache
def printed(size: str) -> Printed:
    """Return what the paper printed for a size of dictionary, by pair and column; ``"mean"`` is one of the pairs."""
    if size not in _SIZES:
        return {}
    figures: Printed = {
        row.pop("pair"): {name: float(value) for name, value in row.items()} for row in _read_tsv(f"paper.{size}.tsv")
    }
    for row in _read_tsv("paper.further.tsv"):
        if row["size"] == size:
            value = row["value"]
            figures[row["pair"]][row["column"]] = value if row["column"] == "learned" else float(value)
    for pair, settings in authors_settings(size).items():
        figures[pair] |= settings
    return figures


@cache
def authors_settings(size: str) -> dict[str, dict[str, float]]:
    """Return ε and λ that the authors' code lists, by pair: of FIPP at 5K, of FIPP with self-learning at 1K."""
    if size not in _SIZES:
        return {}
    return {
        row["pair"]: {name: float(row[f"{size} {name}"]) for name in ("epsilon", "lam")}
        for row in _read_tsv("paper.settings.tsv")
    }


def printed_task(task: str, pair: str, method: str) -> tuple[float, bool] | None:
    """Return the paper's figure for a downstream task and whether it is marked as unsuccessful; None if it has none."""
    source, _, target = pair.partition("-")
    rows = [row for row in _read_tsv("paper.tasks.tsv") if (row["task"], row["language"]) == (task, target)]
    if source != "en" or not rows or method not in _TASK_COLUMNS:
        return None
    figure = rows[0][_TASK_COLUMNS[method]]
    return float(figure.rstrip("*")), figure.endswith("*")


def printed_similarity(language: str, name: str) -> dict[str, float]:
    """Return what the paper printed for a word similarity set, ``"before"`` and after alignment by ``"FIPP"``."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower()).removeprefix(language)
    known = [figures for start, figures in _SIMILARITY.items() if language == "en" and plain.startswith(start)]
    return dict(zip(("before", "FIPP"), known[0], strict=True)) if known else {}


def paper_pairs() -> list[str]:
    """Return the 28 pairs of XLING, in the paper's order and direction."""
    return [pair for pair in printed("1k") if pair != "mean"]
