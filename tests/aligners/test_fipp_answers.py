"""What FIPP answers when the input is small, empty, degenerate or wrong; and what it promises about its state."""

import copy
import pickle
import warnings
from itertools import product

import joblib
import numpy as np
import pytest
from fipp_problems import related_vocabularies, unit_length
from threadpoolctl import threadpool_limits

from fipp import FIPP, FippError, FippWarning, Procrustes
from fipp.linalg import _gram

SOLVERS = ["linear", "eigen", "sgd"]


@pytest.fixture
def spaces(rng):
    return related_vocabularies(rng, 120, 8, 6)


def seed_pairs(c):
    return np.stack([np.arange(c), np.arange(c)], axis=1)


# Small and degenerate input


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("c", [1, 2, 5, 7])
def test_fewer_pairs_than_dimensions_are_warned_of_and_give_finite_vectors(spaces, solver, c):
    X, Y = spaces
    with pytest.warns(FippWarning, match=f"{c} pairs are fewer than the source's 8 dimensions"):
        aligner = FIPP(None, solver=solver, n_steps=3).fit(X, Y, seed_pairs(c))
    assert np.isfinite(aligner.transform(X)).all()
    assert np.linalg.matrix_rank(aligner.map_, tol=1e-3) <= c


@pytest.mark.parametrize("solver", SOLVERS)
def test_as_many_pairs_as_dimensions_are_no_reason_to_warn(spaces, solver):
    X, Y = spaces
    assert np.isfinite(FIPP(0.5, solver=solver, n_steps=3).fit(X, Y, seed_pairs(8)).transform(X)).all()


