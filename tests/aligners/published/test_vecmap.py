"""VecMap: the framework of linear maps and its self-learning, against formulas and brute force."""

import numpy as np
import pytest
import scipy.linalg

from fipp import Alignment, FippError, FippWarning, Lexicon, VecMap, Vectors, align
from fipp.aligners._csls_induction import Induced, from_similarity_distributions, induce
from fipp.aligners.published._vecmap import Schedule, dictionary_cross, self_learn, whitening
from fipp.linalg import shared_directions, unit_rows
from fipp.retrieve import hubness

SELF_LEARNING = ("semi-supervised", "identical", "unsupervised")


@pytest.fixture
def words(rng):
    """Vectors whose similarities are as uneven as those of words, in 20 dimensions."""
    return (rng.standard_normal((400, 20)) ** 3).astype(np.float32)


@pytest.fixture
def turn(rng):
    return np.linalg.qr(rng.standard_normal((20, 20)))[0]


def paired(n):
    return np.stack([np.arange(n), np.arange(n)], axis=1)


def brute_csls(A, B, k):
    """CSLS of all pairs, by the definition."""
    cosines = A.astype(np.float64) @ B.T.astype(np.float64)
    r_A = np.sort(cosines, axis=1)[:, -k:].mean(axis=1)
    r_B = np.sort(cosines, axis=0)[-k:].mean(axis=0)
    return 2 * cosines - r_A[:, None] - r_B


def test_a_planted_rotation_is_recovered_exactly(words, turn):
    aligner = VecMap().fit(words @ turn.T, words)
    np.testing.assert_allclose(aligner.transform(words @ turn.T), aligner.transform_target(words), atol=1e-4)
    assert aligner.score(words @ turn.T, words) == 1


@pytest.mark.parametrize("mode", SELF_LEARNING)
def test_self_learning_recovers_a_planted_rotation(words, turn, rng, mode):
    order = rng.permutation(400)
    X = (words @ turn.T)[order]
    pairs = None if mode == "unsupervised" else np.stack([np.arange(15), order[:15]], axis=1)
    aligner = VecMap(mode, window=4).fit(X, words, pairs)
    assert aligner.score(X, words[order]) == 1
    # Only a start without pairs is compared with chance.
    assert vars(aligner).get("collapsed_") is (False if mode == "unsupervised" else None)
    np.testing.assert_array_equal(order[aligner.induced_pairs_[:, 0]], aligner.induced_pairs_[:, 1])


def test_self_learning_finds_most_noisy_words_from_few_pairs_where_pairs_alone_find_few(words, turn, rng):
    X = words @ turn.T + 0.3 * words.std() * rng.standard_normal(words.shape)
    alone = VecMap().fit(X, words, paired(12)).score(X, words)
    learned = VecMap("semi-supervised", window=10).fit(X, words, paired(12)).score(X, words)
    assert alone < 0.75
    assert learned > 0.93


def test_whitened_rotations_are_canonical_correlation_analysis(rng):
    hidden = rng.standard_normal((300, 4))
    X = hidden @ rng.standard_normal((4, 7)) + rng.standard_normal((300, 7))
    Y = hidden @ rng.standard_normal((4, 5)) + rng.standard_normal((300, 5))
    aligner = VecMap(
        preprocess=None, ridge=0, source_reweight=0, target_reweight=0, source_dewhiten=None,
        target_dewhiten=None,
    ).fit(X, Y)  # fmt: skip
    # Canonical correlations are cosines of the principal angles between the two column spaces.
    expected = np.cos(scipy.linalg.subspace_angles(X, Y))[::-1]
    np.testing.assert_allclose(aligner.singular_values_, np.sort(expected)[::-1], atol=1e-5)
    A, B = aligner.transform(X), aligner.transform_target(Y)
    np.testing.assert_allclose(A.T @ A, np.eye(5), atol=1e-4)
    np.testing.assert_allclose(A.T @ B, np.diag(aligner.singular_values_), atol=1e-4)


