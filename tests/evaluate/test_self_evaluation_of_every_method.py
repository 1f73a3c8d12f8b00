"""What every method says about itself without a test dictionary, where the truth is known."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

import fipp.evaluate._self_evaluation as self_evaluation
from cheap_methods import CHEAP, EXTRAS
from fipp.aligners import METHODS, Auto
from fipp.evaluate import bli, self_evaluate
from fipp.exceptions import FippError, FippWarning

# These learn from no pairs, or from pairs that nobody has checked.
REFUSED = ["vecmap-identical", "vecmap-unsupervised", "muse-adversarial", "icp", "gwa", "unsupervised"]
LEARN_FROM_PAIRS = [name for name in METHODS if name not in REFUSED]

# So many source words that `Auto` has enough to choose with (200) in each of the five folds as well.
WORDS = np.arange(260)


def unfitted(name):
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name])
    return clone(CHEAP[name])


def fitted(name, X, Y, words=WORDS):
    """Fit a method, given that row i of X and row i of Y belong together for these rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FippWarning)
        return unfitted(name).fit(X, Y, np.stack([words, words], axis=1))


def noise_clouds(n=500, d=10):
    X, Y = np.random.default_rng(0).standard_normal((2, n, d)).astype(np.float32)
    return X, Y


def turned_clouds(random_state=4, n=520, d=10):
    """Draw one cloud and its rotation, with noise that hides the partners of about half of the words."""
    rng = np.random.default_rng(random_state)
    Y = rng.exponential(size=(n, d)) - 1
    X = Y @ np.linalg.qr(rng.standard_normal((d, d)))[0] + 0.6 * rng.standard_normal((n, d))
    return X.astype(np.float32), Y.astype(np.float32)


def clustered_clouds():
    """Draw one cloud with clusters and its rotation: what methods without pairs find their way by."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 10))[rng.integers(12, size=800)] + 0.6 * rng.standard_normal((800, 10))
    return X, X @ np.linalg.qr(rng.standard_normal((10, 10)))[0]


def true_p_at_1(aligner, X, Y, given=WORDS):
    """Score an aligner on all words that were not given."""
    others = np.setdiff1d(np.arange(len(X)), given)
    return bli(aligner.transform(X), aligner.transform_target(Y), others, others).p_at_1


@pytest.fixture
def refits(monkeypatch):
    """Keep the copies that a self-evaluation fits, each with the pairs held out from it."""
    kept = []
    original = self_evaluation.refits

    def keep(*arguments):
        kept.clear()
        for refit in original(*arguments):
            kept.append(refit)
            yield refit

    monkeypatch.setattr(self_evaluation, "refits", keep)
    return kept


@pytest.mark.parametrize("name", LEARN_FROM_PAIRS)
def test_on_unrelated_clouds_the_score_is_that_of_chance(name):
    X, Y = noise_clouds()
    result = self_evaluate(fitted(name, X, Y), X, Y)
    # A fold learns from four fifths of the c pairs. The t target words in none of them are all alike to it, so that
    # each of them, and the right one too, comes first with a probability of 1/t at most. If all c words were asked
    # independently, more than ``bound`` of them would find their partner once in a million times.
    c, t = len(WORDS), len(Y) - 4 * len(WORDS) // 5
    bound = stats.binom.isf(1e-6, c, 1 / t)
    assert result.n_queries == c
    assert result.p_at_1 * c <= bound < 0.04 * c


@pytest.mark.parametrize("name", LEARN_FROM_PAIRS)
def test_on_planted_rotations_the_score_is_within_its_interval_of_the_true_one(name, refits):
    X, Y = turned_clouds()
    ends, scores, of_refits, of_aligner = [], [], [], []
    # Half of the words are given, and then the other half: every word is once held out from given ones and once one of
    # the others, so that it does not matter if one half happens to be easier.
    for given in (WORDS, WORDS + len(WORDS)):
        aligner = fitted(name, X, Y, given)
        result = self_evaluate(aligner, X, Y)
        ends.append(result.interval("p@1"))
        scores.append(result.p_at_1)
        of_refits.append(np.mean([true_p_at_1(refitted, X, Y, given) for refitted, _ in refits]))
        of_aligner.append(true_p_at_1(aligner, X, Y, given))
    low, high = np.mean(ends, axis=0)
    assert 0.1 < low < np.mean(scores) < high < 0.9
    # What is estimated is the score of maps learned from four fifths of the pairs, on words that were drawn alike.
    assert low <= np.mean(of_refits) <= high
    # The last fifth hardly makes a difference here, where there are twenty times as many pairs as dimensions.
    assert low <= np.mean(of_aligner) <= high


def test_the_interval_covers_the_true_score_about_as_often_as_it_says(refits):
    covered, rounds = 0, 30
    for random_state in range(rounds):
        X, Y = turned_clouds(random_state)
        low, high = self_evaluate(fitted("proc-b", X, Y), X, Y).interval("p@1")
        covered += low <= np.mean([true_p_at_1(refitted, X, Y) for refitted, _ in refits]) <= high
    # The true score is measured on as many words as the other one and varies as much with them, so that their
    # difference has √2 times the standard deviation of either. So few are covered once in ten thousand times.
    expected = 2 * stats.norm.cdf(1.96 / np.sqrt(2)) - 1
    assert covered >= stats.binom.ppf(1e-4, rounds, expected)


@pytest.mark.parametrize("name", LEARN_FROM_PAIRS)
def test_pairs_are_those_given_and_a_refit_never_heard_of_those_held_out(name, refits):
    X, Y = turned_clouds(n=400)
    aligner = fitted(name, X, Y)
    np.testing.assert_array_equal(aligner.pairs_, np.stack([WORDS, WORDS], axis=1))
    self_evaluate(aligner, X, Y)
    asked = np.concatenate([held_out[:, 0] for _, held_out in refits])
    np.testing.assert_array_equal(np.sort(asked), WORDS)
    for refitted, held_out in refits:
        known = np.delete(aligner.pairs_, held_out[:, 0], axis=0)
        np.testing.assert_array_equal(refitted.pairs_, known)
        # What is fitted inside was given the known pairs, and after them only pairs that were found.
        inner = getattr(refitted, "aligner_", refitted)
        np.testing.assert_array_equal(inner.pairs_[: len(known)], known)
        assert len(inner.pairs_) <= len(known) + len(refitted.induced_pairs_)
    without = fitted(name, X, Y, known[:, 0])
    np.testing.assert_array_equal(refitted.transform(X), without.transform(X))
    np.testing.assert_array_equal(refitted.transform_target(Y), without.transform_target(Y))


@pytest.mark.parametrize("name", REFUSED)
def test_methods_that_learn_from_none_are_refused_with_the_reason(name):
    X, Y = clustered_clouds()
    aligner = fitted(name, X, Y)
    assert len(aligner.pairs_) == 0 and len(aligner.induced_pairs_)
    with pytest.raises(FippError, match=r"learned from no known pairs, and .* give a test dictionary"):
        self_evaluate(aligner, X, Y)


def test_auto_without_pairs_is_refused_however_good_its_guesses():
    X, Y = clustered_clouds()
    aligner = Auto().fit(X, Y, guesses=np.stack([WORDS, WORDS], axis=1))
    assert len(aligner.pairs_) == 0 and len(aligner.induced_pairs_)
    with pytest.raises(FippError, match="Auto learned from no known pairs"):
        self_evaluate(aligner, X, Y)
