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


def test_the_first_row_of_a_word_has_its_best_translation(run, aligned):
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
    assert list(json.loads(result.stdout)["unknown"]) == ["[b]"]


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


def test_a_translation_takes_one_row_however_narrow_the_terminal(run, aligned, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = translate(run, aligned, "e250", "-k", 30).stdout.splitlines()
    assert sum("f" in line and "." in line for line in lines) == 30


def test_tab_separated_lines_hold_word_rank_translation_and_score(run, aligned):
    lines = [line.split("\t") for line in translate(run, aligned, "e250", "e260", "-k", 2, "--tsv").stdout.splitlines()]
    assert [line[:2] for line in lines] == [["e250", "1"], ["e250", "2"], ["e260", "1"], ["e260", "2"]]
    assert lines[0][2] == "f250" and 0 < float(lines[0][3]) <= 1


def test_json_and_tab_separated_lines_exclude_each_other(run, aligned):
    assert translate(run, aligned, "e250", "--tsv", "--json").exit_code == 2


@pytest.mark.parametrize("retrieval", ["nn", "csls"])
def test_target_words_are_translated_into_the_source(run, aligned, retrieval):
    told = json.loads(translate(run, aligned, "f250", "--reverse", "--retrieval", retrieval, "--json").stdout)
    assert told["translations"]["f250"][0]["word"] == "e250"


def test_words_are_read_from_a_file(run, aligned, tmp_path):
    (tmp_path / "words.txt").write_text("e250\n\ne260\n-\n")
    told = json.loads(translate(run, aligned, "--words", tmp_path / "words.txt", "--json").stdout)
    assert list(told["translations"]) == ["e250", "e260"] and list(told["unknown"]) == ["-"]


def test_words_spelled_alike_are_named_for_an_unknown_one(run, aligned):
    result = translate(run, aligned, "e250", "e2500", "--json")
    assert json.loads(result.stdout)["unknown"] == {"e2500": ["e200", "e250"]}
    assert "'e2500' (near: e200, e250)" in result.stderr
