"""PROC-B and DLV: pairs that are added, against loops over all words and an optimal assignment of all of them."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from fipp import DLV, BootstrapProcrustes, FippError, Procrustes
from fipp.aligners import from_state, to_state
from fipp.aligners.published._bootstrap import heaviest_matching

SEED = np.stack([np.arange(25), np.arange(25)], axis=1)
BOTH = [BootstrapProcrustes, DLV]


def turned(rng, n=300, d1=10, d2=10, noise=0.0):
    hidden = rng.standard_normal((n, max(d1, d2)))
    turn = np.linalg.qr(rng.standard_normal((hidden.shape[1], hidden.shape[1])))[0]
    Y = (hidden @ turn)[:, :d2]
    return hidden[:, :d1] + noise * rng.standard_normal((n, d1)), Y + noise * rng.standard_normal(Y.shape)


def literal_mutual_pairs(A, B):
    cosines = (A / np.linalg.norm(A, axis=1)[:, None]) @ (B / np.linalg.norm(B, axis=1)[:, None]).T
    return [(i, j) for i in range(len(A)) for j in [int(np.argmax(cosines[i]))] if np.argmax(cosines[:, j]) == i]


@pytest.mark.parametrize("keep_seed", [True, False])
def test_proc_b_is_procrustes_on_the_known_pairs_and_the_literal_mutual_ones(rng, keep_seed):
    X, Y = turned(rng, noise=0.4)
    aligner = BootstrapProcrustes(keep_seed).fit(X, Y, SEED)
    first = Procrustes("unit+centre+unit").fit(X, Y, SEED)
    found = literal_mutual_pairs(first.transform(X), first.transform_target(Y))
    expected = [pair for pair in found if min(pair) >= 25] if keep_seed else found
    assert [tuple(pair) for pair in aligner.induced_pairs_] == expected
    used = np.array([*SEED.tolist(), *expected] if keep_seed else expected)
    np.testing.assert_array_equal(aligner.pairs_, SEED)
    np.testing.assert_allclose(aligner.map_, Procrustes("unit+centre+unit").fit(X, Y, used).map_, atol=1e-5)


def best_assignment(weights):
    """The heaviest matching by the Hungarian method: every row may also stay alone for nothing."""
    padded = np.concatenate([np.maximum(weights, 0), np.zeros((len(weights), len(weights)))], axis=1)
    rows, columns = scipy.optimize.linear_sum_assignment(padded, maximize=True)
    return padded[rows, columns].sum()


@given(st.integers(1, 9), st.integers(1, 9), st.floats(0, 1), st.integers(0, 1000))
def test_the_matching_is_as_heavy_as_an_optimal_assignment(n, m, share, seed):
    rng = np.random.default_rng(seed)
    rows, columns = np.nonzero(rng.random((n, m)) < share)
    weights = rng.normal(0.2, 1, len(rows))
    chosen = heaviest_matching(rows, columns, weights)
    assert len(set(rows[chosen])) == len(set(columns[chosen])) == len(chosen)
    dense = np.full((n, m), -1.0)
    dense[rows, columns] = weights
    assert weights[chosen].sum() == pytest.approx(best_assignment(dense))
    assert (weights[chosen] > 0).all()


def test_a_round_of_dlv_is_the_optimal_assignment_of_all_words(rng):
    X, Y = turned(rng, n=120, noise=0.5)
    aligner = DLV(n_neighbours=95, n_iterations=1).fit(X, Y, SEED)
    first = Procrustes("unit+centre+unit").fit(X, Y, SEED)
    source, target = (side.astype(float)[25:] for side in (first.transform(X), first.transform_target(Y)))
    mean = target.mean(axis=0)
    apart = ((source[:, None] - target[None]) ** 2).sum(axis=2)
    weights = ((target - mean) ** 2).sum(axis=1)[None] / 2 - apart / 2
    padded = np.concatenate([np.maximum(weights, 0), np.zeros((95, 95))], axis=1)
    rows, columns = scipy.optimize.linear_sum_assignment(padded, maximize=True)
    expected = [(i + 25, j + 25) for i, j in zip(rows, columns, strict=True) if j < 95 and weights[i, j] > 0]
    assert [tuple(pair) for pair in aligner.induced_pairs_] == expected


def likelihood(aligner, X, Y):
    """What DLV minimises, of the words it matched and of those it left alone."""
    source, target = aligner.transform(X).astype(float), aligner.transform_target(Y).astype(float)
    pairs = np.concatenate([aligner.pairs_, aligner.induced_pairs_])
    alone = np.delete(target, pairs[:, 1], axis=0)
    return (((source[pairs[:, 0]] - target[pairs[:, 1]]) ** 2).sum() + ((alone - alone.mean(axis=0)) ** 2).sum()) / 2


def test_every_round_of_dlv_makes_its_objective_smaller(rng):
    X, Y = turned(rng, n=150, noise=0.6)
    values = [likelihood(DLV(125, n_iterations=n).fit(X, Y, SEED), X, Y) for n in (1, 2, 3, 20)]
    assert all(later <= earlier + 1e-4 for earlier, later in pairwise(values))


def test_dlv_stops_when_the_matching_stays(rng):
    aligner = DLV(n_iterations=100).fit(*turned(rng, noise=0.3), SEED)
    assert aligner.n_iter_ < 100


@pytest.mark.parametrize("cls", BOTH)
def test_a_planted_rotation_is_found_and_all_its_pairs(rng, cls):
    X, Y = turned(rng)
    aligner = cls().fit(X, Y, SEED)
    np.testing.assert_array_equal(aligner.pairs_, SEED)
    np.testing.assert_array_equal(aligner.induced_pairs_[:, 0], aligner.induced_pairs_[:, 1])
    assert len(aligner.induced_pairs_) == 300 - len(SEED)
    assert aligner.score(X, Y) == 1.0


@pytest.mark.parametrize("cls", BOTH)
def test_added_pairs_help_where_known_ones_are_few(rng, cls):
    X, Y = turned(rng, d1=30, d2=30, n=600, noise=0.4)
    few = Procrustes("unit+centre+unit").fit(X, Y, SEED)
    assert cls().fit(X, Y, SEED).score(X, Y) > few.score(X, Y) + 0.1


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize(("d1", "d2"), [(10, 14), (14, 10)])
def test_different_dimensions_are_mapped_to_the_target_dimension(rng, cls, d1, d2):
    X, Y = turned(rng, d1=d1, d2=d2)
    aligner = cls().fit(X, Y, SEED)
    assert aligner.transform(X).shape == (300, d2)
    assert aligner.score(X, Y) > 0.3  # by chance: 0.02


@pytest.mark.parametrize("cls", BOTH)
def test_no_word_of_the_seed_gets_a_second_translation_and_no_rare_word_any(rng, cls):
    X, Y = turned(rng, noise=0.5)
    aligner = cls(max_words=100).fit(X, Y, SEED)
    assert len(aligner.induced_pairs_)
    assert aligner.induced_pairs_.min() >= 25
    assert aligner.induced_pairs_.max() < 100
    for side in aligner.induced_pairs_.T:
        assert len(set(side)) == len(side)


@pytest.mark.parametrize("cls", BOTH)
def test_without_rounds_it_is_procrustes(rng, cls):
    X, Y = turned(rng, noise=0.3)
    expected = Procrustes("unit+centre+unit").fit(X, Y, SEED)
    np.testing.assert_array_equal(cls(n_iterations=0).fit(X, Y, SEED).map_, expected.map_)


@pytest.mark.parametrize("cls", BOTH)
def test_where_nothing_can_be_found_the_known_pairs_are_kept(rng, cls):
    X, Y = turned(rng, n=25)
    aligner = cls().fit(X, Y, SEED)
    np.testing.assert_array_equal(aligner.pairs_, SEED)
    assert aligner.induced_pairs_.shape == (0, 2)


@pytest.mark.parametrize("cls", BOTH)
def test_words_without_a_vector_are_never_added(rng, cls):
    X, Y = turned(rng)
    X[[40, 41]], Y[[50, 51]] = 0, 0
    aligner = cls().fit(X, Y, SEED)
    assert not set(aligner.induced_pairs_[:, 0]) & {40, 41}
    assert not set(aligner.induced_pairs_[:, 1]) & {50, 51}


@pytest.mark.parametrize("cls", BOTH)
def test_the_same_input_gives_the_same_bits_and_float32_is_enough(rng, cls):
    X, Y = turned(rng, noise=0.3)
    first = cls().fit(X, Y, SEED)
    np.testing.assert_array_equal(cls().fit(X, Y, SEED).map_, first.map_)
    narrow = cls().fit(X.astype(np.float32), Y.astype(np.float32), SEED)
    np.testing.assert_allclose(narrow.map_, first.map_, atol=1e-4)


@pytest.mark.parametrize("cls", BOTH)
def test_a_model_taken_apart_and_put_together_maps_alike(rng, cls):
    X, Y = turned(rng, noise=0.3)
    aligner = cls().fit(X, Y, SEED)
    np.testing.assert_array_equal(from_state(*to_state(aligner)).transform(X), aligner.transform(X))


@pytest.mark.parametrize("cls", BOTH)
def test_pairs_are_needed(rng, cls):
    X, Y = turned(rng)
    with pytest.raises(FippError, match="no pairs"):
        cls().fit(X, Y, np.empty((0, 2), int))
