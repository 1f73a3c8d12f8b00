"""How well an alignment worked, and what the spaces are like."""

from fipp.evaluate._bli import BLIResult, bli
from fipp.evaluate._space import SpaceReport, describe

__all__ = ["BLIResult", "SpaceReport", "bli", "describe"]
