"""Words that two vocabularies share: spelled alike, the same number, or nearly alike."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._similar_words import similar_words
from fipp.io._spelling import skeleton
from fipp.io._words import as_strings

Progress = Callable[[int, int], object]

# The order of the first hundred words of a vocabulary, function words mostly, says little.
_FIRST_RANKS = 100
# How far a factor of e between the frequency ranks counts, beside an edit distance between 0 and 1.
_RANK_WEIGHT = 0.1
_SEPARATORS = str.maketrans({"٫": ".", "٬": ",", "．": ".", "，": ",", "−": "-", "–": "-"})
_SIGNS = set(".,:-/%")


def identical_words(
    source: Iterable[str], target: Iterable[str], *, min_length: int, numerals: bool
) -> list[tuple[str, str]]:
    """Return the words that both vocabularies spell alike, in the order of the source.

    Examples
    --------
    >>> identical_words(["radio", "cat", "7"], ["7", "radio"], min_length=1, numerals=False)
    [('radio', 'radio')]
    """
    known = set(_words(target))
    return [
        (word, word)
        for word in dict.fromkeys(_words(source))
        if word in known and len(word) >= min_length and (numerals or numeral(word) is None)
    ]


def equal_numerals(source: Iterable[str], target: Iterable[str]) -> list[tuple[str, str]]:
    """Return the numerals that stand for the same number written with the same signs, whatever the digits.

    Examples
    --------
    >>> equal_numerals(["7", "cat", "1.5"], ["٧", "1,5", "kot"])
    [('7', '٧')]
    """
    known: dict[str, str] = {}
    for word in _words(target):
        form = numeral(word)
        if form is not None:
            known.setdefault(form, word)
    pairs: dict[str, tuple[str, str]] = {}
    for word in _words(source):
        form = numeral(word)
        if form is not None and form in known:
            pairs.setdefault(form, (word, known[form]))
    return list(pairs.values())


def numeral(word: str) -> str | None:
    """Write a numeral of any script in ASCII digits; None if the word is no numeral.

    Examples
    --------
    >>> numeral("١٩٨٤"), numeral("3,5%"), numeral("۱٫۵"), numeral("b2b"), numeral("--")
    ('1984', '3,5%', '1.5', None, None)
    """
    digits = 0
    letters = []
    for letter in word.translate(_SEPARATORS):
        value = unicodedata.decimal(letter, None)
        if value is None and letter not in _SIGNS:
            return None
        digits += value is not None
        letters.append(letter if value is None else str(value))
    return "".join(letters) if digits else None


def cognate_words(
    source: Iterable[str],
    target: Iterable[str],
    *,
    max_distance: float,
    min_length: int,
    max_rank_ratio: float | None,
    progress: Progress | None = None,
) -> tuple[list[tuple[str, str]], npt.NDArray[np.float64]]:
    """Return the words that are nearest to each other in spelling and frequency, and their similarity.

    Examples
    --------
    >>> cognate_words(["photography"], ["фотография", "фото"], max_distance=0.2, min_length=3, max_rank_ratio=None)
    ([('photography', 'фотография')], array([0.9]))
    """
    if max_rank_ratio is not None and max_rank_ratio < 1:
        raise FippError(f"max_rank_ratio must be at least 1, not {max_rank_ratio}")
    words = (_words(source), _words(target))
    forms, ranks = zip(*(_forms(side, min_length) for side in words), strict=True)
    found = similar_words(forms[0], forms[1], max_distance, progress)
    left, right = ranks[0][found.source], ranks[1][found.target]
    gap = np.abs(np.log((left + _FIRST_RANKS) / (right + _FIRST_RANKS)))
    cost = found.distance + _RANK_WEIGHT * gap
    chosen = _mutual_best(left, right, cost)
    if max_rank_ratio is not None:
        chosen = chosen[gap[chosen] <= np.log(max_rank_ratio)]
    pairs = [(words[0][left[place]], words[1][right[place]]) for place in chosen.tolist()]
    return pairs, 1 - found.distance[chosen]


def _words(vocabulary: Iterable[str]) -> tuple[str, ...]:
    if isinstance(vocabulary, str):
        raise FippError("a vocabulary is Vectors or a list of words, not one text")
    return as_strings(tuple(vocabulary))


def _forms(words: tuple[str, ...], min_length: int) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return the comparable forms of the words that are long enough and have letters only, and their places."""
    forms, places = [], []
    for place, word in enumerate(words):
        form = skeleton(word)
        if len(form) >= min_length and form.isalpha():
            forms.append(form)
            places.append(place)
    return forms, np.array(places, dtype=np.int64)


def _mutual_best(
    left: npt.NDArray[np.int64], right: npt.NDArray[np.int64], cost: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64]:
    """Return the pairs each word of which has no cheaper one, in the order of the left; at most one for each word."""
    best = []
    for own, other in ((left, right), (right, left)):
        order = np.lexsort((other, cost, own))
        first = np.ones(len(order), dtype=bool)
        first[1:] = own[order][1:] != own[order][:-1]
        best.append(order[first])
    both = np.intersect1d(best[0], best[1])
    return both[np.argsort(left[both], kind="stable")]