def test_one_pair_is_mapped_in_the_direction_of_its_target(spaces):
    X, Y = spaces
    with pytest.warns(FippWarning, match="1 pairs"):
        aligner = FIPP(None, preprocess="unit").fit(X, Y, [(3, 5)])
    mapped, target = aligner.transform(X[3:4])[0], aligner.transform_target(Y[5:6])[0]
    np.testing.assert_allclose(mapped, target, atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("preprocess", ["isotropic", "unit", None])
def test_an_empty_filter_is_warned_of_and_only_rotates_the_source(rng, solver, preprocess):
    X, Y = related_vocabularies(rng, 120, 6, 6)
    with pytest.warns(FippWarning, match=r"kept no inner product at ε = 0\.0.*only rotated"):
        aligner = FIPP(0.0, solver=solver, preprocess=preprocess, n_steps=50).fit(X, Y)
    assert aligner.kept_fraction_ == 0
    assert aligner.deviation_ == pytest.approx(0, abs=2e-3)
    X_s = aligner.source_preprocess_.transform(X).astype(np.float64)
    mapped = aligner.transform(X).astype(np.float64)
    np.testing.assert_allclose(mapped @ mapped.T, X_s @ X_s.T, atol=2e-3 * (X_s**2).sum(axis=1).max())


@pytest.mark.parametrize("solver", SOLVERS)
def test_lambda_zero_only_rotates_the_source(spaces, solver):
    X, Y = spaces
    aligner = FIPP(0.1, 0.0, solver=solver, preprocess="unit", n_steps=50).fit(X, Y)
    assert aligner.deviation_ == pytest.approx(0, abs=1e-3)
    assert aligner.objective_.weight == 0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("preprocess", ["isotropic", "unit", "iterative", None])
def test_identical_spaces_are_mapped_onto_each_other(rng, solver, preprocess):
    X = rng.standard_normal((100, 7))
    aligner = FIPP(solver=solver, preprocess=preprocess, n_steps=5).fit(X, X)
    assert aligner.kept_fraction_ == 1
    assert aligner.score(X, X) == 1.0
    np.testing.assert_allclose(aligner.transform(X), aligner.transform_target(X), atol=2e-3)
    assert np.isfinite(aligner.weights_).all()
    assert aligner.weights_.min() > 0


def test_a_rotated_copy_is_turned_back(rng):
    X = rng.standard_normal((100, 7))
    turn = np.linalg.qr(rng.standard_normal((7, 7)))[0]
    aligner = FIPP(preprocess="unit").fit(X @ turn, X, seed_pairs(30))
    np.testing.assert_allclose(aligner.map_, turn.T, atol=1e-3)
    assert aligner.score(X @ turn, X) == 1.0


def test_zero_rows_in_the_vocabulary_stay_zero_and_change_nothing_for_others(spaces):
    X, Y = spaces
    padded_X, padded_Y = np.insert(X, [120, 120], 0, axis=0), np.insert(Y, [120], 0, axis=0)
    plain, padded = FIPP(0.1).fit(X, Y, seed_pairs(60)), FIPP(0.1).fit(padded_X, padded_Y, seed_pairs(60))
    np.testing.assert_allclose(padded.map_, plain.map_, atol=1e-4)
    mapped = padded.transform(padded_X)
    assert not mapped[120:].any()
    assert not padded.transform_target(padded_Y)[120:].any()
    np.testing.assert_allclose(mapped[:120], plain.transform(X), atol=1e-4)


def test_pairs_with_a_vector_of_zeros_are_left_out_with_a_warning(spaces):
    X, Y = (V.copy() for V in spaces)
    X[4], Y[9] = 0, 0
    with pytest.warns(FippWarning, match=r"2 pairs with a vector of zeros.*first: rows \(4, 4\)"):
        aligner = FIPP(0.1).fit(X, Y, seed_pairs(60))
    others = np.delete(seed_pairs(60), [4, 9], axis=0)
    np.testing.assert_array_equal(aligner.pairs_, others)
    np.testing.assert_array_equal(aligner.map_, FIPP(0.1).fit(X, Y, others).map_)


def test_nothing_but_pairs_of_zeros_is_refused(spaces):
    X, Y = (V.copy() for V in spaces)
    X[:3] = 0
    with pytest.raises(FippError, match="every known pair has a vector of zeros"):
        FIPP().fit(X, Y, seed_pairs(3))


def test_a_pair_given_twice_counts_once(spaces):
    X, Y = spaces
    pairs = seed_pairs(60)
    doubled = np.concatenate([pairs, pairs[5:20]])
    aligner = FIPP(0.1).fit(X, Y, doubled)
    np.testing.assert_array_equal(aligner.pairs_, pairs)
    np.testing.assert_array_equal(aligner.map_, FIPP(0.1).fit(X, Y, pairs).map_)


def test_a_word_may_have_several_translations(spaces):
    X, Y = spaces
    aligner = FIPP(0.3).fit(X, Y, [*seed_pairs(60).tolist(), [0, 61], [0, 62]])
    assert len(aligner.pairs_) == 62


@pytest.mark.parametrize("solver", SOLVERS)
def test_seed_vectors_that_are_all_alike_give_a_finite_map(solver):
    X, Y = np.ones((20, 4)), np.tile([1.0, 2.0, 3.0], (20, 1))
    for preprocess in ("unit", "centre", "isotropic", None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FippWarning)
            aligner = FIPP(solver=solver, preprocess=preprocess, n_steps=3).fit(X, Y)
        assert np.isfinite(aligner.transform(X)).all()
        assert np.isfinite(aligner.weights_).all()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("preprocess", [None, "unit", "centre"])
@pytest.mark.parametrize("weighting", [None, "paper"])
def test_what_can_be_switched_off_can_be_switched_off_together(spaces, solver, preprocess, weighting):
    X, Y = spaces
    aligner = FIPP(0.5, solver=solver, preprocess=preprocess, weighting=weighting, n_steps=3).fit(X, Y)
    assert np.isfinite(aligner.transform(X)).all()
    assert aligner.weights_.max() == 1
    if preprocess is None:
        np.testing.assert_allclose(aligner.transform_target(Y), Y, rtol=1e-6)
        np.testing.assert_allclose(aligner.transform(X), X @ aligner.map_, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_two_rounds_work_with_every_solver_and_differ_from_one(spaces, solver):
    X, Y = spaces
    one, two = (FIPP(0.2, solver=solver, n_rounds=n, n_steps=20).fit(X, Y) for n in (1, 2))
    assert two.map_.shape == (8, 6)
    assert np.isfinite(two.map_).all()
    assert not np.allclose(one.map_, two.map_, atol=1e-3)


@pytest.mark.parametrize("max_memory", [1000, "60 KB"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_little_memory_changes_nothing_but_rounding(spaces, solver, max_memory):
    X, Y = spaces
    settings = {"solver": solver, "eigen_method": "subspace", "n_steps": 5, "preprocess": "unit", "epsilon": None}
    plain, cut = (FIPP(**settings, max_memory=memory).fit(X, Y) for memory in (None, max_memory))
    np.testing.assert_allclose(cut.map_, plain.map_, atol=2e-3)


def test_the_same_input_gives_the_same_bytes(spaces, monkeypatch):
    monkeypatch.setattr(_gram, "_TILE", 16)
    X, Y = spaces
    for solver in SOLVERS:
        first, second = (FIPP(0.1, solver=solver, n_steps=5).fit(X, Y).map_ for _ in range(2))
        assert first.tobytes() == second.tobytes()


def test_progress_reaches_its_total(spaces):
    X, Y = spaces
    for solver in SOLVERS:
        steps = []
        aligner = FIPP(0.1, solver=solver, eigen_method="subspace", n_steps=5)
        aligner.fit(X, Y, progress=lambda *at, steps=steps: steps.append(at))
        assert steps[-1][0] == steps[-1][1]


# Wrong input


@pytest.mark.parametrize("aligner", [FIPP(), Procrustes()])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused_with_the_row_they_are_in(spaces, aligner, value):
    X, Y = (V.copy() for V in spaces)
    X[17, 3] = value
    with pytest.raises(FippError, match=r"row 17 of X .*NaN or infinity \(column 3\)"):
        aligner.fit(X, Y)
    fitted = aligner.fit(*spaces)
    with pytest.raises(FippError, match="row 17 of X"):
        fitted.transform(X)
    Y[5, 0] = value
    with pytest.raises(FippError, match="row 5 of Y"):
        aligner.fit(spaces[0], Y)
    with pytest.raises(FippError, match="row 5 of Y"):
        fitted.transform_target(Y)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0, 1), (120, 1)], "pair 1 names row 120 of X, which has 120 rows"),
        ([(0, 1), (1, 120)], "pair 1 names row 120 of Y, which has 120 rows"),
        ([(-1, 0)], "pair 0 names row -1 of X"),
        ([], "no pairs to learn from"),
        (np.empty((0, 2), dtype=int), "no pairs to learn from"),
        ([(0.0, 1.0)], "whole numbers in two columns"),
        ([("dog", "chien")], "whole numbers in two columns"),
        ([(True, False)], "whole numbers in two columns"),
        ([0, 1], "whole numbers in two columns"),
        ([(0, 1, 2)], "whole numbers in two columns"),
        ([(0, 1), (2,)], "whole numbers in two columns"),
        ([(0, None)], "whole numbers in two columns"),
        (5, "whole numbers in two columns"),
        ("ab", "whole numbers in two columns"),
    ],
)
def test_wrong_pairs_are_refused(spaces, pairs, message):
    with pytest.raises(FippError, match=message):
        FIPP().fit(*spaces, pairs)


