"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

FLAG = ""
"""Stands where typer would write ``<bool>`` behind an option that takes no value."""

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The model, as [bold]fipp align[/bold] wrote it.")]
Source = Annotated[
    Path, typer.Argument(metavar="SRC", help="Source vectors: .vec, .txt, either gzipped, or .npy with .txt beside it.")
]
Target = Annotated[Path, typer.Argument(metavar="TGT", help="Target vectors; their dimension may be another.")]
Limit = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Read only the first N words of a file of vectors.")
]
MaxMemory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Working memory beside the vectors, such as 2GB.", show_default=False)
]
Retrieval = Annotated[
    str,
    typer.Option(
        metavar="nn|csls|isf|dualis|dot",
        help="How target words are ranked: by cosine, by cosine less the density around (CSLS), by inverted softmax "
        "over the source, or over source and target, or by inner product.",
    ),
]
Beta = Annotated[
    float,
    typer.Option(metavar="B", help="β of the inverted softmax (isf, dualis): the larger, the more the nearest count."),
]
BETA = 30.0
Format = Annotated[str, typer.Option(metavar="markdown|csv|latex|json", help="Of the tables.")]
TablesOutput = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the tables here instead.")
]
ReverseDict = Annotated[
    bool,
    typer.Option("--reverse-dict", metavar=FLAG, help="The dictionary is target word first, source word second."),
]
Strict = Annotated[bool, typer.Option("--strict", metavar=FLAG, help="Refuse files with rows that cannot be used.")]
Json = Annotated[bool, typer.Option("--json", metavar=FLAG, help="Print one JSON object and no notes.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar=FLAG, help="No notes and no progress.")]


def split_names(names: str | None) -> list[str] | None:
    """Read names given with commas between them.

    Examples
    --------
    >>> split_names("fipp, Procrustes")
    ['fipp', 'procrustes']
    """
    return None if names is None else [name.strip().lower() for name in names.split(",") if name.strip()]


def parse_value(text: str) -> Any:
    """Read a setting as the library takes it: nothing, yes or no, a number, or a word.

    Examples
    --------
    >>> [parse_value(text) for text in ("none", "true", "3", "0.5", "unit")]
    [None, True, 3, 0.5, 'unit']
    """
    named = {"none": None, "true": True, "false": False}
    if text.lower() in named:
        return named[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def parse_settings(settings: Sequence[str] | None) -> dict[str, Any]:
    """Read settings given as ``name=value``.

    Examples
    --------
    >>> parse_settings(["ridge=0.5"])
    {'ridge': 0.5}
    """
    from fipp.exceptions import FippError

    parsed = {}
    for text in settings or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise FippError(f"--set takes a setting and its value, such as ridge=0.1, not {text!r}")
        parsed[name.strip().replace("-", "_")] = parse_value(value.strip())
    return parsed
