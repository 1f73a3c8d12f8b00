"""`Auto`: what was planted as the best method is chosen, on held-out pairs alone."""

import itertools
import re
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from fipp import Alignment, Auto, FippWarning, Local, Procrustes, SelfLearning, Spectral, Vectors
from fipp._deadline import Deadline
from fipp._progress import stages
from fipp.aligners._auto_search import Candidate, CandidateScore, Search
from fipp.aligners._holdout import held_out_parts, reciprocal_ranks, reciprocal_ranks_by_cosine_and_csls
from fipp.aligners._preprocessing import shared_preprocessing
from fipp.evaluate import bli

N, SEED = 800, 220


def pairs(start, stop):
    return np.stack([np.arange(start, stop)] * 2, axis=1)


def mrr(aligner, X, Y):
    held_out = np.arange(SEED, N)
    return bli(aligner.transform(X), aligner.transform_target(Y), held_out, held_out).mrr


def stretched(rng, d1=40, d2=40, noise=0.5):
    """Return two noisy views, each stretched along its own axes: no rotation brings them together."""
    hidden = rng.standard_normal((N, 20)) * np.linspace(2, 0.5, 20)
    sides = []
    for d in (d1, d2):
        turn = np.linalg.qr(rng.standard_normal((d, d)))[0][:20]
        sides.append((hidden @ turn + noise * rng.standard_normal((N, d))) * np.linspace(3, 0.3, d))
    return tuple(side.astype(np.float32) for side in sides)


def turned(rng):
    """Return a space and the same turned, with noise in the place of everything that a freer map could learn."""
    X = rng.standard_normal((N, 60))
    Y = X @ np.linalg.qr(rng.standard_normal((60, 60)))[0] + 1.3 * rng.standard_normal((N, 60))
    return X.astype(np.float32), Y.astype(np.float32)


def bent(rng):
    """Return a space of few dimensions and the same bent, as no linear map is."""
    hidden = rng.standard_normal((N, 5))
    hidden /= np.linalg.norm(hidden, axis=1, keepdims=True)
    bend = 0.8 * np.sin(2 * hidden @ rng.standard_normal((5, 10)))
    return hidden.astype(np.float32), (hidden @ rng.standard_normal((5, 10)) + bend).astype(np.float32)


@pytest.fixture(scope="module")
def spaces():
    return stretched(np.random.default_rng(0))


@pytest.fixture(scope="module")
def chosen(spaces):
    return Auto().fit(*spaces, pairs(0, SEED))


def only_the_first_stage(X, Y, known, progress=None, **settings):
    with pytest.warns(FippWarning, match="budget"):
        return Auto(budget=0, **settings).fit(X, Y, known, progress=progress)


def scores(aligner):
    return {trial["name"]: trial["mrr"] for trial in aligner.trials_}


def test_where_whitening_and_more_pairs_help_both_are_chosen(chosen, spaces):
    assert chosen.chosen_.startswith("spectral") and "self-learning" in chosen.chosen_
    learned = chosen.aligner_.aligner_ if isinstance(chosen.aligner_, Local) else chosen.aligner_
    assert isinstance(learned, Spectral) and len(chosen.induced_pairs_) > SEED
    np.testing.assert_array_equal(chosen.pairs_, pairs(0, SEED))
    np.testing.assert_array_equal(learned.pairs_, np.concatenate([chosen.pairs_, chosen.induced_pairs_]))
    assert mrr(chosen, *spaces) > mrr(Procrustes().fit(*spaces, pairs(0, SEED)), *spaces) + 0.05
    assert mrr(chosen, *spaces) > mrr(Spectral().fit(*spaces, pairs(0, SEED)), *spaces) + 0.02


def test_where_only_a_rotation_was_planted_procrustes_is_chosen(rng):
    aligner = Auto().fit(*turned(rng), pairs(0, SEED))
    assert aligner.chosen_.startswith("procrustes") and isinstance(aligner.aligner_, Procrustes)
    found = scores(aligner)
    assert found["procrustes"] > max(value for name, value in found.items() if name.startswith("spectral"))


