"""`fipp eval`."""

import json

import pytest

import fipp
from fipp import Vectors


def evaluate(run, space, *options):
    return run("eval", space.model, space.source, space.target, "--dict", space.test, *options)


@pytest.mark.parametrize(("retrieval", "name"), [("nn", "cosine"), ("csls", "csls"), ("dot", "dot")])
def test_json_is_the_library_s_result_alone_on_stdout(run, aligned, retrieval, name):
    result = evaluate(run, aligned, "--json", "--retrieval", retrieval)
    expected = fipp.Alignment.load(aligned.model, aligned.source, aligned.target).evaluate(
        aligned.test, retrieval=retrieval
    )
    told = json.loads(result.stdout)
    assert told == expected.as_dict() and told["retrieval"] == name
    assert {"map", "p@1", "p@5", "p@10", "pairs", "coverage"} <= set(told)
    assert told["pairs"] == 60 and told["p@1"] > 0.7
    assert result.stderr == ""


def test_the_table_names_scores_coverage_and_retrieval(run, aligned):
    result = evaluate(run, aligned)
    assert all(name in result.stdout for name in ("MAP", "P@10", "60 of 60 (100.0 %)", "cosine"))
    assert "words x" in result.stderr and "words x" not in result.stdout


def test_vectors_of_another_dimension_are_refused(run, aligned):
    result = run("eval", aligned.model, aligned.target, aligned.source, "--dict", aligned.test)
    assert result.exit_code == 2
    assert "maps source vectors of 12 dimensions, but these have 8" in result.stderr


def test_other_vectors_of_the_same_dimension_are_warned_of(run, aligned):
    vectors = Vectors.load(aligned.source)
    Vectors(vectors.words, vectors.matrix[:, ::-1].copy()).save(aligned.source)
    result = evaluate(run, aligned, "--json")
    assert result.exit_code == 0 and "warning: " in result.stderr and "fitted on other source vectors" in result.stderr
    json.loads(result.stdout)


def test_what_is_no_model_is_refused_before_the_vectors_are_read(run, aligned):
    result = run("eval", aligned.seed, aligned.source, aligned.target, "--dict", aligned.test)
    assert result.exit_code == 2 and "not a whole safetensors file" in result.stderr
    assert "words x" not in result.stderr


def test_an_unknown_retrieval_is_refused(run, aligned):
    result = evaluate(run, aligned, "--retrieval", "magic")
    assert result.exit_code == 2 and "choose from" in result.stderr


def test_intervals_and_bands_are_added_to_json_and_table(run, aligned):
    expected = fipp.Alignment.load(aligned.model, aligned.source, aligned.target).evaluate(aligned.test)
    told = json.loads(evaluate(run, aligned, "--json", "--interval", "--bands").stdout)
    assert told == expected.as_dict(interval=0.95, bands=True)
    table = evaluate(run, aligned, "--interval", "--bands").stdout
    low, high = expected.interval("p@1")
    assert f"{low:.4f}-{high:.4f}" in table and "0-1k" in table


def test_without_a_dictionary_the_seed_pairs_are_cross_validated(run, aligned):
    told = json.loads(run("eval", aligned.model, aligned.source, aligned.target, "--json").stdout)
    assert told["evaluated_on"].startswith("seed pairs") and told["cross_validation"]["pairs"] == 200
    table = run("eval", aligned.model, aligned.source, aligned.target, "--bands").stdout
    assert "no test dictionary: 5-fold" in table and "mutual nearest neighbours" in table
