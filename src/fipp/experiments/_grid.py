"""A grid of settings: its combinations, and which of them can be fitted together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from sklearn.base import clone

from fipp.aligners import BaseAligner
from fipp.exceptions import FippError
from fipp.preprocess import make_preprocess, with_components

COMPONENTS = "components"
"""The one name in a grid that is not a setting of an aligner: how many components its preprocessing removes."""

Settings = Mapping[str, Any]
Grid = Mapping[str, Sequence[Any]]


class Batch(NamedTuple):
    """Settings that are fitted in one pass: an aligner with what they share, their positions, and how each differs."""

    aligner: BaseAligner
    places: tuple[int, ...]
    changed: tuple[dict[str, Any], ...]


def check_grid(aligner: BaseAligner, grid: Grid | None, components: Sequence[int] | None) -> dict[str, list[Any]]:
    """Return the grid, by default the aligner's own, with ``components``; refuse settings that `fit` would refuse."""
    wanted = dict(aligner.default_grid if grid is None else grid)
    if components is not None:
        wanted = {COMPONENTS: components, **wanted}
    known = [COMPONENTS, *aligner.get_params(deep=True)]
    for name, values in wanted.items():
        if name not in known:
            own = ", ".join([COMPONENTS, *aligner.get_params(deep=False)])
            raise FippError(f"{type(aligner).__name__} has no setting {name!r} to choose; it has {own}")
        if isinstance(values, str) or not hasattr(values, "__iter__") or not list(values):
            raise FippError(f"the grid needs a list of values for {name}, not {values!r}")
    if not wanted:
        raise FippError(f"{type(aligner).__name__} declares nothing to choose: pass a grid")
    checked = {name: _distinct(values) for name, values in wanted.items()}
    for settings in combinations(checked):
        configure(aligner, settings)
    return checked


def _distinct(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        value = value.item() if hasattr(value, "item") else value
        if value not in found:
            found.append(value)
    return found


def combinations(grid: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the grid's values; the last setting changes fastest."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def configure(aligner: BaseAligner, settings: Settings) -> BaseAligner:
    """Return a new aligner with these settings; refuse what `fit` would refuse later."""
    configured: BaseAligner = clone(aligner)
    configured.set_params(**{name: value for name, value in settings.items() if name != COMPONENTS})
    if COMPONENTS in settings:
        configured.set_params(preprocess=with_components(configured.preprocess, settings[COMPONENTS]))
    configured._validate_params()
    make_preprocess(configured.preprocess)
    return configured


def batches(aligner: BaseAligner, grid: Mapping[str, list[Any]]) -> list[Batch]:
    """Group the settings that differ only in what the method can fit in one pass."""
    groups: dict[tuple[int, ...], list[tuple[int, dict[str, Any]]]] = {}
    settings = combinations(grid)
    for place, chosen in enumerate(settings):
        shared = configure(aligner, chosen).path_settings
        # By the position of a value in the grid: a value may be anything, even a transformer.
        key = tuple(grid[name].index(value) for name, value in chosen.items() if name not in shared)
        changed = {name: value for name, value in chosen.items() if name in shared}
        groups.setdefault(key, []).append((place, changed))
    return [
        Batch(configure(aligner, settings[members[0][0]]), *zip(*members, strict=True)) for members in groups.values()
    ]


def distance_from(aligner: BaseAligner, settings: Settings) -> tuple[int, int]:
    """Return how many settings differ from the aligner's own, and how many components are removed."""
    own = aligner.get_params(deep=True)
    differing = sum(own[name] != value for name, value in settings.items() if name != COMPONENTS)
    return differing, settings.get(COMPONENTS, 0)


def is_own(aligner: BaseAligner, settings: Settings) -> bool:
    """Return whether these settings are the aligner's own, however they are written."""

    def written(configured: BaseAligner) -> dict[str, Any]:
        # "isotropic" and Isotropic() are the same, and so are two transformers with the same repr.
        found = {**configured.get_params(deep=False), "preprocess": make_preprocess(configured.preprocess)}
        return {name: repr(value) if hasattr(value, "fit") else value for name, value in found.items()}

    return written(configure(aligner, settings)) == written(configure(aligner, {}))


def format_settings(settings: Settings) -> str:
    """Return settings in one line, such as ``epsilon 0.05, weighting none``."""
    return ", ".join(f"{name} {format_value(value)}" for name, value in settings.items())


def format_value(value: Any) -> str:
    """Return the value of a setting, or an aligner with its settings, in one line."""
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else " ".join(str(value).split())


def plain_settings(settings: Settings) -> dict[str, Any]:
    """Return settings as JSON can hold them; a transformer becomes its repr."""
    kept = (str, int, float, bool, type(None))
    return {name: value if isinstance(value, kept) else format_value(value) for name, value in settings.items()}
