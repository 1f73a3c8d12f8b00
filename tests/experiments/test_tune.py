"""Settings are chosen on held-out seed pairs, as a plain loop would choose them, and by nothing else."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import fipp
from fipp import FIPP, FippError, FippWarning, Lexicon, Procrustes, Vectors
from fipp.aligners import BaseAligner, held_out_parts
from fipp.experiments import tune_arrays
from fipp.preprocess import Isotropic, with_components
from fipp.retrieve import ranks_of_gold

GRID = {"epsilon": [0.05, 0.2, None], "lam": [0.25, 1.0]}


@pytest.fixture
def spaces(rng):
    """Two noisy views of one space, with pairs of which some share their source row."""
    Y = rng.standard_normal((240, 10)) * np.linspace(2, 0.5, 10)
    X = Y @ np.linalg.qr(rng.standard_normal((10, 10)))[0] + 0.8 * rng.standard_normal((240, 10))
    pairs = np.array([(i, i) for i in range(120)] + [(i, i + 1) for i in range(0, 120, 7)])
    return X, Y, pairs


def reciprocal_ranks_by_loop(aligner, X, Y, holdout):
    """For each word, 1 / rank of its best translation by cosine; every step by hand, in float64."""
    mapped = aligner.transform(X).astype(float)
    keys = aligner.transform_target(Y).astype(float)
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    found = []
    for word in sorted(set(holdout[:, 0])):
        scores = keys @ (mapped[word] / np.linalg.norm(mapped[word]))
        ranks = [(scores >= scores[gold]).sum() for source, gold in holdout if source == word]
        found.append(1 / min(ranks))
    return np.array(found)


class Spy(BaseAligner):
    """Aligns by the identity and writes down what it was fitted on; ``quality`` spoils the map."""

    seen: list = []  # noqa: RUF012

    def __init__(self, quality=1.0, preprocess=None):
        self.quality = quality
        self.preprocess = preprocess

    _parameter_constraints = {"quality": "no_validation", "preprocess": "no_validation"}  # noqa: RUF012

    def _fit_seed(self, X_s, X_t, progress):
        Spy.seen.append(self.pairs_)
        spoilt = np.random.default_rng(0).standard_normal((X_s.shape[1], X_s.shape[1]))
        self.map_ = (self.quality * np.eye(X_s.shape[1]) + (1 - self.quality) * spoilt).astype(np.float32)


@pytest.fixture
def spy():
    Spy.seen = []
    return Spy()


def test_a_planted_optimum_is_found(spaces, spy):
    _, Y, _ = spaces
    tuning = tune_arrays(Y, Y, None, spy, grid={"quality": [0.0, 0.5, 1.0, -1.0]})
    assert tuning.best_params == {"quality": 1.0} and tuning.best_score == 1
    assert tuning.aligner.quality == 1.0 and tuning.best.behind == 0
    assert tuning.defaults is tuning.best


def test_removing_the_component_that_hides_everything_is_found(rng):
    Y = rng.standard_normal((300, 12))
    turn = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    # Two large directions that have nothing to do with the pairs.
    X = Y @ turn + 0.2 * rng.standard_normal(Y.shape)
    for direction in np.linalg.qr(rng.standard_normal((12, 2)))[0].T:
        X = X + 15 * rng.standard_normal((300, 1)) * direction
    tuning = tune_arrays(X, Y, [(i, i) for i in range(200)], preprocess="isotropic-textbook", components=[0, 1, 2, 3])
    assert tuning.best_params["components"] >= 2
    assert tuning.aligner.preprocess.n_components == tuning.best_params["components"]


@pytest.mark.parametrize("how", [{}, {"holdout": 0.4}, {"folds": 3}])
def test_held_out_pairs_are_never_fitted_and_all_pairs_are_in_the_end(spaces, spy, how):
    X, Y, pairs = spaces
    tuning = tune_arrays(X, Y, pairs, spy, grid={"quality": [0.5, 1.0]}, **how)
    *tried, last = Spy.seen
    everything = set(map(tuple, pairs.tolist()))
    assert set(map(tuple, last.tolist())) == everything
    held_out_words = []
    for learned in tried[::2]:
        holdout = everything - set(map(tuple, learned.tolist()))
        words = {source for source, _ in holdout}
        assert words and not words & set(learned[:, 0].tolist())
        held_out_words += words
    assert len(held_out_words) == len(set(held_out_words)) == tuning.holdout
    expected = {None: 24, 3: 120}[how.get("folds")] if "holdout" not in how else 48
    assert tuning.holdout == expected and tuning.pairs == len(pairs)


@pytest.mark.parametrize("retrieval", ["cosine", "dot", "csls"])
def test_the_scores_are_those_of_separate_fits(spaces, retrieval):
    X, Y, pairs = spaces
    tuning = tune_arrays(X, Y, pairs, grid=GRID, retrieval=retrieval, components=[1, 2])
    (part,) = held_out_parts(pairs[:, 0])
    assert len(tuning.table) == 12
    for trial in tuning.table:
        aligner = FIPP(trial.params["epsilon"], trial.params["lam"], preprocess=Isotropic(trial.params["components"]))
        aligner.fit(X, Y, pairs[~part])
        if retrieval == "cosine":
            found = reciprocal_ranks_by_loop(aligner, X, Y, pairs[part])
        else:
            ranks = ranks_of_gold(
                aligner.transform(X), aligner.transform_target(Y), *pairs[part].T, retrieval=retrieval
            )
            found = np.array([(1 / ranks)[pairs[part][:, 0] == word].max() for word in np.unique(pairs[part][:, 0])])
        assert trial.mrr == pytest.approx(found.mean(), abs=1e-9)
        assert trial.standard_error == pytest.approx(found.std(ddof=1) / len(found) ** 0.5)
    assert tuning.best_score == max(trial.mrr for trial in tuning.table)


def test_folds_are_scored_as_a_loop_over_them_would(spaces):
    X, Y, pairs = spaces
    tuning = tune_arrays(X, Y, pairs, grid={"lam": [0.25, 1.0]}, folds=4, random_state=3)
    parts = held_out_parts(pairs[:, 0], folds=4, random_state=3)
    found = {}
    for lam in (0.25, 1.0):
        fitted = [FIPP(lam=lam).fit(X, Y, pairs[~part]) for part in parts]
        found[lam] = np.concatenate(
            [reciprocal_ranks_by_loop(a, X, Y, pairs[part]) for a, part in zip(fitted, parts, strict=True)]
        )
    for trial in tuning.table:
        scores, best = found[trial.params["lam"]], found[tuning.best_params["lam"]]
        assert trial.mrr == pytest.approx(scores.mean(), abs=1e-9)
        assert trial.behind == pytest.approx((best - scores).mean(), abs=1e-9)
        assert trial.behind_error == pytest.approx((best - scores).std(ddof=1) / len(best) ** 0.5)


def test_one_pass_fits_what_differs_in_epsilon_and_lambda_only(spaces, monkeypatch):
    X, Y, pairs = spaces
    paths = []
    fit_together = FIPP._fit_together
    monkeypatch.setattr(FIPP, "_fit_together", lambda self, *a: paths.append(a[0]) or fit_together(self, *a))
    tune_arrays(X, Y, pairs, components=[1, 2, 3], refit=False)
    assert [(len({a.epsilon for a in path}), len({a.lam for a in path}), len(path)) for path in paths] == [
        (5, 5, 25)
    ] * 3


@pytest.mark.parametrize("setting", [{"solver": "eigen"}, {"n_rounds": 2}])
def test_without_a_path_every_setting_is_fitted_by_itself(spaces, setting):
    X, Y, pairs = spaces
    tuning = tune_arrays(X, Y, pairs, grid={"lam": [0.25, 1.0]}, refit=False, **setting)
    (part,) = held_out_parts(pairs[:, 0])
    for trial in tuning.table:
        aligner = FIPP(lam=trial.params["lam"], **setting).fit(X, Y, pairs[~part])
        assert trial.mrr == pytest.approx(reciprocal_ranks_by_loop(aligner, X, Y, pairs[part]).mean(), abs=1e-9)


def test_a_solver_can_be_among_what_is_chosen(spaces):
    X, Y, pairs = spaces
    tuning = tune_arrays(X, Y, pairs, grid={"solver": ["linear", "eigen"], "lam": [0.5, 1.0]}, refit=False)
    assert len(tuning.table) == 4 and tuning.aligner is None


def test_fit_many_gives_what_fit_gives(spaces):
    X, Y, pairs = spaces
    settings = [{"lam": 0.5}, {"epsilon": None}, {"lam": 0.5, "epsilon": 0.2}]
    for fitted, changed in zip(FIPP().fit_many(X, Y, pairs, settings=settings), settings, strict=True):
        np.testing.assert_allclose(fitted.map_, FIPP(**changed).fit(X, Y, pairs).map_, atol=1e-5)
    mixed = FIPP().fit_many(X, Y, pairs, settings=[{"lam": 0.5}, {"weighting": None}])
    np.testing.assert_array_equal(mixed[1].map_, FIPP(weighting=None).fit(X, Y, pairs).map_)


def test_the_chosen_aligner_is_fitted_on_all_pairs(spaces):
    X, Y, pairs = spaces
    tuning = tune_arrays(X, Y, pairs, grid=GRID)
    expected = FIPP(**tuning.best_params).fit(X, Y, pairs)
    np.testing.assert_array_equal(tuning.aligner.map_, expected.map_)


def test_the_same_input_gives_the_same_choice_and_another_random_state_other_words(spaces):
    X, Y, pairs = spaces
    first, second, other = (tune_arrays(X, Y, pairs, grid=GRID, random_state=state).as_dict() for state in (0, 0, 1))
    assert first == second != other


def test_of_equal_settings_the_defaults_are_taken(spaces, spy):
    _, Y, _ = spaces
    # Positive multiples of the identity: all find everything.
    tuning = tune_arrays(Y, Y, None, clone(spy), grid={"preprocess": ["unit", None], "quality": [1.0]})
    assert tuning.best_params == {"preprocess": None, "quality": 1.0} and tuning.defaults is tuning.best
    assert "1 of 1 other setting is within one standard error" in tuning.note
    fewest = tune_arrays(Y, Y, None, "procrustes", grid={"components": [3, 2]}, preprocess="isotropic")
    assert [trial.mrr for trial in fewest.table] == [1, 1] and fewest.best_params == {"components": 2}


def test_procrustes_chooses_its_preprocessing(spaces):
    X, Y, pairs = spaces
    tuning = tune_arrays(X, Y, pairs, Procrustes())
    assert [trial.params["preprocess"] for trial in tuning.table] == ["unit", "isotropic"]
    assert tuning.defaults is tuning.table[0] and tuning.method == "Procrustes"


def test_words_give_an_alignment_that_knows_its_held_out_score(spaces, tmp_path):
    X, Y, pairs = spaces
    source = Vectors([f"e{i}" for i in range(len(X))], X)
    target = Vectors([f"f{i}" for i in range(len(Y))], Y)
    lexicon = Lexicon([(f"e{i}", f"f{j}") for i, j in pairs.tolist()] + [("unknown", "f0")])
    tuning = fipp.tune(source, target, lexicon, grid=GRID)
    assert tuning.as_dict() == tune_arrays(X, Y, pairs, grid=GRID).as_dict()
    assert tuning.alignment.aligner is tuning.aligner
    assert tuning.alignment.seed["total"] == len(pairs) + 1
    tuning.alignment.save(tmp_path / "m.fipp")
    kept = fipp.Alignment.load(tmp_path / "m.fipp").scores["tuning"]
    assert kept["best_score"] == tuning.best_score and kept["holdout"] == 24


def test_words_in_other_case_do_not_slip_from_one_side_to_the_other():
    parts = held_out_parts(np.array([3, 3, 5, 6, 7, 8, 9]), folds=3)
    assert all(part[0] == part[1] for part in parts)
    assert np.sum(parts, axis=0).tolist() == [1] * 7


@pytest.mark.parametrize("count", [1, 2, 4])
def test_too_few_source_words_are_refused(spaces, count):
    X, Y, _ = spaces
    pairs = [(i, j) for i in range(count) for j in range(3)]
    with pytest.raises(FippError, match=f"5 source words at least .* here there are {count}"):
        tune_arrays(X, Y, pairs)


def test_five_source_words_are_enough(spaces):
    X, Y, _ = spaces
    with pytest.warns(FippWarning, match="5 pairs are fewer than"):
        tuning = tune_arrays(X, Y, [(i, i) for i in range(5)])
    assert tuning.holdout == 2 and np.isfinite(tuning.best.standard_error)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"holdout": 0}, "between 0 and 1"),
        ({"holdout": 1.0}, "between 0 and 1"),
        ({"holdout": "much"}, "between 0 and 1"),
        ({"folds": 1}, "from 2 to 120"),
        ({"folds": 121}, "from 2 to 120"),
        ({"folds": 2.5}, "from 2 to 120"),
        ({"folds": 3, "holdout": 0.2}, "either holdout"),
        ({"grid": {"epsilom": [1]}}, "no setting 'epsilom'"),
        ({"grid": {"lam": []}}, "list of values for lam"),
        ({"grid": {"lam": 1.0}}, "list of values for lam"),
        ({"grid": {"preprocess": "unit"}}, "list of values for preprocess"),
        ({"grid": {}}, "nothing to choose"),
        ({"components": [1], "preprocess": "unit"}, "removes no components"),
        ({"retrieval": "magic"}, "not known"),
        ({"method": "magic"}, "no method"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_fitted(spaces, monkeypatch, options, message):
    monkeypatch.setattr(BaseAligner, "_check", lambda *_: pytest.fail("fitted"))
    with pytest.raises(FippError, match=message):
        tune_arrays(*spaces, **options)


def test_a_wrong_value_is_refused_before_anything_is_fitted(spaces, monkeypatch):
    monkeypatch.setattr(BaseAligner, "_check", lambda *_: pytest.fail("fitted"))
    with pytest.raises(ValueError, match="lam"):
        tune_arrays(*spaces, grid={"lam": [1.0, -1.0]})


def test_warnings_are_those_of_the_chosen_settings_only(spaces):
    X, Y, pairs = spaces
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuning = tune_arrays(X, Y, pairs, grid={"epsilon": [0.0, 0.2]})  # ε = 0 keeps nothing
    assert tuning.best_params["epsilon"] == 0.2


@pytest.mark.parametrize("options", [{}, {"folds": 2, "solver": "eigen", "grid": {"lam": [0.5, 1.0]}}])
def test_progress_rises_to_the_end(spaces, options):
    heard = []
    tune_arrays(*spaces, progress=lambda done, total: heard.append((done, total)), **options)
    done, totals = zip(*heard, strict=True)
    assert len(set(totals)) == 1 and list(done) == sorted(set(done)) and done[-1] == totals[0]
    assert len(heard) >= 4


def test_the_result_can_be_read(spaces):
    X, Y, pairs = spaces
    tuning = tune_arrays(X, Y, pairs, folds=2, grid={**GRID, "preprocess": ["isotropic", Isotropic(2)]})
    lines = str(tuning).splitlines()
    assert "12 settings tried on 120 held-out source words in 2 folds" in lines[0] and "by cosine" in lines[0]
    assert f"{tuning.best_score:.4f}" in lines[1] and lines[-1] == tuning.note
    assert {trial["params"]["preprocess"] for trial in tuning.as_dict()["table"]} == {
        "isotropic",
        "Isotropic(n_components=2)",
    }
    with pytest.raises(AttributeError):
        tuning.best = None


def test_the_note_says_when_there_was_no_choice(spaces):
    tuning = tune_arrays(*spaces, grid={"lam": [0.5]}, refit=False)
    assert tuning.note == "There was nothing to choose between." and tuning.defaults is None


def test_components_are_set_in_a_chain_too():
    assert with_components("unit+isotropic", 4).get_params()["isotropic__n_components"] == 4
