"""Aligners and preprocessing are scikit-learn estimators."""

import inspect

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from cheap_methods import CHEAP, EXTRAS
from fipp import FIPP, FippError, Unsupervised
from fipp.aligners._wrapper import WrappingAligner
from fipp.linalg import n_threads
from fipp.preprocess import Centre, Isotropic, IterativeNormalization, Unchanged, UnitLength


class Guided(Unsupervised):
    """Maps X to itself, with row i and row i for guesses: it refuses the targets of the checks, a few equal numbers."""

    def fit(self, X, Y, pairs=None, *, guesses=None, progress=None):
        n = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
        rows = np.stack([np.arange(n)] * 2, axis=1)
        return super().fit(X, None if Y is None else X, guesses=rows, progress=progress)

    def score(self, X, Y):
        return super().score(X, X)


# One aligner of each class, the first that METHODS has.
CHEAPEST = {type(method): (name, method) for name, method in reversed(CHEAP.items())}
CHEAPEST[Guided] = ("unsupervised", Guided(**CHEAPEST.pop(Unsupervised)[1].get_params(deep=False)))
# These fit another aligner, which has the map and the preprocessing.
WRAPPING = [cls for cls in CHEAPEST if issubclass(cls, WrappingAligner)]
# These need more points than the tests below have to find any pairs.
WITHOUT_PAIRS = [cls for cls, (_, method) in CHEAPEST.items() if method.learns_from != "pairs"]
ALIGNERS = [cls for cls in CHEAPEST if cls not in WRAPPING + WITHOUT_PAIRS]
PREPROCESSORS = [Centre, Isotropic, IterativeNormalization, Unchanged, UnitLength]


def unfitted(cls):
    if cls not in CHEAPEST:
        return cls()
    name, method = CHEAPEST[cls]
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name], reason=f"{name} needs {EXTRAS[name]}")
    return clone(method)


# Drawn without a seed and compared to 1e-7, which float32 does not keep.
ROUNDING = {
    "check_methods_sample_order_invariance": "the last bit of a row depends on its place in the block",
    "check_methods_subset_invariance": "the last bit of a row depends on its place in the block",
}
ONE_DIMENSIONAL_Y = {
    "check_transformer_general": "y has one dimension, and the target's vectors have two",
    "check_transformer_data_not_an_array": "y has one dimension, and the target's vectors have two",
    "check_transformer_preserve_dtypes": "y has one dimension, and the target's vectors have two",
}
KEYWORD_Y = {
    "check_n_features_in_after_fitting": "y of score is given by keyword, and is called Y here",
    "check_sample_weight_equivalence_on_dense_data": "y is given by keyword, and is called Y here",
}


REFUSED = {
    "check_fit2d_1sample": "nothing can be learned from one point without known pairs",
    "check_fit2d_1feature": "nothing can be learned from one dimension without known pairs",
    "check_fit_idempotent": "a map that is no better than chance is refused, and the points are random",
}


@pytest.fixture
def spaces(rng):
    hidden = rng.standard_normal((90, 8))
    return hidden[:, :6] + 0.2 * rng.standard_normal((90, 6)), hidden + 0.2 * rng.standard_normal((90, 8))


@pytest.mark.filterwarnings("ignore::fipp.FippWarning")
@pytest.mark.parametrize("cls", [*CHEAPEST, *PREPROCESSORS])
def test_scikit_learns_own_checks_pass(cls):
    expected = (
        ROUNDING | (KEYWORD_Y | ONE_DIMENSIONAL_Y if cls in CHEAPEST else {}) | (REFUSED if cls is Guided else {})
    )
    results = check_estimator(unfitted(cls), expected_failed_checks=expected, on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) >= 35


@pytest.mark.filterwarnings("ignore::fipp.FippWarning")
@pytest.mark.parametrize("cls", ALIGNERS + WRAPPING + PREPROCESSORS)
def test_the_order_and_the_number_of_rows_change_nothing_but_rounding(cls, spaces, rng):
    X, Y = spaces if cls in ALIGNERS + WRAPPING else spaces[:1] * 2
    fitted, order = unfitted(cls).fit(X, Y), rng.permutation(len(X))
    whole = fitted.transform(X)
    np.testing.assert_allclose(fitted.transform(X[order]), whole[order], atol=1e-5 * np.abs(whole).max())
    np.testing.assert_allclose(fitted.transform(X[:1]), whole[:1], atol=1e-5 * np.abs(whole).max())


@pytest.mark.parametrize("cls", list(map(type, CHEAP.values())))
def test_init_only_stores_what_it_is_given(cls):
    parameters = inspect.signature(cls).parameters
    values = {name: object() for name in parameters}
    aligner = cls(**values)
    assert vars(aligner) == values
    assert cls().get_params() == {name: parameter.default for name, parameter in parameters.items()}


@pytest.mark.parametrize("cls", ALIGNERS)
def test_fitting_changes_no_parameter_and_only_sets_names_that_end_in_an_underscore(spaces, cls):
    aligner = cls()
    before = aligner.get_params()
    assert aligner.fit(*spaces) is aligner
    assert aligner.get_params() == before
    public = {name for name in vars(aligner) if not name.startswith("_")} - set(before)
    assert all(name.endswith("_") for name in public)
    assert {"map_", "pairs_", "n_features_in_", "n_features_out_"} <= public


@pytest.mark.parametrize("cls", ALIGNERS + WRAPPING)
def test_an_aligner_that_was_not_fitted_says_so(spaces, cls):
    for call in (cls().transform, cls().transform_target):
        with pytest.raises(NotFittedError):
            call(spaces[0])
    with pytest.raises(NotFittedError):
        cls().score(*spaces)


