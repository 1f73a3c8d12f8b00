"""A map of translated pairs in two dimensions, where words of similar meaning are neighbours."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.linalg import single_threaded_blas, unit_rows
from fipp.report._canvas import DPI, ENLARGED, FONT, INK, LABEL, LINE, MUTED, PANEL, PAPER, SOURCE, TARGET, plain
from fipp.report._svg import mark

Floats = NDArray[np.float64]


# How far t-SNE looks around a point, and how long: enough for the few hundred points that a map can show.
_PERPLEXITY, _ITERATIONS = 12.0, 600
# Labels appear at the first of these magnifications at which they cover nothing.
_ZOOMS = (1, 2, 4, 8, 16)
_GAP, _MARGIN, _DOT = 4.0, 0.04, 3.7
# Longer words are cut; what is shown when the pointer rests on them is whole.
_LONGEST_WORD = 24
# Either side has a marker of its own, so that colour is not all that tells them apart.
_MARKERS = (("●", "o", 1.0), ("◆", "D", 0.82))


class PairMap(NamedTuple):
    """Pairs of words as points of a map, of shape (n, 2) for either side, and at which rank each pair is found."""

    source_words: list[str]
    target_words: list[str]
    source: Floats
    target: Floats
    ranks: NDArray[np.int64]


@single_threaded_blas
def layout(vectors: NDArray[Any], *, random_state: int = 0) -> Floats:
    """Return places in two dimensions, of shape (n, 2), at which vectors with large cosines are near each other.

    It is t-SNE (van der Maaten and Hinton 2008), started at the first two principal components: which words are
    neighbours can be seen, distances between groups mean little. For a few hundred vectors; the same vectors give the
    same places.

    Examples
    --------
    >>> X = np.repeat(np.eye(3), 10, axis=0) + np.random.default_rng(0).normal(scale=0.05, size=(30, 3))
    >>> places = layout(X)
    >>> bool(np.linalg.norm(places[0] - places[1]) < np.linalg.norm(places[0] - places[29]))
    True
    """
    from sklearn.manifold import TSNE  # imported here because it takes longer than all of fipp

    unit = unit_rows(vectors).astype(np.float64)
    centred = unit - unit.mean(axis=0)
    left, lengths, _ = np.linalg.svd(centred, full_matrices=False)
    start = np.zeros((len(unit), 2))
    start[:, : min(2, len(lengths))] = (left * lengths)[:, :2]
    start *= np.where(start[np.abs(start).argmax(axis=0), [0, 1]] < 0, -1, 1)  # fixed signs: the map never flips
    spread = start.std() or 1.0
    if len(unit) < 4:
        return start / spread
    placed: Floats = TSNE(
        perplexity=min(_PERPLEXITY, (len(unit) - 1) / 3),
        max_iter=_ITERATIONS,
        init=(1e-4 * start / spread).astype(np.float32),
        method="exact",
        random_state=random_state,
    ).fit_transform(unit)
    return placed.astype(np.float64)


def draw_map(figure: Any, pairs: PairMap, names: tuple[str, str]) -> None:
    """Draw a map on a figure: a line leads from each source word to its translation."""
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_facecolor(PANEL)
    axes.set(xticks=[], yticks=[])
    for side in axes.spines.values():
        side.set_visible(False)
    points = np.concatenate([pairs.source, pairs.target])
    low, high = points.min(axis=0), points.max(axis=0)
    # Names stand to the right of their points; the legend is at the top and a remark at the bottom.
    room = high - low + 1e-9
    inches = figure.get_size_inches()
    axes.set(
        xlim=(low[0] - _MARGIN * room[0], high[0] + room[0] * _MARGIN * 24 / inches[0]),
        ylim=(low[1] - room[1] * _MARGIN * 10 / inches[1], high[1] + room[1] * _MARGIN * 14 / inches[1]),
    )
    right = pairs.ranks == 1
    for ends, found in zip(np.stack([pairs.source, pairs.target], axis=1), right, strict=True):
        style, colour = ("-", LINE) if found else ((0, (3, 2)), MUTED)
        axes.plot(*ends.T, color=colour, linewidth=0.8, linestyle=style, zorder=1)
    n = len(right)
    colours, markers = [SOURCE] * n + [TARGET] * n, [_MARKERS[0]] * n + [_MARKERS[1]] * n
    words = [*pairs.source_words, *pairs.target_words]
    notes = [
        f"{source} – {target}: {'found first' if rank == 1 else f'found at rank {rank:,}'}"
        for source, target, rank in zip(pairs.source_words, pairs.target_words, pairs.ranks, strict=True)
    ] * 2
    corner = figure.bbox.height
    scale = 72 / DPI
    places = axes.transData.transform(points)
    for point, colour, (_, marker, size), note, (x, y) in zip(points, colours, markers, notes, places, strict=True):
        (dot,) = axes.plot(
            *point, marker, color=colour, markersize=size * _DOT, markeredgecolor=PAPER, markeredgewidth=0.5
        )
        dot.set_gid(mark("point", x * scale, (corner - y) * scale, note))
    _label(axes, words, colours, notes, places)
    at = 0.012
    for name, (sign, *_), colour in zip(names, _MARKERS, (SOURCE, TARGET), strict=True):
        text = axes.text(at, 0.985, plain(f"{sign} {name}"), transform=axes.transAxes, color=colour, va="top")
        at = text.get_window_extent(figure.canvas.get_renderer()).x1 / figure.bbox.width + 0.02
    wrong = f"dashed: the translation is not found first ({(~right).sum()} of {n})"
    axes.text(0.012, 0.015, wrong, transform=axes.transAxes, fontsize=FONT - 2, color=INK, va="bottom")


def _label(axes: Any, words: list[str], colours: list[str], notes: list[str], places: Floats) -> None:
    """Write words beside their points; those that would cover others appear when the map is enlarged."""
    renderer = axes.figure.canvas.get_renderer()
    scale, corner, inverse = 72 / DPI, axes.figure.bbox.height, axes.transData.inverted()
    texts = [
        axes.text(0, 0, plain(_shortened(word)), fontsize=FONT - 2, color=colour, ha="left", va="center", zorder=3)
        for word, colour in zip(words, colours, strict=True)
    ]
    extents = [text.get_window_extent(renderer) for text in texts]
    sizes = np.array([[extent.width, extent.height] for extent in extents])
    gap = DPI / 72 * _GAP
    # A word that would reach beyond the right edge stands to the left of its point.
    turned = places[:, 0] + gap + sizes[:, 0] > axes.figure.bbox.width
    zooms = first_zooms(places, sizes, gap, turned)
    for text, (x, y), zoom, left, note in zip(texts, places, zooms, turned, notes, strict=True):
        kind = f"{LABEL} z1" if zoom == 1 else f"{LABEL} {ENLARGED} z{zoom}"
        gid = mark(kind, x * scale, (corner - y) * scale, note)
        at = inverse.transform((x - gap if left else x + gap, y))
        text.set(position=at, ha="right" if left else "left", gid=gid)


def _shortened(word: str) -> str:
    return word if len(word) <= _LONGEST_WORD else f"{word[: _LONGEST_WORD - 1]}…"


def first_zooms(points: Floats, sizes: Floats, gap: float, turned: NDArray[np.bool_] | None = None) -> list[int]:
    """Return the magnification from which on each label, to the right of its point, covers no other label or point.

    Those that are ``turned`` stand to the left of their points.

    Labels that are shown stay apart when the map is enlarged, because they keep their size while distances grow. Those
    of one pair, the first and the second half of the points, take turns.
    """
    n = len(points)
    across = np.full(n, gap) if turned is None else np.where(turned, -gap - sizes[:, 0], gap)
    offsets = np.stack([across, -sizes[:, 1] / 2], axis=1)
    order = np.arange(n).reshape(2, -1).T.ravel() if n % 2 == 0 else np.arange(n)
    found, shown = np.full(n, 2 * _ZOOMS[-1]), np.zeros(n, dtype=bool)
    for zoom in _ZOOMS:
        low = points * zoom + offsets
        high = low + sizes
        dots = points * zoom
        for i in order[~shown[order]]:
            apart = (low[shown] >= high[i]).any(axis=1) | (high[shown] <= low[i]).any(axis=1)
            inside = ((dots > low[i] - gap / 2) & (dots < high[i] + gap / 2)).all(axis=1)
            inside[i] = False
            if apart.all() and not inside.any():
                shown[i], found[i] = True, zoom
    return [int(zoom) if zoom <= _ZOOMS[-1] else _ZOOMS[-1] for zoom in found]
