"""Methods that bring two spaces together, all with the same verbs: ``fit``, ``transform``, ``transform_target``."""

from fipp.aligners._base import BaseAligner
from fipp.aligners._fipp import FIPP
from fipp.aligners._procrustes import Procrustes

METHODS: dict[str, type[BaseAligner]] = {"fipp": FIPP, "procrustes": Procrustes}
"""Aligners by the name that `fipp.align` and the command line know them by."""

__all__ = ["FIPP", "METHODS", "BaseAligner", "Procrustes"]
