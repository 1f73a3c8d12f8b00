"""Kernel ridge regression, and what it would predict had it been fitted without some of its pairs."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as Sklearn
from sklearn.linear_model import Ridge as SklearnRidge

from fipp import KernelRidge


@pytest.fixture
def pairs():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 5)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = np.tanh(2 * X @ rng.standard_normal((5, 4))) + 0.05 * rng.standard_normal((60, 4))
    return X, Y.astype(np.float32)


def without(kernel, X, Y, left_out, ridge, prior="zero"):
    kept = np.setdiff1d(np.arange(len(X)), left_out)
    fitted = KernelRidge(kernel, ridge=ridge, prior=prior, preprocess=None, landmarks=len(kept))
    return fitted.fit(X[kept], Y[kept])


def test_a_linear_kernel_is_the_ridge_regression_of_scikit_learn(pairs):
    X, Y = pairs
    ours = KernelRidge("linear", ridge=0.3, prior="zero", preprocess=None).fit(X, Y)
    centred = X - X.mean(axis=0)
    alpha = 0.3 * np.linalg.eigvalsh(centred.T @ centred).mean()
    assert np.allclose(ours.transform(X), SklearnRidge(alpha).fit(X, Y).predict(X), atol=1e-4)


def test_an_rbf_kernel_is_the_kernel_ridge_regression_of_scikit_learn_on_centred_features(pairs):
    X, Y = pairs
    ours = KernelRidge(ridge=0.1, gamma=0.7, prior="zero", preprocess=None).fit(X, Y)
    K = np.exp(-0.7 * np.square(X[:, None] - X[None]).sum(axis=2))
    H = np.eye(len(X)) - 1 / len(X)
    eigenvalues = np.linalg.eigvalsh(H @ K @ H)
    alpha = 0.1 * eigenvalues[eigenvalues > 1e-7 * eigenvalues[-1]].mean()
    theirs = Sklearn(alpha=alpha, kernel="precomputed").fit(H @ K @ H, Y - Y.mean(axis=0))
    assert np.allclose(ours.transform(X), theirs.predict(H @ K @ H) + Y.mean(axis=0), atol=1e-3)


def test_few_landmarks_still_give_a_map(pairs):
    X, Y = pairs
    fitted = KernelRidge(landmarks=20, preprocess=None).fit(X, Y)
    assert fitted.landmarks_.shape == (20, 5)
    assert np.square(fitted.transform(X) - Y).mean() < 0.5 * np.square(Y - Y.mean(axis=0)).mean()


@pytest.mark.parametrize("prior", ["zero", "identity"])
def test_leaving_a_pair_out_is_fitting_without_it(pairs, prior):
    X, Y = pairs[0][:, :4], pairs[1]
    # α is a multiple of the mean eigenvalue, which changes when a pair is left out: a multiple of 0 does not.
    left_out = KernelRidge("linear", ridge=0.0, prior=prior, preprocess=None).leave_out(X, Y)
    predicted = left_out.predictions()
    for row in (0, 17, 59):
        refitted = without("linear", X, Y, [row], 0.0, prior)
        assert np.allclose(predicted[row], refitted.transform(X[[row]])[0], atol=1e-3)


def test_leaving_two_pairs_out_is_fitting_without_both(pairs):
    X, Y = pairs
    left_out = KernelRidge("linear", ridge=0.0, prior="zero", preprocess=None).leave_out(X, Y)
    queries = Y[:3] + 0.1
    cosines = left_out.cosines(queries, np.array([0, 1, -1]))
    for query, own in ((0, 0), (1, 1), (2, None)):
        for row in (0, 1, 30):
            refitted = without("linear", X, Y, [row] if own in (None, row) else [own, row], 0.0)
            mapped = refitted.transform(X[[row]])[0]
            cosine = mapped @ queries[query] / np.linalg.norm(mapped) / np.linalg.norm(queries[query])
            assert cosines[query, row] == pytest.approx(cosine, abs=1e-3)


def test_predictions_can_leave_out_another_pair_too(pairs):
    X, Y = pairs
    left_out = KernelRidge("linear", ridge=0.0, prior="zero", preprocess=None).leave_out(X, Y)
    others = np.full(60, -1)
    others[5] = 40
    predicted = left_out.predictions(others)
    assert np.allclose(predicted[5], without("linear", X, Y, [5, 40], 0.0).transform(X[[5]])[0], atol=1e-3)


def test_leaving_three_pairs_out_is_fitting_without_them(pairs):
    X, Y = pairs
    n, rows, own = 30, np.array([35, 36, 4, 5]), np.array([3, -1, 7, 5])
    left_out = KernelRidge("linear", ridge=0.0, prior="zero", preprocess=None).leave_out(X, Y)
    found = left_out.cosines_to(rows, n, own)
    for place, (i, g) in enumerate(zip(rows, own, strict=True)):
        for j in range(n):
            kept = np.setdiff1d(np.arange(len(X)), [i, g, j])
            aligner = KernelRidge("linear", ridge=0.0, prior="zero", preprocess=None).fit(X[kept], Y[kept])
            mapped = aligner.transform(X[i : i + 1])[0]
            cosine = mapped @ Y[j] / np.linalg.norm(mapped) / np.linalg.norm(Y[j])
            assert found[place, j] == pytest.approx(cosine, abs=2e-3)


def test_two_versions_of_a_model_stay_close_from_few_pairs():
    rng = np.random.default_rng(0)
    new = rng.standard_normal((500, 64))
    old = new + 0.02 * rng.standard_normal(new.shape)
    fitted = KernelRidge("linear").fit(old[:40], new[:40])
    assert fitted.prior_ == "identity"
    assert fitted.score(old[40:], new[40:]) == 1.0


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_shortened_vectors_and_whole_ones_share_the_first_axes(kernel):
    rng = np.random.default_rng(0)
    whole = rng.standard_normal((500, 64)) * np.geomspace(1, 0.05, 64)
    for old, new in ((whole[:, :16], whole), (whole, whole[:, :16])):
        fitted = KernelRidge(kernel).fit(old[:40], new[:40])
        assert fitted.prior_ == "identity"
        assert fitted.score(old[40:], new[40:]) > 0.9
        assert KernelRidge(kernel, prior="zero").fit(old[:40], new[:40]).held_out_cosine_ < fitted.held_out_cosine_


def test_without_shared_axes_nothing_is_assumed(pairs):
    assert KernelRidge().fit(*pairs).prior_ == "zero"


def test_it_is_saved_and_loaded(pairs, tmp_path):
    fitted = KernelRidge().fit(*pairs)
    fitted.save(tmp_path / "map.fipp")
    assert np.array_equal(KernelRidge.load(tmp_path / "map.fipp").transform(pairs[0]), fitted.transform(pairs[0]))
