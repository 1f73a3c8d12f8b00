"""The study of the paper, table by table: what there is, what to run, running it, and the tables beside the paper's."""

from fipp.study._discover import Data, discover
from fipp.study._paper import paper_pairs, printed
from fipp.study._plan import TABLES, VARIANTS, Cell, make_plan
from fipp.study._results import read_results
from fipp.study._run import run_study
from fipp.study._tables import FORMATS, Table, make_tables, render

__all__ = [
    "FORMATS",
    "TABLES",
    "VARIANTS",
    "Cell",
    "Data",
    "Table",
    "discover",
    "make_plan",
    "make_tables",
    "paper_pairs",
    "printed",
    "read_results",
    "render",
    "run_study",
]
