"""Self-learning, against the literal c-dimensional rows of appendix C."""

import numpy as np
import pytest
from fipp_problems import epsilon_in_a_gap, related_vocabularies
from hypothesis import given
from hypothesis import strategies as st

from fipp import FIPP, FippWarning
from fipp.aligners import _fipp_reference as reference
from fipp.aligners._appendix_c import induce_pairs

PAIRS = np.stack([np.arange(30), np.arange(30)], axis=1)
RULES = ["one-to-one", "mutual", "one-way"]


def literal_similarities(X, Y, pairs):
    """Cosines of A_s = 𝔛_s X_sᵀ and A_t = 𝔛_t X_tᵀ, rows with one column for each seed pair."""
    A_s, A_t = X @ X[pairs[:, 0]].T, Y @ Y[pairs[:, 1]].T
    S = np.empty((len(X), len(Y)))
    for i, source in enumerate(A_s):
        for j, target in enumerate(A_t):
            S[i, j] = source @ target / (np.linalg.norm(source) * np.linalg.norm(target))
    return S


def literal_pairs(S, pairs, n_pairs, rule):
    """Each free source word's best target word, by falling similarity, if the rule admits it."""
    free = [i for i in range(len(S)) if i not in set(pairs[:, 0].tolist())]
    proposals = sorted(((S[i].max(), i, int(S[i].argmax())) for i in free), key=lambda proposal: -proposal[0])
    used, found, similarities = set(pairs[:, 1].tolist()), [], []
    for similarity, i, j in proposals:
        if similarity <= 0 or len(found) == n_pairs:
            break
        if rule == "one-to-one" and j in used:
            continue
        if rule == "mutual" and any(S[other, j] > similarity for other in free):
            continue
        used.add(j)
        found.append((i, j))
        similarities.append(similarity)
    return np.array(found), np.array(similarities)


@pytest.fixture
def spaces(rng):
    X, Y = related_vocabularies(rng, 90, 7, 5)
    return X, Y


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n_pairs", [1, 12, 1000])
def test_added_pairs_and_similarities_equal_the_literal_ones(spaces, rule, n_pairs):
    X, Y = (reference.isotropic(V) for V in spaces)
    found, similarities = induce_pairs(X.astype(np.float32), Y.astype(np.float32), PAIRS, n_pairs, rule=rule)
    expected, expected_similarities = literal_pairs(literal_similarities(X, Y, PAIRS), PAIRS, n_pairs, rule)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(similarities, expected_similarities, atol=1e-5)


def test_each_rule_admits_fewer_pairs_than_the_next_laxer_one(spaces):
    X, Y = (reference.isotropic(V).astype(np.float32) for V in spaces)
    one_to_one, mutual, one_way = (
        {tuple(pair) for pair in induce_pairs(X, Y, PAIRS, 1000, rule=rule)[0]} for rule in RULES
    )
    assert len(one_way) == 60 and one_to_one < one_way and mutual < one_way
    # A word that both choose each other with may be known already, which only the mutual rule overlooks.
    known = set(PAIRS[:, 1])
    assert {pair for pair in mutual if pair[1] not in known} < one_to_one
    assert any(pair[1] in known for pair in one_way) and not any(pair[1] in known for pair in one_to_one)


@pytest.mark.parametrize("rule", RULES)
def test_the_aligner_is_fitted_on_the_given_pairs_and_the_added_ones(spaces, rule):
    X, Y = spaces
    aligner = FIPP(0.2, self_learning=15, self_learning_rule=rule).fit(X, Y, PAIRS)
    S = literal_similarities(reference.isotropic(X), reference.isotropic(Y), PAIRS)
    expected, similarities = literal_pairs(S, PAIRS, 15, rule)
    np.testing.assert_array_equal(aligner.induced_pairs_, expected)
    np.testing.assert_allclose(aligner.induced_similarity_, similarities, atol=1e-4)
    np.testing.assert_array_equal(aligner.pairs_, PAIRS)
    assert len(aligner.weights_) == len(aligner.kept_per_pair_) == len(PAIRS) + len(expected)
    assert len(aligner.weights_) == len(aligner.kept_per_pair_) == len(PAIRS) + len(expected)
    given_all = FIPP(0.2).fit(X, Y, np.concatenate([PAIRS, expected]))
    np.testing.assert_array_equal(aligner.map_, given_all.map_)


