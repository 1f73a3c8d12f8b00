"""Nearest neighbours and ranks, in blocks: arrays in, arrays out, never a matrix of all pairs. Exact unless asked."""

from fipp.retrieve._index import Index, build_index
from fipp.retrieve._mutual import Hubness, MutualNeighbours, hubness, mutual_neighbours
from fipp.retrieve._ranks import best_reciprocal_ranks, ranks_of_gold
from fipp.retrieve._scores import check_beta, check_count, check_retrieval, corrects_hubs
from fipp.retrieve._search import Neighbours, mean_similarity, neighbours
from fipp.retrieve._two_way import MeanCosines, Side, SideBySide, TwoWayIndex

# The names that are not listed here are for other rooms of fipp.
__all__ = [
    "TwoWayIndex",
    "build_index",
    "mean_similarity",
    "mutual_neighbours",
    "neighbours",
    "ranks_of_gold",
]
