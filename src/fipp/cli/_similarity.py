"""`fipp similarity`: do vectors rank pairs of words as people do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fipp.cli import _console, _files, _options, _tables

if TYPE_CHECKING:
    from fipp import Alignment, Vectors
    from fipp.evaluate import ScoredPair, SimilarityResult

EXAMPLE = "Example: [bold]fipp similarity en.vec simlex999.tsv wordsim353.tsv --model en-fr.fipp[/bold]"


def command(
    vectors: Annotated[Path, typer.Argument(metavar="VECTORS", help="Vectors in any format.")],
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Two words and a score a line: .tsv, .csv or white space.")
    ],
    model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Compare the vectors after alignment by this model too, as its source."),
    ] = None,
    target: Annotated[
        bool,
        typer.Option("--target", metavar=_options.FLAG, help="With --model: the vectors are of the target's kind."),
    ] = False,
    across: Annotated[
        Path | None,
        typer.Option(metavar="TGT", help="With --model: the second word of each line is sought in these vectors."),
    ] = None,
    limit: _options.Limit = None,
    strict: _options.Strict = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Compare the cosines of pairs of words with human scores: Spearman's and Pearson's correlation.

    Pairs of which a word has no vector are left out; the coverage says how many were found. Correlations on different
    pairs do not compare.
    """
    from fipp import Alignment
    from fipp.evaluate import load_similarity

    report = _console.Reporter(quiet or as_json)
    _files.check_sides(model, target, across)
    sets = {path: load_similarity(path, strict=strict) for path in files}
    fitted = None if model is None else Alignment.load(model)
    loaded = _files.load_vectors(vectors, report, limit=limit, strict=strict)
    if fitted is None or model is None:
        measured = {path: _plain(loaded, items) for path, items in sets.items()}
    elif across is None:
        side = "target" if target else "source"
        alignment = Alignment.load(model, **{side: loaded})
        measured = {path: _before_after(alignment, items, side) for path, items in sets.items()}
    else:
        alignment = Alignment.load(model, loaded, _files.load_vectors(across, report, limit=limit, strict=strict))
        measured = {path: _across(alignment, items) for path, items in sets.items()}
    if as_json:
        _console.show_json(
            {"vectors": str(vectors), "sets": [_as_dict(path, found) for path, found in measured.items()]}
        )
    else:
        _show(measured)


def _plain(vectors: Vectors, items: list[ScoredPair]) -> dict[str, SimilarityResult]:
    from fipp.evaluate import similarity

    return {"as they are": similarity(vectors, items)}


def _before_after(alignment: Alignment, items: list[ScoredPair], side: str) -> dict[str, SimilarityResult]:
    from fipp.evaluate import similarity_before_after

    before, after = similarity_before_after(alignment, items, side)
    return {"before": before, "after": after}


def _across(alignment: Alignment, items: list[ScoredPair]) -> dict[str, SimilarityResult]:
    from fipp.evaluate import cross_similarity

    return {"across": cross_similarity(alignment, items)}


def _as_dict(path: Path, found: dict[str, SimilarityResult]) -> dict[str, Any]:
    """Return the last result, with the one before alignment beside it if there is one."""
    last = list(found.values())[-1]
    before = {"before": found["before"].as_dict()} if "before" in found else {}
    return {"file": str(path), "vectors": list(found)[-1], **last.as_dict(), **before}


def _show(measured: dict[Path, dict[str, SimilarityResult]]) -> None:
    from rich.text import Text

    table = _tables.table("set", "vectors", "Spearman", "Pearson", "pairs found")
    for path, found in measured.items():
        for name, result in found.items():
            coverage = f"{result.pairs:,} of {result.total:,} ({100 * result.coverage:.1f} %)"
            table.add_row(Text(path.name), name, f"{result.spearman:.4f}", f"{result.pearson:.4f}", coverage)
    _console.show(table)
