"""`Ranking`: maps refined so that known pairs rank first, for as many steps as held-out pairs gain from."""

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from fipp import (
    CCA,
    FIPP,
    PLS,
    Alignment,
    FippError,
    Local,
    Procrustes,
    Ranking,
    ResidualMLP,
    Ridge,
    SelfLearning,
    Spectral,
    Vectors,
)
from fipp.aligners._ranking import Contest, Descent, MappedLoss, Words, first_and, relaxed_csls

LINEAR = [None, FIPP(), Procrustes(), CCA(), PLS(), Ridge(), Spectral(target="fixed"), SelfLearning(Procrustes())]
N, SEED = 700, 300


def pairs(start, stop):
    return np.stack([np.arange(start, stop)] * 2, axis=1)


def noisy(rng, d1=12, d2=12):
    """Return two views of the same words with noise that differs from direction to direction, unlike a rotation."""
    hidden = rng.standard_normal((N, 8))
    turns = [np.linalg.qr(rng.standard_normal((d, d)))[0] for d in (d1, d2)]
    noise = [np.pad(np.zeros(8), (0, d - 8), constant_values=1.5) + 0.3 for d in (d1, d2)]
    X, Y = (
        (np.pad(hidden, ((0, 0), (0, d - 8))) + rng.standard_normal((N, d)) * scale) @ turn
        for d, turn, scale in zip((d1, d2), turns, noise, strict=True)
    )
    return X.astype(np.float32), Y.astype(np.float32)


@pytest.fixture
def spaces(rng):
    return noisy(rng)


def mrr(aligner, X, Y):
    return aligner.score(X[SEED:], Y[SEED:])


@pytest.fixture
def contest(rng):
    """Return words of both sides and a contest with words of several translations, on either side."""
    known = np.array([[0, 0], [0, 1], [1, 1], [2, 2], [3, 3], [4, 2]])
    near = [rng.permuted(np.tile(np.arange(9), (6, 1)), axis=1)[:, :4] for _ in range(2)]
    return rng.standard_normal((9, 5)), rng.standard_normal((9, 5)), Contest(known, *near)


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("side", ["source", "target"])
def test_gradients_are_those_of_finite_differences(side, contest, rng):
    Z, T, drawn = contest
    function = MappedLoss(Z, T, drawn)
    maps = [np.eye(5) + 0.3 * rng.standard_normal((5, 5)) for _ in range(2)]
    place = ["source", "target"].index(side)
    found, expected = function(*maps)[1 + place], np.empty((5, 5))
    for entry in np.ndindex(5, 5):
        values = []
        for change in (1e-6, -1e-6):
            changed = [W.copy() for W in maps]
            changed[place][entry] += change
            values.append(function(*changed)[0])
        expected[entry] = (values[0] - values[1]) / 2e-6
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)


def test_the_relaxed_csls_loss_is_that_of_a_loop_over_pairs(contest):
    S, T, drawn = unit(contest[0]), unit(contest[1]), contest[2]
    total = 0.0
    for number, (i, j) in enumerate(drawn.pairs.tolist()):
        r_source = np.mean([S[i] @ T[m] for m in drawn.near_targets[number]])
        r_target = np.mean([S[m] @ T[j] for m in drawn.near_sources[number]])
        total -= 2 * S[i] @ T[j] - r_source - r_target
    assert relaxed_csls(S, T, drawn)[0] == pytest.approx(total / 6)


@pytest.mark.parametrize("start", [FIPP(), Procrustes()], ids=str)
def test_words_that_were_held_out_are_found_better(start, spaces):
    plain = clone(start).fit(*spaces, pairs(0, SEED))
    refined = Ranking(start, learning_rate=0.05, n_steps=8).fit(*spaces, pairs(0, SEED))
    assert refined.n_steps_ > 0
    assert refined.holdout_scores_[refined.n_steps_] == refined.holdout_scores_.max()
    assert mrr(refined, *spaces) > mrr(plain, *spaces) + 0.05


