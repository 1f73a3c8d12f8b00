"""Pictures of an alignment. They need matplotlib: ``pip install 'fipp[plot]'``."""

from fipp.report._figures import plot_pairs

__all__ = ["plot_pairs"]
