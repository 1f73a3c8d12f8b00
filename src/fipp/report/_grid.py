"""The scores of a grid of settings as a heat map."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp.experiments import Tuning, format_settings, format_value
from fipp.report._canvas import FONT, INK, MUTED, TARGET, check_figures, drawing, matplotlib, plain

# From low to high: one hue, so that it can be read in grey too.
_LOW, _HIGH = np.array([247, 250, 253]), np.array([27, 99, 181])
_DARK = 0.55
_CELL, _EDGE = (0.82, 0.46), 1.0
_MAPS_PER_ROW = 3
_GREEK = {"epsilon": "ε", "lam": "λ", "components": "components removed"}


@dataclass(frozen=True)
class HeatMap:
    """A map with a row for each value of one setting and a column for each value of another.

    The title names the settings that all cells share, and ``row_name`` is empty if only one setting varies. Shades are
    from 0 to 1; ``best`` is the row and column of the chosen settings.
    """

    title: str
    row_name: str
    column_name: str
    rows: list[str]
    columns: list[str]
    scores: NDArray[np.float64]
    shades: NDArray[np.float64]
    best: tuple[int, int] | None

    @property
    def colours(self) -> NDArray[np.float64]:
        """Red, green and blue of each cell, from 0 to 255."""
        colours: NDArray[np.float64] = _LOW + self.shades[:, :, None] * (_HIGH - _LOW)
        return colours

    @property
    def dark(self) -> NDArray[np.bool_]:
        """Whether a cell is so dark that its score must be white."""
        return self.shades > _DARK


def heat_maps(tuning: Tuning) -> list[HeatMap]:
    """Lay a grid out: its last two settings with several values are the axes, the others make one map per combination.

    All maps share one scale of shades. It spans at least two standard errors of a difference, so that differences that
    are due to chance look small.
    """
    varying = [name for name, values in tuning.grid.items() if len(values) > 1]
    axes = varying[-2:] if len(varying) > 1 else ["", *(varying or list(tuning.grid)[-1:])]
    row_values, column_values = (tuning.grid.get(name, [None]) for name in axes)
    shape = len(row_values), len(column_values)
    scores = np.array([score.mrr for score in tuning.table])
    errors = np.array([score.behind_error for score in tuning.table])
    span = max(float(np.ptp(scores)), 2 * float(np.median(errors)), 1e-12)
    shades = np.clip(1 - (scores.max() - scores) / span, 0, 1)
    # The axes have the order of the grid, so that the cells of a map come row by row.
    places_by_title: dict[str, list[int]] = {}
    for place, score in enumerate(tuning.table):
        title = _name({name: value for name, value in score.params.items() if name not in axes})
        places_by_title.setdefault(title, []).append(place)
    best = tuning.table.index(tuning.best)
    return [
        HeatMap(
            title=title,
            row_name=_GREEK.get(axes[0], axes[0]),
            column_name=_GREEK.get(axes[1], axes[1]),
            rows=[format_value(value) if axes[0] else "" for value in row_values],
            columns=[format_value(value) for value in column_values],
            scores=scores[places].reshape(shape),
            shades=shades[places].reshape(shape),
            best=divmod(places.index(best), shape[1]) if best in places else None,
        )
        for title, places in places_by_title.items()
    ]


def _name(settings: dict[str, Any]) -> str:
    return format_settings({_GREEK.get(name, name): value for name, value in settings.items()})


def plot_grid(tuning: Tuning, path: str | os.PathLike[str]) -> None:
    """Draw the held-out scores of all settings as heat maps, and write the picture as PNG.

    The last two settings with several values are the axes; every combination of the others has its own map. A frame
    marks the chosen settings. Shades span at least two standard errors of a difference.

    Parameters
    ----------
    tuning : Tuning
        From `fipp.tune`.
    path : str or path-like
        The PNG file; written as a whole or not at all.

    Examples
    --------
    >>> import fipp, pathlib, tempfile
    >>> from fipp.report import plot_grid
    >>> demo = fipp.datasets.load_demo()
    >>> path = pathlib.Path(tempfile.mkdtemp(), "grid.png")
    >>> plot_grid(fipp.tune(demo.source, demo.target, demo.seed, grid={"lam": [0.5, 1.0]}, refit=False), path)
    >>> path.read_bytes()[1:4]
    b'PNG'
    """
    check_figures()
    maps = heat_maps(tuning)
    columns = min(len(maps), _MAPS_PER_ROW)
    rows = -(-len(maps) // columns)
    height, width = maps[0].scores.shape
    map_size = np.array([width * _CELL[0] + _EDGE, height * _CELL[1] + 1.05])
    size = np.maximum(map_size * [columns, rows] + [0.15, 1.25], [8.6, 0])
    left, head, best = 0.25 / size[0], size[1], tuning.best
    title = f"{tuning.method}: mean reciprocal rank of held-out pairs"
    subtitle = (
        f"Best: {_name(best.params)} with {best.mrr:.4f} ± {best.standard_error:.4f}; "
        f"{tuning.holdout:,} source words, by {tuning.retrieval}."
    )
    with drawing(path, tuple(size)) as figure:
        for place, heat_map in enumerate(maps):
            row, column = divmod(place, columns)
            corner = np.array([column * map_size[0] + _EDGE - 0.1, size[1] - 0.95 - (row + 1) * map_size[1] + 0.6])
            extent = np.array([width * _CELL[0], height * _CELL[1]])
            _draw(figure.add_axes((*(corner / size), *(extent / size))), heat_map)
        figure.text(left, (head - 0.4) / head, plain(title), fontsize=13, color=INK, fontweight="bold")
        for line, text in enumerate([subtitle, tuning.note]):
            y = (head - 0.66 - 0.22 * line) / head
            figure.text(left, y, plain(text), fontsize=FONT - 0.5, color=MUTED)


def _draw(axes: Any, heat_map: HeatMap) -> None:
    axes.imshow(heat_map.colours / 255, aspect="auto", interpolation="nearest")
    for (row, column), score in np.ndenumerate(heat_map.scores):
        ink = "white" if heat_map.dark[row, column] else INK
        axes.text(column, row, f"{score:.4f}", ha="center", va="center", fontsize=FONT - 0.5, color=ink)
    if heat_map.best is not None:
        corner = heat_map.best[1] - 0.5, heat_map.best[0] - 0.5
        frame = matplotlib("patches").Rectangle(corner, 1, 1, fill=False, edgecolor=TARGET, linewidth=2.4, zorder=3)
        frame.set_clip_on(False)
        axes.add_patch(frame)
    axes.set_xticks(range(len(heat_map.columns)), map(plain, heat_map.columns), fontsize=FONT, color=INK)
    axes.set_yticks(range(len(heat_map.rows)), map(plain, heat_map.rows), fontsize=FONT, color=INK)
    axes.set_xlabel(heat_map.column_name, fontsize=FONT + 1, color=INK)
    axes.set_ylabel(heat_map.row_name, fontsize=FONT + 1, color=INK)
    axes.tick_params(length=0)
    axes.set_title(plain(heat_map.title), fontsize=FONT + 0.5, color=INK, loc="left")
    for side in axes.spines.values():
        side.set_visible(False)
