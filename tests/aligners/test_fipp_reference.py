"""FIPP as a whole and its solvers, against a literal float64 reference."""

import warnings

import numpy as np
import pytest
from fipp_problems import epsilon_in_a_gap, related_vocabularies, unit_length
from hypothesis import given, settings
from hypothesis import strategies as st

from fipp import FIPP, FippWarning
from fipp.aligners import _fipp_reference as reference
from fipp.aligners._solvers import descent_map, eigen_map, filtered_seeds, linear_map
from fipp.linalg import _solve

DIMENSIONS = [(6, 6), (5, 8), (8, 5), (1, 1), (1, 4), (4, 1), (12, 2)]


def problem(d1, d2, *, n=160, c=80, preprocess=reference.isotropic, seed=0):
    """Vocabularies, pairs, preprocessed seed vectors and a safe ε."""
    rng = np.random.default_rng(seed)
    X, Y = related_vocabularies(rng, n, d1, d2)
    order = rng.permutation(n)
    Y = Y[order]  # so that pairs are not simply row i and row i
    pairs = np.stack([order, np.arange(n)], axis=1)[:c]
    prepared_X, prepared_Y = (preprocess(V) if V.shape[1] > 1 else centred_only(V, preprocess) for V in (X, Y))
    X_s, X_t = prepared_X[pairs[:, 0]], prepared_Y[pairs[:, 1]]
    return X, Y, pairs, X_s, X_t, epsilon_in_a_gap(X_s, X_t)


def centred_only(V, preprocess):
    """In one dimension no component is removed, because nothing would be left."""
    unit = unit_length(V)
    return unit if preprocess is unit_length else unit - unit.mean(axis=0)


@pytest.mark.parametrize("rank", ["target", "full"])
@pytest.mark.parametrize("eigen_method", ["dense", "subspace"])
@pytest.mark.parametrize(("d1", "d2"), DIMENSIONS)
def test_the_published_route_equals_the_literal_reference(monkeypatch, d1, d2, eigen_method, rank):
    monkeypatch.setattr(_solve, "_SUBSPACE_TOLERANCE", 1e-8)
    X, Y, pairs, X_s, X_t, epsilon = problem(d1, d2)
    n_rank = d2 if rank == "target" else max(d1, d2)
    expected = reference.fipp_map(X_s, X_t, epsilon, 0.7, rank=n_rank, published=True)
    aligner = FIPP(epsilon, 0.7, solver="eigen", eigen_method=eigen_method, rank=rank, weighting="published")
    aligner.fit(X, Y, pairs)
    assert aligner.map_.shape == (d1, d2)
    # Where a rank cuts between eigenvalues of the same size, block iteration only approaches the cut.
    tolerance = 2e-3 if eigen_method == "dense" or rank == "target" else 4e-2
    np.testing.assert_allclose(aligner.map_, expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("rank", ["target", "full"])
@pytest.mark.parametrize(("d1", "d2"), DIMENSIONS)
def test_the_linear_solver_equals_its_dense_formula(d1, d2, rank):
    # The removed component would leave X_s without full column rank, which the formula needs.
    X, Y, pairs, X_s, X_t, epsilon = problem(d1, d2, preprocess=unit_length)
    n_rank = d2 if rank == "target" else max(d1, d2)
    expected = reference.fipp_map(X_s, X_t, epsilon, 0.7, rank=n_rank)
    aligner = FIPP(epsilon, 0.7, rank=rank, preprocess="unit").fit(X, Y, pairs)
    np.testing.assert_allclose(aligner.map_, expected, atol=1e-3 * np.abs(expected).max())


def test_no_linear_map_realises_the_objective_better_when_the_filter_is_off(rng):
    X, Y, pairs, X_s, X_t, _ = problem(5, 7, preprocess=unit_length)
    aligner = FIPP(None, preprocess="unit").fit(X, Y, pairs)
    # The seed and a virtual pair along each axis, whose inner products are to stay as they are.
    completed = np.vstack([X_s, np.sqrt((X_s**2).sum() / len(X_s)) * np.eye(5)])
    G_s = completed @ completed.T
    G_t = G_s.copy()
    G_t[: len(X_s), : len(X_s)] = X_t @ X_t.T

    def loss(W):
        G = completed @ W @ W.T @ completed.T
        return ((G - G_s) ** 2).sum() + ((G - G_t) ** 2).sum()

    W = aligner.map_.astype(np.float64)
    for scale in (1e-3, 1e-2, 1e-1):
        for _ in range(30):
            assert loss(W) <= loss(W + scale * rng.standard_normal(W.shape))


@pytest.mark.parametrize("c", [60, 80, 81, 85, 100, 160])
def test_with_about_as_many_pairs_as_dimensions_the_map_stretches_nothing_out_of_proportion(c, rng):
    # The seed has hardly anything in some directions; dividing by that used to blow them up a hundredfold.
    X, Y = related_vocabularies(rng, 400, 80, 80)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FippWarning)
        aligner = FIPP().fit(X, Y, np.stack([np.arange(c)] * 2, axis=1))
    assert np.linalg.norm(aligner.map_, 2) < 3


