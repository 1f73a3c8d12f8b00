"""Methods that bring two spaces together, all with the same verbs: ``fit``, ``transform``, ``transform_target``."""

from fipp.aligners._base import BaseAligner
from fipp.aligners._fipp import FIPP
from fipp.aligners._procrustes import Procrustes

METHODS: dict[str, BaseAligner] = {
    "fipp": FIPP(),
    "procrustes": Procrustes(),
}
"""An aligner for each name that `fipp.align` and the command line know; never fitted, only cloned."""

__all__ = ["FIPP", "METHODS", "BaseAligner", "Procrustes"]