def test_without_pairs_both_sides_must_have_as_many_rows(spaces):
    X, Y = spaces
    with pytest.raises(FippError, match="X has 120 rows and Y 119: pass pairs"):
        FIPP().fit(X, Y[:-1])
    with pytest.raises(FippError, match="pass pairs"):
        FIPP().fit(X, Y).score(X, Y[:-1])


@pytest.mark.parametrize("bad", [np.zeros(5), np.float64(3), np.zeros((2, 3, 4)), np.zeros((0, 4)), np.zeros((4, 0))])
def test_what_is_no_matrix_is_refused(spaces, bad):
    X, Y = spaces
    with pytest.raises(FippError, match=r"^X "):
        FIPP().fit(bad, Y)
    with pytest.raises(FippError, match=r"^Y "):
        FIPP().fit(X, bad)
    with pytest.raises(FippError, match=r"^X "):
        FIPP().fit(X, Y).transform(bad)


def test_vectors_of_another_dimension_are_refused(spaces):
    X, Y = spaces
    aligner = FIPP().fit(X, Y)
    with pytest.raises(FippError, match="X has 6 features, but FIPP is expecting 8 features as input"):
        aligner.transform(Y)
    with pytest.raises(FippError, match="Y has 8 features, but FIPP is expecting 6 features as input"):
        aligner.transform_target(X)


