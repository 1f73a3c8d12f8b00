"""`fipp analogies`."""

import json

import numpy as np
import pytest

import fipp
from fipp import Vectors
from fipp.evaluate import analogies, cross_analogies


@pytest.fixture
def questions(aligned):
    path = aligned.folder / "[questions].txt"
    lines = [f"e{i} e{i + 1} e{i + 2} e{(3 * i) % 290}" for i in range(1, 40)]
    path.write_text(": first\n" + "\n".join(lines[:20]) + "\n: second\n" + "\n".join(lines[20:]) + "\ne1 e2 e3 zzz\n")
    return path


@pytest.mark.parametrize("method", ["3cosadd", "3cosmul"])
def test_json_is_the_library_s_result(run, aligned, questions, method):
    result = run("analogies", aligned.source, questions, "--method", method, "--json")
    (told,) = json.loads(result.stdout)["sets"]
    expected = analogies(Vectors.load(aligned.source), questions, method=method)
    assert told == {"file": str(questions), "vectors": "as they are", **expected.as_dict()}
    assert told["total"] == 40 and set(told["sections"]) == {"first", "second"} and result.stderr == ""


def test_with_a_model_the_vectors_are_asked_before_and_after(run, aligned, questions):
    alignment = fipp.Alignment.load(aligned.model, aligned.source, aligned.target)
    source = alignment.source
    after = analogies(Vectors(source.words, alignment.aligner.transform(source.matrix)), questions)
    told = json.loads(run("analogies", aligned.source, questions, "--model", aligned.model, "--json").stdout)["sets"][0]
    assert told["correct"] == after.correct and told["before"] == analogies(source, questions).as_dict()
    table = run("analogies", aligned.source, questions, "--model", aligned.model).stdout
    assert all(text in table for text in ("[questions].txt", "before", "after", "second", "39 of 40 (97.5 %)"))


def test_across_the_last_two_words_are_of_the_target(run, aligned):
    path = aligned.folder / "across.txt"
    alignment = fipp.Alignment.load(aligned.model, aligned.source, aligned.target)
    shared = alignment.aligner.transform(alignment.source.matrix)
    keys = alignment.aligner.transform_target(alignment.target.matrix)
    shared, keys = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (shared, keys))
    lines = []
    for i in range(30):  # the right answer by hand, and a wrong one every other time
        scores = keys @ (shared[i + 1] - shared[i] + keys[i + 2])
        scores[i + 2] = -np.inf
        lines.append(f"e{i} e{i + 1} f{i + 2} f{scores.argmax() if i % 2 else scores.argmin()}")
    path.write_text("\n".join(lines) + "\n")
    result = run("analogies", aligned.source, path, "--model", aligned.model, "--across", aligned.target, "--json")
    (told,) = json.loads(result.stdout)["sets"]
    assert (told["correct"], told["questions"], told["vectors"]) == (15, 30, "across")
    assert told["correct"] == cross_analogies(alignment, path).correct


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "magic"], "there is no method 'magic'"),
        (["--target"], "--target needs a --model"),
        (["--across", "x.vec"], "--across needs a --model"),
    ],
)
def test_options_that_do_not_fit_are_refused(run, aligned, questions, options, message):
    result = run("analogies", aligned.source, questions, *options)
    assert result.exit_code == 2 and message in result.stderr


def test_the_target_side_may_be_asked(run, aligned, questions):
    questions.write_text(questions.read_text().replace("e", "f").replace("sfcond", "second"))
    told = json.loads(
        run("analogies", aligned.target, questions, "--model", aligned.model, "--target", "--json").stdout
    )
    assert told["sets"][0]["vectors"] == "after" and told["sets"][0]["questions"] == 39
