"""Results of frequency bands and of parts of the dictionary are those of their pairs alone."""

import json

import numpy as np
import pytest

import fipp
from fipp.evaluate import bli
from fipp.exceptions import FippError


@pytest.fixture
def spaces(rng):
    keys = rng.standard_normal((300, 8))
    return keys + rng.standard_normal((300, 8)), keys


def test_a_band_has_the_scores_of_its_pairs_alone(spaces, rng):
    asked, gold = rng.integers(300, size=(2, 400))
    bands = bli(*spaces, asked, gold).by_band([100, 250])
    assert list(bands) == ["0-100", "100-250", "250+"]
    for part, low, high in zip(bands.values(), (0, 100, 250), (100, 250, 300), strict=True):
        chosen = (asked >= low) & (asked < high)
        alone = bli(*spaces, asked[chosen], gold[chosen])
        assert part == alone
        np.testing.assert_array_equal(part.ranks, alone.ranks)
        np.testing.assert_array_equal(part.queries, alone.queries)


def test_a_part_has_the_scores_of_its_pairs_alone(spaces, rng):
    asked = rng.permutation(300)[:200]
    labels = rng.choice(["noun", "verb", "adjective"], size=200)
    parts = bli(*spaces, asked, asked, labels=labels).by_label()
    assert set(parts) == set(labels)
    for label, part in parts.items():
        assert part == bli(*spaces, asked[labels == label], asked[labels == label])


def test_a_query_with_two_labels_is_in_both_parts_with_all_of_its_golds():
    result = bli(np.eye(3), np.eye(3), [0, 0, 1], [0, 1, 1], labels=["x", "y", "y"])
    assert result.by_label()["x"].map == result.per_query()[0]
    assert result.by_label()["y"].n_queries == 2


def test_the_dictionary_has_intervals_bands_and_parts_when_asked_for(spaces):
    result = bli(*spaces, np.arange(300), np.arange(300), labels=["odd", "even"] * 150)
    plain = result.as_dict()
    told = json.loads(json.dumps(result.as_dict(interval=0.9, bands=[100])))
    assert plain.items() <= {**told, "parts": plain["parts"]}.items()
    assert told["intervals"]["level"] == 0.9 and told["intervals"]["map"] == list(result.interval("map", 0.9))
    assert told["bands"]["0-100"]["n_queries"] == 100 and told["bands"]["0-100"]["intervals"]["p@1"]
    assert told["parts"]["odd"]["n_queries"] == 150
    assert list(result.as_dict(bands=True)["bands"]) == ["0-1k"]


def test_parts_count_words_that_could_not_be_looked_up(rng):
    words = [f"w{i}" for i in range(40)]
    source, target = (fipp.Vectors(words[:end], rng.standard_normal((end, 4))) for end in (40, 35))
    alignment = fipp.align(source, target, [(w, w) for w in words[:20]], "procrustes")
    test = [(w, w) for w in words[20:]] + [("unknown", "w3")]
    result = alignment.evaluate(test, labels=["early"] * 10 + ["late"] * 11)
    assert (result.n_queries, result.total) == (15, 21)
    assert result.missed.tolist() == [35, 36, 37, 38, 39]
    late, early = result.by_label()["late"], result.by_label()["early"]
    assert (early.n_queries, early.total, late.n_queries, late.total) == (10, 10, 5, 11)
    assert {name: (part.n_queries, part.total) for name, part in result.by_band([30]).items()} == {
        "0-30": (10, 10),
        "30+": (5, 10),
    }
    assert early.words == tuple(words[20:30])


def test_the_label_of_a_duplicate_counts_too(rng):
    words = [f"w{i}" for i in range(40)]
    source, target = (fipp.Vectors(words, rng.standard_normal((40, 4))) for _ in range(2))
    alignment = fipp.align(source, target, [(w, w) for w in words[:20]], "procrustes")
    result = alignment.evaluate([("w20", "w20"), ("w21", "w21"), ("W20", "w20")], labels=["noun", "noun", "verb"])
    noun, verb = result.by_label()["noun"], result.by_label()["verb"]
    assert (noun.n_queries, noun.lines, verb.n_queries, verb.lines) == (2, 3, 1, 2)
    assert verb.words == ("w20",)


def test_wrong_bands_and_labels_are_refused(spaces):
    with pytest.raises(FippError, match="rising row numbers"):
        bli(*spaces, [0], [0]).by_band([5, 5])
    with pytest.raises(FippError, match="2 pairs but 1 labels"):
        bli(*spaces, [0, 1], [0, 1], labels=["x"])
