"""`fipp align`."""

import json
import re

import numpy as np
import pytest

import fipp
from fipp.aligners import why_chosen
from fipp.cli import _console
from fipp.cli._align import show_trials
from fipp.cli._arguments import parse_settings
from fipp.preprocess import Isotropic


def align(run, space, *options):
    """Align by FIPP, which is quick, unless told otherwise; for the default see `align_by_default`."""
    method = () if "--method" in options else ("--method", "fipp")
    return align_by_default(run, space, *method, *options)


def align_by_default(run, space, *options):
    return run("align", space.source, space.target, "--dict", space.seed, "-o", space.model, *options)


def test_the_model_is_what_the_library_gives(run, space):
    assert (
        align(run, space, "--set", "epsilon=0.1", "--set", "lam=0.5", "--set", "preprocess=isotropic:2").exit_code == 0
    )
    expected = fipp.align(
        space.source, space.target, space.seed, "fipp", epsilon=0.1, lam=0.5, preprocess=Isotropic(n_components=2)
    )
    written = fipp.Alignment.load(space.model)
    assert np.array_equal(written.aligner.map_, expected.aligner.map_)
    assert written.aligner.get_params()["epsilon"] == 0.1


def test_notes_go_to_stderr_and_the_summary_to_stdout(run, space):
    result = align(run, space)
    assert "e.vec: 300 words x 12" in result.stderr
    assert "seed.tsv: 200 of 200 pairs found (100.0 %)" in result.stderr
    assert "kept" in result.stdout and str(space.model.name) in result.stdout
    assert "words x" not in result.stdout


def test_json_is_alone_on_stdout_and_stderr_is_silent(run, space):
    result = align(run, space, "--json")
    told = json.loads(result.stdout)
    assert told["method"] == "fipp" and told["seed"]["found"] == 200
    assert told["source"] == {"words": 300, "dimensions": 12}
    assert 0 < told["kept_fraction"] <= 1 and told["model"] == str(space.model)
    assert result.stderr == ""


def test_quiet_leaves_only_the_summary(run, space):
    result = align(run, space, "--quiet")
    assert result.stderr == "" and "method" in result.stdout


