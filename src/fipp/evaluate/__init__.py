"""How well an alignment worked, and what the spaces are like."""

from fipp.evaluate._analogy import (
    Analogy,
    AnalogyResult,
    analogies,
    check_analogy_method,
    cross_analogies,
    load_analogies,
)
from fipp.evaluate._bli import bli, seed_keys, seen_queries
from fipp.evaluate._paired import PairedComparison, compare_results
from fipp.evaluate._result import MEASURES, BLIResult, Seen, Slice
from fipp.evaluate._self_evaluation import self_evaluate
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
from fipp.evaluate._statistics import Interval, bootstrap_interval

__all__ = [
    "MEASURES",
    "Analogy",
    "AnalogyResult",
    "BLIResult",
    "Interval",
    "PairedComparison",
    "ScoredPair",
    "Seen",
    "Side",
    "SimilarityResult",
    "Slice",
    "SpaceReport",
    "analogies",
    "bli",
    "bootstrap_interval",
    "check_analogy_method",
    "compare_results",
    "cross_analogies",
    "cross_similarity",
    "describe_space",
    "load_analogies",
    "load_similarity",
    "seed_keys",
    "seen_queries",
    "self_evaluate",
    "side_of",
    "similarity",
    "similarity_before_after",
]
