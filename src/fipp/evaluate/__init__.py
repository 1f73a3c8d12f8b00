"""How well an alignment worked, and what the spaces are like."""

from fipp.evaluate._analogy import (  # noqa: F401
    AnalogyResult,
    analogies,
    check_analogy_method,
    cross_analogies,
    load_analogies,
)
from fipp.evaluate._bli import bli, seed_keys, seen_queries  # noqa: F401
from fipp.evaluate._paired import PairedComparison, compare_results
from fipp.evaluate._result import MEASURES, BLIResult, Seen, Slice  # noqa: F401
from fipp.evaluate._self_evaluation import self_evaluate
from fipp.evaluate._similarity import (  # noqa: F401
    ScoredPair,
    Side,
    SimilarityResult,
    cross_similarity,
    load_similarity,
    side_of,
    similarity,
    similarity_before_after,
)
from fipp.evaluate._space import SpaceReport, describe_space
from fipp.evaluate._statistics import Interval, bootstrap_interval  # noqa: F401

# The names that are not listed here are for other rooms of fipp.
__all__ = [
    "AnalogyResult",
    "BLIResult",
    "Interval",
    "PairedComparison",
    "SimilarityResult",
    "SpaceReport",
    "analogies",
    "bli",
    "compare_results",
    "cross_analogies",
    "cross_similarity",
    "describe_space",
    "load_analogies",
    "load_similarity",
    "self_evaluate",
    "similarity",
    "similarity_before_after",
]
