"""Gromov-Wasserstein alignment, against POT's own solver, brute-force sums and planted rotations."""

import sys

import numpy as np
import pytest
import scipy.linalg
from threadpoolctl import threadpool_limits

from fipp import Alignment, FippError, FippWarning, GromovWasserstein, Vectors, align
from fipp.aligners import METHODS
from fipp.aligners.published._gwa import couple
from fipp.linalg import unit_rows

ot = pytest.importorskip("ot", reason="POT, of the extra fipp[ot], is not installed")


@pytest.fixture
def words(rng):
    """Vectors whose similarities are as uneven as those of words, in 20 dimensions."""
    return (rng.standard_normal((200, 20)) ** 3).astype(np.float32)


@pytest.fixture
def turn(rng):
    return np.linalg.qr(rng.standard_normal((20, 20)))[0]


@pytest.fixture
def two_sides(rng):
    """Unit vectors: 40 in 5 dimensions, and 30 of them in 6, noisy and in another order."""
    A = rng.standard_normal((40, 5)) ** 3
    B = A[rng.permutation(40)[:30]] @ np.linalg.qr(rng.standard_normal((6, 5)))[0].T
    return unit_rows(A), unit_rows(B + 0.1 * rng.standard_normal(B.shape))


def test_a_planted_rotation_is_recovered_without_pairs(words, turn, rng):
    order = rng.permutation(200)
    X = (words @ turn.T)[order]
    aligner = GromovWasserstein().fit(X, words)
    assert aligner.score(X, words[order]) == 1
    np.testing.assert_allclose(aligner.map_ @ aligner.map_.T, np.eye(20), atol=1e-4)
    np.testing.assert_array_equal(aligner.induced_pairs_, np.stack([np.arange(200), order], axis=1))
    assert aligner.distance_ == pytest.approx(0, abs=1e-3)
    assert aligner.converged_ and not aligner.collapsed_


def test_a_planted_rotation_is_found_under_noise_far_better_than_by_chance(words, turn, rng):
    order = rng.permutation(200)
    X = (words @ turn.T)[order] + 0.1 * words.std() * rng.standard_normal(words.shape)
    mrr = GromovWasserstein().fit(X, words).score(X, words[order])
    assert mrr > 20 * np.mean(1 / np.arange(1, 201))


def test_words_that_were_not_coupled_are_mapped_too(words, turn):
    aligner = GromovWasserstein(max_words=120).fit(words @ turn.T, words)
    assert aligner.induced_pairs_.shape == (120, 2)
    assert aligner.score(words @ turn.T, words) == 1
    assert not aligner.collapsed_


@pytest.mark.parametrize("epsilon", [0.05, 0.2])
def test_the_coupling_is_that_of_pots_own_solver(two_sides, epsilon):
    A, B = two_sides
    expected, log = ot.gromov.entropic_gromov_wasserstein(
        A @ A.T, B @ B.T, epsilon=epsilon, max_iter=300, tol=1e-7, log=True, numItermax=300, warn=False
    )
    found = couple(A, B, epsilon, 300, 1e-6)
    np.testing.assert_allclose(found.gamma, expected, atol=1e-4)
    assert found.distance == pytest.approx(float(log["gw_dist"]), abs=1e-4)
    np.testing.assert_allclose(found.cross, A.T @ expected @ B, atol=1e-3)


def test_the_distance_is_the_sum_over_all_pairs_of_pairs(two_sides):
    A, B = (side[:12] for side in two_sides)
    found = couple(A, B, 0.05, 100, 1e-6)
    differences = (A @ A.T)[:, None, :, None] - (B @ B.T)[None, :, None, :]
    expected = np.einsum("ijkl,ij,kl->", differences**2, found.gamma, found.gamma)
    # Sinkhorn leaves a little of the mass out of place.
    assert found.distance == pytest.approx(expected, abs=1e-5)


def test_without_much_entropy_it_costs_what_the_exact_solver_finds(words, turn):
    A, B = unit_rows(words[:60]).astype(np.float64), unit_rows((words @ turn)[:60][::-1]).astype(np.float64)
    found = couple(A, B, 1e-3, 500, 1e-6)
    # The exact solver, started at the assignment that this coupling comes near, finds nothing much better.
    start = np.eye(60)[found.gamma.argmax(axis=1)] / 60
    exact = ot.gromov.gromov_wasserstein2(A @ A.T, B @ B.T, G0=start)
    assert found.distance == pytest.approx(float(exact), abs=1e-3)


