"""Figures that are drawn from records: what is drawn, and by what."""

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
        Of the file.
    data : callable
        Returns what is drawn, as JSON can hold it; None if it has not been measured.
    draw : callable
        Draws it: ``draw(data, path)``.
    """

    name: str
    data: Callable[[], Any]
    draw: Callable[[Any, Path], None]

    def digest(self):
        """Identify what is drawn and how; the bytes of the file differ between versions of matplotlib."""
        text = json.dumps(self.data(), sort_keys=True) + inspect.getsource(self.draw)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def new_figure(width, height):
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure, path):
    """Write a file; of SVG the same bytes whenever it is drawn."""
    import matplotlib

    path = Path(path)
    with matplotlib.rc_context({"svg.hashsalt": path.name}):
        figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)
