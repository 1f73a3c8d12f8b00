"""The filtered difference of two Gram matrices, against loops and dense float64 matrices."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from fipp.linalg import (
    FilteredGram,
    GramTiles,
    _gram,
    filtered_gram,
    filtered_product,
    is_kept,
    target_share,
    transfer_weight,
)
from fipp.linalg._gram import symmetric_product

EPSILONS = [0.3, 0.02, np.inf, 0.0, 1.0]


def dense_difference(X_s, X_t):
    """G_t − G_s, entry by entry, in float64."""
    c = len(X_s)
    D = np.empty((c, c))
    for i in range(c):
        for j in range(c):
            D[i, j] = sum(float(a) * float(b) for a, b in zip(X_t[i], X_t[j], strict=True))
            D[i, j] -= sum(float(a) * float(b) for a, b in zip(X_s[i], X_s[j], strict=True))
    return D


def grid_vectors(rng, shape, scale=8):
    """Vectors of small multiples of a power of two, whose inner products float32 holds exactly."""
    return (rng.integers(-scale, scale + 1, shape) / scale).astype(np.float32)


@pytest.fixture
def seed(rng):
    return grid_vectors(rng, (33, 5)), grid_vectors(rng, (33, 3))


@pytest.fixture(params=["one tile", "tiles of 7", "tiles of 1", "little memory"])
def tiling(request, monkeypatch):
    """How the matrix is cut; gives max_memory."""
    if request.param == "tiles of 7":
        monkeypatch.setattr(_gram, "_TILE", 7)
    if request.param == "tiles of 1":
        monkeypatch.setattr(_gram, "_TILE", 1)
    return 40_000 if request.param == "little memory" else None


def test_little_memory_and_a_small_tile_size_make_many_tiles(seed, monkeypatch):
    assert GramTiles(*seed).n_blocks == 1
    assert GramTiles(*seed, max_memory=1).n_blocks == 33
    assert 1 < GramTiles(*seed, max_memory=40_000).n_blocks <= 33
    monkeypatch.setattr(_gram, "_TILE", 7)
    assert GramTiles(*seed).n_blocks == 5


def test_tiles_are_the_blocks_of_the_gram_difference(seed, tiling):
    tiles, D = GramTiles(*seed, tiling), dense_difference(*seed)
    put_together = np.full((33, 33), np.nan)
    for i in range(tiles.n_blocks):
        for j in range(tiles.n_blocks):
            put_together[tiles.rows(i), tiles.rows(j)] = tiles.difference(i, j)
    np.testing.assert_array_equal(put_together, D)


def test_every_row_belongs_to_exactly_one_block(seed, tiling):
    tiles = GramTiles(*seed, tiling)
    rows = [row for block in range(tiles.n_blocks) for row in range(33)[tiles.rows(block)]]
    assert rows == list(range(33))


def test_sums_for_every_filter_equal_those_of_a_dense_loop(seed, tiling, rng):
    X_s, X_t = seed
    Q = grid_vectors(rng, (33, 4))
    D = dense_difference(X_s, X_t)
    for epsilon, gram in zip(EPSILONS, filtered_gram(X_s, X_t, Q, EPSILONS, max_memory=tiling), strict=True):
        kept, difference, kept_difference = np.zeros(33), np.zeros(33), np.zeros(33)
        filtered = np.zeros((33, 33))
        for i in range(33):
            for j in range(33):
                difference[i] += D[i, j] ** 2
                if abs(D[i, j]) < epsilon:
                    kept[i] += 1
                    kept_difference[i] += D[i, j] ** 2
                    filtered[i, j] = D[i, j]
        assert gram.epsilon == epsilon
        np.testing.assert_array_equal(gram.kept, kept)
        np.testing.assert_allclose(gram.difference, difference, rtol=1e-6)
        np.testing.assert_allclose(gram.kept_difference, kept_difference, rtol=1e-6)
        expected = Q.astype(np.float64).T @ filtered @ Q.astype(np.float64)
        np.testing.assert_allclose(gram.transfer, expected, atol=1e-4)
        assert gram.kept_fraction == kept.sum() / 33**2


@given(st.permutations(EPSILONS))
def test_filters_may_come_in_any_order(epsilons):
    rng = np.random.default_rng(1)
    X_s, X_t, Q = grid_vectors(rng, (20, 5)), grid_vectors(rng, (20, 3)), grid_vectors(rng, (20, 2))
    alone = {epsilon: filtered_gram(X_s, X_t, Q, [epsilon])[0] for epsilon in epsilons}
    for epsilon, gram in zip(epsilons, filtered_gram(X_s, X_t, Q, epsilons), strict=True):
        assert gram.epsilon == epsilon
        np.testing.assert_array_equal(gram.kept, alone[epsilon].kept)
        np.testing.assert_allclose(gram.transfer, alone[epsilon].transfer, atol=1e-5)


def test_the_same_filter_twice_gives_the_same_answer_twice(seed, rng):
    first, second = filtered_gram(*seed, grid_vectors(rng, (33, 2)), [0.3, 0.3])
    np.testing.assert_array_equal(first.transfer, second.transfer)
    np.testing.assert_array_equal(first.kept, second.kept)


def test_rounding_decides_alike_wherever_the_filter_is_applied(rng):
    X_s, X_t = (rng.standard_normal((40, 6)).astype(np.float32) for _ in range(2))
    tiles = GramTiles(X_s, X_t)
    D = tiles.difference(0, 0)
    # At an entry of the difference and one bit above it.
    edges = np.abs(D[np.triu_indices(40)][:60])
    for epsilon in [*edges, *np.nextafter(edges, np.float32(np.inf))]:
        (gram,) = filtered_gram(X_s, X_t, None, [float(epsilon)])
        kept = np.abs(D) < epsilon
        np.testing.assert_array_equal(gram.kept, kept.sum(axis=1))
        np.testing.assert_array_equal(filtered_product(tiles, np.eye(40, dtype=np.float32), float(epsilon)) != 0, kept)


def test_a_filter_far_outside_the_range_of_float32_keeps_what_it_should():
    difference = np.float32([0, 1e-30, 1])
    assert is_kept(difference, 1e-25).tolist() == [True, True, False]
    assert is_kept(difference, 1e-300).tolist() == [False, False, False]
    assert is_kept(difference, 1e300).tolist() == [True, True, True]


def test_the_filter_is_strict():
    # Inner products 0 and 1 in the source, 0 and 1.5 in the target: the difference on the diagonal is exactly 1/2.
    X_s = np.eye(4, dtype=np.float32)
    X_t = np.diag(np.sqrt([1.5, 1.5, 1.25, 1.0])).astype(np.float32)
    X_t[0, 0], X_t[1, 1] = 1.5, 1.5  # squares 2.25, difference 1.25
    at, above = filtered_gram(X_s, X_t, None, [1.25, np.nextafter(np.float32(1.25), np.float32(2))])
    assert at.kept.tolist() == [3, 3, 4, 4]
    assert above.kept.tolist() == [4, 4, 4, 4]


@pytest.mark.parametrize("epsilon", [1e20, 1e300])
def test_a_filter_that_float32_cannot_hold_keeps_everything(seed, epsilon):
    (gram,) = filtered_gram(*seed, None, [epsilon])
    assert gram.kept_fraction == 1


@pytest.mark.parametrize("epsilon", [1e-30, 1e-300, 0.0])
def test_a_filter_of_nothing_keeps_nothing_that_differs(epsilon):
    X = np.eye(3, dtype=np.float32)
    (gram,) = filtered_gram(X, 2 * X, X, [epsilon])
    assert np.diag(gram.transfer).tolist() == [0, 0, 0]


def test_identical_spaces_pass_every_filter_above_zero():
    X = grid_vectors(np.random.default_rng(2), (9, 4))
    small, none = filtered_gram(X, X, X, [1e-3, 0.0])
    assert small.kept_fraction == 1
    assert none.kept_fraction == 0
    assert not small.transfer.any()


def test_residual_norms_are_those_of_the_rows_of_g_star_minus_g_t(rng):
    X_s, X_t = rng.standard_normal((25, 6)) / 3, rng.standard_normal((25, 4)) / 3
    for epsilon, lam in [(0.1, 1.0), (0.3, 0.25), (5.0, 2.0), (0.0, 1.0)]:
        (gram,) = filtered_gram(X_s, X_t, None, [epsilon])
        G_s, G_t = X_s @ X_s.T, X_t @ X_t.T
        delta = np.abs(G_s - G_t) < epsilon
        scaled = lam * 25**2 / delta.sum() if delta.any() else 0.0  # γλ
        G_star = np.where(delta, (G_s + scaled * G_t) / (1 + scaled), G_s)
        expected = [np.sqrt(sum((G_star[i] - G_t[i]) ** 2)) for i in range(25)]
        np.testing.assert_allclose(gram.residual_norms(lam), expected, rtol=1e-4)


@given(st.floats(1e-6, 1), st.floats(0, 100))
def test_pull_is_gamma_lambda_over_one_plus_gamma_lambda(kept_fraction, lam):
    gamma = 1 / kept_fraction
    assert target_share(kept_fraction, lam) == pytest.approx(gamma * lam / (1 + gamma * lam))
    assert transfer_weight(kept_fraction, lam) == pytest.approx(gamma * lam)


def test_an_empty_filter_pulls_nowhere():
    assert target_share(0.0, 1.0) == 0
    assert transfer_weight(0.0, 1.0) == 0


@pytest.mark.parametrize("max_memory", [None, 60_000])
@pytest.mark.parametrize("tile", [7, 512])
def test_results_are_the_same_bits_whatever_the_number_of_threads(monkeypatch, tile, max_memory):
    monkeypatch.setattr(_gram, "_TILE", tile)
    rng = np.random.default_rng(3)
    c = 1100 if tile == 512 and max_memory is None else 60
    X_s, X_t = (rng.standard_normal((c, d)).astype(np.float32) / 3 for d in (9, 6))
    Q = rng.standard_normal((c, 8)).astype(np.float32)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            grams = filtered_gram(X_s, X_t, Q, [0.2, 0.1], max_memory=max_memory)
            product = filtered_product(GramTiles(X_s, X_t, max_memory), Q, 0.2)
        results.append([product] + [getattr(g, f) for g in grams for f in FilteredGram.__dataclass_fields__])
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("max_memory", [None, 60_000])
def test_tiles_are_the_same_however_many_processors_the_machine_has(seed, max_memory, monkeypatch):
    sizes = set()
    for processors in (1, 2, 256):
        monkeypatch.setattr(os, "cpu_count", lambda count=processors: count)
        sizes.add(GramTiles(*seed, max_memory).size)
    assert len(sizes) == 1


def test_without_a_basis_only_row_sums_are_made(seed):
    (gram,) = filtered_gram(*seed, None, [0.3])
    assert gram.transfer.shape == (0, 0)
    np.testing.assert_array_equal(gram.kept, (np.abs(dense_difference(*seed)) < 0.3).sum(axis=1))


def test_filtered_product_equals_the_dense_product(seed, tiling, rng):
    D, Z = dense_difference(*seed), grid_vectors(rng, (33, 4))
    product = filtered_product(GramTiles(*seed, tiling), Z, 0.3)
    np.testing.assert_allclose(product, np.where(np.abs(D) < 0.3, D, 0) @ Z.astype(np.float64), atol=1e-5)


def test_symmetric_product_multiplies_the_whole_matrix_from_its_upper_tiles(seed, tiling, rng):
    tiles, Z = GramTiles(*seed, tiling), grid_vectors(rng, (33, 3))
    asked = []

    def tile(i, j, left):
        asked.append((i, j))
        return tiles.difference(i, j, left)

    np.testing.assert_allclose(symmetric_product(tiles, tile, Z), dense_difference(*seed) @ Z, atol=1e-5)
    assert sorted(asked) == [(i, j) for i in range(tiles.n_blocks) for j in range(i, tiles.n_blocks)]


def test_progress_counts_up_to_the_number_of_tiles(seed, monkeypatch):
    monkeypatch.setattr(_gram, "_TILE", 7)
    steps = []
    filtered_gram(*seed, None, [0.3], progress=lambda done, total: steps.append((done, total)))
    assert steps == [(5, 15), (9, 15), (12, 15), (14, 15), (15, 15)]
