"""`fipp eval`."""

import json

import pytest

import fipp
from fipp import Vectors
from fipp.evaluate import compare_results


def evaluate(run, space, *options):
    return run("eval", space.model, space.source, space.target, "--test", space.test, *options)


@pytest.mark.parametrize(("retrieval", "name"), [("nn", "cosine"), ("csls", "csls"), ("dot", "dot")])
def test_json_is_the_library_s_result_alone_on_stdout(run, aligned, retrieval, name):
    result = evaluate(run, aligned, "--json", "--retrieval", retrieval)
    expected = fipp.Alignment.load(aligned.model, aligned.source, aligned.target).evaluate(
        aligned.test, retrieval=retrieval
    )
    told = json.loads(result.stdout)
    assert told == expected.as_dict() and told["retrieval"] == name
    assert {"map", "p@1", "p@5", "p@10", "n_queries", "coverage"} <= set(told)
    assert told["n_queries"] == 60 and told["p@1"] > 0.7
    assert result.stderr == ""


def test_the_table_names_scores_coverage_and_retrieval(run, aligned):
    result = evaluate(run, aligned)
    assert all(name in result.stdout for name in ("MAP", "P@10", "60 of 60 (100.0 %)", "cosine"))
    assert "words x" in result.stderr and "words x" not in result.stdout


def test_swapped_vectors_are_refused(run, aligned):
    result = run("eval", aligned.model, aligned.target, aligned.source, "--test", aligned.test)
    assert result.exit_code == 2 and "are they swapped?" in result.stderr


def test_other_vectors_of_the_same_dimension_are_warned_of(run, aligned):
    vectors = Vectors.load(aligned.source)
    Vectors(vectors.words, vectors.matrix[:, ::-1].copy()).save(aligned.source)
    result = evaluate(run, aligned, "--json")
    assert result.exit_code == 0 and "warning: " in result.stderr and "fitted on other source vectors" in result.stderr
    json.loads(result.stdout)


def test_what_is_no_model_is_refused_before_the_vectors_are_read(run, aligned):
    result = run("eval", aligned.seed, aligned.source, aligned.target, "--test", aligned.test)
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
    assert told["evaluated_on"].startswith("seed pairs") and told["n_queries"] == 200
    table = run("eval", aligned.model, aligned.source, aligned.target, "--bands").stdout
    assert "no test dictionary: 5-fold" in table and "mutual nearest neighbours" in table


@pytest.mark.parametrize("method", ["icp", "vecmap-unsupervised"])
def test_without_a_dictionary_a_model_that_learned_from_no_known_pairs_is_refused(run, space, method):
    quick = {"icp": ["n_starts=5", "n_candidates=2", "n_epochs=1"], "vecmap-unsupervised": ["window=2"]}[method]
    settings = [text for setting in quick for text in ("--set", setting)]
    aligned = run("align", space.source, space.target, "-o", space.model, "--method", method, *settings)
    assert aligned.exit_code == 0, aligned.stderr
    result = run("eval", space.model, space.source, space.target)
    told = " ".join(result.stderr.split())
    assert result.exit_code == 2 and not result.stdout
    assert "learned from no known pairs" in told and "give a test dictionary" in told


def test_the_level_of_intervals_and_the_edges_of_bands_can_be_chosen(run, aligned):
    expected = fipp.Alignment.load(aligned.model, aligned.source, aligned.target).evaluate(aligned.test)
    options = ["--interval", "--level", "0.8", "--band-edges", "220,240"]
    told = json.loads(evaluate(run, aligned, "--json", *options).stdout)
    assert told == expected.as_dict(interval=0.8, bands=[220, 240]) and set(told["bands"]) == {
        "0-220",
        "220-240",
        "240+",
    }
    assert "220-240" in evaluate(run, aligned, *options).stdout


def test_test_pairs_of_the_seed_are_said_with_the_scores_without_them(run, aligned):
    fresh, seed = fipp.Lexicon.load(aligned.test), fipp.Lexicon.load(aligned.seed)
    alone = json.loads(evaluate(run, aligned, "--json").stdout)
    assert (alone["seen_pairs"], alone["seen_words"]) == (0, 0) and "unseen" not in alone
    (fresh + seed.head(20)).save(aligned.test)
    result = evaluate(run, aligned, "--json")
    told = json.loads(result.stdout)
    assert (told["n_queries"], told["seen_pairs"], told["unseen"]) == (80, 20, alone)
    assert "warning: 20 of the 80 test words had the same translation in the seed" in result.stderr
    table = evaluate(run, aligned, "--interval").stdout
    assert "without seed pairs" in table and f"{alone['map']:.4f}" in table and "60 of 60" in table


