"""`fipp methods`, `fipp tune` and `fipp compare`: list methods, choose their settings, put them side by side."""

from __future__ import annotations

import inspect
import re
import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from fipp.cli import _align, _arguments, _console
from fipp.exceptions import FippError

if TYPE_CHECKING:
    from rich.table import Table

    from fipp.aligners import BaseAligner
    from fipp.experiments import MethodScore, Tuning
    from fipp.report import HeatMap

# Methods that share a class with others; the first line of the class docstring describes the rest.
_SUMMARIES = {
    "fipp": "Filtered Inner Product Projection: fits the inner products on which both sides nearly agree (ICLR 2021).",
    "fipp-published": "FIPP as in the paper and the authors' code, to reproduce published results.",
    "cca-rotation": "CCA as in the XLING comparison: each side is rotated to its canonical directions, not whitened.",
    "rcsls-spectral": "RCSLS with the spectral norm of the map held at 1 or less.",
    "vecmap": "VecMap, supervised: whitened, rotated and re-weighted maps of both sides from known pairs.",
    "vecmap-semi": "VecMap, semi-supervised: starts from known pairs and extends them by self-learning.",
    "vecmap-identical": "VecMap, self-learning from words that both sides spell alike.",
    "vecmap-unsupervised": "VecMap, self-learning from similar distributions of similarities, without any pairs.",
    "muse": "MUSE, supervised: a rotation from known pairs, refined on mutual CSLS neighbours.",
    "muse-adversarial": "MUSE, unsupervised: an adversarial start without pairs, refined on mutual CSLS neighbours.",
}

# What a method learns from, and whether it accepts guesses in place of known pairs.
_LEARNS_FROM = {
    ("pairs", False): "known pairs",
    ("pairs", True): "known pairs or spelling",
    ("identical", True): "identical words",
    ("spelling", True): "spelling or nothing",
    ("nothing", False): "nothing",
}
# The same setting in every method.
_PREPROCESS = (
    "What is done to the vectors of both sides first: none, unit, centre, isotropic, isotropic-textbook, iterative, "
    "or several joined by +, such as unit+centre. isotropic:3 removes three components instead of one."
)


def methods(
    name: Annotated[
        str | None, Argument(metavar="NAME", help="Describe this method and its settings.", show_default=False)
    ] = None,
    as_json: _arguments.Json = False,
) -> None:
    """List the methods with what each does and learns from; with NAME, list the settings of one method."""
    if name is None:
        _list(as_json)
    else:
        _describe(name, as_json)


def _list(as_json: bool) -> None:
    from fipp.aligners import METHODS

    described = {name: _as_dict(name, aligner) for name, aligner in METHODS.items()}
    if as_json:
        _console.show_json(described)
        return
    table = _console.table("name", "what it does", "learns from")
    table.columns[0].style = "bold"
    for name, method in described.items():
        table.add_row(name, method["summary"], method["learns_from"])
    _console.show(table, "fipp methods NAME lists the settings of a method.")


def _describe(name: str, as_json: bool) -> None:
    aligner = _arguments.make_aligner(name, {})
    described = _as_dict(name, aligner)
    meanings = _meanings(type(aligner))
    defaults = described["settings"]
    settings = {setting: {"default": defaults[setting], **told} for setting, told in meanings.items()}
    if as_json:
        _console.show_json({"name": name, **described, "settings": settings})
        return
    table = _console.table("setting", "default", "meaning")
    table.columns[0].style = "bold"
    for setting, told in settings.items():
        default = "none" if told["default"] is None else str(told["default"])
        table.add_row(setting, default, _console.text(told["meaning"], (f" ({told['values']})", "dim")))
    _console.show(
        _console.summary({"method": name, "does": described["summary"], "learns from": described["learns_from"]}), table
    )
    _console.show(f"Change a setting with --set, such as --set {next(iter(settings))}=VALUE.")


def _as_dict(name: str, aligner: BaseAligner) -> dict[str, Any]:
    return {
        "summary": _SUMMARIES.get(name) or (inspect.getdoc(type(aligner)) or "").partition("\n")[0],
        "learns_from": _LEARNS_FROM[aligner.learns_from, aligner.takes_guesses],
        "settings": _arguments.plain_settings(aligner),
    }


