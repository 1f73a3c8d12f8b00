"""`fipp translate`."""

import json

import pytest

import fipp


def translate(run, space, *arguments, **options):
    return run("translate", space.model, space.source, space.target, *arguments, **options)


def test_the_translation_of_a_word_comes_first(run, aligned):
    told = json.loads(translate(run, aligned, "e250", "e260", "-k", 3, "--json").stdout)
    assert {word: ranked[0]["word"] for word, ranked in told["translations"].items()} == {
        "e250": "f250",
        "e260": "f260",
    }
    assert all(len(ranked) == 3 for ranked in told["translations"].values())
    scores = [best["score"] for best in told["translations"]["e250"]]
    assert scores == sorted(scores, reverse=True)


def test_the_table_has_a_row_for_each_word(run, aligned):
    lines = translate(run, aligned, "e250", "e260").stdout.splitlines()
    assert sum(line.split()[:2] == ["e250", "f250"] for line in lines) == 1
    assert sum(line.split()[:2] == ["e260", "f260"] for line in lines) == 1


def test_words_are_read_from_standard_input(run, aligned):
    result = translate(run, aligned, "-", "--json", stdin="e250\n\n  e260 \ne250\n")
    assert list(json.loads(result.stdout)["translations"]) == ["e250", "e260"]


def test_empty_standard_input_is_refused(run, aligned):
    result = translate(run, aligned, "-", stdin="\n")
    assert result.exit_code == 2 and "no words to translate" in result.stderr


def test_unknown_words_are_named_and_the_others_translated(run, aligned):
    result = translate(run, aligned, "[b]", "e250", "--json")
    assert result.exit_code == 0
    assert "warning: not among the 300 source words and left out: '[b]'" in result.stderr
    assert json.loads(result.stdout)["unknown"] == ["[b]"]


def test_only_unknown_words_are_an_error(run, aligned):
    result = translate(run, aligned, "nothing", "nowhere")
    assert result.exit_code == 2 and result.stdout == ""
    assert "error: not among the 300 source words: 'nothing', 'nowhere'" in result.stderr


def test_csls_is_available(run, aligned):
    told = json.loads(translate(run, aligned, "e250", "--retrieval", "csls", "--json").stdout)
    assert told["retrieval"] == "csls" and told["translations"]["e250"][0]["word"] == "f250"


def test_beta_reaches_the_inverted_softmax(run, aligned):
    alignment = fipp.Alignment.load(aligned.model, aligned.source, aligned.target)
    words = [aligned.model, aligned.source, aligned.target, "e1", "--retrieval", "isf", "--beta", "3", "--json"]
    told = json.loads(run("translate", *words).stdout)["translations"]["e1"]
    assert [best["word"] for best in told] == [best.word for best in alignment.translate("e1", retrieval="isf", beta=3)]
    assert told[0]["score"] == pytest.approx(alignment.translate("e1", retrieval="isf", beta=3)[0].score)
