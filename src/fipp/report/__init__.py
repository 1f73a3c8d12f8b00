"""Pictures of an alignment. They need matplotlib: ``pip install 'fipp[plot]'``."""

from fipp.report._figures import plot_pairs
from fipp.report._grid import plot_grid

__all__ = ["plot_grid", "plot_pairs"]
