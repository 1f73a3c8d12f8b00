"""`SelfLearning`: pairs beyond the seed, with any aligner."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from fipp import FIPP, Alignment, FippError, FippWarning, Local, Procrustes, Ridge, SelfLearning, Spectral, Vectors
from fipp.aligners._consistency import SURE, beats_chance, consistency
from fipp.aligners._self_learning import FoundPairs, Round, chance_consistency, confidence, plan
from fipp.evaluate import bli

INNER = [None, Procrustes(), FIPP(), Ridge(), Spectral(target="fixed")]
N, SEED = 500, 25


def pairs(start, stop):
    return np.stack([np.arange(start, stop)] * 2, axis=1)


def planted(rng, d1=30, d2=30, noise=0.25):
    """Return the same words in two spaces, the second turned, with noise of its own on either side."""
    hidden = rng.standard_normal((N, 10)) * np.linspace(1.5, 0.7, 10)
    turns = (np.linalg.qr(rng.standard_normal((d, d)))[0][:10] for d in (d1, d2))
    sides = (hidden @ turn + noise * rng.standard_normal((N, turn.shape[1])) for turn in turns)
    return tuple(side.astype(np.float32) for side in sides)


@pytest.fixture
def spaces(rng):
    return planted(rng)


def mrr(aligner, X, Y):
    held_out = np.arange(SEED, N)
    return bli(aligner.transform(X), aligner.transform_target(Y), held_out, held_out).mrr


@pytest.mark.filterwarnings("ignore:25 pairs are fewer:fipp.FippWarning")  # of FIPP alone
@pytest.mark.parametrize("inner", INNER, ids=str)
def test_planted_pairs_beyond_the_seed_are_found_and_help(inner, spaces):
    aligner = SelfLearning(inner).fit(*spaces, pairs(0, SEED))
    right = aligner.induced_pairs_[:, 0] == aligner.induced_pairs_[:, 1]
    assert right.mean() > 0.9 and right.sum() > 0.6 * (N - SEED)
    alone = clone(Spectral() if inner is None else inner).fit(*spaces, pairs(0, SEED))
    assert mrr(aligner, *spaces) > mrr(alone, *spaces)


def test_a_planted_rotation_is_found_exactly_from_few_pairs(rng):
    X, Y = planted(rng, 12, 12, noise=0)
    aligner = SelfLearning(Procrustes()).fit(X, Y, pairs(0, 12))
    assert mrr(aligner, X, Y) == 1
    np.testing.assert_array_equal(aligner.induced_pairs_, pairs(12, N))


@pytest.mark.parametrize("inner", INNER, ids=str)
def test_words_of_known_pairs_keep_their_partners_and_get_no_others(inner, spaces):
    # Every fifth known pair is wrong, and is believed all the same.
    known = pairs(0, SEED)
    known[::5, 1] = np.roll(known[::5, 1], 1)
    aligner = SelfLearning(inner).fit(*spaces, known)
    np.testing.assert_array_equal(aligner.pairs_, known)
    np.testing.assert_array_equal(aligner.aligner_.pairs_[:SEED], known)
    assert not np.isin(aligner.induced_pairs_[:, 0], known[:, 0]).any()
    assert not np.isin(aligner.induced_pairs_[:, 1], known[:, 1]).any()


def test_the_last_fit_is_that_on_known_and_found_pairs(spaces):
    aligner = SelfLearning(Ridge()).fit(*spaces, pairs(0, SEED))
    by_hand = Ridge().fit(*spaces, np.concatenate([pairs(0, SEED), aligner.induced_pairs_]))
    np.testing.assert_array_equal(aligner.transform(spaces[0]), by_hand.transform(spaces[0]))
    np.testing.assert_array_equal(aligner.map_, by_hand.map_)


def test_found_pairs_are_those_that_choose_each_other_under_csls(rng):
    X, Y = planted(rng, 12, 12)
    known = pairs(0, SEED)
    found = SelfLearning(Procrustes(), n_iterations=1, n_neighbours=5).fit(X, Y, known)
    before = Procrustes().fit(X, Y, known)
    A, B = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (before.transform(X), Y))
    cosines = A.astype(float) @ B.T.astype(float)
    csls = 2 * cosines
    csls -= np.sort(cosines, axis=1)[:, -5:].mean(axis=1)[:, None]
    csls -= np.sort(cosines, axis=0)[-5:].mean(axis=0)
    expected = [
        (i, j) for i in range(SEED, N) for j in range(SEED, N) if csls[i].argmax() == j and csls[:, j].argmax() == i
    ]
    assert found.induced_pairs_.tolist() == [list(pair) for pair in expected]
    assert found.mean_csls_ == pytest.approx(np.mean([csls[pair] for pair in expected]), abs=1e-5)


def test_a_small_weight_leaves_the_map_nearer_to_that_of_the_seed(rng):
    spaces = planted(rng, 12, 12)
    alone = Spectral().fit(*spaces, pairs(0, SEED)).singular_values_
    light, heavy = (
        SelfLearning(learned_weight=weight).fit(*spaces, pairs(0, SEED)).aligner_.singular_values_
        for weight in (0.001, 1.0)
    )
    assert np.abs(light - alone).max() < 0.1 * np.abs(heavy - alone).max()


def test_only_the_first_words_are_paired(spaces):
    aligner = SelfLearning(max_words=200).fit(*spaces, pairs(0, SEED))
    assert aligner.induced_pairs_.max() < 200


@pytest.mark.parametrize(("n_source", "n_target"), [(N, 300), (300, N)])
def test_vocabularies_may_differ_in_size(spaces, n_source, n_target):
    X, Y = spaces[0][:n_source], spaces[1][:n_target]
    learned = SelfLearning().fit(X, Y, pairs(0, SEED)).induced_pairs_
    assert (learned[:, 0] == learned[:, 1]).mean() > 0.9


def test_from_few_pairs_a_rotation_of_few_words_comes_first():
    X = np.zeros((1000, 30))
    rounds = plan(pairs(0, 59), X, X, 12_000, 2)
    assert [current.rotation for current in rounds] == [True, True, True, False, False]
    # There are no more words than these, and the numbers grow towards them.
    assert [current.max_words for current in rounds] == [250, 420, 670, 1000, 1000]
    assert [current.rotation for current in plan(pairs(0, 60), X, X, 12_000, 2)] == [False, False]


@pytest.mark.filterwarnings("ignore::fipp.FippWarning")
@pytest.mark.parametrize("max_words", [1, 2, 3])
def test_so_few_words_that_none_is_found_leave_the_map_of_the_seed(spaces, max_words):
    aligner = SelfLearning(max_words=max_words).fit(*spaces, pairs(0, 20))
    assert aligner.induced_pairs_.shape == (0, 2)
    assert aligner.mean_csls_ == aligner.consistency_ == 0
    alone = Spectral().fit(*spaces, pairs(0, 20))
    # Signs of directions are free.
    np.testing.assert_allclose(aligner.map_ @ aligner.target_map_.T, alone.map_ @ alone.target_map_.T, atol=1e-2)


def test_pairs_that_do_not_hold_together_are_warned_of(rng):
    X, Y = rng.standard_normal((2, N, 100)).astype(np.float32)
    with pytest.warns(FippWarning, match="gone astray"):
        astray = SelfLearning().fit(X, Y, pairs(0, 20))
    assert not beats_chance(astray.consistency_, astray.chance_consistency_)


def test_pairs_that_hold_together_are_not_warned_of_nor_compared_with_chance(spaces):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aligner = SelfLearning().fit(*spaces, pairs(0, 20))
    assert aligner.consistency_ > SURE and not hasattr(aligner, "chance_consistency_")


def test_pairs_that_hold_together_a_little_are_not_warned_of_if_chance_gives_less(rng):
    # So noisy that even right pairs find each other badly.
    hidden = rng.standard_normal((1500, 100)) * np.linspace(1.5, 0.3, 100)
    X, Y = ((hidden + 1.0 * rng.standard_normal((1500, 100))).astype(np.float32) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aligner = SelfLearning().fit(X, Y, pairs(0, 150))
    assert beats_chance(aligner.consistency_, aligner.chance_consistency_) and aligner.consistency_ < SURE


def test_chance_is_what_comes_of_random_pairs(rng):
    X, Y = rng.standard_normal((2, N, 100)).astype(np.float32)
    found = Procrustes().fit(X, Y, np.stack([np.arange(N), np.random.default_rng(0).permutation(N)], axis=1))
    A, B = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (found.transform(X), Y))
    cosines = A @ B.T
    csls = 2 * cosines - np.sort(cosines, axis=1)[:, -10:].mean(axis=1)[:, None]
    csls -= np.sort(cosines, axis=0)[-10:].mean(axis=0)
    mutual = [(i, j) for i, j in enumerate(csls.argmax(axis=1)) if csls[:, j].argmax() == i]
    expected = consistency(X, Y, np.array(mutual), Procrustes(), N)
    assert chance_consistency(X, Y, Procrustes(), [Round(N, True)]) == pytest.approx(expected)


def test_consistency_is_how_well_half_of_the_pairs_find_the_others(spaces):
    X, Y = spaces
    order = np.random.default_rng(0).permutation(N)
    half = Procrustes().fit(X, Y, pairs(0, N)[order[::2]])
    others = order[1::2]
    expected = bli(half.transform(X), half.transform_target(Y), others, others).mrr
    assert consistency(X, Y, pairs(0, N), Procrustes(), N) == pytest.approx(expected)


def test_vectors_of_zeros_are_never_paired(spaces):
    X, Y = (side.copy() for side in spaces)
    X[100:110], Y[105:115] = 0, 0
    aligner = SelfLearning().fit(X, Y, pairs(0, SEED))
    assert not np.isin(aligner.induced_pairs_[:, 0], np.arange(100, 110)).any()
    assert not np.isin(aligner.induced_pairs_[:, 1], np.arange(105, 115)).any()
    assert not aligner.transform(X)[100:110].any()


def test_the_same_input_gives_the_same_bits(spaces):
    one, other = (SelfLearning().fit(*spaces, pairs(0, SEED)).transform(spaces[0]) for _ in range(2))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("inner", INNER, ids=str)
@pytest.mark.parametrize(("d1", "d2"), [(12, 15), (15, 12)])
def test_different_dimensions_are_learned_saved_and_loaded(inner, d1, d2, rng, tmp_path):
    X, Y = planted(rng, d1, d2, noise=0.15)
    aligner = SelfLearning(inner).fit(X, Y, pairs(0, SEED))
    assert mrr(aligner, X, Y) > 0.9
    words = [str(i) for i in range(N)]
    Alignment(aligner, Vectors(words, X), Vectors(words, Y)).save(tmp_path / "model.fipp")
    again = Alignment.load(tmp_path / "model.fipp").aligner
    np.testing.assert_array_equal(again.transform(X), aligner.transform(X))
    np.testing.assert_array_equal(again.transform_target(Y), aligner.transform_target(Y))
    np.testing.assert_array_equal(again.induced_pairs_, aligner.induced_pairs_)
    assert again.consistency_ == aligner.consistency_


def test_settings_of_the_inner_aligner_can_be_reached_and_cloned():
    aligner = SelfLearning(Spectral()).set_params(aligner__ridge=0.7, n_iterations=2)
    copied = clone(aligner)
    assert copied.aligner is not aligner.aligner
    assert copied.get_params()["aligner__ridge"] == 0.7 and copied.n_iterations == 2


def test_the_aligner_that_is_given_is_not_fitted_itself(spaces):
    inner = Procrustes()
    SelfLearning(inner).fit(*spaces, pairs(0, SEED))
    assert not hasattr(inner, "map_")


@pytest.mark.parametrize(
    "wrong", [{"max_words": 0}, {"n_iterations": 0}, {"learned_weight": 0}, {"n_neighbours": 0}], ids=str
)
def test_invalid_settings_are_refused_and_named(wrong, spaces):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SelfLearning(**wrong).fit(*spaces)


def test_found_pairs_count_by_the_square_of_their_rank_by_csls(rng):
    X = rng.standard_normal((200, 10)).astype(np.float32)
    Y = (X @ np.linalg.qr(rng.standard_normal((10, 10)))[0] + 0.4 * rng.standard_normal((200, 10))).astype(np.float32)
    known = pairs(0, 60)
    learned, alike = (SelfLearning(n_iterations=1, weighting=kind, learned_weight=0.5) for kind in ("csls", None))
    learned.fit(X, Y, known), alike.fit(X, Y, known)
    np.testing.assert_array_equal(learned.induced_pairs_, alike.induced_pairs_)
    start = Spectral().fit(X, Y, known)
    A, B = (
        side / np.linalg.norm(side, axis=1, keepdims=True) for side in (start.transform(X), start.transform_target(Y))
    )
    cosines = A @ B.T
    csls = (
        2 * cosines
        - np.sort(cosines, axis=1)[:, -10:].mean(axis=1)[:, None]
        - np.sort(cosines, axis=0)[-10:].mean(axis=0)
    )
    ranks = csls[tuple(learned.induced_pairs_.T)].argsort().argsort() + 1.0
    everything = np.concatenate([known, learned.induced_pairs_])
    for fitted, weights in ((learned, 0.5 * ranks**2 / np.mean(ranks**2)), (alike, np.full(len(ranks), 0.5))):
        expected = Spectral().fit(X, Y, everything, sample_weight=np.concatenate([np.ones(60), weights]))
        np.testing.assert_allclose(fitted.transform(X), expected.transform(X), atol=1e-5)


def test_pairs_that_are_all_alike_are_trusted_alike():
    np.testing.assert_array_equal(confidence(np.zeros(4)), np.ones(4))
    assert confidence(np.empty(0)).shape == (0,)


def test_ranking_moves_the_map_by_the_known_pairs_and_the_trusted_half_of_the_found_ones(rng):
    X, Y = planted(rng, 12, 12)
    known = pairs(0, SEED)
    plain, refined = (SelfLearning(ranking_steps=steps).fit(X, Y, known) for steps in (0, 2))
    np.testing.assert_array_equal(plain.induced_pairs_, refined.induced_pairs_)
    csls = np.arange(len(plain.induced_pairs_), dtype=np.float32)
    half = FoundPairs(plain.induced_pairs_, csls).trusted()
    np.testing.assert_array_equal(half, plain.induced_pairs_[-(len(csls) // 2) :])
    assert np.abs(plain.map_ - refined.map_).max() > 1e-4
    assert refined.score(X, Y) > plain.score(X, Y) - 0.02
    with pytest.raises(FippError, match="ranking refines linear maps"):
        SelfLearning(Local(), n_iterations=1, ranking_steps=1).fit(X, Y, known)
