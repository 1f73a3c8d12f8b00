"""The report about a migration's probe: every option, the learning curve, and what is converted worst."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fipp.migrate import Estimate, Probe, Way
from fipp.report._canvas import MUTED, PRINT_DPI, SOURCE, TARGET, check_figure, check_figures, drawing
from fipp.report._charts import intervals, rows_height, tidy, width
from fipp.report._page import (
    Html,
    document,
    figure,
    joined,
    percent,
    rounded,
    save_page,
    summary,
    table,
    tag,
    tiles,
    versions,
    with_interval,
)
from fipp.report._svg import Drawing, drawn

_MAPS = {"linear": "a linear map", "kernel": "a kernel map"}


def write_probe_report(
    probe: Probe,
    path: str | os.PathLike[str],
    *,
    names: tuple[str, str] = ("the old model", "the new model"),
    details: Mapping[str, str] | None = None,
) -> None:
    """Write a report about a probe: one HTML file that loads nothing and can be read without scripts.

    It has the verdict, every option with its forecast for the collection, recall by the number of pairs, and the items
    that are converted worst.

    Parameters
    ----------
    probe : Probe
        What `fipp.migrate.probe` returned.
    path : str or path-like
        The HTML file; written as a whole or not at all.
    names : (str, str)
        What to call the old and the new model.
    details : mapping of str to str, optional
        Further lines for the end of the report, such as the names of files.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from fipp import migrate
    >>> new = np.random.default_rng(0).standard_normal((300, 8))
    >>> found = migrate.probe(migrate.PairedSample.from_arrays(np.tanh(new), new))
    >>> path = pathlib.Path(tempfile.mkdtemp(), "probe.html")
    >>> write_probe_report(found, path, names=("v1", "v2"))
    >>> "from v1 to v2" in path.read_text(encoding="utf-8")
    True
    """
    check_figures()
    save_page(_page(probe, names, details or {}), path)


def plot_probe(name: str, probe: Probe, path: str | os.PathLike[str], *, narrow: bool = False) -> None:
    """Draw one figure of the report about a probe, and write it as PDF, PNG or SVG.

    Parameters
    ----------
    name : {"options", "curve"}
        Every option with its forecast, or recall by the number of pairs.
    probe : Probe
        What `fipp.migrate.probe` returned.
    path : str or path-like
        The end of the file name decides the format. Written as a whole or not at all.
    narrow : bool, default=False
        As wide as one column of a journal with two, 3.1 inches, instead of the whole page, 6.8 inches.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from fipp import migrate
    >>> new = np.random.default_rng(0).standard_normal((300, 8))
    >>> found = migrate.probe(migrate.PairedSample.from_arrays(np.tanh(new), new))
    >>> path = pathlib.Path(tempfile.mkdtemp(), "curve.svg")
    >>> plot_probe("curve", found, path)
    >>> path.read_text()[:5]
    '<?xml'
    """
    check_figure(name, PROBE_FIGURES)
    check_figures(path)
    kind = PROBE_FIGURES[name]
    with drawing(path, kind.size(probe, narrow), dpi=PRINT_DPI, layout="constrained") as figure:
        kind.draw(figure, probe, narrow)


class _Kind(NamedTuple):
    """What a figure shows, its height in inches, and how it is drawn."""

    title: str
    height: Callable[[Probe, bool], float]
    draw: Callable[[Any, Probe, bool], None]

    def size(self, probe: Probe, narrow: bool) -> tuple[float, float]:
        """Return the size of the figure in inches."""
        return width(narrow), self.height(probe, narrow)

    def in_page(self, probe: Probe) -> Drawing:
        """Return the figure as a part of a page."""
        return drawn(
            lambda figure, narrow: self.draw(figure, probe, narrow),
            lambda narrow: self.size(probe, narrow),
            self.title,
            layout="constrained",
        )


def _page(probe: Probe, names: tuple[str, str], details: Mapping[str, str]) -> str:
    title = f"Migration from {names[0]} to {names[1]}"
    ways, curve = (kind.in_page(probe) for kind in PROBE_FIGURES.values())
    sections = [
        ("Every option", _ways(probe, ways)),
        ("More pairs", _curve(probe, curve)),
        ("What is converted worst", _clusters(probe)),
        ("Sample and versions", _details(probe, names, details)),
    ]
    header = joined(tag("h1", title), tag("p", probe.verdict, class_="verdict"), _tiles(probe))
    return document(title, header, sections, drawings=[ways, curve])


def _tiles(probe: Probe) -> Html:
    way = probe.way(probe.recommended)
    figures = [("Recommended", way.name, f"{percent(way.share)} of what embedding again gives")]
    for name, estimate in (("Recall@10", way.recall), ("MRR", way.mrr)):
        if estimate is not None:
            ends = f"95\u00a0%: {rounded(estimate.low, 2)} to {rounded(estimate.high, 2)}"
            figures.append((name, rounded(estimate.value, 2), ends))
    figures.append(("Forecast for", f"{probe.size:,}", f"items, from {probe.n_items:,}"))
    return tiles(figures)


def _ways(probe: Probe, drawn_ways: Drawing) -> Html:
    asked = _with_answers(probe)
    what = "MRR on your queries" if asked else "recall of the new model's ten nearest neighbours"
    caption = (
        f"Each dot is the {what}, forecast for {probe.size:,} items, with its 95\u00a0% interval; the recommended way "
        "is orange and bold. No item was judged by a map that was fitted on it."
    )
    columns: dict[str, Callable[[Way], Estimate | None]] = {"recall@10": lambda way: way.recall}
    if asked:
        columns |= {"MRR": lambda way: way.mrr, "nDCG@10": lambda way: way.ndcg}
    rows = [[way.name, *(_shown(value(way)) for value in columns.values()), percent(way.share)] for way in probe.ways]
    best = [place for place, way in enumerate(probe.ways) if way.name == probe.recommended]
    label = f"Forecasts for {probe.size:,} items with 95\u00a0% intervals"
    return joined(
        figure(drawn_ways, caption),
        table(["option", *columns, "of embedding again"], rows, label=label, best=best),
        tag(
            "p",
            "“Score again” means that the new model embeds the first items that were found and ranks them anew. Recall "
            "counts which of the new model's own ten nearest neighbours are found; MRR and nDCG need queries whose "
            "answers are known.",
            class_="note",
        ),
    )


def _curve(probe: Probe, drawn_curve: Drawing) -> Html:
    last, more = probe.curve[-3], probe.curve[-1]
    told = (
        f"With {last[0]:,} pairs, {_MAPS[probe.map]} keeps {percent(last[1])} of the ten nearest neighbours in the "
        f"sample; expect {percent(more[1])} with {more[0]:,}."
    )
    caption = (
        "If the curve still rises, embedding a larger sample with both models improves the map. The dashed part is "
        "continued from the measured one. These are shares in the sample; in a larger collection they are lower."
    )
    return joined(tag("p", told), figure(drawn_curve, caption))


def _clusters(probe: Probe) -> Html:
    if not probe.clusters:
        return tag("p", "This part is left out: the sample is too small to be divided.", class_="note")
    rows = [
        [
            joined(*(tag("div", tag("bdi", each)) for each in cluster.examples)),
            f"{cluster.n_items:,}",
            percent(cluster.recall),
        ]
        for cluster in probe.clusters
    ]
    return joined(
        tag("p", "The items of the sample were divided into groups by meaning. Converting works worst in these."),
        table(["typical items", "items", "neighbours kept"], rows, label="Groups that are converted worst"),
    )


def _details(probe: Probe, names: tuple[str, str], details: Mapping[str, str]) -> Html:
    rows = [
        ("Models", f"{names[0]}, {names[1]}"),
        ("Sample", f"{probe.n_items:,} items and {probe.n_queries:,} queries"),
        ("Collection", f"{probe.size:,} items"),
        ("Map", _MAPS[probe.map]),
        *details.items(),
        ("Versions", versions()),
    ]
    return summary(rows, label="What was measured, and with what")


def _with_answers(probe: Probe) -> bool:
    """Return whether there were queries whose answers are known."""
    return any(way.mrr is not None for way in probe.ways)


def _draw_ways(figure: Any, probe: Probe, narrow: bool) -> None:
    asked, ways, axes = _with_answers(probe), _drawn_ways(probe), figure.add_subplot()
    chosen = [name == probe.recommended for name, _ in ways]
    rows, colours = [(name, *estimate) for name, estimate in ways], [TARGET if each else SOURCE for each in chosen]
    axes.set(xlabel="MRR" if asked else "recall@10", xlim=(0, 1))
    intervals(axes, rows, colours, narrow=narrow, bold=chosen)
    tidy(axes)


def _drawn_ways(probe: Probe) -> list[tuple[str, Estimate]]:
    asked = _with_answers(probe)
    figures = ((way.name, way.mrr if asked else way.recall) for way in probe.ways)
    return [(name, estimate) for name, estimate in figures if estimate is not None]


def _draw_curve(figure: Any, probe: Probe, narrow: bool) -> None:
    axes = figure.add_subplot()
    counts, shares = zip(*probe.curve, strict=True)
    axes.plot(counts[:-2], shares[:-2], "o-", color=SOURCE, linewidth=1.6, markersize=5)
    axes.plot(counts[-3:], shares[-3:], "--", color=MUTED, linewidth=1.4)
    axes.plot(counts[-2:], shares[-2:], "o", color=MUTED, markersize=5, markerfacecolor="none")
    axes.set(xscale="log", xlabel="pairs that the map was fitted on", ylabel="recall@10", ylim=(0, 1.02))
    axes.minorticks_off()
    axes.set(xticks=counts)
    axes.set_xticklabels([f"{count:,}" for count in counts])
    tidy(axes, grid="y")


def _shown(estimate: Estimate | None) -> str:
    return rounded(None) if estimate is None else with_interval(rounded, *estimate)


PROBE_FIGURES = {
    "options": _Kind(
        "Every option, forecast for the collection",
        lambda probe, narrow: rows_height(len(_drawn_ways(probe)), narrow),
        _draw_ways,
    ),
    "curve": _Kind("Recall by number of pairs", lambda probe, narrow: 2.0 if narrow else 2.3, _draw_curve),
}
"""The figures of a report about a probe by name."""