def test_where_the_other_words_have_nothing_in_common_self_learning_is_not_chosen(rng):
    X, Y = stretched(rng, noise=1.0)
    # Beyond the known pairs, other words than those of the target.
    X[300:] = rng.permutation(X[300:]) @ np.linalg.qr(rng.standard_normal((40, 40)))[0]
    aligner = Auto().fit(X, Y, pairs(0, 300))
    assert "self-learning" not in aligner.chosen_
    found = scores(aligner)
    learned = [score for name, score in found.items() if "self-learning" in name]
    assert len(learned) >= 3 and max(learned) < found[aligner.chosen_] + 0.02
    np.testing.assert_array_equal(aligner.aligner_.pairs_, pairs(0, 300))
    assert aligner.induced_pairs_.shape == (0, 2)


def test_where_no_linear_map_fits_local_corrections_are_chosen_saved_and_loaded(rng, tmp_path):
    X, Y = bent(rng)
    aligner = Auto().fit(X, Y, pairs(0, 400))
    assert aligner.chosen_.endswith("local corrections") and isinstance(aligner.aligner_, Local)
    again = saved_and_loaded(aligner, X, Y, tmp_path)
    np.testing.assert_array_equal(again.transform(X), aligner.transform(X))
    np.testing.assert_array_equal(again.transform_target(Y), aligner.transform_target(Y))


def test_where_everything_is_perfect_the_simplest_is_chosen(rng):
    X = rng.standard_normal((N, 12)).astype(np.float32)
    Y = X @ np.linalg.qr(rng.standard_normal((12, 12)))[0].astype(np.float32)
    aligner = Auto().fit(X, Y, pairs(0, SEED))
    assert aligner.chosen_ == aligner.trials_[0]["name"]
    assert isinstance(aligner.aligner_, Spectral) and len(aligner.aligner_.pairs_) == SEED
    assert mrr(aligner, X, Y) == 1


def saved(aligner, X, Y, path):
    words = [str(i) for i in range(N)]
    Alignment(aligner, Vectors(words, X), Vectors(words, Y)).save(path)
    return path.read_bytes()


def saved_and_loaded(aligner, X, Y, folder):
    saved(aligner, X, Y, folder / "model.fipp")
    return Alignment.load(folder / "model.fipp").aligner


def test_what_was_tried_is_a_list_with_the_chosen_among_it(chosen):
    trials = chosen.trials_
    assert all(set(trial) == {"name", "mrr", "standard_error", "words"} for trial in trials)
    assert all(0 <= trial["mrr"] <= 1 and 0 <= trial["standard_error"] < 0.1 for trial in trials)
    names = [trial["name"] for trial in trials]
    assert len(names) == len(set(names)) and chosen.chosen_ in names
    corrected = f"{chosen.chosen_.removesuffix(', local corrections')}, local corrections"
    kinds = ("spectral, ridge", "procrustes", "fipp", "ridge", corrected)
    assert chosen.skipped_ == []
    assert all(any(name.startswith(kind) for name in names) for kind in kinds)


def test_the_figures_are_those_of_the_held_out_words_of_the_parts_that_a_method_was_tried_on(spaces, chosen):
    X, Y = spaces
    seed, hubs = pairs(0, SEED), np.linspace(0, N - 1, 500).astype(int)
    trial = next(trial for trial in chosen.trials_ if trial["name"] == "procrustes")
    ranks = []
    for part in held_out_parts(seed[:, 0], folds=4, random_state=0)[: 4 * trial["words"] // SEED]:
        procrustes = Procrustes().fit(X, Y, seed[~part])
        A, B = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (procrustes.transform(X), Y))
        hubness = np.sort(B @ A[hubs].T, axis=1)[:, -10:].mean(axis=1)
        for word in np.flatnonzero(part):
            cosines = A[word] @ B.T
            both = [1 / (1 + (by > by[word]).sum()) for by in (cosines, 2 * cosines - hubness)]
            ranks.append(np.mean(both))
    assert trial["words"] == len(ranks) == SEED // 4  # behind `Spectral` by far, so that one part is enough
    assert trial["mrr"] == pytest.approx(np.mean(ranks), abs=1e-6)
    assert trial["standard_error"] == pytest.approx(np.std(ranks, ddof=1) / np.sqrt(len(ranks)), abs=1e-6)


