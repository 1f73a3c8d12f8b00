"""Preprocessing, retrieval and evaluation on degenerate vectors: finite numbers or a FippError, as for aligners."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_cases import PREPROCESS, RETRIEVALS, make_space, require_finite
from fipp import FippError, FippWarning, Vectors
from fipp.evaluate import bli, bootstrap_interval, describe_space, similarity
from fipp.preprocess import make_preprocess
from fipp.retrieve import build_index, mean_similarity, mutual_neighbours, neighbours, ranks_of_gold


def ask_everything(X, Y, Z, retrieval, beta):
    """Yield a function for each question about two sets of queries, X and Z, and keys Y."""
    pairs = [0, len(X) - 1], [0, 0]
    for name in PREPROCESS:
        yield lambda name=name: make_preprocess(name).fit(X).transform(Z)
    options = {"retrieval": retrieval, "beta": beta, "hub_reference": Z}
    yield lambda: vars(neighbours(X, Y, 3, **options))
    yield lambda: vars(build_index(Y, **options).neighbours(X, 3))
    yield lambda: 1 / ranks_of_gold(X, Y, *pairs, **options)
    yield lambda: bli(X, Y, *pairs, **options)
    yield lambda: mutual_neighbours(X, Y, retrieval=retrieval).mean_score
    yield lambda: mean_similarity(X, Y, 3)
    yield lambda: describe_space(X, neighbours=2)


@settings(max_examples=60)
@given(data=st.data())
def test_other_rooms_give_finite_numbers_or_say_why_not(data):
    def choose(options):
        return data.draw(st.sampled_from(options))

    rng, d = np.random.default_rng(0), choose((1, 2, 5))
    X, Y, Z = (make_space(choose, rng, choose((1, 2, 12)), d)[0] for _ in range(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", FippWarning)
        for ask in ask_everything(X, Y, Z, choose(RETRIEVALS), choose((30.0, 1e-300, 1e30))):
            try:
                require_finite(ask(), "the answers")
            except FippError as error:
                assert str(error)


def test_ranks_by_dot_products_too_large_for_float32_are_refused():
    with pytest.raises(FippError, match="too large for float32"):
        ranks_of_gold([[1e30]], [[1e30]], [0], [0], retrieval="dot")


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_similarity_does_not_depend_on_the_scale_of_vectors(scale, rng):
    matrix = rng.standard_normal((6, 3))
    pairs = [("0", "1", 1.0), ("2", "3", 2.0), ("4", "5", 4.0), ("0", "5", 3.0)]
    vectors = Vectors(list("012345"), scale * matrix, dtype=np.float64)
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    cosines = [unit[int(a)] @ unit[int(b)] for a, b, _ in pairs]
    assert similarity(vectors, pairs).pearson == pytest.approx(np.corrcoef(cosines, [1, 2, 4, 3])[0, 1])


@pytest.mark.parametrize("score", [np.inf, np.nan])
def test_scores_of_people_must_be_numbers(score):
    with pytest.raises(FippError, match="must be finite numbers"):
        similarity(Vectors(["a", "b"], np.eye(2)), [("a", "b", score), ("a", "a", 1.0)])


@pytest.mark.parametrize(("n", "n_resamples"), [(1, 1), (1, 100), (5, 1)])
def test_an_interval_of_one_query_or_one_resample_has_no_width(n, n_resamples):
    low, high = bootstrap_interval(np.arange(n) / 4, n_resamples=n_resamples)
    assert low == high == np.mean(np.arange(n) / 4)
