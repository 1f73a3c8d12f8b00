"""A ridge regression with a small network beside it."""

from itertools import islice

import numpy as np
import pytest

import fipp
from fipp import Alignment, ResidualMLP, Ridge, Vectors
from fipp.linalg import ResidualNetwork, Training


def bent(rng, n=1500, d=6):
    X = rng.standard_normal((n, d)).astype(np.float32)
    return X, np.hstack([X, np.abs(X)]).astype(np.float32)


SMALL = {"hidden": 48, "preprocess": None, "n_epochs": 40}


@pytest.mark.parametrize("loss", ["cosine", "mse"])
@pytest.mark.parametrize("dropped", [False, True])
def test_gradients_agree_with_differences(rng, loss, dropped):
    shapes = [(4, 3), (3,), (4, 5), (5,), (5, 3)]
    arrays = [rng.standard_normal(shape) for shape in shapes]  # float64: differences need the digits
    X, Y = rng.standard_normal((7, 4)), rng.standard_normal((7, 3))
    mask = (rng.random((7, 5)) > 0.4) * 2.0 if dropped else None
    _, gradient = ResidualNetwork(*arrays).gradient(X, Y, loss, mask)
    for array, expected in zip(arrays, gradient, strict=True):
        for place in np.ndindex(array.shape):
            middle, sides = array[place], []
            for step in (1e-6, -1e-6):
                array[place] = middle + step
                sides.append(ResidualNetwork(*arrays).gradient(X, Y, loss, mask)[0])
            array[place] = middle
            assert (sides[0] - sides[1]) / 2e-6 == pytest.approx(expected[place], rel=1e-6, abs=1e-6)


def test_the_steps_are_those_of_adam_with_decay_towards_the_start_of_the_map(rng):
    arrays = [rng.standard_normal(shape) for shape in [(4, 3), (3,), (4, 5), (5,), (5, 3)]]
    X, Y = rng.standard_normal((7, 4)), rng.standard_normal((7, 3))
    training = Training("mse", learning_rate=0.01, weight_decay=0.3, dropout=0.0, batch_size=7, random_state=0)
    found = next(islice(training.epochs(ResidualNetwork(*(array.copy() for array in arrays)), X, Y), 9, None))
    # Loshchilov and Hutter (2019), algorithm 2, with a decay of the map W and its offset to where they were.
    rest = [*(array.copy() for array in arrays[:2]), 0.0, 0.0, 0.0]
    means, squares = [0.0] * 5, [0.0] * 5
    for step in range(1, 11):
        _, gradients = ResidualNetwork(*arrays).gradient(X, Y, "mse", None)
        for i, gradient in enumerate(gradients):
            means[i] = 0.9 * means[i] + 0.1 * gradient
            squares[i] = 0.999 * squares[i] + 0.001 * gradient**2
            towards = (means[i] / (1 - 0.9**step)) / (np.sqrt(squares[i] / (1 - 0.999**step)) + 1e-8)
            arrays[i] = arrays[i] - 0.01 * towards - 0.01 * 0.3 * (arrays[i] - rest[i])
    for array, expected in zip(found.arrays(), arrays, strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-4, atol=1e-5)


def test_a_bent_map_is_learned_better_than_by_ridge_regression(rng):
    X, Y = bent(rng)
    network, ridge = ResidualMLP(**SMALL).fit(X[:1200], Y[:1200]), Ridge(preprocess=None).fit(X[:1200], Y[:1200])
    assert network.n_epochs_ > 0
    assert network.score(X[1200:], Y[1200:]) > ridge.score(X[1200:], Y[1200:]) + 0.05


def test_where_the_network_does_not_help_the_map_is_the_ridge_regression(rng):
    X = rng.standard_normal((300, 20))
    Y = X @ np.linalg.qr(rng.standard_normal((20, 20)))[0] + rng.standard_normal((300, 20))
    network, ridge = (cls.fit(X, Y) for cls in (ResidualMLP(learning_rate=1.0), Ridge(preprocess="unit+centre+unit")))
    assert network.n_epochs_ == 0 and network.holdout_loss_[0] == network.holdout_loss_.min()
    np.testing.assert_allclose(network.transform(X), ridge.transform(X), atol=1e-6)


def test_a_planted_rotation_is_recovered(rng):
    Y = rng.standard_normal((400, 8))
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    aligner = ResidualMLP(preprocess=None).fit(Y @ turn.T, Y)
    np.testing.assert_allclose(aligner.transform(Y @ turn.T), Y, atol=0.01)


def test_the_same_bits_come_out_twice_and_zeros_stay_zero(rng):
    X, Y = bent(rng, n=300)
    first, second = (ResidualMLP(**SMALL | {"n_epochs": 5}).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.transform(X), second.transform(X))
    assert not first.transform(np.zeros((1, 6))).any()


def test_a_saved_model_gives_the_same_vectors(rng, tmp_path):
    X, Y = bent(rng, n=400)
    words = [[f"{side}{i}" for i in range(len(X))] for side in "xy"]
    source, target = Vectors(words[0], X), Vectors(words[1], Y)
    alignment = fipp.align(source, target, zip(*words, strict=True), ResidualMLP(**SMALL))
    alignment.save(tmp_path / "m.fipp")
    loaded = Alignment.load(tmp_path / "m.fipp", source, target)
    np.testing.assert_array_equal(loaded.transform().matrix, alignment.transform().matrix)


def test_few_pairs_are_not_divided(rng):
    X, Y = bent(rng, n=12)
    aligner = ResidualMLP(**SMALL).fit(X, Y)
    assert aligner.n_epochs_ == 0 and aligner.holdout_loss_.shape == (0,)