def test_every_step_is_what_the_formulas_say(rng):
    X, Z = (rng.standard_normal((80, 6)).astype(np.float32) for _ in range(2))
    aligner = VecMap(preprocess=None, ridge=0, source_reweight=0.3, target_reweight=0.7, n_components=4).fit(X, Z)
    root_x, root_z = (scipy.linalg.sqrtm(M.T.astype(np.float64) @ M) for M in (X, Z))
    U, s, Vt = np.linalg.svd(np.linalg.inv(root_x) @ X.T @ Z @ np.linalg.inv(root_z))
    expected_x = np.linalg.inv(root_x) @ U @ np.diag(s**0.3) @ U.T @ root_x @ U
    expected_z = np.linalg.inv(root_z) @ Vt.T @ np.diag(s**0.7) @ Vt @ root_z @ Vt.T
    # The signs of singular vectors are free.
    np.testing.assert_allclose(np.abs(X @ aligner.map_), np.abs(X @ expected_x[:, :4]), atol=1e-4)
    products = X @ expected_x[:, :4] @ (Z @ expected_z[:, :4]).T
    np.testing.assert_allclose(X @ aligner.map_ @ aligner.target_map_.T @ Z.T, products, atol=1e-4)


def test_without_whitening_and_weights_it_is_procrustes(words, turn, rng):
    X = words @ turn.T + 0.1 * rng.standard_normal(words.shape)
    plain = {"preprocess": "unit", "whiten": 0.0, "source_reweight": 0, "target_reweight": 0}
    aligner = VecMap(**plain).fit(X, words)
    omega, _ = scipy.linalg.orthogonal_procrustes(unit_rows(X), unit_rows(words))
    np.testing.assert_allclose(aligner.map_ @ aligner.target_map_.T, omega, atol=1e-4)


@pytest.mark.parametrize("n_pairs", [1, 5, 19, 20, 21])
def test_fewer_pairs_than_dimensions_and_rank_deficient_sides_give_finite_maps(words, turn, n_pairs):
    X = words @ turn.T
    X[:, 3] = X[:, 4]
    for ridge in ("auto", 0):
        aligner = VecMap(ridge=ridge).fit(X, words, paired(n_pairs))
        assert np.isfinite(aligner.map_).all()
        assert np.isfinite(aligner.target_map_).all()
        assert np.abs(aligner.transform(X)).max() > 0


