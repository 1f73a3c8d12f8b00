"""Preprocessing, against literal float64 calculations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from fipp.exceptions import FippError
from fipp.preprocess import Centre, Isotropic, IterativeNormalization, Unchanged, UnitLength, make_preprocess

NAMES = ["none", "unit", "centre", "isotropic", "isotropic-textbook", "iterative", "unit+centre+unit"]


@pytest.fixture(name="X")
def vocabulary(rng):
    return rng.standard_normal((200, 6)) * np.arange(1, 7) + np.array([3, 0, 0, 1, 0, -2])


def unit(V):
    return np.array([row / np.sqrt((row * row).sum()) for row in V])


def top_components(V, n):
    centred = V - V.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    return vectors[:, np.argsort(values)[::-1][:n]].T


@pytest.mark.parametrize("n_components", [0, 1, 2, 5])
@pytest.mark.parametrize("variant", ["published", "textbook"])
def test_isotropic_is_unit_length_centring_and_removal_of_components(X, n_components, variant):
    found = Isotropic(n_components, variant).fit(X)
    rows = unit(X)
    mean, components = rows.mean(axis=0), top_components(rows, n_components)
    expected = rows - mean
    for u in components:
        projected = rows if variant == "published" else rows - mean
        expected = expected - np.outer(projected @ u, u)
    np.testing.assert_allclose(found.transform(X), expected, atol=1e-5)
    np.testing.assert_allclose(found.mean_, mean, atol=1e-6)
    np.testing.assert_allclose(np.abs(found.components_), np.abs(components), atol=1e-4)
    assert found.components_.shape == (n_components, 6)


def test_the_published_variant_leaves_a_constant_in_the_removed_direction_and_the_textbook_one_nothing(X):
    for variant in ("published", "textbook"):
        fitted = Isotropic(1, variant).fit(X)
        left = fitted.transform(X) @ fitted.components_[0]
        constant = -fitted.mean_ @ fitted.components_[0] if variant == "published" else 0.0
        np.testing.assert_allclose(left, constant, atol=1e-6)


def test_new_vectors_get_the_treatment_that_the_old_ones_got(X):
    for name in NAMES:
        fitted = make_preprocess(name).fit(X)
        np.testing.assert_allclose(fitted.transform(X[3:5]), fitted.transform(X)[3:5], atol=1e-6)


def test_unit_length_and_centre_do_what_they_say(X):
    np.testing.assert_allclose(UnitLength().fit_transform(X), unit(X), atol=1e-6)
    centred = Centre().fit(X)
    np.testing.assert_allclose(centred.transform(X), X - X.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(centred.mean_, X.mean(axis=0), atol=1e-6)
    np.testing.assert_array_equal(Unchanged().fit_transform(X), X.astype(np.float32))


@pytest.mark.parametrize("n_iterations", [1, 3])
def test_iterative_normalisation_repeats_unit_length_and_centring(X, n_iterations):
    expected = X
    for _ in range(n_iterations):
        expected = unit(expected)
        expected = expected - expected.mean(axis=0)
    fitted = IterativeNormalization(n_iterations).fit(X)
    np.testing.assert_allclose(fitted.transform(X), expected, atol=1e-5)
    assert fitted.means_.shape == (n_iterations, 6)


def test_a_chain_is_applied_from_left_to_right(X):
    rows = unit(X)
    np.testing.assert_allclose(
        make_preprocess("unit + centre+unit").fit_transform(X), unit(rows - rows.mean(axis=0)), atol=1e-5
    )


@pytest.mark.parametrize("name", NAMES)
def test_vectors_of_zeros_stay_zero_and_do_not_count(X, name):
    with_zeros = np.insert(X, [0, 50, 200], 0, axis=0)
    plain, padded = make_preprocess(name).fit(X), make_preprocess(name).fit(with_zeros)
    found = padded.transform(with_zeros)
    zero = ~with_zeros.any(axis=1)
    assert zero.sum() == 3
    assert not found[zero].any()
    np.testing.assert_allclose(found[~zero], plain.transform(X), atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_zeros_stays_nothing_but_zeros(name):
    assert not make_preprocess(name).fit_transform(np.zeros((5, 3))).any()


@given(st.sampled_from(NAMES), st.integers(1, 20), st.integers(1, 20), st.sampled_from([">f2", "f4", ">f8", "i4"]))
def test_every_preprocessing_gives_finite_float32_of_the_same_shape(name, n, d, dtype):
    X = np.random.default_rng(n * 100 + d).integers(-9, 10, (n, d)).astype(dtype)
    found = make_preprocess(name).fit(X).transform(X)
    assert found.shape == (n, d)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_type_of_the_numbers_changes_nothing_but_rounding(X, name):
    X = np.round(X * 8)  # float16 holds these
    expected = make_preprocess(name).fit_transform(X)
    for dtype in ("<f2", ">f2", "<f4", ">f4", ">f8"):
        np.testing.assert_allclose(make_preprocess(name).fit_transform(X.astype(dtype)), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["unit", "isotropic", "isotropic-textbook", "iterative"])
@pytest.mark.parametrize("scale", [1e-40, 1e-20, 1e20, 1e200])
def test_the_scale_of_the_vectors_does_not_matter_once_they_have_unit_length(X, name, scale):
    expected = make_preprocess(name).fit_transform(X)
    np.testing.assert_allclose(make_preprocess(name).fit_transform(X * scale), expected, atol=1e-5)


def test_in_one_dimension_no_component_is_removed():
    X = np.array([[1.0], [2.0], [-5.0], [3.0]])
    np.testing.assert_allclose(Isotropic().fit_transform(X), [[0.5], [0.5], [-1.5], [0.5]], atol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Isotropic(n_components=6), "whole number from 0 to 5"),
        (Isotropic(n_components=-1), "whole number from 0 to 5"),
        (Isotropic(n_components=1.5), "whole number from 0 to 5"),
        (Isotropic(variant="other"), "'published' or 'textbook'"),
        (IterativeNormalization(0), "whole number from 1"),
        (IterativeNormalization("5"), "whole number from 1"),
    ],
)
def test_wrong_settings_are_refused_when_fitting(X, wrong, message):
    with pytest.raises(FippError, match=message):
        wrong.fit(X)


@pytest.mark.parametrize("transformer", [UnitLength(), Centre(), Isotropic(), IterativeNormalization(), Unchanged()])
def test_every_transformer_checks_what_it_is_given(X, transformer):
    transformer = clone(transformer)
    with pytest.raises(ValueError, match="not fitted"):
        transformer.transform(X)
    transformer.fit(X)
    with pytest.raises(
        FippError, match=f"X has 5 features, but {type(transformer).__name__} is expecting 6 features as input"
    ):
        transformer.transform(X[:, :5])
    broken = X.copy()
    broken[7, 2] = np.nan
    with pytest.raises(FippError, match="row 7 of X"):
        transformer.transform(broken)
    with pytest.raises(FippError, match="row 7 of X"):
        transformer.fit(broken)


def test_preprocessing_is_known_by_name():
    assert isinstance(make_preprocess(None), Unchanged)
    assert isinstance(make_preprocess("none"), Unchanged)
    assert isinstance(make_preprocess("isotropic"), Isotropic)
    assert make_preprocess("isotropic").variant == "published"
    assert make_preprocess("isotropic-textbook").variant == "textbook"
    scaler = StandardScaler()
    assert make_preprocess(scaler) is scaler


@pytest.mark.parametrize("wrong", ["isotropc", "unit+", "", "unit,centre", 3, object()])
def test_unknown_preprocessing_is_refused(wrong):
    with pytest.raises(FippError, match="preprocess"):
        make_preprocess(wrong)


def test_a_number_after_a_colon_sets_how_much_is_done(X):
    three = make_preprocess("isotropic:3").fit(X).transform(X)
    np.testing.assert_array_equal(three, Isotropic(n_components=3).fit(X).transform(X))
    assert make_preprocess("isotropic-textbook:0").get_params() == {"n_components": 0, "variant": "textbook"}
    assert make_preprocess("iterative:2").n_iterations == 2
    chain = make_preprocess("isotropic:2+unit")
    assert chain.get_params()["isotropic__n_components"] == 2


@pytest.mark.parametrize("wrong", ["unit:3", "isotropic:", "isotropic:two", "isotropic:-1", "isotropic:1.5", "magic:1"])
def test_a_number_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(FippError, match=r"preprocessing|whole number"):
        make_preprocess(wrong)
