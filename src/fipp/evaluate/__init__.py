"""How well an alignment worked, and what the spaces are like."""

from fipp.evaluate import documents, inference
from fipp.evaluate._analogy import AnalogyResult, analogies, cross_analogies
from fipp.evaluate._analogy_file import Analogy, load_analogies
from fipp.evaluate._bli import BLIResult, bli, result_of_queries
from fipp.evaluate._compare import Comparison, compare
from fipp.evaluate._methods import Outcome, each_method
from fipp.evaluate._resampling import Interval
from fipp.evaluate._seen import Seen, seed_keys, seen_queries
from fipp.evaluate._self_evaluation import SelfEvaluation, self_evaluate
from fipp.evaluate._similarity import SimilarityResult, cross_similarity, similarity, similarity_before_after
from fipp.evaluate._similarity_file import ScoredPair, load_similarity
from fipp.evaluate._space import SpaceReport, describe_space

__all__ = [
    "Analogy",
    "AnalogyResult",
    "BLIResult",
    "Comparison",
    "Interval",
    "Outcome",
    "ScoredPair",
    "Seen",
    "SelfEvaluation",
    "SimilarityResult",
    "SpaceReport",
    "analogies",
    "bli",
    "compare",
    "cross_analogies",
    "cross_similarity",
    "describe_space",
    "documents",
    "each_method",
    "inference",
    "load_analogies",
    "load_similarity",
    "result_of_queries",
    "seed_keys",
    "seen_queries",
    "self_evaluate",
    "similarity",
    "similarity_before_after",
]
