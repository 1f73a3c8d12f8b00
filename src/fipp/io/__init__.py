"""Vectors, lexicons and model files: what comes into fipp and what leaves it.

`Vectors` are words with their vectors, and `SubwordVectors` can make vectors for other words too; a `Lexicon` is a list
of word pairs, and a `Lookup` says which of the pairs two vocabularies have. What a reader had to skip or repair stands
in a `LoadReport`.
"""

from fipp.io._atomic import atomic_path
from fipp.io._formats import may_hold_vectors
from fipp.io._lexicon import Lexicon
from fipp.io._lookup import Lookup
from fipp.io._report import LoadReport
from fipp.io._subwords import SubwordVectors
from fipp.io._vectors import Vectors

__all__ = ["Lexicon", "LoadReport", "Lookup", "SubwordVectors", "Vectors", "atomic_path", "may_hold_vectors"]
