"""Words as keys: unique, and found in other spellings."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._report import quoted


class WordNotFoundError(FippError, KeyError):
    """A word that the vocabulary does not have; a KeyError too, for code that treats `Vectors` like a dict."""

    # KeyError would print the message's repr.
    __str__ = Exception.__str__


def fold(word: str) -> str:
    """Bring a word to the form in which case and Unicode composition make no difference.

    Examples
    --------
    >>> fold("STRASSE") == fold("Straße")
    True
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", word).casefold())


class Variants:
    """The rows of words by their composed form and by their form in any case.

    Examples
    --------
    >>> Variants(("Cat", "dog")).find("CAT", {"Cat": 0, "dog": 1})
    0
    """

    def __init__(self, words: tuple[str, ...]) -> None:
        self._composed: dict[str, int] = {}
        self._folded: dict[str, int] = {}
        for row, word in enumerate(words):
            if not unicodedata.is_normalized("NFC", word):
                self._composed.setdefault(unicodedata.normalize("NFC", word), row)
            self._folded.setdefault(fold(word), row)

    def find(self, word: str, exact: dict[str, int]) -> int:
        """Return the row of the nearest spelling of ``word``, -1 if there is none; ``exact`` has the rows by word."""
        composed = unicodedata.normalize("NFC", word)
        for spelling in (composed, composed.lower()):
            for index in (exact, self._composed):
                if spelling in index:
                    return index[spelling]
        return self._folded.get(fold(word), -1)


def as_strings(words: Sequence[str] | npt.NDArray[np.str_]) -> tuple[str, ...]:
    """Return words as a tuple; raise a FippError if one is not text."""
    names = tuple(words.tolist() if isinstance(words, np.ndarray) else words)
    for row, name in enumerate(names):
        if not isinstance(name, str):
            raise FippError(f"words must be text, but the word of row {row} is {name!r}")
    return names


def index_of_unique(words: tuple[str, ...]) -> dict[str, int]:
    """Return the row of each word; raise a FippError that names the word and its rows if one is there twice."""
    index = {word: row for row, word in enumerate(words)}
    if len(index) < len(words):
        first: dict[str, int] = {}
        for row, word in enumerate(words):
            if first.setdefault(word, row) != row:
                raise FippError(f"the word {quoted(word)} is in rows {first[word]} and {row}; words must be unique")
    return index