@pytest.mark.parametrize(("d1", "d2"), [(6, 6), (5, 8), (8, 5)])
@pytest.mark.parametrize("n_pairs", [0, 20])
def test_the_published_method_is_the_literal_one_with_its_self_learning(rng, d1, d2, n_pairs):
    vocabularies = related_vocabularies(rng, 120, d1, d2)
    X, Y = map(reference.isotropic, vocabularies)
    pairs = PAIRS
    if n_pairs:
        pairs = np.concatenate(
            [PAIRS, literal_pairs(literal_similarities(X, Y, PAIRS), PAIRS, n_pairs, "one-to-one")[0]]
        )
    X_s, X_t = X[pairs[:, 0]], Y[pairs[:, 1]]
    epsilon = epsilon_in_a_gap(X_s, X_t)
    expected = reference.fipp_map(X_s, X_t, epsilon, 0.7, published=True)
    aligner = FIPP.published(epsilon, 0.7, self_learning=n_pairs).fit(*vocabularies, PAIRS)
    assert len(pairs) == len(aligner.weights_) == 30 + n_pairs
    np.testing.assert_allclose(aligner.map_, expected, atol=2e-3 * np.abs(expected).max())
    np.testing.assert_allclose(aligner.weights_, reference.pair_weights(X_s, X_t, epsilon, 0.7, 1), rtol=1e-3)


def test_settings_of_the_published_method_can_be_replaced():
    settings = FIPP.published(0.1, weighting=None, preprocess="unit").get_params()
    assert (settings["epsilon"], settings["lam"], settings["weighting"], settings["preprocess"]) == (
        0.1,
        1,
        None,
        "unit",
    )
    assert (settings["solver"], settings["rank"], settings["self_learning_rule"]) == ("eigen", "target", "one-to-one")


@given(st.integers(1, 25), st.integers(1, 80), st.sampled_from(RULES), st.integers(0, 1000))
def test_no_seed_word_of_the_source_gets_a_second_translation(c, n_pairs, rule, seed):
    rng = np.random.default_rng(seed)
    X, Y = (rng.standard_normal((40, d)).astype(np.float32) for d in (6, 4))
    pairs = np.stack([rng.integers(0, 40, c), rng.integers(0, 40, c)], axis=1)
    found, similarities = induce_pairs(X, Y, pairs, n_pairs, rule=rule)
    assert len(found) == len(similarities) <= n_pairs
    assert not set(found[:, 0]) & set(pairs[:, 0])
    assert len(set(found[:, 0])) == len(found)
    assert (np.diff(similarities) <= 0).all()
    assert (similarities > 0).all()
    assert (similarities < 1.01).all()
    if rule != "one-way":
        assert len(set(found[:, 1])) == len(found)
    if rule == "one-to-one":
        assert not set(found[:, 1]) & set(pairs[:, 1])


def test_nothing_is_added_when_every_source_word_is_known(spaces):
    X, Y = spaces
    every = np.stack([np.arange(90), np.arange(90)], axis=1)
    aligner = FIPP(0.2, self_learning=10).fit(X, Y, every)
    assert aligner.induced_pairs_.shape == (0, 2)
    assert aligner.induced_similarity_.shape == (0,)
    np.testing.assert_array_equal(aligner.map_, FIPP(0.2).fit(X, Y, every).map_)


@pytest.mark.parametrize("rule", RULES)
def test_words_without_a_vector_are_never_added(spaces, rule):
    X, Y = (V.copy() for V in spaces)
    X[[40, 41]], Y[[50, 51]] = 0, 0
    aligner = FIPP(0.2, self_learning=1000, self_learning_rule=rule).fit(X, Y, PAIRS)  # and nothing is warned of
    assert not set(aligner.induced_pairs_[:, 0]) & {40, 41}
    assert not set(aligner.induced_pairs_[:, 1]) & {50, 51}
    assert len(aligner.pairs_) == 30 and len(aligner.weights_) == 30 + len(aligner.induced_pairs_)


def test_a_seed_pair_without_a_vector_does_not_spoil_self_learning(spaces):
    X, Y = (V.copy() for V in spaces)
    X[3] = 0
    with pytest.warns(FippWarning, match="1 pairs with a vector of zeros"):
        aligner = FIPP(0.2, self_learning=5).fit(X, Y, PAIRS)
    assert len(aligner.induced_pairs_) == 5
    assert len(aligner.pairs_) == 29 and len(aligner.weights_) == 34


def test_self_learning_finds_true_pairs_of_a_rotated_space(rng):
    X = rng.standard_normal((200, 6))
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    aligner = FIPP(self_learning=100, preprocess="unit").fit(X @ turn, X, PAIRS)
    np.testing.assert_array_equal(aligner.induced_pairs_[:, 0], aligner.induced_pairs_[:, 1])
    assert len(aligner.induced_pairs_) == 100


def test_self_learning_helps_where_pairs_are_few(rng):
    X, Y = related_vocabularies(rng, 300, 20, 20, noise=0.2)
    with pytest.warns(FippWarning, match="fewer than"):
        few = FIPP(0.2).fit(X, Y, PAIRS[:15])
    more = FIPP(0.2, self_learning=60).fit(X, Y, PAIRS[:15])
    assert more.score(X, Y) > few.score(X, Y)
