"""Reports and pictures of alignments and of experiments. They need matplotlib: ``pip install 'fipp[plot]'``."""

from fipp.report._alignment_page import write_report
from fipp.report._canvas import check_figure, check_figures
from fipp.report._figures import FIGURES, plot
from fipp.report._findings import filter_of, method_of
from fipp.report._grid import HeatMap, heat_maps, plot_grid
from fipp.report._map import PairMap, draw_map, layout
from fipp.report._page import Html, document, joined, style_sheet, table, tag, word
from fipp.report._pairs import Panel, Picture, draw_picture, picture_of, plot_pairs, principal_axes
from fipp.report._paper import plot_paper
from fipp.report._probe_page import PROBE_FIGURES, plot_probe, write_probe_report

# The names that are not listed here are for other rooms of fipp.
__all__ = ["plot", "plot_grid", "plot_pairs", "plot_probe", "write_probe_report", "write_report"]
