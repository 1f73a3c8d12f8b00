"""Alignment without known pairs: found where there is something to find, refused where there is not."""

import itertools
import time

import numpy as np
import pytest

import fipp
from fipp import Alignment, Auto, FippError, FippWarning, Unsupervised, Vectors
from fipp._inputs import words_spelled_alike
from fipp.aligners import _unsupervised

N = 800


@pytest.fixture(scope="module")
def words():
    """Clusters of different sizes, so that words differ in how they are like others."""
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((30, 40))
    sizes = rng.dirichlet(np.ones(30))
    X = centres[rng.choice(30, size=1500, p=sizes)] + 0.7 * rng.standard_normal((1500, 40))
    turn = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    return X.astype(np.float32), (X @ turn + 0.02 * rng.standard_normal((1500, 40))).astype(np.float32)


@pytest.fixture(scope="module")
def alike():
    """Words all of which are as like to others as any, so that only guesses can tell which belong together."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, 40))
    Y = X @ np.linalg.qr(rng.standard_normal((40, 40)))[0] + 0.6 * rng.standard_normal((N, 40))
    return X.astype(np.float32), Y.astype(np.float32)


@pytest.fixture
def without_pot(monkeypatch):
    monkeypatch.setattr(_unsupervised, "can_couple", lambda: False)


def guesses(n_right=60, n_wrong=90):
    """Return guesses most of which are wrong."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(N)[: n_right + n_wrong]
    return np.stack([rows, np.concatenate([rows[:n_right], rng.permutation(N)[:n_wrong]])], axis=1)


def shuffled(pairs):
    return np.stack([pairs[:, 0], np.random.default_rng(0).permutation(pairs[:, 1])], axis=1)


def right(pairs):
    return float((pairs[:, 0] == pairs[:, 1]).mean())


def starts(aligner):
    return {each["start"]: each["consistency"] for each in aligner.starts_}


def test_a_planted_rotation_is_found_without_any_pairs(words):
    X, Y = words
    aligner = Unsupervised().fit(X, Y)
    assert aligner.score(X, Y) > 0.95
    assert aligner.consistency_ > 0.8
    assert len(aligner.pairs_) == aligner.n_guesses_ == 0
    assert list(starts(aligner)) == ["similarities"]


def test_guesses_are_enough_though_most_are_wrong_and_none_of_those_stays(alike):
    X, Y = alike
    aligner = Unsupervised().fit(X, Y, guesses=guesses())
    assert aligner.start_ == "spelling" and aligner.n_guesses_ == len(guesses())
    assert right(guesses()) < 0.5 and right(aligner.induced_pairs_) > 0.98
    assert aligner.score(X, Y) > 0.9
    assert len(aligner.pairs_) == 0
    found = starts(aligner)
    assert found["spelling"] == pytest.approx(aligner.consistency_, abs=1e-6) and found["similarities"] < 0.7


def test_pairs_are_taken_for_guesses(alike):
    by_pairs, by_guesses = Unsupervised().fit(*alike, guesses()), Unsupervised().fit(*alike, guesses=guesses())
    np.testing.assert_array_equal(by_pairs.map_, by_guesses.map_)
    assert len(by_pairs.pairs_) == 0


def test_wrong_guesses_do_no_harm_where_similarities_are_enough(words):
    wrong = np.stack([np.arange(50), np.arange(50) + 700], axis=1)
    aligner = Unsupervised().fit(*words, guesses=wrong)
    assert aligner.start_ == "similarities"
    np.testing.assert_array_equal(aligner.map_, Unsupervised().fit(*words).map_)


def test_without_a_start_that_beats_chance_it_is_refused_with_figures_and_advice(alike, without_pot):
    with pytest.raises(FippError, match=r"failed.*from 150 pairs of words spelled alike.*Most words.*Give known pairs"):
        Unsupervised().fit(*alike, guesses=shuffled(guesses()))
    with pytest.raises(FippError, match=r"failed.*similar similarities.*Hardly any words are spelled alike \(0\)"):
        Unsupervised().fit(*alike)


def test_unrelated_spaces_are_refused_whatever_is_spelled_alike(words, without_pot):
    unrelated = np.random.default_rng(2).standard_normal((1500, 40))
    with pytest.raises(FippError, match="has failed"):
        Unsupervised().fit(words[0], unrelated, guesses=guesses())


