"""The ways to name vectors, a lexicon or a method: the object itself, a path, an array, or a name."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from fipp._validation import as_matrix, as_pairs
from fipp.aligners import METHODS, BaseAligner
from fipp.exceptions import FippError, warn
from fipp.io import Lexicon, Lookup, Vectors

VectorsLike = Vectors | str | os.PathLike[str]
LexiconLike = Lexicon | str | os.PathLike[str] | Iterable[tuple[str, str]]


def has_words(vectors: VectorsLike | ArrayLike) -> TypeGuard[VectorsLike]:
    """Return whether vectors come with words, as `Vectors` and files do; arrays do not."""
    return isinstance(vectors, (Vectors, str, os.PathLike))


def as_vectors(vectors: VectorsLike) -> Vectors:
    """Return vectors, read from a file if a path is given."""
    return vectors if isinstance(vectors, Vectors) else Vectors.load(vectors)


def as_lexicon(lexicon: LexiconLike) -> Lexicon:
    """Return a lexicon, read from a file if a path is given, or made of pairs of words or of whole numbers."""
    if isinstance(lexicon, Lexicon):
        return lexicon
    if isinstance(lexicon, (str, os.PathLike)):
        return Lexicon.load(lexicon)
    pairs = (pair if isinstance(pair, str) else tuple(pair) for pair in lexicon)
    return Lexicon(tuple(str(i) if isinstance(i, Integral) else i for i in pair) for pair in pairs)  # type: ignore[misc]


class Items(NamedTuple):
    """An array as vectors whose words are the ids of its rows, and the row of each id."""

    vectors: Vectors
    row_of: dict[Hashable, int]


def as_items(X: ArrayLike, ids: Iterable[Hashable] | None, name: str) -> Items:
    """Return an array with an id for each row; the first row of each id is used, and a warning counts the others."""
    X = as_matrix(X, name)
    known = list(range(len(X)) if ids is None else ids)
    if len(known) != len(X):
        raise FippError(f"{name} has {len(X):,} rows but there are {len(known):,} ids in {name}_ids")
    try:
        first = dict(zip(reversed(known), range(len(X) - 1, -1, -1), strict=True))
    except TypeError as error:
        raise FippError(f"{name}_ids must be hashable, such as numbers, strings or tuples: {error}") from None
    if len(first) < len(X):
        repeated = len(X) - len(first)
        warn(f"{repeated:,} rows of {name} have the id of an earlier row and are left out: ids should be unique")
        X = X[sorted(first.values())]
    row_of = {item: row for row, item in enumerate(dict.fromkeys(known))}
    words = [str(item) for item in row_of]
    if len(set(words)) < len(words):
        raise FippError(f"some {name}_ids differ only in type, such as 1 and '1': make all of them numbers or strings")
    return Items(Vectors(words, X), row_of)


def paired_rows(lexicon: Any, source: Items, target: Items, *, by_row: bool) -> tuple[NDArray[np.int64], int]:
    """Return the row numbers of known pairs, and how many pairs there were, found or not.

    Without a lexicon, equal ids are pairs. With ``by_row``, ids are row numbers, of which none may be missing.
    """
    if by_row:
        rows = as_pairs(lexicon, len(source.vectors), len(target.vectors))
        return rows, len(rows) if lexicon is None else len(lexicon)
    if lexicon is None:
        pairs = [(item, item) for item in source.row_of]
    else:
        pairs = list(as_lexicon(lexicon) if isinstance(lexicon, (str, os.PathLike)) else lexicon)
        for place, pair in enumerate(pairs):
            if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
                raise FippError(f"pair {place} must be a source id and a target id, not {pair!r}")
    found = [(source.row_of[s], target.row_of[t]) for s, t in pairs if s in source.row_of and t in target.row_of]
    if not found:
        what = "source_ids and target_ids have no id in common" if lexicon is None else "no pair has both of its ids"
        example = next(iter(source.row_of)), next(iter(target.row_of))
        raise FippError(f"{what}; the first source id is {example[0]!r} and the first target id is {example[1]!r}")
    return as_pairs(found, len(source.vectors), len(target.vectors)), len(pairs)


def found_pairs(lexicon: Lexicon, source: Vectors, target: Vectors) -> Lookup:
    """Look up a lexicon; refuse it if no pair is found, and warn if it seems to be reversed."""
    lookup = lexicon.lookup(source, target).require()
    if hint := lookup.hint():
        warn(hint)
    return lookup


def words_spelled_alike(source: Vectors, target: Vectors) -> Lexicon:
    """Guess pairs where none are known: equal words, equal numerals, cognates. Many are wrong.

    Examples
    --------
    >>> english, russian = ["radio", "7", "photograph"], ["фотограф", "дом", "radio", "7"]
    >>> words_spelled_alike(Vectors(english, [[1.0]] * 3), Vectors(russian, [[1.0]] * 4)).pairs
    [('radio', 'radio'), ('7', '7'), ('photograph', 'фотограф')]
    """
    kinds = (Lexicon.identical, Lexicon.numerals, Lexicon.cognates)
    return Lexicon(dict.fromkeys(pair for kind in kinds for pair in kind(source, target)))


def make_aligner(method: str | BaseAligner, options: Mapping[str, Any]) -> BaseAligner:
    """Return a new aligner of this name, or like the one given, with these settings."""
    if not isinstance(method, str):
        return clone(method).set_params(**options)
    if method not in METHODS:
        raise FippError(f"there is no method {method!r}; known are {', '.join(METHODS)}{_near_miss(method, METHODS)}")
    aligner = clone(METHODS[method])
    known = aligner.get_params(deep=False)
    unknown = sorted(set(options) - set(known))
    if unknown:
        hint = _near_miss(unknown[0], known)
        if not hint and unknown[0] in METHODS["fipp"].get_params():
            hint = f"; {unknown[0]!r} is a setting of the method 'fipp'"
        raise FippError(f"{method} has no setting {unknown[0]!r}; it has {', '.join(known)}{hint}")
    return aligner.set_params(**options)


def _near_miss(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, known, n=2, cutoff=0.55)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
