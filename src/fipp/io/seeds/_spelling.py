"""Seeds from the spelling of words: identical words, equal numerals, and cognates in whatever alphabet.

Cognates are found without comparing every word with every other. Words within k edits share many n-grams: if both are
padded with n - 1 marks on either side and the longer has L letters, at least L + n - 1 - k·n (Ukkonen 1992). So words
are grouped by length, one sparse product counts the n-grams that the words of two groups share, and only pairs that
share enough are compared letter by letter. None is missed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fipp._progress import Progress, Steps
from fipp.exceptions import FippError
from fipp.io._table import as_strings

_Numbers = npt.NDArray[np.int64]

# The most rows times columns of one product: 256 MB if no entry were zero, but nearly all are.
_PRODUCT_CELLS = 1 << 25
# The number of pairs compared at once.
_COMPARED = 1 << 16
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


def _forms(words: tuple[str, ...], min_length: int) -> tuple[list[str], _Numbers]:
    """Return the comparable forms of words that are long enough and consist of letters, and their places."""
    forms, places = [], []
    for place, word in enumerate(words):
        form = skeleton(word)
        if len(form) >= min_length and form.isalpha():
            forms.append(form)
            places.append(place)
    return forms, np.array(places, dtype=np.int64)


def _mutual_best(left: _Numbers, right: _Numbers, cost: npt.NDArray[np.float64]) -> _Numbers:
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


class SimilarWords(NamedTuple):
    """Places in two lists of words, and the normalised edit distance of each pair."""

    source: _Numbers
    target: _Numbers
    distance: npt.NDArray[np.float64]


def similar_words(
    source: Sequence[str], target: Sequence[str], max_distance: float, progress: Progress | None = None
) -> SimilarWords:
    """Return all pairs whose edit distance is at most ``max_distance`` (below 0.5) times the longer word's length."""
    if not 0 <= max_distance < 0.5:
        raise FippError(f"max_distance must lie between 0 and 0.5, 0.5 excluded, not {max_distance}")
    groups = [_by_length(words) for words in (source, target)]
    combinations = [
        (left, right, _edits(max(left, right), max_distance))
        for left in sorted(groups[0])
        for right in sorted(groups[1])
        if abs(left - right) <= _edits(max(left, right), max_distance)
    ]
    codes = [{length: _letters(words, length, places) for length, places in sides.items()}
             for words, sides in zip((source, target), groups, strict=True)]  # fmt: skip
    grams = _Grams(source, target, groups)
    steps = Steps(progress, len(combinations))
    found = []
    for left, right, edits in combinations:
        for rows, columns in grams.candidates(left, right, edits):
            distance = edit_distances(codes[0][left][rows], codes[1][right][columns])
            near = distance <= edits
            share = distance[near] / max(left, right, 1)
            found.append((groups[0][left][rows[near]], groups[1][right][columns[near]], share))
        steps()
    if not found:
        return SimilarWords(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    sources, targets, distances = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((targets, sources))
    return SimilarWords(sources[order], targets[order], distances[order])


def edit_distances(left: npt.NDArray[np.uint32], right: npt.NDArray[np.uint32], *, swaps: bool = False) -> _Numbers:
    """Return the Levenshtein distances between the words in equal rows of two matrices of code points.

    With ``swaps``, two neighbouring letters in the wrong order are one mistake, not two.
    """
    count, length = right.shape
    # One row of the classic table at a time, for all pairs at once.
    above = np.tile(np.arange(length + 1, dtype=np.int64)[:, np.newaxis], (1, count))
    before = above
    for row in range(left.shape[1]):
        here = np.empty_like(above)
        here[0] = row + 1
        for column in range(length):
            replaced = above[column] + (left[:, row] != right[:, column])
            here[column + 1] = np.minimum(replaced, 1 + np.minimum(above[column + 1], here[column]))
            if swaps and row and column:
                swapped = (left[:, row] == right[:, column - 1]) & (left[:, row - 1] == right[:, column])
                here[column + 1] = np.where(
                    swapped, np.minimum(here[column + 1], before[column - 1] + 1), here[column + 1]
                )
        before, above = above, here
    return above[-1]


def nearest_spellings(word: str, words: Sequence[str], k: int) -> list[int]:
    """Return the places of up to ``k`` words that differ from one in at most a third of its letters, nearest first.

    Two neighbouring letters in the wrong order count as one. Of equally near words, the first in the list are taken.

    Examples
    --------
    >>> nearest_spellings("watr", ["what", "water", "house", "wat"], 2)
    [1, 3]
    >>> nearest_spellings("watre", ["what", "water", "house", "wat"], 2)
    [1]
    """
    if not word:
        return []
    edits = max(1, _edits(len(word), 1 / 3))
    places, distances = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for length, group in _by_length(words).items():
        if length and abs(length - len(word)) <= edits:
            letters = _letters(words, length, group)
            distance = edit_distances(
                np.repeat(_letters([word], len(word), np.zeros(1, np.int64)), len(group), 0), letters, swaps=True
            )
            places.append(group[distance <= edits])
            distances.append(distance[distance <= edits])
    found = np.concatenate(places)
    return found[np.lexsort((found, np.concatenate(distances)))[:k]].tolist()


def _edits(length: int, max_distance: float) -> int:
    # Rounding may leave a product such as 0.2 * 5 just below a whole number.
    return int(max_distance * length + 1e-9)


def _by_length(words: Sequence[str]) -> dict[int, _Numbers]:
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    return {int(length): np.flatnonzero(lengths == length) for length in np.unique(lengths)}


def _letters(words: Sequence[str], length: int, places: _Numbers) -> npt.NDArray[np.uint32]:
    text = "".join(words[place] for place in places.tolist())
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").reshape(len(places), length)


class _Grams:
    """Counts of the n-grams of two lists of words, as sparse matrices with a row per word."""

    def __init__(self, source: Sequence[str], target: Sequence[str], groups: Sequence[dict[int, _Numbers]]) -> None:
        self._words = [*source, *target]
        self._n_source = len(source)
        self._groups = groups
        self._counts: dict[int, sparse.csr_matrix] = {}

    def candidates(self, left: int, right: int, edits: int) -> Iterator[tuple[_Numbers, _Numbers]]:
        """Yield rows of both groups of words that share enough n-grams to be within ``edits``."""
        longer = max(left, right)
        # Longer n-grams are rarer and give fewer candidates, but with many edits a pair need not share one.
        size = next((n for n in (3, 2, 1) if longer + n - 1 - edits * n >= 1), None)
        if size is None:  # words without letters
            yield np.zeros(1, np.int64), np.zeros(1, np.int64)
            return
        shared = longer + size - 1 - edits * size
        rows = self._count(size)[self._groups[0][left]]
        columns = self._count(size)[self._n_source + self._groups[1][right]].T.tocsr()
        step = max(1, _PRODUCT_CELLS // columns.shape[1])
        for start in range(0, rows.shape[0], step):
            # Repeated n-grams count more than once, which only adds candidates.
            product = (rows[start : start + step] @ columns).tocoo()
            enough = product.data >= shared
            pairs = product.row[enough].astype(np.int64) + start, product.col[enough].astype(np.int64)
            for first in range(0, len(pairs[0]), _COMPARED):
                yield pairs[0][first : first + _COMPARED], pairs[1][first : first + _COMPARED]

    def _count(self, size: int) -> sparse.csr_matrix:
        from sklearn.feature_extraction.text import CountVectorizer  # slow to import, and rarely needed

        if size not in self._counts:
            vectorizer = CountVectorizer(analyzer=partial(_ngrams, size=size), dtype=np.int32)
            self._counts[size] = vectorizer.fit_transform(self._words).tocsr()
        return self._counts[size]


def _ngrams(word: str, size: int) -> list[str]:
    padded = [""] * (size - 1) + list(word) + [""] * (size - 1)
    return ["\0".join(padded[place : place + size]) for place in range(len(padded) - size + 1)]
