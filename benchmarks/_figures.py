"""Figures that are drawn from records."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Figure:
    """A picture in docs/images.

    Attributes
    ----------
    name : str
        The file name.
    data : callable
        Returns the data to draw, as JSON; None if it has not been measured.
    draw : callable
        Draws it: ``draw(data, path)``.
    """

    name: str
    data: Callable[[], Any]
    draw: Callable[[Any, Path], None]

    def digest(self):
        """Return a hash of the data and the drawing function; the file depends on the version of matplotlib."""
        text = json.dumps(self.data(), sort_keys=True) + inspect.getsource(self.draw)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def new_figure(width, height):
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure, path):
    """Write the file; for SVG, the same figure always gives the same bytes."""
    import matplotlib

    path = Path(path)
    with matplotlib.rc_context({"svg.hashsalt": path.name}):
        figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)
