"""Exact nearest neighbours and ranks, in blocks: arrays in, arrays out, never a matrix of all pairs."""

from fipp.retrieve._neighbours import Neighbours, mean_similarity, neighbours
from fipp.retrieve._ranks import gold_ranks

__all__ = ["Neighbours", "gold_ranks", "mean_similarity", "neighbours"]