def test_the_published_route_says_when_few_pairs_let_it_stretch_some_directions(rng):
    X, Y = related_vocabularies(rng, 400, 40, 40, noise=1.0)
    pairs = np.stack([np.arange(400)] * 2, axis=1)
    with pytest.warns(FippWarning, match=r"stretches one direction .* times .*'linear', or 80 pairs and more"):
        aligner = FIPP(solver="eigen").fit(X, Y, pairs[:41])
    stretches = np.linalg.svd(aligner.map_, compute_uv=False)
    stretches = stretches[stretches > 1e-5]
    assert stretches[0] > 2 * np.median(stretches)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FIPP(solver="eigen").fit(X, Y, pairs)


def test_the_least_squares_projection_is_the_literal_one_with_a_matrix_of_pairs_by_words(rng):
    X, _, _, X_s, X_t, epsilon = problem(6, 6)
    vocabulary = reference.isotropic(X)
    settings = FIPP(solver="eigen", eigen_method="dense")
    (seed,) = filtered_seeds(X_s.astype(np.float32), X_t.astype(np.float32), [epsilon], settings, None)
    solution = eigen_map(seed, 6, settings)
    # 𝔛̃ᵀ = (X̃ᵀX̃)⁻¹ X̃ᵀ (X_s 𝔛ᵀ): the least-squares solution of X̃ 𝔛̃ᵀ = X_s 𝔛ᵀ, a c×n matrix.
    literal = np.linalg.lstsq(solution.aligned.astype(np.float64), X_s @ vocabulary.T)[0].T
    np.testing.assert_allclose(vocabulary @ solution.W, literal, atol=1e-4)


def test_the_descent_projects_by_literal_least_squares_too():
    X, _, _, X_s, X_t, epsilon = problem(5, 7, preprocess=unit_length)
    vocabulary = unit_length(X)
    settings = FIPP(solver="sgd", learning_rate=1e-2, n_steps=100)
    (seed,) = filtered_seeds(X_s.astype(np.float32), X_t.astype(np.float32), [epsilon], settings, None)
    solution = descent_map(seed, 7, settings)
    aligned = solution.aligned.astype(np.float64)
    literal = np.linalg.lstsq(aligned, X_s @ vocabulary.T)[0].T
    np.testing.assert_allclose(vocabulary @ solution.W, literal, atol=1e-3)


