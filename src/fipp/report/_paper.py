"""The figures of the paper: spectra, distributions of inner products, and the loss of the descent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fipp.experiments import Record
from fipp.report._canvas import FONT, INK, MUTED, SOURCE, TARGET, check_figures, drawing, plain
from fipp.reproduce import BLI, INNER_PRODUCTS, SPECTRUM, TABLES, Cell

_FURTHER = ("#2b8a3e", "#8b5fbf", "#9a6700", "#b02a6f", "#0b7285")
_PANEL = (5.6, 3.9)

# One panel of a figure: its title, and the function that draws it on axes.
_Panel = tuple[str, Callable[[Any], None]]


def plot_paper(cells: Sequence[Cell], records: Mapping[str, Record], folder: str | os.PathLike[str]) -> list[Path]:
    """Draw the tables ``spectrum``, ``products`` and ``sgd``, one PNG for each pair and size; return the files."""
    check_figures()
    Path(folder).mkdir(parents=True, exist_ok=True)
    written = []
    for pair, size in dict.fromkeys((cell.pair, cell.size) for cell in cells):
        found = {
            (cell.variant, cell.measure): records[cell.key]
            for cell in cells
            if (cell.pair, cell.size, cell.retrieval) == (pair, size, "cosine") and cell.key in records
        }
        figures = {
            "spectrum": _spectrum_panels(found),
            "products": _product_panels(found.get(("fipp-published", INNER_PRODUCTS), {})),
            "descent": _descent_panels(found.get(("fipp-published-sgd", BLI), {})),
        }
        for name, panels in figures.items():
            if panels:
                path = Path(folder) / f"{name}.{pair}.{size}.png"
                _write(panels, f"{pair}, {size.upper()} training pairs", path)
                written.append(path)
    return written


def _spectrum_panels(found: Mapping[tuple[str, str], Record]) -> list[_Panel]:
    spectra = {
        column.label: found[column.variant, SPECTRUM]["spectra"][column.value]
        for column in TABLES["spectrum"].columns
        if "spectra" in found.get((column.variant, SPECTRUM), {})
    }
    if not spectra:
        return []
    own = {"source": SOURCE, "target": TARGET}
    further = iter(_FURTHER)
    colours = {label: own.get(label) or next(further) for label in spectra}

    def draw(axes: Any) -> None:
        for label, values in spectra.items():
            positive = [value for value in values if value > 1e-9 * values[0]]
            style = "-" if label in own else "--"
            axes.semilogy(range(1, len(positive) + 1), positive, style, color=colours[label], lw=1.6, label=label)
        axes.set(xlabel="number", ylabel="eigenvalue")

    return [("Eigenvalues of the Gram matrix of the seed words", draw)]


def _product_panels(record: Record) -> list[_Panel]:
    titles = {"before": "Inner products without preprocessing", "after": "With preprocessing"}
    if "histograms" not in record:
        return []
    return [(title, _draw_histogram(record["histograms"][name])) for name, title in titles.items()]


def _draw_histogram(histogram: Mapping[str, Any]) -> Callable[[Any], None]:
    def draw(axes: Any) -> None:
        for name, density in sorted(histogram["densities"].items(), key=lambda item: (item[0] == "aligned", item[0])):
            low, high = histogram["edges"]
            edges = np.linspace(low, high, len(density) + 1)
            side = SOURCE if name.startswith("source") else TARGET if name.startswith("target") else _FURTHER[0]
            axes.stairs(density, edges, color=side, lw=1.6, label=plain(name.removesuffix(" preprocessed")))
        axes.set(xlabel="inner product", ylabel="density")

    return draw


def _descent_panels(record: Record) -> list[_Panel]:
    fitted = record.get("fitted", {})
    if "losses" not in fitted:
        return []

    def draw(axes: Any) -> None:
        steps, losses = zip(*fitted["losses"], strict=True)
        axes.plot(steps, losses, color=SOURCE, lw=1.6, label="descent")
        axes.axhline(fitted["low_rank_objective"], color=TARGET, lw=1.6, ls="--", label="low rank")
        axes.set(xlabel="step", ylabel="objective")

    return [("The objective during descent", draw)]


def _write(panels: Sequence[_Panel], caption: str, path: Path) -> None:
    with drawing(path, (_PANEL[0] * len(panels), _PANEL[1]), layout="constrained") as figure:
        for place, (title, draw) in enumerate(panels):
            axes = figure.add_subplot(1, len(panels), place + 1)
            draw(axes)
            axes.set_title(title, loc="left", fontsize=FONT + 2, color=INK)
            axes.tick_params(labelsize=FONT - 1, colors=MUTED)
            for side in ("top", "right"):
                axes.spines[side].set_visible(False)
            axes.legend(frameon=False, fontsize=FONT - 1)
        figure.supxlabel(plain(caption), fontsize=FONT, color=MUTED)
