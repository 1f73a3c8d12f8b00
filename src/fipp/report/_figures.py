"""The figures of a report, each drawn by matplotlib, for a page or for a file of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from fipp._alignment import Alignment
from fipp._inputs import LexiconLike, as_lexicon
from fipp.exceptions import FippError
from fipp.report._canvas import PRINT_DPI, check_figure, check_figures, drawing
from fipp.report._charts import (
    draw_bands,
    draw_filter,
    draw_hubs,
    draw_pairs,
    draw_products,
    draw_scores,
    draw_spectra,
    draw_trials,
    rows_height,
    scores_of,
    shown_trials,
    width,
)
from fipp.report._findings import Findings
from fipp.report._svg import Drawing, drawn


class Kind(NamedTuple):
    """A figure: what it shows, how to read it, its height in inches, how it is drawn, and what it lacks, if anything.

    Height and drawing depend on whether it is a narrow one.
    """

    title: str
    caption: str
    height: Callable[[Findings, bool], float]
    draw: Callable[[Any, Findings, bool], None]
    lacks: Callable[[Findings], str | None]


def plot(
    name: str,
    alignment: Alignment,
    path: str | os.PathLike[str],
    test: LexiconLike | None = None,
    *,
    names: tuple[str, str] = ("source", "target"),
    retrieval: str = "cosine",
    narrow: bool = False,
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
    narrow : bool, default=False
        As wide as one column of a journal with two, 3.1 inches, instead of the whole page, 6.8 inches.

    Examples
    --------
    >>> import fipp, pathlib, tempfile
    >>> demo = fipp.datasets.load_demo()
    >>> path = pathlib.Path(tempfile.mkdtemp(), "filter.svg")
    >>> fipp.report.plot("filter", fipp.align(demo.source, demo.target, demo.seed, "fipp"), path)
    >>> path.read_text()[:5]
    '<?xml'
    """
    check_figure(name, FIGURES)
    check_figures(path)
    findings = Findings(alignment, None if test is None else as_lexicon(test), names, retrieval)
    kind = FIGURES[name]
    lacking = kind.lacks(findings)
    if lacking:
        raise FippError(f"there is no figure {name!r}: {lacking}")
    with drawing(path, _size(name, findings, narrow), dpi=PRINT_DPI, **_options(name)) as figure:
        kind.draw(figure, findings, narrow)


def drawing_of(name: str, findings: Findings) -> Drawing:
    """Return a figure as a part of a page."""
    kind = FIGURES[name]

    def draw(figure: Any, narrow: bool) -> None:
        kind.draw(figure, findings, narrow)

    return drawn(draw, lambda narrow: _size(name, findings, narrow), kind.title, **_options(name))


def _size(name: str, findings: Findings, narrow: bool) -> tuple[float, float]:
    """Return the size of a figure in inches."""
    return width(narrow), FIGURES[name].height(findings, narrow)


def _options(name: str) -> dict[str, Any]:
    return {} if name == "map" else {"layout": "constrained"}


def _always(findings: Findings) -> None:
    return None


def _needs_scores(findings: Findings) -> str | None:
    return None if findings.scores else "there are neither test pairs nor seed pairs to measure with"


def _needs_map(findings: Findings) -> str | None:
    return None if findings.map else "there are fewer than four known pairs"


def _needs_filter(findings: Findings) -> str | None:
    return None if findings.filtered else "the seed pairs of this model are not known, or are too many"


def _needs_trials(findings: Findings) -> str | None:
    return None if findings.trials else "only auto tries several methods, and only with enough seed pairs"


FIGURES: dict[str, Kind] = {
    "scores": Kind(
        "Scores beside well-known methods",
        "Each dot is the share of words for which the first answer is right; the line is its 95\u00a0% interval, which "
        "shows how far the share would move with other words. All methods learned from the same seed pairs.",
        lambda findings, narrow: rows_height(len(scores_of(findings)), narrow),
        draw_scores,
        _needs_scores,
    ),
    "bands": Kind(
        "Scores by frequency",
        "Frequent words are on the left: 1k-5k are the 1,001st to the 5,000th word of the file. Lines are 95\u00a0% "
        "intervals; they are long where there are few words.",
        lambda findings, narrow: 2.2 if narrow else 2.4,
        draw_bands,
        _needs_scores,
    ),
    "map": Kind(
        "A map of translated pairs",
        "Words of similar meaning are near each other, and a line joins each word to its translation: the shorter, the "
        "better. Distances between groups mean little (t-SNE). Zoom in to see more words: with the buttons, the keys + "
        "and −, or Ctrl and the wheel; drag to move.",
        lambda findings, narrow: 4.4 if narrow else 4.9,
        draw_pairs,
        _needs_map,
    ),
    "products": Kind(
        "Inner products before and after",
        "How similar words are to other words of their own side. An alignment can only fit if both sides agree on "
        "that: after it, the two curves should lie on each other.",
        lambda findings, narrow: 3.2 if narrow else 2.3,
        draw_products,
        _always,
    ),
    "spectra": Kind(
        "Spectra before and after",
        "How much of the variance each direction has, the largest first. Curves that lie on each other mean that both "
        "sides use their dimensions alike; a steep start means that a few directions dominate.",
        lambda findings, narrow: 3.6 if narrow else 2.3,
        draw_spectra,
        _always,
    ),
    "filter": Kind(
        "What the filter keeps",
        "FIPP trusts an inner product only if both sides agree on it within ε. Pairs far to the left agree with few "
        "others: they are ambiguous words, loose translations, or mistakes.",
        lambda findings, narrow: 1.9 if narrow else 2.1,
        draw_filter,
        _needs_filter,
    ),
    "hubs": Kind(
        "Hubs by cosine and by CSLS",
        "How often each target word is among the ten nearest of a source word. A curve that starts high and falls "
        "steeply means hubs: a few words are the answer to everything. CSLS corrects for that.",
        lambda findings, narrow: 2.4,
        draw_hubs,
        _always,
    ),
    "trials": Kind(
        "What auto tried and chose",
        "Each dot is a method, measured on seed pairs that were held out, with its 95\u00a0% interval. The choice is "
        "orange, and others that were tried on all words are blue. Grey ones fell clearly behind on some of the words "
        "and were not tried on the rest.",
        lambda findings, narrow: rows_height(len(shown_trials(findings)), narrow),
        draw_trials,
        _needs_trials,
    ),
}
"""The figures of a report by name."""