@pytest.mark.parametrize("weighting", ["root", "published", "paper", None])
@pytest.mark.parametrize("solver", ["linear", "eigen"])
def test_weights_are_those_of_the_rows_of_g_star_minus_g_t(solver, weighting):
    X, Y, pairs, X_s, X_t, epsilon = problem(6, 5, preprocess=unit_length)
    aligner = FIPP(epsilon, 0.5, solver=solver, weighting=weighting, preprocess="unit").fit(X, Y, pairs)
    power = {"root": 0.5, "published": 1, "paper": 2, None: 0}[weighting]
    expected = reference.pair_weights(X_s, X_t, epsilon, 0.5, power)
    np.testing.assert_allclose(aligner.weights_, expected, rtol=1e-3)
    projection = reference.published_projection if solver == "eigen" else reference.linear_projection
    expected_map = reference.rotated(projection(X_s, X_t, epsilon, 0.5, 6), X_s, X_t, expected)
    np.testing.assert_allclose(aligner.map_, expected_map, atol=2e-3)


@pytest.mark.parametrize("solver", ["linear", "eigen", "sgd"])
def test_fitted_attributes_say_what_the_filter_kept(solver):
    X, Y, pairs, X_s, X_t, epsilon = problem(6, 5)
    aligner = FIPP(epsilon, solver=solver, n_steps=5).fit(X, Y, pairs)
    delta = reference.optimal_gram(X_s, X_t, epsilon, 1.0)[2]
    assert aligner.kept_fraction_ == delta.mean()
    np.testing.assert_allclose(aligner.kept_per_pair_, delta.mean(axis=1))
    np.testing.assert_array_equal(aligner.pairs_, pairs)
    assert 0.4 < aligner.kept_fraction_ < 0.8


@pytest.mark.parametrize("solver", ["linear", "eigen", "sgd"])
@pytest.mark.parametrize(("d1", "d2"), [(6, 6), (5, 8), (8, 5)])
def test_the_objective_and_the_deviation_are_those_of_the_aligned_seed_vectors(d1, d2, solver):
    X, Y, pairs, X_s, X_t, epsilon = problem(d1, d2, preprocess=unit_length)
    aligner = FIPP(epsilon, 0.5, solver=solver, n_steps=20, learning_rate=1e-2, preprocess="unit").fit(X, Y, pairs)
    G_s, G_t, delta, _ = reference.optimal_gram(X_s, X_t, epsilon, 0.5)
    if solver == "linear":
        aligned = X_s @ reference.linear_projection(X_s, X_t, epsilon, 0.5, max(d1, d2))
    elif solver == "eigen":
        aligned = reference.published_vectors(X_s, X_t, epsilon, 0.5, max(d1, d2))
    else:
        aligned = aligner._seed[2].aligned.astype(np.float64)
    G = aligned @ aligned.T
    objective = aligner.objective_
    assert objective.reconstruction == pytest.approx(((G - G_s) ** 2).sum(), rel=1e-3)
    assert objective.transfer == pytest.approx((delta * (G - G_t) ** 2).sum(), rel=1e-3)
    assert objective.weight == pytest.approx(0.5 / delta.mean())
    U, _, Vt = np.linalg.svd(X_s.T @ aligned, full_matrices=False)
    expected = np.linalg.norm(aligned - X_s @ U @ Vt) / np.linalg.norm(X_s)
    assert aligner.deviation_ == pytest.approx(expected, rel=1e-2, abs=1e-5)


def test_no_filter_is_a_filter_that_keeps_everything():
    X, Y, pairs, X_s, X_t, _ = problem(6, 6)
    expected = reference.fipp_map(X_s, X_t, np.inf, 1.0, published=True)
    for epsilon in (None, 1e6, 1e12):
        aligner = FIPP(epsilon, solver="eigen", weighting="published").fit(X, Y, pairs)
        assert aligner.kept_fraction_ == 1
        np.testing.assert_allclose(aligner.map_, expected, atol=2e-3 * np.abs(expected).max())
    unfiltered = FIPP(None).fit(X, Y, pairs)
    np.testing.assert_array_equal(unfiltered.map_, FIPP(1e6).fit(X, Y, pairs).map_)
    (path,) = FIPP().fit_many(X, Y, pairs, settings=[{"epsilon": 1e6}])
    np.testing.assert_array_equal(unfiltered.map_, path.map_)