def test_a_coupling_is_tried_only_after_the_others_have_failed(alike, words, monkeypatch):
    monkeypatch.setattr(_unsupervised, "can_couple", lambda: True)
    monkeypatch.setattr(_unsupervised, "by_coupling", lambda X, Y: guesses())
    aligner = Unsupervised().fit(*alike)
    assert aligner.start_ == "gromov-wasserstein" and right(aligner.induced_pairs_) > 0.98
    assert list(starts(aligner)) == ["similarities", "gromov-wasserstein"]
    assert list(starts(Unsupervised().fit(*words))) == ["similarities"]


def test_a_deadline_leaves_out_further_starts_and_says_so(words, alike, without_pot):
    # Guesses are right in the first space, so that one start is enough; in the second they are wrong.
    right_ones = np.stack([np.arange(60)] * 2, axis=1)
    with pytest.warns(FippWarning, match="deadline of 0 seconds had passed before similarities") as told:
        aligner = Unsupervised(deadline=0).fit(*words, guesses=right_ones)
    assert len(told) == 1 and told[0].filename == __file__
    assert list(starts(aligner)) == ["spelling"]
    assert aligner.skipped_ == [{"start": "similarities", "by": "deadline"}]
    with pytest.raises(FippError, match=r"has failed.*deadline of 0 seconds had passed before similarities"):
        Unsupervised(deadline=0).fit(*alike, guesses=shuffled(guesses()))
    with pytest.warns(FippWarning, match="deadline"):
        assert Auto(deadline=0).fit(*words, guesses=right_ones).skipped_ == aligner.skipped_


def test_without_a_deadline_no_clock_is_looked_at(words, monkeypatch):
    expected = Unsupervised().fit(*words)
    for clock in ("monotonic", "perf_counter", "process_time", "time"):
        monkeypatch.setattr(time, clock, itertools.count(1e9, 3600).__next__)
    slow = Unsupervised().fit(*words)
    monkeypatch.undo()
    np.testing.assert_array_equal(slow.map_, expected.map_)
    assert slow.starts_ == expected.starts_ and slow.skipped_ == []


def test_words_are_coupled_by_pot_if_asked_for():
    pytest.importorskip("ot", reason="POT is an extra")
    rng = np.random.default_rng(0)
    Y = (rng.standard_normal((200, 20)) ** 3).astype(np.float32)
    X = Y @ np.linalg.qr(rng.standard_normal((20, 20)))[0].astype(np.float32)
    aligner = Unsupervised(start="gromov-wasserstein").fit(X, Y)
    assert list(starts(aligner)) == ["gromov-wasserstein"] and aligner.score(X, Y) == 1


def test_a_coupling_that_cannot_be_calculated_is_a_start_that_failed(alike, monkeypatch):
    def refuse(*_, **__):
        raise FippError("entropy is too small")

    monkeypatch.setattr(_unsupervised, "can_couple", lambda: True)
    monkeypatch.setattr(_unsupervised.GromovWasserstein, "fit", refuse)
    with pytest.raises(FippError, match=r"has failed.*0\.00 from words that a Gromov-Wasserstein"):
        Unsupervised().fit(*alike)


def test_only_the_start_that_is_asked_for_is_tried(words):
    aligner = Unsupervised(start="similarities").fit(*words, guesses=guesses())
    assert list(starts(aligner)) == ["similarities"]
    with pytest.raises(FippError, match="no words are spelled alike"):
        Unsupervised(start="spelling").fit(*words)


def test_guesses_outside_the_vocabularies_are_refused(alike):
    with pytest.raises(FippError, match="rows"):
        Unsupervised().fit(*alike, guesses=[(0, N)])


def test_guesses_with_vectors_of_zeros_are_left_out(alike):
    X, Y = (side.copy() for side in alike)
    X[guesses()[:5, 0]] = 0
    assert Unsupervised().fit(X, Y, guesses=guesses()).n_guesses_ == len(guesses()) - 5


def test_the_same_input_gives_the_same_bits(alike):
    one, other = (Unsupervised().fit(*alike, guesses=guesses()) for _ in range(2))
    np.testing.assert_array_equal(one.map_, other.map_)
    assert one.starts_ == other.starts_


