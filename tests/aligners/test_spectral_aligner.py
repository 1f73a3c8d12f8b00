"""`Spectral`: planted maps, textbook CCA, Procrustes, weights."""

import numpy as np
import pytest
import scipy.linalg
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from fipp import Alignment, FippError, Procrustes, Spectral, Vectors
from fipp.evaluate import bli
from fipp.linalg import seed_moments, spectral_maps

VARIANTS = [
    Spectral(),
    Spectral(0, 0),
    Spectral(reweight=1.0),
    Spectral(whiten=0.5),
    Spectral(target="fixed"),
]


def pairs(start, stop):
    return np.stack([np.arange(start, stop)] * 2, axis=1)


@pytest.fixture
def noisy(rng):
    """Two views of 20 hidden dimensions, of 14 and 18 dimensions, with some noise."""
    hidden = rng.standard_normal((600, 20)) * np.linspace(2, 0.5, 20)
    sides = (hidden @ rng.standard_normal((20, d)) + 0.3 * rng.standard_normal((600, d)) for d in (14, 18))
    return tuple(side.astype(np.float32) for side in sides)


def saved_and_loaded(aligner, X, Y, folder):
    words = ([str(i) for i in range(len(side))] for side in (X, Y))
    Alignment(aligner, *map(Vectors, words, (X, Y))).save(folder / "model.fipp")
    return Alignment.load(folder / "model.fipp").aligner


@pytest.mark.parametrize("aligner", VARIANTS, ids=str)
def test_a_planted_rotation_is_found_exactly(aligner, rng):
    Y = rng.standard_normal((400, 8)).astype(np.float32) * np.linspace(2, 1, 8, dtype=np.float32)
    X = Y @ np.linalg.qr(rng.standard_normal((8, 8)))[0].astype(np.float32)
    aligner = clone(aligner).fit(X, Y, pairs(0, 200))
    held_out = np.arange(200, 400)
    assert bli(aligner.transform(X), aligner.transform_target(Y), held_out, held_out).mrr == 1


@pytest.mark.parametrize("aligner", VARIANTS, ids=str)
def test_a_planted_map_under_noise_is_found_twenty_times_better_than_by_chance(aligner, noisy):
    X, Y = noisy
    aligner = clone(aligner).fit(X, Y, pairs(0, 300))
    held_out = np.arange(300, 600)
    chance = np.mean(1 / np.arange(1, 601))
    assert bli(aligner.transform(X), aligner.transform_target(Y), held_out, held_out).mrr > 20 * chance


def test_full_whitening_without_ridge_and_weights_is_textbook_cca(noisy):
    X, Y = noisy
    aligner = Spectral(0, 0, preprocess=None).fit(X, Y)
    # Orthonormal bases of both column spaces; their principal angles are what CCA looks for.
    (Q_s, R_s), (Q_t, R_t) = (np.linalg.qr(side.astype(float)) for side in noisy)
    U, correlations, Vt = np.linalg.svd(Q_s.T @ Q_t, full_matrices=False)
    np.testing.assert_allclose(aligner.singular_values_, correlations, atol=1e-4)
    expected = scipy.linalg.solve_triangular(R_s, U) @ scipy.linalg.solve_triangular(R_t, Vt.T).T * len(X)
    np.testing.assert_allclose(aligner.map_ @ aligner.target_map_.T, expected, atol=1e-3 * np.abs(expected).max())


def test_the_ridge_falls_with_the_number_of_pairs(noisy):
    X, Y = noisy
    for c in (30, 300):
        aligner = Spectral(3.0, preprocess=None).fit(X, Y, pairs(0, c))
        expected = spectral_maps(seed_moments(X[:c], Y[:c]), whiten=1, ridge=3 * 18 / c)
        np.testing.assert_array_equal(aligner.singular_values_, expected.singular_values)


def test_no_whitening_and_no_weights_have_the_inner_products_of_procrustes(noisy):
    X, Y = noisy
    aligner, procrustes = (
        Spectral(reweight=0, whiten=0).fit(X, Y),
        Procrustes("unit+centre+unit").fit(X, Y),
    )
    np.testing.assert_allclose(aligner.map_ @ aligner.target_map_.T, procrustes.map_, atol=1e-5)
    products = aligner.transform(X) @ aligner.transform_target(Y).T
    np.testing.assert_allclose(products, procrustes.transform(X) @ procrustes.transform_target(Y).T, atol=1e-5)


def test_a_fixed_target_has_the_same_inner_products_and_stays_as_it_is(noisy):
    X, Y = noisy
    mapped, fixed = (Spectral(target=target).fit(X, Y) for target in ("mapped", "fixed"))
    expected = mapped.transform(X) @ mapped.transform_target(Y).T
    found = fixed.transform(X) @ fixed.transform_target(Y).T
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_array_equal(fixed.transform_target(Y), fixed.target_preprocess_.transform(Y))


