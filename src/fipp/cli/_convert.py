"""`fipp convert`: vectors from one file format to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fipp.cli import _console, _files, _options

if TYPE_CHECKING:
    from fipp import Vectors

EXAMPLE = "Example: [bold]fipp convert wiki.en.vec.gz en.npy --limit 200000[/bold]"

_TYPES = ("float32", "float16")


def command(
    vectors: Annotated[Path, typer.Argument(metavar="IN", help="Vectors in any format.")],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="Where to write them; the name tells the format.")],
    limit: _options.Limit = None,
    words: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep only the words of this file, one a line, spelled alike.")
    ] = None,
    dtype: Annotated[
        str,
        typer.Option(metavar="float32|float16", help="How numbers are stored in .npy; float16 is half as large."),
    ] = "float32",
    strict: _options.Strict = False,
    quiet: _options.Quiet = False,
) -> None:
    """Read the vectors of IN, whatever format they are in, and write them to OUT in the format that its name tells.

    Rows stay in their order, and numbers as they are unless --dtype says otherwise. IN is never overwritten.
    """
    from fipp.io._formats import format_to_write

    report = _console.Reporter(quiet)
    format_to_write(output)
    _check_type(dtype, output)
    _files.check_output(output, vectors, *([] if words is None else [words]))
    wanted = None if words is None else _files.load_words(words)
    loaded = _files.load_vectors(vectors, report, limit=limit, strict=strict)
    if wanted is not None:
        loaded = _keep(loaded, wanted)
    with report.progress(f"writing {output.name}"):
        _write(loaded, output, dtype)
    _console.written.append(output)
    _console.show(f"{output}: {len(loaded):,} words x {loaded.dim}")


def _check_type(dtype: str, output: Path) -> None:
    from fipp.exceptions import FippError

    if dtype not in _TYPES:
        raise FippError(f"--dtype is {' or '.join(_TYPES)}, not {dtype!r}")
    if dtype != _TYPES[0] and output.suffix.lower() != ".npy":
        raise FippError(f"--dtype {dtype} is for .npy files; {output} would not be smaller for it")


def _keep(vectors: Vectors, wanted: set[str]) -> Vectors:
    from fipp.exceptions import FippError

    rows = [row for row, word in enumerate(vectors.words) if word in wanted]
    if not rows:
        raise FippError(f"none of the {len(wanted):,} words to keep is among the {len(vectors):,} of the vectors")
    if len(rows) < len(wanted):
        _console.warn(f"{len(wanted) - len(rows):,} of the {len(wanted):,} words to keep are not there")
    return vectors.rows(rows)


def _write(vectors: Vectors, output: Path, dtype: str) -> None:
    from fipp.io._npy import write_npy

    if dtype == _TYPES[0]:
        vectors.save(output)
    else:
        write_npy(vectors, output, dtype)
