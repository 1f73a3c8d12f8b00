"""Nearest neighbours and ranks, in blocks: arrays in, arrays out, never a matrix of all pairs. Exact unless asked."""

from fipp.retrieve._index import Index, build_index
from fipp.retrieve._mutual import MutualNeighbours, mutual_neighbours
from fipp.retrieve._neighbours import Neighbours, mean_similarity, neighbours
from fipp.retrieve._ranks import ranks_of_gold

__all__ = [
    "Index",
    "MutualNeighbours",
    "Neighbours",
    "build_index",
    "mean_similarity",
    "mutual_neighbours",
    "neighbours",
    "ranks_of_gold",
]
