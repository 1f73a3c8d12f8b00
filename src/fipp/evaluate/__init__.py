"""How well an alignment worked."""

from fipp.evaluate._bli import BLIResult, bli

__all__ = ["BLIResult", "bli"]
