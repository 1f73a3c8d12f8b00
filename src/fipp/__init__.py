"""fipp brings two embedding spaces together from a few known pairs, and tells you how well it worked."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fipp._version import __version__

if TYPE_CHECKING:
    from fipp import aligners, datasets, evaluate, io, linalg, preprocess, report, retrieve, selection, study
    from fipp._alignment import Alignment, Translation, align
    from fipp.aligners import CCA, FIPP, PLS, LowRank, Procrustes, Ridge, VecMap
    from fipp.evaluate import BLIResult
    from fipp.exceptions import FippError, FippWarning
    from fipp.io import Lexicon, Vectors
    from fipp.linalg import pip_distance
else:
    # numpy, scipy and scikit-learn take a second or more to load. They are loaded when a name is first asked for, so
    # that `fipp --help` answers at once.
    _MODULES = {
        "aligners", "datasets", "evaluate", "io", "linalg", "preprocess", "report", "retrieve", "selection", "study",
    }  # fmt: skip
    _HOME = {
        "CCA": "fipp.aligners",
        "FIPP": "fipp.aligners",
        "PLS": "fipp.aligners",
        "Alignment": "fipp._alignment",
        "BLIResult": "fipp.evaluate",
        "FippError": "fipp.exceptions",
        "FippWarning": "fipp.exceptions",
        "Lexicon": "fipp.io",
        "LowRank": "fipp.aligners",
        "Procrustes": "fipp.aligners",
        "Ridge": "fipp.aligners",
        "Translation": "fipp._alignment",
        "VecMap": "fipp.aligners",
        "Vectors": "fipp.io",
        "align": "fipp._alignment",
        "pip_distance": "fipp.linalg",
    }

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return import_module(f"fipp.{name}")
        if name not in _HOME:
            raise AttributeError(f"module 'fipp' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "CCA",
    "FIPP",
    "PLS",
    "Alignment",
    "BLIResult",
    "FippError",
    "FippWarning",
    "Lexicon",
    "LowRank",
    "Procrustes",
    "Ridge",
    "Translation",
    "VecMap",
    "Vectors",
    "__version__",
    "align",
    "aligners",
    "datasets",
    "evaluate",
    "io",
    "linalg",
    "pip_distance",
    "preprocess",
    "report",
    "retrieve",
    "selection",
    "study",
]