@pytest.mark.parametrize("cls", ALIGNERS)
def test_a_clone_has_the_settings_and_nothing_learned(spaces, cls):
    aligner = cls(preprocess=Isotropic(2)).fit(*spaces)
    copied = clone(aligner)
    assert not hasattr(copied, "map_")
    assert copied.get_params()["preprocess__n_components"] == 2
    assert copied.preprocess is not aligner.preprocess
    np.testing.assert_array_equal(copied.fit(*spaces).map_, aligner.map_)


def test_a_transformer_given_as_preprocessing_is_not_fitted_itself(spaces):
    preprocess = Isotropic(2)
    FIPP(preprocess=preprocess).fit(*spaces)
    assert not hasattr(preprocess, "mean_")


def test_settings_of_nested_preprocessing_can_be_reached(spaces):
    aligner = FIPP(preprocess=Isotropic()).set_params(preprocess__n_components=3, epsilon=0.2).fit(*spaces)
    assert aligner.source_preprocess_.components_.shape == (3, 6)
    assert aligner.target_preprocess_.components_.shape == (3, 8)
    assert aligner.epsilon == 0.2


@pytest.mark.parametrize("preprocess", [StandardScaler(), make_pipeline(UnitLength(), StandardScaler())])
def test_a_transformer_of_scikit_learn_can_be_the_preprocessing(spaces, preprocess):
    aligner = FIPP(1.0, preprocess=preprocess).fit(*spaces)
    expected = clone(preprocess).fit_transform(spaces[0]) @ aligner.map_
    np.testing.assert_allclose(aligner.transform(spaces[0]), expected, atol=1e-4)


@pytest.mark.parametrize("cls", ALIGNERS)
def test_fit_transform_is_fit_and_transform(spaces, cls):
    np.testing.assert_array_equal(cls().fit_transform(*spaces), cls().fit(*spaces).transform(spaces[0]))


def test_a_pipeline_may_end_in_an_aligner(spaces):
    X, Y = spaces
    pipeline = Pipeline([("identity", FunctionTransformer()), ("fipp", FIPP())]).fit(X, Y)
    alone = FIPP().fit(X, Y)
    np.testing.assert_array_equal(pipeline.transform(X), alone.transform(X))
    assert pipeline.score(X, Y) == alone.score(X, Y)
    pipeline.set_params(fipp__epsilon=0.3)
    assert pipeline.named_steps["fipp"].epsilon == 0.3


def test_pairs_go_through_a_pipeline_as_a_fit_parameter(spaces):
    X, Y = spaces
    pairs = np.stack([np.arange(40), np.arange(40)], axis=1)
    pipeline = Pipeline([("identity", FunctionTransformer()), ("fipp", FIPP())]).fit(X, Y, fipp__pairs=pairs)
    np.testing.assert_array_equal(pipeline.transform(X), FIPP().fit(X, Y, pairs).transform(X))


def test_settings_can_be_searched_on_paired_rows(spaces):
    X, Y = spaces
    grid = {"epsilon": [0.05, 0.2, None], "lam": [0.5, 1.0]}
    search = GridSearchCV(FIPP(), grid, cv=3).fit(X, Y)
    assert set(search.best_params_) == {"epsilon", "lam"}
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert search.best_score_ == scores.max() > 0.5
    assert search.transform(X).shape == (90, 8)
    # The same by hand, for one setting.
    by_hand = [
        FIPP(0.2, 0.5).fit(np.delete(X, rows, axis=0), np.delete(Y, rows, axis=0)).score(X[rows], Y[rows])
        for rows in np.split(np.arange(90), 3)
    ]
    place = search.cv_results_["params"].index({"epsilon": 0.2, "lam": 0.5})
    assert scores[place] == pytest.approx(np.mean(by_hand))


def test_nested_settings_can_be_searched_in_parallel(spaces):
    search = GridSearchCV(FIPP(preprocess=Isotropic()), {"preprocess__n_components": [0, 1]}, cv=2, n_jobs=2)
    before = n_threads()
    with joblib.parallel_config("threading"):
        assert search.fit(*spaces).best_params_["preprocess__n_components"] in (0, 1)
    assert n_threads() == before


def test_cross_validation_scores_every_aligner(spaces):
    for cls in ALIGNERS:
        scores = cross_val_score(cls(), *spaces, cv=3)
        assert scores.shape == (3,)
        assert (scores > 0.3).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": -0.1},
        {"epsilon": "wide"},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"lam": -1},
        {"lam": None},
        {"solver": "qr"},
        {"rank": 0},
        {"rank": "half"},
        {"rank": 1.5},
        {"weighting": "cosine"},
        {"n_rounds": 0},
        {"self_learning": -1},
        {"self_learning": 1.5},
        {"self_learning_rule": "both"},
        {"eigen_method": "power"},
        {"learning_rate": 0},
        {"n_steps": -1},
        {"random_state": "zero"},
        {"max_memory": 0},
        {"max_memory": "much"},
        {"preprocess": "isotropc"},
        {"preprocess": 3},
    ],
    ids=str,
)
def test_invalid_settings_are_refused_when_fitting_and_named(spaces, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FIPP(**wrong).fit(*spaces)


def test_unknown_settings_are_refused():
    with pytest.raises(ValueError, match="gamma"):
        FIPP().set_params(gamma=1)


def test_a_target_is_required(spaces):
    with pytest.raises(FippError, match="requires y to be passed"):
        FIPP().fit(spaces[0], None)
