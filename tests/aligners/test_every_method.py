"""What every method promises, whatever its mathematics."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from fipp import Alignment, FippWarning, Vectors
from fipp.aligners import METHODS

# Those without pairs need more words than these tests have, or an extra; they have tests of their own.
OWN_TESTS = {"gwa", "icp", "muse-adversarial", "unsupervised", "vecmap-unsupervised", "vecmap-identical"}
NAMES = [name for name in METHODS if name not in OWN_TESTS]
KNOWN = np.stack([np.arange(120)] * 2, axis=1)


@pytest.fixture(scope="module")
def spaces():
    rng = np.random.default_rng(5)
    hidden = rng.standard_normal((300, 12)) * np.linspace(2, 0.7, 12)
    X = hidden @ np.linalg.qr(rng.standard_normal((12, 12)))[0] + 0.1 * rng.standard_normal((300, 12))
    return X.astype(np.float32), (hidden + 0.1 * rng.standard_normal((300, 12))).astype(np.float32)


def fitted(name, X, Y, **settings):
    aligner = clone(METHODS[name]).set_params(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FippWarning)
        return aligner.fit(X, Y, KNOWN)


@pytest.mark.parametrize("name", NAMES)
def test_held_out_words_are_found_ten_times_better_than_by_chance(name, spaces):
    X, Y = spaces
    chance = np.mean(1 / np.arange(1, 181))
    assert fitted(name, X, Y).score(X[120:], Y[120:]) > 10 * chance


@pytest.mark.parametrize("name", NAMES)
def test_iterative_normalisation_works_with_all(name, spaces):
    X, Y = spaces
    method = METHODS[name]
    if "preprocess" in method.get_params(deep=False):
        aligner = fitted(name, X, Y, preprocess="iterative")
    elif "aligner" in method.get_params(deep=False):
        aligner = fitted(name, X, Y, aligner=clone(METHODS["spectral"]).set_params(preprocess="iterative"))
    else:
        pytest.skip("auto chooses the preprocessing with the method")
    assert np.isfinite(aligner.transform(X)).all()
    assert aligner.score(X[:120], Y[:120]) > 0.5


@pytest.mark.parametrize("name", NAMES)
def test_the_same_input_gives_the_same_bits(name, spaces):
    X, Y = spaces
    first, second = fitted(name, X, Y), fitted(name, X, Y)
    np.testing.assert_array_equal(first.transform(X), second.transform(X))
    np.testing.assert_array_equal(first.transform_target(Y), second.transform_target(Y))


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_maps_as_before(name, spaces, tmp_path):
    X, Y = spaces
    source, target = (Vectors([f"{i}" for i in range(300)], side) for side in (X, Y))
    aligner = fitted(name, X, Y)
    Alignment(aligner, source, target).save(tmp_path / "model.fipp")
    again = Alignment.load(tmp_path / "model.fipp").aligner
    np.testing.assert_array_equal(again.transform(X), aligner.transform(X))
    np.testing.assert_array_equal(again.transform_target(Y), aligner.transform_target(Y))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dimensions", [(8, 12), (12, 8)])
def test_different_dimensions_are_mapped_to_one_space(name, dimensions, spaces):
    X, Y = (side[:, :d] for side, d in zip(spaces, dimensions, strict=True))
    aligner = fitted(name, X, Y)
    mapped, target = aligner.transform(X), aligner.transform_target(Y)
    assert mapped.dtype == target.dtype == np.float32
    assert mapped.shape[1] == target.shape[1]
    assert np.isfinite(mapped).all() and np.isfinite(target).all()


def test_every_method_is_described():
    for method in METHODS.values():
        assert (type(method).__doc__ or "").strip()
