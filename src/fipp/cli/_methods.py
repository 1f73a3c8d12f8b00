"""`fipp methods`: the names that ``--method`` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fipp.cli import _console, _options, _tables

if TYPE_CHECKING:
    from fipp.aligners import BaseAligner

_PAIRS = {
    ("pairs", False): "known pairs",
    ("pairs", True): "known pairs or none",
    ("identical", True): "identical words",
    ("spelling", True): "words spelled alike or none",
    ("nothing", False): "none",
}
EXAMPLE = "Example: [bold]fipp methods --json[/bold]"


def command(as_json: _options.Json = False) -> None:
    """List the methods, what each does, and what it needs."""
    from fipp.aligners import METHODS

    described = {name: _describe(aligner) for name, aligner in METHODS.items()}
    if as_json:
        _console.show_json(described)
        return
    rows = _tables.table("name", "what it does", "pairs", "dimensions")
    rows.columns[0].style = "bold"
    for name, method in described.items():
        rows.add_row(name, method["summary"], method["pairs"], method["dimensions"])
    _console.show(rows)


def _describe(aligner: BaseAligner) -> dict[str, Any]:
    settings = _settings(aligner)
    changed = [f"{name}={value}" for name, value in settings.items() if value != _settings(type(aligner)())[name]]
    summary = (type(aligner).__doc__ or "").strip().partition("\n")[0]
    return {
        # Several names may stand for one class: what tells them apart are their settings.
        "summary": f"{summary} With {', '.join(changed)}." if changed else summary,
        "pairs": _PAIRS[aligner.learns_from, aligner.takes_guesses],
        "dimensions": "equal" if aligner.same_dimensions else "any",
        "settings": settings,
    }


def _settings(aligner: BaseAligner) -> dict[str, Any]:
    return {name: _tables.plain(value) for name, value in aligner.get_params(deep=False).items()}
