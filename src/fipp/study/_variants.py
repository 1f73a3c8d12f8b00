"""The methods of the study by name: an aligner, its settings, and what is done to the source before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fipp.aligners import METHODS

REDUCED = (250, 200)
"""Dimensions to which the source is reduced in the paper's section 5.2."""


@dataclass(frozen=True)
class Variant:
    """A method with its settings.

    Attributes
    ----------
    method : str
        A name in `fipp.aligners.METHODS`.
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


_PUBLISHED = {"solver": "eigen", "rank": "target"}
_SMALLEST = min(REDUCED)

VARIANTS: dict[str, Variant] = {
    "procrustes": Variant("procrustes"),
    "procrustes-isotropic": Variant("procrustes", {"preprocess": "isotropic"}),
    "procrustes-iterative": Variant("procrustes", {"preprocess": "iterative"}),
    "fipp": Variant("fipp"),
    "fipp-tuned": Variant("fipp", tune=True),
    # Appendix C as published, and with both words of a pair each other's best, which far fewer are.
    "fipp-sl": Variant("fipp", {"self_learning": 14000, "mutual": False}),
    "fipp-sl-mutual": Variant("fipp", {"self_learning": 14000}),
    "fipp-no-ip": Variant("fipp", {"preprocess": "unit"}),
    "fipp-no-filter": Variant("fipp", {"epsilon": None}),
    "fipp-no-weights": Variant("fipp", {"weighting": None}),
    "fipp-iterative": Variant("fipp", {"preprocess": "iterative"}),
    **{f"fipp-{rounds}-rounds": Variant("fipp", {"n_rounds": rounds}) for rounds in range(2, 6)},
    **{
        f"{method}-{d}": Variant(method, {}, d)
        for method in ("procrustes", "cca", "fipp")
        if method in METHODS
        for d in REDUCED
    },
    "fipp-eigen": Variant("fipp", _PUBLISHED),
    "fipp-authors": Variant("fipp", _PUBLISHED, authors=True),
    f"procrustes-isotropic-{_SMALLEST}": Variant("procrustes", {"preprocess": "isotropic"}, _SMALLEST),
    f"fipp-eigen-{_SMALLEST}": Variant("fipp", _PUBLISHED, _SMALLEST),
    "fipp-sgd": Variant("fipp", {"solver": "sgd", "rank": "target"}),
}
"""The methods of the study by name; every other aligner of fipp can be asked for by its own name."""