def test_a_failed_fit_leaves_the_input_alone(spaces):
    X, Y = (V.copy() for V in spaces)
    FIPP().fit(X, Y)
    np.testing.assert_array_equal(X, spaces[0])
    np.testing.assert_array_equal(Y, spaces[1])


# Grids


@pytest.mark.parametrize("preprocess", ["isotropic", "unit"])
def test_a_path_of_settings_equals_separate_fits(spaces, preprocess, monkeypatch):
    monkeypatch.setattr(_gram, "_TILE", 16)
    X, Y = spaces
    grid = list(product([0.3, 0.02, None, 0.1], [1.0, 0.25]))
    settings = [{"epsilon": epsilon, "lam": lam} for epsilon, lam in grid]
    path = FIPP(preprocess=preprocess, weighting="paper").fit_many(X, Y, seed_pairs(70), settings=settings)
    assert [(a.epsilon, a.lam) for a in path] == grid
    for fitted in path:
        alone = FIPP(fitted.epsilon, fitted.lam, preprocess=preprocess, weighting="paper")
        alone.fit(X, Y, seed_pairs(70))
        assert fitted.get_params() == alone.get_params()
        assert fitted.kept_fraction_ == alone.kept_fraction_
        np.testing.assert_array_equal(fitted.kept_per_pair_, alone.kept_per_pair_)
        np.testing.assert_allclose(fitted.weights_, alone.weights_, rtol=1e-5)
        np.testing.assert_allclose(fitted.map_, alone.map_, atol=1e-4)
        np.testing.assert_allclose(fitted.spectrum_, alone.spectrum_, rtol=1e-4)
        np.testing.assert_allclose(fitted.transform(X), alone.transform(X), atol=1e-4)
        np.testing.assert_array_equal(fitted.pairs_, alone.pairs_)
        assert fitted.objective_ == pytest.approx(alone.objective_, rel=1e-3)
        assert fitted.deviation_ == pytest.approx(alone.deviation_, rel=1e-3)


def test_a_path_learns_its_own_pairs_once(spaces):
    X, Y = spaces
    path = FIPP(self_learning=10).fit_many(X, Y, seed_pairs(40), settings=[{"epsilon": 0.1}, {"epsilon": 0.2}])
    alone = FIPP(0.2, self_learning=10).fit(X, Y, seed_pairs(40))
    np.testing.assert_array_equal(path[1].induced_pairs_, alone.induced_pairs_)
    np.testing.assert_allclose(path[1].map_, alone.map_, atol=1e-4)


def test_a_path_leaves_the_aligner_it_was_asked_of_unfitted(spaces):
    aligner = FIPP()
    aligner.fit_many(*spaces, settings=[{"epsilon": 0.1}])
    assert not hasattr(aligner, "map_")
    assert aligner.get_params() == FIPP().get_params()


@pytest.mark.parametrize("settings", [{"solver": "eigen"}, {"solver": "sgd"}, {"n_rounds": 2}])
def test_where_no_work_can_be_shared_every_setting_is_fitted_by_itself(spaces, settings):
    aligner = FIPP(n_steps=5).set_params(**settings)
    assert not aligner.path_settings
    (fitted,) = aligner.fit_many(*spaces, settings=[{"epsilon": 0.2}])
    np.testing.assert_array_equal(fitted.map_, FIPP(0.2, n_steps=5).set_params(**settings).fit(*spaces).map_)


@pytest.mark.parametrize(
    "wrong", [{"epsilon": -0.5}, {"lam": -1.0}, {"epsilon": float("nan")}, {"epsilon": "wide"}], ids=str
)
def test_a_path_checks_every_setting_as_a_fit_does(spaces, wrong):
    with pytest.raises(ValueError, match=r"epsilon|lam"):
        FIPP().fit_many(*spaces, settings=[{"epsilon": 0.1, "lam": 1.0}, wrong])


# Fitted state


