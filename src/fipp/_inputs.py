"""What a user may give where vectors, a lexicon or a method are wanted: the thing itself, or how to get it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from sklearn.base import clone

from fipp.aligners import METHODS, BaseAligner
from fipp.exceptions import FippError, warn
from fipp.io import Lexicon, Lookup, Vectors

VectorsLike = Vectors | str | os.PathLike[str]
LexiconLike = Lexicon | str | os.PathLike[str] | Iterable[tuple[str, str]]


def as_vectors(vectors: VectorsLike) -> Vectors:
    """Return vectors, read from a file if a path is given.

    Examples
    --------
    >>> as_vectors(Vectors(["cat"], [[1.0]]))
    Vectors(1 words, 1 dimensions)
    """
    return vectors if isinstance(vectors, Vectors) else Vectors.load(vectors)


def as_lexicon(lexicon: LexiconLike) -> Lexicon:
    """Return a lexicon, read from a file if a path is given, or made of pairs.

    Examples
    --------
    >>> as_lexicon([("cat", "mačka")])
    Lexicon(1 pairs)
    """
    if isinstance(lexicon, Lexicon):
        return lexicon
    return Lexicon.load(lexicon) if isinstance(lexicon, (str, os.PathLike)) else Lexicon(lexicon)


def found_pairs(lexicon: Lexicon, source: Vectors, target: Vectors) -> Lookup:
    """Look a lexicon up; refuse one of which nothing is found, and warn of one that seems to be the wrong way round.

    Examples
    --------
    >>> english, croatian = Vectors(["cat"], [[1.0]]), Vectors(["mačka"], [[1.0]])
    >>> found_pairs(Lexicon([("cat", "mačka")]), english, croatian).rows
    array([[0, 0]])
    """
    lookup = lexicon.lookup(source, target).require()
    hint = lookup.hint()
    if hint:
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
    """Return a new aligner of this name, or like the one given, with these settings.

    Examples
    --------
    >>> make_aligner("fipp", {"epsilon": 0.2})
    FIPP(epsilon=0.2)
    """
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
