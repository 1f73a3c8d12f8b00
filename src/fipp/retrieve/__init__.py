"""Nearest neighbours and ranks, in blocks: arrays in, arrays out, never a matrix of all pairs. Exact unless asked."""

from fipp.retrieve._index import Index, prepare
from fipp.retrieve._neighbours import Neighbours, mean_similarity, neighbours
from fipp.retrieve._ranks import gold_ranks

__all__ = ["Index", "Neighbours", "gold_ranks", "mean_similarity", "neighbours", "prepare"]
