"""The FIPP objective, its gradient and its descent, against loops and numerical differences."""

import numpy as np
import pytest

from fipp.linalg import FilteredObjective, Objective, _gram, descend


@pytest.fixture
def seed(rng):
    X_s = (rng.standard_normal((23, 5)) / 3).astype(np.float32)
    X_t = (X_s[:, :4] + rng.standard_normal((23, 4)) / 10).astype(np.float32)
    return X_s, X_t


def looped_losses(X, X_s, X_t, epsilon):
    """Reconstruction and transfer loss, entry by entry, in float64."""
    reconstruction = transfer = 0.0
    X, X_s, X_t = (array.astype(np.float64) for array in (X, X_s, X_t))
    for i in range(len(X)):
        for j in range(len(X)):
            new, source, target = X[i] @ X[j], X_s[i] @ X_s[j], X_t[i] @ X_t[j]
            reconstruction += (new - source) ** 2
            if abs(source - target) < epsilon:
                transfer += (new - target) ** 2
    return reconstruction, transfer


@pytest.mark.parametrize("max_memory", [None, 50])
@pytest.mark.parametrize("tile", [7, 512])
@pytest.mark.parametrize("epsilon", [0.1, 0.0, np.inf])
def test_both_losses_equal_those_of_a_loop(seed, rng, monkeypatch, epsilon, tile, max_memory):
    monkeypatch.setattr(_gram, "_TILE", tile)
    X = (rng.standard_normal((23, 6)) / 3).astype(np.float32)
    found = FilteredObjective(*seed, epsilon, 2.5, max_memory)(X)
    reconstruction, transfer = looped_losses(X, *seed, epsilon)
    assert found.reconstruction == pytest.approx(reconstruction, rel=1e-5)
    assert found.transfer == pytest.approx(transfer, rel=1e-5)
    assert found.weight == 2.5
    assert found.total == pytest.approx(reconstruction + 2.5 * transfer, rel=1e-5)


def test_the_total_counts_the_transfer_loss_by_its_weight():
    assert Objective(reconstruction=2.0, transfer=3.0, weight=0.5).total == 3.5


@pytest.mark.parametrize("tile", [7, 512])
def test_the_gradient_is_that_of_numerical_differences(seed, rng, monkeypatch, tile):
    monkeypatch.setattr(_gram, "_TILE", tile)
    X = (rng.standard_normal((23, 4)) / 3).astype(np.float32)
    _, gradient = FilteredObjective(*seed, 0.1, 1.5).with_gradient(X)
    step = 1e-4
    for i, k in [(0, 0), (3, 2), (11, 1), (22, 3)]:
        values = []
        for sign in (1, -1):
            moved = X.astype(np.float64)
            moved[i, k] += sign * step
            reconstruction, transfer = looped_losses(moved, *seed, 0.1)
            values.append(reconstruction + 1.5 * transfer)
        assert gradient[i, k] == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-3, abs=1e-4)


def test_the_gradient_vanishes_where_there_is_nothing_to_gain(seed):
    X_s, _ = seed
    value, gradient = FilteredObjective(X_s, X_s, 0.1, 1.0).with_gradient(X_s)
    assert value.total == pytest.approx(0, abs=1e-8)
    np.testing.assert_allclose(gradient, 0, atol=1e-5)


def test_descent_lowers_the_loss_and_keeps_the_best_point(seed):
    X_s, X_t = seed
    objective = FilteredObjective(X_s, X_t, 0.1, 2.0)
    steps = []
    found, losses = descend(objective, X_s, learning_rate=1e-2, n_steps=60, progress=lambda *at: steps.append(at))
    assert losses.shape == (61,)
    assert losses[0] == pytest.approx(objective(X_s).total)
    assert losses[-1] < 0.9 * losses[0]
    reconstruction, transfer = looped_losses(found, X_s, X_t, 0.1)
    assert reconstruction + 2.0 * transfer == pytest.approx(losses.min(), rel=1e-4)
    assert steps[-1] == (60, 60)


def test_a_step_that_is_far_too_long_does_not_lose_the_start(seed):
    X_s, X_t = seed
    found, losses = descend(FilteredObjective(X_s, X_t, 0.1, 2.0), X_s, learning_rate=10.0, n_steps=3)
    assert losses[-1] > losses[0]
    np.testing.assert_array_equal(found, X_s)


def test_no_steps_leave_the_start_as_it_is(seed):
    found, losses = descend(FilteredObjective(*seed, 0.1, 1.0), seed[0], n_steps=0)
    np.testing.assert_array_equal(found, seed[0])
    assert losses.shape == (1,)


class Bowl:
    """The squared distance from a point, as an objective."""

    def __init__(self, lowest):
        self.lowest = lowest

    def with_gradient(self, X):
        error = X - self.lowest
        return Objective(float(np.square(error).sum()), 0.0, 1.0), 2 * error


def test_the_steps_are_those_of_adam(rng):
    start, lowest = rng.standard_normal((2, 6, 3))
    best, losses = descend(Bowl(lowest), start, learning_rate=0.05, n_steps=30)
    # Kingma and Ba (2015), algorithm 1, in float64.
    X, mean, square, expected = start.copy(), 0.0, 0.0, []
    for step in range(1, 32):
        expected.append(np.square(X - lowest).sum())
        gradient, last = 2 * (X - lowest), X
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        X = X - 0.05 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    np.testing.assert_allclose(best, last, atol=1e-4)
