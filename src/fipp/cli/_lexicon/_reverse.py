"""`fipp lexicon reverse`: target words first."""

from __future__ import annotations

from fipp.cli import _files, _options
from fipp.cli._lexicon import _common

EXAMPLE = "Example: [bold]fipp lexicon reverse en-fr.tsv fr-en.tsv[/bold]"


def command(
    dictionary: _common.Dictionary,
    output: _common.Output,
    alternatives: _common.Alternatives = None,
    min_score: _common.MinScore = None,
    strict: _options.Strict = False,
) -> None:
    """Write a dictionary from target to source."""
    _files.check_output(output, dictionary)
    lexicon = _common.load(dictionary, alternatives=alternatives, min_score=min_score, strict=strict)
    _common.write(lexicon.reverse(), output)
