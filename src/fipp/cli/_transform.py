"""`fipp transform`: vectors in the shared space, written to a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fipp.cli import _console, _files, _options

if TYPE_CHECKING:
    from fipp import Alignment, Vectors

EXAMPLE = "Example: [bold]fipp transform en-fr.fipp en.vec en-shared.npy[/bold]"


def command(
    model: _options.Model,
    vectors: Annotated[Path, typer.Argument(metavar="IN", help="Vectors of the source's kind, in any format.")],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="Where to write them: .vec, .txt, .vec.gz, or .npy with .txt beside.")
    ],
    target: Annotated[
        bool,
        typer.Option(
            "--target",
            metavar=_options.FLAG,
            help="They are of the target's kind; map them into the shared space as well.",
        ),
    ] = False,
    limit: _options.Limit = None,
    strict: _options.Strict = False,
    quiet: _options.Quiet = False,
) -> None:
    """Map the vectors of IN into the shared space and write them to OUT, in the format that its name tells.

    They need not be those that the model was learned from, but must be of their kind. IN is never overwritten.
    """
    from fipp import Alignment
    from fipp.io import format_to_write

    report = _console.Reporter(quiet)
    format_to_write(output)
    _files.check_output(output, model, vectors)
    alignment = Alignment.load(model)
    loaded = _files.load_vectors(vectors, report, limit=limit, strict=strict)
    _check_dimension(alignment, loaded, target, model, vectors)
    if not target and alignment.aligner.target_map_ is not None:
        report.note(f"{model.name}: the target is mapped too; compare with its vectors transformed by --target")
    with report.progress("mapping"):
        mapped = alignment.transform_target(loaded) if target else alignment.transform(loaded)
    with report.progress(f"writing {output.name}"):
        mapped.save(output)
    _console.written.append(output)
    _console.show(f"{output}: {len(mapped):,} words x {mapped.dim}")


def _check_dimension(alignment: Alignment, vectors: Vectors, target: bool, model: Path, path: Path) -> None:
    """Name the files where the library, which knows of none, would speak of X."""
    from fipp.exceptions import FippError

    aligner = alignment.aligner
    dimensions = {False: aligner.n_features_in_, True: aligner.n_features_out_}
    if vectors.dim != dimensions[target]:
        side = "target" if target else "source"
        hint = "" if target or vectors.dim != dimensions[True] else "; are they target vectors (--target)?"
        raise FippError(
            f"{model} maps {side} vectors of {dimensions[target]} dimensions, but those of {path} have "
            f"{vectors.dim}{hint}"
        )
