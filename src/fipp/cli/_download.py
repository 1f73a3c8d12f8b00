"""`fipp download`: public vectors and dictionaries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fipp.cli import _arguments, _console
from fipp.exceptions import FippError


def download(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Data sets, such as fasttext:hr, muse:en-hr or xling.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Where to put the files.", show_default="user cache"),
    ] = None,
    list_all: Annotated[
        bool, typer.Option("--list", help="List all data sets with their licences, or the files of those named.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="Reconnect if no data arrives for this long.")
    ] = 30.0,
    force: Annotated[bool, typer.Option("--force", help="Download files again that are already there.")] = False,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Do not verify checksums.")] = False,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Download public vectors and dictionaries, and print the paths of the files.

    If a download is interrupted, run the same command again to resume it. Files that are already there are not
    downloaded again. The environment variable FIPP_MIRROR names a mirror that has each file at MIRROR/HOST/PATH.
    """
    from fipp.datasets import download, find_data_set

    if list_all:
        _list(names or [], as_json)
        return
    if not names:
        raise FippError("name a data set, such as fasttext:hr; `fipp download --list` lists all")
    report = _console.Reporter(quiet or as_json)
    data_sets = [find_data_set(name) for name in names]  # refuse a wrong name before anything is downloaded
    results: list[dict[str, Any]] = []
    for data_set in data_sets:
        report.note(f"{data_set.name}: {data_set.title}; licence: {data_set.licence}, see {data_set.homepage}")
        with report.progress(f"downloading {data_set.name}") as progress:
            paths = download(data_set.name, output, progress, timeout=timeout, verify=not no_verify, force=force)
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
        told = ("name", "parameter", "example", "choices", "title", "licence", "homepage")
        _console.show_json({"data_sets": [{key: getattr(family, key) or None for key in told} for family in families]})
        return
    table = _console.table("name", "what it is", "licence", "from")
    for family in families:
        name = f"{family.name}:{family.parameter}" if family.parameter else family.name
        table.add_row(name, family.title, family.licence, family.homepage)
    _console.show(table)


def _list_files(data_sets: list[Any], as_json: bool) -> None:
    from dataclasses import asdict

    if as_json:
        _console.show_json({"data_sets": [asdict(data_set) for data_set in data_sets]})
        return
    table = _console.table("file", "address", "checksum")
    for data_set in data_sets:
        for file in data_set.files:
            table.add_row(file.path, file.url, file.checksum or "none known")
    _console.show(table)