def test_a_model_tested_on_its_own_seed_is_told_so(run, aligned):
    result = run("eval", aligned.model, aligned.source, aligned.target, "--test", aligned.seed, "--json")
    assert json.loads(result.stdout)["unseen"] is None
    assert "all 200 test words had the same translation in the seed" in result.stderr
    table = run("eval", aligned.model, aligned.source, aligned.target, "--test", aligned.seed)
    assert "without seed pairs" not in table.stdout and table.exit_code == 0


def test_map_per_line_is_in_json_and_table(run, aligned):
    test = fipp.Lexicon.load(aligned.test)
    fipp.Lexicon([*test, test.pairs[0]]).save(aligned.test)
    told = json.loads(evaluate(run, aligned, "--json").stdout)
    assert (told["n_queries"], told["lines"]) == (60, 61)
    table = evaluate(run, aligned).stdout
    assert "MAP per line" in table and f"{told['map_per_line']:.4f}" in table


def test_a_reversed_dictionary_is_noticed_and_can_be_turned(run, aligned):
    straight = evaluate(run, aligned, "--json").stdout
    test = fipp.Lexicon.load(aligned.test)
    test.reverse().save(aligned.test)
    turned = evaluate(run, aligned, "--json", "--reverse-dict")
    assert turned.stdout == straight and turned.stderr == ""
    (test.reverse() + test.head(3)).save(aligned.test)
    mixed = evaluate(run, aligned, "--json")
    assert mixed.exit_code == 0 and json.loads(mixed.stdout)["n_queries"] == 3
    assert "warning: only 5 % of the pairs were found; the other way round it would be 95 %" in mixed.stderr


@pytest.fixture
def other(aligned, run):
    model = aligned.folder / "other.fipp"
    run("align", aligned.source, aligned.target, "--dict", aligned.seed, "-o", model, "--method", "procrustes")
    return model


def test_two_models_are_compared_on_the_same_queries(run, aligned, other):
    first, second = (
        fipp.Alignment.load(model, aligned.source, aligned.target).evaluate(aligned.test)
        for model in (aligned.model, other)
    )
    told = json.loads(evaluate(run, aligned, "--json", "--against", other, "--level", "0.9").stdout)["against"]
    assert told["model"] == str(other) and set(told["measures"]) == {"map", "mrr", "p@1", "p@5", "p@10"}
    assert told["measures"]["p@1"] == compare_results(first, second, "p@1", level=0.9).as_dict()
    table = evaluate(run, aligned, "--against", other).stdout
    assert "against other.fipp, on the same 60 queries" in table and "95 % interval" in table


def test_beta_reaches_the_inverted_softmax(run, aligned):
    alignment = fipp.Alignment.load(aligned.model, aligned.source, aligned.target)
    for beta in (2.0, 30.0):
        told = json.loads(evaluate(run, aligned, "--json", "--retrieval", "isf", "--beta", str(beta)).stdout)
        assert told == alignment.evaluate(aligned.test, retrieval="isf", beta=beta).as_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--level", "95"], "--level must be between 0 and 1"),
        (["--band-edges", "5,x"], "--band-edges takes rising row numbers"),
        (["--band-edges", "5,5"], "rising row numbers"),
        (["--beta", "0"], "beta must be a number above 0"),
        (["--against", "absent.fipp"], "absent.fipp"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_the_vectors_are_read(run, aligned, options, message):
    result = evaluate(run, aligned, *options)
    assert result.exit_code == 2 and message in result.stderr and "words x" not in result.stderr


def test_two_models_are_not_compared_without_a_test_dictionary(run, aligned, other):
    result = run("eval", aligned.model, aligned.source, aligned.target, "--against", other)
    assert result.exit_code == 2 and "give one with --test" in result.stderr


def test_a_dictionary_that_was_not_given_cannot_be_reversed(run, aligned):
    result = run("eval", aligned.model, aligned.source, aligned.target, "--reverse-dict")
    assert result.exit_code == 2 and "--reverse-dict needs a test dictionary: give one with --test" in result.stderr
