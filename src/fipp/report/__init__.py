"""Pictures of alignments and of experiments. They need matplotlib: ``pip install 'fipp[plot]'``."""

from fipp.report._canvas import check_figures
from fipp.report._grid import HeatMap, heat_maps, plot_grid
from fipp.report._pairs import Panel, Picture, draw_picture, picture_of, plot_pairs
from fipp.report._paper import plot_paper

__all__ = [
    "HeatMap",
    "Panel",
    "Picture",
    "check_figures",
    "draw_picture",
    "heat_maps",
    "picture_of",
    "plot_grid",
    "plot_pairs",
    "plot_paper",
]
