"""`fipp similarity`."""

import json

import pytest

import fipp
from fipp.evaluate import cross_similarity, similarity, similarity_before_after


@pytest.fixture
def items(aligned):
    path = aligned.folder / "[similar].tsv"
    path.write_text("word1\tword2\tscore\n" + "".join(f"e{i}\te{7 * i}\t{i % 5}\n" for i in range(1, 60)))
    return path


def test_json_is_the_library_s_result(run, aligned, items):
    result = run("similarity", aligned.source, items, items, "--json")
    (told,) = json.loads(result.stdout)["sets"]  # a file given twice is measured once
    assert told == {
        "file": str(items),
        "vectors": "as they are",
        **similarity(fipp.Vectors.load(aligned.source), items).as_dict(),
    }
    assert told["pairs"] < told["total"] == 59 and result.stderr == ""


def test_with_a_model_the_vectors_are_compared_before_and_after(run, aligned, items):
    before, after = similarity_before_after(fipp.Alignment.load(aligned.model, aligned.source), items)
    told = json.loads(run("similarity", aligned.source, items, "--model", aligned.model, "--json").stdout)["sets"][0]
    assert told["spearman"] == after.spearman and told["before"] == before.as_dict()
    table = run("similarity", aligned.source, items, "--model", aligned.model).stdout
    assert f"{before.spearman:.4f}" in table and f"{after.pearson:.4f}" in table and "[similar].tsv" in table


def test_the_target_side_and_pairs_across_are_measured_too(run, aligned, items):
    across = aligned.folder / "across.csv"
    across.write_text("".join(f"e{i},f{7 * i},{i % 5}\n" for i in range(1, 40)))
    expected = cross_similarity(fipp.Alignment.load(aligned.model, aligned.source, aligned.target), across)
    result = run("similarity", aligned.source, across, "--model", aligned.model, "--across", aligned.target, "--json")
    assert json.loads(result.stdout)["sets"][0]["spearman"] == expected.spearman
    items.write_text(items.read_text().replace("e", "f"))
    result = run("similarity", aligned.target, items, "--model", aligned.model, "--target", "--json")
    assert json.loads(result.stdout)["sets"][0]["vectors"] == "after"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target"], "--target needs a --model"),
        (["--across", "x.vec"], "--across needs a --model"),
        (["--target", "--across", "x.vec", "--model", "m.fipp"], "leave --target out"),
    ],
)
def test_options_that_do_not_fit_are_refused(run, aligned, items, options, message):
    result = run("similarity", aligned.source, items, *options)
    assert result.exit_code == 2 and message in result.stderr


def test_a_file_without_scores_is_refused_before_the_vectors_are_read(run, aligned):
    result = run("similarity", aligned.source, aligned.seed)
    assert result.exit_code == 2 and "no two words with a number" in result.stderr and "words x" not in result.stderr
