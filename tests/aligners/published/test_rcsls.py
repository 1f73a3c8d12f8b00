"""RCSLS, against a literal loop over pairs and neighbours, and numerical gradients."""

import numpy as np
import pytest

from fipp import RCSLS, Procrustes
from fipp.aligners import from_state, to_state
from fipp.aligners.published._rcsls import RelaxedCSLS
from fipp.linalg import unit_rows

PAIRS = np.stack([np.arange(150), np.arange(150)], axis=1)


def turned(rng, n=400, d1=8, d2=8, noise=0.0):
    hidden = rng.standard_normal((n, max(d1, d2)))
    turn = np.linalg.qr(rng.standard_normal((hidden.shape[1], hidden.shape[1])))[0]
    Y = (hidden @ turn)[:, :d2]
    return hidden[:, :d1] + noise * rng.standard_normal((n, d1)), Y + noise * rng.standard_normal(Y.shape)


def literal_loss(W, X_s, X_t, X, Y, k):
    """Minus the mean CSLS of the pairs, with dot products, pair by pair."""
    total = 0.0
    for x, y in zip(X_s, X_t, strict=True):
        near_x = np.sort([x @ W @ other for other in Y])[-k:]
        near_y = np.sort([other @ W @ y for other in X])[-k:]
        total += -2 * (x @ W @ y) + near_x.mean() + near_y.mean()
    return total / len(X_s)


@pytest.fixture
def small(rng):
    X, Y = (unit_rows(rng.standard_normal((60, d))) for d in (5, 4))
    return X[:12], Y[:12], X, Y, rng.standard_normal((5, 4))


def test_the_loss_is_the_literal_one(small):
    *vectors, W = small
    assert RelaxedCSLS(*vectors, 3)(W)[0] == pytest.approx(literal_loss(W, *vectors, 3), rel=1e-5)


def test_the_gradient_is_the_numerical_one(small):
    *vectors, W = small
    gradient = RelaxedCSLS(*vectors, 3)(W)[1]
    numerical = np.empty_like(W)
    for place in np.ndindex(*W.shape):
        little = np.zeros_like(W)
        little[place] = 1e-6
        wide = [V.astype(float) for V in vectors]
        numerical[place] = (literal_loss(W + little, *wide, 3) - literal_loss(W - little, *wide, 3)) / 2e-6
    np.testing.assert_allclose(gradient, numerical, atol=1e-5)


def test_all_words_are_neighbours_where_there_are_fewer_than_k(small):
    *vectors, W = small
    assert RelaxedCSLS(*vectors, 100)(W)[0] == pytest.approx(literal_loss(W, *vectors, 100), rel=1e-5)


@pytest.mark.parametrize("constraint", ["none", "spectral", "orthogonal"])
def test_a_planted_rotation_is_found(rng, constraint):
    X, Y = turned(rng)
    aligner = RCSLS(constraint, preprocess="unit").fit(X, Y, PAIRS)
    assert aligner.score(X, Y) == 1.0
    if constraint == "orthogonal":
        np.testing.assert_allclose(aligner.map_, Procrustes().fit(X, Y, PAIRS).map_, atol=0.05)


def test_pairs_come_closer_than_by_procrustes_under_noise(rng):
    X, Y = turned(rng, noise=0.35)
    rotated, learned = Procrustes("unit+centre+unit").fit(X, Y, PAIRS), RCSLS().fit(X, Y, PAIRS)
    assert learned.score(X[150:], Y[150:]) >= rotated.score(X[150:], Y[150:]) - 0.01
    assert learned.score(X[150:], Y[150:]) > 0.5  # by chance: 0.025
    assert learned.losses_[-1] < learned.losses_[0]


@pytest.mark.parametrize("learning_rate", ["auto", 1e-3, 10.0, 1e6])
def test_the_loss_falls_with_every_step_whatever_the_learning_rate(rng, learning_rate):
    X, Y = turned(rng, noise=0.5)
    aligner = RCSLS(learning_rate=learning_rate, holdout=None).fit(X, Y, PAIRS)
    assert (np.diff(aligner.losses_) < 0).all()
    assert aligner.n_iter_ == len(aligner.losses_) - 1 <= 10
    assert np.isfinite(aligner.map_).all()


def test_the_last_loss_is_that_of_the_map_returned(rng):
    X, Y = turned(rng, noise=0.5)
    aligner = RCSLS(n_neighbours=4, holdout=None).fit(X, Y, PAIRS)
    U, V = aligner.source_preprocess_.transform(X), aligner.target_preprocess_.transform(Y)
    W = aligner.map_.astype(float)
    assert aligner.losses_[-1] == pytest.approx(literal_loss(W, U[:150], V[:150], U, V, 4), abs=1e-4)


def test_singular_values_stay_at_most_1_where_they_should(rng):
    X, Y = turned(rng, noise=0.5)
    free, cut, turn = (
        np.linalg.svd(RCSLS(constraint, holdout=None).fit(X, Y, PAIRS).map_)[1]
        for constraint in ("none", "spectral", "orthogonal")
    )
    assert free.max() > 1.01
    assert cut.max() < 1 + 1e-6
    assert cut.min() < 0.99
    np.testing.assert_allclose(turn, 1, atol=1e-6)


