"""Tiny and degenerate spaces: a result without NaN or infinity, or a FippError, and nothing else.

`scripts/fuzz_numbers.py` tries many more of them.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cheap_methods import CHEAP, EXTRAS
from edge_cases import check_case, make_case
from fipp import FIPP, ICP, MUSE, FippError, Procrustes, ResidualMLP, Spectral, VecMap
from fipp.preprocess import Centre, Unchanged, UnitLength

ROWS = np.stack([np.arange(12)] * 2, axis=1)


@pytest.fixture
def space(rng):
    return rng.standard_normal((12, 4))


@pytest.mark.parametrize("name", CHEAP)
@settings(max_examples=12)
@given(data=st.data())
def test_every_method_gives_finite_numbers_or_says_why_not(name, data):
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name], reason=f"{name} needs {EXTRAS[name]}")
    case = make_case(name, lambda options: data.draw(st.sampled_from(options)))
    check_case(case, evaluate=data.draw(st.booleans()))


@pytest.mark.parametrize("weight", [1e308, 1e-308])
def test_weights_that_float32_cannot_multiply_by_are_refused(weight, space):
    with pytest.raises(FippError, match="scale all weights"):
        Spectral().fit(space, space, ROWS, sample_weight=np.full(12, weight))


@pytest.mark.filterwarnings("ignore::fipp.FippWarning")
def test_weights_are_refused_if_those_left_are_zero(space):
    space[0] = 0
    with pytest.raises(FippError, match="every pair whose sample_weight is not zero has a vector of zeros"):
        Spectral().fit(space, space, ROWS, sample_weight=np.eye(1, 12)[0])


def test_the_scale_of_weights_in_range_decides_nothing_for_a_rotation(space):
    Y = space[:, ::-1] + 0.1
    maps = [Procrustes().fit(space, Y, ROWS, sample_weight=w * np.arange(1, 13)).map_ for w in (1e-12, 1.0, 1e12)]
    np.testing.assert_allclose(maps[0], maps[1], atol=1e-5)
    np.testing.assert_allclose(maps[2], maps[1], atol=1e-5)


def test_new_vectors_too_long_for_float32_are_refused_by_their_row(space):
    aligner = Procrustes(preprocess=None).fit(100 * space, space, ROWS)
    with pytest.raises(FippError, match=r"row 1 of X holds 1\.0e\+300"):
        aligner.transform([[1.0] * 4, [1e300] * 4])
    with pytest.raises(FippError, match=r"row 1 of Y holds 1\.0e\+300"):
        aligner.transform_target([[1.0] * 4, [1e300] * 4])


@pytest.mark.filterwarnings("ignore::fipp.FippWarning")
@pytest.mark.parametrize("solver", ["linear", "eigen", "sgd"])
def test_a_seed_of_which_preprocessing_leaves_nothing_gives_a_map_of_zeros(solver, rng):
    aligner = FIPP.published(solver=solver, preprocess=Centre())
    aligner.fit(rng.standard_normal((1, 8)), np.eye(2), [(0, 1)])
    np.testing.assert_array_equal(aligner.map_, np.zeros((8, 2)))


@pytest.mark.parametrize("preprocess", [Centre(), Unchanged()])
def test_preprocessing_that_keeps_lengths_refuses_rows_too_long_for_float32(preprocess, space):
    long = space.copy()
    long[5] *= 1e300
    with pytest.raises(FippError, match="row 5 of X holds"):
        preprocess.fit(long)
    with pytest.raises(FippError, match="row 5 of X holds"):
        preprocess.fit(space).transform(long)


@pytest.mark.parametrize("number", [10**400, np.longdouble("1e400")])
def test_numbers_beyond_float64_are_refused_and_not_warned_of(number):
    with pytest.raises(FippError, match="X"):
        UnitLength().fit([[1.0, 2.0], [number, 1.0]])


@pytest.mark.parametrize(
    "aligner", [FIPP(lam=1e300), Spectral(ridge=1e300), VecMap(source_reweight=1e300), MUSE(learning_rate=1e300)]
)
def test_settings_beyond_all_use_are_refused_by_name(aligner, space):
    with pytest.raises(ValueError, match=r"parameter of .* must be .* in the range"):
        aligner.fit(space, space, ROWS)


def test_settings_whose_map_overflows_are_named(space):
    with pytest.raises(FippError, match=r"VecMap\(source_reweight=1000.*\) makes a map .* leaves the range of float32"):
        VecMap(source_reweight=1000, whiten=0).fit(space, space, ROWS)


def test_a_game_that_diverges_says_so(rng):
    pytest.importorskip("torch", reason="muse-adversarial needs torch")
    X = rng.standard_normal((30, 3))
    diverging = MUSE(mode="adversarial", n_steps=30, n_restarts=1, n_components=3, hidden=8, learning_rate=1e12)
    with pytest.raises(FippError, match="diverged: take a learning_rate below"):
        diverging.fit(X, X)


@pytest.mark.parametrize("aligner", [FIPP(solver="sgd", n_steps=20), ResidualMLP(loss="mse", weight_decay=1e12)])
def test_training_that_diverges_says_so(aligner, rng):
    X = rng.standard_normal((60, 4))
    with pytest.raises(FippError, match="diverged: take a learning_rate below"):
        aligner.set_params(learning_rate=1e12).fit(X, X[:, ::-1])


def test_smoothing_may_be_a_whole_number(rng):
    pytest.importorskip("torch", reason="muse-adversarial needs torch")
    X = rng.standard_normal((30, 3))
    game = {"mode": "adversarial", "n_steps": 3, "n_restarts": 1, "n_components": 3, "hidden": 8}
    maps = [MUSE(**game, smoothing=zero).fit(X, X).map_ for zero in (0, 0.0)]
    np.testing.assert_array_equal(*maps)


def test_steps_of_icp_that_diverge_leave_its_start(rng):
    # Rank one, in batches of two.
    X = np.where(np.arange(12)[:, None] % 2, 1, -1) * rng.standard_normal(17)
    Y = np.where(np.arange(12)[:, None] % 2, 1, -1) * rng.integers(1, 5, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        aligner = ICP(batch_size=2, n_epochs=1, n_starts=4, n_candidates=2).fit(X, Y)
    assert np.isfinite(aligner.map_).all() and np.isfinite(aligner.losses_).all()
