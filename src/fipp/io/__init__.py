"""Vectors, lexicons and model files: what enters fipp and what leaves it.

`Vectors` are words with their vectors; `SubwordVectors` can also compose vectors for other words. A `Lexicon` is a list
of word pairs, and a `Lookup` has the rows of those pairs in two vocabularies. A `LoadReport` lists what a reader had to
skip or repair.
"""

from fipp.io._atomic import (
    atomic_path,
    explain_failure,
    flush_folder,
    flush_to_disk,
    is_same_file,
    lock,
    locked,
)
from fipp.io._budget import Budget
from fipp.io._cache import cache_folder
from fipp.io._lexicon import Lexicon
from fipp.io._lexicon_file import layout_of, number_of, read_lines
from fipp.io._lookup import Lookup
from fipp.io._model import is_model, read_model, write_model
from fipp.io._pair import atomic_pair
from fipp.io._report import MALFORMED, Inspector, LoadReport, counted, quoted
from fipp.io._rows import as_floats, release_pages
from fipp.io._schema import Each, MismatchError, Sizes, check_size, check_value, kinds_of, shortened
from fipp.io._stream import FileInPieces, Source, explained, read_batches
from fipp.io._table import fold
from fipp.io._vectors import SubwordVectors, Vectors
from fipp.io.formats import (
    float32_rows,
    format_to_read,
    format_to_write,
    map_matrix,
    may_hold_vectors,
    read_whole,
    whole_batches,
)

# The names that are not listed here are for other rooms of fipp.
__all__ = ["Lexicon", "LoadReport", "Lookup", "SubwordVectors", "Vectors"]
