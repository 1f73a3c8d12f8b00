"""The scores of a grid of settings as a heat map."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fipp.io import atomic_path
from fipp.report._figures import _DPI, _FONT, _INK, _MUTED, _matplotlib
from fipp.selection._result import describe, show_value

if TYPE_CHECKING:
    from fipp.selection import Selection

# From low to high: one hue, so that it can be read in grey too.
_LOW, _HIGH = np.array([247, 250, 253]) / 255, np.array([27, 99, 181]) / 255
_CELL, _EDGE = (0.82, 0.46), 1.0
_PANELS_A_ROW = 3
_GREEK = {"epsilon": "ε", "lam": "λ", "components": "components removed"}


@dataclass(frozen=True)
class Panel:
    """One heat map: a value of the row's setting for each row, one of the column's setting for each column.

    Attributes
    ----------
    title : str
        The settings that all cells share.
    row_name, column_name : str
        The settings along the axes; empty if there is only one.
    rows, columns : list of str
        Their values.
    scores, shades : ndarray of shape (rows, columns)
        The scores, and how dark a cell is, from 0 to 1.
    best : tuple of int or None
        Row and column of the chosen settings.
    """

    title: str
    row_name: str
    column_name: str
    rows: list[str]
    columns: list[str]
    scores: NDArray[np.float64]
    shades: NDArray[np.float64]
    best: tuple[int, int] | None


def heat_panels(selection: Selection) -> list[Panel]:
    """Lay a grid out: its last two settings with several values along the axes, a panel for each value of the others.

    The scale of the shades is the same for all panels. It spans two standard errors of a difference at least, so that
    differences that are chance look like it.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> grid = {"components": [1, 2], "epsilon": [0.05], "lam": [0.5, 1.0]}
    >>> selection = fipp.selection.select(demo.source, demo.target, demo.seed, grid=grid, refit=False)
    >>> [(panel.title, panel.rows, panel.columns) for panel in heat_panels(selection)]
    [('ε 0.05', ['1', '2'], ['0.5', '1'])]
    """
    varying = [name for name, values in selection.grid.items() if len(values) > 1]
    axes = varying[-2:] if len(varying) > 1 else ["", *(varying or list(selection.grid)[-1:])]
    row_values, column_values = (selection.grid.get(name, [None]) for name in axes)
    # A setting with one value is told once, in the title.
    others = [name for name in selection.grid if name not in axes]
    shape = len(row_values), len(column_values)
    scores = np.array([trial.mrr for trial in selection.table])
    shades = _shades(selection)
    panels: dict[str, list[int]] = {}
    for place, trial in enumerate(selection.table):
        panels.setdefault(_name({name: trial.params[name] for name in others}), []).append(place)

    def make(title: str, places: list[int]) -> Panel:
        # The order of the axes among the settings is that of the grid, so that places come row by row.
        best = [place for place in places if selection.table[place] is selection.best]
        row, column = divmod(places.index(best[0]), shape[1]) if best else (0, 0)
        return Panel(
            title=title,
            row_name=_GREEK.get(axes[0], axes[0]),
            column_name=_GREEK.get(axes[1], axes[1]),
            rows=[show_value(value) if axes[0] else "" for value in row_values],
            columns=[show_value(value) for value in column_values],
            scores=scores[places].reshape(shape),
            shades=shades[places].reshape(shape),
            best=(row, column) if best else None,
        )

    return [make(title, places) for title, places in panels.items()]


def _name(params: dict[str, object]) -> str:
    return describe({_GREEK.get(name, name): value for name, value in params.items()})


def _shades(selection: Selection) -> NDArray[np.float64]:
    scores = np.array([trial.mrr for trial in selection.table])
    errors = np.array([trial.behind_error for trial in selection.table])
    span = max(float(np.ptp(scores)), 2 * float(np.median(errors)), 1e-12)
    return np.clip(1 - (scores.max() - scores) / span, 0, 1)


def plot_grid(selection: Selection, path: str | os.PathLike[str]) -> None:
    """Draw the held-out scores of all settings as a heat map, and write the picture as PNG.

    The last two settings with several values are the axes; every combination of the others has a panel of its own. The
    chosen settings have a frame. Shades span two standard errors of a difference at least.

    Parameters
    ----------
    selection : Selection
        What `fipp.selection.select` gave.
    path : str or path-like
        The PNG file; written whole or not at all.

    Examples
    --------
    >>> import fipp, pathlib, tempfile
    >>> from fipp.report import plot_grid
    >>> demo = fipp.datasets.load_demo()
    >>> path = pathlib.Path(tempfile.mkdtemp(), "grid.png")
    >>> selection = fipp.selection.select(demo.source, demo.target, demo.seed, grid={"lam": [0.5, 1.0]}, refit=False)
    >>> plot_grid(selection, path)
    >>> path.read_bytes()[1:4]
    b'PNG'
    """
    figure_class, canvas_class, _ = _matplotlib()
    panels = heat_panels(selection)
    columns = min(len(panels), _PANELS_A_ROW)
    rows = -(-len(panels) // columns)
    height, width = panels[0].scores.shape
    panel_size = np.array([width * _CELL[0] + _EDGE, height * _CELL[1] + 1.05])
    size = np.maximum(panel_size * [columns, rows] + [0.15, 1.25], [8.6, 0])

    # Not through pyplot, whose figures and backend belong to the user.
    figure = figure_class(figsize=tuple(size), dpi=_DPI, facecolor="white")
    canvas_class(figure)
    for place, panel in enumerate(panels):
        row, column = divmod(place, columns)
        corner = np.array([column * panel_size[0] + _EDGE - 0.1, size[1] - 0.95 - (row + 1) * panel_size[1] + 0.6])
        extent = np.array([width * _CELL[0], height * _CELL[1]])
        _draw_panel(figure.add_axes((*(corner / size), *(extent / size))), panel)
    head = size[1]
    figure.text(0.25 / size[0], (head - 0.4) / head, _title(selection), fontsize=13, color=_INK, fontweight="bold")
    for line, text in enumerate([_subtitle(selection), selection.note]):
        y = (head - 0.66 - 0.22 * line) / head
        figure.text(0.25 / size[0], y, text, fontsize=_FONT - 0.5, color=_MUTED, parse_math=False)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=_DPI)


def _title(selection: Selection) -> str:
    return f"{selection.method}: mean reciprocal rank of held-out pairs"


def _subtitle(selection: Selection) -> str:
    best = selection.best
    return (
        f"Best: {_name(best.params)} with {best.mrr:.4f} ± {best.standard_error:.4f}; "
        f"{selection.holdout:,} source words, by {selection.retrieval}."
    )


def _draw_panel(axes: Any, panel: Panel) -> None:
    from matplotlib.patches import Rectangle

    colours = _LOW + panel.shades[:, :, None] * (_HIGH - _LOW)
    axes.imshow(colours, aspect="auto", interpolation="nearest")
    for (row, column), score in np.ndenumerate(panel.scores):
        ink = "white" if panel.shades[row, column] > 0.55 else _INK
        axes.text(column, row, f"{score:.4f}", ha="center", va="center", fontsize=_FONT - 0.5, color=ink)
    if panel.best is not None:
        row, column = panel.best
        frame = Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="#d1500a", linewidth=2.4, zorder=3)
        frame.set_clip_on(False)
        axes.add_patch(frame)
    axes.set_xticks(range(len(panel.columns)), panel.columns, fontsize=_FONT, color=_INK)
    axes.set_yticks(range(len(panel.rows)), panel.rows, fontsize=_FONT, color=_INK)
    axes.set_xlabel(panel.column_name, fontsize=_FONT + 1, color=_INK)
    axes.set_ylabel(panel.row_name, fontsize=_FONT + 1, color=_INK)
    axes.tick_params(length=0)
    axes.set_title(panel.title, fontsize=_FONT + 0.5, color=_INK, loc="left")
    for side in axes.spines.values():
        side.set_visible(False)
