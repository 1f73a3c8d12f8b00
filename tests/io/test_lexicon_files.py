"""Dictionary files of every habit: separators, scores, headers, several translations; and hostile ones."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fipp.exceptions import FippError
from fipp.io import Lexicon

CAT_AND_DOG = [("cat", "mačka"), ("dog", "pas")]


def load(folder, text, name="x.txt", **options):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Lexicon.load(path, **options)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.txt", "cat,mačka\ndog,pas\n"),
        ("x.txt", "cat, mačka\ndog, pas\n"),
        ("x.txt", "cat;mačka\r\ndog;pas"),
        ("x.csv", "cat;mačka\ndog;pas\n"),
        ("x.csv", '"cat";"mačka";noun\n"dog";pas;noun\n'),
        ("x.txt", "# English; Croatian, 2 pairs\ncat;mačka\ndog;pas\n"),
    ],
)
def test_commas_and_semicolons_are_found_out(tmp_path, name, text):
    assert load(tmp_path, text, name, strict=True).pairs == CAT_AND_DOG


@pytest.mark.parametrize("text", ["1,5 1.5\n2,5 2.5\n", "a,b c\nd e\n", "a; b\nc d\n", "a,b c\n"])
def test_white_space_separates_words_that_contain_commas(tmp_path, text):
    assert load(tmp_path, text).pairs == [tuple(line.split()) for line in text.splitlines()]


def test_few_tabs_among_spaces_are_white_space(tmp_path):
    assert load(tmp_path, "cat mačka\ndog pas\ncow\tkrava\n", strict=True).pairs == [*CAT_AND_DOG, ("cow", "krava")]


def test_entries_of_several_words_are_whole_where_spaces_do_not_separate(tmp_path):
    for text in ["New York\tgrad Njujork\n", "New York;grad Njujork\n", "New York, grad Njujork\n"]:
        assert load(tmp_path, text).pairs == [("New York", "grad Njujork")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.tsv", "cat\tmačka\t0.5\ndog\tpas\t-2e-1\n"),
        ("x.txt", "cat mačka 0.5\ndog pas -.2\n"),
        ("x.txt", "# two of them\nen hr score\ncat mačka 0.5\ndog pas -.2\n"),
        ("x.csv", "cat,mačka,0.5,noun\ndog,pas,-0.2,noun\n"),
        ("x.csv", "cat;mačka;0,5\ndog;pas;-0,2\n"),
        ("x.txt", "cat;mačka;0,5\ndog;pas;-0,2\n"),
        ("x.tsv", "English\tCroatian\tcosine\ncat\tmačka\t0.5\ndog\tpas\t-0.2\n"),
    ],
)
def test_a_third_column_of_numbers_is_the_scores(tmp_path, name, text):
    lexicon = load(tmp_path, text, name, strict=True)
    assert lexicon.pairs == CAT_AND_DOG
    assert lexicon.scores.tolist() == [0.5, -0.2]


@pytest.mark.parametrize("third", ["noun", "1_0", "nan", "inf", "٣", "1e999", "0x1"])
def test_a_third_column_of_anything_else_is_ignored(tmp_path, third):
    lexicon = load(tmp_path, f"cat\tmačka\t0.5\ndog\tpas\t{third}\n")
    assert lexicon.pairs == CAT_AND_DOG
    assert lexicon.scores is None


def test_a_pair_without_a_score_has_nan(tmp_path):
    scores = load(tmp_path, "cat\tmačka\t0.5\ndog\tpas\n").scores
    assert scores[0] == 0.5 and math.isnan(scores[1])


def test_pairs_below_the_least_score_are_left_out(tmp_path):
    text = "cat\tmačka\t0.5\ndog\tpas\t0.9\ncow\tkrava\n"
    lexicon = load(tmp_path, text, min_score=0.6)
    assert lexicon.pairs == [("dog", "pas")] and lexicon.scores.tolist() == [0.9]
    with pytest.raises(FippError, match="none of the 3 pairs"):
        load(tmp_path, text, min_score=1)
    with pytest.raises(FippError, match="has no scores"):
        load(tmp_path, "cat\tmačka\n", min_score=0.6)


@pytest.mark.parametrize("header", ["source\ttarget", "Word\tTranslation", "SRC\ttgt\tscore"])
def test_a_line_that_can_only_be_a_header_is_skipped(tmp_path, header):
    assert load(tmp_path, f"{header}\ncat\tmačka\n", strict=True).pairs == [("cat", "mačka")]


def test_what_may_be_a_word_is_no_header(tmp_path):
    assert load(tmp_path, "english\tfrench\ncat\tchat\n").pairs == [("english", "french"), ("cat", "chat")]
    assert load(tmp_path, "cat\tchat\nsource\ttarget\n").pairs == [("cat", "chat"), ("source", "target")]


def test_several_translations_are_cut_only_when_asked_for(tmp_path):
    text = "cat\tmačka, mačak; maca\ndog\tpas\n"
    assert load(tmp_path, text).pairs == [("cat", "mačka, mačak; maca"), ("dog", "pas")]
    cut = load(tmp_path, text, alternatives=",;").pairs
    assert cut == [("cat", "mačka"), ("cat", "mačak"), ("cat", "maca"), ("dog", "pas")]


def test_translations_share_the_score_of_their_line(tmp_path):
    lexicon = load(tmp_path, "cat\ta/b\t0.5\ndog\tc\t0.25\n", alternatives="/")
    assert lexicon.scores.tolist() == [0.5, 0.5, 0.25]


@pytest.mark.parametrize(
    ("text", "name", "alternatives"),
    [("cat\ta\tb, c\n", "x.tsv", "\t,"), ("cat a b c\ndog d\n", "x.txt", " "), ("cat,a,b,c\n", "x.csv", ",")],
)
def test_translations_may_stand_in_columns(tmp_path, text, name, alternatives):
    assert load(tmp_path, text, name, alternatives=alternatives).pairs[:3] == [("cat", "a"), ("cat", "b"), ("cat", "c")]


def test_no_character_to_cut_at_is_refused(tmp_path):
    with pytest.raises(FippError, match="alternatives"):
        load(tmp_path, "a b\n", alternatives="")


WORDS = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1, max_size=8)
    .map(lambda word: word.strip(" \v\f"))
    .filter(bool)
) | st.sampled_from(["source", "target", "word", "1", "0,5", "a;b", '"', "# x", ",", ";", "a b"])
SCORES = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    st.lists(st.tuples(WORDS, WORDS, SCORES), min_size=1, max_size=4), st.sampled_from(["x.tsv", "x.txt.gz", "x.csv"])
)
@example([("source", "target", None)], "x.tsv")
@example([("a;b;0", "9", None)], "x.csv")
def test_pairs_and_scores_read_back_as_they_were_written(tmp_path, rows, name):
    pairs = [(source, target) for source, target, _ in rows]
    scores = np.array([math.nan if score is None else score for _, _, score in rows])
    Lexicon(pairs, scores).save(tmp_path / name)
    again = Lexicon.load(tmp_path / name, strict=True)
    assert again.pairs == pairs
    np.testing.assert_array_equal(np.full(len(pairs), np.nan) if again.scores is None else again.scores, scores)


PIECES = st.sampled_from(
    [b"\t", b",", b";", b" ", b"\n", b"\r\n", b'"', b"# ", b"\xef\xbb\xbf", b"\xff", b"\x00", b"a", b"\xc4\x8d", b"0.5",
     b"1e999", b"source", b"target", b"\xe2\x80\xa8", b"\x1f\x8b", b"\xff\xfe", b"'", b"\\"]
)  # fmt: skip
HOSTILE = st.binary(max_size=80) | st.lists(PIECES, max_size=30).map(b"".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(
    HOSTILE,
    st.sampled_from(["x.tsv", "x.txt", "x.csv", "x.txt.gz"]),
    st.sampled_from([None, ",;", "\t", " ", "]^"]),
    st.booleans(),
)
def test_any_bytes_give_pairs_or_a_readable_error(tmp_path, content, name, alternatives, strict):
    try:
        lexicon = load(tmp_path, content, name, alternatives=alternatives, strict=strict)
    except FippError:
        return
    assert len(lexicon) > 0
    assert all(source and target for source, target in lexicon)
    assert lexicon.scores is None or len(lexicon.scores) == len(lexicon)


@pytest.mark.parametrize("name", ["b.tsv", "b.csv", "b.tsv.gz"])
def test_two_lexicons_are_written_both_or_neither(tmp_path, name):
    seed, test = tmp_path / "a.tsv", tmp_path / name
    Lexicon([("cat", "mačka")]).save_with(seed, Lexicon([("dog", "pas")], scores=[0.5]), test)
    assert (Lexicon.load(seed).pairs, Lexicon.load(test).pairs) == ([("cat", "mačka")], [("dog", "pas")])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for words in ["new\tline", ""]:
        with pytest.raises(FippError, match="cannot be written"):
            Lexicon([("dog", "pas")]).save_with(seed, Lexicon([(words, "x")]), test)
    with pytest.raises(FippError, match="does not exist"):
        Lexicon([("dog", "pas")]).save_with(seed, Lexicon([("cat", "mačka")]), tmp_path / "none" / name)
    with pytest.raises(FippError, match="two files"):
        Lexicon([("dog", "pas")]).save_with(seed, Lexicon([("cat", "mačka")]), seed)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
