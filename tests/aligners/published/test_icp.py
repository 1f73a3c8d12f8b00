"""ICP without pairs, against brute-force neighbours, numerical gradients, literal moments, and what was planted."""

import numpy as np
import pytest

from fipp import ICP, FippWarning
from fipp.aligners import from_state, to_state
from fipp.aligners.published._icp import (
    Moments,
    PrincipalAxes,
    best_rotations,
    cycle_icp,
    fit_loss,
    gradients,
    nearest,
)

SCALES = np.linspace(3, 1, 8)


def skewed(rng, n=600, d1=8, d2=8, noise=0.0):
    """Two views of skewed clouds; their rows are in no common order beyond both being whole."""
    hidden = (rng.exponential(size=(n, 8)) - 1) * SCALES
    X = hidden @ np.linalg.qr(rng.standard_normal((d1, d1)))[0][:8]
    Y = hidden @ np.linalg.qr(rng.standard_normal((d2, d2)))[0][:8]
    return X + noise * rng.standard_normal(X.shape), Y + noise * rng.standard_normal(Y.shape)


def small_icp(**settings):
    return ICP(8, preprocess="centre", **{"n_starts": 30, "n_candidates": 4, "n_epochs": 5, **settings})


def test_a_planted_rotation_is_found_without_a_pair_and_in_any_order(rng):
    X, Y = skewed(rng)
    order = rng.permutation(600)
    aligner = small_icp().fit(X, Y[order])
    np.testing.assert_array_equal(order[aligner.induced_pairs_[:, 1]], aligner.induced_pairs_[:, 0])
    assert len(aligner.induced_pairs_) == 600 and len(aligner.pairs_) == 0
    assert aligner.score(X, Y) == 1.0


def test_noise_leaves_far_more_than_chance(rng):
    X, Y = skewed(rng, noise=0.2)
    assert small_icp().fit(X, Y).score(X, Y) > 0.5  # by chance: 0.012


@pytest.mark.parametrize(("d1", "d2"), [(8, 12), (12, 8)])
def test_different_dimensions_are_mapped_to_the_target_dimension(rng, d1, d2):
    X, Y = skewed(rng, d1=d1, d2=d2)
    aligner = small_icp().fit(X, Y)
    assert aligner.transform(X).shape == (600, d2)
    assert aligner.score(X, Y) > 0.9


def test_pairs_and_different_numbers_of_words_make_no_difference(rng):
    X, Y = skewed(rng)
    alone = small_icp().fit(X, Y[:500])
    np.testing.assert_array_equal(small_icp().fit(X, Y[:500], [(0, 1), (5, 3)]).map_, alone.map_)
    assert alone.score(X[:500], Y[:500]) > 0.9


def test_clouds_that_have_nothing_in_common_are_told_of(rng):
    X, Y = rng.standard_normal((2, 600, 8))
    with pytest.warns(FippWarning, match="probably worth nothing"):
        small_icp().fit(X, Y)


def test_the_run_with_the_smallest_loss_is_kept(rng):
    X, Y = skewed(rng, noise=0.2)
    many, one = small_icp().fit(X, Y), small_icp(n_starts=1).fit(X, Y)
    assert many.losses_.min() <= one.losses_.min()
    assert 1 < len(many.losses_) <= 4
    assert len(one.losses_) == 1


def test_the_same_seed_gives_the_same_bits_and_float32_is_enough(rng):
    X, Y = skewed(rng, noise=0.1)
    first = small_icp(random_state=3).fit(X, Y)
    np.testing.assert_array_equal(small_icp(random_state=3).fit(X, Y).map_, first.map_)
    narrow = small_icp(random_state=3).fit(X.astype(np.float32), Y.astype(np.float32))
    np.testing.assert_allclose(narrow.map_, first.map_, atol=1e-2)


def test_a_model_taken_apart_and_put_together_maps_alike(rng):
    X, Y = skewed(rng)
    aligner = small_icp().fit(X, Y)
    np.testing.assert_array_equal(from_state(*to_state(aligner)).transform(X), aligner.transform(X))