def test_who_is_clearly_behind_is_not_tried_on_further_parts_and_never_chosen(chosen):
    words = {trial["name"]: trial["words"] for trial in chosen.trials_}
    assert min(words.values()) == SEED // 4 and max(words.values()) == words[chosen.chosen_] == SEED


@pytest.mark.parametrize(
    ("n_pairs", "n_shared", "n_parts"),
    [(220, 0, 4), (400, 0, 3), (1000, 0, 2), (1000, 700, 4), (2000, 0, 1), (2000, 1200, 2)],
)
def test_as_many_parts_are_held_out_as_make_enough_words_to_compare_by(n_pairs, n_shared, n_parts):
    known = pairs(0, n_pairs)
    known[:n_shared, 1] //= 2
    search = Search(*np.ones((2, n_pairs, 4), np.float32), known, 0, 100)
    assert len(search.parts) == n_parts
    assert sum((part & search._telling).sum() for part in search.parts) >= min(n_pairs - n_shared, 200)


def test_the_ridge_is_looked_for_beyond_the_edge_that_wins(rng):
    aligner = only_the_first_stage(*stretched(rng, noise=1.6), pairs(0, SEED))
    ridges = [float(trial["name"].split()[-1]) for trial in aligner.trials_]
    best = float(aligner.chosen_.split()[-1])
    assert len(ridges) > 3 and not 1 < best < 4 and min(ridges) < best < max(ridges)


@pytest.mark.parametrize(
    ("gain", "taken"), [((0.02, 0.01), True), ((0.2, -0.05), False), ((0.2, 0.0), True), ((0.0, -0.1), False)]
)
def test_what_one_measure_gains_is_not_paid_for_by_the_other(gain, taken):
    search = Search(*np.ones((2, 300, 4), np.float32), pairs(0, 300), 0, 100)
    start = np.tile([0.4, 0.5], (2, 100))
    search._bests = [CandidateScore(Candidate("start", Procrustes()), start, ())]
    noise = 0.1 * np.where(np.arange(200) % 3, 1, -2)
    trial = CandidateScore(Candidate("other", Procrustes()), start + np.array(gain)[:, None] + noise, ())
    search._take_if_better(trial)
    assert (search.best is trial) == taken


def test_the_same_input_gives_the_same_choice_and_the_same_bits(spaces, chosen):
    again = Auto().fit(*spaces, pairs(0, SEED))
    assert (again.chosen_, again.trials_) == (chosen.chosen_, chosen.trials_)
    np.testing.assert_array_equal(again.transform(spaces[0]), chosen.transform(spaces[0]))


def test_another_random_state_holds_out_other_pairs(spaces, chosen):
    other = only_the_first_stage(*spaces, pairs(0, SEED), random_state=1)
    assert other.trials_ != chosen.trials_[: len(other.trials_)]


@pytest.mark.parametrize("limit", [{"budget": 0}, {"deadline": 0}], ids=str)
def test_without_any_budget_or_time_there_still_is_a_model_and_a_warning(spaces, limit):
    by = next(iter(limit))
    with pytest.warns(
        FippWarning, match=f"auto has not tried plain methods.*, local corrections.*: .*{by} of 0"
    ) as told:
        aligner = Auto(**limit).fit(*spaces, pairs(0, SEED))
    assert len(told) == 1 and told[0].filename == __file__
    assert [each["by"] for each in aligner.skipped_] == 5 * [by]
    assert len(aligner.trials_) >= 3 and aligner.chosen_.startswith("spectral")
    best = max(aligner.trials_, key=lambda trial: trial["mrr"])
    assert aligner.chosen_ == best["name"]
    assert mrr(aligner, *spaces) > 0.8


