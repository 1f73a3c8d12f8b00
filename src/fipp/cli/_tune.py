"""`fipp tune`: choose the settings of a method on held-out pairs of the seed dictionary."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fipp.cli import _align, _console, _files, _options, _tables

if TYPE_CHECKING:
    from rich.table import Table

    from fipp.experiments import Tuning
    from fipp.report import HeatMap

EXAMPLE = "Example: [bold]fipp tune en.vec fr.vec --dict seed.tsv --components 1,2,3 -o en-fr.fipp[/bold]"

# The colours of the picture, from low to high.
_LOW, _HIGH = (247, 250, 253), (27, 99, 181)


def command(
    source: _options.Source,
    target: _options.Target,
    dictionary: Annotated[
        Path, typer.Option("--dict", metavar="SEED", help="Known pairs, one a line; never those of the test.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="MODEL", help="Fit the best settings on all pairs and write the model."),
    ] = None,
    method: Annotated[str, typer.Option(metavar="fipp|procrustes", help="Whose settings to choose.")] = "fipp",
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B,…",
            help="Values to try of a setting, such as epsilon=0.05,0.1,none or lambda=0.5,1; may be given several "
            "times. Without it, the method's own: for fipp, ε 0.01 to 0.15 and λ 0.25 to 1.25.",
        ),
    ] = None,
    components: Annotated[
        str | None,
        typer.Option(metavar="1,2,…", help="Numbers of components for isotropic preprocessing to remove."),
    ] = None,
    holdout: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Share of the source words to hold out; 0.2 by default.")
    ] = None,
    folds: Annotated[
        int | None, typer.Option(metavar="K", help="Divide the words into K parts and hold out each in turn.")
    ] = None,
    preprocess: Annotated[
        str | None, typer.Option(metavar="NAME", help="What is done to vectors first; as for fipp align.")
    ] = None,
    retrieval: _options.Retrieval = "nn",
    figure: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw a heat map; needs [bold]fipp\\[plot][/bold].")
    ] = None,
    random_state: Annotated[int, typer.Option(metavar="N", min=0, help="Which words are held out.")] = 0,
    limit: _options.Limit = None,
    max_memory: _options.MaxMemory = None,
    reverse_dict: _options.ReverseDict = False,
    strict: _options.Strict = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Choose settings on held-out pairs of SEED: fit on the others, look these up, take what finds most.

    Source words are divided, so that none is both learned from and looked up. Keep a test dictionary out of this.
    """
    import fipp
    from fipp.experiments import check_grid
    from fipp.linalg import parse_memory
    from fipp.report import check_figures
    from fipp.retrieve import check_retrieval

    report = _console.Reporter(quiet or as_json)
    check_retrieval(retrieval)
    parse_memory(max_memory)
    aligner = _align._make_aligner(method, {"max_memory": max_memory}, preprocess, None)
    wanted = _parse_grid(grid, components)
    check_grid(aligner, wanted["grid"], wanted["components"])
    for path in (output, figure):
        if path is not None:
            _files.check_output(path, source, target, dictionary)
    if figure is not None:
        check_figures()
    lexicon = _files.load_lexicon(dictionary, strict=strict, reverse=reverse_dict)
    source_vectors = _files.load_vectors(source, report, limit=limit, strict=strict)
    target_vectors = _files.load_vectors(target, report, limit=limit, strict=strict)
    coverage = _align._coverage(lexicon.lookup(source_vectors, target_vectors).require())
    report.note(f"{dictionary.name}: {coverage}")

    started = time.perf_counter()
    with report.progress("trying settings") as progress:
        tuning = fipp.tune(
            source_vectors,
            target_vectors,
            lexicon,
            aligner,
            holdout=holdout,
            folds=folds,
            retrieval=retrieval,
            refit=output is not None,
            random_state=random_state,
            max_memory=max_memory,
            progress=progress,
            **wanted,
        )
    seconds = time.perf_counter() - started
    _write(tuning, output, figure)
    if as_json:
        written = {"model": output and str(output), "figure": figure and str(figure)}
        _console.show_json({**tuning.as_dict(), "seconds": seconds, **written})
    else:
        _show(tuning, seconds, output, figure)


def _write(tuning: Tuning, output: Path | None, figure: Path | None) -> None:
    if output is not None and tuning.alignment is not None:
        tuning.alignment.save(output)
        _console.written.append(output)
    if figure is not None:
        from fipp.report import plot_grid

        plot_grid(tuning, figure)
        _console.written.append(figure)


def _parse_grid(grid: Sequence[str] | None, components: str | None) -> dict[str, Any]:
    """Read ``epsilon=0.05,none`` and ``1,2,3``."""
    from fipp.exceptions import FippError

    names = {option: setting for setting, option in _align._OPTIONS.items()}
    wanted = {}
    for text in grid or ():
        name, equals, values = text.partition("=")
        if not equals or not values.strip():
            raise FippError(f"--grid takes a setting and its values, such as epsilon=0.05,0.1, not {text!r}")
        wanted[names.get(name.strip(), name.strip())] = [
            _options.parse_value(value.strip()) for value in values.split(",")
        ]
    numbers = None
    if components is not None:
        numbers = [_options.parse_value(value.strip()) for value in components.split(",")]
        if not all(isinstance(number, int) and number >= 0 for number in numbers):
            raise FippError(f"--components takes whole numbers joined by commas, such as 1,2,3, not {components!r}")
    return {"grid": wanted or None, "components": numbers}


def _show(tuning: Tuning, seconds: float, output: Path | None, figure: Path | None) -> None:
    from fipp.experiments import format_settings
    from fipp.report import heat_maps

    _console.heading("Mean reciprocal rank of held-out pairs; * is the best")
    for panel in heat_maps(tuning):
        if panel.title:
            _console.show(panel.title)
        _console.show(_heat_table(panel))
    best, folds = tuning.best, tuning.folds
    rows = {
        "best": f"{tuning.method.lower()}: {format_settings(best.params)}",
        "MRR": f"{best.mrr:.4f} ± {best.standard_error:.4f} by {tuning.retrieval}",
        "held out": f"{tuning.holdout:,} source words{f', {folds} folds' if folds else ''}; "
        f"{tuning.pairs:,} pairs in all",
        "time": f"{seconds:.1f} s",
    }
    if tuning.defaults is not None and tuning.defaults is not best:
        default = tuning.defaults
        rows["defaults"] = f"{default.mrr:.4f}, behind by {default.behind:.4f} ± {default.behind_error:.4f}"
    if output is not None:
        rows["model"] = f"{output} ({output.stat().st_size / 1000:,.0f} kB), fitted on all pairs"
    if figure is not None:
        rows["figure"] = str(figure)
    _console.show(_tables.summary(rows), tuning.note)


def _heat_table(panel: HeatMap) -> Table:
    from rich.style import Style
    from rich.text import Text

    corner = f"{panel.row_name} \\ {panel.column_name}" if panel.row_name else panel.column_name
    table = _tables.table(corner, *panel.columns)
    for row, name in enumerate(panel.rows):
        cells = []
        for column, score in enumerate(panel.scores[row]):
            shade = float(panel.shades[row, column])
            red, green, blue = (round(low + shade * (high - low)) for low, high in zip(_LOW, _HIGH, strict=True))
            ink, chosen = "white" if shade > 0.55 else "black", panel.best == (row, column)
            style = Style(color=ink, bgcolor=f"rgb({red},{green},{blue})", bold=chosen)
            cells.append(Text(f" {score:.4f}{'*' if chosen else ' '}", style=style))
        table.add_row(name, *cells)
    return table
