"""`fipp lexicon identical`: words that two vocabularies spell alike."""

from __future__ import annotations

from typing import Annotated

import typer

from fipp.cli import _console, _files, _options
from fipp.cli._lexicon import _common

EXAMPLE = "Example: [bold]fipp lexicon identical en.vec fr.vec seed.tsv --min-length 5[/bold]"


def command(
    source: _options.Source,
    target: _options.Target,
    output: _common.Output,
    min_length: Annotated[int, typer.Option(metavar="N", min=1, help="Leave out shorter words.")] = 1,
    no_numerals: Annotated[
        bool, typer.Option("--no-numerals", metavar=_options.FLAG, help="Leave out numerals.")
    ] = False,
    limit: _options.Limit = None,
    quiet: _options.Quiet = False,
) -> None:
    """Pair the words that two vocabularies spell alike. Some are alike by chance; longer ones are more often right."""
    from fipp import Lexicon

    report = _console.Reporter(quiet)
    _files.check_output(output, source, target)
    vocabularies = [_files.load_vectors(path, report, limit=limit) for path in (source, target)]
    found = Lexicon.identical(*vocabularies, min_length=min_length, numerals=not no_numerals)
    _common.write(found, output, "words in different scripts need `fipp lexicon cognates`")
