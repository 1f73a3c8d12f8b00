"""Thin bases, positive parts and the leading eigenpairs of G*, against dense float64 algebra."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fipp.exceptions import FippError
from fipp.linalg import GramTiles, _gram, _solve, positive_part, target_gram_eigen, thin_svd


def dense_g_star(X_s, X_t, epsilon, a):
    """G* = G_s + a Δ∘(G_t − G_s), entry by entry, in float64."""
    G_s, G_t = (X.astype(np.float64) @ X.T.astype(np.float64) for X in (X_s, X_t))
    G_star = G_s.copy()
    for i in range(len(G_s)):
        for j in range(len(G_s)):
            if abs(G_t[i, j] - G_s[i, j]) < epsilon:
                G_star[i, j] = (1 - a) * G_s[i, j] + a * G_t[i, j]
    return G_star


def related_spaces(rng, c=90, d1=8, d2=6):
    """Seed vectors of two spaces with common geometry and some noise, of unit length."""
    hidden = rng.standard_normal((c, max(d1, d2))) * np.geomspace(3, 1, max(d1, d2))
    X_s = hidden[:, :d1] + 0.2 * rng.standard_normal((c, d1))
    X_t = hidden[:, :d2] + 0.2 * rng.standard_normal((c, d2))
    return tuple((X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32) for X in (X_s, X_t))


@given(
    st.integers(1, 30), st.integers(1, 12), st.sampled_from([np.float16, np.float32, np.float64]), st.integers(0, 99)
)
def test_thin_svd_puts_the_matrix_together_again(n_rows, n_columns, dtype, seed):
    X = np.random.default_rng(seed).standard_normal((n_rows, n_columns)).astype(dtype)
    Q, sigma, V = thin_svd(X)
    assert len(sigma) <= min(n_rows, n_columns)
    np.testing.assert_allclose((Q * sigma) @ V.T, X.astype(np.float64), atol=1e-5)
    np.testing.assert_allclose(Q.T @ Q, np.eye(len(sigma)), atol=1e-4)
    np.testing.assert_allclose(V.T @ V, np.eye(len(sigma)), atol=1e-10)
    assert (np.diff(sigma) <= 0).all()
    expected = np.linalg.svd(X.astype(np.float64), compute_uv=False)
    np.testing.assert_allclose(sigma, expected[: len(sigma)], rtol=1e-4)


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_directions_with_nothing_in_them_are_left_out_of_the_thin_svd(rng, rank):
    X = rng.standard_normal((20, rank)) @ rng.standard_normal((rank, 7))
    Q, sigma, V = thin_svd(X)
    assert Q.shape == (20, rank)
    assert sigma.shape == (rank,)
    assert V.shape == (7, rank)


def test_positive_part_is_the_nearest_semidefinite_matrix(rng):
    M = rng.standard_normal((9, 9))
    M = M + M.T
    values, vectors = positive_part(M)
    all_values, all_vectors = np.linalg.eigh(M)
    expected = sum(v * np.outer(q, q) for v, q in zip(all_values, all_vectors.T, strict=True) if v > 0)
    np.testing.assert_allclose((vectors * values) @ vectors.T, expected, atol=1e-10)
    assert (values > 0).all()
    assert (np.diff(values) <= 0).all()


def test_positive_part_of_a_rank_keeps_the_largest_eigenvalues():
    values, vectors = positive_part(np.diag([1.0, -9.0, 3.0, 2.0]), rank=2)
    assert values.tolist() == [3.0, 2.0]
    np.testing.assert_allclose(np.abs(vectors), [[0, 0], [0, 0], [1, 0], [0, 1]])


@pytest.mark.parametrize("M", [np.zeros((3, 3)), -np.eye(3), np.zeros((0, 0)), np.diag([1.0, 1e-16, -1e-16])])
def test_eigenvalues_at_or_below_zero_are_dropped(M):
    values, vectors = positive_part(M)
    assert values.tolist() == ([1.0] if M.any() and M[0, 0] > 0 else [])
    assert vectors.shape == (len(M), len(values))


@pytest.mark.parametrize("tile", [7, 512])
@pytest.mark.parametrize("method", ["dense", "subspace", "auto"])
@pytest.mark.parametrize(("epsilon", "a"), [(0.1, 0.7), (0.02, 0.9), (np.inf, 0.5), (0.0, 0.0)])
def test_leading_eigenpairs_of_g_star_equal_those_of_the_dense_matrix(rng, monkeypatch, method, epsilon, a, tile):
    monkeypatch.setattr(_gram, "_TILE", tile)
    monkeypatch.setattr(_solve, "_SUBSPACE_TOLERANCE", 1e-7)
    X_s, X_t = related_spaces(rng)
    values, vectors = target_gram_eigen(GramTiles(X_s, X_t), epsilon, a, 5, method=method)
    G_star = dense_g_star(X_s, X_t, epsilon, a)
    expected = np.linalg.eigvalsh(G_star)[::-1][:5]
    np.testing.assert_allclose(values, expected, rtol=1e-4)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-4)
    np.testing.assert_allclose(G_star @ vectors, vectors * values, atol=2e-2 * expected[0])
    # Eigenvectors are defined up to their sign only; what they project on is not.
    top = np.linalg.eigh(G_star)[1][:, :-6:-1]
    np.testing.assert_allclose(vectors @ vectors.T, top @ top.T, atol=5e-3)


@pytest.mark.parametrize("products", [1, 2])
def test_subspace_iteration_that_ran_out_of_products_gives_pairs_that_belong_together(rng, monkeypatch, products):
    monkeypatch.setattr(_solve, "_SUBSPACE_PRODUCTS", products)
    X_s, X_t = related_spaces(rng)
    values, vectors = target_gram_eigen(GramTiles(X_s, X_t), 0.1, 0.7, 3, method="subspace")
    G_star = dense_g_star(X_s, X_t, 0.1, 0.7)
    rayleigh = [q @ G_star @ q for q in vectors.T.astype(np.float64)]
    np.testing.assert_allclose(values, rayleigh, rtol=1e-4)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(G_star)[::-1][:3], rtol=0.05)


@pytest.mark.parametrize("method", ["dense", "subspace"])
def test_only_positive_eigenvalues_are_given(rng, method):
    # Filter off and all weight on the target, of rank 2: nothing else is left above zero.
    X_s, X_t = related_spaces(rng, 40, 5, 2)
    values, vectors = target_gram_eigen(GramTiles(0 * X_s, X_t), np.inf, 1.0, 30, method=method)
    assert (values > 0).all()
    assert vectors.shape == (40, len(values))
    np.testing.assert_allclose(values[:2], np.linalg.eigvalsh(X_t.T @ X_t)[::-1], rtol=1e-4)
    assert (values[2:] < 1e-5 * values[0]).all()


@pytest.mark.parametrize("method", ["dense", "subspace"])
def test_a_rank_above_the_number_of_pairs_is_not_an_error(rng, method):
    X_s, X_t = related_spaces(rng, 4, 8, 6)
    values, vectors = target_gram_eigen(GramTiles(X_s, X_t), np.inf, 0.5, 8, method=method)
    assert 1 <= len(values) <= 4
    assert vectors.shape == (4, len(values))


def test_a_dense_matrix_that_does_not_fit_is_refused_beforehand(rng):
    tiles = GramTiles(*related_spaces(rng))
    with pytest.raises(FippError, match=r"90 pairs .*subspace"):
        target_gram_eigen(tiles, 0.1, 0.5, 5, method="dense", max_memory=1000)
    for method in ("subspace", "auto"):
        assert len(target_gram_eigen(tiles, 0.1, 0.5, 5, method=method, max_memory=1000)[0]) == 5


@pytest.mark.parametrize("method", ["dense", "subspace"])
def test_nothing_but_zeros_has_no_eigenpairs(method):
    zeros = np.zeros((5, 3), dtype=np.float32)
    values, vectors = target_gram_eigen(GramTiles(zeros, zeros), 0.1, 0.5, 3, method=method)
    assert values.shape == (0,)
    assert vectors.shape == (5, 0)
