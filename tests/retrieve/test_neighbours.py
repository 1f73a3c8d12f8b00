"""Nearest neighbours, against loops over single pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_spaces import spaces, with_peak_memory
from threadpoolctl import threadpool_limits

from fipp.exceptions import FippError
from fipp.retrieve import mean_similarity, neighbours

MEMORIES = [1, "3 KB", "40 KB", None]


def unit(vector):
    """One vector at unit length, by itself, in float32."""
    vector = np.asarray(vector, dtype=np.float64)
    length = np.sqrt((vector * vector).sum())
    return (vector / length if length > 0 else vector).astype(np.float32)


def pair_score(query, key, retrieval):
    """The score of one pair, by itself, summed in float64 and rounded once."""
    if retrieval == "cosine":
        query, key = unit(query), unit(key)
    return np.float32((np.float32(query).astype(np.float64) * np.float32(key).astype(np.float64)).sum())


def brute_force(queries, keys, k, retrieval):
    indices, scores = [], []
    for query in queries:
        scored = [(-pair_score(query, key, retrieval), j) for j, key in enumerate(keys)]
        best = sorted(scored)[:k]
        indices.append([j for _, j in best])
        scores.append([-score for score, _ in best])
    return np.array(indices), np.array(scores, dtype=np.float32)


def brute_force_csls(queries, keys, reference, n_neighbours):
    """The formula, in float64, for every pair."""

    def cosine(x, y):
        norm = np.linalg.norm(x) * np.linalg.norm(y)
        return float(x @ y) / norm if norm > 0 else 0.0

    queries, keys, reference = (np.asarray(a, dtype=np.float64) for a in (queries, keys, reference))
    hubness = [np.mean(sorted((cosine(x, y) for x in reference), reverse=True)[:n_neighbours]) for y in keys]
    table = []
    for x in queries:
        row = [cosine(x, y) for y in keys]
        nearest = np.mean(sorted(row, reverse=True)[:n_neighbours])
        table.append([2 * c - nearest - h for c, h in zip(row, hubness, strict=True)])
    return np.array(table)


@settings(deadline=None, max_examples=60)
@given(spaces(), st.integers(1, 25), st.sampled_from(["cosine", "dot"]))
def test_neighbours_are_those_of_a_loop_with_ties_by_the_lower_index(space, k, retrieval):
    queries, keys = space
    found = neighbours(queries, keys, k, retrieval=retrieval)
    indices, scores = brute_force(queries, keys, k, retrieval)
    assert found.indices.dtype == np.int64
    assert found.scores.dtype == np.float32
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.scores, scores)


@settings(deadline=None, max_examples=40)
@given(spaces(), st.integers(1, 20), st.integers(1, 12))
def test_csls_is_the_formula(space, k, n_neighbours):
    queries, keys = space
    reference = np.concatenate([queries, keys[:2]])
    found = neighbours(queries, keys, k, retrieval="csls", n_neighbours=n_neighbours, hub_reference=reference)
    table = brute_force_csls(queries, keys, reference, n_neighbours)
    np.testing.assert_allclose(found.scores, np.take_along_axis(table, found.indices, axis=1), atol=2e-6)
    best = -np.sort(-table, axis=1)[:, :k]
    np.testing.assert_allclose(found.scores, best, atol=2e-6)
    assert all(len(set(row)) == len(row) for row in found.indices.tolist())


@settings(deadline=None, max_examples=25)
@given(spaces(), st.integers(1, 20), st.sampled_from(["cosine", "dot", "csls"]), st.sampled_from(MEMORIES))
def test_the_memory_given_does_not_change_a_bit(space, k, retrieval, max_memory):
    queries, keys = space
    whole = neighbours(queries, keys, k, retrieval=retrieval, n_neighbours=3)
    blocks = neighbours(queries, keys, k, retrieval=retrieval, n_neighbours=3, max_memory=max_memory)
    np.testing.assert_array_equal(blocks.indices, whole.indices)
    np.testing.assert_array_equal(blocks.scores, whole.scores)


@settings(deadline=None, max_examples=40)
@given(spaces(), st.integers(1, 20), st.integers(1, 12))
def test_one_sweep_over_the_queries_gives_the_bits_of_two_passes(space, k, n_neighbours):
    queries, keys = space
    # A copy of the queries is not recognised as the queries, so it takes two passes.
    two = neighbours(queries, keys, k, retrieval="csls", n_neighbours=n_neighbours, hub_reference=queries.copy())
    for reference in (None, queries):
        one = neighbours(queries, keys, k, retrieval="csls", n_neighbours=n_neighbours, hub_reference=reference)
        np.testing.assert_array_equal(one.indices, two.indices)
        np.testing.assert_array_equal(one.scores, two.scores)


@pytest.mark.parametrize("max_memory", [None, "30 MB", "9 MB", "4 MB"])
def test_one_sweep_in_many_strips_gives_the_bits_of_two_passes(max_memory):
    rng = np.random.default_rng(5)
    queries, keys = rng.standard_normal((1700, 20)), rng.standard_normal((2600, 20))
    keys[1300:1500], queries[5:9], keys[7:9] = keys[:200], 0, 0
    two = neighbours(queries, keys, 12, retrieval="csls", hub_reference=queries.copy())
    one = neighbours(queries, keys, 12, retrieval="csls", max_memory=max_memory)
    np.testing.assert_array_equal(one.indices, two.indices)
    np.testing.assert_array_equal(one.scores, two.scores)


@pytest.fixture(scope="module")
def large():
    """Sizes at which BLAS uses its panels, with copies of keys far apart."""
    rng = np.random.default_rng(0)
    queries = rng.standard_normal((300, 50))
    keys = rng.standard_normal((1500, 50))
    return queries, np.concatenate([keys, keys[::3], keys[:40]])


@pytest.mark.parametrize("retrieval", ["cosine", "dot", "csls"])
def test_copies_of_a_key_tie_exactly_wherever_they_stand(large, retrieval):
    queries, keys = large
    found = neighbours(queries, keys, 12, retrieval=retrieval)
    names = np.unique(keys, axis=0, return_inverse=True)[1].ravel()[found.indices]
    for row in range(len(queries)):
        same = names[row, 1:] == names[row, :-1]
        np.testing.assert_array_equal(found.scores[row, 1:][same], found.scores[row, :-1][same])
        # Copies tie with nothing else here, so they stand together, and the one with the lower number first.
        assert len(set(names[row])) == 1 + np.count_nonzero(~same)
        assert (found.indices[row, 1:][same] > found.indices[row, :-1][same]).all()


@pytest.mark.parametrize("retrieval", ["cosine", "dot", "csls"])
@pytest.mark.parametrize("k", [10, 700])
def test_blocks_and_threads_do_not_change_a_bit_at_blas_sizes(large, retrieval, k):
    queries, keys = large
    whole = neighbours(queries[:150], keys, k, retrieval=retrieval)
    with threadpool_limits(1, user_api="blas"):
        single = neighbours(queries[:150], keys, k, retrieval=retrieval)
    blocks = neighbours(queries[:150], keys, k, retrieval=retrieval, max_memory="250 KB")
    for other in (single, blocks):
        np.testing.assert_array_equal(other.indices, whole.indices)
        np.testing.assert_array_equal(other.scores, whole.scores)


@pytest.mark.parametrize("retrieval", ["cosine", "dot"])
def test_neighbours_at_blas_sizes_are_those_of_float64(large, retrieval):
    queries, keys = large
    found = neighbours(queries, keys, 10, retrieval=retrieval)
    if retrieval == "cosine":
        queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
        keys = keys / np.linalg.norm(keys, axis=1, keepdims=True)
    table = queries @ keys.T
    np.testing.assert_allclose(found.scores, -np.sort(-table, axis=1)[:, :10], rtol=1e-6)
    np.testing.assert_allclose(found.scores, np.take_along_axis(table, found.indices, axis=1), rtol=1e-6)


def test_vectors_that_differ_by_less_than_the_rounding_of_a_product_are_told_apart():
    rng = np.random.default_rng(1)
    base = rng.standard_normal(300).astype(np.float32)
    keys = np.tile(base, (2000, 1))
    # Each key is longer than the one before by a few units in the last place of one number.
    keys[:, 0] = np.abs(base[0]) * (1 + np.arange(2000) * 4 * np.finfo(np.float32).eps)
    query = base.copy()
    query[0] = 1
    found = neighbours([query], keys, 5, retrieval="dot")
    exact = keys.astype(np.float64) @ query.astype(np.float64)
    rounded = exact.astype(np.float32)
    np.testing.assert_array_equal(found.indices[0], sorted(range(2000), key=lambda j: (-rounded[j], j))[:5])


@settings(deadline=None, max_examples=40)
@given(spaces(), st.integers(1, 20), st.sampled_from(MEMORIES))
def test_mean_similarity_is_the_mean_of_the_highest_cosines(space, k, max_memory):
    reference, keys = space
    means = mean_similarity(keys, reference, k, max_memory=max_memory)
    expected = [np.mean(sorted((pair_score(y, x, "cosine") for x in reference), reverse=True)[:k]) for y in keys]
    assert means.dtype == np.float32
    np.testing.assert_allclose(means, expected, atol=1e-6)


def test_hubs_are_measured_against_the_queries_unless_a_reference_is_given(large):
    queries, keys = large
    default = neighbours(queries, keys, 5, retrieval="csls")
    named = neighbours(queries, keys, 5, retrieval="csls", hub_reference=queries)
    other = neighbours(queries, keys, 5, retrieval="csls", hub_reference=queries[:20])
    np.testing.assert_array_equal(default.scores, named.scores)
    assert not np.array_equal(default.scores, other.scores)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int16])
def test_every_type_of_number_is_read_block_by_block(dtype, tmp_path):
    rng = np.random.default_rng(2)
    keys = (8 * rng.standard_normal((300, 6))).round().astype(dtype)
    path = tmp_path / "keys.npy"
    np.save(path, keys)
    expected = neighbours(keys[:20].astype(np.float64), keys.astype(np.float64), 5)
    for given_keys in (keys, np.load(path, mmap_mode="r"), np.asfortranarray(keys), keys.tolist()):
        found = neighbours(keys[:20], given_keys, 5, max_memory="20 KB")
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.scores, expected.scores)


def test_nn_is_cosine():
    keys = np.eye(3)
    np.testing.assert_array_equal(neighbours(keys, keys, 3, retrieval="nn").scores, neighbours(keys, keys, 3).scores)


def test_zero_vectors_have_cosine_zero_with_everything():
    keys = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    found = neighbours([[0.0, 0.0], [2.0, 0.0]], keys, 3)
    np.testing.assert_array_equal(found.indices, [[0, 1, 2], [1, 0, 2]])
    np.testing.assert_array_equal(found.scores, [[0, 0, 0], [1, 0, -1]])


def test_very_long_and_very_short_vectors_have_a_cosine():
    found = neighbours([[3e200, 4e200], [3e-200, 4e-200]], [[0.6, 0.8], [1.0, 0.0]], 2)
    np.testing.assert_allclose(found.scores, [[1.0, 0.6], [1.0, 0.6]], rtol=1e-6)


def test_no_queries_give_no_neighbours():
    found = neighbours(np.empty((0, 2)), np.eye(2), 5)
    assert found.indices.shape == found.scores.shape == (0, 2)


@pytest.mark.parametrize("retrieval", ["cosine", "csls"])
def test_progress_counts_every_block_and_ends_at_the_total(retrieval):
    heard = []
    keys = np.random.default_rng(3).standard_normal((200, 4))
    neighbours(
        keys, keys, retrieval=retrieval, max_memory="50 KB", progress=lambda done, all_: heard.append((done, all_))
    )
    total = len(heard)
    assert total > 3
    assert heard == [(done, total) for done in range(1, total + 1)]


@pytest.mark.parametrize("retrieval", ["cosine", "dot", "csls"])
def test_working_memory_stays_within_what_was_given(retrieval):
    keys = np.random.default_rng(4).standard_normal((6000, 8), dtype=np.float32)
    keys[:500] = 0
    neighbours(keys[:10], keys, 10, retrieval=retrieval)
    found, peak = with_peak_memory(lambda: neighbours(keys, keys, 10, retrieval=retrieval, max_memory="8 MB"))
    # The result is held packed, unpacked and, for CSLS, beside the nearest by cosine.
    result = 4 * (found.indices.nbytes + found.scores.nbytes)
    assert peak < 8e6 + result


@pytest.mark.parametrize("retrieval", ["cosine", "dot", "csls"])
def test_keys_that_all_tie_stand_in_order_and_take_no_more_memory(retrieval):
    rng = np.random.default_rng(6)
    keys = np.tile(rng.standard_normal((3, 8)), (1000, 1))
    queries = rng.standard_normal((400, 8))
    found, peak = with_peak_memory(lambda: neighbours(queries, keys, 4, retrieval=retrieval, max_memory="2 MB"))
    assert peak < 2e6 + 4 * (found.indices.nbytes + found.scores.nbytes)
    # Row j is a copy of row j mod 3: the first four copies of the best of three.
    np.testing.assert_array_equal(found.indices, found.indices[:, :1] % 3 + [0, 3, 6, 9])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keys": np.eye(3)}, "queries have 2 dimensions and keys 3"),
        ({"keys": np.empty((0, 2))}, "keys has no rows"),
        ({"keys": [[1.0, 2.0], [np.nan, 0.0]]}, "row 1 of keys holds a value that is not a finite number"),
        ({"queries": [1.0, 2.0]}, r"queries must be a matrix of real numbers.*shape \(2,\)"),
        ({"queries": [["a", "b"]]}, "queries must be a matrix of real numbers"),
        ({"queries": [[1e39, 0.0]], "retrieval": "dot"}, "row 0 of queries holds values too large for float32"),
        ({"queries": [[1e30, 0.0]], "keys": [[1e30, 0.0]], "retrieval": "dot"}, "dot products .* too large"),
        ({"queries": [[1e300, 0.0]], "retrieval": "dot"}, "row 0 of queries holds values too large for float32"),
        ({"retrieval": "euclid"}, "retrieval 'euclid' is not known; choose from cosine, nn, dot, csls, isf, dualis"),
        ({"k": 0}, "k must be a whole number of at least 1, not 0"),
        ({"k": 2.5}, "k must be a whole number of at least 1, not 2.5"),
        ({"retrieval": "csls", "n_neighbours": -1}, "n_neighbours must be a whole number of at least 1, not -1"),
        ({"max_memory": "much"}, "max_memory 'much' is not a size"),
    ],
)
def test_mistakes_are_explained(change, message):
    with pytest.raises(FippError, match=message):
        neighbours(**{"queries": np.eye(2), "keys": np.eye(2), **change})
