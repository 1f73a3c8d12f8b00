"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
Strict = Annotated[bool, typer.Option("--strict", metavar=FLAG, help="Refuse files with rows that cannot be used.")]
Json = Annotated[bool, typer.Option("--json", metavar=FLAG, help="Print one JSON object and no notes.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar=FLAG, help="No notes and no progress.")]
