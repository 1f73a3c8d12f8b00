"""`fipp methods`: the names that ``--method`` takes, and the settings that ``--set`` takes."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fipp.cli import _arguments, _console

if TYPE_CHECKING:
    from fipp.aligners import BaseAligner

# Methods that share a class with others; the first line of the class docstring describes the rest.
_SUMMARIES = {
    "fipp": "Filtered Inner Product Projection: fits the inner products on which both sides nearly agree (ICLR 2021).",
    "fipp-published": "FIPP as in the paper and the authors' code, to reproduce published results.",
    "cca-rotation": "CCA as in the XLING comparison: each side is rotated to its canonical directions, not whitened.",
    "rcsls-spectral": "RCSLS with the spectral norm of the map held at 1 or less.",
    "vecmap": "VecMap, supervised: whitened, rotated and re-weighted maps of both sides from known pairs.",
    "vecmap-semi": "VecMap, semi-supervised: starts from known pairs and extends them by self-learning.",
    "vecmap-identical": "VecMap, self-learning from words that both sides spell alike.",
    "vecmap-unsupervised": "VecMap, self-learning from similar distributions of similarities, without any pairs.",
    "muse": "MUSE, supervised: a rotation from known pairs, refined on mutual CSLS neighbours.",
    "muse-adversarial": "MUSE, unsupervised: an adversarial start without pairs, refined on mutual CSLS neighbours.",
}

# What a method learns from, and whether it accepts guesses in place of known pairs.
_LEARNS_FROM = {
    ("pairs", False): "known pairs",
    ("pairs", True): "known pairs or spelling",
    ("identical", True): "identical words",
    ("spelling", True): "spelling or nothing",
    ("nothing", False): "nothing",
}
# The same setting in every method.
_PREPROCESS = (
    "What is done to the vectors of both sides first: none, unit, centre, isotropic, isotropic-textbook, iterative, "
    "or several joined by +, such as unit+centre. isotropic:3 removes three components instead of one."
)


def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Describe this method and its settings.", show_default=False)
    ] = None,
    as_json: _arguments.Json = False,
) -> None:
    """List the methods with what each does and learns from; with NAME, list the settings of one method."""
    if name is None:
        _list(as_json)
    else:
        _describe(name, as_json)


def _list(as_json: bool) -> None:
    from fipp.aligners import METHODS

    described = {name: _as_dict(name, aligner) for name, aligner in METHODS.items()}
    if as_json:
        _console.show_json(described)
        return
    table = _console.table("name", "what it does", "learns from")
    table.columns[0].style = "bold"
    for name, method in described.items():
        table.add_row(name, method["summary"], method["learns_from"])
    _console.show(table, "fipp methods NAME lists the settings of a method.")


def _describe(name: str, as_json: bool) -> None:
    from rich.text import Text

    aligner = _arguments.make_aligner(name, {})
    described = _as_dict(name, aligner)
    meanings = _meanings(type(aligner))
    defaults = described["settings"]
    settings = {setting: {"default": defaults[setting], **told} for setting, told in meanings.items()}
    if as_json:
        _console.show_json({"name": name, **described, "settings": settings})
        return
    table = _console.table("setting", "default", "meaning")
    table.columns[0].style = "bold"
    for setting, told in settings.items():
        default = "none" if told["default"] is None else str(told["default"])
        table.add_row(setting, default, Text.assemble(told["meaning"], (f" ({told['values']})", "dim")))
    _console.show(
        _console.summary({"method": name, "does": described["summary"], "learns from": described["learns_from"]}), table
    )
    _console.show(f"Change a setting with --set, such as --set {next(iter(settings))}=VALUE.")


def _as_dict(name: str, aligner: BaseAligner) -> dict[str, Any]:
    return {
        "summary": _SUMMARIES.get(name) or (inspect.getdoc(type(aligner)) or "").partition("\n")[0],
        "learns_from": _LEARNS_FROM[aligner.learns_from, aligner.takes_guesses],
        "dimensions": "equal" if aligner.same_dimensions else "any",
        "settings": _arguments.plain_settings(aligner),
    }


def _meanings(aligner: type[BaseAligner]) -> dict[str, dict[str, str]]:
    """Return values and meaning of each setting, from the section "Parameters" of the class docstring."""
    doc = inspect.getdoc(aligner) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n\S[^\n]*\n-+\n|\Z)", doc, re.DOTALL | re.MULTILINE)
    meanings: dict[str, dict[str, str]] = {}
    for entry in re.split(r"\n(?=\S)", section[1] if section else ""):
        head, _, body = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        values = re.sub(r',? (optional|default=.*)$|["{}]', "", kind)
        meaning = " ".join(body.replace("`", "").split())
        meanings |= {name: {"values": values, "meaning": meaning} for name in names.split(", ")}
    if "preprocess" in meanings:
        meanings["preprocess"] = {"values": "str or None", "meaning": _PREPROCESS}
    return meanings
