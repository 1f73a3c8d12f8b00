"""fipp brings two embedding spaces together from a few known pairs, and tells you how well it worked."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fipp._version import __version__

if TYPE_CHECKING:
    from fipp import (
        aligners,
        datasets,
        evaluate,
        experiments,
        io,
        linalg,
        preprocess,
        report,
        reproduce,
        retrieve,
        tasks,
    )
    from fipp._align import align
    from fipp._alignment import Alignment, Translation
    from fipp.aligners import (
        CCA,
        DLV,
        FIPP,
        ICP,
        MUSE,
        PLS,
        RCSLS,
        Auto,
        BootstrapProcrustes,
        GromovWasserstein,
        Local,
        LowRank,
        Procrustes,
        Ranking,
        ResidualMLP,
        Ridge,
        SelfLearning,
        Spectral,
        Unsupervised,
        VecMap,
    )
    from fipp.evaluate import BLIResult
    from fipp.exceptions import FippError, FippWarning
    from fipp.experiments import compare, tune
    from fipp.io import Lexicon, Vectors
    from fipp.linalg import pip_distance
else:
    # numpy, scipy and scikit-learn take a second or more to load. They are loaded when a name is first asked for, so
    # that `fipp --help` answers at once.
    _MODULES = {
        "aligners", "datasets", "evaluate", "experiments", "io", "linalg", "preprocess", "report", "retrieve",
        "reproduce", "tasks",
    }  # fmt: skip
    _HOME = {
        "CCA": "fipp.aligners",
        "DLV": "fipp.aligners",
        "FIPP": "fipp.aligners",
        "ICP": "fipp.aligners",
        "MUSE": "fipp.aligners",
        "PLS": "fipp.aligners",
        "RCSLS": "fipp.aligners",
        "Alignment": "fipp._alignment",
        "Auto": "fipp.aligners",
        "BLIResult": "fipp.evaluate",
        "BootstrapProcrustes": "fipp.aligners",
        "FippError": "fipp.exceptions",
        "FippWarning": "fipp.exceptions",
        "GromovWasserstein": "fipp.aligners",
        "Lexicon": "fipp.io",
        "Local": "fipp.aligners",
        "LowRank": "fipp.aligners",
        "Procrustes": "fipp.aligners",
        "Ranking": "fipp.aligners",
        "ResidualMLP": "fipp.aligners",
        "Ridge": "fipp.aligners",
        "SelfLearning": "fipp.aligners",
        "Spectral": "fipp.aligners",
        "Translation": "fipp._alignment",
        "Unsupervised": "fipp.aligners",
        "VecMap": "fipp.aligners",
        "Vectors": "fipp.io",
        "align": "fipp._align",
        "compare": "fipp.experiments",
        "pip_distance": "fipp.linalg",
        "tune": "fipp.experiments",
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
    "DLV",
    "FIPP",
    "ICP",
    "MUSE",
    "PLS",
    "RCSLS",
    "Alignment",
    "Auto",
    "BLIResult",
    "BootstrapProcrustes",
    "FippError",
    "FippWarning",
    "GromovWasserstein",
    "Lexicon",
    "Local",
    "LowRank",
    "Procrustes",
    "Ranking",
    "ResidualMLP",
    "Ridge",
    "SelfLearning",
    "Spectral",
    "Translation",
    "Unsupervised",
    "VecMap",
    "Vectors",
    "__version__",
    "align",
    "aligners",
    "compare",
    "datasets",
    "evaluate",
    "experiments",
    "io",
    "linalg",
    "pip_distance",
    "preprocess",
    "report",
    "reproduce",
    "retrieve",
    "tasks",
    "tune",
]