def _meanings(aligner: type[BaseAligner]) -> dict[str, dict[str, str]]:
    """Return values and meaning of each setting, from the section "Parameters" of the class docstring."""
    doc = inspect.getdoc(aligner) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n\S[^\n]*\n-+\n|\Z)", doc, re.DOTALL | re.MULTILINE)
    meanings: dict[str, dict[str, str]] = {}
    for entry in re.split(r"\n(?=\S)", section[1] if section else ""):
        head, _, body = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        values = re.sub(r',? (optional|default=.*)$|["{}]', "", kind)
        meaning = " ".join(body.replace("`", "").split())
        meanings |= {name: {"values": values, "meaning": meaning} for name in names.split(", ")}
    if "preprocess" in meanings:
        meanings["preprocess"] = {"values": "str or None", "meaning": _PREPROCESS}
    return meanings


def tune(
    source: _arguments.Source,
    target: _arguments.Target,
    dictionary: _arguments.Seed,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="MODEL", help="Fit the best settings on all pairs and write the model."),
    ] = None,
    method: _arguments.Method = "fipp",
    grid: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=A,B,…",
            help="Values of a setting to try, such as epsilon=0.05,0.1,none or preprocess=isotropic:1,isotropic:2; "
            "repeatable. Without it, the method's own grid is tried: for fipp, ε from 0.01 to 0.15 and λ from 0.25 to "
            "1.25.",
        ),
    ] = None,
    settings: _arguments.Settings = None,
    holdout: Annotated[
        float | None, Option(metavar="SHARE", help="Share of the source words to hold out; 0.2 by default.")
    ] = None,
    folds: Annotated[
        int | None, Option(metavar="K", help="Cross-validate in K folds instead of holding words out once.")
    ] = None,
    retrieval: _arguments.Retrieval = "nn",
    figure: Annotated[
        Path | None, Option(metavar="PNG", help="Draw a heat map; needs [bold]fipp\\[plot][/bold].")
    ] = None,
    random_state: _arguments.RandomState = 0,
    limit: _arguments.Limit = None,
    max_memory: _arguments.MaxMemory = None,
    reverse_dict: _arguments.ReverseDict = False,
    force: _arguments.Force = False,
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
    _arguments.check_model(output, force, source, target, dictionary)
    _arguments.check_output(figure, source, target, dictionary)
    if figure is not None:
        check_figures()
    lexicon = _arguments.load_lexicon(dictionary, strict=strict, reverse=reverse_dict)
    vectors = _arguments.load_both(source, target, report, limit=limit, strict=strict)
    report.note(f"{dictionary.name}: {_align.coverage(_arguments.look_up(lexicon, *vectors, force))}")

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
    corner = f"{panel.row_name} \\ {panel.column_name}" if panel.row_name else panel.column_name
    table = _console.table(corner, *panel.columns)
    for row, name in enumerate(panel.rows):
        cells = []
        for column, score in enumerate(panel.scores[row]):
            red, green, blue = map(round, panel.colours[row, column])
            ink, chosen = "white" if panel.dark[row, column] else "black", panel.best == (row, column)
            style = f"{'bold ' if chosen else ''}{ink} on rgb({red},{green},{blue})"
            cells.append(_console.text((f" {score:.4f}{'*' if chosen else ' '}", style)))
        table.add_row(name, *cells)
    return table


def compare(
    source: _arguments.Source,
    target: _arguments.Target,
    test: Annotated[
        Path, Option(metavar="TEST", help="Test dictionary, to score the methods; keep its pairs out of SEED.")
    ],
    dictionary: Annotated[
        Path | None, Option("--dict", metavar="SEED", help="Seed dictionary; unsupervised methods ignore it.")
    ] = None,
    methods: Annotated[
        str, Option(metavar="all|NAME,…", help="Which methods; [bold]fipp methods[/bold] lists them.")
    ] = "all",
    results: _arguments.Results = None,
    timeout: Annotated[float | None, Option(metavar="SECONDS", min=0, help="Stop a method that takes longer.")] = None,
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
