"""The methods of the study by name: an aligner, its settings, and what is done to the source before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCIKIT_CCA = "cca-scikit"
"""A method that fipp does not offer, because its own CCA is better and thousands of times as fast."""

REDUCED = (250, 200)
"""Dimensions to which the source is reduced in the paper's section 5.2."""


@dataclass(frozen=True)
class Variant:
    """A method with its settings.

    Attributes
    ----------
    method : str
        A name in `fipp.aligners.METHODS`, or `SCIKIT_CCA`.
    settings : dict
        What it has other than the defaults.
    dimensions : int, optional
        Reduce the source by principal components first.
    tune : bool
        Choose its settings on held-out seed pairs, as the paper did.
    authors : bool
        Take ε and λ that the authors' code lists for the pair; a pair that it does not list is left out.
    """

    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    dimensions: int | None = None
    tune: bool = False
    authors: bool = False


# Either FIPP, and what is changed about it to measure a part.
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
    # The others of tables 1 and 2, and GWA of the tables after them.
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
"""The methods of the study by name; every other aligner of fipp can be asked for by its own name."""
