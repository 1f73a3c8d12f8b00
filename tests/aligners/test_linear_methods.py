"""CCA, PLS, ridge and reduced-rank regression against scikit-learn and what was planted."""

import numpy as np
import pytest
import scipy.linalg
import sklearn.cross_decomposition
import sklearn.linear_model
from sklearn.base import clone

from fipp import CCA, PLS, Alignment, LowRank, Ridge, Vectors
from fipp.aligners import METHODS
from fipp.aligners._regression import _PENALTIES
from fipp.evaluate import bli

LINEAR = [CCA(), CCA(0.0, 0.0, whiten=0.0), PLS(), Ridge(), LowRank(8)]


@pytest.fixture
def noisy(rng):
    """Two views of 20 hidden dimensions, of 14 and 18 dimensions, with a third of noise."""
    hidden = rng.standard_normal((600, 20)) * np.linspace(2, 0.5, 20)
    X = hidden @ rng.standard_normal((20, 14)) + 0.3 * rng.standard_normal((600, 14))
    Y = hidden @ rng.standard_normal((20, 18)) + 0.3 * rng.standard_normal((600, 18))
    return X.astype(np.float32), Y.astype(np.float32)


def test_the_correlations_of_cca_are_those_of_scikit_learn(noisy):
    X, Y = (side - side.mean(axis=0) for side in noisy)
    aligner = CCA(ridge=0, reweight=0, preprocess=None).fit(X, Y)
    reference = sklearn.cross_decomposition.CCA(n_components=14, scale=False, max_iter=5000, tol=1e-10).fit(X, Y)
    scores = reference.transform(X, Y)
    correlations = [np.corrcoef(a, b)[0, 1] for a, b in zip(scores[0].T, scores[1].T, strict=True)]
    np.testing.assert_allclose(aligner.correlations_[:8], correlations[:8], atol=1e-3)


def test_true_cca_whitens_both_sides_of_the_seed(noisy):
    X, Y = noisy
    aligner = CCA(ridge=0, reweight=0, preprocess=None).fit(X, Y)
    for shared in (aligner.transform(X), aligner.transform_target(Y)):
        np.testing.assert_allclose(shared.T @ shared / len(X), np.eye(14), atol=1e-3)


def test_the_rotation_only_variant_of_cca_is_orthogonal(noisy):
    X, Y = noisy
    aligner = CCA(0.0, 0.0, whiten=0.0).fit(X, Y)
    np.testing.assert_allclose(aligner.map_.T @ aligner.map_, np.eye(14), atol=1e-4)
    np.testing.assert_allclose(aligner.target_map_.T @ aligner.target_map_, np.eye(14), atol=1e-4)


@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_partly_whitened_canonical_directions_are_scaled_by_a_power_of_the_covariances(noisy, ridge):
    X, Y = noisy
    whitened, partly = (CCA(ridge, 0.5, whiten=whiten, preprocess=None).fit(X, Y) for whiten in (1.0, 0.4))
    for side, full, part in ((X, whitened.map_, partly.map_), (Y, whitened.target_map_, partly.target_map_)):
        covariance = side.T.astype(float) @ side / len(side)
        ridged = covariance + ridge * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
        undo = np.real(scipy.linalg.fractional_matrix_power(ridged, 0.3))
        np.testing.assert_allclose(part, undo @ full, atol=1e-4)


def test_pls_is_scikit_learns_plssvd_up_to_signs(noisy):
    X, Y = noisy
    aligner = PLS(preprocess=None).fit(X, Y)
    reference = sklearn.cross_decomposition.PLSSVD(n_components=14).fit(X.astype(float), Y.astype(float))
    source, target = reference.transform(X.astype(float), Y.astype(float))
    # scikit-learn divides by n − 1.
    factor = np.sqrt((len(X) - 1) / len(X))
    np.testing.assert_allclose(np.abs(aligner.transform(X)), np.abs(source) / factor, atol=2e-3)
    np.testing.assert_allclose(np.abs(aligner.transform_target(Y)), np.abs(target) / factor, atol=2e-3)


def mean_eigenvalue(X):
    return np.square(X, dtype=float).sum() / X.shape[1]


