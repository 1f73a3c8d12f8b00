"""Known pairs before and after alignment, drawn in two dimensions, with labels that can be read.

For the places of the labels, adjustText was tried: it imports pyplot, stops by the clock, so that the same picture may
differ from run to run, and does not report which labels are still covered.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp._alignment import Alignment
from fipp.exceptions import FippError
from fipp.io import Lexicon
from fipp.linalg import unit_rows
from fipp.report._canvas import (
    DPI,
    FONT,
    INK,
    LABEL,
    LINE,
    MUTED,
    PANEL,
    SOURCE,
    TARGET,
    check_figures,
    drawing,
    plain,
)

_SIZE = (12.0, 6.0)

# The place of a panel in the picture, as shares of its size.
_LEFT, _BOTTOM, _WIDTH, _HEIGHT = 0.012, 0.072, 0.482, 0.8
_MARGIN = 1.14
_SIGNS = np.array([-1, 1])

# A label that is covered by more than this share is left out; the line still leads to its pair.
_BEARABLE = 0.12
# Directions of a label from its point, the most usual first, and its distances, in pixels of 100 dpi.
_ANGLES = np.deg2rad([0, 180, 90, 270, 45, 135, 315, 225, 20, 160, 340, 200])
_DISTANCES = (6.0, 11.0, 17.0)
_PASSES = 6
_POINT = 3.5

# The costs of what a label covers. A well-placed label costs less than 1.
_ON_A_LABEL, _OUTSIDE, _ON_A_POINT, _FAR, _UNUSUAL = 60.0, 60.0, 15.0, 0.02, 0.02

Floats = NDArray[np.float64]


class Panel(NamedTuple):
    """One half of the picture."""

    title: str
    subtitle: str
    source: NDArray[Any]
    target: NDArray[Any]


class Picture(NamedTuple):
    """Pairs before and after alignment: two panels, the words of both sides, their names and the caption."""

    panels: list[Panel]
    words: tuple[list[str], list[str]]
    names: tuple[str, str]
    caption: str


def plot_pairs(
    alignment: Alignment,
    pairs: Lexicon | Iterable[tuple[str, str]],
    path: str | os.PathLike[str],
    *,
    names: tuple[str, str] = ("source", "target"),
) -> None:
    """Draw pairs of words before alignment and after it, side by side, and write the picture as PNG.

    Both panels show the first two principal components of the target words. The left one shows the source words on
    these axes in their own coordinates (on their own axes if the dimensions differ), the right one where the alignment
    puts them. Vectors have unit length, because cosines compare directions. About 25 pairs remain readable.

    Parameters
    ----------
    alignment : Alignment
        With the vectors of both sides.
    pairs : Lexicon or iterable of (str, str)
        Pairs that are not in both vocabularies are left out; at least three must remain.
    path : str or path-like
        The PNG file; written as a whole or not at all.
    names : (str, str)
        What to call source and target in the legend.

    Examples
    --------
    >>> import fipp, pathlib, tempfile
    >>> from fipp.report import plot_pairs
    >>> demo = fipp.datasets.load_demo()
    >>> path = pathlib.Path(tempfile.mkdtemp(), "pairs.png")
    >>> plot_pairs(fipp.align(demo.source, demo.target, demo.seed, "fipp"), list(demo.test)[:10], path)
    >>> path.read_bytes()[1:4]
    b'PNG'
    """
    check_figures()  # before the work
    draw_picture(picture_of(alignment, pairs, names), path)


def picture_of(alignment: Alignment, pairs: Lexicon | Iterable[tuple[str, str]], names: tuple[str, str]) -> Picture:
    """Return what `plot_pairs` draws."""
    source, target = alignment.source, alignment.target
    if source is None or target is None:
        raise FippError("a picture needs the vectors of both sides: Alignment.load(path, source=…, target=…)")
    rows = Lexicon(pairs).lookup(source, target).require().rows
    if len(rows) < 3:
        raise FippError(f"a picture in two dimensions needs three pairs at least, not {len(rows)}")
    panels = _panels(alignment, source.matrix[rows[:, 0]], target.matrix[rows[:, 1]], names)
    words = [source.words[row] for row in rows[:, 0]], [target.words[row] for row in rows[:, 1]]
    return Picture(panels, words, names, _caption(alignment, rows))


def draw_picture(picture: Picture, path: str | os.PathLike[str]) -> None:
    """Write a picture as PNG."""
    middle, half = _window(picture.panels)
    with drawing(path, _SIZE) as figure:
        for place, panel in enumerate(picture.panels):
            axes = figure.add_axes((_LEFT + place * (_WIDTH + _LEFT), _BOTTOM, _WIDTH, _HEIGHT))
            axes.set(xlim=middle[0] + half[0] * _SIGNS, ylim=middle[1] + half[1] * _SIGNS)
            _draw(axes, panel, picture.words)
        _legend(figure, picture.names)
        figure.text(0.5, 0.024, picture.caption, ha="center", fontsize=FONT - 0.5, color=MUTED)


def _panels(alignment: Alignment, S: NDArray[Any], T: NDArray[Any], names: tuple[str, str]) -> list[Panel]:
    aligner = alignment.aligner
    before = unit_rows(aligner.source_preprocess_.transform(S))
    after, target = unit_rows(aligner.transform(S)), unit_rows(aligner.transform_target(T))
    origin, axes = principal_axes(target)
    shown = (target - origin) @ axes
    if before.shape[1] == target.shape[1]:
        where = f"{names[0]} in its own coordinates; a pair's mean cosine is {_mean_cosine(before, target)}"
        unaligned = (before - origin) @ axes
    else:
        where = f"{names[0]} on axes of its own: it has {before.shape[1]} dimensions, {names[1]} {target.shape[1]}"
        own_origin, own_axes = principal_axes(before)
        unaligned = (before - own_origin) @ own_axes
    moved = f"{names[0]} mapped into the shared space; a pair's mean cosine is {_mean_cosine(after, target)}"
    return [Panel("Before", where, unaligned, shown), Panel("After", moved, (after - origin) @ axes, shown)]


def principal_axes(X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the mean and the first two principal directions, with fixed signs so that the picture never flips."""
    mean = X.mean(axis=0)
    directions = np.linalg.svd(X - mean, full_matrices=False)[2][:2]
    largest = np.abs(directions).argmax(axis=1)
    return mean, (directions * np.sign(directions[[0, 1], largest])[:, None]).T


