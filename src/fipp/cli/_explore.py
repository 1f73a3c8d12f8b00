"""`fipp explore`: a local web page to look at a model, improve its dictionary and learn it again."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from threading import Thread
from typing import Annotated

from typer import Option

import fipp
from fipp._optional import require
from fipp.cli import _arguments, _console
from fipp.exceptions import FippError


def explore(
    model: _arguments.Model,
    source: _arguments.Source,
    target: _arguments.Target,
    second: Annotated[
        Path | None, Option(metavar="MODEL2", help="Another model of the same vectors, shown beside the first.")
    ] = None,
    test: Annotated[
        Path | None,
        Option(
            metavar="TEST",
            help="Test dictionary to measure with. Without it, a fifth of the seed's source words is held out.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Where to save the dictionary and the model; they can be downloaded.",
        ),
    ] = None,
    port: Annotated[int, Option(metavar="N", min=0, max=65535, help="Port; 0 takes a free one.")] = 0,
    host: Annotated[
        str,
        Option(metavar="ADDRESS", help="Address to listen on. Other machines can reach it with the token printed."),
    ] = "127.0.0.1",
    no_browser: Annotated[bool, Option("--no-browser", help="Do not open the page in a browser.")] = False,
    names: _arguments.Names = None,
    limit: _arguments.Limit = None,
    quiet: _arguments.Quiet = False,
) -> None:
    """Explore a model in the browser: type a word and see its translations, both ways, by cosine and by CSLS.

    The page shows neighbours, a map, and the seed pairs nearby with the share that FIPP's filter kept of each. Mark
    seed pairs as wrong, add or correct some, learn the model again, and see how the score changes; everything can
    be undone.

    The page needs no network. /api/openapi.json describes its JSON API. Ctrl-C ends it.
    """
    for package in ("starlette", "uvicorn"):  # before the vectors are read, which takes long
        require(package, "fipp explore", extra="explore")
    if output is not None and not output.is_dir():
        raise FippError(f"{output} is not a folder: make it first")
    called = _arguments.names_of(names, source, target)
    report = _console.Reporter(quiet)
    if second is not None:
        fipp.Alignment.load(second)  # refuse a wrong file before anything long is done
    lexicon = None if test is None else _arguments.load_lexicon(test)
    alignment = _arguments.load_alignment(model, source, target, report, limit=limit)
    other = None if second is None else fipp.Alignment.load(second, alignment.source, alignment.target)
    with report.progress("preparing"):
        session = fipp.explore.Session(
            alignment,
            other,
            test=lexicon,
            names=called,
            folder=output,
        )

    def ready(address: str) -> None:
        _console.show(address)
        report.note("Ctrl-C ends the explorer")
        if not no_browser:
            Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    fipp.explore.serve(session, host=host, port=port, ready=ready)
