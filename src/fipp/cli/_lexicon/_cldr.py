"""`fipp lexicon cldr`: names of countries, months, animals, … in two languages."""

from __future__ import annotations

from typing import Annotated

import typer

from fipp.cli import _files, _options
from fipp.cli._lexicon import _common

EXAMPLE = "Example: [bold]fipp lexicon cldr en fr seed.tsv[/bold]"


def command(
    source: Annotated[str, typer.Argument(metavar="LANG", help="The source language: en, pt-BR, zh-Hant.")],
    target: Annotated[str, typer.Argument(metavar="LANG", help="The target language.")],
    output: _common.Output,
    kinds: Annotated[
        str | None,
        typer.Option(
            metavar="KIND,…",
            help="Which names: territories, languages, scripts, months, weekdays, currencies, units, cities, emoji.",
        ),
    ] = None,
    phrases: Annotated[
        bool, typer.Option("--phrases", metavar=_options.FLAG, help="Take names of several words too.")
    ] = False,
    keep_case: Annotated[
        bool, typer.Option("--keep-case", metavar=_options.FLAG, help="Leave capital letters as they are.")
    ] = False,
) -> None:
    """Write the names that Unicode's CLDR has in two languages: a seed for people who have no dictionary.

    Needs Babel and emoji, the extra 'cldr' of the package. Languages without emoji names have fewer pairs.
    """
    from fipp import Lexicon

    _files.check_output(output)
    found = Lexicon.from_cldr(
        source,
        target,
        kinds=None if kinds is None else [kind.strip() for kind in kinds.split(",")],
        single_words=not phrases,
        lower=not keep_case,
    )
    _common.write(found, output, "the two languages share no names of these kinds")