def test_a_second_round_starts_from_the_aligned_source():
    X, Y, pairs, X_s, X_t, epsilon = problem(6, 6, preprocess=unit_length)
    aligner = FIPP(epsilon, preprocess="unit", n_rounds=2).fit(X, Y, pairs)
    W = reference.linear_projection(X_s, X_t, epsilon, 1.0, 6)
    again = reference.linear_projection(X_s @ W, X_t, epsilon, 1.0, 6)
    weights = reference.pair_weights(X_s @ W, X_t, epsilon, 1.0)
    expected = reference.rotated(W @ again, X_s, X_t, weights)
    np.testing.assert_allclose(aligner.map_, expected, atol=1e-3)


@pytest.mark.parametrize("solver", ["linear", "eigen"])
def test_a_rank_that_was_asked_for_is_the_rank_of_the_map(solver):
    X, Y, pairs, *_ = problem(7, 5, preprocess=unit_length)
    for rank, expected in [("target", 5), (2, 2), (1, 1), (50, 5)]:
        aligner = FIPP(0.2, rank=rank, solver=solver, preprocess="unit").fit(X, Y, pairs)
        assert np.linalg.matrix_rank(aligner.map_, tol=1e-4) == expected
        assert aligner.map_.shape == (7, 5)


@pytest.mark.parametrize("d2", [4, 6])
def test_descent_approaches_the_eigen_solution_where_that_is_the_best_there_is(d2):
    X, Y, pairs, *_ = problem(4, d2, n=60, c=30, preprocess=unit_length)
    settings = {"epsilon": None, "preprocess": "unit", "rank": "full"}
    best = FIPP(solver="eigen", **settings).fit(X, Y, pairs).objective_.total
    descent = FIPP(solver="sgd", learning_rate=1e-2, n_steps=600, **settings).fit(X, Y, pairs)
    assert descent.losses_.shape == (601,)
    assert descent.losses_[-1] < 0.6 * descent.losses_[0]
    assert descent.objective_.total == pytest.approx(descent.losses_.min(), rel=1e-3)
    assert 0.999 * best < descent.objective_.total < 1.02 * best


def test_descent_with_a_filter_is_no_worse_than_the_eigen_solution():
    X, Y, pairs, _, _, epsilon = problem(5, 5, n=60, c=40)
    best = FIPP(epsilon, solver="eigen").fit(X, Y, pairs).objective_.total
    descent = FIPP(epsilon, solver="sgd", learning_rate=1e-2, n_steps=600).fit(X, Y, pairs)
    assert descent.objective_.total < 1.01 * best


def test_descent_depends_on_nothing_random_but_its_random_state():
    X, Y, pairs, *_ = problem(3, 6)
    maps = [FIPP(solver="sgd", n_steps=10, random_state=r).fit(X, Y, pairs).map_ for r in (0, 0, 1)]
    np.testing.assert_array_equal(maps[0], maps[1])
    assert not np.array_equal(maps[0], maps[2])


def test_linear_map_of_a_source_without_full_rank_maps_the_missing_directions_to_zero(rng):
    X_s = np.concatenate([rng.standard_normal((30, 3)), np.zeros((30, 2))], axis=1).astype(np.float32)
    X_t = rng.standard_normal((30, 4)).astype(np.float32)
    (seed,) = filtered_seeds(X_s, X_t, [1.0], FIPP(), None)
    solution = linear_map(seed, 5, FIPP())
    assert solution.W.shape[1] <= 3
    np.testing.assert_allclose(solution.W[3:], 0, atol=1e-7)


# Properties, for every pair of dimensions


def dimensions():
    return st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(0, 10**6))


def unit_problem(d1, d2, seed):
    return problem(d1, d2, n=140, c=110, preprocess=unit_length, seed=seed)


def inner_products(aligner, X, Y):
    return aligner.transform(X) @ aligner.transform_target(Y).T