@pytest.mark.parametrize("intercept", [True, False])
def test_ridge_is_scikit_learns(noisy, intercept):
    X, Y = noisy
    alpha = 2.0 * mean_eigenvalue(X - X.mean(axis=0) if intercept else X)
    aligner = Ridge(2.0, intercept=intercept, preprocess=None).fit(X, Y)
    reference = sklearn.linear_model.Ridge(alpha, fit_intercept=intercept).fit(X.astype(float), Y.astype(float))
    np.testing.assert_allclose(aligner.transform(X), reference.predict(X.astype(float)), atol=1e-3)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_penalty_is_the_one_that_leaving_out_each_pair_in_turn_would_choose(noisy, intercept):
    X, Y = (side[:60].astype(float) for side in noisy)
    centred = X - X.mean(axis=0) if intercept else X
    found = Ridge(intercept=intercept, preprocess=None).fit(X, Y).ridge_ * mean_eigenvalue(centred)
    penalties = np.array(_PENALTIES) * np.linalg.svd(centred, compute_uv=False)[0] ** 2

    def score(alpha):
        reciprocal_ranks = []
        for i in range(60):
            others = np.arange(60) != i
            # scikit-learn's penalty stays as it is when a pair is left out, and so does ours.
            model = sklearn.linear_model.Ridge(alpha, fit_intercept=intercept).fit(X[others], Y[others])
            predicted = model.predict(X[i : i + 1])[0]
            cosines = Y @ predicted / np.linalg.norm(Y, axis=1)
            reciprocal_ranks.append(1 / (cosines >= cosines[i]).sum())
        return np.mean(reciprocal_ranks)

    scores = np.array([score(alpha) for alpha in penalties])
    best = penalties[np.flatnonzero(scores >= scores.max() - 1e-9)]
    assert found == pytest.approx(best.min(), rel=1e-3)


def test_reduced_rank_regression_is_the_best_map_of_its_rank(noisy, rng):
    X, Y = (side.astype(float) for side in noisy)
    ridge, rank = 0.05, 4
    alpha = ridge * mean_eigenvalue(X)
    W = LowRank(rank, ridge=ridge, intercept=False, preprocess=None).fit(X, Y).map_.astype(float)

    def loss(W):
        return np.square(X @ W - Y).sum() + alpha * np.square(W).sum()

    # Alternating ridge regressions for the two factors of a map of this rank, from a random start.
    B = rng.standard_normal((rank, Y.shape[1]))
    for _ in range(300):
        B = np.linalg.qr(B.T)[0].T
        A = scipy.linalg.solve(X.T @ X + alpha * np.eye(14), X.T @ Y @ B.T)
        gram = A.T @ (X.T @ X + alpha * np.eye(14)) @ A
        B = scipy.linalg.solve(gram, A.T @ X.T @ Y)
    assert np.linalg.matrix_rank(W, tol=1e-4) == rank
    assert loss(W) == pytest.approx(loss(A @ B), rel=1e-5)


@pytest.mark.parametrize("aligner", LINEAR, ids=str)
def test_a_planted_rotation_is_found_exactly(aligner, rng):
    Y = rng.standard_normal((400, 8)).astype(np.float32) * np.linspace(2, 1, 8, dtype=np.float32)
    X = Y @ np.linalg.qr(rng.standard_normal((8, 8)))[0].astype(np.float32)
    aligner = clone(aligner).fit(X, Y, np.stack([np.arange(200)] * 2, axis=1))
    assert bli(aligner.transform(X), aligner.transform_target(Y), np.arange(200, 400), np.arange(200, 400)).mrr == 1


@pytest.mark.parametrize("aligner", LINEAR, ids=str)
def test_a_planted_map_under_noise_is_found_twenty_times_better_than_by_chance(aligner, noisy):
    X, Y = noisy
    aligner = clone(aligner).fit(X, Y, np.stack([np.arange(300)] * 2, axis=1))
    mrr = bli(aligner.transform(X), aligner.transform_target(Y), np.arange(300, 600), np.arange(300, 600)).mrr
    chance = np.mean(1 / np.arange(1, 601))
    assert mrr > 20 * chance


@pytest.mark.parametrize("aligner", LINEAR, ids=str)
def test_fewer_pairs_than_dimensions_give_finite_vectors(aligner, noisy):
    X, Y = noisy
    aligner = clone(aligner).fit(X, Y, [(0, 0), (1, 1), (2, 2)])
    assert np.isfinite(aligner.transform(X)).all()
    assert np.isfinite(aligner.transform_target(Y)).all()


@pytest.mark.filterwarnings("ignore::fipp.FippWarning")
@pytest.mark.parametrize("name", ["cca", "cca-rotation", "pls", "ridge", "low-rank"])
def test_a_saved_model_maps_both_sides_as_before(name, noisy, tmp_path):
    X, Y = noisy
    source, target = (Vectors([f"{i}" for i in range(600)], side) for side in (X, Y))
    alignment = Alignment(clone(METHODS[name]).fit(X, Y), source, target)
    alignment.save(tmp_path / "model.fipp")
    again = Alignment.load(tmp_path / "model.fipp")
    np.testing.assert_array_equal(again.aligner.transform(X), alignment.aligner.transform(X))
    np.testing.assert_array_equal(again.aligner.transform_target(Y), alignment.aligner.transform_target(Y))
