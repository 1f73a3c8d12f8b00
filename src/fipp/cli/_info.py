"""`fipp info`: what is in a vector file or in a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fipp
from fipp.cli import _arguments, _console, _model
from fipp.exceptions import FippError

if TYPE_CHECKING:
    from fipp.evaluate import SpaceReport
    from fipp.io import LoadReport


def info(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A model, or vectors: word2vec (text or binary), GloVe, fastText, floret, .npy with words in .txt, "
            ".npz, .safetensors, Parquet, Arrow, Feather, or a folder of spaCy or model2vec; compressed or not.",
        ),
    ],
    limit: _arguments.Limit = None,
    strict: _arguments.Strict = False,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Show what is in a file.

    For vectors: format, size, lengths, defects, isotropy and hubness. For a model: its method, what was tried and
    chosen, what it maps, the pairs it was learned from, and its scores.
    """
    from fipp.io import is_model

    if is_model(path):
        _show_model(path, as_json)
    else:
        _show_vectors(path, limit, strict, as_json, _console.Reporter(quiet or as_json))


def _show_vectors(path: Path, limit: int | None, strict: bool, as_json: bool, report: _console.Reporter) -> None:
    from fipp.evaluate import describe_space
    from fipp.io import format_to_read

    description = format_to_read(path).description
    loaded = _arguments.load_vectors(path, report, limit=limit, strict=strict)
    with report.progress("measuring"):
        space = describe_space(loaded)
    skipped = _skipped(loaded.report)
    if as_json:
        _console.show_json({"file": str(path), "format": description, "skipped": skipped, **space.as_dict()})
        return
    table = _console.table("", "", "what it means")
    table.columns[1].justify = "right"
    for row in _rows_of_vectors(space, skipped):
        table.add_row(*row)
    _console.show(_console.summary({"file": str(path), "format": description}), table)


def _skipped(report: LoadReport | None) -> dict[str, int]:
    return {finding.kind.many: finding.count for finding in report.skipped} if report else {}


def _rows_of_vectors(space: SpaceReport, skipped: dict[str, int]) -> list[tuple[str, str, str]]:
    def share(count: int, total: int) -> str:
        return f"{count:,} ({100 * count / total:.1f} %)" if count else "0"

    left_out = sum(skipped.values())
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in skipped.items())
    return [
        ("words", f"{space.rows:,}", ""),
        ("dimensions", f"{space.dimensions:,}", f"as many as {space.effective_dimensions:.0f} used evenly"),
        ("skipped rows", share(left_out, space.rows + left_out), kinds or "every row could be used"),
        ("zero vectors", share(space.zero_rows, space.rows), "they have no direction and match nothing"),
        ("repeated vectors", share(space.repeated_rows, space.rows), "equal to the vector of an earlier word"),
        ("length, least", f"{space.norm_min:.4g}", ""),
        ("length, mean", f"{space.norm_mean:.4g}", "1 if the vectors were scaled to unit length"),
        ("length, largest", f"{space.norm_max:.4g}", ""),
        ("length of the mean", f"{space.mean_length:.3f}", "of unit vectors: 0 if centred, 1 if all are alike"),
        ("variance, first component", f"{100 * space.top_1:.1f} %", f"{100 / space.dimensions:.1f} % if spread evenly"),
        ("variance, first 10", f"{100 * space.top_10:.1f} %", "if large, a few directions drown the others"),
        ("isotropy", f"{space.isotropy:.3f}", "1 if even in all directions (Mu and Viswanath 2018)"),
        ("hubness", f"{space.hubness:.2f}", "0 is none; above 1, a few words are near to many: CSLS helps"),
        (
            "largest hub",
            f"{space.largest_hub:,}",
            f"words have it among their {space.neighbours} nearest, of {space.sample:,} sampled",
        ),
    ]


def _show_model(path: Path, as_json: bool) -> None:
    from fipp.io import read_model

    alignment = fipp.Alignment.load(path)
    header = read_model(path)[1]
    try:
        told = {
            "file": str(path),
            "format": f"a model of fipp {header['version']}",
            "method": type(alignment.aligner).__name__,
            **{side: {key: header[side][key] for key in ("words", "dimensions")} for side in ("source", "target")},
            **_model.as_dict(alignment),
            "scores": alignment.scores,
        }
        rows = _rows_of_model(alignment, told)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FippError(f"{path} is damaged: its header cannot be read ({error!r})") from None
    if as_json:
        _console.show_json(told)
        return
    if "trials" in told:
        _model.show_trials(**_model.choice(alignment.aligner))
    _console.show(_console.summary(rows))


def _rows_of_model(alignment: fipp.Alignment, told: Mapping[str, Any]) -> dict[str, str]:
    rows = {"file": told["file"], "format": told["format"], "method": " ".join(str(alignment.aligner).split())}
    for side in ("source", "target"):
        rows[side] = f"{told[side]['words']:,} words x {told[side]['dimensions']}"
    rows |= _model.rows(alignment)
    if alignment.seed:
        rows["pairs"] += f"; {alignment.seed['found']:,} of {alignment.seed['total']:,} of the dictionary were found"
    for name, scores in alignment.scores.items():
        if name == "tuning":  # of `fipp tune`
            rows["tuning"] = f"MRR {scores['best_score']:.4f} on {scores['holdout']:,} held-out source words"
            continue
        text = f"MAP {scores['map']:.4f}, P@1 {scores['p@1']:.4f} on {scores['n_queries']:,} words"
        if scores.get("seen_pairs"):
            text += f", {scores['seen_pairs']:,} of them with the same translation in the seed"
        rows[f"scores ({name})"] = text
    return rows
