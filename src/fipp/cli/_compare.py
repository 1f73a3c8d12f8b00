"""`fipp compare`: every method on one pair of vocabularies, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fipp.cli import _console, _files, _options

if TYPE_CHECKING:
    from fipp.experiments import MethodScore

EXAMPLE = "Example: [bold]fipp compare en.vec fr.vec --dict seed.tsv --test test.tsv --keep compared.jsonl[/bold]"


def command(
    source: _options.Source,
    target: _options.Target,
    test: Annotated[
        Path, typer.Option(metavar="TEST", help="What all are scored on: pairs that are not in the seed dictionary.")
    ],
    dictionary: Annotated[
        Path | None,
        typer.Option("--dict", metavar="SEED", help="What supervised methods learn from; the others do not see it."),
    ] = None,
    methods: Annotated[
        str, typer.Option(metavar="all|NAME,…", help="Which; [bold]fipp methods[/bold] lists the names.")
    ] = "all",
    keep: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Keep results here as they come; what it holds is not run again."),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="Stop a method that takes longer.")
    ] = None,
    format: _options.Format = "markdown",
    output: _options.TablesOutput = None,
    limit: _options.Limit = None,
    strict: _options.Strict = False,
    quiet: _options.Quiet = False,
) -> None:
    """Align SRC with TGT by every method, and print their scores, seconds and memory side by side.

    Each method runs in a process of its own. One that cannot run is in the table with the reason.
    """
    import fipp
    from fipp.experiments import as_methods, check_format

    check_format(format)
    chosen = as_methods("all" if methods.strip().lower() == "all" else _options.split_names(methods) or ())
    for written in filter(None, (output, keep)):
        _files.check_output(written, source, target, test, *([dictionary] if dictionary else []))
    report = _console.Reporter(quiet)
    seed = None if dictionary is None else _files.load_lexicon(dictionary, strict=strict)
    pairs = _files.load_lexicon(test, strict=strict)
    X, Y = (_files.load_vectors(path, report, limit=limit, strict=strict) for path in (source, target))
    if keep is not None:
        _console.written.append(keep)  # it holds whatever is finished, also after Ctrl-C

    def tell(score: MethodScore) -> None:
        report.note(str(score))
        for remark in score.warnings:
            _console.warn(f"{score.name}: {remark}")

    with report.progress("comparing") as progress:
        compared = fipp.compare(
            X, Y, seed, pairs, chosen, timeout=timeout, results_path=keep, progress=progress, on_result=tell
        )
    _files.write_text(compared.render(format), output)
