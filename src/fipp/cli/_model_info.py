"""What a model holds, for `fipp info`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fipp.cli import _auto_report, _console, _tables, _unsupervised_report

if TYPE_CHECKING:
    from fipp import Alignment


def show(path: Path, as_json: bool) -> None:
    """Show the method of a model, what it chose, what it maps, and what is known of it."""
    from fipp import Alignment
    from fipp.exceptions import FippError
    from fipp.io import read_model

    alignment = Alignment.load(path)
    header = read_model(path)[1]
    try:
        choice = _auto_report.as_dict(alignment.aligner)
        told, rows = (describe(path, alignment, header, choice) for describe in (_as_dict, _rows))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FippError(f"{path} is damaged: its header cannot be read ({error!r})") from None
    if as_json:
        _console.show_json(told)
        return
    if choice:
        _auto_report.show_trials(**choice)
    _console.show(_tables.summary(rows))


def _as_dict(path: Path, alignment: Alignment, header: Mapping[str, Any], choice: Mapping[str, Any]) -> dict[str, Any]:
    aligner = alignment.aligner
    return {
        "file": str(path),
        "format": f"a model of fipp {header['version']}",
        "method": type(aligner).__name__,
        "settings": {name: _tables.plain(value) for name, value in aligner.get_params(deep=False).items()},
        **choice,
        **_unsupervised_report.as_dict(aligner),
        **{side: {key: header[side][key] for key in ("words", "dimensions")} for side in ("source", "target")},
        "seed": alignment.seed,
        "pairs": len(aligner.pairs_),
        "induced_pairs": len(aligner.induced_pairs_),
        "scores": alignment.scores,
    }


def _rows(path: Path, alignment: Alignment, header: Mapping[str, Any], choice: Mapping[str, Any]) -> dict[str, str]:
    rows = {
        "file": str(path),
        "format": f"a model of fipp {header['version']}",
        "method": _tables.plain(alignment.aligner),
    }
    if choice:
        rows |= {"chosen": choice["chosen"], "why": _auto_report.why(**choice)}
    rows |= _unsupervised_report.rows(alignment.aligner)
    for side in ("source", "target"):
        rows[side] = f"{header[side]['words']:,} words x {header[side]['dimensions']}"
    rows["pairs"] = f"{len(alignment.aligner.pairs_):,}"
    if len(alignment.aligner.induced_pairs_):
        rows["pairs"] += f", and {len(alignment.aligner.induced_pairs_):,} found by the method itself"
    if alignment.seed:
        rows["pairs"] += f"; {alignment.seed['found']:,} of {alignment.seed['total']:,} of the dictionary were found"
    for name, scores in alignment.scores.items():
        # Without a test dictionary, those of the cross-validation are what can be compared.
        measured = scores.get("cross_validation", scores)
        rows[f"scores ({name})"] = (
            f"MAP {measured['map']:.4f}, P@1 {measured['p@1']:.4f} on {measured['pairs']:,} words"
        )
        if measured.get("seen_pairs"):
            rows[f"scores ({name})"] += f", {measured['seen_pairs']:,} of them with the same translation in the seed"
    return rows
