"""`fipp compare`."""

import json

import pytest


def test_the_table_goes_to_standard_output_and_notes_elsewhere(run, space):
    options = ["--dict", space.seed, "--test", space.test, "--methods", "Procrustes"]
    done = run("compare", space.source, space.target, *options)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("## 300 × 12 → 300 × 8, 200 of 200 pairs (seed), 60 of 60 test words\n")
    assert "| procrustes | " in done.stdout and "procrustes: MAP NN " in done.stderr


def test_results_are_kept_and_written_to_a_file(run, space, tmp_path):
    output, results = tmp_path / "methods.csv", tmp_path / "kept.jsonl"
    options = ["--dict", space.seed, "--test", space.test, "--methods", "procrustes", "--results", results, "-q"]
    first = run("compare", space.source, space.target, *options, "--format", "csv", "-o", output)
    assert first.exit_code == 0 and first.stdout == first.stderr == ""
    again = run("compare", space.source, space.target, *options, "--json")
    told = json.loads(again.stdout)
    assert told["test"]["n_queries"] == 60 and [method["name"] for method in told["methods"]] == ["procrustes"]
    assert f"{told['methods'][0]['cosine']['map']}" in output.read_text(encoding="utf-8")
    assert len(results.read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--format", "html"], "no format 'html'"),
        (["--methods", "x"], "no method 'x'"),
        (["-o", "/no/such/folder/x.md"], "does not exist"),
    ],
)
def test_mistakes_are_told_before_anything_is_run(run, space, options, complaint):
    done = run("compare", space.source, space.target, "--dict", space.seed, "--test", space.test, *options)
    assert done.exit_code == 2
    assert complaint in done.stderr
