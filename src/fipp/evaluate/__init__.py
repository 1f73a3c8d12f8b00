"""How well an alignment worked, and what the spaces are like."""

from fipp.evaluate._bli import BLIResult, bli
from fipp.evaluate._compare import Comparison, compare
from fipp.evaluate._resampling import Interval
from fipp.evaluate._self_evaluation import SelfEvaluation, self_evaluate
from fipp.evaluate._space import SpaceReport, describe

__all__ = [
    "BLIResult",
    "Comparison",
    "Interval",
    "SelfEvaluation",
    "SpaceReport",
    "bli",
    "compare",
    "describe",
    "self_evaluate",
]
