"""Seeds without a dictionary: pairs of words from two vocabularies, or from Unicode's CLDR."""

from fipp.io.seeds._cldr import cldr_names
from fipp.io.seeds._spelling import cognate_words, equal_numerals, identical_words, nearest_spellings

__all__ = ["cldr_names", "cognate_words", "equal_numerals", "identical_words", "nearest_spellings"]
