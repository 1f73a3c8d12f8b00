"""Words of different scripts and habits of spelling brought to one form, in which related words look alike."""

from __future__ import annotations

import re
import unicodedata

# Letters of the common Slavic, Greek, Armenian and Georgian alphabets by sound. Letters with marks (й, ё, ά) come apart
# before they are looked up, and lose the mark.
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

# What one language writes in one way and its neighbour in another; applied to both sides, so that only the differences
# between them matter.
_HABITS = [
    (re.compile(pattern), letters)
    for pattern, letters in [
        ("ph", "f"), ("([tr])h", r"\1"), ("ck|qu|q", "k"), ("x", "ks"), ("c(?=[eiy])", "s"), ("c(?!h)", "k"),
        ("z|ts(?!s)", "s"), ("y|j", "i"), ("w", "v"), (r"(.)\1+", r"\1"),
    ]
]  # fmt: skip


def to_latin(word: str) -> str:
    """Write a word in lower-case Latin letters without marks, as far as its alphabet is known.

    Known are Cyrillic, Greek, Armenian and Georgian beside Latin; other letters stay as they are.

    Examples
    --------
    >>> to_latin("Élève"), to_latin("Москва"), to_latin("Αθήνα"), to_latin("Straße"), to_latin("東京")
    ('eleve', 'moskva', 'athina', 'strasse', '東京')
    """
    apart = unicodedata.normalize("NFKD", word.lower())
    letters = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return unicodedata.normalize("NFC", letters.translate(_SOUNDS))


def skeleton(word: str) -> str:
    """Write a word in Latin letters with the commonest differences of spelling between languages taken away.

    Examples
    --------
    >>> skeleton("philosophy"), skeleton("философия"), skeleton("filozofija")
    ('filosofi', 'filosofia', 'filosofia')
    """
    letters = to_latin(word)
    for pattern, replacement in _HABITS:
        letters = pattern.sub(replacement, letters)
    return letters
