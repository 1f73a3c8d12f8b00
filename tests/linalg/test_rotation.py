"""Orthogonal Procrustes and distances between spaces, against scipy, dense matrices and random rivals."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import fipp
from fipp.exceptions import FippError
from fipp.linalg import cross_products, deviation_from_orthogonal, pip_distance, rotation


def random_semi_orthogonal(rng, d1, d2):
    """A map of shape (d1, d2) whose shorter side is orthonormal."""
    Q = np.linalg.qr(rng.standard_normal((max(d1, d2), min(d1, d2))))[0]
    return Q.T if d1 < d2 else Q


@given(st.integers(1, 12), st.integers(0, 99))
def test_the_weighted_rotation_equals_scipys_for_weighted_rows(d, seed):
    rng = np.random.default_rng(seed)
    A, B, weights = rng.standard_normal((20, d)), rng.standard_normal((20, d)), rng.uniform(0.1, 2, 20)
    expected, _ = scipy.linalg.orthogonal_procrustes(weights[:, None] * A, weights[:, None] * B)
    np.testing.assert_allclose(rotation(cross_products(A, B, np.square(weights))), expected, atol=1e-8)


def test_without_weights_all_rows_count_alike(rng):
    A, B = rng.standard_normal((9, 3)), rng.standard_normal((9, 4))
    expected = sum(np.outer(a, b) for a, b in zip(A, B, strict=True))
    np.testing.assert_allclose(cross_products(A, B), expected, atol=1e-12)
    np.testing.assert_allclose(cross_products(A, B, np.ones(9)), expected, atol=1e-12)


def test_a_row_counts_by_the_square_of_its_weight(rng):
    A, B, weights = rng.standard_normal((9, 3)), rng.standard_normal((9, 4)), rng.uniform(0, 2, 9)
    expected = sum(w * w * np.outer(a, b) for w, a, b in zip(weights, A, B, strict=True))
    np.testing.assert_allclose(cross_products(A, B, np.square(weights)), expected, atol=1e-12)


@pytest.mark.parametrize(("d1", "d2"), [(3, 5), (5, 3), (4, 4), (1, 6), (6, 1)])
def test_the_semi_orthogonal_map_is_better_than_random_ones(rng, d1, d2):
    A, B = rng.standard_normal((30, d1)), rng.standard_normal((30, d2))
    omega = rotation(cross_products(A, B))
    identity = omega @ omega.T if d1 <= d2 else omega.T @ omega
    np.testing.assert_allclose(identity, np.eye(min(d1, d2)), atol=1e-10)
    for _ in range(200):
        rival = random_semi_orthogonal(rng, d1, d2)
        assert np.trace(omega.T @ A.T @ B) >= np.trace(rival.T @ A.T @ B)
        if d1 <= d2:
            assert np.linalg.norm(A @ omega - B) <= np.linalg.norm(A @ rival - B)


def test_directions_without_any_correlation_are_mapped_to_zero():
    omega = rotation(np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(omega, [[1, 0, 0], [0, 0, 0]])
    assert not rotation(np.zeros((2, 3))).any()
    assert rotation(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("smallest", [1e-2, 3e-5, 1e-6])
@pytest.mark.parametrize(("d1", "d2"), [(8, 8), (8, 5), (5, 8)])
def test_weak_directions_are_turned_as_exactly_as_strong_ones(rng, d1, d2, smallest):
    k = min(d1, d2)
    U, V = random_semi_orthogonal(rng, d1, k), random_semi_orthogonal(rng, d2, k)
    values = np.geomspace(1, smallest, k)
    np.testing.assert_allclose(rotation((U * values) @ V.T), U @ V.T, atol=1e-7)
    # Less than the rounding of float32 is nothing.
    values[-1] = 1e-9
    np.testing.assert_allclose(rotation((U * values) @ V.T), U[:, :-1] @ V[:, :-1].T, atol=1e-7)


@given(st.integers(1, 15), st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
def test_pip_distance_equals_that_of_the_dense_gram_matrices(n, d1, d2, seed):
    rng = np.random.default_rng(seed)
    E, F = rng.standard_normal((n, d1)), rng.standard_normal((n, d2))
    squared = 0.0
    for i in range(n):
        for j in range(n):
            squared += (E[i] @ E[j] - F[i] @ F[j]) ** 2
    assert pip_distance(E, F) == pytest.approx(squared**0.5, rel=1e-9)


def test_rotations_do_not_change_the_pip_distance(rng):
    E, F = rng.standard_normal((20, 5)), rng.standard_normal((20, 3))
    turned = E @ random_semi_orthogonal(rng, 5, 5)
    assert fipp.pip_distance(turned, F) == pytest.approx(pip_distance(E, F))
    assert pip_distance(turned, E) == pytest.approx(0, abs=1e-10)


def test_items_must_be_the_same_on_both_sides(rng):
    with pytest.raises(FippError, match=r"row per item.*\(4, 2\).*\(5, 2\)"):
        pip_distance(rng.standard_normal((4, 2)), rng.standard_normal((5, 2)))
    with pytest.raises(FippError, match="row per item"):
        pip_distance([1.0, 2.0], [1.0, 2.0])


@given(st.integers(1, 8), st.integers(0, 30), st.integers(0, 99))
def test_theorem_1_bounds_the_pip_distance_by_the_procrustes_residual(d, extra, seed):
    rng = np.random.default_rng(seed)
    E, F = (np.linalg.qr(rng.standard_normal((d + extra, d)))[0] for _ in range(2))
    omega, _ = scipy.linalg.orthogonal_procrustes(E, F)
    residual = np.linalg.norm(E @ omega - F)
    assert residual - 1e-9 <= pip_distance(E, F) <= np.sqrt(2) * residual + 1e-9


@pytest.mark.parametrize(("d1", "d2"), [(4, 4), (3, 5)])
def test_deviation_is_the_distance_to_the_nearest_rotation(rng, d1, d2):
    X, mapped = rng.standard_normal((30, d1)), rng.standard_normal((30, d2))
    found = deviation_from_orthogonal(X, mapped)
    U, _, Vt = scipy.linalg.svd(X.T @ mapped, full_matrices=False)
    assert found == pytest.approx(np.linalg.norm(mapped - X @ U @ Vt) / np.linalg.norm(X))
    for _ in range(200):
        rival = random_semi_orthogonal(rng, d1, d2)
        assert found <= np.linalg.norm(mapped - X @ rival) / np.linalg.norm(X)


def test_a_space_that_was_only_turned_does_not_deviate(rng):
    X = rng.standard_normal((30, 4))
    assert deviation_from_orthogonal(X, X @ random_semi_orthogonal(rng, 4, 6)) == pytest.approx(0, abs=1e-10)
    assert deviation_from_orthogonal(X, 3 * X) == pytest.approx(2)
    assert deviation_from_orthogonal(np.zeros((3, 2)), np.zeros((3, 2))) == 0
