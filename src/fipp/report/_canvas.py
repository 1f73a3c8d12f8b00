"""What all pictures share: colours, a blank figure, and writing it as PNG. They need matplotlib."""

from __future__ import annotations

import os
from typing import Any

from fipp._optional import require
from fipp.io import atomic_path

SOURCE, TARGET, LINE, INK, MUTED = "#1b63b5", "#d1500a", "#b9c0c8", "#20262d", "#66707a"
DPI, FONT = 160, 9.5


def matplotlib(module: str) -> Any:
    """Return a module of matplotlib; if it is missing, the error says how to install it."""
    return require(f"matplotlib.{module}", "drawing", extra="plot")


def check_figures() -> None:
    """Raise the error that says what to install, before work whose result could not be drawn."""
    for module in ("figure", "backends.backend_agg"):
        matplotlib(module)


def new_figure(size: tuple[float, float], **options: Any) -> Any:
    """Return a figure of this size in inches. It does not use pyplot, whose figures and backend belong to the user."""
    figure = matplotlib("figure").Figure(figsize=size, dpi=DPI, facecolor="white", **options)
    matplotlib("backends.backend_agg").FigureCanvasAgg(figure)
    return figure


def save(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, as a whole or not at all."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=DPI)
