"""`fipp lexicon split`: a dictionary divided into two without a source word in both."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fipp.cli import _files, _options
from fipp.cli._lexicon import _common

EXAMPLE = "Example: [bold]fipp lexicon split en-fr.tsv seed.tsv test.tsv --size 0.8[/bold]"


def command(
    dictionary: _common.Dictionary,
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="Where to write the first part.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="Where to write the rest.")],
    size: Annotated[
        str, typer.Option(metavar="SIZE", help="Source words of the first part: a share such as 0.8, or a number.")
    ] = "0.8",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the random choice.")] = 0,
    alternatives: _common.Alternatives = None,
    min_score: _common.MinScore = None,
    strict: _options.Strict = False,
) -> None:
    """Divide a dictionary at random, to learn from one part and to test with the other.

    All pairs of a source word, in whatever case, go to the same part.
    """
    from fipp.exceptions import FippError

    _files.check_output(first, dictionary)
    _files.check_output(second, dictionary, first)
    if first.resolve() == second.resolve():
        raise FippError("the two parts need two files")
    lexicon = _common.load(dictionary, alternatives=alternatives, min_score=min_score, strict=strict)
    for part, path in zip(lexicon.split(_size(size), random_state=seed), (first, second), strict=True):
        _common.write(part, path)


def _size(text: str) -> float | int:
    from fipp.exceptions import FippError

    try:
        return int(text) if text.strip().isdecimal() else float(text)
    except ValueError:
        raise FippError(f"--size is a share such as 0.8 or a number such as 1000, not {text!r}") from None
