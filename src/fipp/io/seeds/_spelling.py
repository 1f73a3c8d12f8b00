"""Seeds from the spelling of words: identical words, equal numerals, and cognates in whatever alphabet."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from fipp._progress import Progress
from fipp.exceptions import FippError
from fipp.io._table import as_strings
from fipp.io.seeds._similar_words import similar_words

# The order of the first hundred words of a vocabulary, mostly function words, says little.
_FIRST_RANKS = 100
# The weight of a factor of e between frequency ranks, added to an edit distance between 0 and 1.
_RANK_WEIGHT = 0.1
_SEPARATORS = str.maketrans({"٫": ".", "٬": ",", "．": ".", "，": ",", "−": "-", "–": "-"})
_SIGNS = set(".,:-/%")

# Letters of the common Slavic, Greek, Armenian and Georgian alphabets by sound. Letters with marks (й, ё, ά) are
# decomposed before they are looked up, and lose the mark.
_CYRILLIC = (
    "а a б b в v г g ґ g д d е e є ie ж zh з z и i і i ј j к k л l м m н n о o п p р r с s т t у u ф f х h ц ts ч ch "
    "ш sh щ shch ъ - ы y ь - э e ю iu я ia ђ d ѕ dz љ lj њ nj ћ c џ dz ѣ e ѳ f ѵ i ә a ғ g қ k ң n ө o ұ u ү u һ h"
)
_GREEK = "α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o"
_ARMENIAN = (
    "ա a բ b գ g դ d ե e զ z է e ը e թ t ժ zh ի i լ l խ h ծ ts կ k հ h ձ dz ղ g ճ ch մ m յ i ն n շ sh ո o չ ch պ p ջ j "
    "ռ r ս s վ v տ t ր r ց ts ւ v փ p ք k և ev օ o ֆ f"
)
_GEORGIAN = (
    "ა a ბ b გ g დ d ე e ვ v ზ z თ t ი i კ k ლ l მ m ნ n ო o პ p ჟ zh რ r ს s ტ t უ u ფ p ქ k ღ g ყ k შ sh ჩ ch ც ts "
    "ძ dz წ ts ჭ ch ხ h ჯ j ჰ h"
)
_LATIN = "ß ss æ ae œ oe ø o đ d ð d ł l þ th ı i ŋ n ħ h ŧ t ə a ĸ k ʻ - ʼ - ’ - ‘ - ' -"


def _table(*alphabets: str) -> dict[int, str]:
    letters = " ".join(alphabets).split()
    return {ord(letter): sound.strip("-") for letter, sound in zip(letters[::2], letters[1::2], strict=True)}


_SOUNDS = _table(_CYRILLIC, _GREEK, _ARMENIAN, _GEORGIAN, _LATIN)

# Spellings in which neighbouring languages differ. They are replaced on both sides, so only differences matter.
_HABITS = [
    (re.compile(pattern), letters)
    for pattern, letters in [
        ("ph", "f"), ("([tr])h", r"\1"), ("ck|qu|q", "k"), ("x", "ks"), ("c(?=[eiy])", "s"), ("c(?!h)", "k"),
        ("z|ts(?!s)", "s"), ("y|j", "i"), ("w", "v"), (r"(.)\1+", r"\1"),
    ]
]  # fmt: skip


def identical_words(
    source: Iterable[str], target: Iterable[str], *, min_length: int, numerals: bool
) -> list[tuple[str, str]]:
    """Return the words that both vocabularies contain, in the order of the source."""
    known = set(_words(target))
    return [
        (word, word)
        for word in dict.fromkeys(_words(source))
        if word in known and len(word) >= min_length and (numerals or numeral(word) is None)
    ]


def equal_numerals(source: Iterable[str], target: Iterable[str]) -> list[tuple[str, str]]:
    """Return the numerals that are equal except for the script of their digits."""
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
    """Return a numeral of any script in ASCII digits; None if the word is not a numeral."""
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
    max_distance: float,
    min_length: int,
    max_rank_ratio: float | None,
    progress: Progress | None = None,
) -> tuple[list[tuple[str, str]], npt.NDArray[np.float64]]:
    """Return pairs of words that are each other's nearest in spelling and frequency, and their similarities."""
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
    """Return the comparable forms of words that are long enough and consist of letters, and their places."""
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
    """Return the pairs that are the cheapest for both of their words, in the order of the left words."""
    best = []
    for own, other in ((left, right), (right, left)):
        order = np.lexsort((other, cost, own))
        first = np.ones(len(order), dtype=bool)
        first[1:] = own[order][1:] != own[order][:-1]
        best.append(order[first])
    both = np.intersect1d(best[0], best[1])
    return both[np.argsort(left[both], kind="stable")]


def to_latin(word: str) -> str:
    """Return a word in lower-case Latin letters without marks; letters of unknown alphabets are kept."""
    apart = unicodedata.normalize("NFKD", word.lower())
    letters = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return unicodedata.normalize("NFC", letters.translate(_SOUNDS))


def skeleton(word: str) -> str:
    """Return a word in Latin letters without the most common differences of spelling between languages."""
    letters = to_latin(word)
    for pattern, replacement in _HABITS:
        letters = pattern.sub(replacement, letters)
    return letters
