"""`fipp info`: what is in a file of vectors, or in a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fipp.cli import _console, _files, _model_info, _options, _tables

if TYPE_CHECKING:
    from fipp.evaluate import SpaceReport
    from fipp.io import LoadReport

EXAMPLE = "Example: [bold]fipp info en.vec --limit 50000[/bold]"


def command(
    vectors: Annotated[Path, typer.Argument(metavar="FILE", help="Vectors in any format, or a model.")],
    limit: _options.Limit = None,
    strict: _options.Strict = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Show what a file holds. Of vectors: format, size, lengths, defects, isotropy and hubness.

    Of a model: its method, what was tried and chosen, what it maps, the pairs it was learned from, and its scores.
    """
    from fipp.evaluate import describe_space
    from fipp.io import format_to_read, is_model

    if is_model(vectors):
        _model_info.show(vectors, as_json)
        return
    report = _console.Reporter(quiet or as_json)
    description = format_to_read(vectors).description
    loaded = _files.load_vectors(vectors, report, limit=limit, strict=strict)
    with report.progress("measuring"):
        space = describe_space(loaded)
    skipped = _skipped(loaded.report)
    if as_json:
        _console.show_json({"file": str(vectors), "format": description, "skipped": skipped, **space.as_dict()})
        return
    table = _tables.table("", "", "what it means")
    table.columns[1].justify = "right"
    for row in _rows(space, skipped):
        table.add_row(*row)
    _console.show(_tables.summary({"file": str(vectors), "format": description}), table)


def _skipped(report: LoadReport | None) -> dict[str, int]:
    return {finding.kind.many: finding.count for finding in report.skipped} if report else {}


def _rows(space: SpaceReport, skipped: dict[str, int]) -> list[tuple[str, str, str]]:
    left_out = sum(skipped.values())
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in skipped.items())
    return [
        ("words", f"{space.rows:,}", ""),
        ("dimensions", f"{space.dimensions:,}", f"{space.effective_dimensions:.0f} if all were used alike"),
        ("skipped rows", _share(left_out, space.rows + left_out), kinds or "every row could be used"),
        ("zero vectors", _share(space.zero_rows, space.rows), "they have no direction, and match nothing"),
        ("repeated vectors", _share(space.repeated_rows, space.rows), "equal to that of an earlier word"),
        ("length, least", f"{space.norm_min:.4g}", ""),
        ("length, mean", f"{space.norm_mean:.4g}", "1 if the vectors have been scaled to unit length"),
        ("length, largest", f"{space.norm_max:.4g}", ""),
        ("length of the mean", f"{space.mean_length:.3f}", "of unit vectors: 0 is centred, 1 all alike"),
        ("variance, first component", f"{100 * space.top_1:.1f} %", f"{100 / space.dimensions:.1f} % if spread evenly"),
        ("variance, first 10", f"{100 * space.top_10:.1f} %", "large: a few directions drown the others"),
        ("isotropy", f"{space.isotropy:.3f}", "1 is even in all directions (Mu and Viswanath 2018)"),
        ("hubness", f"{space.hubness:.2f}", "0 is none; above 1, a few words are near to many: CSLS helps"),
        (
            "largest hub",
            f"{space.largest_hub:,}",
            f"words have it among their {space.neighbours} nearest, of {space.sample:,} sampled",
        ),
    ]


def _share(count: int, total: int) -> str:
    return f"{count:,} ({100 * count / total:.1f} %)" if count else "0"
