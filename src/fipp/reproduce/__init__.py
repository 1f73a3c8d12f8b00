"""The study of the paper, table by table: what there is, what to run, running it, and the tables beside the paper's."""

from fipp.reproduce._discover import Data, discover
from fipp.reproduce._figures import check_figures, plot_study
from fipp.reproduce._paper import paper_pairs, printed
from fipp.reproduce._plan import Cell, make_plan
from fipp.reproduce._render import FORMATS, render
from fipp.reproduce._results import read_results
from fipp.reproduce._run import run_study
from fipp.reproduce._specs import TABLES
from fipp.reproduce._tables import Table, make_tables
from fipp.reproduce._variants import VARIANTS

__all__ = [
    "FORMATS",
    "TABLES",
    "VARIANTS",
    "Cell",
    "Data",
    "Table",
    "check_figures",
    "discover",
    "make_plan",
    "make_tables",
    "paper_pairs",
    "plot_study",
    "printed",
    "read_results",
    "render",
    "run_study",
]
