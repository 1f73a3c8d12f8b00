"""Choosing settings on held-out pairs of the seed dictionary, never on test pairs."""

from fipp.selection._result import Selection, Trial
from fipp.selection._select import select

__all__ = ["Selection", "Trial", "select"]