def test_a_budget_leaves_out_what_it_has_not_enough_for_and_tries_the_rest(spaces, chosen):
    work = {stage.name: stage.work for stage in Search(*spaces, pairs(0, SEED), 0, 30_000).stages()}
    budget = sum(work.values()) - work["ranking"]
    with pytest.warns(FippWarning, match=r"has not tried ranking \(.*budget=1 tries everything"):
        aligner = Auto(budget=budget * (1 + 1e-9)).fit(*spaces, pairs(0, SEED))
    assert aligner.skipped_ == [{"stage": "ranking", "work": round(work["ranking"], 3), "by": "budget"}]
    tried = " ".join(scores(aligner))
    assert "ranking" not in tried and "self-learning" in tried and "local" in tried
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Auto(budget=sum(work.values()) * (1 + 1e-9)).fit(*spaces, pairs(0, SEED)).trials_ == chosen.trials_


@pytest.mark.parametrize(
    ("max_words", "n_pairs", "left_out"),
    [
        (50_000, 987, set()),
        (50_000, 4581, set()),
        (3_000_000, 5000, set()),
        (300_000_000, 5000, {"plain methods"}),
    ],
)
def test_the_default_budget_is_enough_for_millions_of_words_and_leaves_out_what_is_not(max_words, n_pairs, left_out):
    vocabulary = np.broadcast_to(np.float32(1), (max_words, 300))
    search = Search(vocabulary, vocabulary, pairs(0, n_pairs), 0, 30_000)
    counted = [stage._replace(run=lambda: search.trials.append(None)) for stage in search.stages()]
    search.stages = lambda: counted
    search.run(Auto().budget, Deadline(None), stages(None, search.shares()))
    assert {skipped.stage for skipped in search.skipped} == left_out and len(search.trials) == 6 - len(left_out)


def test_the_manual_has_the_work_that_is_estimated():
    page = (Path(__file__).parents[2] / "docs" / "methods.md").read_text(encoding="utf-8")
    rows = re.findall(r"^  \| ([\d,]+) \| (.*) \|$", page, re.MULTILINE)
    assert len(rows) == 4
    for words, figures in rows:
        vocabulary = np.broadcast_to(np.float32(1), (int(words.replace(",", "")), 300))
        work = [stage.work for stage in Search(vocabulary, vocabulary, pairs(0, 5000), 0, 30_000).stages()]
        *told, total = figures.split(" | ")
        assert [re.match(r"[\d.]+", each)[0] for each in told] == [f"{each:.1f}" for each in work]
        tried = sum(work[i] for i, each in enumerate(told) if "skipped" not in each)
        assert total == (f"{tried:.1f} of {sum(work):.1f}" if "of" in total else f"{sum(work):.1f}")


def clocks(monkeypatch, seconds):
    """Let every look at a clock be so many seconds later than the one before."""
    ticks = itertools.count(1e9, seconds)
    for clock in ("monotonic", "perf_counter", "process_time", "time"):
        monkeypatch.setattr(time, clock, lambda: next(ticks))


@pytest.mark.parametrize("seconds", [0, 3600], ids=["time stands still", "hours pass"])
def test_a_slow_machine_gives_the_same_file(spaces, chosen, seconds, monkeypatch, tmp_path):
    expected = saved(chosen, *spaces, tmp_path / "expected.fipp")
    with monkeypatch.context() as patched:
        clocks(patched, seconds)
        slow = Auto().fit(*spaces, pairs(0, SEED))
    assert slow.trials_ == chosen.trials_ and slow.skipped_ == []
    assert saved(slow, *spaces, tmp_path / "slow.fipp") == expected


def test_a_deadline_is_looked_at_between_stages_and_says_that_another_run_may_differ(spaces, monkeypatch):
    monkeypatch.setattr("fipp._deadline.time", SimpleNamespace(monotonic=itertools.count().__next__))
    # One look at the clock sets it, one before each stage but the first asks whether it has passed.
    with pytest.warns(FippWarning, match="Another run may choose differently"):
        aligner = Auto(deadline=3.5).fit(*spaces, pairs(0, SEED))
    assert [each["stage"] for each in aligner.skipped_] == ["ranking", "local corrections"]
    assert "self-learning" in " ".join(scores(aligner))


