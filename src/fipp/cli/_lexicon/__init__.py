"""`fipp lexicon`: dictionaries checked, divided, turned and made. One module for each subcommand."""

from __future__ import annotations

import typer

from fipp.cli._lexicon import _check, _cldr, _cognates, _identical, _numerals, _reverse, _split

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Check, divide and turn dictionaries, or make one where there is none.",
    epilog=_cldr.EXAMPLE,
)

for _name, _module in {
    "check": _check,
    "split": _split,
    "reverse": _reverse,
    "identical": _identical,
    "numerals": _numerals,
    "cognates": _cognates,
    "cldr": _cldr,
}.items():
    app.command(_name, epilog=_module.EXAMPLE)(_module.command)
