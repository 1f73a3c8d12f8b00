"""Where vectors are kept: files, databases and their collections, read and written fragment by fragment.

A store knows rows, columns and keys, and nothing of maps. To add one, write a module with a `Store` and a `Sink`, and
add a line to `open_source` and `open_sink`.
"""

from fipp.stores._columns import (
    ID_NAMES,
    TEXT_NAMES,
    column_of,
    is_vector,
    matrix_of,
    usual_column,
    vector_column,
    vector_type,
)
from fipp.stores._open import is_within, open_sink, open_source
from fipp.stores._outputs import FolderSink
from fipp.stores._store import BATCH_ROWS, FRAGMENT_ROWS, Fragment, Key, Sink, Store, pyarrow
from fipp.stores._writers import TABLE_SUFFIXES, write_rows

__all__ = ["Fragment", "Sink", "Store", "open_sink", "open_source"]
