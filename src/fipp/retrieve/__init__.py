"""Nearest neighbours and ranks, in blocks: arrays in, arrays out, never a matrix of all pairs. Exact unless asked."""

from fipp.retrieve._index import Index, build_index
from fipp.retrieve._neighbours import Neighbours, mean_similarity, neighbours
from fipp.retrieve._options import check_retrieval
from fipp.retrieve._ranks import ranks_of_gold

__all__ = ["Index", "Neighbours", "build_index", "check_retrieval", "mean_similarity", "neighbours", "ranks_of_gold"]
