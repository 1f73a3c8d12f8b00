"""`fipp convert` and `fipp transform`: write vectors in another format, or in the shared space of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import fipp
from fipp.cli import _arguments, _console
from fipp.exceptions import FippError

_Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="OUT", help="Where to write; the extension selects the format.")
]
_TYPES = ("float32", "float16", "float64")


def convert(
    vectors: Annotated[Path, typer.Argument(metavar="IN", help=f"Vectors, {_arguments.ANY_FORMAT}")],
    output: _Output,
    limit: _arguments.Limit = None,
    words: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep only the words listed in this file, one per line; case matters."),
    ] = None,
    dtype: Annotated[
        str, typer.Option(metavar="float32|float16|float64", help="Type of the numbers; float16 keeps three digits.")
    ] = "float32",
    strict: _arguments.Strict = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Convert the vectors of IN to another file format.

    Rows keep their order, and numbers are unchanged unless --dtype rounds them. IN is never overwritten.
    """
    report = _console.Reporter(quiet)
    if dtype not in _TYPES:
        raise FippError(f"--dtype is {' or '.join(_TYPES)}, not {dtype!r}")
    _check_output(output, vectors, words)
    wanted = None if words is None else _arguments.load_words(words)
    loaded = _arguments.load_vectors(vectors, report, limit=limit, strict=strict, words=wanted).astype(dtype)
    if wanted is not None and len(loaded) < len(wanted):
        _console.warn(f"{len(wanted) - len(loaded):,} of the {len(wanted):,} words to keep are not there")
    _write(loaded, output, report)


def transform(
    model: _arguments.Model,
    vectors: Annotated[Path, typer.Argument(metavar="IN", help=f"Source vectors, {_arguments.ANY_FORMAT}")],
    output: _Output,
    target: Annotated[
        bool, typer.Option("--target", help="IN has target vectors; map them into the shared space as well.")
    ] = False,
    limit: _arguments.Limit = None,
    strict: _arguments.Strict = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Map the vectors of IN into the shared space of a model.

    They need not be the vectors that the model was learned from, but they must come from the same embedding. IN is
    never overwritten.
    """
    report = _console.Reporter(quiet)
    _check_output(output, model, vectors)
    alignment = fipp.Alignment.load(model)
    loaded = _arguments.load_vectors(vectors, report, limit=limit, strict=strict)
    _check_dimension(alignment, loaded, target, model, vectors)
    if not target and alignment.aligner.target_map_ is not None:
        report.note(f"{model.name}: the target is mapped too; compare with target vectors transformed by --target")
    with report.progress("mapping"):
        mapped = alignment.transform_target(loaded) if target else alignment.transform(loaded)
    _write(mapped, output, report)


def _check_output(output: Path, *inputs: Path | None) -> None:
    from fipp.io import format_to_write

    format_to_write(output)
    _arguments.check_output(output, *inputs)


def _write(vectors: fipp.Vectors, output: Path, report: _console.Reporter) -> None:
    with report.progress(f"writing {output.name}"):
        _arguments.save(vectors, output)
    _console.show(f"{output}: {len(vectors):,} words x {vectors.dim}")


def _check_dimension(alignment: fipp.Alignment, vectors: fipp.Vectors, target: bool, model: Path, path: Path) -> None:
    """Name the files, which the library does not know."""
    aligner = alignment.aligner
    dimensions = {False: aligner.n_features_in_, True: aligner.n_features_out_}
    if vectors.dim != dimensions[target]:
        side = "target" if target else "source"
        hint = "" if target or vectors.dim != dimensions[True] else "; are they target vectors (--target)?"
        raise FippError(
            f"{model} maps {side} vectors of {dimensions[target]} dimensions, but those of {path} have "
            f"{vectors.dim}{hint}"
        )
