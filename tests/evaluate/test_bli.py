"""Bilingual lexicon induction, against a walk down a sorted list."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fipp.evaluate import BLIResult, bli
from fipp.exceptions import FippError


def brute_force(queries, keys, pairs):
    """Sort all keys of each query, golds last among equals, and walk down; dot products of whole numbers are exact."""
    average_precisions, best_ranks = [], []
    for row in sorted({row for row, _ in pairs}):
        gold = {key for query, key in pairs if query == row}
        scores = [int(np.dot(queries[row], key)) for key in keys.astype(int)]
        listed = sorted(range(len(keys)), key=lambda key: (-scores[key], key in gold))
        found, precisions = 0, []
        for rank, key in enumerate(listed, start=1):
            if key in gold:
                found += 1
                precisions.append(found / rank)
                if found == 1:
                    best_ranks.append(rank)
        average_precisions.append(sum(precisions) / len(gold))
    return average_precisions, best_ranks


def brute_force_per_line(queries, keys, pairs):
    """Ask for every pair by itself, as a file of pairs is walked through line by line."""
    reciprocal_ranks = []
    for row, gold in pairs:
        scores = [int(np.dot(queries[row], key)) for key in keys.astype(int)]
        reciprocal_ranks.append(1 / sum(score >= scores[gold] for score in scores))
    return np.mean(reciprocal_ranks)


@st.composite
def dictionaries(draw):
    d = draw(st.integers(1, 5))
    values = st.integers(-2, 2)
    queries = draw(arrays(np.int64, (draw(st.integers(1, 6)), d), elements=values))
    keys = draw(arrays(np.int64, (draw(st.integers(1, 14)), d), elements=values))
    pair = st.tuples(st.integers(0, len(queries) - 1), st.integers(0, len(keys) - 1))
    return queries, keys, draw(st.lists(pair, min_size=1, max_size=15))


@settings(deadline=None, max_examples=100)
@given(dictionaries())
def test_scores_are_those_of_a_walk_down_the_sorted_list(dictionary):
    queries, keys, pairs = dictionary
    result = bli(queries, keys, *zip(*pairs, strict=True), retrieval="dot")
    average_precisions, best_ranks = brute_force(queries, keys, pairs)
    assert result.ranks.tolist() == best_ranks
    assert result.map == pytest.approx(np.mean(average_precisions))
    assert result.mrr == pytest.approx(np.mean([1 / rank for rank in best_ranks]))
    for k, share in ((1, result.p_at_1), (5, result.p_at_5), (10, result.p_at_10)):
        assert share == pytest.approx(np.mean([rank <= k for rank in best_ranks]))
    assert result.n_queries == result.total == len(best_ranks)


@settings(deadline=None, max_examples=100)
@given(dictionaries())
def test_map_per_line_is_that_of_a_loop_over_the_lines(dictionary):
    queries, keys, pairs = dictionary
    result = bli(queries, keys, *zip(*pairs, strict=True), retrieval="dot")
    assert result.map_per_line == pytest.approx(brute_force_per_line(queries, keys, pairs))
    assert result.lines == len(pairs)


def test_a_line_that_is_there_twice_counts_twice_per_line_and_once_per_word():
    rng = np.random.default_rng(0)
    queries, keys = rng.standard_normal((2, 30, 4))
    once = bli(queries, keys, [0, 1, 2], [0, 1, 2])
    twice = bli(queries, keys, [0, 1, 2, 2], [0, 1, 2, 2])
    assert twice == once and once.map_per_line == pytest.approx(once.map)
    assert twice.map_per_line == pytest.approx((1 / once.ranks)[[0, 1, 2, 2]].mean()) != pytest.approx(once.map)


def test_parts_have_the_lines_of_their_queries(rng):
    queries, keys = rng.standard_normal((2, 60, 4))
    asked, gold = rng.integers(60, size=(2, 150))
    for part, inside in zip(
        bli(queries, keys, asked, gold).by_band([20]).values(), (asked < 20, asked >= 20), strict=True
    ):
        alone = bli(queries, keys, asked[inside], gold[inside])
        assert (part.map_per_line, part.lines) == (alone.map_per_line, inside.sum())


def test_with_one_gold_each_map_is_the_mean_reciprocal_rank():
    rng = np.random.default_rng(0)
    keys = rng.standard_normal((200, 10))
    result = bli(keys + rng.standard_normal((200, 10)), keys, np.arange(200), np.arange(200))
    assert result.map == pytest.approx(result.mrr)
    assert 0 < result.p_at_1 < result.p_at_5 < result.p_at_10 < 1


def test_golds_that_tie_with_each_other_alone_are_found_first():
    keys = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    result = bli([[1.0, 0.0]], keys, [0, 0], [0, 1])
    assert (result.map, result.mrr, result.p_at_1) == (1.0, 1.0, 1.0)


def test_another_key_that_ties_with_the_golds_stands_before_them():
    keys = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    result = bli([[1.0, 0.0]], keys, [0, 0], [0, 1])
    assert result.ranks.tolist() == [2]
    assert result.map == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_dot_prefers_long_keys_and_cosine_does_not():
    keys = np.array([[1.0, 0.0], [9.0, 9.0]])
    assert bli([[1.0, 0.0]], keys, [0], [0], retrieval="cosine").p_at_1 == 1
    assert bli([[1.0, 0.0]], keys, [0], [0], retrieval="dot").p_at_1 == 0


def test_csls_finds_what_a_hub_hides():
    # Key 0 is nearer to both queries than their own keys are; CSLS sees that it is near to everything.
    queries = np.array([[1.0, 0.5, 0.0], [1.0, 0.0, 0.5]])
    keys = np.array([[1.0, 0.25, 0.25], [0.6, 0.7, 0.0], [0.6, 0.0, 0.7]])
    assert bli(queries, keys, [0, 1], [1, 2]).p_at_1 == 0
    assert bli(queries, keys, [0, 1], [1, 2], retrieval="csls", n_neighbours=2).p_at_1 == 1


def test_coverage_is_the_share_of_the_dictionary_looked_up():
    result = bli(np.eye(3), np.eye(3), [0, 1], [0, 1], total=8)
    assert (result.n_queries, result.total, result.coverage) == (2, 8, 0.25)


def test_the_dictionary_is_json_and_the_line_is_readable():
    result = bli(np.eye(3), np.eye(3), [0, 1, 2], [0, 1, 2], retrieval="nn", total=np.int64(4))
    assert json.loads(json.dumps(result.as_dict())) == {
        "map": 1.0,
        "map_per_line": 1.0,
        "mrr": 1.0,
        "p@1": 1.0,
        "p@5": 1.0,
        "p@10": 1.0,
        "evaluated_on": "test dictionary",
        "n_queries": 3,
        "lines": 3,
        "total": 4,
        "coverage": 0.75,
        "retrieval": "cosine",
        "seen_pairs": None,
        "seen_words": None,
    }
    assert str(result) == (
        "MAP 1.0000 (1.0000 per line), MRR 1.0000, P@1 1.0000, P@5 1.0000, P@10 1.0000 by cosine; "
        "3 of 4 looked up (75.0 %)"
    )


def test_results_compare_and_do_not_change():
    first, second = (bli(np.eye(3), np.eye(3), [0, 1], [0, 1]) for _ in range(2))
    assert isinstance(first, BLIResult)
    assert first == second
    with pytest.raises(AttributeError):
        first.map = 1.0


def test_settings_reach_the_search():
    heard = []
    rng = np.random.default_rng(1)
    queries, keys = rng.standard_normal((40, 5)), rng.standard_normal((60, 5))
    rows = np.arange(20)
    whole = bli(queries, keys, rows, rows, retrieval="csls", hub_reference=queries)
    blocks = bli(
        queries, keys, rows, rows, retrieval="csls", max_memory="10 KB", progress=lambda *count: heard.append(count)
    )
    assert whole == blocks
    assert len(heard) > 2
    assert heard[-1][0] == heard[-1][1] == len(heard)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query_rows": [], "gold_rows": []}, "no pair to evaluate"),
        ({"total": 1}, "total is 1, but 2 distinct queries were looked up"),
        ({"retrieval": "best"}, "retrieval 'best' is not known"),
        ({"gold_rows": [0]}, "they come in pairs"),
    ],
)
def test_mistakes_are_explained(arguments, message):
    with pytest.raises(FippError, match=message):
        bli(np.eye(3), np.eye(3), **{"query_rows": [0, 1], "gold_rows": [0, 1], **arguments})