def test_progress_goes_from_nothing_to_everything_and_never_back(alike):
    told = []
    Unsupervised().fit(*alike, guesses=guesses(), progress=lambda done, total: told.append(done / total))
    assert told[0] == 0 and told[-1] == 1 and told == sorted(told)


def test_vocabularies_of_different_size_need_no_pairs(words, tmp_path):
    X, Y = words
    source, target = (Vectors([f"{i}" for i in range(len(side))], side) for side in (X[:1200], Y))
    alignment = fipp.align(source, target, method="unsupervised")
    assert alignment.aligner.n_guesses_ == 1200
    alignment.save(tmp_path / "model.fipp")
    again = Alignment.load(tmp_path / "model.fipp").aligner
    np.testing.assert_array_equal(again.transform(X), alignment.aligner.transform(X))
    assert (again.start_, again.starts_, again.n_guesses_) == ("spelling", alignment.aligner.starts_, 1200)
    assert alignment.translate("7", k=1)[0].word == "7"


def test_auto_without_a_lexicon_begins_with_words_spelled_alike(alike, tmp_path):
    X, Y = alike
    # Every tenth word is spelled alike, and as many more are alike by chance.
    source = Vectors([f"{i}" if i % 10 == 0 else f"{i}." if i % 10 == 1 else f"s{i}x" for i in range(N)], X)
    target = Vectors([f"{i}" if i % 10 == 0 else f"{i - 1}." if i % 10 == 2 else f"t{i}y" for i in range(N)], Y)
    alignment = fipp.align(source, target, method="auto")
    assert alignment.aligner.chosen_ == "without known pairs, from 160 pairs of words spelled alike"
    assert alignment.aligner.trials_ == [] and len(alignment.aligner.pairs_) == 0
    assert alignment.aligner.score(X, Y) > 0.9
    by_hand = Unsupervised().fit(X, Y, guesses=words_spelled_alike(source, target).lookup(source, target).rows)
    np.testing.assert_array_equal(alignment.aligner.map_, by_hand.map_)
    alignment.save(tmp_path / "model.fipp")
    again = Alignment.load(tmp_path / "model.fipp").aligner
    np.testing.assert_array_equal(again.transform(X), alignment.aligner.transform(X))
    assert again.chosen_ == alignment.aligner.chosen_


def test_auto_with_known_pairs_still_takes_them_for_known_after_it_did_without(alike):
    known = np.stack([np.arange(60)] * 2, axis=1)
    aligner = Auto().fit(*alike, guesses=guesses())
    assert aligner.chosen_.startswith("without known pairs")
    assert aligner.fit(*alike, known).chosen_ == "self-learning from few pairs"
    np.testing.assert_array_equal(aligner.pairs_, known)


def test_words_spelled_alike_are_used_beside_few_known_pairs(alike):
    X, Y = alike
    source = Vectors([f"{i}" for i in range(len(X))], X)
    target = Vectors([f"{i}" if i % 10 == 0 else f"t{i}y" for i in range(len(Y))], Y)
    lexicon = fipp.Lexicon([("3", "t3y"), ("4", "t4y")])
    alignment = fipp.align(source, target, lexicon, "auto")
    assert alignment.aligner.chosen_ == "self-learning from few pairs and words spelled alike"
    assert alignment.seed["found"] == 2 and alignment.aligner.score(X, Y) > 0.9


def test_a_method_that_learns_from_pairs_asks_for_them(words):
    source, target = (Vectors([f"{i}" for i in range(1500)], side) for side in words)
    with pytest.raises(FippError, match="give a lexicon"):
        fipp.align(source, target, method="procrustes")


@pytest.mark.parametrize("wrong", [{"start": "guess"}, {"max_words": 0}, {"n_iterations": 0}, {"margin": 2}], ids=str)
def test_invalid_settings_are_refused_and_named(wrong, alike):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Unsupervised(**wrong).fit(*alike)


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        (np.ones((50, 5)), np.ones((50, 5)), "only one source vector"),
        (np.ones((1, 5)), np.ones((1, 5)), "only one source vector"),
        (np.zeros((50, 5)), np.ones((50, 5)), "every source vector is zero"),
        (np.ones((50, 5)), np.zeros((50, 5)), "every target vector is zero"),
    ],
)
def test_vectors_without_any_differences_are_refused_by_what_is_wrong_with_them(X, Y, message):
    with pytest.raises(FippError, match=message):
        Unsupervised().fit(X, Y)
