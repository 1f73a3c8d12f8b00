"""How well an alignment worked, and what the spaces are like."""

from fipp.evaluate._analogy import (
    AnalogyResult,
    analogies,
    check_analogy_method,
    cross_analogies,
    load_analogies,
)
from fipp.evaluate._bli import bli, seed_keys, seen_queries
from fipp.evaluate._induction import InducedPairs, Induction, check_precision, induce, induce_pairs
from fipp.evaluate._result import MEASURES, BLIResult, Seen, Slice
from fipp.evaluate._self_evaluation import self_evaluate
from fipp.evaluate._shift import Shift, ShiftedItem, shift
from fipp.evaluate._similarity import (
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
from fipp.evaluate._statistics import Interval, PairedComparison, bootstrap_interval, compare_results
from fipp.evaluate._suspects import Suspects, suspects

# The names that are not listed here are for other rooms of fipp.
__all__ = [
    "BLIResult",
    "InducedPairs",
    "Induction",
    "Shift",
    "ShiftedItem",
    "Suspects",
    "analogies",
    "bli",
    "compare_results",
    "cross_analogies",
    "cross_similarity",
    "describe_space",
    "induce_pairs",
    "load_analogies",
    "load_similarity",
    "self_evaluate",
    "shift",
    "similarity",
    "similarity_before_after",
    "suspects",
]
