"""`fipp tune`."""

import json

import pytest

import fipp
from fipp import Lexicon

GRID = ("--grid", "epsilon=0.05,none", "--grid", "lam=0.5,1")


def tune(run, space, *options):
    return run("tune", space.source, space.target, "--dict", space.seed, *options)


def test_json_is_the_library_s_result_alone_on_stdout(run, space):
    result = tune(run, space, *GRID, "--json", "--folds", 3, "--retrieval", "csls", "--random-state", 1)
    expected = fipp.tune(
        space.source,
        space.target,
        space.seed,
        grid={"epsilon": [0.05, None], "lam": [0.5, 1]},
        folds=3,
        retrieval="csls",
        random_state=1,
        refit=False,
    )
    told = json.loads(result.stdout)
    assert told.pop("seconds") > 0 and told.pop("model") is None and told.pop("figure") is None
    assert told == expected.as_dict() and told["retrieval"] == "csls" and told["folds"] == 3
    assert result.stderr == ""


def test_the_table_shows_every_setting_and_marks_the_best(run, space):
    result = tune(run, space, "--grid", "preprocess=isotropic:1,isotropic:2", *GRID)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("ε \\ λ") == 2 and "preprocess isotropic:2" in result.stdout
    assert sum("*" in line for line in result.stdout.splitlines()[2:]) == 1
    assert "40 source words; 200 pairs in all" in result.stdout and "by cosine" in result.stdout
    assert "one standard error of the best" in result.stdout
    assert "200 of 200 pairs found" in result.stderr


def test_the_published_grid_is_the_default(run, space):
    told = json.loads(tune(run, space, "--json").stdout)
    assert len(told["table"]) == 25
    assert {trial["params"]["epsilon"] for trial in told["table"]} == {0.01, 0.025, 0.05, 0.1, 0.15}
    assert {trial["params"]["lam"] for trial in told["table"]} == {0.25, 0.5, 0.75, 1.0, 1.25}


def test_the_model_is_that_of_the_best_settings_on_all_pairs(run, space):
    told = json.loads(
        tune(run, space, *GRID, "--grid", "preprocess=isotropic:0,isotropic:1", "-o", space.model, "--json").stdout
    )
    model = fipp.Alignment.load(space.model)
    assert told["model"] == str(space.model) and len(model.aligner.pairs_) == 200
    assert model.aligner.epsilon == told["best_params"]["epsilon"]
    assert model.aligner.lam == told["best_params"]["lam"]
    assert model.aligner.preprocess == told["best_params"]["preprocess"]
    evaluated = run("eval", space.model, space.source, space.target, "--test", space.test, "--json")
    assert json.loads(evaluated.stdout)["p@1"] > 0.7


def test_a_picture_is_drawn(run, space):
    result = tune(run, space, *GRID, "--figure", space.folder / "heat.png")
    assert (space.folder / "heat.png").read_bytes().startswith(b"\x89PNG") and "heat.png" in result.stdout


def test_procrustes_chooses_its_preprocessing(run, space):
    told = json.loads(tune(run, space, "--method", "procrustes", "--json").stdout)
    assert [trial["params"] for trial in told["table"]] == [{"preprocess": "unit"}, {"preprocess": "isotropic"}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--grid", "epsilon"], "such as epsilon=0.05,0.1"),
        (["--grid", "epsilon="], "such as epsilon=0.05,0.1"),
        (["--grid", "magic=1,2"], "no setting 'magic'"),
        (["--grid", "lam=1,many"], "lam"),
        (["--grid", "preprocess=isotropic:1,isotropic:x"], "whole number"),
        (["--method", "magic"], "no method 'magic'"),
        (["--method", "auto"], "auto has no grid of its own: name the values to try with --grid"),
        (["--grid", "lambda=1,2"], "did you mean 'lam'?"),
        (["--retrieval", "magic"], "choose from"),
        (["--set", "preprocess=magic"], "no preprocessing 'magic'"),
        (["--max-memory", "much"], "much"),
    ],
)
def test_what_cannot_be_is_refused_before_the_vectors_are_read(run, space, options, message):
    result = tune(run, space, *options)
    assert result.exit_code == 2 and message in result.stderr
    assert "words x" not in result.stderr and "Traceback" not in result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--holdout", "1.5"], "between 0 and 1"),
        (["--folds", "1"], "from 2"),
        (["--folds", "2", "--holdout", "0.2"], "either"),
    ],
)
def test_a_wrong_division_is_refused(run, space, options, message):
    result = tune(run, space, *options)
    assert result.exit_code == 2 and message in result.stderr


def test_a_tiny_dictionary_is_refused_with_what_to_do(run, space):
    Lexicon([("e1", "f1"), ("e2", "f2")]).save(space.seed)
    result = tune(run, space)
    assert result.exit_code == 2 and "5 source words at least" in result.stderr and "defaults" in result.stderr


def test_an_input_is_never_overwritten(run, space):
    for option in ("-o", "--figure"):
        result = tune(run, space, option, space.seed)
        assert result.exit_code == 2 and "would overwrite the input" in result.stderr


def test_a_dictionary_the_wrong_way_round_can_be_turned(run, space):
    Lexicon.load(space.seed).reverse().save(space.seed)
    assert json.loads(tune(run, space, *GRID, "--reverse-dict", "--json").stdout)["pairs"] == 200