def test_whitening_undone_is_the_space_itself():
    scatter = np.diag([4.0, 1.0, 0.0])
    apply, undo = whitening(scatter, 1.0, 0.0)
    np.testing.assert_allclose(apply @ undo, np.diag([1, 1, 0]))
    apply, undo = whitening(scatter, 1.0, 0.6)
    np.testing.assert_allclose(apply @ undo, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(undo @ undo, scatter + np.eye(3))


@pytest.mark.parametrize("dimensions", [(20, 12), (12, 20)])
@pytest.mark.parametrize("mode", ["supervised", "semi-supervised"])
def test_different_dimensions_meet_in_the_smaller_one(words, turn, dimensions, mode):
    d1, d2 = dimensions
    falling = words * 0.8 ** np.arange(20)
    X, Y = (falling @ turn.T if d1 == 20 else falling[:, :d1]), falling[:, :d2]
    aligner = VecMap(mode, window=4).fit(X, Y, paired(60))
    assert aligner.map_.shape == (d1, 12)
    assert aligner.target_map_.shape == (d2, 12)
    assert aligner.score(X, Y) > 0.95


def test_the_start_without_pairs_needs_no_equal_dimensions(words, rng):
    wide = words @ np.linalg.qr(rng.standard_normal((30, 20)))[0].T
    order = rng.permutation(400)
    pairs = from_similarity_distributions(unit_rows(wide[order]), unit_rows(words), 400, 10)
    assert (order[pairs[:, 0]] == pairs[:, 1]).mean() > 0.99


def test_the_start_without_pairs_is_what_the_paper_says(rng):
    X, Z = unit_rows(rng.standard_normal((60, 5))), unit_rows(rng.standard_normal((50, 4)))

    def described(M):
        U, s, _ = np.linalg.svd(M.astype(np.float64), full_matrices=False)
        rows = np.sort((U * s) @ U.T, axis=1)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        rows -= rows.mean(axis=0)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    csls = brute_csls(described(X[:40]), described(Z[:40]), 10)
    expected = Induced(csls.argmax(axis=1), csls.argmax(axis=0)).pairs()
    np.testing.assert_array_equal(from_similarity_distributions(X, Z, 40, 10), expected)


def test_hubness_and_induction_are_what_the_definition_says(rng):
    A, B = unit_rows(rng.standard_normal((1100, 8))), unit_rows(rng.standard_normal((2100, 8)))
    hubs = hubness(A, B, 10)
    cosines = A @ B.T
    np.testing.assert_allclose(hubs.source, np.sort(cosines, axis=1)[:, -10:].mean(axis=1), atol=1e-6)
    np.testing.assert_allclose(hubs.target, np.sort(cosines, axis=0)[-10:].mean(axis=0), atol=1e-6)
    csls = brute_csls(A, B, 10)
    forward, backward = induce(A, B, hubs)
    np.testing.assert_allclose(csls[np.arange(1100), forward], csls.max(axis=1), atol=1e-5)
    np.testing.assert_allclose(csls[backward, np.arange(2100)], csls.max(axis=0), atol=1e-5)


def test_vocabularies_smaller_than_the_neighbourhood_are_no_error():
    A = np.eye(3, dtype=np.float32)
    np.testing.assert_allclose(hubness(A, A[:2], 10).source, [0.5, 0.5, 0])
    assert VecMap("semi-supervised", window=1).fit(A, A).map_.shape[0] == 3


@pytest.mark.parametrize("keep", [0.1, 0.5])
def test_the_best_pair_is_chosen_as_often_as_pairs_are_kept(rng, keep):
    A = unit_rows(rng.standard_normal((320, 64)))
    hubs = hubness(A, A, 10)
    drawn = [induce(A, A, hubs, keep, (7, number)) for number in range(30)]
    for direction in ("forward", "backward"):
        share = np.mean([getattr(one, direction) == np.arange(320) for one in drawn])
        assert share == pytest.approx(keep, abs=0.03)


def test_among_kept_pairs_the_best_is_chosen(rng):
    """With 2 source words a block, what a block kept shows in what it could have chosen: never anything better."""
    A, B = unit_rows(rng.standard_normal((128, 6))), unit_rows(rng.standard_normal((128, 6)))
    hubs, csls = hubness(A, B, 10), brute_csls(A, B, 10)
    forward, backward = induce(A, B, hubs, 0.25, (3,))
    rank = (csls > csls[np.arange(128), forward][:, None]).sum(axis=1)
    # The best of a random quarter of 128 is on the average the fourth of all.
    assert 2 < rank.mean() < 4
    assert ((backward >= 0) | (backward == -1)).all()


def test_a_mutual_pair_counts_twice():
    induced = Induced(np.array([1, 1, -1]), np.array([-1, 0]))
    np.testing.assert_array_equal(induced.pairs(), [[0, 1], [1, 1], [0, 1]])
    X, Z = np.arange(6.0).reshape(3, 2), np.arange(4.0).reshape(2, 2)
    pairs = induced.pairs()
    np.testing.assert_allclose(dictionary_cross(X, Z, pairs), X[pairs[:, 0]].T @ Z[pairs[:, 1]])


def test_the_last_dictionary_is_a_fixed_point(words, turn, rng):
    X, Z = unit_rows(words @ turn.T + rng.standard_normal(words.shape)), unit_rows(words)
    learned = self_learn(X, Z, X[:40].T @ Z[:40], Schedule(0.1, 2.0, 5, 1e-6))
    U, _, V = shared_directions(X[learned.pairs[:, 0]].T.astype(np.float64) @ Z[learned.pairs[:, 1]])
    csls = brute_csls(X @ U, Z @ V, 10)
    again = Induced(csls.argmax(axis=1), csls.argmax(axis=0))
    assert (again.pairs() == learned.pairs).all(axis=1).mean() > 0.999


def test_progress_never_goes_back_and_its_total_is_never_passed(words, turn):
    seen = []
    VecMap("semi-supervised", window=3).fit(words @ turn, words, paired(30), progress=lambda *now: seen.append(now))
    done, total = np.array(seen).T
    assert (np.diff(done) >= 0).all()
    assert (done <= total).all()


def test_a_collapse_is_said(rng):
    X, Y = rng.standard_normal((400, 20)), rng.standard_normal((400, 20))
    with pytest.warns(FippWarning, match="most likely found nothing"):
        aligner = VecMap("unsupervised", window=2).fit(X, Y)
    assert aligner.collapsed_
    assert aligner.pairs_.shape == (0, 2)


@pytest.mark.parametrize("mode", ["supervised", *SELF_LEARNING])
def test_the_same_input_gives_the_same_bits_and_float32_nearly_those_of_float64(words, turn, mode):
    X = (words @ turn.T).astype(np.float32)
    first, second, wide = (
        VecMap(mode, window=2).fit(x, words.astype(x.dtype), paired(400))
        for x in (X, X.copy(), X.astype(np.float64))
    )  # fmt: skip
    np.testing.assert_array_equal(first.map_, second.map_)
    np.testing.assert_array_equal(first.target_map_, second.target_map_)
    products = (one.map_ @ one.target_map_.T for one in (first, wide))
    np.testing.assert_allclose(*products, atol=1e-3)


def test_another_random_state_takes_another_way(words, turn, rng):
    X = words @ turn.T + 2 * rng.standard_normal(words.shape)
    ways = [VecMap("semi-supervised", window=1, random_state=r).fit(X, words, paired(30)).objectives_ for r in (0, 1)]
    assert ways[0][0] != ways[1][0]


def test_words_without_vectors_and_words_beyond_the_cutoff_are_not_paired(words, turn):
    X, Y = words @ turn.T, words.copy()
    X[7], Y[11] = 0, 0
    aligner = VecMap("semi-supervised", window=2, max_words=300).fit(X, Y, paired(100)[20:])
    assert aligner.induced_pairs_.max() <= 300
    assert not (aligner.induced_pairs_ == [7, 11]).any()
    assert not aligner.transform(X)[7].any()


def test_nothing_to_learn_from_is_said():
    with pytest.raises(FippError, match="every target vector is zero"):
        VecMap("unsupervised").fit(np.eye(3), np.zeros((3, 3)))


def test_fewer_dimensions_can_be_kept(words, turn):
    whole, few = (VecMap(n_components=n).fit(words @ turn.T, words) for n in (None, 7))
    np.testing.assert_array_equal(few.map_, whole.map_[:, :7])
    np.testing.assert_array_equal(few.target_map_, whole.target_map_[:, :7])


@pytest.mark.parametrize("mode", ["supervised", "unsupervised"])
def test_a_saved_model_maps_as_before(words, turn, tmp_path, mode):
    source = Vectors([f"s{i}" for i in range(400)], words @ turn.T.astype(np.float32))
    target = Vectors([f"t{i}" for i in range(400)], words)
    lexicon = None if mode == "unsupervised" else [(f"s{i}", f"t{i}") for i in range(100)]
    alignment = align(source, target, lexicon, VecMap(mode, window=2))
    alignment.save(tmp_path / "model.fipp")
    loaded = Alignment.load(tmp_path / "model.fipp")
    np.testing.assert_array_equal(loaded.aligner.transform(source.matrix), alignment.aligner.transform(source.matrix))
    np.testing.assert_array_equal(
        loaded.aligner.transform_target(target.matrix), alignment.aligner.transform_target(target.matrix)
    )
    assert loaded.aligner.get_params() == alignment.aligner.get_params()


def test_identical_words_are_the_seed_of_their_mode(words, turn):
    source = Vectors([f"{i}" if i < 60 else f"s{i}" for i in range(400)], words @ turn.T.astype(np.float32))
    target = Vectors([f"{i}" if i < 60 else f"t{i}" for i in range(400)], words)
    alignment = align(source, target, method="vecmap-identical", window=2)
    assert len(alignment.aligner.pairs_) == 0
    guesses = Lexicon.identical(source, target).lookup(source, target).rows
    by_hand = VecMap("identical", window=2).fit(source.matrix, target.matrix, guesses=guesses)
    np.testing.assert_array_equal(alignment.aligner.map_, by_hand.map_)
    assert alignment.translate("s100", k=1)[0].word == "t100"
    with pytest.raises(FippError, match="learned from no known pairs"):
        alignment.evaluate()
