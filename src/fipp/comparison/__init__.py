"""All methods side by side on one pair of vocabularies: scores with their intervals, seconds, memory."""

from fipp.comparison._result import MethodComparison, MethodScore
from fipp.comparison._run import compare_methods

__all__ = ["MethodComparison", "MethodScore", "compare_methods"]