def test_procrustes_gets_no_settings_of_fipp(run, space):
    result = align(run, space, "--method", "procrustes", "--json")
    assert json.loads(result.stdout)["settings"] == {"preprocess": "unit"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "procrustes", "--set", "epsilon=0.1"], "procrustes has no setting 'epsilon'"),
        (["--method", "procrustes", "--set", "preprocess=unit:2"], "'unit' takes no number"),
        (["--method", "magic"], "there is no method 'magic'; known are fipp, fipp-published, procrustes"),
        (["--method", "proc"], "did you mean 'proc-b' or 'procrustes'?"),
        (["--set", "lambda=1"], "did you mean 'lam'?"),
        (["--set", "epsilon=-1"], "'epsilon' parameter of FIPP must be"),
        (["--set", "epsilon=wide"], "'epsilon' parameter of FIPP must be"),
        (["--set", "epsilon="], "--set takes a setting and its value, such as epsilon=0.1, not 'epsilon='"),
        (["--set", "solver=magic"], "'solver' parameter of FIPP must be"),
        (["--set", "preprocess=magic"], "there is no preprocessing 'magic'"),
        (["--method", "procrustes", "--random-state", "1"], "procrustes has no setting 'random_state'"),
        (["--max-memory", "2XB"], "'2XB' is not a size"),
        (["--set", "preprocess=isotropic:12"], "n_components must be"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(run, space, options, message):
    result = align(run, space, "--quiet", *options)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ") and message in result.stderr
    assert result.stderr.count("\n") == 1 and result.stdout == ""
    assert not space.model.exists()


def test_wrong_settings_are_refused_before_anything_is_read(run, space):
    space.source.unlink()
    result = align(run, space, "--method", "procrustes", "--set", "lam=1")
    assert "procrustes has no setting 'lam'" in result.stderr


def test_a_chain_of_preprocessing_takes_numbers(run, space):
    assert align(run, space, "--set", "preprocess=isotropic:3+unit").exit_code == 0
    steps = fipp.Alignment.load(space.model).aligner.source_preprocess_.steps
    assert steps[0][1].components_.shape == (3, 12)


def test_the_filter_can_be_switched_off(run, space):
    result = align(run, space, "--set", "epsilon=none")
    assert "epsilon none" in result.stdout and "kept 100.0 %" in result.stdout
    assert fipp.Alignment.load(space.model).aligner.epsilon is None


def test_a_missing_file_is_named(run, space):
    space.target.unlink()
    result = align(run, space)
    assert result.exit_code == 2 and f"error: there is no file {space.target}" in result.stderr


def test_a_missing_folder_is_noticed_before_the_vectors_are_read(run, space):
    result = run("align", space.source, space.target, "--dict", space.seed, "-o", space.folder / "no" / "m.fipp")
    assert result.exit_code == 2 and "does not exist" in result.stderr
    assert "words x" not in result.stderr


def test_an_output_that_is_a_folder_is_refused(run, space):
    result = run("align", space.source, space.target, "--dict", space.seed, "-o", space.folder)
    assert result.exit_code == 2 and "not a regular file" in result.stderr


@pytest.mark.parametrize("victim", ["source", "target", "seed"])
def test_an_input_is_never_overwritten(run, space, victim):
    path = getattr(space, victim)
    before = path.read_bytes()
    result = run("align", space.source, space.target, "--dict", space.seed, "-o", path)
    assert result.exit_code == 2 and "would overwrite the input" in result.stderr
    assert path.read_bytes() == before


def test_an_empty_dictionary_is_refused(run, space):
    space.seed.write_text("")
    result = align(run, space)
    assert result.exit_code == 2 and "holds no pair of words" in result.stderr


def test_an_existing_model_is_overwritten_only_by_force(run, space):
    assert align(run, space, "--method", "fipp").exit_code == 0
    before = space.model.read_bytes()
    again = align(run, space, "--method", "procrustes")
    assert again.exit_code == 2 and "exists already" in again.stderr and space.model.read_bytes() == before
    assert align(run, space, "--method", "procrustes", "--force").exit_code == 0
    assert space.model.read_bytes() != before


def test_a_dictionary_that_seems_to_be_reversed_is_refused_unless_forced(run, space):
    seed = fipp.Lexicon.load(space.seed)
    (seed.reverse() + seed.head(30)).save(space.seed)
    refused = align(run, space, "--method", "procrustes")
    assert refused.exit_code == 2 and "--force" in refused.stderr and not space.model.exists()
    assert align(run, space, "--method", "procrustes", "--force").exit_code == 0


def test_a_reversed_dictionary_is_recognised_and_can_be_turned(run, space):
    fipp.Lexicon.load(space.seed).reverse().save(space.seed)
    result = align(run, space)
    assert result.exit_code == 2 and "--reverse-dict" in result.stderr
    assert align(run, space, "--reverse-dict").exit_code == 0


def test_a_warning_of_the_library_is_one_line(run, space):
    fipp.Lexicon(list(fipp.Lexicon.load(space.seed))[:5]).save(space.seed)
    result = align(run, space, "--quiet")
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: 5 pairs are fewer than the source's 12 dimensions")
    assert result.stderr.count("\n") == 1


def test_rows_that_were_skipped_are_told_even_when_quiet_and_refused_when_strict(run, space):
    with open(space.source, "a", encoding="utf-8") as file:
        file.write("broken 1 2\n")
    assert "warning: e.vec: 300 words x 12; skipped 1 ragged row" in align(run, space, "--quiet").stderr
    result = align(run, space, "--strict", "--force")
    assert result.exit_code == 2 and "broken" in result.stderr


def test_limit_reads_the_first_words_only(run, space):
    told = json.loads(align(run, space, "--limit", 150, "--json").stdout)
    assert told["source"]["words"] == 150 and told["seed"] == {"found": 150, "total": 200, "coverage": 0.75}


def test_induced_pairs_are_counted(run, space):
    result = align(run, space, "--set", "self-learning=20")
    assert "200, and 20 found by the method itself" in result.stdout


def test_the_default_shows_the_best_of_what_was_tried_the_choice_and_the_reason(run, space):
    result = align_by_default(run, space)
    assert result.exit_code == 0, result.stderr
    assert "auto: trying several methods" in result.stderr
    lines = result.stdout.splitlines()
    aligner = fipp.Alignment.load(space.model).aligner
    trials = sorted(aligner.trials_, key=lambda trial: -trial["mrr"])
    shown = [trial for trial in trials[:8] if trial["name"] != "fipp"]
    shown += [trial for trial in trials if trial["name"] == "fipp"]
    for trial in shown:
        [line] = [line for line in lines if line.strip().startswith(f"{trial['name']} ")]
        chosen = trial["name"] == aligner.chosen_
        assert f"{trial['mrr']:.4f}{'*' if chosen else ' '}" in line and f"{trial['standard_error']:.4f}" in line
    assert ["method", "auto"] in [line.split() for line in lines]
    summary = {line.split("  ")[0]: line for line in lines}
    assert aligner.chosen_ in summary["chosen"] and why_chosen(trials, aligner.chosen_) in " ".join(
        summary["why"].split()
    )


def test_what_was_tried_can_be_read_at_eighty_columns(space, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    _console._console.cache_clear()
    trials = [
        {"name": f"a long name, setting {i}, " + 8 * "words, ", "mrr": i / 20, "standard_error": 0.01}
        for i in range(20)
    ]
    trials += [{"name": "fipp", "mrr": 0.0123, "standard_error": 0.0456}]
    show_trials(trials, trials[3]["name"])
    _console._console.cache_clear()
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    # The eight best, the chosen one and FIPP, each with its figures whole.
    assert [mrr for mrr in re.findall(r"0\.\d{4}\*?(?=\s+0\.0\d{3})", shown)] == [
        *(f"{i / 20:.4f}" for i in range(19, 11, -1)), "0.1500*", "0.0123",
    ]  # fmt: skip
    assert "… and 11 more" in shown


def test_auto_tells_the_same_in_json(run, space):
    told = json.loads(align_by_default(run, space, "--set", "budget=0", "--json").stdout)
    assert told["method"] == "auto" and told["seed"]["found"] == 200
    assert told["trials"] == fipp.Alignment.load(space.model).aligner.trials_
    assert len(told["trials"]) > 1 and {"name", "mrr", "standard_error"} <= set(told["trials"][0])
    assert told["chosen"] in {trial["name"] for trial in told["trials"]}
    assert told["skipped"] == fipp.Alignment.load(space.model).aligner.skipped_
    assert told["skipped"][0]["stage"] == "plain methods"


def test_what_a_budget_leaves_out_is_warned_of_and_told_with_the_reason(run, space):
    result = align_by_default(run, space, "--set", "budget=0")
    assert "warning: auto has not tried plain methods" in result.stderr
    told = "the budget left out plain methods, suspicious pairs, self-learning, ranking, local corrections"
    assert told in " ".join(result.stdout.split())
    assert told in " ".join(run("info", space.model).stdout.split())


@pytest.mark.parametrize("setting", ["epsilon", "lam", "solver", "self_learning"])
def test_a_setting_of_fipp_without_its_name_is_refused_with_the_way_to_give_it(run, space, setting):
    result = align_by_default(run, space, "--quiet", "--set", f"{setting}=1")
    assert result.exit_code == 2 and not space.model.exists()
    assert result.stderr.startswith(f"error: auto has no setting '{setting}'; it has ")
    assert result.stderr.endswith(f"; '{setting}' is a setting of the method 'fipp'\n")


def test_other_methods_tell_of_no_choice(run, space):
    assert not {"trials", "chosen"} & set(json.loads(align(run, space, "--json").stdout))
    assert "chosen" not in align(run, space, "--force").stdout


def test_auto_from_few_pairs_says_that_nothing_was_tried(run, space):
    fipp.Lexicon([(f"e{i}", f"f{i}") for i in range(30)]).save(space.seed)
    result = align(run, space, "--method", "auto")
    assert "self-learning from few pairs" in result.stdout
    assert "too few source words to hold some out" in result.stdout
    assert "30, and 270 found by the method itself" in result.stdout and "tried" not in result.stdout
    told = json.loads(align(run, space, "--method", "auto", "--force", "--json").stdout)
    assert told["trials"] == [] and told["chosen"] == "self-learning from few pairs"


@pytest.mark.parametrize(
    ("trials", "chosen", "reason"),
    [
        ([], "a", "too few source words to hold some out"),
        ([("a", 0.5, 40), ("b", 0.6, 40)], "b", "the best of 2 on held-out pairs"),
        ([("a", 0.6, 40), ("b", 0.6, 40)], "a", "the best of 2 on held-out pairs"),
        ([("a", 0.5, 40), ("b", 0.6, 20)], "a", "the best of 2 on held-out pairs"),
        (
            [("a", 0.5, 40), ("a, b", 0.6, 40)],
            "a",
            "a, b has a higher mean, but takes longer without being clearly better, or is worse by cosine or CSLS",
        ),
    ],
)
def test_the_reason_for_a_choice_is_the_rule_of_the_library(trials, chosen, reason):
    tried = [{"name": name, "mrr": mrr, "standard_error": 0.1, "words": words} for name, mrr, words in trials]
    assert why_chosen(tried, chosen) == reason


@pytest.mark.parametrize("method", ["auto", "self-learning", "local"])
def test_methods_that_leave_preprocessing_to_others_say_so(run, space, method):
    result = align(run, space, "--quiet", "--method", method, "--set", "preprocess=unit")
    assert result.exit_code == 2 and f"error: {method} has no setting 'preprocess'; it has " in result.stderr


def test_the_random_state_reaches_the_method(run, space):
    assert align(run, space, "--random-state", 7).exit_code == 0
    assert fipp.Alignment.load(space.model).aligner.random_state == 7


def test_settings_are_parsed_as_python_values_and_hyphens_in_their_names_are_underscores():
    given = ["self-learning = 20", "epsilon=none", "lam=0.5", "refine=true", "preprocess=unit"]
    parsed = {"self_learning": 20, "epsilon": None, "lam": 0.5, "refine": True, "preprocess": "unit"}
    assert parse_settings(given) == parsed


@pytest.mark.parametrize("method", ["fipp", "procrustes", "spectral", "vecmap-semi", "cca-rotation"])
@pytest.mark.parametrize("rows", [["1 2 3"], ["1 1 1"] * 20, ["0 0 0"] * 20, ["1e30 -1e30 1", *["1 2 3"] * 9]])
def test_degenerate_vectors_give_a_model_or_one_sentence(run, tmp_path, method, rows):
    for side in "st":
        lines = "".join(f"{side}{number} {row}\n" for number, row in enumerate(rows))
        (tmp_path / f"{side}.vec").write_text(f"{len(rows)} 3\n{lines}")
    (tmp_path / "seed.tsv").write_text("".join(f"s{number}\tt{number}\n" for number in range(len(rows))))
    paths = [tmp_path / name for name in ("s.vec", "t.vec", "seed.tsv", "x.fipp")]
    told = run("align", *paths[:2], "--dict", paths[2], "-o", paths[3], "--method", method)
    assert told.exit_code == 0 or (told.exit_code == 2 and told.stderr.splitlines()[-1].startswith("error: "))
    assert paths[3].exists() == (told.exit_code == 0)


def spoil(space):
    wrong = [(f"e{i}", f"f{(i + 1) % 60}") for i in range(60)]
    fipp.Lexicon([*wrong, *((f"e{i}", f"f{i}") for i in range(60, 200))]).save(space.seed)
    return wrong


def test_a_noisy_dictionary_is_noticed_and_its_suspicious_pairs_are_written(run, space):
    wrong, out = spoil(space), space.seed.with_name("suspects.tsv")
    told = " ".join(align(run, space).stderr.split())
    assert "the dictionary looks noisy: about" in told and "--suspects FILE names all of them" in told
    result = align(run, space, "--suspects", out, "--force")
    assert f"{out.name} names all of them" in result.stderr.replace("\n", "")
    written = fipp.Lexicon.load(out)
    assert len(set(written) & set(wrong)) > 45 and list(written.scores) == sorted(written.scores)
    told = json.loads(align(run, space, "--force", "--json").stdout)
    assert told["suspects"] == len(written) and 0.2 < told["wrong_share"] < 0.4


def test_a_clean_dictionary_is_not_called_noisy(run, space):
    assert "noisy" not in align(run, space).stderr


def test_a_dictionary_without_suspects_leaves_an_empty_file_for_them(run, space):
    out = space.seed.with_name("suspects.tsv")
    out.write_text("an\tearlier run\n")
    result = align(run, space, "--suspects", out)
    assert result.exit_code == 0 and space.model.exists() and out.read_bytes() == b"", result.stderr


def test_suspects_need_a_dictionary_and_a_file_of_their_own(run, space):
    without = run("align", space.source, space.target, "-o", space.model, "--suspects", "x.tsv")
    assert without.exit_code == 2 and "give one with --dict SEED" in without.stderr
    same = align(run, space, "--suspects", space.model)
    assert same.exit_code == 2 and "need two files" in same.stderr and not space.model.exists()