def test_from_few_pairs_self_learning_is_taken_without_a_trial(spaces):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aligner = Auto().fit(*spaces, pairs(0, 60))
    assert aligner.chosen_ == "self-learning from few pairs" and aligner.trials_ == []
    assert isinstance(aligner.aligner_, SelfLearning)
    assert mrr(aligner, *spaces) > mrr(Spectral().fit(*spaces, pairs(0, 60)), *spaces)


def test_guesses_beside_too_few_pairs_are_a_start_and_are_then_forgotten(spaces, rng):
    right, wrong = pairs(100, 180), np.stack([np.arange(200, 240), rng.permutation(np.arange(200, 240))], axis=1)
    known, guesses = pairs(0, 3), np.concatenate([right, wrong])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        joined = Auto().fit(*spaces, known, guesses=guesses)
    assert joined.chosen_ == "self-learning from few pairs and words spelled alike"
    np.testing.assert_array_equal(joined.pairs_, known)
    found = set(map(tuple, joined.induced_pairs_.tolist()))
    assert not found & {(s, t) for s, t in wrong.tolist() if s != t}
    assert mrr(joined, *spaces) > mrr(Auto().fit(*spaces, pairs(0, 60)), *spaces) - 0.02


def test_a_map_that_finds_held_out_pairs_no_better_than_chance_comes_with_a_warning(spaces, rng):
    wrong = np.stack([np.arange(SEED), rng.permutation(SEED)], axis=1)
    with pytest.warns(FippWarning, match="the map is most likely wrong"):
        Auto().fit(*spaces, wrong)


def test_enough_pairs_do_not_need_guesses(spaces):
    wrong = np.stack([np.arange(200), np.arange(200)[::-1]], axis=1)
    alone, beside = Auto().fit(*spaces, pairs(0, 60)), Auto().fit(*spaces, pairs(0, 60), guesses=wrong)
    assert beside.chosen_ == "self-learning from few pairs"
    np.testing.assert_array_equal(beside.map_, alone.map_)


def test_small_losses_by_one_measure_do_not_add_up():
    search = Search(*np.ones((2, 300, 4), np.float32), pairs(0, 300), 0, 100)
    start = np.tile([0.4, 0.5], (2, 100))
    noise = 0.1 * np.where(np.arange(200) % 3, 1, -2)
    trials = [CandidateScore(Candidate("start", Procrustes()), start, ())]
    for step in (1, 2):  # a loss by CSLS of less than a standard error each, of more in all
        ranks = start + np.array([0.1, -0.006])[:, None] * step + noise
        trials.append(CandidateScore(Candidate(f"step {step}", Procrustes()), ranks, ()))
    search._bests = trials[:1]
    for trial in trials[1:]:
        search._take_if_better(trial)
    assert search.best is trials[1]


def test_with_fewer_pairs_than_dimensions_self_learning_is_taken_unless_it_is_worse(rng):
    """Held-out pairs of one kind, such as names, do not show what other words gain from self-learning."""
    d = 240
    hidden = rng.standard_normal((N, 20)) * np.linspace(2, 0.5, 20)
    X, Y = (
        (hidden @ np.linalg.qr(rng.standard_normal((d, d)))[0][:20] + 0.05 * rng.standard_normal((N, d))).astype("f4")
        for _ in range(2)
    )
    aligner = Auto().fit(X, Y, pairs(0, SEED))
    assert "self-learning" in aligner.chosen_ and len(aligner.induced_pairs_) > 300