def test_progress_rises_to_the_total(rng):
    heard = []
    small_icp().fit(*skewed(rng), progress=lambda done, total: heard.append((done, total)))
    assert heard == sorted(heard)
    assert heard[-1] == (9, 9)


def test_the_gradients_are_the_numerical_ones(rng):
    x, x_near = rng.standard_normal((2, 20, 3))
    y, y_near = rng.standard_normal((2, 20, 3))
    W, V = rng.standard_normal((2, 3, 3))

    def half_mean_loss(W, V):
        terms = (x @ W - y_near, 1), (y @ V - x_near, 1), (x @ W @ V - x, 0.7), (y @ V @ W - y, 0.7)
        return sum(weight * (error**2).sum() for error, weight in terms) / 40

    expected = np.empty((2, 3, 3))
    for place in np.ndindex(2, 3, 3):
        maps, little = np.stack([W, V]), np.zeros((2, 3, 3))
        little[place] = 1e-6
        expected[place] = (half_mean_loss(*(maps + little)) - half_mean_loss(*(maps - little))) / 2e-6
    np.testing.assert_allclose(gradients(x, y, x_near, y_near, W, V, 0.7), expected, atol=1e-6)


def test_nearest_rows_are_the_literal_ones(rng):
    A, B = rng.standard_normal((30, 3)).astype(np.float32), rng.standard_normal((40, 3)).astype(np.float32)
    expected = [B[((a - B) ** 2).sum(axis=1).argmin()] for a in A]
    np.testing.assert_array_equal(nearest(A, B), expected)


def test_runs_bring_words_closer_and_maps_undo_each_other(rng):
    X, Y = (PrincipalAxes.of(side.astype(np.float32), 8) for side in skewed(rng, noise=0.1))
    run = cycle_icp(X, Y, np.eye(8), cycle_weight=5.0, n_epochs=20, batch_size=100, rng=np.random.RandomState(0))
    assert run.loss < fit_loss(X, Y, np.eye(8), np.eye(8))
    assert np.linalg.norm(run.W @ run.V - np.eye(8)) < 0.1 * np.linalg.norm(np.eye(8))


def test_coordinates_along_principal_axes_have_falling_variances_and_no_correlation(rng):
    X = rng.standard_normal((500, 6)) @ rng.standard_normal((6, 6))
    axes = PrincipalAxes.of(X.astype(np.float32), 4)
    covariance = np.cov(axes.coordinates.T.astype(float), bias=True)
    np.testing.assert_allclose(covariance, np.diag(axes.variance), atol=1e-5)
    expected = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1][:4]
    np.testing.assert_allclose(axes.variance, expected / expected.sum(), rtol=1e-4)


def test_the_agreement_of_moments_is_the_literal_one(rng):
    X, Y = (rng.exponential(size=(n, 3)).astype(np.float32) for n in (50, 40))
    W = np.linalg.qr(rng.standard_normal((3, 3)))[0]

    def cosine(a, b):
        return (a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum())

    def moments(Z):
        return np.mean([np.multiply.outer(z, z) for z in Z], axis=0), np.mean(
            [np.multiply.outer(np.multiply.outer(z, z), z) for z in Z], axis=0
        )

    expected = sum(cosine(a, b) for a, b in zip(moments(X @ W), moments(Y), strict=True))
    assert Moments(X, Y).agreement(W) == pytest.approx(expected, rel=1e-5)


def test_ascending_never_ends_lower_and_candidates_differ(rng):
    X, Y = (PrincipalAxes.of(side.astype(np.float32), 8).coordinates for side in skewed(rng, noise=0.3))
    moments = Moments(X, Y)
    for _ in range(5):
        start = np.diag(rng.choice([-1.0, 1.0], 8))
        assert moments.agreement(moments.ascend(start, 40)) > moments.agreement(start)
    found = best_rotations(moments, 8, n_starts=30, n_steps=40, n_best=5, rng=np.random.RandomState(0))
    agreements = [moments.agreement(W) for W in found]
    assert agreements == sorted(agreements, reverse=True)
    assert all(not np.allclose(a, b, atol=1e-3) for i, a in enumerate(found) for b in found[:i])
