"""Vectors that no method can do much with: each gives finite vectors, or an error that says why."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from cheap_methods import CHEAP, EXTRAS
from fipp import FippError, FippWarning

WRAPPING = [name for name, method in CHEAP.items() if "preprocess" not in method.get_params(deep=False)]
SAME = np.stack([np.arange(60)] * 2, axis=1)


@pytest.fixture(scope="module")
def spaces():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    return X.astype(np.float32), (X @ np.linalg.qr(rng.standard_normal((8, 8)))[0]).astype(np.float32)


def finite_or_refused(name, X, Y, pairs, **settings):
    """Return what an error says, or nothing after both sides were mapped to finite vectors."""
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name], reason=f"{name} needs {EXTRAS[name]}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FippWarning)
        try:
            aligner = clone(CHEAP[name]).set_params(**settings).fit(X, Y, pairs)
        except FippError as error:
            return str(error)
    assert np.isfinite(aligner.transform(X)).all() and np.isfinite(aligner.transform_target(Y)).all()
    return None


@pytest.mark.parametrize("factor", [1e-30, 1e12, 1e30])
@pytest.mark.parametrize("name", CHEAP)
def test_a_vector_of_extreme_length_is_like_any_other_or_refused_by_its_row(name, factor, spaces):
    X, Y = (side.copy() for side in spaces)
    X[3] *= np.float32(factor)
    if CHEAP[name].preprocess is not None or name in WRAPPING:
        assert finite_or_refused(name, X, Y, SAME) is None
    if name not in WRAPPING:
        told = finite_or_refused(name, X, Y, SAME, preprocess=None)
        assert told is None if factor < 1 else "row 3 of X holds" in told


@pytest.mark.parametrize("name", CHEAP)
def test_one_word_and_vectors_that_are_all_the_same_are_mapped_or_refused_in_words(name, spaces):
    X, Y = spaces
    same = np.full_like(X, 0.5)
    for source, target in [(X[:1], Y[:1]), (same, same), (same, Y), (X, same), (X[:, :1], Y[:, :1])]:
        finite_or_refused(name, source, target, SAME[: len(source)])
        if name not in WRAPPING:
            finite_or_refused(name, source, target, SAME[: len(source)], preprocess="centre")


@pytest.mark.parametrize("name", ["vecmap-semi", "vecmap-identical", "vecmap-unsupervised"])
def test_self_learning_of_one_word_says_that_there_is_nothing_to_learn_from(name, spaces):
    told = finite_or_refused(name, spaces[0][:1], spaces[1][:1], SAME[:1])
    assert told is not None and "there is nothing to learn from" in told
