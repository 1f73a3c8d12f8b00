"""All methods side by side: the figures are those of the methods alone, and nothing stops the others."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from small_languages import make_languages

import fipp
from fipp import FIPP, FippError, FippWarning, Procrustes
from fipp.aligners import METHODS
from fipp.evaluate import compare_results
from fipp.experiments import as_methods


@pytest.fixture
def languages():
    return make_languages()


class Unsupervised(Procrustes):
    """Maps by what both sides have in the first rows."""

    learns_from = "nothing"

    def fit(self, X, Y, pairs=None, *, progress=None):
        assert pairs is None, "an unsupervised method must not see the seed"
        return super().fit(X, Y, None)

    def _fit_vocabulary(self, X, Y, progress):
        self._fit_seed(*(prepare.transform(V) for prepare, V in zip(self._sides(), (X, Y), strict=True)), progress)

    def _sides(self):
        return self.source_preprocess_, self.target_preprocess_


class Identical(Procrustes):
    learns_from = "identical"


class Broken(Procrustes):
    def _fit_seed(self, X_s, X_t, progress):
        raise ZeroDivisionError("nothing to divide by")


def test_figures_are_those_of_each_method_alone(languages):
    source, target, seed, test = languages
    compared = fipp.compare(*languages, ["fipp", "procrustes"], in_subprocess=False)
    for score in compared.scores:
        alignment = fipp.align(source, target, seed, score.name)
        for retrieval, result in score.results.items():
            alone = alignment.evaluate(test, retrieval=retrieval)
            assert result == alone and result.interval("map") == alone.interval("map")
            assert (result.n_queries, result.total) == (50, 51)
    first, second = (score.results["cosine"] for score in compared.scores)
    best = compared.best()
    other = next(score.name for score in compared.scores if score is not best)
    assert compared.p_values[best.name, "cosine", "map"] == 1
    assert compared.p_values[other, "cosine", "map"] == compare_results(first, second, n_resamples=2000).p_value


def test_test_pairs_of_the_seed_are_counted_for_methods_that_saw_them(languages):
    source, target, seed, test = languages
    mixed = fipp.Lexicon([*test, *seed.pairs[:7], (seed.pairs[8][0], test.pairs[0][1])])
    with pytest.warns(FippWarning, match="7 of the 58 test words had the same translation"):
        compared = fipp.compare(
            source, target, seed, mixed, {"seeing": Procrustes(), "blind": Unsupervised()}, in_subprocess=False
        )
    told = compared.as_dict()
    assert (told["test"]["seen_pairs"], told["test"]["seen_words"]) == (7, 8)
    seeing, blind = told["methods"]
    assert seeing["cosine"]["unseen"]["n_queries"] == 51 and blind["cosine"]["seen_pairs"] is None
    assert "7 of them with the same translation in the seed" in str(compared)


def test_every_method_is_taken_by_name_and_in_order():
    assert list(as_methods("all")) == list(METHODS)
    assert list(as_methods(["procrustes", "fipp"])) == ["procrustes", "fipp"]


def test_in_processes_of_their_own_methods_score_the_same_and_tell_their_memory(languages, capfd):
    methods = {"wide": FIPP(epsilon=0.2), "mine": Unsupervised()}
    apart, here = (fipp.compare(*languages, methods, in_subprocess=in_subprocess) for in_subprocess in (True, False))
    for one, other in zip(apart.scores, here.scores, strict=True):
        assert one.error is None and one.results == other.results and one.seconds > 0
        np.testing.assert_array_equal(one.results["csls"].ranks, other.results["csls"].ranks)
    if Path("/proc/self/status").exists():
        assert [score.memory is None for score in apart.scores] == [False, False]
    assert capfd.readouterr() == ("", "")


def test_a_method_that_takes_too_long_is_stopped(languages):
    (score,) = fipp.compare(*languages, ["fipp"], timeout=0.01).scores
    assert score.error == "it was stopped after 0.01 seconds" and not score.results


def test_methods_get_the_pairs_that_they_are_made_for(languages):
    methods = {"unsupervised": Unsupervised(), "identical": Identical(), "seed": Procrustes()}
    compared = fipp.compare(*languages, methods, in_subprocess=False)
    assert [score.pairs for score in compared.scores] == ["none", "identical words", "seed"]
    assert compared.setting.seed == {"seed": (100, 100), "identical words": (20, 20)}
    assert [score.error for score in compared.scores] == [None] * 3
    without = fipp.compare(*languages[:2], None, languages.test, methods, in_subprocess=False)
    assert without.scores[0].results == compared.scores[0].results
    assert without.scores[1].results == compared.scores[1].results
    assert without.scores[2].error == "it learns from known pairs (seed), and there are none"


def test_a_failed_method_is_a_row_with_its_reason(languages):
    methods = {"broken": Broken(), "wrong": FIPP(epsilon=-1), "fine": Procrustes()}
    compared = fipp.compare(*languages, methods, in_subprocess=False)
    reasons = [score.error for score in compared.scores]
    assert reasons[0] == "ZeroDivisionError: nothing to divide by"
    assert "epsilon" in reasons[1] and reasons[2] is None
    assert compared.best().name == "fine"
    assert "| broken | – | – | – | – | – | – | seed | ZeroDivisionError: nothing to divide by |" in str(compared)


def test_where_nothing_runs_there_is_a_table_and_no_best(languages):
    compared = fipp.compare(*languages, {"broken": Broken()}, in_subprocess=False)
    assert "ZeroDivisionError" in compared.render() and json.loads(compared.render("json"))["methods"][0]["error"]
    with pytest.raises(FippError, match="no method could run"):
        compared.best()


def test_what_a_file_keeps_is_not_run_again_unless_something_changed(languages, tmp_path, monkeypatch):
    kept = tmp_path / "kept.jsonl"
    first = fipp.compare(*languages, ["fipp", "procrustes"], in_subprocess=False, results_path=kept)
    assert len(kept.read_text().splitlines()) == 2
    monkeypatch.setattr(Procrustes, "_fit_seed", Broken._fit_seed)
    again = fipp.compare(*languages, ["fipp", "procrustes"], in_subprocess=False, results_path=kept)
    assert again.render("json") == first.render("json")
    other = languages._replace(seed=fipp.Lexicon(languages.seed.pairs[:90]))
    assert fipp.compare(*other, ["procrustes"], in_subprocess=False, results_path=kept).scores[0].error


def test_all_formats_hold_the_figures(languages):
    compared = fipp.compare(*languages, ["fipp", "procrustes"], in_subprocess=False)
    best = compared.best().name
    result = compared.best().results["cosine"]
    low, high = result.interval("map")
    shown = f"{result.map:.3f} ({low:.3f}–{high:.3f})"
    markdown = compared.render()
    assert f"| {best} | **{shown}** |" in markdown and "|---|---:|---:|---:|---:|---:|---|---|" in markdown
    assert "100 of 100 pairs (seed), 50 of 51 test words" in markdown
    assert rf"{best} & \textbf{{{shown.replace('–', '--')}}}" in compared.render("latex")
    rows = {row["method"]: row for row in csv.DictReader(io.StringIO(compared.render("csv")))}
    assert float(rows[best]["map_nn"]) == result.map and float(rows[best]["map_nn_high"]) == high
    told = json.loads(compared.render("json"))
    described = next(method for method in told["methods"] if method["name"] == best)
    assert described["cosine"]["map"] == result.map and described["cosine"]["intervals"]["map"] == [low, high]
    assert described["csls"]["p_values"].keys() == {"map", "p@1"} and told["test"]["coverage"] == 50 / 51
    with pytest.raises(FippError, match="no format 'html'"):
        compared.render("html")


def test_methods_that_do_not_exist_are_refused_before_anything_is_run(languages):
    with pytest.raises(FippError, match="there is no method 'fip'"):
        fipp.compare(*languages, ["procrustes", "fip"])
    with pytest.raises(FippError, match="no method is given"):
        fipp.compare(*languages, [])


def test_warnings_are_kept_with_the_method_and_progress_is_told(languages):
    few = languages._replace(seed=fipp.Lexicon(languages.seed.pairs[:5]))
    told, done = [], []
    compared = fipp.compare(
        *few, ["fipp"], in_subprocess=False, progress=lambda *now: told.append(now), on_result=done.append
    )
    assert "fewer" in compared.scores[0].warnings[0]
    assert told == [(0, 1), (1, 1)] and done == list(compared.scores)


def test_a_dictionary_the_wrong_way_round_is_told(languages):
    with pytest.warns(FippWarning, match="other way round"):
        words = languages.source.words, languages.target.words
        mixed = [(t, s) for s, t in languages.seed] + [(words[0][0], words[1][0])]
        fipp.compare(*languages[:2], mixed, languages.test, ["procrustes"], in_subprocess=False)


def test_memory_counts_what_was_taken_and_given_back():
    # In a process of its own: one that has run long may hold pages enough already.
    code = """
import subprocess
import sys

import numpy as np
from fipp.experiments import PeakMemory
peak = PeakMemory()
np.ones(8_000_000).sum()
grown = peak.growth()
assert grown is None or grown >= 40_000_000, grown
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
