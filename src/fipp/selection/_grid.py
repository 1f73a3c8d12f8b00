"""A grid of settings: which combinations there are, and which of them can be fitted together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sklearn.base import clone

from fipp.aligners import BaseAligner
from fipp.exceptions import FippError
from fipp.preprocess import make_preprocess, with_components

COMPONENTS = "components"
"""The one name of a grid that is no setting of an aligner: how many components its preprocessing removes."""

Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Batch:
    """Settings that one pass can fit.

    Attributes
    ----------
    aligner : aligner
        With all settings that the batch has in common.
    places : tuple of int
        Where the settings stand among all of the grid.
    changed : tuple of dict
        The settings in which each differs.
    """

    aligner: BaseAligner
    places: tuple[int, ...]
    changed: tuple[dict[str, Any], ...]


def check_grid(aligner: BaseAligner, grid: Grid | None, components: Sequence[int] | None) -> dict[str, list[Any]]:
    """Return the grid of ``aligner``, its own or the one given, with ``components``; refuse what it does not know.

    Examples
    --------
    >>> from fipp import Procrustes
    >>> check_grid(Procrustes(), None, None)
    {'preprocess': ['unit', 'isotropic']}
    """
    wanted = dict(aligner.default_grid if grid is None else grid)
    if components is not None:
        wanted = {COMPONENTS: components, **wanted}
    known = [COMPONENTS, *aligner.get_params(deep=True)]
    for name, values in wanted.items():
        if name not in known:
            settings = ", ".join([COMPONENTS, *aligner.get_params(deep=False)])
            raise FippError(f"{type(aligner).__name__} has no setting {name!r} to choose; it has {settings}")
        if isinstance(values, str) or not hasattr(values, "__iter__") or not list(values):
            raise FippError(f"the grid needs a list of values for {name}, not {values!r}")
    if not wanted:
        raise FippError(f"{type(aligner).__name__} declares nothing to choose: pass a grid")
    return {name: _distinct(values) for name, values in wanted.items()}


def _distinct(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        value = value.item() if hasattr(value, "item") else value
        if value not in found:
            found.append(value)
    return found


def combinations(grid: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the grid's values, those of the last setting changing fastest.

    Examples
    --------
    >>> combinations({"epsilon": [0.1, None], "lam": [1.0]})
    [{'epsilon': 0.1, 'lam': 1.0}, {'epsilon': None, 'lam': 1.0}]
    """
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def configure(aligner: BaseAligner, settings: Mapping[str, Any]) -> BaseAligner:
    """Return a fresh aligner with these settings, and refuse now what `fit` would refuse later.

    Examples
    --------
    >>> from fipp import FIPP
    >>> configure(FIPP(), {"components": 2, "lam": 0.5})
    FIPP(lam=0.5, preprocess=Isotropic(n_components=2))
    """
    configured: BaseAligner = clone(aligner)
    configured.set_params(**{name: value for name, value in settings.items() if name != COMPONENTS})
    if COMPONENTS in settings:
        configured.set_params(preprocess=with_components(configured.preprocess, settings[COMPONENTS]))
    configured._validate_params()
    make_preprocess(configured.preprocess)
    return configured


def batches(aligner: BaseAligner, grid: Mapping[str, list[Any]]) -> list[Batch]:
    """Put settings together that differ only in what the method can fit in one pass.

    Examples
    --------
    >>> from fipp import FIPP
    >>> [len(batch.places) for batch in batches(FIPP(), {"components": [1, 2], "lam": [0.5, 1.0]})]
    [2, 2]
    """
    together: dict[tuple[int, ...], list[tuple[int, dict[str, Any]]]] = {}
    settings = combinations(grid)
    for place, chosen in enumerate(settings):
        shared = configure(aligner, chosen).path_settings
        # By the place of a value in the grid: a value itself may be anything, even a transformer.
        key = tuple(grid[name].index(value) for name, value in chosen.items() if name not in shared)
        changed = {name: value for name, value in chosen.items() if name in shared}
        together.setdefault(key, []).append((place, changed))
    return [
        Batch(
            aligner=configure(aligner, settings[members[0][0]]),
            places=tuple(place for place, _ in members),
            changed=tuple(changed for _, changed in members),
        )
        for members in together.values()
    ]


def distance_from(aligner: BaseAligner, settings: Mapping[str, Any]) -> tuple[int, int]:
    """Tell how far settings are from the aligner's own: how many differ, and how many components more are removed.

    Examples
    --------
    >>> from fipp import FIPP
    >>> distance_from(FIPP(), {"epsilon": 0.2, "lam": 1.0})
    (1, 0)
    """
    own = aligner.get_params(deep=True)
    removed = settings.get(COMPONENTS, 0)
    differing = sum(own[name] != value for name, value in settings.items() if name != COMPONENTS)
    return differing, removed