def fit(aligner, X, Y, pairs):
    """Fit; with 39 or 40 dimensions and some rank lost, warnings are none of our business here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FippWarning)
        return aligner.fit(X, Y, pairs)


@settings(max_examples=40)
@given(dimensions())
def test_rotating_either_space_changes_nothing(shape):
    d1, d2, seed = shape
    X, Y, pairs, _, _, epsilon = unit_problem(d1, d2, seed)
    rng = np.random.default_rng(seed + 1)
    R1, R2 = (np.linalg.qr(rng.standard_normal((d, d)))[0] for d in (d1, d2))
    aligner = FIPP(epsilon, preprocess="unit")
    before = inner_products(fit(aligner, X, Y, pairs), X, Y)
    after = inner_products(fit(aligner, X @ R1, Y @ R2, pairs), X @ R1, Y @ R2)
    np.testing.assert_allclose(after, before, atol=2e-3)


@given(dimensions())
def test_the_order_of_pairs_does_not_matter(shape):
    d1, d2, seed = shape
    X, Y, pairs, _, _, epsilon = unit_problem(d1, d2, seed)
    shuffled = np.random.default_rng(seed).permutation(pairs)
    first, second = (fit(FIPP(epsilon, preprocess="unit"), X, Y, p) for p in (pairs, shuffled))
    np.testing.assert_allclose(inner_products(second, X, Y), inner_products(first, X, Y), atol=2e-3)


@given(dimensions(), st.sampled_from([">f4", "<f4", ">f8", "<f8", ">f2", "<f2"]))
def test_the_type_of_the_numbers_does_not_matter(shape, dtype):
    d1, d2, seed = shape
    X, Y, pairs, *_ = unit_problem(d1, d2, seed)
    X, Y = (np.round(V * 64).clip(-500, 500) for V in (X, Y))  # whole numbers that float16 holds
    X[~X.any(axis=1)], Y[~Y.any(axis=1)] = 1, 1
    expected = fit(FIPP(None, preprocess="unit"), X, Y, pairs)
    X, Y = X.astype(dtype), Y.astype(dtype)
    found = fit(FIPP(None, preprocess="unit"), X, Y, pairs)
    np.testing.assert_allclose(inner_products(found, X, Y), inner_products(expected, X, Y), atol=1e-4)


@settings(max_examples=60)
@given(
    dimensions(),
    st.integers(1, 60),
    st.sampled_from(["linear", "eigen", "sgd"]),
    st.sampled_from(["isotropic", "isotropic-textbook", "unit", "centre", "iterative", "unit+centre+unit", None]),
    st.sampled_from([None, 0.0, 0.01, 0.3]),
    st.sampled_from(["full", "target", 1, 3]),
)
def test_any_shape_gives_finite_vectors_of_the_target_dimension(shape, n, solver, preprocess, epsilon, rank):
    d1, d2, seed = shape
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, d1)), rng.standard_normal((n + 3, d2))
    pairs = np.stack([rng.integers(0, n, n), rng.integers(0, n + 3, n)], axis=1)
    aligner = FIPP(epsilon, solver=solver, preprocess=preprocess, rank=rank, n_steps=3)
    fit(aligner, X, Y, pairs)
    mapped, target = aligner.transform(X), aligner.transform_target(Y)
    assert mapped.shape == (n, d2)
    assert target.shape == (n + 3, d2)
    assert mapped.dtype == target.dtype == np.float32
    assert np.isfinite(mapped).all()
    assert np.isfinite(target).all()
    assert np.isfinite([aligner.deviation_, *aligner.objective_]).all()
    assert 0 <= aligner.score(X, Y[:n]) <= 1


def test_the_published_vectors_of_tiny_vectors_are_as_good(rng):
    X = rng.standard_normal((30, 4))
    for size in (1.0, 1e-6):
        found = reference.published_vectors(size * X, size * X, 1.0, 1.0, 4)
        np.testing.assert_allclose(found @ found.T, size**2 * X @ X.T, atol=1e-9 * size**2)
