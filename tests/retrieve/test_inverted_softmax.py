"""Inverted softmax over one bank and over two, against the formulas, pair by pair."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_spaces import spaces, with_peak_memory
from threadpoolctl import threadpool_limits

from fipp.evaluate import bli
from fipp.exceptions import FippError
from fipp.retrieve import neighbours, ranks_of_gold

MEMORIES = [1, "3 KB", "40 KB", None]
BOTH = ["isf", "dualis"]


def cosine(x, y):
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    norm = math.sqrt((x * x).sum()) * math.sqrt((y * y).sum())
    return float((x * y).sum()) / norm if norm > 0 else 0.0


def brute_force(queries, keys, reference, beta, retrieval):
    """The formula of the paper, probability by probability."""
    table = np.empty((len(queries), len(keys)))
    for j, y in enumerate(keys):
        by_queries = sum(math.exp(beta * cosine(x, y)) for x in reference)
        by_gallery = sum(math.exp(beta * cosine(other, y)) for other in keys)
        for i, x in enumerate(queries):
            probability = math.exp(beta * cosine(x, y)) / by_queries
            if retrieval == "dualis":
                probability *= math.exp(beta * cosine(x, y)) / by_gallery
            table[i, j] = math.log(probability)
    return table


@settings(deadline=None, max_examples=40)
@given(spaces(), st.sampled_from(BOTH), st.sampled_from([0.5, 10.0, 30.0]), st.sampled_from(MEMORIES))
def test_scores_are_the_formula(space, retrieval, beta, max_memory):
    queries, keys = space
    reference = np.concatenate([queries, keys[:2]])
    found = neighbours(
        queries, keys, len(keys), retrieval=retrieval, beta=beta, hub_reference=reference, max_memory=max_memory
    )
    table = brute_force(queries, keys, reference, beta, retrieval)
    tolerance = 1e-6 * (1 + 2 * beta)
    np.testing.assert_allclose(found.scores, np.take_along_axis(table, found.indices, axis=1), atol=tolerance)
    np.testing.assert_allclose(found.scores, -np.sort(-table, axis=1), atol=tolerance)
    assert (np.sort(found.indices, axis=1) == np.arange(len(keys))).all()


@settings(deadline=None, max_examples=30)
@given(spaces(), st.sampled_from(BOTH), st.sampled_from(MEMORIES))
def test_ranks_count_what_scores_at_least_as_high(space, retrieval, max_memory):
    queries, keys = space
    rows, golds = (part.ravel() for part in np.indices((len(queries), len(keys))))
    ranks = ranks_of_gold(queries, keys, rows, golds, retrieval=retrieval, max_memory=max_memory)
    table = brute_force(queries, keys, queries, 30.0, retrieval)
    for row, gold, rank in zip(rows, golds, ranks, strict=True):
        # The formula in float64 cannot tell a tie from a difference below the rounding of a cosine to float32.
        assert (table[row] > table[row, gold] + 1e-4).sum() < rank <= (table[row] > table[row, gold] - 1e-4).sum()


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(0)
    keys = rng.standard_normal((1500, 50)).astype(np.float32)
    queries = keys[:700] + rng.standard_normal((700, 50)).astype(np.float32)
    return queries, np.concatenate([keys, keys[::3]])


@pytest.mark.parametrize("retrieval", BOTH)
def test_copies_tie_exactly_and_blocks_and_threads_do_not_change_a_bit(large, retrieval):
    queries, keys = large
    whole = neighbours(queries, keys, 8, retrieval=retrieval)
    with threadpool_limits(1, user_api="blas"):
        single = neighbours(queries, keys, 8, retrieval=retrieval)
    blocks = neighbours(queries, keys, 8, retrieval=retrieval, max_memory="300 KB")
    for other in (single, blocks):
        np.testing.assert_array_equal(other.indices, whole.indices)
        np.testing.assert_array_equal(other.scores, whole.scores)
    rows = np.arange(0, 600, 3)
    with_copy = ranks_of_gold(queries, keys, rows, rows, retrieval=retrieval)
    np.testing.assert_array_equal(with_copy, ranks_of_gold(queries, keys, rows, 1500 + rows // 3, retrieval=retrieval))


@pytest.mark.parametrize("retrieval", BOTH)
def test_a_large_beta_neither_overflows_nor_vanishes(large, retrieval):
    queries, keys = large
    found = neighbours(queries, keys, 3, retrieval=retrieval, beta=1e5)
    assert np.isfinite(found.scores).all()


def test_a_hub_is_pushed_back():
    # Key 0 is the nearest of both queries, though each has a key of its own.
    queries, keys = np.array([[1.0, 0.3], [0.3, 1.0]]), np.array([[0.7, 0.7], [1.0, -0.3], [-0.3, 1.0]])
    assert neighbours(queries, keys, 1).indices.ravel().tolist() == [0, 0]
    assert neighbours(queries, keys, 1, retrieval="isf").indices.ravel().tolist() == [1, 2]


@pytest.mark.parametrize("retrieval", BOTH)
def test_bli_ranks_by_it_and_names_it(large, retrieval):
    queries, keys = large
    rows = np.arange(100)
    result = bli(queries, keys, rows, rows, retrieval=retrieval, beta=20.0)
    ranks = ranks_of_gold(queries, keys, rows, rows, retrieval=retrieval, beta=20.0)
    assert result.retrieval == retrieval
    np.testing.assert_array_equal(result.ranks, ranks)


@pytest.mark.parametrize("retrieval", BOTH)
def test_working_memory_stays_within_what_was_given(retrieval):
    keys = np.random.default_rng(4).standard_normal((6000, 8), dtype=np.float32)
    keys[:500] = 0
    neighbours(keys[:10], keys, 10, retrieval=retrieval)
    found, peak = with_peak_memory(lambda: neighbours(keys, keys, 10, retrieval=retrieval, max_memory="8 MB"))
    assert peak < 8e6 + 4 * (found.indices.nbytes + found.scores.nbytes)


@pytest.mark.parametrize("beta", [0, -1.0, np.nan, np.inf, 1e308, "warm", None])
def test_a_beta_that_is_none_is_refused(beta):
    with pytest.raises(FippError, match="beta must be a number above 0"):
        neighbours(np.eye(2), np.eye(2), retrieval="isf", beta=beta)


@pytest.mark.parametrize("retrieval", BOTH)
@pytest.mark.parametrize("beta", [1e-300, 1e30])
def test_scores_are_finite_at_the_ends_of_what_beta_may_be(retrieval, beta):
    keys = np.random.default_rng(5).standard_normal((40, 6), dtype=np.float32)
    assert np.isfinite(neighbours(keys, keys, 10, retrieval=retrieval, beta=beta).scores).all()
