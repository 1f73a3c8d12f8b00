"""`fipp methods`, and `fipp align` with methods other than FIPP."""

import json

import numpy as np
import pytest

from fipp import FIPP, Alignment, Vectors
from fipp.aligners import METHODS


def test_every_method_is_listed_with_what_it_needs(run):
    told = json.loads(run("methods", "--json").stdout)
    assert list(told) == list(METHODS)
    assert told["vecmap-unsupervised"]["learns_from"] == "nothing"
    assert told["vecmap-identical"]["learns_from"] == "identical words"
    assert told["ridge"]["settings"]["ridge"] == "auto"
    assert "[bold]" not in run("methods").stdout


def test_no_two_methods_are_described_alike(run):
    told = {name: method["summary"] for name, method in json.loads(run("methods", "--json").stdout).items()}
    assert len(set(told.values())) == len(METHODS) and all(told.values())


@pytest.mark.parametrize("name", METHODS)
def test_every_setting_of_a_method_is_listed_with_its_default_and_meaning(run, name):
    told = json.loads(run("methods", name, "--json").stdout)
    assert set(told["settings"]) == set(METHODS[name].get_params(deep=False))
    assert all(setting["meaning"] and setting["values"] for setting in told["settings"].values())
    shown = run("methods", name).stdout
    assert all(setting in shown for setting in told["settings"])


def test_the_defaults_are_those_of_the_name_and_not_of_the_class(run):
    told = json.loads(run("methods", "fipp-published", "--json").stdout)["settings"]
    assert (told["epsilon"]["default"], told["solver"]["default"]) == (0.05, "eigen")
    assert "inner products" in told["epsilon"]["meaning"] and told["solver"]["values"] == "linear, eigen, sgd"


def test_an_unknown_method_is_answered_with_near_ones(run):
    result = run("methods", "procustes")
    assert result.exit_code == 2 and "did you mean 'procrustes'" in result.stderr


def test_the_published_method_has_a_name_of_its_own(run, space):
    options = ("--method", "fipp-published", "--set", "epsilon=0.1", "--set", "self_learning=20")
    result = run("align", space.source, space.target, "--dict", space.seed, "-o", space.model, *options)
    assert result.exit_code == 0, result.stderr
    aligner = Alignment.load(space.model).aligner
    assert aligner.get_params() == FIPP.published(epsilon=0.1, self_learning=20).get_params()


def test_any_setting_of_a_method_can_be_given(run, space):
    options = ("--method", "spectral", "--set", "ridge=0.5", "--set", "reweight=1", "--set", "target=fixed")
    result = run("align", space.source, space.target, "--dict", space.seed, "-o", space.model, *options)
    assert result.exit_code == 0
    aligner = Alignment.load(space.model).aligner
    assert (aligner.ridge, aligner.reweight, aligner.target) == (0.5, 1, "fixed")


def test_a_setting_that_a_method_has_not_is_refused(run, space):
    arguments = ("align", space.source, space.target, "--dict", space.seed, "-o", space.model, "--method", "ridge")
    result = run(*arguments, "--set", "epsilon=1")
    assert result.exit_code == 2 and "ridge has no setting 'epsilon'" in result.stderr
    result = run(*arguments, "--set", "alpha")
    assert result.exit_code == 2 and "--set takes" in result.stderr
    assert not space.model.exists()


def test_a_method_that_needs_pairs_asks_for_them(run, space):
    result = run("align", space.source, space.target, "-o", space.model, "--method", "cca")
    assert result.exit_code == 2 and "--dict" in result.stderr
    assert not space.model.exists()


def test_a_failed_alignment_without_pairs_writes_no_model(run, space):
    words = [f"f{i}" for i in range(300)]
    Vectors(words, np.random.default_rng(9).standard_normal((300, 8))).save(space.target)
    result = run("align", space.source, space.target, "-o", space.model, "--method", "unsupervised")
    assert result.exit_code == 2 and "has failed" in result.stderr
    assert not space.model.exists()
