"""MultiNLI and XNLI in the layouts that they are published in."""

import gzip
import json

import pytest

from fipp.exceptions import FippError
from fipp.tasks import load_nli

# The first lines of both corpora as their documentation shows them.
MULTINLI = [
    *("gold_label", "sentence1_binary_parse", "sentence2_binary_parse", "sentence1_parse", "sentence2_parse"),
    *("sentence1", "sentence2", "promptID", "pairID", "genre", "label1", "label2", "label3", "label4", "label5"),
]
XNLI = ["language", *MULTINLI, "sentence1_tokenized", "sentence2_tokenized", "match"]
PAIRS = [
    ("neutral", "Conceptually cream skimming has two basic dimensions.", "Product and geography make it work."),
    ("-", 'He said "no".', "He said nothing."),
    ("contradiction", "It rained. ", "It was dry."),
]
FRENCH = [
    ("neutral", "Et il a dit, maman, je suis à la maison.", "Il a appelé sa mère."),
    ("entailment", "Oui.", "Oui"),
]


def tabs(header, records):
    rows = ["\t".join(header), *("\t".join(record.get(name, "") for name in header) for record in records)]
    return "\n".join(rows) + "\n"


def records(pairs, language=None):
    return [
        {
            "gold_label": label,
            "sentence1": first,
            "sentence2": second,
            "promptID": "31193",
            "pairID": "31193n",
            "genre": "government",
            "label1": "neutral",
            **({} if language is None else {"language": language, "match": "True"}),
        }
        for label, first, second in pairs
    ]


@pytest.fixture
def multinli(tmp_path):
    path = tmp_path / "multinli_1.0_train.txt"
    path.write_text(tabs(MULTINLI, records(PAIRS)), encoding="utf-8")
    return path


@pytest.fixture
def xnli(tmp_path):
    path = tmp_path / "xnli.test.tsv"
    lines = records(PAIRS[:1], "en") + records(FRENCH, "fr")
    path.write_text(tabs(XNLI, lines), encoding="utf-8")
    return path


def test_tabs_and_json_lines_give_the_same_pairs(multinli, tmp_path):
    as_json = tmp_path / "multinli_1.0_train.jsonl"
    lines = [{**record, "annotator_labels": ["neutral"]} for record in records(PAIRS)]
    as_json.write_text("".join(json.dumps(line) + "\n" for line in lines))
    packed = tmp_path / "multinli.jsonl.gz"
    packed.write_bytes(gzip.compress(as_json.read_bytes()))
    for path in (multinli, as_json, packed):
        corpus = load_nli(path)
        assert corpus.premises == (PAIRS[0][1], PAIRS[2][1]) and corpus.hypotheses == (PAIRS[0][2], PAIRS[2][2])
        assert corpus.labels.tolist() == [1, 2] and corpus.left_out == 1
    assert len(load_nli(multinli, limit=1)) == 1


def test_a_line_of_multinli_may_lack_the_labels_that_were_not_asked_for(multinli):
    multinli.write_text("\n".join(line.rstrip("\t") for line in multinli.read_text().splitlines()) + "\n")
    assert len(load_nli(multinli)) == 2


def test_xnli_gives_the_language_asked_for(xnli, tmp_path):
    assert load_nli(xnli, "fr").hypotheses == (FRENCH[0][2], FRENCH[1][2])
    as_json = tmp_path / "xnli.test.jsonl"
    as_json.write_text("".join(json.dumps(record) + "\r\n" for record in records(FRENCH, "fr")))
    assert load_nli(as_json, "fr").premises == load_nli(xnli, "fr").premises
    with pytest.raises(FippError, match="no pairs in 'tr'; it has en, fr"):
        load_nli(xnli, "tr")
    assert load_nli(as_json).premises == load_nli(xnli, "fr").premises
    with pytest.raises(FippError, match="another language than those before: say which to read"):
        load_nli(xnli)


@pytest.mark.parametrize("kept", [0.5, 0.8, 0.95])
def test_a_cut_file_is_refused_with_its_line(xnli, tmp_path, kept):
    for text in (xnli.read_text(encoding="utf-8"), "".join(json.dumps(r) + "\n" for r in records(FRENCH, "fr"))):
        last = text.rstrip("\n").rfind("\n") + 1
        path = tmp_path / "cut"
        path.write_text(text[: last + int(kept * (len(text) - last - 8))], encoding="utf-8")
        with pytest.raises(FippError, match=r"line \d of .*cut"):
            load_nli(path, "fr")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("gold_label", "label", "no column 'gold_label'"),
        ("contradiction\t", "no\t", "has the label 'no'"),
        ("It was dry.", "It\twas dry.", "line 4 .* has 16 fields where 15 are expected"),
    ],
)
def test_malformed_lines_are_refused_with_the_reason(multinli, old, new, message):
    text = multinli.read_text()
    assert old in text
    multinli.write_text(text.replace(old, new))
    with pytest.raises(FippError, match=message):
        load_nli(multinli)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1, 2]", "no column"),  # the first line says that it is no JSON
        ('{"gold_label": "neutral", "sentence1": "a"}', "no field 'sentence2' with text"),
        ('{"gold_label": "neutral", "sentence1": "a", "sentence2": 5}', "no field 'sentence2' with text"),
        ("", "is empty"),
        ('{"gold_label": "-", "sentence1": "a", "sentence2": "b"}', "no pair of sentences with a label"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path, line, message):
    path = tmp_path / "x.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(FippError, match=message):
        load_nli(path)


def test_bytes_that_are_no_utf8_and_missing_files_are_refused(tmp_path, xnli):
    xnli.write_bytes(xnli.read_bytes().replace("à".encode(), b"\xe0"))
    with pytest.raises(FippError, match=r"line 3 of .* is not UTF-8"):
        load_nli(xnli, "fr")
    with pytest.raises((FippError, OSError), match="nothing"):
        load_nli(tmp_path / "nothing.tsv", "fr")
