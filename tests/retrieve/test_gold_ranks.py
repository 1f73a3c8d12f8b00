"""Ranks of known answers, against a count over single pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_spaces import spaces
from threadpoolctl import threadpool_limits

from fipp.exceptions import FippError
from fipp.retrieve import neighbours, ranks_of_gold

MEMORIES = [1, "3 KB", "40 KB", None]


def pair_score(query, key, retrieval):
    query, key = (np.asarray(vector, dtype=np.float64) for vector in (query, key))
    if retrieval == "cosine":
        query, key = (v / np.sqrt((v * v).sum()) if v.any() else v for v in (query, key))
    return np.float32((query.astype(np.float32).astype(np.float64) * key.astype(np.float32)).sum())


def brute_force(queries, keys, query_rows, gold_rows, retrieval):
    ranks = []
    for row, gold in zip(query_rows, gold_rows, strict=True):
        to_beat = pair_score(queries[row], keys[gold], retrieval)
        others = sum(pair_score(queries[row], key, retrieval) >= to_beat for j, key in enumerate(keys) if j != gold)
        ranks.append(1 + others)
    return ranks


@st.composite
def lookups(draw):
    """Small whole numbers, with copies and rows of zeros, and pairs in any order with several golds."""
    queries, keys = draw(spaces())
    pairs = draw(st.lists(st.tuples(st.integers(0, len(queries) - 1), st.integers(0, len(keys) - 1)), max_size=12))
    return queries, keys, [row for row, _ in pairs], [gold for _, gold in pairs]


@settings(deadline=None, max_examples=60)
@given(lookups(), st.sampled_from(["cosine", "dot"]), st.sampled_from(MEMORIES))
def test_rank_is_the_number_of_keys_that_score_at_least_as_high(lookup, retrieval, max_memory):
    ranks = ranks_of_gold(*lookup, retrieval=retrieval, max_memory=max_memory)
    assert ranks.dtype == np.int64
    np.testing.assert_array_equal(ranks, brute_force(*lookup, retrieval))


@settings(deadline=None, max_examples=30)
@given(lookups(), st.sampled_from(["cosine", "dot", "csls"]), st.sampled_from(MEMORIES))
def test_ranks_agree_with_the_list_of_all_neighbours(lookup, retrieval, max_memory):
    queries, keys, query_rows, gold_rows = lookup
    ranks = ranks_of_gold(*lookup, retrieval=retrieval, n_neighbours=3, max_memory=max_memory)
    listed = neighbours(queries, keys, len(keys), retrieval=retrieval, n_neighbours=3)
    for row, gold, rank in zip(query_rows, gold_rows, ranks, strict=True):
        place = int(np.flatnonzero(listed.indices[row] == gold)[0])
        assert rank >= place + 1
        # Whatever stands between the place in the list and the rank ties with the gold.
        np.testing.assert_allclose(listed.scores[row, rank - 1], listed.scores[row, place], atol=3e-7)
        if rank < len(keys):
            assert listed.scores[row, rank] <= listed.scores[row, place]


@pytest.fixture(scope="module")
def large():
    """Sizes at which BLAS uses its panels; every third key has a copy far away."""
    rng = np.random.default_rng(0)
    keys = rng.standard_normal((1500, 50)).astype(np.float32)
    queries = keys[:400] + rng.standard_normal((400, 50)).astype(np.float32)
    return queries, np.concatenate([keys, keys[::3]]), np.arange(400)


@pytest.mark.parametrize("retrieval", ["cosine", "dot", "csls"])
def test_a_copy_of_the_gold_costs_exactly_one_rank(large, retrieval):
    queries, keys, rows = large
    without = ranks_of_gold(queries, keys[:1500], rows, rows, retrieval=retrieval)
    gold_and_copies = [
        ranks_of_gold(
            queries, np.concatenate([keys[:1500], keys[row : row + 1]]), [row, row], [row, 1500], retrieval=retrieval
        )
        for row in (0, 7, 311, 399)
    ]
    for row, ranks in zip((0, 7, 311, 399), gold_and_copies, strict=True):
        assert ranks.tolist() == [without[row] + 1] * 2


@pytest.mark.parametrize("retrieval", ["cosine", "dot", "csls"])
def test_blocks_and_threads_do_not_change_a_rank(large, retrieval):
    queries, keys, rows = large
    whole = ranks_of_gold(queries, keys, rows, rows, retrieval=retrieval)
    with threadpool_limits(1, user_api="blas"):
        single = ranks_of_gold(queries, keys, rows, rows, retrieval=retrieval)
    blocks = ranks_of_gold(queries, keys, rows, rows, retrieval=retrieval, max_memory="150 KB")
    np.testing.assert_array_equal(single, whole)
    np.testing.assert_array_equal(blocks, whole)


def test_csls_ranks_are_those_of_the_formula(large):
    queries, keys, rows = large
    x = queries / np.linalg.norm(queries, axis=1, keepdims=True, ord=2).astype(np.float64)
    y = keys / np.linalg.norm(keys, axis=1, keepdims=True).astype(np.float64)
    hubness = np.array([np.sort(x @ key)[-10:].mean() for key in y])
    ranks = ranks_of_gold(queries, keys, rows, rows, retrieval="csls")
    for row, rank in zip(rows, ranks, strict=True):
        scores = 2 * (y @ x[row]) - hubness
        assert (
            np.count_nonzero(scores > scores[row] + 1e-6) + 1 <= rank <= np.count_nonzero(scores >= scores[row] - 1e-6)
        )


def test_hubs_are_measured_against_all_queries_not_only_those_asked(large):
    queries, keys, _ = large
    asked = np.arange(30)
    default = ranks_of_gold(queries, keys, asked, asked, retrieval="csls")
    whole = ranks_of_gold(queries, keys, asked, asked, retrieval="csls", hub_reference=queries)
    np.testing.assert_array_equal(default, whole)


def test_each_distinct_query_is_compared_once():
    heard = []
    ranks_of_gold(np.eye(4), np.eye(4), [2] * 1000, [1, 2] * 500, progress=lambda done, total: heard.append(total))
    assert heard == [1]


def test_the_same_pair_twice_has_the_same_rank_twice():
    assert ranks_of_gold([[1.0, 0.1]], np.eye(2), [0, 0, 0], [1, 0, 1]).tolist() == [2, 1, 2]


def test_a_query_of_zeros_ranks_every_key_last():
    assert ranks_of_gold(np.zeros((1, 3)), np.eye(3), [0, 0], [0, 2]).tolist() == [3, 3]


@pytest.mark.parametrize(
    ("rows", "gold", "message"),
    [
        ([0, 1], [0], "query_rows has 2 numbers and gold_rows 1"),
        ([3], [0], "query_rows asks for row 3 of queries, which has rows 0 to 2"),
        ([0], [-1], "gold_rows asks for row -1 of keys, which has rows 0 to 2"),
        ([0.5], [0], "query_rows must be a list of row numbers"),
        ([[0]], [[0]], "query_rows must be a list of row numbers"),
    ],
)
def test_mistakes_are_explained(rows, gold, message):
    with pytest.raises(FippError, match=message):
        ranks_of_gold(np.eye(3), np.eye(3), rows, gold)
