"""Vectors, lexicons and model files: what enters fipp and what leaves it.

`Vectors` are words with their vectors; `SubwordVectors` can also compose vectors for other words. A `Lexicon` is a list
of word pairs, and a `Lookup` has the rows of those pairs in two vocabularies. A `LoadReport` lists what a reader had to
skip or repair.
"""

from fipp.io._atomic import atomic_path as atomic_path
from fipp.io._atomic import flush_to_disk as flush_to_disk
from fipp.io._cache import cache_folder as cache_folder
from fipp.io._lexicon import Lexicon
from fipp.io._lexicon_file import layout_of as layout_of
from fipp.io._lexicon_file import number_of as number_of
from fipp.io._lookup import Lookup
from fipp.io._model import is_model as is_model
from fipp.io._model import read_model as read_model
from fipp.io._model import write_model as write_model
from fipp.io._report import MALFORMED as MALFORMED
from fipp.io._report import Inspector as Inspector
from fipp.io._report import LoadReport
from fipp.io._report import counted as counted
from fipp.io._report import quoted as quoted
from fipp.io._rows import as_floats as as_floats
from fipp.io._stream import read_batches as read_batches
from fipp.io._table import fold as fold
from fipp.io._vectors import SubwordVectors, Vectors
from fipp.io.formats import format_to_read as format_to_read
from fipp.io.formats import format_to_write as format_to_write
from fipp.io.formats import may_hold_vectors as may_hold_vectors

# The other names are for other rooms of fipp.
__all__ = ["Lexicon", "LoadReport", "Lookup", "SubwordVectors", "Vectors"]
