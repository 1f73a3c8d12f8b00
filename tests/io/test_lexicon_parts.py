"""A lexicon's parts and sums: scores stay with their pairs, nothing is counted twice."""

import numpy as np
import pytest

from fipp.exceptions import FippError
from fipp.io import Lexicon, Vectors

PAIRS = [("cat", "mačka"), ("dog", "pas"), ("cat", "mačak"), ("dog", "pas")]
SCORES = [0.9, 0.8, 0.3, 0.1]


@pytest.fixture
def lexicon():
    return Lexicon(PAIRS, SCORES)


def vocabulary(*words):
    return Vectors(words, np.zeros((len(words), 1)))


def together(lexicon):
    return list(zip(lexicon.pairs, lexicon.scores.tolist(), strict=True))


def test_scores_stay_with_their_pairs(lexicon):
    known = list(zip(PAIRS, SCORES, strict=True))
    assert together(lexicon.head(3)) == known[:3]
    assert together(lexicon.unique()) == known[:3]
    assert together(lexicon.at_least(0.3)) == known[:3]
    assert lexicon.reverse().scores.tolist() == SCORES
    chosen, rest = lexicon.split(1, random_state=0)
    assert sorted(together(chosen) + together(rest)) == sorted(known)


def test_a_sum_has_each_pair_once_with_its_first_score(lexicon):
    total = lexicon + Lexicon([("cow", "krava"), ("cat", "mačka")])
    assert total.pairs == [*PAIRS[:3], ("cow", "krava")]
    np.testing.assert_array_equal(total.scores, [0.9, 0.8, 0.3, np.nan])
    assert (Lexicon(PAIRS) + Lexicon(PAIRS)).scores is None
    assert Lexicon(PAIRS).merge(Lexicon([("a", "b")]), Lexicon([("c", "d")])).pairs[-2:] == [("a", "b"), ("c", "d")]
    with pytest.raises(TypeError):
        lexicon + PAIRS


def test_filtering_keeps_what_both_vocabularies_have_and_says_what_they_have_not(lexicon):
    found = lexicon.filter(vocabulary("Cat", "dog"), vocabulary("pas", "mačak"))
    assert found.pairs == [("dog", "pas"), ("cat", "mačak")]
    assert found.scores.tolist() == [0.8, 0.3]
    assert found.coverage.summary() == (
        "3 of 4 pairs found (75 %); 1 duplicate left out; not in the target: 1, such as 'mačka'"
    )


def test_all_of_an_empty_lexicon_is_empty():
    empty = Lexicon([])
    assert len(empty.head(3)) == len(empty.unique()) == len(empty + empty) == len(empty.reverse()) == 0


@pytest.mark.parametrize("scores", [[1, 2, 3], [[1, 2, 3, 4]], ["a", "b", "c", "d"], [1, 2, 3, np.inf]])
def test_scores_that_do_not_belong_to_the_pairs_are_refused(scores):
    with pytest.raises(FippError, match="scores"):
        Lexicon(PAIRS, scores)


def test_choosing_by_scores_that_are_not_there_is_refused():
    with pytest.raises(FippError, match="no scores"):
        Lexicon(PAIRS).at_least(0.5)
    with pytest.raises(FippError, match="head takes"):
        Lexicon(PAIRS).head(-1)