def _window(panels: Sequence[Panel]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the middle and half the extent of the axes: the same for both panels, with equal scales."""
    points = np.concatenate([points for panel in panels for points in (panel.source, panel.target)])
    low, high = points.min(axis=0), points.max(axis=0)
    shape = np.array([_SIZE[0] * _WIDTH, _SIZE[1] * _HEIGHT])
    half = _MARGIN * max((high - low) / 2 / shape) * shape
    return (low + high) / 2, half


def _mean_cosine(S: NDArray[Any], T: NDArray[Any]) -> str:
    return f"{(S * T).sum(axis=1).mean():.2f}".replace("-", "−")


def _draw(axes: Any, panel: Panel, words: tuple[Sequence[str], Sequence[str]]) -> None:
    points = np.concatenate([panel.source, panel.target])
    colours = [SOURCE] * len(panel.source) + [TARGET] * len(panel.target)
    axes.set_facecolor(PANEL)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set(xticks=[], yticks=[])
    axes.set_title(panel.title, loc="left", fontsize=15, color=INK, fontweight="bold", pad=24)
    axes.text(0, 1.022, plain(panel.subtitle), transform=axes.transAxes, fontsize=FONT, color=MUTED)
    ends = np.stack([panel.source, panel.target], axis=1)
    for line in ends:
        axes.plot(*line.T, color=LINE, linewidth=0.9, zorder=1)
    axes.scatter(*points.T, s=26, c=colours, edgecolors="white", linewidths=0.7, zorder=2)
    _label(axes, points, [*words[0], *words[1]], colours)


def _label(axes: Any, points: NDArray[Any], words: Sequence[str], colours: Sequence[str]) -> None:
    """Write the words beside their points, except where they would cover each other."""
    renderer, transform = axes.figure.canvas.get_renderer(), axes.transData
    texts = [
        axes.text(0, 0, plain(word), fontsize=FONT, color=colour, ha="center", va="center", zorder=3)
        for word, colour in zip(words, colours, strict=True)
    ]
    extents = [text.get_window_extent(renderer) for text in texts]
    frame = axes.get_window_extent(renderer)
    centres, covered = place_labels(
        transform.transform(points),
        np.array([[extent.width, extent.height] for extent in extents]),
        np.array([frame.x0, frame.y0, frame.x1, frame.y1]),
        scale=DPI / 100,
    )
    for text, centre, share in zip(texts, transform.inverted().transform(centres), covered, strict=True):
        text.set(position=centre, gid=f"{LABEL} z1", visible=share <= _BEARABLE)


def _legend(figure: Any, names: tuple[str, str]) -> None:
    for x, name, colour in [(0.865, names[0], SOURCE), (0.935, names[1], TARGET)]:
        figure.text(x, 0.957, plain(f"● {name}"), fontsize=FONT + 1.5, color=colour, va="center")


def _caption(alignment: Alignment, rows: NDArray[Any]) -> str:
    method, given = type(alignment.aligner).__name__, alignment.aligner.pairs_
    seen = len(set(map(tuple, rows.tolist())) & set(map(tuple, given.tolist())))
    which = f"{seen} of the {len(rows)} pairs shown are" if seen else f"none of the {len(rows)} pairs shown is"
    return (
        f"{method}, learned from {len(given):,} known pairs; {which} among them. Axes: the first two principal "
        "components of the target words, at unit length."
    )


def place_labels(points: Floats, sizes: Floats, frame: Floats, *, scale: float = 1.0) -> tuple[Floats, Floats]:
    """Return the centres of the labels, and the share of each that lies on other labels or points or outside the frame.

    Each label in turn moves to the best of some places around its point, given where the others are. A few passes
    settle it. Nothing is random. All lengths are in pixels; ``frame`` is left, bottom, right and top, and ``scale`` the
    number of pixels per pixel of 100 dpi.
    """
    candidates = _candidates(points, sizes, scale)
    dots = np.concatenate([points - _POINT * scale, points + _POINT * scale], axis=1)
    fixed = np.stack([_fixed_costs(candidates[i], i, dots, frame) for i in range(len(points))])
    chosen = np.argmin(fixed, axis=1)
    for _ in range(_PASSES):
        for i in range(len(points)):
            others = np.delete(candidates[np.arange(len(points)), chosen], i, axis=0)
            chosen[i] = np.argmin(fixed[i] + _ON_A_LABEL * _shares(candidates[i], others))
    boxes = candidates[np.arange(len(points)), chosen]
    around = [np.concatenate([np.delete(boxes, i, axis=0), np.delete(dots, i, axis=0)]) for i in range(len(points))]
    covered = np.array([_shares(boxes[i : i + 1], around[i])[0] for i in range(len(points))]) + _outside(boxes, frame)
    return (boxes[:, :2] + boxes[:, 2:]) / 2, covered


def _candidates(points: Floats, sizes: Floats, scale: float) -> Floats:
    """Return the boxes (left, bottom, right, top) in which each label could stand, of shape (n, places, 4)."""
    directions = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)
    half = sizes[:, None, None, :] / 2
    gaps = np.array(_DISTANCES)[None, None, :, None] * scale
    centres = points[:, None, None, :] + directions[None, :, None, :] * (half + gaps)
    boxes = np.concatenate([centres - half, centres + half], axis=-1)
    return boxes.reshape(len(points), -1, 4)


def _fixed_costs(boxes: Floats, i: int, dots: Floats, frame: Floats) -> Floats:
    """Return the costs of the places of label ``i`` that do not depend on other labels."""
    places = np.arange(len(boxes))
    usual = _FAR * (places % len(_DISTANCES)) + _UNUSUAL * (places // len(_DISTANCES)) / len(_ANGLES)
    on_points = _shares(boxes, np.delete(dots, i, axis=0))
    costs: Floats = usual + _ON_A_POINT * on_points + _OUTSIDE * _outside(boxes, frame)
    return costs


def _shares(boxes: Floats, others: Floats) -> Floats:
    """Return the share of each box that the others cover."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    covered = np.prod(np.maximum(high - low, 0), axis=2).sum(axis=1)
    return covered / np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)


def _outside(boxes: Floats, frame: Floats) -> Floats:
    outside: Floats = 1 - _shares(boxes, frame[None])
    return outside