def test_pairs_that_name_the_translation_of_a_similar_word_do_not_decide(spaces):
    X, _ = spaces
    known = pairs(0, 600)
    cosines = np.corrcoef(X[:600])
    np.fill_diagonal(cosines, -1)
    known[::3, 1] = cosines[::3].argmax(axis=1)
    search = Search(*spaces, known, 0, N)
    fitted = Spectral().fit(*spaces, known)
    for part in range(len(search.parts)):
        words = known[search.parts[part]]
        alone = words[[(known[:, 1] == target).sum() == 1 for target in words[:, 1]]]
        assert len(alone) < len(words)
        expected = reciprocal_ranks_by_cosine_and_csls(fitted, *spaces, alone, 500, N)
        np.testing.assert_array_equal(search._score(fitted, part), expected)


def test_source_words_are_counted_and_not_pairs(spaces):
    doubled = np.concatenate([pairs(0, 150), np.stack([np.arange(150), np.arange(1, 151)], axis=1)])
    assert Auto().fit(*spaces, doubled).chosen_ == "self-learning from few pairs"


def test_few_pairs_that_lead_astray_are_warned_of(rng):
    X, Y = rng.standard_normal((2, 500, 100)).astype(np.float32)
    with pytest.warns(FippWarning, match="gone astray"):
        Auto().fit(X, Y, pairs(0, 20))


@pytest.mark.parametrize(("d1", "d2"), [(40, 30), (30, 40)])
@pytest.mark.parametrize("n_pairs", [60, SEED])
def test_different_dimensions_are_aligned_saved_and_loaded(d1, d2, n_pairs, rng, tmp_path):
    X, Y = stretched(rng, d1, d2, noise=0.4)
    fit = only_the_first_stage if n_pairs == SEED else Auto().fit
    aligner = fit(X, Y, pairs(0, n_pairs))
    assert mrr(aligner, X, Y) > 20 * np.mean(1 / np.arange(1, N + 1))
    again = saved_and_loaded(aligner, X, Y, tmp_path)
    np.testing.assert_array_equal(again.transform(X), aligner.transform(X))
    np.testing.assert_array_equal(again.transform_target(Y), aligner.transform_target(Y))
    assert (again.chosen_, again.trials_) == (aligner.chosen_, aligner.trials_)


def test_what_was_chosen_is_saved_and_loaded(chosen, spaces, tmp_path):
    again = saved_and_loaded(chosen, *spaces, tmp_path)
    np.testing.assert_array_equal(again.transform(spaces[0]), chosen.transform(spaces[0]))
    np.testing.assert_array_equal(again.transform_target(spaces[1]), chosen.transform_target(spaces[1]))
    assert again.trials_ == chosen.trials_ and again.chosen_ == chosen.chosen_


def test_progress_goes_from_nothing_to_everything(spaces):
    told = []
    only_the_first_stage(*spaces, pairs(0, SEED), progress=lambda done, total: told.append(done / total))
    assert told[0] == 0 and told == sorted(told) and told[-1] == 1


def test_stages_are_named_and_share_the_whole(spaces):
    class Told(list):
        def __call__(self, done, total):
            pass

        stage = list.append

    told = Told()
    only_the_first_stage(*spaces, pairs(0, SEED), progress=told)
    shares = Search(*spaces, pairs(0, SEED), 0, 30_000).shares()
    assert told == list(shares) and sum(shares.values()) == pytest.approx(1)


def test_rows_of_zeros_stay_zero(chosen):
    assert not chosen.transform(np.zeros((2, 40))).any()
    assert not chosen.transform_target(np.zeros((2, 40))).any()


def test_settings_can_be_cloned_and_set(chosen):
    copied = clone(chosen).set_params(max_words=500)
    assert copied.get_params() == {"budget": 50.0, "deadline": None, "max_words": 500, "random_state": 0}
    assert not hasattr(copied, "map_") and not hasattr(copied, "aligner_")


@pytest.mark.parametrize("wrong", [{"budget": -1}, {"deadline": -1}, {"max_words": 0}, {"random_state": -1}], ids=str)
def test_invalid_settings_are_refused_and_named(wrong, spaces):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Auto(**wrong).fit(*spaces)


