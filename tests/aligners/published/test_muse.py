"""MUSE: Procrustes refined by mutual CSLS neighbours, from pairs or from a game."""

import numpy as np
import pytest

import fipp
from fipp import MUSE, Alignment, FippError, FippWarning, Procrustes, Vectors
from fipp.retrieve import ranks_of_gold


def turned(rng, d=12, n=600, noise=0.0):
    Y = rng.standard_normal((n, d))
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return Y @ turn.T + noise * rng.standard_normal((n, d)), Y, turn


def rows(n):
    return np.stack([np.arange(n), np.arange(n)], axis=1)


def test_a_planted_rotation_is_recovered(rng):
    X, Y, turn = turned(rng)
    aligner = MUSE(preprocess="unit").fit(X.astype(np.float32), Y.astype(np.float32), rows(20))
    np.testing.assert_allclose(aligner.map_, turn, atol=1e-5)
    assert aligner.criterion_ == pytest.approx(1, abs=1e-5)


def test_refinement_learns_from_words_beyond_few_pairs(rng):
    X, Y, _ = turned(rng, d=20, noise=0.5)
    seed, rest = rows(15), np.arange(20, 600)
    plain, refined = (cls(preprocess="unit").fit(X, Y, seed) for cls in (Procrustes, MUSE))
    first, then = (
        np.mean(ranks_of_gold(aligner.transform(X), aligner.transform_target(Y), rest, rest) == 1)
        for aligner in (plain, refined)
    )
    assert then > first + 0.1
    assert refined.n_iterations_ > 0


def test_one_refinement_is_procrustes_on_mutual_csls_neighbours(rng):
    X, Y, _ = turned(rng, d=8, n=150, noise=0.5)
    start = Procrustes().fit(X, Y, rows(15))
    A, B = (V / np.linalg.norm(V, axis=1, keepdims=True) for V in (start.transform(X), start.transform_target(Y)))
    cosines = A.astype(np.float64) @ B.T
    hubs = [np.sort(C, axis=1)[:, -10:].mean(axis=1) for C in (cosines, cosines.T)]
    csls = 2 * cosines - hubs[0][:, None] - hubs[1]
    forth, back = csls.argmax(axis=1), csls.argmax(axis=0)
    mutual = [(i, j) for i, j in enumerate(forth) if back[j] == i]
    expected = Procrustes().fit(X, Y, mutual).map_
    aligner = MUSE(n_iterations=1, preprocess="unit").fit(X, Y, rows(15))
    assert aligner.n_iterations_ == 1
    np.testing.assert_allclose(aligner.map_, expected, atol=1e-5)


def test_the_map_with_the_best_mean_cosine_is_kept(rng):
    X, Y, _ = turned(rng, d=8, n=200, noise=0.6)
    criteria = [MUSE(n_iterations=n).fit(X, Y, rows(12)).criterion_ for n in range(4)]
    assert criteria == sorted(criteria)


@pytest.mark.parametrize("d1", [10, 14])
def test_dimensions_may_differ(rng, d1):
    hidden = rng.standard_normal((300, 10))
    X = hidden @ np.linalg.qr(rng.standard_normal((d1, d1)))[0][:10]
    Y = hidden @ np.linalg.qr(rng.standard_normal((12, 12)))[0][:10]
    aligner = MUSE(preprocess="unit").fit(X, Y, rows(50))
    assert aligner.map_.shape == (d1, 12) and aligner.score(X, Y) > 0.95


def test_a_saved_model_gives_the_same_vectors(rng, tmp_path):
    X, Y, _ = turned(rng, noise=0.1)
    words = [[f"{side}{i}" for i in range(len(X))] for side in "xy"]
    source, target = Vectors(words[0], X), Vectors(words[1], Y)
    alignment = fipp.align(source, target, list(zip(*words, strict=True))[:50], "muse")
    alignment.save(tmp_path / "m.fipp")
    loaded = Alignment.load(tmp_path / "m.fipp", source, target)
    np.testing.assert_array_equal(loaded.transform().matrix, alignment.transform().matrix)


def skewed(rng, d=10, n=1200):
    """Two samples of the same skewed distribution, the first of them turned."""
    both = rng.exponential(size=(2 * n, d)) * np.geomspace(3, 0.4, d)
    both -= both.mean(axis=0)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return (both[:n] @ turn.T).astype(np.float32), both[n:].astype(np.float32), turn


