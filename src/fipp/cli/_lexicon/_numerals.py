"""`fipp lexicon numerals`: numbers that are in two vocabularies."""

from __future__ import annotations

from fipp.cli import _console, _files, _options
from fipp.cli._lexicon import _common

EXAMPLE = "Example: [bold]fipp lexicon numerals en.vec ar.vec seed.tsv[/bold]"


def command(
    source: _options.Source,
    target: _options.Target,
    output: _common.Output,
    limit: _options.Limit = None,
    quiet: _options.Quiet = False,
) -> None:
    """Pair equal numerals, in whatever digits they are written."""
    from fipp import Lexicon

    report = _console.Reporter(quiet)
    _files.check_output(output, source, target)
    vocabularies = [_files.load_vectors(path, report, limit=limit) for path in (source, target)]
    _common.write(Lexicon.numerals(*vocabularies), output)