@pytest.mark.parametrize("n_hub_words", [5, 70, 500])
def test_one_look_gives_the_ranks_by_cosine_and_by_csls(rng, n_hub_words):
    X, Y = stretched(rng, noise=2.0)
    Y[40] = Y[41]  # an exact copy of a right word ties with it
    # Some words have several translations.
    held_out = np.concatenate([pairs(0, 60), np.stack([np.arange(20), np.arange(100, 120)], axis=1)])
    aligner = Procrustes().fit(X, Y, pairs(60, 200))
    found = reciprocal_ranks_by_cosine_and_csls(aligner, X, Y, held_out, n_hub_words, n_targets=N)
    for ranks, retrieval in zip(found, ("cosine", "csls"), strict=True):
        (expected,) = reciprocal_ranks([aligner], X, Y, held_out, retrieval=retrieval, n_hub_words=n_hub_words)
        np.testing.assert_allclose(ranks, expected, rtol=1e-12)


def spoilt(rng, n_pairs, n_wrong):
    """Return pairs of which the first ones have each other's translations."""
    known = pairs(0, n_pairs)
    known[:n_wrong, 1] = np.roll(known[:n_wrong, 1], 1)
    return rng.permutation(known)


def test_pairs_that_look_wrong_are_left_out_where_that_helps(spaces, rng, tmp_path):
    known = spoilt(rng, 400, 120)
    work = [stage.work for stage in Search(*spaces, known, 0, 30_000).stages()]
    with pytest.warns(FippWarning, match="not tried self-learning"):
        aligner = Auto(budget=sum(work[:3]) * (1 + 1e-9)).fit(*spaces, known)
    assert "without suspicious pairs" in aligner.chosen_
    wrong = aligner.left_out_pairs_[:, 0] != aligner.left_out_pairs_[:, 1]
    assert wrong.sum() > 100 and wrong.mean() > 0.8
    np.testing.assert_array_equal(aligner.pairs_, known)
    assert len(aligner.aligner_.pairs_) == len(known) - len(wrong) and len(aligner.induced_pairs_) == 0
    with_all = clone(aligner.aligner_).fit(*spaces, known)
    assert mrr(aligner, *spaces) > mrr(with_all, *spaces) + 0.02
    again = saved_and_loaded(aligner, *spaces, tmp_path)
    np.testing.assert_array_equal(again.left_out_pairs_, aligner.left_out_pairs_)
    assert again.induced_pairs_.shape == (0, 2)


def test_found_pairs_are_told_from_known_ones_where_some_of_these_are_left_out(spaces, rng):
    aligner = Auto().fit(*spaces, spoilt(rng, 400, 120))
    assert len(aligner.left_out_pairs_) > 100 and "self-learning" in aligner.chosen_
    given, found = ({tuple(pair) for pair in each.tolist()} for each in (aligner.pairs_, aligner.induced_pairs_))
    assert found and not given & found


def test_in_a_clean_seed_nothing_is_left_out(chosen):
    assert not any("suspicious" in trial["name"] for trial in chosen.trials_) and len(chosen.left_out_pairs_) == 0


def test_shared_preprocessing_is_fitted_once_for_each_array_and_gives_the_same_maps(rng):
    X, Y = stretched(rng)
    apart = [Spectral(ridge).fit(X, Y, pairs(0, SEED)) for ridge in (1.0, 2.0)]
    with shared_preprocessing():
        together = [Spectral(ridge).fit(X, Y, pairs(0, SEED)) for ridge in (1.0, 2.0)]
        other = Spectral().fit(2 * X + 1, Y, pairs(0, SEED))
        unlike = Procrustes("isotropic").fit(X, Y, pairs(0, SEED))
    assert together[0].source_preprocess_ is together[1].source_preprocess_
    assert together[0].target_preprocess_ is other.target_preprocess_ is not unlike.target_preprocess_
    assert other.source_preprocess_ is not together[0].source_preprocess_ is not together[0].target_preprocess_
    for one, two in zip(apart, together, strict=True):
        np.testing.assert_array_equal(one.transform(X), two.transform(X))
    assert Spectral().fit(X, Y).source_preprocess_ is not together[0].source_preprocess_
