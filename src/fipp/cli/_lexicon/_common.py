"""Arguments and steps that the subcommands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fipp.cli import _console

if TYPE_CHECKING:
    from fipp import Lexicon

Dictionary = Annotated[
    Path, typer.Argument(metavar="DICT", help="Pairs, one a line, separated by tab, white space, comma or semicolon.")
]
Output = Annotated[
    Path, typer.Argument(metavar="OUT", help="Where to write the pairs: tab-separated, or by commas in .csv.")
]
Alternatives = Annotated[
    str | None,
    typer.Option(metavar="CHARS", help="Characters between several translations of a word, such as ',;'."),
]
MinScore = Annotated[
    float | None, typer.Option(metavar="S", help="Leave out pairs whose third column is less, or no number.")
]


def load(
    path: Path, *, alternatives: str | None = None, min_score: float | None = None, strict: bool = False
) -> Lexicon:
    """Read a dictionary, and say so if lines of it could not be used."""
    from fipp import Lexicon

    lexicon = Lexicon.load(path, strict, alternatives=alternatives, min_score=min_score)
    remarks = lexicon.report.summary() if lexicon.report else None
    if remarks:
        _console.warn(remarks)
    return lexicon


def write(lexicon: Lexicon, path: Path, hint: str = "") -> None:
    """Write a dictionary and say how many pairs it has; ``hint`` is for one that has none."""
    from fipp.exceptions import FippError
    from fipp.io import counted

    if not len(lexicon):
        raise FippError(f"no pairs were found, so {path} was not written{hint and '; '}{hint}")
    lexicon.save(path)
    _console.written.append(path)
    _console.show(f"{path}: {counted(len(lexicon), 'pair')}")
