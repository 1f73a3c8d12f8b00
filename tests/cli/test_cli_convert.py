"""`fipp convert` and `fipp info`."""

import json

import numpy as np
import pytest

from fipp import Alignment, Vectors
from fipp.evaluate import describe_space
from fipp.io import read_model, write_model


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "x.vec"
    Vectors([f"w{i}" for i in range(50)], np.random.default_rng(0).standard_normal((50, 4))).save(path)
    return path


@pytest.mark.parametrize("name", ["y.vec", "y.vec.gz", "y.npy"])
def test_converted_vectors_are_equal(run, vectors, name):
    output = vectors.with_name(name)
    result = run("convert", vectors, "-o", output)
    assert result.exit_code == 0 and f"{output}: 50 words x 4" in result.stdout
    assert Vectors.load(output).checksum == Vectors.load(vectors).checksum
    back = vectors.with_name("back.vec")
    assert run("convert", output, "-o", back).exit_code == 0
    assert back.read_bytes() == vectors.read_bytes()


def test_only_the_first_words_or_those_of_a_list_are_kept(run, vectors):
    output = vectors.with_name("y.npy")
    assert run("convert", vectors, "-o", output, "--limit", 7).exit_code == 0
    assert len(Vectors.load(output)) == 7
    words = vectors.with_name("words.list")
    words.write_text("w9\nw3\n\nabsent\n")
    result = run("convert", vectors, "-o", output, "--words", words)
    assert Vectors.load(output).words == ("w3", "w9") and "1 of the 3 words to keep are not there" in result.stderr
    words.write_text("absent\n")
    assert run("convert", vectors, "-o", output, "--words", words).exit_code == 2


def test_half_precision_takes_half_the_space(run, vectors):
    output = vectors.with_name("y.npy")
    assert run("convert", vectors, "-o", output, "--dtype", "float16").exit_code == 0
    stored = np.load(output)
    assert stored.dtype == np.float16
    np.testing.assert_array_equal(stored, Vectors.load(vectors).matrix.astype(np.float16))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("x.vec", [], "would overwrite the input"),
        ("y.unknown", [], "no format that fipp knows"),
        ("y.npy", ["--dtype", "int8"], "--dtype is float32 or float16 or float64"),
        ("y.npy", ["--words", "none.txt"], "there is no file"),
    ],
)
def test_what_cannot_be_converted_is_refused(run, vectors, name, options, message):
    before = vectors.read_bytes()
    result = run("convert", vectors, "-o", vectors.with_name(name), *options)
    assert result.exit_code == 2 and message in result.stderr
    assert vectors.read_bytes() == before


def test_a_number_too_large_for_half_precision_is_refused(run, tmp_path):
    Vectors(["big"], [[1e6]]).save(tmp_path / "x.vec")
    result = run("convert", tmp_path / "x.vec", "-o", tmp_path / "y.npy", "--dtype", "float16")
    assert result.exit_code == 2 and "too large for float16" in result.stderr
    assert not (tmp_path / "y.npy").exists()


def test_strict_refuses_a_file_with_defects(run, vectors):
    vectors.write_text(vectors.read_text() + "w0 1 2 3 4\n")
    assert run("convert", vectors, "-o", vectors.with_name("y.npy"), "--strict").exit_code == 2
    assert run("convert", vectors, "-o", vectors.with_name("y.npy")).exit_code == 0


def test_info_as_json_is_what_the_library_measures(run, vectors):
    figures = json.loads(run("info", vectors, "--json").stdout)
    expected = describe_space(Vectors.load(vectors)).as_dict()
    assert {name: figures[name] for name in expected} == expected
    assert "word2vec" in figures["format"] and figures["skipped"] == {}


def test_info_explains_its_figures_and_counts_defects(run, vectors):
    vectors.write_text(vectors.read_text() + "w0 1 2 3 4\nz 0 0 0 0\nragged 1\n")
    result = run("info", vectors)
    assert result.exit_code == 0, result.stderr
    shown = " ".join(result.stdout.split())
    assert "2 (3.8 %)" in shown and "1 duplicates" in shown and "1 ragged rows" in shown
    assert "zero vectors 1 (2.0 %)" in shown
    assert "isotropy" in shown and "CSLS helps" in shown
    assert json.loads(run("info", vectors, "--json").stdout)["skipped"] == {"duplicates": 1, "ragged rows": 1}


def test_info_of_a_model_tells_the_method_the_pairs_and_the_scores(run, aligned):
    alignment = Alignment.load(aligned.model, aligned.source, aligned.target)
    result = alignment.evaluate(aligned.test)
    alignment.evaluate()
    alignment.save(aligned.model)
    shown = run("info", aligned.model).stdout
    assert "FIPP()" in shown and "300 words x 12" in shown and "200 of 200 of the dictionary were found" in shown
    assert f"MAP {result.map:.4f}" in shown and "seed, cosine" in shown and "chosen" not in shown
    told = json.loads(run("info", aligned.model, "--json").stdout)
    assert told["method"] == "FIPP" and told["settings"]["epsilon"] == 0.1 and told["pairs"] == 200
    assert told["target"] == {"words": 300, "dimensions": 8} and told["scores"]["cosine"]["map"] == result.map


def test_info_of_a_tuned_model_has_the_score_of_the_search(run, space):
    options = ("--dict", space.seed, "--grid", "lam=0.5,1", "-o", space.model)
    assert run("tune", space.source, space.target, *options).exit_code == 0
    result = run("info", space.model)
    assert result.exit_code == 0, result.stderr
    assert "on 40 held-out source words" in result.stdout


def test_info_of_a_model_tells_what_was_chosen_and_why(run, space):
    assert run("align", space.source, space.target, "--dict", space.seed, "-o", space.model).exit_code == 0
    aligner = Alignment.load(space.model).aligner
    shown = run("info", space.model).stdout
    assert aligner.chosen_ in shown and "Auto()" in shown and "Mean reciprocal rank of held-out pairs" in shown
    told = json.loads(run("info", space.model, "--json").stdout)
    assert told["chosen"] == aligner.chosen_ and told["trials"] == aligner.trials_


def test_info_of_a_damaged_model_is_a_readable_error(run, aligned):
    whole, (tensors, header) = aligned.model.read_bytes(), read_model(aligned.model)
    aligned.model.write_bytes(whole[:-10])
    result = run("info", aligned.model)
    assert result.exit_code == 2 and result.stderr.startswith("error: ")
    for lacking in ("version", "source"):
        write_model(aligned.model, tensors, {name: value for name, value in header.items() if name != lacking})
        result = run("info", aligned.model)
        assert result.exit_code == 2 and "is damaged" in result.stderr


def test_info_of_a_missing_file_is_a_readable_error(run, tmp_path):
    result = run("info", tmp_path / "none.vec")
    assert result.exit_code == 2 and result.stderr.startswith("error: ")
