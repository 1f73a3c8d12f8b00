"""Methods that bring two spaces together, all with the same verbs: ``fit``, ``transform``, ``transform_target``."""

from fipp.aligners._base import BaseAligner
from fipp.aligners._cca import CCA, PLS
from fipp.aligners._fipp import FIPP
from fipp.aligners._procrustes import Procrustes
from fipp.aligners._ridge import LowRank, Ridge
from fipp.aligners._vecmap import VecMap

METHODS: dict[str, BaseAligner] = {
    "fipp": FIPP(),
    "procrustes": Procrustes(),
    "cca": CCA(),
    "cca-rotation": CCA(whiten=False, preprocess=None),
    "pls": PLS(),
    "vecmap": VecMap(),
    "vecmap-semi": VecMap("semi-supervised"),
    "vecmap-identical": VecMap("identical"),
    "vecmap-unsupervised": VecMap("unsupervised"),
    "ridge": Ridge(),
    "low-rank": LowRank(),
}
"""An aligner for each name that `fipp.align` and the command line know; never fitted, only cloned."""

__all__ = ["CCA", "FIPP", "METHODS", "PLS", "BaseAligner", "LowRank", "Procrustes", "Ridge", "VecMap"]
