"""`fipp lexicon cognates`: words that look alike, across scripts too."""

from __future__ import annotations

from typing import Annotated

import typer

from fipp.cli import _console, _files, _options
from fipp.cli._lexicon import _common

EXAMPLE = "Example: [bold]fipp lexicon cognates en.vec ru.vec seed.tsv --max-distance 0.2[/bold]"


def command(
    source: _options.Source,
    target: _options.Target,
    output: _common.Output,
    max_distance: Annotated[
        float, typer.Option(metavar="D", help="Edits a letter of the longer word, less than 0.5.")
    ] = 0.15,
    min_length: Annotated[int, typer.Option(metavar="N", min=1, help="Leave out words with fewer letters.")] = 5,
    max_rank_ratio: Annotated[
        float,
        typer.Option(
            metavar="R", help="Leave out pairs if one word's frequency rank is R times the other's; 0 keeps all."
        ),
    ] = 7.5,
    limit: _options.Limit = None,
    quiet: _options.Quiet = False,
) -> None:
    """Pair words that look alike in Latin letters and are of like frequency; the third column is how alike.

    Both files must be in order of frequency, as most are; if not, --max-rank-ratio 0. Many pairs will be wrong.
    """
    from fipp import Lexicon

    report = _console.Reporter(quiet)
    _files.check_output(output, source, target)
    vocabularies = [_files.load_vectors(path, report, limit=limit) for path in (source, target)]
    with report.progress("comparing") as progress:
        found = Lexicon.cognates(
            *vocabularies,
            max_distance=max_distance,
            min_length=min_length,
            max_rank_ratio=max_rank_ratio or None,
            progress=progress,
        )
    _common.write(found, output, "a larger --max-distance finds more")
