"""Fitting many aligners and measuring them: comparing methods, tuning settings, and what every experiment needs.

`attempt` and `run_cells` run measurements, keep their results and resume; `Table` and `render` show them.
"""

from fipp.experiments._compare import as_methods, compare
from fipp.experiments._comparison import MethodComparison, MethodScore
from fipp.experiments._grid import combinations, format_settings, format_value, plain_settings
from fipp.experiments._run import PeakMemory, Record, attempt, read_results, result_key, run_cells, run_in_subprocess
from fipp.experiments._tables import Note, Table, Value, render
from fipp.experiments._tune import SettingScore, Tuning, tune, tune_arrays

# The names that are not listed here are for other rooms of fipp.
__all__ = ["compare", "tune", "tune_arrays"]
