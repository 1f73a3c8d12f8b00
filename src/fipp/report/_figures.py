"""The figures of a report, each drawn by matplotlib, for a page or for a file of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fipp._alignment import Alignment
from fipp._inputs import LexiconLike, as_lexicon
from fipp.exceptions import FippError
from fipp.report._canvas import (
    FONT,
    FOURTH,
    INK,
    LINE,
    MUTED,
    RULE,
    SOURCE,
    TARGET,
    THIRD,
    check_figures,
    drawing,
    plain,
)
from fipp.report._findings import BY_CSLS, Findings, Scored
from fipp.report._map import MAP_SIZE, draw_map
from fipp.report._svg import Drawing, drawn

FIGURE_WIDTH = 6.8
_TEXT = FONT - 2
# Each method has a marker of its own, so that colour is not all that tells them apart.
_MARKS = (("o", SOURCE), ("D", FOURTH), ("s", TARGET), ("^", THIRD))
_SHOWN_TRIALS = 24
_LONGEST_NAME = 60


class Kind(NamedTuple):
    """A figure: what it shows, how to read it, its height in inches, how it is drawn, and whether it can be."""

    title: str
    caption: str
    height: Callable[[Findings], float]
    draw: Callable[[Any, Findings], None]
    lacks: Callable[[Findings], str | None]


def plot(
    name: str,
    alignment: Alignment,
    path: str | os.PathLike[str],
    test: LexiconLike | None = None,
    *,
    names: tuple[str, str] = ("source", "target"),
    retrieval: str = "cosine",
) -> None:
    """Draw one figure of the report, and write it as PDF, PNG or SVG.

    Colours can be told apart by colour-blind people, and text stays text in PDF and SVG.

    Parameters
    ----------
    name : {"scores", "bands", "map", "products", "spectra", "filter", "hubs", "trials"}
        Which figure.
    alignment : Alignment
        With the vectors of both sides.
    path : str or path-like
        The end of the file name decides the format. Written as a whole or not at all.
    test : Lexicon, path or iterable of (str, str), optional
        A test dictionary. Without it, the seed pairs are cross-validated.
    names : (str, str)
        What to call source and target.
    retrieval : {"cosine", "dot", "csls", "isf", "dualis"}, default="cosine"
        How target words are ranked.

    Examples
    --------
    >>> import fipp, pathlib, tempfile
    >>> demo = fipp.datasets.load_demo()
    >>> path = pathlib.Path(tempfile.mkdtemp(), "filter.svg")
    >>> fipp.report.plot("filter", fipp.align(demo.source, demo.target, demo.seed, "fipp"), path)
    >>> path.read_text()[:5]
    '<?xml'
    """
    check_figure(name)
    check_figures(path)
    findings = Findings(alignment, None if test is None else as_lexicon(test), names, retrieval)
    kind = FIGURES[name]
    lacking = kind.lacks(findings)
    if lacking:
        raise FippError(f"there is no figure {name!r}: {lacking}")
    with drawing(path, size_of(name, findings), **_options(name)) as figure:
        kind.draw(figure, findings)


def check_figure(name: str) -> None:
    """Refuse a figure that does not exist."""
    if name not in FIGURES:
        raise FippError(f"there is no figure {name!r}; choose from {', '.join(FIGURES)}")


def drawing_of(name: str, findings: Findings) -> Drawing:
    """Return a figure as a part of a page."""
    kind = FIGURES[name]
    options = _options(name)
    return drawn(lambda figure: kind.draw(figure, findings), size_of(name, findings), kind.title, **options)


def size_of(name: str, findings: Findings) -> tuple[float, float]:
    """Return the size of a figure in inches."""
    return MAP_SIZE if name == "map" else (FIGURE_WIDTH, FIGURES[name].height(findings))


def _options(name: str) -> dict[str, Any]:
    return {} if name == "map" else {"layout": "constrained"}


def tidy(axes: Any, title: str = "", *, grid: str = "x") -> None:
    """Give axes the look of all figures: few lines, small quiet text."""
    if title:
        axes.set_title(plain(title), loc="left", fontsize=_TEXT + 0.5, color=INK)
    axes.tick_params(labelsize=_TEXT, colors=MUTED, length=0)
    for side, spine in axes.spines.items():
        spine.set(visible=side in ("bottom",), color=LINE)
    axes.grid(axis=grid, color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set(fontsize=_TEXT, color=MUTED)
    legend = axes.get_legend()
    if legend is not None:
        for text in legend.get_texts():
            text.set(fontsize=_TEXT, color=INK)


def intervals(axes: Any, rows: Sequence[tuple[str, float, float, float]], colours: Sequence[str]) -> None:
    """Draw a value with its interval in each row, the first at the top."""
    for place, ((_, value, low, high), colour) in enumerate(zip(rows, colours, strict=True)):
        axes.plot([low, high], [place, place], color=colour, linewidth=1.6, solid_capstyle="round")
        axes.plot(value, place, "o", color=colour, markersize=5)
        axes.annotate(f"{value:.3f}", (high, place), (5, 0), textcoords="offset points", fontsize=_TEXT, color=INK,
                      va="center")  # fmt: skip
    axes.set(yticks=range(len(rows)), ylim=(len(rows) - 0.4, -0.6))
    axes.set_yticklabels([plain(_short(name)) for name, *_ in rows])


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def rivals_of(findings: Findings) -> list[Scored]:
    """Return the model and the methods that it is compared with, all ranked in the same way."""
    return [each for each in _scores_of(findings) if each.name != BY_CSLS]


def _scores_of(findings: Findings) -> list[Scored]:
    assert findings.scores is not None  # asked for only if there are any
    return findings.scores


def _draw_scores(figure: Any, findings: Findings) -> None:
    scores = _scores_of(findings)
    axes = figure.add_subplot()
    rows = [(each.name, each.result.p_at_1, *each.result.interval("p@1")) for each in scores]
    intervals(axes, rows, [SOURCE if each.name.startswith("this") else MUTED for each in scores])
    axes.set(xlabel="share of words whose first answer is right (P@1)")
    tidy(axes)
    for label in axes.get_yticklabels():
        label.set_color(INK)


def _draw_bands(figure: Any, findings: Findings) -> None:
    axes = figure.add_subplot()
    names: list[str] = []
    scores = rivals_of(findings)
    for number, each in enumerate(scores):
        bands, (mark, colour) = each.result.by_band(), _MARKS[number]
        names = [f"{name}\n{band.n_queries:,} words" for name, band in bands.items()]
        places = np.arange(len(bands)) + 0.16 * (number - (len(scores) - 1) / 2)
        values = np.array([band.p_at_1 for band in bands.values()])
        ends = np.array([band.interval("p@1") for band in bands.values()])
        axes.vlines(places, ends[:, 0], ends[:, 1], color=colour, linewidth=1.4)
        axes.plot(places, values, mark, color=colour, markersize=5, linestyle="none", label=each.name)
    axes.set(xticks=range(len(names)), ylim=(0, 1.02), ylabel="P@1", xlim=(-0.5, len(names) - 0.5))
    axes.set_xticklabels(names)
    axes.legend(
        frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(scores), borderaxespad=0, handletextpad=0.2
    )
    tidy(axes, grid="y")


def _draw_products(figure: Any, findings: Findings) -> None:
    found = findings.products
    for number, (when, title) in enumerate([("before", "Before alignment"), ("after", "After alignment")]):
        axes = figure.add_subplot(1, 2, number + 1)
        for side, style in (("source", "-"), ("target", "--")):
            colour, name = (SOURCE, findings.names[0]) if side == "source" else (TARGET, findings.names[1])
            axes.stairs(found.densities[when][side], found.edges[when], color=colour, linewidth=1.4, linestyle=style,
                        label=plain(name))  # fmt: skip
        axes.set(xlabel="cosine of two words of the same side", ylabel="density" if not number else "", yticks=[])
        axes.legend(frameon=False, loc="upper right", handlelength=1.6)
        tidy(axes, title)


def _draw_spectra(figure: Any, findings: Findings) -> None:
    found = findings.products
    first = None
    for number, (when, title) in enumerate([("before", "Before alignment"), ("after", "After alignment")]):
        axes = first = figure.add_subplot(1, 2, number + 1, sharey=first)
        for side, style in (("source", "-"), ("target", "--")):
            colour, name = (SOURCE, findings.names[0]) if side == "source" else (TARGET, findings.names[1])
            values = found.spectra[when][side]
            values = values[values > 1e-7]
            axes.plot(np.arange(1, len(values) + 1), values, style, color=colour, linewidth=1.4, label=plain(name))
        axes.set(xlabel="number of the direction", yscale="log", ylabel="share of the variance" if not number else "")
        axes.minorticks_off()
        axes.legend(frameon=False, loc="upper right", handlelength=1.6)
        tidy(axes, title, grid="both")


def _draw_filter(figure: Any, findings: Findings) -> None:
    assert findings.filtered is not None
    kept = findings.filtered.kept
    axes = figure.add_subplot()
    counts, edges = np.histogram(100 * kept, bins=40)
    axes.stairs(counts, edges, fill=True, color=SOURCE, alpha=0.85)
    middle = float(np.median(100 * kept))
    axes.axvline(middle, color=TARGET, linewidth=1.4, linestyle="--")
    said, place = f"half of the pairs keep less than {middle:.0f} %", (middle, 1.12 * counts.max())
    axes.annotate(said, place, (-5, 0), textcoords="offset points", ha="right", va="top", fontsize=_TEXT, color=TARGET)
    axes.set(xlabel="share of a pair's inner products that the filter keeps, in %", ylabel="seed pairs")
    axes.set(ylim=(0, 1.15 * counts.max()))
    tidy(axes, grid="y")


def _draw_hubs(figure: Any, findings: Findings) -> None:
    hubs, axes = findings.hubs, figure.add_subplot()
    for retrieval, colour, style in (("cosine", TARGET, "--"), ("csls", SOURCE, "-")):
        counts = np.sort(hubs.counts[retrieval])[::-1]
        counts = counts[counts > 0]
        label = f"{'CSLS' if retrieval == 'csls' else 'cosine'} (skewness {hubs.skewness(retrieval):.1f})"
        axes.plot(np.arange(1, len(counts) + 1), counts, style, color=colour, linewidth=1.6, label=label)
    axes.set(xscale="log", yscale="log", xlabel="target words, the most frequent answer first", ylabel="times found")
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.legend(frameon=False, loc="upper right")
    tidy(axes, grid="both")


def shown_trials(findings: Findings) -> list[dict[str, Any]]:
    """Return what `Auto` tried, best first; those that were tried on fewer words come last."""
    ranked = sorted(findings.trials, key=lambda trial: (-trial.get("words", 0), -trial["mrr"]))
    chosen = getattr(findings.aligner, "chosen_", None)
    return [trial for place, trial in enumerate(ranked) if place < _SHOWN_TRIALS or trial["name"] == chosen]


def _draw_trials(figure: Any, findings: Findings) -> None:
    trials, axes = shown_trials(findings), figure.add_subplot()
    most = max(trial.get("words", 0) for trial in trials)
    chosen = findings.aligner.chosen_
    rows = [
        (trial["name"], trial["mrr"], *(trial["mrr"] + sign * 1.96 * trial["standard_error"] for sign in (-1, 1)))
        for trial in trials
    ]
    colours = [
        TARGET if trial["name"] == chosen else SOURCE if trial.get("words", 0) == most else LINE for trial in trials
    ]
    intervals(axes, rows, colours)
    for label, trial in zip(axes.get_yticklabels(), trials, strict=True):
        if trial["name"] == chosen:
            label.set_fontweight("bold")
    axes.set(xlabel="mean reciprocal rank of held-out seed pairs")
    tidy(axes)


def _always(findings: Findings) -> None:
    return None


def _needs_scores(findings: Findings) -> str | None:
    return None if findings.scores else "there are neither test pairs nor seed pairs to measure with"


def _needs_map(findings: Findings) -> str | None:
    return None if findings.map else "there are fewer than four known pairs"


def _needs_filter(findings: Findings) -> str | None:
    return None if findings.filtered else "the seed pairs of this model are not known"


def _needs_trials(findings: Findings) -> str | None:
    return None if findings.trials else "only auto tries several methods, and only with enough seed pairs"


FIGURES: dict[str, Kind] = {
    "scores": Kind(
        "Scores beside well-known methods",
        "Each dot is the share of words for which the first answer is right; the line is its 95 % interval, which "
        "shows how far the share would move with other words. All methods learned from the same seed pairs.",
        lambda findings: 0.75 + 0.27 * len(_scores_of(findings)),
        _draw_scores,
        _needs_scores,
    ),
    "bands": Kind(
        "Scores by frequency",
        "Frequent words are on the left: 0-1k are the first thousand words of the file. Lines are 95 % intervals; they "
        "are long where there are few words.",
        lambda findings: 2.6,
        _draw_bands,
        _needs_scores,
    ),
    "map": Kind(
        "A map of translated pairs",
        "Words of similar meaning are near each other, and a line joins each word to its translation: the shorter, the "
        "better. Distances between groups mean little (t-SNE). Zoom in to see more words: with the buttons, the keys + "
        "and −, or Ctrl and the wheel; drag to move.",
        lambda findings: MAP_SIZE[1],
        lambda figure, findings: draw_map(figure, findings.map, findings.names),  # type: ignore[arg-type]
        _needs_map,
    ),
    "products": Kind(
        "Inner products before and after",
        "How similar words are to other words of their own side. A map can only fit if both sides agree on that: after "
        "alignment, the two curves should lie on each other.",
        lambda findings: 2.3,
        _draw_products,
        _always,
    ),
    "spectra": Kind(
        "Spectra before and after",
        "How much of the variance each direction has, the largest first. Curves that lie on each other mean that both "
        "sides use their dimensions alike; a steep start means that a few directions dominate.",
        lambda findings: 2.3,
        _draw_spectra,
        _always,
    ),
    "filter": Kind(
        "What the filter keeps",
        "FIPP trusts an inner product only if both sides agree on it within ε. Pairs far to the left agree with few "
        "others: they are ambiguous words, loose translations, or mistakes.",
        lambda findings: 2.2,
        _draw_filter,
        _needs_filter,
    ),
    "hubs": Kind(
        "Hubs by cosine and by CSLS",
        "How often each target word is among the ten nearest of a source word. A curve that starts high and falls "
        "steeply means hubs: a few words are the answer to everything. CSLS corrects for that.",
        lambda findings: 2.5,
        _draw_hubs,
        _always,
    ),
    "trials": Kind(
        "What auto tried and chose",
        "Each dot is a method, measured on seed pairs that were held out, with its 95 % interval; the choice is "
        "orange. Grey ones fell clearly behind on some of the words and were not tried on the others.",
        lambda findings: 0.75 + 0.2 * len(shown_trials(findings)),
        _draw_trials,
        _needs_trials,
    ),
}
"""The figures of a report by name."""
