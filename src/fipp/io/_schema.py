"""What the parts of a model may be: arrays by type and shape, values by scikit-learn's constraints, and lists of them.

A declaration gives the kind of each name; a name that ends in ``?`` may be missing:

    {"n_features_in_": "d", "mean_": "float32 d", "scores_?": "float64 n", "ridge_": [POSITIVE], "probe": Each([str])}

``"float32 c 2"`` is an array of two columns, and ``"d"`` alone a whole number from 1. A letter stands for the same size
wherever it occurs. A list has the constraints of which a value must satisfy one, as for the settings of an estimator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils._param_validation import make_constraint

from fipp.exceptions import FippError

Sizes = dict[str, int]
"""The sizes that letters stand for, as far as they are known."""

_TYPES = {
    "float": ["f2", "f4", "f8"],
    "float32": ["f4"],
    "float64": ["f8"],
    "int64": ["i8"],
    "uint64": ["u8"],
}


class Each(NamedTuple):
    """A list, each of whose entries is of this kind."""

    kind: Any


class MismatchError(FippError):
    """A part of a model is not what it was declared to be; the message says which one, but not in which file."""


def check_value(value: Any, kind: Any, name: str, sizes: Sizes) -> None:
    """Raise a `MismatchError` unless a value is of the declared kind; learn the sizes that were not known yet.

    Examples
    --------
    >>> sizes = {}
    >>> check_value({"map": np.eye(3), "rank": 3}, {"map": "float64 d k", "rank": "k"}, "it", sizes)
    >>> sizes
    {'d': 3, 'k': 3}
    >>> check_value(np.eye(2), "float64 d k", "map", sizes)
    Traceback (most recent call last):
    fipp.io._schema.MismatchError: map is float64 of shape (2, 2), not float64 of shape (3, 3)
    """
    if isinstance(kind, str):
        _check_array(value, kind, name, sizes)
    elif isinstance(kind, Each):
        if not isinstance(value, list):
            raise MismatchError(f"{name} is not a list")
        for place, entry in enumerate(value):
            check_value(entry, kind.kind, f"{name}[{place}]", sizes)
    elif isinstance(kind, Mapping):
        if not isinstance(value, Mapping):
            raise MismatchError(f"{name} is not an object with named parts")
        kinds = kinds_of(value, kind, name)
        for part, entry in value.items():
            check_value(entry, kinds[part], f"{name}: {part}", sizes)
    else:
        constraints = [make_constraint(constraint) for constraint in kind]
        if not any(constraint.is_satisfied_by(value) for constraint in constraints):
            raise MismatchError(f"{name} is {shortened(value)}, not {' or '.join(map(str, constraints))}")


def kinds_of(names: Iterable[str], declared: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Return the declared kind of each name; raise a `MismatchError` if one is unknown or another is missing.

    Examples
    --------
    >>> kinds_of(["map_"], {"map_": "float32 d1 k", "offset_?": "float32 k"}, "the aligner")
    {'map_': 'float32 d1 k'}
    """
    names, kinds = set(names), {name.removesuffix("?"): kind for name, kind in declared.items()}
    for unknown in sorted(names - set(kinds)):
        raise MismatchError(f"{owner} has {shortened(unknown)}, which this version of fipp does not know")
    for name in declared:
        if not name.endswith("?") and name not in names:
            raise MismatchError(f"{owner} has no {name}")
    return {name: kinds[name] for name in names}


def check_size(letter: str, size: int, name: str, sizes: Sizes) -> None:
    """Raise a `MismatchError` unless a letter stands for this size, or for none yet."""
    if sizes.setdefault(letter, size) != size:
        raise MismatchError(f"{name} is {size}, not {sizes[letter]}")


def shortened(value: object) -> str:
    """Return a repr that is short enough for an error message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _check_array(value: Any, kind: str, name: str, sizes: Sizes) -> None:
    first, *letters = kind.split()
    if not letters:
        if not isinstance(value, int) or value < 1:
            raise MismatchError(f"{name} is {shortened(value)}, not a whole number from 1")
        check_size(first, value, name, sizes)
        return
    if not isinstance(value, np.ndarray):
        raise MismatchError(f"{name} is {shortened(value)}, not an array")
    known = {**sizes, **{letter: int(letter) for letter in letters if letter.isdigit()}}
    # A letter that is not known yet takes whatever size it finds first.
    for letter, size in zip(letters, value.shape, strict=False):
        known.setdefault(letter, size)
    expected = tuple(known.get(letter) for letter in letters)
    if value.dtype.str[1:] not in _TYPES[first] or value.shape != expected:
        shape = str(expected).replace("None", "any")
        raise MismatchError(f"{name} is {value.dtype} of shape {value.shape}, not {first} of shape {shape}")
    if value.dtype.kind == "i" and value.size and value.min() < 0:
        raise MismatchError(f"{name} has a row number below zero")
    sizes.update({letter: known[letter] for letter in letters if not letter.isdigit()})