GAME = {"mode": "adversarial", "n_steps": 100, "hidden": 64, "n_restarts": 2, "preprocess": None}


@pytest.mark.filterwarnings("ignore::fipp.FippWarning")
def test_a_game_without_pairs_finds_a_planted_rotation_and_is_the_same_every_time(rng):
    pytest.importorskip("torch", reason="torch, which the adversarial start takes, is not installed")
    X, Y, turn = skewed(rng)
    first, second = (MUSE(**GAME, n_iterations=0).fit(X, Y) for _ in range(2))
    assert np.trace(first.map_.T @ turn) / 10 > 0.8
    np.testing.assert_array_equal(first.map_, second.map_)
    assert len(first.pairs_) == 0 and first.restart_criteria_.shape == (2,)
    assert first.criterion_ == first.restart_criteria_.max()


@pytest.mark.parametrize("d", [10, 40])
@pytest.mark.parametrize("distribution", ["standard_normal", "exponential"])
def test_unrelated_spaces_are_announced_as_a_collapse(rng, d, distribution):
    pytest.importorskip("torch", reason="torch, which the adversarial start takes, is not installed")
    X, Y = getattr(rng, distribution)(size=(2, 800, d)).astype(np.float32)
    with pytest.warns(FippWarning, match="the adversarial start has most likely found nothing"):
        aligner = MUSE(**GAME | {"n_steps": 20, "preprocess": "unit+centre+unit"}).fit(X, Y)
    assert aligner.collapsed_


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_rotation_found_without_pairs_is_not_announced_as_a_collapse(rng, noise):
    pytest.importorskip("torch", reason="torch, which the adversarial start takes, is not installed")
    Y = skewed(rng)[1]
    turn = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    X = (Y @ turn.T + noise * rng.standard_normal(Y.shape)).astype(np.float32)
    order = rng.permutation(len(X))
    aligner = MUSE(**GAME).fit(X[order], Y)  # a warning would be an error
    assert not aligner.collapsed_ and aligner.consistency_ > 0.9
    assert aligner.score(X, Y) > 0.9


def test_the_best_game_is_chosen_after_refinement_and_its_start_left_out(rng, monkeypatch):
    pytest.importorskip("torch", reason="torch, which the adversarial start takes, is not installed")
    X, Y, turn = turned(rng, d=20, n=500)
    # Along one axis all words have cosines of 1 with their translations, and these mean nothing.
    flat = np.zeros((20, 20), np.float32)
    flat[0, 0] = 1
    near = (turn + 0.15 * rng.standard_normal(turn.shape)).astype(np.float32)
    games = iter([near, flat])
    monkeypatch.setattr("fipp.aligners.published._muse.adversarial_map", lambda *_: next(games))
    aligner = MUSE(mode="adversarial", preprocess="unit").fit(X, Y)
    np.testing.assert_allclose(aligner.map_, turn, atol=1e-5)
    assert aligner.restart_criteria_.argmax() == 0 and not aligner.collapsed_


def test_without_torch_the_error_says_what_to_install(rng, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    X, Y, _ = turned(rng)
    with pytest.raises(FippError, match=r"pip install 'fipp\[torch\]'"):
        MUSE(mode="adversarial").fit(X, Y)


def test_the_map_is_the_rotation_of_its_induced_pairs(rng):
    Y = rng.standard_normal((300, 5))
    X = Y @ np.linalg.qr(rng.standard_normal((5, 5)))[0] + 0.3 * rng.standard_normal((300, 5))
    given = np.stack([np.arange(30)] * 2, axis=1)
    aligner = MUSE(preprocess="unit").fit(X, Y, given)
    np.testing.assert_array_equal(aligner.pairs_, given)
    assert aligner.n_iterations_ and len(aligner.induced_pairs_) > 100
    expected = Procrustes("unit").fit(X, Y, aligner.induced_pairs_).map_
    np.testing.assert_allclose(aligner.map_, expected, atol=1e-5)
    alone = MUSE(preprocess="unit", n_iterations=0).fit(X, Y, given)
    assert alone.induced_pairs_.shape == (0, 2)


def test_from_pairs_torch_is_not_needed(rng, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    X, Y, _ = turned(rng)
    assert MUSE().fit(X, Y, rows(30)).learns_from == "pairs" and MUSE(mode="adversarial").learns_from == "nothing"
