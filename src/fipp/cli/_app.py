"""The command `fipp` and its subcommands."""

from __future__ import annotations

import io
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fipp._version import __version__
from fipp.cli import (
    _align,
    _analogies,
    _compare,
    _convert,
    _demo,
    _download,
    _downstream,
    _evaluate,
    _info,
    _lexicon,
    _methods,
    _options,
    _similarity,
    _transform,
    _translate,
    _tune,
    _xling,
)
from fipp.cli._failures import readable_failures


class _Commands(TyperGroup):
    """A group whose commands all fail in the same readable way."""

    def invoke(self, ctx: Any) -> Any:  # typer has changed the type of a context before
        with readable_failures():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fipp {__version__}")
        raise typer.Exit


@app.callback(epilog="Start with [bold]fipp demo[/bold]: it needs no data, no network and a few seconds.")
def _fipp(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar=_options.FLAG, callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Bring two embedding spaces together from a few known pairs, and learn how well it worked.

    Results go to standard output; notes, warnings and progress to standard error.

    Exit codes: 0 if all went well, 2 if something was wrong with what was given, 130 after Ctrl-C.
    """


for _name, _module in {
    "align": _align,
    "tune": _tune,
    "methods": _methods,
    "compare": _compare,
    "eval": _evaluate,
    "translate": _translate,
    "transform": _transform,
    "convert": _convert,
    "info": _info,
    "similarity": _similarity,
    "analogies": _analogies,
    "download": _download,
    "xling": _xling,
    "demo": _demo,
}.items():
    app.command(_name, epilog=_module.EXAMPLE)(_module.command)
app.add_typer(_lexicon.app, name="lexicon")
app.add_typer(_downstream.app, name="downstream")


def main() -> None:
    """Run the command line: the entry point of ``fipp``."""
    # A word or a file name that the terminal's encoding does not have is escaped rather than fatal.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    app(prog_name="fipp")
