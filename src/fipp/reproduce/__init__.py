"""The paper, table by table: find the data, plan what to run, run it, and put the results beside the paper's.

data = discover("vectors/", "dictionaries/")
cells = make_plan(data, sizes=["1k"], tables=["main"])
tables = make_tables(cells, run(cells, "results.jsonl"), ["main"])
"""

from fipp.reproduce._data import Data, SimilaritySet, discover
from fipp.reproduce._paper import (
    BLI,
    INNER_PRODUCTS,
    SPECTRUM,
    TABLES,
    VARIANTS,
    paper_pairs,
    printed,
    printed_similarity,
    printed_task,
)
from fipp.reproduce._plan import Cell, make_plan
from fipp.reproduce._run import run, run_cell
from fipp.reproduce._tables import make_tables

# The names that are not listed here are for other rooms of fipp.
__all__ = ["discover", "make_plan", "make_tables", "run"]
