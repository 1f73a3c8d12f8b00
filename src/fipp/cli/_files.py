"""Files in and out, with a word about what was found in them."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fipp.cli import _console

if TYPE_CHECKING:
    from fipp import Alignment, Lexicon, Vectors
    from fipp.cli._console import Reporter


def load_vectors(
    path: Path, report: Reporter, *, limit: int | None = None, strict: bool = False, words: set[str] | None = None
) -> Vectors:
    """Read vectors and say how many."""
    from fipp import Vectors

    with report.progress(f"reading {path.name}"):
        vectors = Vectors.load(path, limit=limit, strict=strict, words=words)
    remarks = vectors.report.summary() if vectors.report else None
    if remarks:
        _console.warn(remarks)
    else:
        report.note(f"{path.name}: {len(vectors):,} words x {vectors.dim}")
    return vectors


def load_lexicon(path: Path, *, strict: bool = False, reverse: bool = False) -> Lexicon:
    """Read a dictionary, and say so if lines of it could not be used; ``reverse`` swaps its two words."""
    from fipp import Lexicon

    lexicon = Lexicon.load(path, strict=strict)
    remarks = lexicon.report.summary() if lexicon.report else None
    if remarks:
        _console.warn(remarks)
    return lexicon.reverse() if reverse else lexicon


def load_words(path: Path) -> set[str]:
    """Read words, one a line."""
    from fipp.exceptions import FippError
    from fipp.io import read_batches

    lines = (line.decode("utf-8", "replace").strip() for batch in read_batches(path) for line in batch)
    words = {line for line in lines if line}
    if not words:
        raise FippError(f"{path} holds no words")
    return words


def load_alignment(model: Path, source: Path, target: Path, report: Reporter, *, limit: int | None) -> Alignment:
    """Read a model with the vectors of both sides."""
    from fipp import Alignment

    Alignment.load(model)  # a wrong file is refused before the vectors are read, which takes longer
    return Alignment.load(model, load_vectors(source, report, limit=limit), load_vectors(target, report, limit=limit))


def write_text(text: str, output: Path | None) -> None:
    """Write text to a file, whole or not at all, or to standard output without one."""
    from fipp.io import atomic_path

    if output is None:
        sys.stdout.write(text)
        return
    with atomic_path(output) as temporary:
        temporary.write_text(text, encoding="utf-8")
    _console.written.append(output)


def check_sides(model: Path | None, target: bool, across: Path | None) -> None:
    """Refuse --target and --across where they make no sense."""
    from fipp.exceptions import FippError

    if model is None and (target or across is not None):
        raise FippError(f"{'--target' if target else '--across'} needs a --model")
    if target and across is not None:
        raise FippError("with --across, VECTORS are of the source's kind: leave --target out")


def check_output(output: Path, *inputs: Path) -> None:
    """Raise a FippError now if ``output`` could not be written after the long work, or would overwrite an input."""
    from fipp.exceptions import FippError
    from fipp.io import atomic_path

    replaced = [path for path in _files_of(output) if path.exists()]
    for read in (path for given in inputs for path in _files_of(given)):
        if any(read.exists() and read.samefile(path) for path in replaced):
            raise FippError(f"{output} would overwrite the input {read}; give it another name")
    with suppress(_NotNow), atomic_path(output):
        raise _NotNow


class _NotNow(Exception):  # noqa: N818
    """Leaves a block that would write a file."""


def _files_of(path: Path) -> list[Path]:
    """Return the file, and the one that belongs to it if it may be a matrix with its words beside it."""
    beside = {".npy": ".txt", ".txt": ".npy"}.get(path.suffix.lower())
    return [path] if beside is None else [path, path.with_suffix(beside)]