@pytest.mark.parametrize("aligner", VARIANTS, ids=str)
@pytest.mark.parametrize("turned", [False, True], ids=["14 to 18", "18 to 14"])
def test_a_saved_model_maps_both_sides_as_before(aligner, turned, noisy, tmp_path):
    X, Y = noisy[::-1] if turned else noisy
    aligner = clone(aligner).fit(X, Y)
    again = saved_and_loaded(aligner, X, Y, tmp_path)
    np.testing.assert_array_equal(again.transform(X), aligner.transform(X))
    np.testing.assert_array_equal(again.transform_target(Y), aligner.transform_target(Y))
    assert aligner.transform(X).shape[1] == aligner.transform_target(Y).shape[1]


# The mean of a vocabulary in which words stand twice would be another.
@pytest.mark.parametrize("aligner", [Spectral(preprocess="unit"), Procrustes()], ids=str)
def test_a_pair_of_weight_two_is_the_pair_counted_twice(aligner, noisy):
    X, Y = noisy
    weights = np.array([2.0] * 40 + [1.0] * 60)
    weighted = clone(aligner).fit(X, Y, pairs(0, 100), sample_weight=weights)
    # The same pair is taken once: here the words stand twice.
    seed = np.concatenate([pairs(0, 100), pairs(600, 640)])
    repeated = clone(aligner).fit(np.concatenate([X, X[:40]]), np.concatenate([Y, Y[:40]]), seed)
    expected = repeated.transform(X) @ repeated.transform_target(Y).T
    found = weighted.transform(X) @ weighted.transform_target(Y).T
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_weights_are_forgotten_after_the_fit_that_they_were_for(noisy):
    X, Y = noisy
    aligner = Spectral().fit(X, Y, pairs(0, 100), sample_weight=np.linspace(1, 2, 100))
    np.testing.assert_array_equal(aligner.fit(X, Y, pairs(0, 50)).map_, Spectral().fit(X, Y, pairs(0, 50)).map_)


def test_many_settings_fitted_together_are_those_fitted_one_by_one(noisy):
    X, Y = noisy
    settings = [{"ridge": 0.1, "reweight": 1.0}, {"ridge": 0.8}, {"whiten": 0.5, "reweight": "likelihood"}, {}]
    together = Spectral().fit_many(X, Y, pairs(0, 300), settings=settings)
    for changed, aligner in zip(settings, together, strict=True):
        alone = Spectral(**changed).fit(X, Y, pairs(0, 300))
        assert str(aligner) == str(alone)
        np.testing.assert_array_equal(aligner.map_, alone.map_)
        np.testing.assert_array_equal(aligner.target_map_, alone.target_map_)
        np.testing.assert_array_equal(aligner.transform(X), alone.transform(X))
        np.testing.assert_array_equal(aligner.singular_values_, alone.singular_values_)


def test_settings_that_share_nothing_are_fitted_one_by_one(noisy):
    X, Y = noisy
    fixed, isotropic = Spectral().fit_many(X, Y, settings=[{"target": "fixed"}, {"preprocess": "isotropic"}])
    assert fixed.target_map_ is None
    np.testing.assert_array_equal(isotropic.map_, Spectral(preprocess="isotropic").fit(X, Y).map_)


def test_the_result_has_the_same_bits_whatever_the_number_of_threads(rng):
    X, Y = rng.standard_normal((2, 3000, 12)).astype(np.float32)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.append(Spectral().fit(X, Y).transform(X))
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("aligner", VARIANTS, ids=str)
def test_rows_of_zeros_stay_zero(aligner, noisy):
    X, Y = noisy
    aligner = clone(aligner).fit(X, Y)
    assert not aligner.transform(np.zeros((2, 14))).any()
    assert not aligner.transform_target(np.zeros((2, 18))).any()


@pytest.mark.parametrize("wrong", [{"ridge": -1}, {"reweight": "likely"}, {"whiten": 3}, {"target": "both"}], ids=str)
def test_invalid_settings_are_refused_and_named(wrong, noisy):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Spectral(**wrong).fit(*noisy)


def test_spaces_that_share_nothing_are_mapped_to_nothing():
    # Of unit length and without its mean, a space of one dimension and one sign is empty.
    X = np.linspace(1, 2, 30)[:, None]
    aligner = Spectral().fit(X, X, pairs(0, 30))
    assert aligner.transform(X).shape == (30, 1) and not aligner.transform(X).any()


@pytest.mark.parametrize("aligner", [Spectral(), Procrustes()], ids=str)
def test_weights_of_a_repeated_pair_are_added(aligner, noisy):
    X, Y = noisy
    twice = np.concatenate([pairs(0, 50), pairs(0, 100)])
    weights = np.concatenate([np.full(50, 0.5), np.ones(100)])
    repeated = clone(aligner).fit(X, Y, twice, sample_weight=weights)
    once = clone(aligner).fit(X, Y, pairs(0, 100), sample_weight=np.repeat([1.5, 1.0], 50))
    np.testing.assert_allclose(repeated.map_, once.map_, atol=1e-5)


@pytest.mark.parametrize(
    "weights", [np.ones(99), -np.ones(100), np.zeros(100), np.full(100, np.nan), np.ones((100, 1))]
)
def test_weights_that_mean_nothing_are_refused(weights, noisy):
    with pytest.raises(FippError, match="sample_weight"):
        Spectral().fit(*noisy, pairs(0, 100), sample_weight=weights)
