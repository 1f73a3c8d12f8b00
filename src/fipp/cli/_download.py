"""`fipp download`: public vectors and dictionaries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fipp.cli import _console, _options, _tables

EXAMPLE = "Example: [bold]fipp download xling:en-hr fasttext:en fasttext:hr --to data[/bold]"


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME…", help="Data sets, such as fasttext:hr, muse:en-hr, xling:en-fr, xling."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="Where to put the files.  [default: the user's cache folder]"),
    ] = None,
    list_all: Annotated[
        bool,
        typer.Option("--list", metavar=_options.FLAG, help="Show what there is, with licences; or the files of NAME…."),
    ] = False,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="Without a byte for so long, a connection is tried again.")
    ] = 30.0,
    force: Annotated[
        bool, typer.Option("--force", metavar=_options.FLAG, help="Download again what is there already.")
    ] = False,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", metavar=_options.FLAG, help="Do not compare known checksums.")
    ] = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Download public vectors and dictionaries, and print where their files are.

    What was cut or interrupted is gone on with by the same command; what is there already is not downloaded again.
    The environment variable FIPP_MIRROR names a mirror, which has each file as MIRROR/HOST/PATH.
    """
    from fipp.datasets import download, find_data_set
    from fipp.exceptions import FippError

    if list_all:
        _list(names or [], as_json)
        return
    if not names:
        raise FippError("name a data set, such as fasttext:hr; `fipp download --list` shows all")
    report = _console.Reporter(quiet or as_json)
    data_sets = [find_data_set(name) for name in names]  # a wrong name is refused before anything is downloaded
    results: list[dict[str, Any]] = []
    for data_set in data_sets:
        report.note(f"{data_set.name}: {data_set.title}; licence: {data_set.licence}, see {data_set.homepage}")
        with report.progress(f"downloading {data_set.name}") as progress:
            paths = download(data_set.name, to, progress, timeout=timeout, verify=not no_verify, force=force)
        _console.written.extend(paths)
        files = [{"path": str(path), "bytes": path.stat().st_size} for path in paths]
        results.append({"name": data_set.name, "licence": data_set.licence, "files": files})
        if not as_json:
            _console.show(*map(str, paths))
    if as_json:
        _console.show_json({"data_sets": results})


def _list(names: list[str], as_json: bool) -> None:
    from fipp.datasets import FAMILIES, find_data_set

    if names:
        _list_files([find_data_set(name) for name in names], as_json)
        return
    families = list(FAMILIES.values())
    if as_json:
        rows = [
            {
                "name": family.name,
                "parameter": family.parameter or None,
                "example": family.example,
                "choices": list(family.choices) or None,
                "title": family.title,
                "licence": family.licence,
                "homepage": family.homepage,
            }
            for family in families
        ]
        _console.show_json({"data_sets": rows})
        return
    table = _tables.table("name", "what it is", "licence", "from")
    for family in families:
        name = f"{family.name}:{family.parameter}" if family.parameter else family.name
        table.add_row(name, family.title, family.licence, family.homepage)
    _console.show(table)


def _list_files(data_sets: list[Any], as_json: bool) -> None:
    from dataclasses import asdict

    if as_json:
        _console.show_json({"data_sets": [asdict(data_set) for data_set in data_sets]})
        return
    table = _tables.table("file", "address", "checksum")
    for data_set in data_sets:
        for file in data_set.files:
            table.add_row(file.path, file.url, file.checksum or "none known")
    _console.show(table)