@pytest.mark.parametrize("start", [None, FIPP(), Procrustes()], ids=str)
def test_what_cannot_be_bettered_is_left_alone_to_the_bit(start, rng):
    X = rng.standard_normal((400, 8)).astype(np.float32)
    Y = X @ np.linalg.qr(rng.standard_normal((8, 8)))[0].astype(np.float32)
    plain = (Spectral() if start is None else clone(start)).fit(X, Y, pairs(0, 200))
    refined = Ranking(start).fit(X, Y, pairs(0, 200))
    assert refined.n_steps_ == len(refined.losses_) == 0 and refined.holdout_scores_[0] == 1
    np.testing.assert_array_equal(refined.transform(X), plain.transform(X))
    np.testing.assert_array_equal(refined.transform_target(Y), plain.transform_target(Y))


@pytest.mark.parametrize(("loss_of_others", "expected"), [(0.099, 0), (0.0, 1)])
def test_a_gain_within_a_standard_error_counts_for_none(loss_of_others, expected, spaces, monkeypatch):
    five_parts, asked = 5, []

    def ranks(queries, keys, position, gold):
        """Every other word gains 0.1 by the first step, and the rest lose something."""
        asked.append(len(queries))
        change = np.where(np.arange(len(queries)) % 2, 0.1, -loss_of_others)
        return 0.5 + change[None] * (five_parts < len(asked) <= 2 * five_parts)

    monkeypatch.setattr("fipp.aligners._ranking.best_reciprocal_ranks", ranks)
    aligner = Ranking(n_steps=2).fit(*spaces, pairs(0, SEED))
    assert asked == 3 * five_parts * [SEED // five_parts]
    assert aligner.n_steps_ == expected and np.argmax(aligner.holdout_scores_) == 1


@pytest.mark.parametrize("start", LINEAR, ids=str)
@pytest.mark.parametrize(("d1", "d2"), [(12, 15), (15, 12)])
def test_every_linear_aligner_is_refined_saved_and_loaded(start, d1, d2, rng, tmp_path):
    if start is not None and "Procrustes" in repr(start):
        d1 = d2
    X, Y = noisy(rng, d1, d2)
    aligner = Ranking(start, n_steps=2, holdout=None).fit(X, Y, pairs(0, SEED))
    plain = (Spectral() if start is None else clone(start)).fit(X, Y, pairs(0, SEED))
    assert aligner.n_steps_ == 2
    assert not np.array_equal(aligner.transform(X), plain.transform(X))
    assert not np.array_equal(aligner.transform_target(Y), plain.transform_target(Y))
    words = [str(i) for i in range(N)]
    Alignment(aligner, Vectors(words, X), Vectors(words, Y)).save(tmp_path / "model.fipp")
    again = Alignment.load(tmp_path / "model.fipp").aligner
    np.testing.assert_array_equal(again.transform(X), aligner.transform(X))
    np.testing.assert_array_equal(again.transform_target(Y), aligner.transform_target(Y))


@pytest.mark.parametrize("start", [FIPP(), PLS(), SelfLearning(Procrustes())], ids=str)
def test_the_result_is_what_the_start_gives_times_the_maps_of_the_descent(start, spaces):
    X, Y = spaces
    aligner = Ranking(start, n_steps=3, holdout=None).fit(X, Y, pairs(0, SEED))
    plain = clone(start).fit(X, Y, pairs(0, SEED))
    descent = aligner._descent(plain, X, Y, pairs(0, SEED))
    for _ in range(3):
        descent.step()
    np.testing.assert_allclose(aligner.transform(X), plain.transform(X) @ descent.P, atol=1e-4)
    np.testing.assert_allclose(aligner.transform_target(Y), plain.transform_target(Y) @ descent.Q, atol=1e-4)


@pytest.mark.parametrize("start", [None, FIPP()], ids=str)
def test_a_fixed_target_stays_where_it_was(start, spaces):
    plain = (Spectral() if start is None else clone(start)).fit(*spaces, pairs(0, SEED))
    aligner = Ranking(start, target="fixed", n_steps=2, holdout=None).fit(*spaces, pairs(0, SEED))
    np.testing.assert_array_equal(aligner.transform_target(spaces[1]), plain.transform_target(spaces[1]))
    assert not np.array_equal(aligner.transform(spaces[0]), plain.transform(spaces[0]))


def test_the_loss_of_the_same_contest_falls(spaces):
    words = Words(*spaces, N, pairs(0, SEED))
    descent = Descent(words, 5, 0.01, True, np.random.default_rng(0))
    for _ in range(3):
        descent.step()
    assert np.all(np.diff(descent.losses) < 0)


def test_the_first_step_has_the_length_that_was_asked_for(spaces):
    descent = Descent(Words(*spaces, N, pairs(0, SEED)), 5, 0.03, True, np.random.default_rng(0))
    descent.step()
    change = np.linalg.norm([descent.P - np.eye(12), descent.Q - np.eye(12)])
    assert change == pytest.approx(0.03 * np.sqrt(24))


def test_the_result_has_the_same_bits_whatever_the_number_of_threads(spaces):
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.append(Ranking(Procrustes(), n_steps=3).fit(*spaces, pairs(0, SEED)).transform(spaces[0]))
    np.testing.assert_array_equal(*results)


def test_of_very_many_pairs_some_are_drawn_the_same_ones_every_time(spaces, monkeypatch):
    monkeypatch.setattr("fipp.aligners._ranking.PAIRS_AT_ONCE", 50)
    first, second, other = (
        Ranking(n_steps=2, holdout=None, random_state=seed).fit(*spaces, pairs(0, SEED)).map_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("holdout", [0.2, None])
def test_progress_goes_to_the_end_and_never_back(holdout, spaces):
    told = []
    Ranking(n_steps=6, holdout=holdout).fit(*spaces, pairs(0, SEED), progress=lambda *now: told.append(now))
    done = [now for now, _ in told]
    assert done == sorted(done) and told[-1][0] == told[-1][1] and len({total for _, total in told}) == 1


def test_few_pairs_hold_nothing_out_and_take_no_step(spaces):
    aligner = Ranking(Procrustes()).fit(*spaces, pairs(0, 20))
    assert aligner.n_steps_ == 0 and len(aligner.holdout_scores_) == 0


@pytest.mark.parametrize("bent", [Local(Procrustes()), ResidualMLP(), SelfLearning(Local(Procrustes()))], ids=str)
@pytest.mark.filterwarnings("ignore::fipp.FippWarning")
def test_what_is_not_linear_is_refused_in_words(bent, spaces):
    with pytest.raises(FippError, match="linear"):
        Ranking(bent).fit(*spaces, pairs(0, 20))


def test_it_can_be_refined_further_by_methods_that_wrap_it(spaces):
    aligner = Local(Ranking(FIPP(), n_steps=3)).fit(*spaces, pairs(0, SEED))
    assert mrr(aligner, *spaces) > 0.2


def test_rare_words_of_pairs_are_listed_after_the_frequent_ones():
    listed, places = first_and(np.array([7, 2, 9, 7]), 4)
    np.testing.assert_array_equal(listed, [0, 1, 2, 3, 7, 9])
    np.testing.assert_array_equal(listed[places], [7, 2, 9, 7])


@pytest.mark.parametrize(
    "wrong",
    [
        {"target": "free"},
        {"learning_rate": 0},
        {"n_steps": -1},
        {"n_neighbours": 0},
        {"max_words": 0},
        {"holdout": 0.7},
    ],
    ids=str,
)
def test_invalid_settings_are_refused_and_named(wrong, spaces):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Ranking(**wrong).fit(*spaces)
