"""Names from CLDR: right, in one word, in lower case; and readable errors without the packages."""

import sys

import pytest

from fipp.exceptions import FippError
from fipp.io import Lexicon


@pytest.fixture
def packages():
    pytest.importorskip("babel", reason="Babel, of the extra fipp[cldr], is not installed")
    pytest.importorskip("emoji", reason="emoji, of the extra fipp[cldr], is not installed")


@pytest.mark.parametrize(
    ("kind", "pair"),
    [
        ("territories", ("germany", "allemagne")),
        ("languages", ("german", "allemand")),
        ("scripts", ("cyrillic", "cyrillique")),
        ("months", ("february", "février")),
        ("weekdays", ("sunday", "dimanche")),
        ("currencies", ("euro", "euro")),
        ("units", ("week", "semaine")),
        ("cities", ("london", "londres")),
        ("emoji", ("elephant", "éléphant")),
    ],
)
def test_every_kind_of_names_is_there(packages, kind, pair):
    assert pair in Lexicon.from_cldr("en", "fr", kinds=[kind]).pairs


def test_names_are_single_words_in_lower_case_unless_asked_otherwise(packages):
    lexicon = Lexicon.from_cldr("en", "ru")
    assert len(lexicon) > 1000 and len(set(lexicon)) == len(lexicon)
    assert all(word == word.lower() and not set(word) & set(" ()-") for pair in lexicon for word in pair)
    phrases = Lexicon.from_cldr("en", "ru", kinds=["territories"], single_words=False, lower=False)
    assert ("United Kingdom", "Великобритания") in phrases.pairs


def test_a_language_without_emoji_names_has_the_others(packages):
    assert len(Lexicon.from_cldr("en", "hr", kinds=["emoji"])) == 0
    assert ("sunday", "nedjelja") in Lexicon.from_cldr("en", "hr").pairs


def test_a_city_is_named_in_the_letters_of_its_language(packages):
    for _, city in Lexicon.from_cldr("en", "ru", kinds=["cities"]):
        assert not city.isascii(), city


def test_the_direction_does_not_matter(packages):
    there, back = Lexicon.from_cldr("en", "fr"), Lexicon.from_cldr("fr", "en")
    assert set(there) == set(back.reverse())


@pytest.mark.parametrize("tag", ["xx", "", "english", "en_XX_YY_ZZ_1"])
def test_an_unknown_language_is_refused_by_name(packages, tag):
    with pytest.raises(FippError, match="CLDR has no names in the language"):
        Lexicon.from_cldr(tag, "fr")


def test_an_unknown_kind_is_refused_with_the_known_ones(packages):
    with pytest.raises(FippError, match="weekdays"):
        Lexicon.from_cldr("en", "fr", kinds=["animals"])


def test_without_the_packages_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "babel", None)
    with pytest.raises(FippError, match=r"pip install 'fipp\[cldr\]'"):
        Lexicon.from_cldr("en", "fr")
