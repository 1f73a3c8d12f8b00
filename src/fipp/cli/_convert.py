"""`fipp convert`: vectors from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fipp.cli import _console, _files, _options

EXAMPLE = "Example: [bold]fipp convert wiki.en.vec.gz en.npy --limit 200000[/bold]"

_TYPES = ("float32", "float16", "float64")


def command(
    vectors: Annotated[Path, typer.Argument(metavar="IN", help="Vectors in any format.")],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="Where to write them; the name tells the format.")],
    limit: _options.Limit = None,
    words: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep only the words of this file, one a line, spelled alike.")
    ] = None,
    dtype: Annotated[
        str,
        typer.Option(metavar="float32|float16|float64", help="How numbers are stored; float16 keeps three digits."),
    ] = "float32",
    strict: _options.Strict = False,
    quiet: _options.Quiet = False,
) -> None:
    """Read the vectors of IN, whatever format they are in, and write them to OUT in the format that its name tells.

    Rows stay in their order, and numbers as they are unless --dtype says otherwise. IN is never overwritten.
    """
    from fipp.exceptions import FippError
    from fipp.io import format_to_write

    report = _console.Reporter(quiet)
    format_to_write(output)
    if dtype not in _TYPES:
        raise FippError(f"--dtype is {' or '.join(_TYPES)}, not {dtype!r}")
    _files.check_output(output, vectors, *([] if words is None else [words]))
    wanted = None if words is None else _files.load_words(words)
    loaded = _files.load_vectors(vectors, report, limit=limit, strict=strict, words=wanted).astype(dtype)
    if wanted is not None and len(loaded) < len(wanted):
        _console.warn(f"{len(wanted) - len(loaded):,} of the {len(wanted):,} words to keep are not there")
    with report.progress(f"writing {output.name}"):
        loaded.save(output)
    _console.written.append(output)
    _console.show(f"{output}: {len(loaded):,} words x {loaded.dim}")
