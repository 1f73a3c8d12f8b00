"""The study of the paper, table by table: what there is, what to run, running it, and the tables beside the paper's."""

from fipp.study._discover import Data, discover
from fipp.study._figures import check_figures, plot_study
from fipp.study._paper import paper_pairs, printed
from fipp.study._plan import Cell, make_plan
from fipp.study._render import FORMATS, render
from fipp.study._results import read_results
from fipp.study._run import run_study
from fipp.study._specs import TABLES
from fipp.study._tables import Table, make_tables
from fipp.study._variants import VARIANTS

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