def test_the_map_is_the_rotation_nearest_to_the_coupled_words(words, turn):
    X = words @ turn.T
    aligner = GromovWasserstein(preprocess="unit").fit(X, words)
    A, B = (unit_rows(side).astype(np.float64) for side in (X, words))
    gamma = couple(A, B, aligner.entropy, aligner.n_iterations, aligner.tolerance).gamma
    # Every pair of words a row, weighted by how much of one goes to the other.
    weights = np.sqrt(gamma).ravel()[:, None]
    omega, _ = scipy.linalg.orthogonal_procrustes(weights * np.repeat(A, 200, axis=0), weights * np.tile(B, (200, 1)))
    np.testing.assert_allclose(aligner.map_, omega, atol=1e-4)


@pytest.mark.parametrize("d1, d2", [(20, 26), (26, 20)])
def test_dimensions_may_differ(words, rng, d1, d2):
    wide = np.linalg.qr(rng.standard_normal((26, 20)))[0].T
    X, Y = (words @ wide if d == 26 else words for d in (d1, d2))
    aligner = GromovWasserstein().fit(X[::-1], Y)
    assert aligner.transform(X).shape == (200, d2)
    assert aligner.score(X, Y) == 1


def test_vocabularies_may_differ_in_size(words, turn):
    aligner = GromovWasserstein().fit((words @ turn.T)[:180], words)
    assert aligner.induced_pairs_.shape == (180, 2)
    assert aligner.score((words @ turn.T)[:180], words[:180]) > 0.9


def test_float32_and_float64_give_the_same(words, turn):
    X = (words @ turn.T).astype(np.float32)
    single = GromovWasserstein().fit(X, words)
    double = GromovWasserstein().fit(X.astype(np.float64), words.astype(np.float64))
    np.testing.assert_allclose(single.map_, double.map_, atol=1e-4)
    assert single.map_.dtype == double.transform(X).dtype == np.float32


def test_the_same_bits_come_out_twice_and_with_any_number_of_threads(words, turn):
    maps = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            maps.append(GromovWasserstein().fit(words @ turn.T, words).map_)
    np.testing.assert_array_equal(maps[0], maps[1])
    np.testing.assert_array_equal(maps[1], maps[2])


def test_known_pairs_are_ignored(words, turn):
    X = words @ turn.T
    plain, told = (GromovWasserstein().fit(X, words, pairs) for pairs in (None, [(0, 5), (3, 1)]))
    np.testing.assert_array_equal(plain.map_, told.map_)
    assert METHODS["gwa"].learns_from == "nothing"


def test_words_without_a_vector_are_not_coupled(words, turn):
    X = words @ turn.T
    X[[0, 7]] = 0
    aligner = GromovWasserstein().fit(X, words)
    assert not {0, 7} & set(aligner.induced_pairs_[:, 0].tolist())
    assert aligner.score(X[8:], words[8:]) == 1
    with pytest.raises(FippError, match="every source vector is zero"):
        GromovWasserstein().fit(np.zeros_like(X), words)


@pytest.mark.parametrize("max_words", [200, 100], ids=["judged by coupled words", "judged by others"])
def test_unrelated_vectors_are_called_chance(rng, words, max_words):
    unrelated = rng.standard_normal((200, 20)) ** 3
    with pytest.warns(FippWarning, match="no better than chance"):
        aligner = GromovWasserstein(max_words, n_iterations=30).fit(unrelated, words)
    assert aligner.collapsed_
    assert aligner.consistency_ < aligner.chance_consistency_ + 0.1


def test_too_much_entropy_finds_nothing_and_says_so(words, turn):
    with pytest.warns(FippWarning, match="no better than chance"):
        aligner = GromovWasserstein(entropy=10).fit(words @ turn.T, words)
    assert np.isfinite(aligner.map_).all()


def test_an_entropy_that_double_precision_cannot_hold_is_refused_with_advice(words, turn):
    with pytest.raises(FippError, match=r"entropy=1e-09 is too small .* Take a larger one"):
        GromovWasserstein(entropy=1e-9).fit(words @ turn.T, words)


def test_a_saved_model_maps_as_before(words, turn, tmp_path):
    X = (words @ turn.T).astype(np.float32)
    source, target = (Vectors([f"{i}" for i in range(200)], side) for side in (X, words))
    alignment = align(source, target, method="gwa", max_words=150)
    alignment.save(tmp_path / "model.fipp")
    again = Alignment.load(tmp_path / "model.fipp").aligner
    np.testing.assert_array_equal(again.transform(X), alignment.aligner.transform(X))
    np.testing.assert_array_equal(again.induced_pairs_, alignment.aligner.induced_pairs_)
    assert (again.distance_, again.collapsed_) == (alignment.aligner.distance_, alignment.aligner.collapsed_)


def test_progress_ends_at_the_whole(words, turn):
    told = []
    GromovWasserstein().fit(words @ turn.T, words, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (100, 100)
    assert told == sorted(told)


def test_a_missing_pot_is_named_with_how_to_get_it(words, monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(FippError, match=r"needs the package POT: pip install 'fipp\[ot\]'"):
        GromovWasserstein().fit(words, words)