def test_fitting_again_forgets_what_was_known_of_the_earlier_fit(spaces, rng):
    X, Y = spaces
    aligner = FIPP(0.1, solver="sgd", n_steps=5, self_learning=5).fit(X, Y, seed_pairs(50))
    assert {"losses_", "induced_pairs_", "induced_similarity_"} <= set(vars(aligner))
    _ = aligner.objective_, aligner.deviation_
    other = rng.standard_normal((120, 8))
    aligner.set_params(solver="linear", self_learning=0, epsilon=0.2).fit(other, Y, seed_pairs(50))
    fresh = FIPP(0.2).fit(other, Y, seed_pairs(50))
    assert aligner.objective_ == fresh.objective_
    assert aligner.deviation_ == fresh.deviation_
    fitted = {name for name in vars(aligner) if name.endswith("_")}
    assert fitted == {name for name in vars(fresh) if name.endswith("_")}


@pytest.mark.parametrize("how", ["pickle", "deepcopy", "joblib"])
def test_a_copy_maps_alike_and_leaves_the_seed_vectors_behind(spaces, tmp_path, how):
    X, Y = spaces
    aligner = FIPP(0.1, self_learning=5).fit(X, Y, seed_pairs(50))
    deviation = aligner.deviation_
    if how == "pickle":
        copied = pickle.loads(pickle.dumps(aligner))
    elif how == "deepcopy":
        copied = copy.deepcopy(aligner)
    else:
        joblib.dump(aligner, tmp_path / "aligner")
        copied = joblib.load(tmp_path / "aligner")
    np.testing.assert_array_equal(copied.transform(X), aligner.transform(X))
    np.testing.assert_array_equal(copied.transform_target(Y), aligner.transform_target(Y))
    assert copied.deviation_ == deviation  # it had been read before
    assert not hasattr(copied, "objective_")
    with pytest.raises(AttributeError, match="where the model was fitted"):
        _ = copied.objective_
    assert not any(isinstance(value, tuple) for value in vars(copied).values())
    assert aligner.objective_.total > 0  # the original still knows


def test_a_pickle_is_small_although_the_seed_is_large(rng):
    X = rng.standard_normal((3000, 10))
    aligner = FIPP(preprocess="unit").fit(X, X)
    assert len(pickle.dumps(aligner)) < 3000 * 10 * 4 + 10_000


# The baseline


@pytest.mark.parametrize(("d1", "d2"), [(5, 5), (4, 6), (6, 4)])
def test_procrustes_is_the_rotation_of_the_svd(rng, d1, d2):
    X, Y = related_vocabularies(rng, 80, d1, d2)
    aligner = Procrustes().fit(X, Y, seed_pairs(50))
    X_s, X_t = unit_length(X)[:50], unit_length(Y)[:50]
    U, _, Vt = np.linalg.svd(X_s.T @ X_t, full_matrices=False)
    np.testing.assert_allclose(aligner.map_, U @ Vt, atol=1e-4)
    np.testing.assert_allclose(aligner.transform(X), unit_length(X) @ U @ Vt, atol=1e-4)
    assert aligner.score(X, Y) > 0.5


def test_the_score_is_the_mean_reciprocal_rank_by_cosine(spaces):
    X, Y = spaces
    aligner = FIPP(0.1).fit(X, Y, seed_pairs(20))
    mapped, target = (V.astype(np.float64) for V in (aligner.transform(X), aligner.transform_target(Y)))
    total = 0.0
    for i in range(120):
        cosines = [mapped[i] @ t / np.linalg.norm(mapped[i]) / np.linalg.norm(t) for t in target]
        total += 1 / sum(cosine >= cosines[i] for cosine in cosines)
    assert aligner.score(X, Y) == pytest.approx(total / 120, abs=2e-3)


@pytest.mark.parametrize("self_learning", [0, 100])
def test_the_map_has_the_same_bits_whatever_the_number_of_threads(self_learning):
    X, Y = related_vocabularies(np.random.default_rng(5), 2000, 60, 70)
    pairs = seed_pairs(1200)
    maps, moved = [], []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            aligner = FIPP(self_learning=self_learning).fit(X, Y, pairs)
            maps.append(aligner.map_.tobytes())
            moved.append(aligner.transform(X).tobytes())
    assert maps[0] == maps[1]
    assert moved[0] == moved[1]
