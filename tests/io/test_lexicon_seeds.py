"""Seeds without a dictionary: equal words, equal numerals, cognates."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fipp.exceptions import FippError
from fipp.io import Lexicon, Vectors
from fipp.io.seeds._spelling import similar_words, skeleton, to_latin


def levenshtein(left, right):
    """The textbook recursion, row by row."""
    above = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        here = [i]
        for j, b in enumerate(right, 1):
            here.append(min(above[j] + 1, here[j - 1] + 1, above[j - 1] + (a != b)))
        above = here
    return above[-1]


def brute_force(source, target, max_distance):
    return {
        (i, j)
        for i, a in enumerate(source)
        for j, b in enumerate(target)
        if levenshtein(a, b) <= max_distance * max(len(a), len(b)) + 1e-9
    }


@given(
    st.lists(st.text("abč", max_size=9), max_size=12),
    st.lists(st.text("abč", max_size=9), max_size=12),
    st.sampled_from([0, 0.1, 0.2, 0.25, 0.34, 0.4, 0.49]),
)
def test_no_pair_within_the_distance_is_missed(source, target, max_distance):
    found = similar_words(source, target, max_distance)
    assert set(zip(found.source.tolist(), found.target.tolist(), strict=True)) == brute_force(
        source, target, max_distance
    )
    for i, j, distance in zip(*found, strict=True):
        assert distance == pytest.approx(levenshtein(source[i], target[j]) / max(1, len(source[i]), len(target[j])))


def test_similar_words_of_a_larger_list_agree_with_comparing_all():
    chooser = random.Random(0)
    make = lambda: "".join(chooser.choices("aeioklmnrst", k=chooser.randint(3, 9)))  # noqa: E731
    source, target = [make() for _ in range(400)], [make() for _ in range(300)]
    target[:50] = [word[:-1] + "x" for word in source[:50]]
    found = similar_words(source, target, 0.3)
    assert set(zip(found.source.tolist(), found.target.tolist(), strict=True)) == brute_force(source, target, 0.3)


@pytest.mark.parametrize("max_distance", [-0.1, 0.5, 2, float("nan")])
def test_a_distance_that_would_pair_everything_is_refused(max_distance):
    with pytest.raises(FippError, match="max_distance"):
        Lexicon.cognates(["a"], ["b"], max_distance=max_distance)


@pytest.mark.parametrize(
    ("word", "latin"),
    [("Москва", "moskva"), ("ёлка", "elka"), ("Ελλάδα", "ellada"), ("თბილისი", "tbilisi"), ("Հայաստան", "haiastan"),
     ("Œuvre", "oeuvre"), ("Łódź", "lodz"), ("naïve", "naive"), ("ﬁn", "fin"), ("東京", "東京"), ("한국", "한국")],
)  # fmt: skip
def test_words_are_written_in_latin_letters(word, latin):
    assert to_latin(word) == latin


def test_habits_of_spelling_are_levelled():
    for left, right in [("photo", "foto"), ("taxi", "taksi"), ("jazz", "ias")]:
        assert skeleton(left) == skeleton(right)


def test_identical_words_come_in_the_order_of_the_source():
    source, target = ["de", "radio", "7", "cat", "radio"], Vectors(["7", "radio", "de"], np.ones((3, 1)))
    assert Lexicon.identical(source, target).pairs == [("de", "de"), ("radio", "radio"), ("7", "7")]
    assert Lexicon.identical(source, target, min_length=3).pairs == [("radio", "radio")]
    assert Lexicon.identical(source, target, numerals=False).pairs == [("de", "de"), ("radio", "radio")]


def test_numerals_are_equal_across_digit_scripts_and_each_counts_once():
    lexicon = Lexicon.numerals(["1984", "१२", "12", "3.5", "abc1", "-"], ["١٢", "12", "١٩٨٤", "3,5", "3٫5", "-"])
    assert lexicon.pairs == [("1984", "١٩٨٤"), ("१२", "١٢"), ("3.5", "3٫5")]


def test_cognates_are_one_to_one_and_prefer_the_nearer_spelling():
    lexicon = Lexicon.cognates(
        ["nation", "nations", "station"], ["nation", "station", "nationx"], max_distance=0.2, max_rank_ratio=None
    )
    assert dict(lexicon) == {"nation": "nation", "station": "station", "nations": "nationx"}
    assert lexicon.scores.tolist() == pytest.approx([1, 7 / 8, 1])  # x counts as ks


def test_of_equal_spellings_the_one_of_like_frequency_is_taken():
    target = ["politika", *(f"filler{'abcdefghij'[i % 10] * 9}{i}" for i in range(3000)), "политика"]
    assert Lexicon.cognates(["politika"], target).pairs == [("politika", "politika")]
    source = [*(f"word{i}" for i in range(3000)), "politika"]
    assert Lexicon.cognates(source, target).pairs == [("politika", "политика")]


def test_pairs_of_very_different_frequency_are_left_out():
    source, target = ["radical", *map(str, range(3000))], [*map(str, range(3000)), "radikal"]
    assert len(Lexicon.cognates(source, target)) == 0
    assert Lexicon.cognates(source, target, max_rank_ratio=None).pairs == [("radical", "radikal")]
    with pytest.raises(FippError, match="max_rank_ratio"):
        Lexicon.cognates(source, target, max_rank_ratio=0.5)


def test_short_words_and_words_with_other_signs_are_no_cognates():
    assert len(Lexicon.cognates(["cat", "a.b.c.d", "12345"], ["cat", "a.b.c.d", "12345"])) == 0
    assert len(Lexicon.cognates([], ["radio"])) == 0


def test_cognates_are_the_same_on_every_call():
    source = ["general", "generals", "minister", "ministry"]
    target = ["generala", "general", "ministr", "ministri"]
    first = Lexicon.cognates(source, target, max_distance=0.3)
    again = Lexicon.cognates(source, target, max_distance=0.3)
    assert first.pairs == again.pairs and first.scores.tolist() == again.scores.tolist()


def test_one_text_is_no_vocabulary():
    with pytest.raises(FippError, match="not one text"):
        Lexicon.identical("radio", ["radio"])
    with pytest.raises(FippError, match="must be text"):
        Lexicon.numerals([1], ["1"])
