"""Maps from whitened cross-covariances, against scipy's statistics and textbook formulas."""

import numpy as np
import pytest
import scipy.linalg
import scipy.stats

from fipp.linalg import SpectralMaps, seed_moments, spectral_maps


@pytest.fixture
def seed(rng):
    hidden = rng.standard_normal((200, 5))
    sides = (hidden @ rng.standard_normal((5, d)) + 0.5 * rng.standard_normal((200, d)) for d in (6, 4))
    return tuple(side.astype(np.float32) for side in sides)


def test_moments_are_means_of_outer_products(seed):
    X, Y = (side.astype(float) for side in seed)
    moments = seed_moments(*seed)
    for found, (A, B) in zip(moments, [(X, X), (Y, Y), (X, Y)], strict=True):
        expected = sum(np.outer(a, b) for a, b in zip(A, B, strict=True)) / 200
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_pair_of_weight_two_is_the_pair_counted_twice(seed):
    X, Y = seed
    weighted = seed_moments(X, Y, np.array([2.0] * 50 + [1.0] * 150))
    repeated = seed_moments(np.concatenate([X[:50], X]), np.concatenate([Y[:50], Y]))
    for found, expected in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_only_the_proportions_of_weights_matter(seed, rng):
    weights = rng.uniform(0.1, 1, 200)
    for one, other in zip(seed_moments(*seed, weights), seed_moments(*seed, 8 * weights), strict=True):
        np.testing.assert_array_equal(one, other)


def test_full_whitening_solves_the_generalised_eigenproblem_of_cca(seed):
    C_s, C_t, C = seed_moments(*seed)
    maps = spectral_maps(seed_moments(*seed), whiten=1, ridge=0)
    # C C_t⁻¹ Cᵀ a = s² C_s a
    squared, vectors = scipy.linalg.eigh(C @ np.linalg.solve(C_t, C.T), C_s)
    np.testing.assert_allclose(maps.singular_values, np.sqrt(squared[::-1][:4]), atol=1e-8)
    expected = vectors[:, ::-1][:, :4]
    signs = np.sign(np.einsum("ij,ij->j", maps.source, expected))
    np.testing.assert_allclose(maps.source * signs, expected, atol=1e-6)


def test_fully_whitened_sides_are_uncorrelated_but_for_each_other(seed):
    C_s, C_t, C = moments = seed_moments(*seed)
    A, B, s = spectral_maps(moments, whiten=1, ridge=0)
    np.testing.assert_allclose(A.T @ C_s @ A, np.eye(4), atol=1e-8)
    np.testing.assert_allclose(B.T @ C_t @ B, np.eye(4), atol=1e-8)
    np.testing.assert_allclose(A.T @ C @ B, np.diag(s), atol=1e-8)


@pytest.mark.parametrize("whiten", [0.0, 0.5, 1.0, 1.7])
def test_any_whitening_is_a_fractional_power_of_the_ridged_covariances(seed, whiten):
    C_s, C_t, C = moments = seed_moments(*seed)
    roots = []
    for side in (C_s, C_t):
        ridged = side + 0.3 * np.trace(side) / len(side) * np.eye(len(side))
        roots.append(np.real(scipy.linalg.fractional_matrix_power(ridged, -whiten / 2)))
    maps = spectral_maps(moments, whiten, 0.3)
    expected = np.linalg.svd(roots[0] @ C @ roots[1], compute_uv=False)
    np.testing.assert_allclose(maps.singular_values, expected, atol=1e-8)
    # Without signs, which are free: the sum over directions of either side's products.
    U, _, Vt = np.linalg.svd(roots[0] @ C @ roots[1], full_matrices=False)
    np.testing.assert_allclose(maps.source @ maps.target.T, roots[0] @ U @ Vt @ roots[1], atol=1e-7)


@pytest.mark.parametrize("s", [0.05, 0.4, 0.9, 0.99])
def test_likelihood_weights_are_the_bilinear_part_of_the_log_likelihood_ratio(s, rng):
    maps = SpectralMaps(np.eye(1), np.eye(1), np.array([s]))
    A, B = maps.reweighted("likelihood")
    normal, joint = scipy.stats.norm, scipy.stats.multivariate_normal(cov=[[1, s], [s, 1]])

    def ratio(a, b):
        return joint.logpdf([a, b]) - normal.logpdf(a) - normal.logpdf(b)

    for a, b in rng.standard_normal((20, 2)):
        # What depends on a alone or on b alone goes out.
        bilinear = (ratio(a, b) - ratio(-a, b) - ratio(a, -b) + ratio(-a, -b)) / 4
        assert (a * A[0, 0]) * (b * B[0, 0]) == pytest.approx(bilinear, rel=1e-4, abs=1e-6)


def test_directions_that_agree_by_chance_are_not_trusted_beyond_all_measure():
    maps = SpectralMaps(np.eye(3), np.eye(3), np.array([1.0000001, 1.0, 0.995]))
    A, _ = maps.reweighted("likelihood")
    assert np.isfinite(A).all()
    np.testing.assert_allclose(np.diag(A) ** 2, 0.995 / (1 - 0.995**2), rtol=1e-5)


def test_powers_of_singular_values_are_relative_to_the_largest():
    maps = SpectralMaps(np.eye(2), np.eye(2), np.array([4.0, 1.0]))
    np.testing.assert_allclose(np.diag(maps.reweighted(0.5)[0]), [1, 0.5])
    np.testing.assert_array_equal(np.diag(maps.reweighted(0)[1]), [1, 1])


def test_directions_that_the_seed_does_not_have_are_left_out(rng):
    X = np.zeros((30, 6), np.float32)
    X[:, :2] = rng.standard_normal((30, 2))
    maps = spectral_maps(seed_moments(X, X[:, ::-1]), whiten=1, ridge=0)
    assert maps.source.shape == maps.target.shape == (6, 2)
    assert not maps.source[2:].any() and np.isfinite(maps.source).all()


def test_sides_that_have_nothing_in_common_give_one_direction_without_weight():
    X, Y = np.float32([[1, 0], [0, 1], [-1, 0], [0, -1]]), np.float32([[1, 0], [-1, 0], [1, 0], [-1, 0]])
    maps = spectral_maps(seed_moments(X, Y), whiten=1, ridge=0.1)
    assert maps.source.shape == (2, 1) and maps.singular_values[0] < 1e-7
    for power in (1.0, "likelihood"):
        assert all(side.shape == (2, 1) for side in maps.reweighted(power))
