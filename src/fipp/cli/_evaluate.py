"""`fipp eval`: how well a model finds the translations of a test dictionary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fipp.cli import _console, _files, _options, _tables

if TYPE_CHECKING:
    from rich.table import Table

    from fipp import BLIResult
    from fipp.evaluate import SelfEvaluation

_LEVEL = 0.95

EXAMPLE = "Example: [bold]fipp eval en-fr.fipp en.vec fr.vec --dict test.tsv --retrieval csls[/bold]"


def command(
    model: _options.Model,
    source: _options.Source,
    target: _options.Target,
    dictionary: Annotated[
        Path | None,
        typer.Option(
            "--dict",
            metavar="TEST",
            help="Pairs that the model was not learned from, one a line. Without it, seed pairs are cross-validated.",
        ),
    ] = None,
    retrieval: _options.Retrieval = "nn",
    interval: Annotated[
        bool, typer.Option("--interval", metavar=_options.FLAG, help="Add 95 % bootstrap confidence intervals.")
    ] = False,
    bands: Annotated[
        bool,
        typer.Option(
            "--bands",
            metavar=_options.FLAG,
            help="Add scores by frequency of the source word, whose row number tells it.",
        ),
    ] = False,
    limit: _options.Limit = None,
    max_memory: _options.MaxMemory = None,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Measure how well MODEL finds the translations of a test dictionary.

    Pairs that are not in both vocabularies cannot be looked up; the coverage says how many could. Without a test
    dictionary, maps are learned from parts of the seed pairs and tried on the others, and mutual nearest neighbours
    counted.
    """
    from fipp.linalg._memory import parse_memory
    from fipp.retrieve._options import check_retrieval

    report = _console.Reporter(quiet or as_json)
    check_retrieval(retrieval)
    parse_memory(max_memory)
    lexicon = None if dictionary is None else _files.load_lexicon(dictionary)
    alignment = _files.load_alignment(model, source, target, report, limit=limit)
    result: BLIResult | SelfEvaluation
    with report.progress("ranking" if lexicon is not None else "cross-validating") as progress:
        result = alignment.evaluate(lexicon, retrieval=retrieval, max_memory=max_memory, progress=progress)
    if as_json:
        _console.show_json(result.as_dict(interval=_LEVEL if interval else None, bands=bands))
    else:
        _show(result, interval, bands)


def _show(result: BLIResult | SelfEvaluation, interval: bool, bands: bool) -> None:
    from fipp import BLIResult

    scores = result if isinstance(result, BLIResult) else result.cross_validation
    if not isinstance(result, BLIResult):
        _console.heading(f"no test dictionary: {result.folds}-fold cross-validation on the seed pairs")
    table = _tables.table("MAP", "MRR", "P@1", "P@5", "P@10", "pairs", "coverage", "retrieval")
    _add_rows(table, scores, interval)
    _console.show(table)
    if bands:
        _console.heading("by row number of the source word, frequent words first")
        table = _tables.table("rows", "MAP", "MRR", "P@1", "P@5", "P@10", "pairs", "coverage", "retrieval")
        for name, part in scores.by_band().items():
            _add_rows(table, part, interval, name)
        _console.show(table)
    if not isinstance(result, BLIResult):
        _console.show(
            f"mutual nearest neighbours: {100 * result.mutual_rate:.1f} % of the first {result.words:,} words, "
            f"mean CSLS {result.mean_csls:.4f}"
        )


def _add_rows(table: Table, result: BLIResult, interval: bool, *name: str) -> None:
    """Add the scores, and below each its interval."""
    from fipp.evaluate._bli import MEASURES

    scores = (result.map, result.mrr, result.p_at_1, result.p_at_5, result.p_at_10)
    coverage = f"{result.pairs:,} of {result.total:,} ({100 * result.coverage:.1f} %)"
    table.add_row(*name, *(f"{score:.4f}" for score in scores), f"{result.pairs:,}", coverage, result.retrieval)
    if interval:
        ends = (result.interval(measure, _LEVEL) for measure in MEASURES)
        table.add_row(*("" for _ in name), *(f"{low:.4f}-{high:.4f}" for low, high in ends))
