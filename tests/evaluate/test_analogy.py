"""Analogies, against a loop over all words."""

import json

import numpy as np
import pytest

import fipp
from fipp import Vectors
from fipp.evaluate import analogies, cross_analogies, load_analogies
from fipp.exceptions import FippError, FippWarning


def answer(vectors, a, b, c, method):
    """Return the best word in float64, looking at one after the other."""
    unit = {word: vectors[word].astype(float) / np.linalg.norm(vectors[word].astype(float)) for word in vectors}
    best, best_score = None, -np.inf
    for word in vectors:
        if word in (a, b, c):
            continue
        near_a, near_b, near_c = (unit[word] @ unit[other] for other in (a, b, c))
        if method == "3cosadd":
            score = near_b - near_a + near_c
        else:
            score = (near_b + 1) / 2 * (near_c + 1) / 2 / ((near_a + 1) / 2 + 0.001)
        if score > best_score:
            best, best_score = word, score
    return best


@pytest.fixture
def vectors(rng):
    return Vectors([f"w{i}" for i in range(40)], rng.standard_normal((40, 4)))


@pytest.mark.parametrize("max_memory", [None, "1 KB"])
@pytest.mark.parametrize("method", ["3cosadd", "3cosmul"])
def test_answers_are_those_of_a_loop(vectors, rng, method, max_memory):
    questions = []
    for number in range(60):
        a, b, c, other = (f"w{i}" for i in rng.choice(40, size=4, replace=False))
        right = number % 3 == 0
        questions.append(
            (a, b, c, answer(vectors, a, b, c, method) if right else other, "right" if right else "random")
        )
    expected = [answer(vectors, *question[:3], method) == question[3] for question in questions]
    result = analogies(vectors, questions, method=method, max_memory=max_memory)
    assert result.correct == sum(expected) and result.accuracy == pytest.approx(np.mean(expected))
    assert result.sections["right"] == (20, 20, 20)
    assert result.sections["random"].correct == sum(expected) - 20


def test_the_three_words_of_the_question_are_no_answers(vectors):
    assert analogies(vectors, [("w0", "w0", "w1", "w1")]).correct == 0
    assert analogies(vectors, [("w0", "w1", "w2", "w1")]).correct == 0


def test_an_answer_that_ties_with_another_word_is_wrong():
    vectors = Vectors("abcde", [[1, 0], [0, 1], [1, 1], [0, 2], [0, 3]])
    assert analogies(vectors, [("a", "b", "c", "d")]).correct == 0
    assert analogies(vectors.head(4), [("a", "b", "c", "d")]).correct == 1
    assert analogies(vectors, [("a", "b", "c", "d")], limit=4).correct == 1


def test_sections_and_coverage_are_counted(vectors, tmp_path):
    path = tmp_path / "questions.txt"
    path.write_text(": first one\nw1 w2 w3 W4\nw1 w2 w3 nowhere\n\n: second\nw5 w6 w7 w8\n: none\nx y z w1\n")
    asked = load_analogies(path)
    assert asked[0] == ("w1", "w2", "w3", "W4", "first one") and len(asked) == 4
    result = analogies(vectors, path)
    assert (result.questions, result.total, result.coverage) == (2, 4, 0.5)
    assert {name: score[1:] for name, score in result.sections.items()} == {
        "first one": (1, 2),
        "second": (1, 1),
        "none": (0, 1),
    }
    told = json.loads(json.dumps(result.as_dict()))
    assert told["sections"]["second"]["total"] == 1 and told["method"] == "3cosadd"


def test_what_cannot_be_asked_is_refused(vectors, tmp_path):
    path = tmp_path / "questions.txt"
    path.write_text(": a\none two\n")
    with pytest.raises(FippError, match="no line of four words"):
        load_analogies(path)
    path.write_text("one two\nw1 w2 w3 w4\n")
    with pytest.warns(FippWarning, match="skipped 1 malformed line"):
        load_analogies(path)
    with pytest.raises(FippError, match="none of the 1 analogies"):
        analogies(vectors, [("a", "b", "c", "d")])
    with pytest.raises(FippError, match="no method 'add'"):
        analogies(vectors, [("w1", "w2", "w3", "w4")], method="add")


@pytest.fixture
def two_spaces():
    """Return an alignment of two spaces with a shift between two halves, which analogies can tell."""
    rng = np.random.default_rng(3)
    base, shift = rng.standard_normal((60, 10)), 1.5 * rng.standard_normal(10)
    items = np.concatenate([base, base + shift])
    turn = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    source = Vectors([f"s{i}" for i in range(120)], items + 0.05 * rng.standard_normal(items.shape))
    target = Vectors([f"t{i}" for i in range(120)], items @ turn)
    return fipp.align(source, target, [(f"s{i}", f"t{i}") for i in range(120)], "procrustes")


@pytest.mark.parametrize("method", ["3cosadd", "3cosmul"])
def test_across_two_spaces_the_best_target_word_but_c_is_the_answer(two_spaces, method):
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (
        two_spaces.aligner.transform(two_spaces.source.matrix),
        two_spaces.aligner.transform_target(two_spaces.target.matrix),
    )]  # fmt: skip
    questions = [(f"s{i}", f"s{i + 60}", f"t{j}", f"t{j + 60}") for i, j in zip(range(30), range(29, 59), strict=True)]
    right = 0
    for i, j in zip(range(30), range(29, 59), strict=True):
        near = [unit[1] @ vector for vector in (unit[0][i], unit[0][i + 60], unit[1][j])]
        if method == "3cosadd":
            scores = near[1] - near[0] + near[2]
        else:
            scores = (near[1] + 1) * (near[2] + 1) / 4 / ((near[0] + 1) / 2 + 1e-3)
        scores[j] = -np.inf
        right += scores.argmax() == j + 60
    result = cross_analogies(two_spaces, questions, method=method)
    assert (result.correct, result.questions, result.total) == (right, 30, 30) and right > 0


def test_across_two_spaces_words_beyond_the_limit_do_not_count(two_spaces):
    questions = [("s0", "s60", "t1", "t61"), ("s0", "s1", "t2", "t3")]
    assert cross_analogies(two_spaces, questions, limit=50).questions == 1
    with pytest.raises(FippError, match="none of the 1 analogies"):
        cross_analogies(two_spaces, questions[:1], limit=50)
