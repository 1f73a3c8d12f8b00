"""The charts of a report, drawn by matplotlib in two forms: wide for screens and pages, narrow for phones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fipp.report._canvas import FONT, INK, LINE, MUTED, RULE, SOURCE, TARGET, matplotlib, plain
from fipp.report._findings import BY_CSLS, Findings, Scored, share_interval
from fipp.report._map import draw_map
from fipp.report._page import percent

_TEXT = FONT - 2
# Each method has a marker of its own, so that colour is not all that tells them apart.
_MARKS = (("o", SOURCE), ("D", INK), ("s", MUTED))
_SHOWN_TRIALS = 24
# How many letters of a name fit on one of its lines, and how many lines there are.
_NAME_LINES = {False: (50, 2), True: (48, 1)}
_WHEN = (("before", "Before alignment"), ("after", "After alignment"))


def width(narrow: bool) -> float:
    """Return the width of a figure in inches; the narrow one is a column of a journal, too."""
    return 3.1 if narrow else 6.8


def rows_height(n: int, narrow: bool) -> float:
    """Return the height of a figure with this many rows of `intervals`."""
    return 0.62 + (0.34 if narrow else 0.28) * n


def tidy(axes: Any, title: str = "", *, grid: str = "x") -> None:
    """Make axes look like those of all figures: few lines, small quiet text."""
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


def in_percent(axis: Any) -> None:
    """Show the shares of an axis in per cent."""
    axis.set_major_formatter(lambda share, _: f"{100 * share:.3g}\u00a0%")


def intervals(
    axes: Any,
    rows: Sequence[tuple[str, float, float, float]],
    colours: Sequence[str],
    *,
    narrow: bool,
    bold: Sequence[bool] = (),
    shown: Callable[[float], str] = "{:.3f}".format,
) -> None:
    """Draw a value with its interval in each row, the first at the top; names of a narrow figure stand above."""
    for place, ((name, value, low, high), colour) in enumerate(zip(rows, colours, strict=True)):
        axes.plot([low, high], [place, place], color=colour, linewidth=1.6, solid_capstyle="round")
        axes.plot(value, place, "o", color=colour, markersize=5)
        axes.annotate(
            shown(value), (high, place), (5, 0), textcoords="offset points", fontsize=_TEXT, color=INK, va="center"
        )
        weight = "bold" if bold and bold[place] else "normal"
        at, align = ((0, place - 0.27), ("left", "bottom")) if narrow else ((0, place), ("right", "center"))
        label = axes.annotate(
            "\n".join(map(plain, _folded(name, *_NAME_LINES[narrow]))), at, (0 if narrow else -6, 0),
            xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=_TEXT, color=INK, ha=align[0],
            va=align[1], fontweight=weight, linespacing=1.05,
        )  # fmt: skip
        label.set_in_layout(not narrow)
    low, high = axes.get_xlim()
    # Room for the figure after the highest interval.
    axes.set(yticks=[], ylim=(len(rows) - 0.4, -0.9 if narrow else -0.6), xlim=(low, high + 0.06 * (high - low)))
    axes.xaxis.set_major_locator(matplotlib("ticker").MaxNLocator(4 if narrow else 7, steps=[1, 2, 5, 10]))


def _folded(name: str, longest: int, n_lines: int) -> list[str]:
    """Return a name on one line or two of similar length; without its beginning if it is longer: names end differently.

    Examples
    --------
    >>> _folded("spectral, ridge 2, self-learning", 20, 2)
    ['spectral, ridge 2,', 'self-learning']
    >>> _folded("spectral, ridge 2, self-learning", 20, 1)
    ['… self-learning']
    """
    parts = name.split(", ")
    for start in range(len(parts)):
        rest = ["… " * bool(start) + parts[start], *parts[start + 1 :]]
        lines = [[", ".join(rest)]]
        if n_lines > 1:
            lines += [[", ".join(rest[:at]) + ",", ", ".join(rest[at:])] for at in range(1, len(rest))]
        fitting = [each for each in lines if max(map(len, each)) <= longest]
        if fitting:
            return min(fitting, key=lambda each: (len(each), max(map(len, each))))
    return [f"… {name[-longest:]}"]


def rivals_of(findings: Findings) -> list[Scored]:
    """Return the model and the methods that it is compared with, all ranked in the same way."""
    return [each for each in scores_of(findings) if each.name != BY_CSLS]


def scores_of(findings: Findings) -> list[Scored]:
    """Return the scores of a report that has some."""
    assert findings.scores is not None  # asked for only if there are any
    return findings.scores


def draw_scores(figure: Any, findings: Findings, narrow: bool) -> None:
    """Draw the score of the model beside those of well-known methods."""
    scores = scores_of(findings)
    axes = figure.add_subplot()
    rows = [(each.name, each.result.p_at_1, *share_interval(each.result)) for each in scores]
    colours = [SOURCE if each.name.startswith("this") else MUTED for each in scores]
    intervals(axes, rows, colours, narrow=narrow, shown=lambda share: percent(share, 1))
    low, high = axes.get_xlim()
    # Not beyond 100 %, but with room for the figures after the intervals.
    axes.set(xlabel="share of words whose first answer is right (P@1)", xlim=(max(low, 0), high))
    axes.set_xticks([tick for tick in axes.get_xticks() if max(low, 0) <= tick <= min(high, 1)])
    in_percent(axes.xaxis)
    tidy(axes)


def draw_bands(figure: Any, findings: Findings, narrow: bool) -> None:
    """Draw the scores by frequency."""
    axes = figure.add_subplot()
    names: list[str] = []
    scores, highest = rivals_of(findings), 0.0
    for number, each in enumerate(scores):
        bands, (mark, colour) = each.result.by_band(), _MARKS[number]
        names = [f"{name}\n{band.n_queries:,} words" for name, band in bands.items()]
        places = np.arange(len(bands)) + 0.16 * (number - (len(scores) - 1) / 2)
        values = np.array([band.p_at_1 for band in bands.values()])
        ends = np.array([share_interval(band) for band in bands.values()])
        highest = max(highest, float(ends.max()))
        axes.vlines(places, ends[:, 0], ends[:, 1], color=colour, linewidth=1.4)
        axes.plot(places, values, mark, color=colour, markersize=4.5, linestyle="none", label=each.name, clip_on=False)
    top = min(np.ceil(5 * highest) / 5, 1)  # a line of the grid, up to 100 %
    axes.set(xticks=range(len(names)), ylim=(0, 1.02 * top), ylabel="P@1", xlim=(-0.5, len(names) - 0.5))
    axes.set_xticklabels(names)
    in_percent(axes.yaxis)
    _legend_above(axes, 2 if narrow else len(scores), handletextpad=0)
    tidy(axes, grid="y")


def _legend_above(axes: Any, columns: int, **options: Any) -> None:
    """Put the legend above the axes, where it covers no line."""
    axes.legend(
        frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0, borderpad=0.4,
        columnspacing=0.8, **options,
    )  # fmt: skip


def draw_pairs(figure: Any, findings: Findings, narrow: bool) -> None:
    """Draw the map."""
    assert findings.map is not None  # asked for only if there is one
    draw_map(figure, findings.map, findings.names)


def _panels(figure: Any, narrow: bool) -> list[Any]:
    """Return axes for what is before alignment and for what is after it: side by side, or one above the other."""
    shape = (2, 1) if narrow else (1, 2)
    figure.get_layout_engine().set(wspace=0.05)
    return list(np.ravel(figure.subplots(*shape, sharex=True, sharey=True)))


def draw_products(figure: Any, findings: Findings, narrow: bool) -> None:
    """Draw how similar words are to others of their own side, before and after alignment."""
    found = findings.products
    for number, (axes, (when, title)) in enumerate(zip(_panels(figure, narrow), _WHEN, strict=True)):
        for colour, name, style, side in _sides(findings):
            axes.stairs(found.densities[when][side], found.edges[when], color=colour, linewidth=1.4, linestyle=style,
                        label=name)  # fmt: skip
        axes.set(ylabel="" if number else "share of pairs", yticks=[])
        axes.tick_params(labelbottom=True)
        axes.axvline(0, color=LINE, linewidth=0.8, zorder=0)
        _finish_panel(axes, number, narrow, "cosine of two words of the same side", title, "x")


def draw_spectra(figure: Any, findings: Findings, narrow: bool) -> None:
    """Draw how the variance is spread over directions, before and after alignment."""
    found = findings.products
    for number, (axes, (when, title)) in enumerate(zip(_panels(figure, narrow), _WHEN, strict=True)):
        for colour, name, style, side in _sides(findings):
            values = found.spectra[when][side]
            values = values[values > 1e-7]
            axes.plot(np.arange(1, len(values) + 1), values, style, color=colour, linewidth=1.4, label=name)
        axes.set(yscale="log", ylabel="" if number and not narrow else "share of the variance")
        in_percent(axes.yaxis)
        axes.minorticks_off()
        _finish_panel(axes, number, narrow, "number of the direction", title, "both")


def _sides(findings: Findings) -> list[tuple[str, str, str, str]]:
    """Return the colour, the name and the style of the line of either side."""
    return [
        (colour, plain(name), style, side)
        for colour, name, style, side in zip(
            (SOURCE, TARGET), findings.names, ("-", "--"), ("source", "target"), strict=True
        )
    ]


def _finish_panel(axes: Any, number: int, narrow: bool, below: str, title: str, grid: str) -> None:
    if number or not narrow:
        axes.set(xlabel=below)
    if not number:
        # Above both panels, where it covers no line.
        axes.figure.legend(
            *axes.get_legend_handles_labels(), frameon=False, loc="outside upper left", handlelength=1.6, ncols=2,
            borderaxespad=0.1, columnspacing=1.2, fontsize=_TEXT, labelcolor=INK,
        )  # fmt: skip
    tidy(axes, title, grid=grid)


def draw_filter(figure: Any, findings: Findings, narrow: bool) -> None:
    """Draw how much the filter keeps of the inner products of each seed pair."""
    assert findings.filtered is not None  # asked for only if there is a filter
    kept = findings.filtered.kept
    axes = figure.add_subplot()
    counts, edges = np.histogram(kept, bins=24 if narrow else 40)
    axes.stairs(counts, edges, fill=True, color=SOURCE, alpha=0.85)
    middle, top = float(np.median(kept)), 1.15 * counts.max()
    left = middle > (edges[0] + edges[-1]) / 2
    axes.axvline(middle, color=TARGET, linewidth=1.4, linestyle="--")
    axes.annotate(
        f"half of the pairs keep less than {percent(middle)}", (middle, 0.985 * top), (-5 if left else 5, 0),
        textcoords="offset points", ha="right" if left else "left", va="top", fontsize=_TEXT, color=TARGET,
    )  # fmt: skip
    axes.set(xlabel="share of a pair's inner products kept", ylabel="seed pairs", ylim=(0, top))
    in_percent(axes.xaxis)
    tidy(axes, grid="y")


def draw_hubs(figure: Any, findings: Findings, narrow: bool) -> None:
    """Draw how often target words are found, by cosine and by CSLS."""
    hubs, axes, ticker = findings.hubs, figure.add_subplot(), matplotlib("ticker")
    for retrieval, colour, style in (("cosine", TARGET, "--"), ("csls", SOURCE, "-")):
        counts = np.sort(hubs.counts[retrieval])[::-1]
        counts = counts[counts > 0]
        label = f"{'CSLS' if retrieval == 'csls' else 'cosine'} (skewness {hubs.skewness(retrieval):.1f})"
        axes.plot(np.arange(1, len(counts) + 1), counts, style, color=colour, linewidth=1.6, label=label)
    axes.set(xscale="log", yscale="log", xlabel="target words, the most frequent answer first", ylabel="times found")
    axes.minorticks_off()
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    _legend_above(axes, 1 if narrow else 2)
    tidy(axes, grid="both")


def shown_trials(findings: Findings) -> list[dict[str, Any]]:
    """Return what `Auto` tried, best first; those that were tried on fewer words come last."""
    ranked = sorted(findings.trials, key=lambda trial: (-trial.get("words", 0), -trial["mrr"]))
    chosen = getattr(findings.aligner, "chosen_", None)
    return [trial for place, trial in enumerate(ranked) if place < _SHOWN_TRIALS or trial["name"] == chosen]


def draw_trials(figure: Any, findings: Findings, narrow: bool) -> None:
    """Draw what `Auto` tried and chose."""
    trials, axes = shown_trials(findings), figure.add_subplot()
    most = max(trial.get("words", 0) for trial in trials)
    rows = [
        (trial["name"], trial["mrr"], *(trial["mrr"] + sign * 1.96 * trial["standard_error"] for sign in (-1, 1)))
        for trial in trials
    ]
    chosen = [trial["name"] == findings.aligner.chosen_ for trial in trials]
    colours = [
        TARGET if best else SOURCE if trial.get("words", 0) == most else LINE
        for best, trial in zip(chosen, trials, strict=True)
    ]
    intervals(axes, rows, colours, narrow=narrow, bold=chosen)
    axes.set(xlabel="mean reciprocal rank of held-out seed pairs")
    tidy(axes)
