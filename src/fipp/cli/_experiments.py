"""`fipp tune` and `fipp compare`: choose the settings of a method, and put methods side by side."""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fipp.cli import _align, _arguments, _console
from fipp.exceptions import FippError

if TYPE_CHECKING:
    from rich.table import Table

    from fipp.experiments import MethodScore, Tuning
    from fipp.report import HeatMap

# The colours of the heat map, from low to high.
_LOW, _HIGH = (247, 250, 253), (27, 99, 181)


def tune(
    source: _arguments.Source,
    target: _arguments.Target,
    dictionary: _arguments.Seed,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="MODEL", help="Fit the best settings on all pairs and write the model."),
    ] = None,
    method: _arguments.Method = "fipp",
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B,…",
            help="Values of a setting to try, such as epsilon=0.05,0.1,none or preprocess=isotropic:1,isotropic:2; "
            "repeatable. Without it, the grid of the method: for fipp, ε from 0.01 to 0.15 and λ from 0.25 to 1.25.",
        ),
    ] = None,
    settings: _arguments.Settings = None,
    holdout: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Share of the source words to hold out; 0.2 by default.")
    ] = None,
    folds: Annotated[
        int | None, typer.Option(metavar="K", help="Cross-validate in K folds instead of holding words out once.")
    ] = None,
    retrieval: _arguments.Retrieval = "nn",
    figure: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw a heat map; needs [bold]fipp\\[plot][/bold].")
    ] = None,
    random_state: _arguments.RandomState = 0,
    limit: _arguments.Limit = None,
    max_memory: _arguments.MaxMemory = None,
    reverse_dict: _arguments.ReverseDict = False,
    strict: _arguments.Strict = False,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Choose the settings of a method on held-out pairs of the seed dictionary.

    Each combination is fitted on some of the pairs and scored on the others. No source word is in both. Do not tune on
    the test dictionary: keep it for [bold]fipp eval[/bold].
    """
    import fipp
    from fipp.report import check_figures

    report = _console.Reporter(quiet or as_json)
    _arguments.check_retrieval(retrieval)
    fixed = _arguments.parse_settings(settings)
    aligner = _arguments.make_aligner(method, fixed, max_memory)
    assigned = _arguments.parse_assignments(grid, "--grid", "epsilon=0.05,0.1")
    wanted = {
        name: [_arguments.parse_value(value.strip()) for value in values.split(",")]
        for name, values in assigned.items()
    }
    if not wanted and not aligner.default_grid:
        raise FippError(f"{method} has no grid of its own: name the values to try with --grid NAME=A,B")
    for combination in product(*wanted.values()):  # refuse wrong values before the vectors are read
        _arguments.make_aligner(method, {**fixed, **dict(zip(wanted, combination, strict=True))}, max_memory)
    for path in (output, figure):
        _arguments.check_output(path, source, target, dictionary)
    if figure is not None:
        check_figures()
    lexicon = _arguments.load_lexicon(dictionary, strict=strict, reverse=reverse_dict)
    vectors = _arguments.load_both(source, target, report, limit=limit, strict=strict)
    report.note(f"{dictionary.name}: {_align.coverage(lexicon.lookup(*vectors).require())}")

    started = time.perf_counter()
    with report.progress("trying settings") as progress:
        tuning = fipp.tune(
            *vectors,
            lexicon,
            aligner,
            grid=wanted or None,
            holdout=holdout,
            folds=folds,
            retrieval=retrieval,
            refit=output is not None,
            random_state=random_state,
            max_memory=max_memory,
            progress=progress,
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
        _arguments.save(tuning.alignment, output)
    if figure is not None:
        from fipp.report import plot_grid

        plot_grid(tuning, figure)
        _console.written.append(figure)


def _show(tuning: Tuning, seconds: float, output: Path | None, figure: Path | None) -> None:
    from fipp.experiments import format_settings
    from fipp.report import heat_maps

    _console.heading("Mean reciprocal rank of held-out pairs; * marks the best")
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
    _console.show(_console.summary(rows), tuning.note)


def _heat_table(panel: HeatMap) -> Table:
    from rich.style import Style
    from rich.text import Text

    corner = f"{panel.row_name} \\ {panel.column_name}" if panel.row_name else panel.column_name
    table = _console.table(corner, *panel.columns)
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


def compare(
    source: _arguments.Source,
    target: _arguments.Target,
    test: Annotated[
        Path, typer.Option(metavar="TEST", help="Test dictionary, to score the methods; keep its pairs out of SEED.")
    ],
    dictionary: Annotated[
        Path | None, typer.Option("--dict", metavar="SEED", help="Seed dictionary; unsupervised methods ignore it.")
    ] = None,
    methods: Annotated[
        str, typer.Option(metavar="all|NAME,…", help="Which methods; [bold]fipp methods[/bold] lists them.")
    ] = "all",
    results: _arguments.Results = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="Stop a method that takes longer.")
    ] = None,
    format: _arguments.Format = "markdown",
    output: _arguments.TablesOutput = None,
    limit: _arguments.Limit = None,
    strict: _arguments.Strict = False,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Align SRC with TGT by every method, and print scores, seconds and memory side by side.

    Each method runs in its own process. For a method that fails, the table shows the reason.
    """
    import fipp

    _arguments.check_format(format)
    chosen = "all" if methods.strip().lower() == "all" else _arguments.split_names(methods) or ()
    for name in chosen if chosen != "all" else ():
        _arguments.make_aligner(name, {})
    for path in (output, results):
        _arguments.check_output(path, source, target, test, dictionary)
    report = _console.Reporter(quiet or as_json)
    seed = None if dictionary is None else _arguments.load_lexicon(dictionary, strict=strict)
    pairs = _arguments.load_lexicon(test, strict=strict)
    vectors = _arguments.load_both(source, target, report, limit=limit, strict=strict)
    if results is not None:
        _console.written.append(results)  # after Ctrl-C too, it has everything that was finished

    def tell(score: MethodScore) -> None:
        report.note(str(score))
        for remark in score.warnings:
            _console.warn(f"{score.name}: {remark}")

    with report.progress("comparing") as progress:
        compared = fipp.compare(
            *vectors, seed, pairs, chosen, timeout=timeout, results_path=results, progress=progress, on_result=tell
        )
    show_tables(compared.render(format), compared.as_dict(), output, as_json)


def show_tables(text: str, told: dict[str, Any], output: Path | None, as_json: bool) -> None:
    """Print tables, or write them to ``output``; with ``as_json``, print one JSON object in any case."""
    if output is not None or not as_json:
        _arguments.write_text(text, output)
    if as_json:
        _console.show_json(told)
