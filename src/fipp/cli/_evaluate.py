"""`fipp eval`: how well a model finds the translations of a test dictionary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fipp.cli import _console, _files, _options, _tables

if TYPE_CHECKING:
    from fipp import BLIResult

EXAMPLE = "Example: [bold]fipp eval en-fr.fipp en.vec fr.vec --dict test.tsv --retrieval csls[/bold]"


def command(
    model: _options.Model,
    source: _options.Source,
    target: _options.Target,
    dictionary: Annotated[
        Path, typer.Option("--dict", metavar="TEST", help="Pairs that the model was not learned from, one a line.")
    ],
    retrieval: _options.Retrieval = "nn",
    limit: _options.Limit = None,
    max_memory: _options.MaxMemory = None,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Measure how well MODEL finds the translations of a test dictionary.

    Pairs that are not in both vocabularies cannot be looked up; the coverage says how many could.
    """
    from fipp.linalg._memory import parse_memory
    from fipp.retrieve._options import check_retrieval

    report = _console.Reporter(quiet or as_json)
    check_retrieval(retrieval)
    parse_memory(max_memory)
    lexicon = _files.load_lexicon(dictionary)
    alignment = _files.load_alignment(model, source, target, report, limit=limit)
    with report.progress("ranking") as progress:
        result = alignment.evaluate(lexicon, retrieval=retrieval, max_memory=max_memory, progress=progress)
    if as_json:
        _console.show_json(result.as_dict())
    else:
        _show(result)


def _show(result: BLIResult) -> None:
    table = _tables.table("MAP", "MRR", "P@1", "P@5", "P@10", "pairs", "coverage", "retrieval")
    scores = (result.map, result.mrr, result.p_at_1, result.p_at_5, result.p_at_10)
    coverage = f"{result.pairs:,} of {result.total:,} ({100 * result.coverage:.1f} %)"
    table.add_row(*(f"{score:.4f}" for score in scores), f"{result.pairs:,}", coverage, result.retrieval)
    _console.show(table)