def test_as_many_steps_are_taken_as_were_best_for_the_held_out_pairs(rng):
    X, Y = turned(rng, noise=0.7)
    aligner = RCSLS(n_iterations=15).fit(X, Y, PAIRS)
    assert aligner.n_iter_ == np.argmax(aligner.holdout_scores_)
    given = RCSLS(n_iterations=aligner.n_iter_, holdout=None).fit(X, Y, PAIRS)
    np.testing.assert_array_equal(aligner.map_, given.map_)
    assert len(given.holdout_scores_) == 0


@pytest.mark.parametrize("max_words", [None, 100])
def test_holdout_scores_are_mean_reciprocal_ranks_of_held_out_pairs(rng, max_words):
    X, Y = turned(rng, noise=0.5)
    aligner = RCSLS(n_iterations=1, max_words=max_words).fit(X, Y, PAIRS)
    held_out = aligner._held_out()
    rotated = Procrustes("unit+centre+unit").fit(X, Y, PAIRS[~held_out])
    mapped, keys = unit_rows(rotated.transform(X)), unit_rows(rotated.transform_target(Y))
    ranks = []
    for row in np.flatnonzero(held_out):
        candidates = [*range(max_words or 400), *(np.flatnonzero(held_out) if max_words else [])]
        cosines = {other: mapped[row] @ keys[other] for other in candidates}
        ranks.append(sum(cosine >= cosines[row] for cosine in cosines.values()))
    assert aligner.holdout_scores_[0] == pytest.approx(np.mean(1 / np.array(ranks)))


def test_a_source_word_is_either_held_out_or_learned_from(rng):
    X, Y = turned(rng)
    twice = np.concatenate([PAIRS, PAIRS + np.array([0, 1])])
    aligner = RCSLS(n_iterations=1).fit(X, Y, twice)
    held_out = aligner._held_out()
    assert held_out.sum() == 60
    assert not set(twice[held_out, 0]) & set(twice[~held_out, 0])


def test_a_seed_too_small_to_hold_out_from_takes_all_steps(rng):
    X, Y = turned(rng)
    aligner = RCSLS(n_iterations=3).fit(X, Y, PAIRS[:50])
    assert aligner.n_iter_ == 3
    assert len(aligner.holdout_scores_) == 0


def test_no_steps_are_procrustes(rng):
    X, Y = turned(rng, noise=0.3)
    expected = Procrustes("unit+centre+unit").fit(X, Y, PAIRS).map_
    np.testing.assert_array_equal(RCSLS(n_iterations=0).fit(X, Y, PAIRS).map_, expected)


@pytest.mark.parametrize("constraint", ["none", "spectral", "orthogonal"])
@pytest.mark.parametrize(("d1", "d2"), [(8, 12), (12, 8)])
def test_different_dimensions_are_mapped_to_the_target_dimension(rng, constraint, d1, d2):
    X, Y = turned(rng, d1=d1, d2=d2)
    aligner = RCSLS(constraint).fit(X, Y, PAIRS)
    assert aligner.transform(X).shape == (400, d2)
    assert aligner.score(X, Y) > 0.3  # by chance: 0.016


def test_neighbours_are_taken_from_the_first_words_only(rng):
    X, Y = turned(rng, noise=0.3)
    limited = RCSLS(max_words=200).fit(X, Y, PAIRS)
    changed = X.copy(), Y.copy()
    for V in changed:
        V[200:] = V[200:][::-1]  # the same mean, other neighbours
    np.testing.assert_allclose(RCSLS(max_words=200).fit(*changed, PAIRS).map_, limited.map_, atol=1e-5)


def test_the_same_input_gives_the_same_bits_and_float32_is_enough(rng):
    X, Y = turned(rng, noise=0.3)
    first, second = RCSLS().fit(X, Y, PAIRS), RCSLS().fit(X, Y, PAIRS)
    np.testing.assert_array_equal(first.map_, second.map_)
    narrow = RCSLS().fit(X.astype(np.float32), Y.astype(np.float32), PAIRS)
    np.testing.assert_allclose(narrow.map_, first.map_, atol=1e-4)


def test_a_model_taken_apart_and_put_together_maps_alike(rng):
    X, Y = turned(rng, noise=0.3)
    aligner = RCSLS("spectral").fit(X, Y, PAIRS)
    again = from_state(*to_state(aligner))
    np.testing.assert_array_equal(again.transform(X), aligner.transform(X))
    assert again.n_iter_ == aligner.n_iter_


def test_progress_rises_to_the_total(rng):
    heard = []
    RCSLS(n_iterations=4).fit(*turned(rng, noise=0.3), PAIRS, progress=lambda done, total: heard.append((done, total)))
    assert heard == sorted(heard)
    assert heard[-1] == (8, 8)
