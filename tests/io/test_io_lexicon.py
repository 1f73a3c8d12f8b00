"""Lexicons: read from any table of two columns, split without leaks, looked up with an account."""

import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fipp.exceptions import FippError
from fipp.io import Lexicon, Vectors


def load(folder, text, name="x.txt", **options):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Lexicon.load(path, **options)


def vocabulary(*words):
    return Vectors(words, np.zeros((len(words), 1)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.txt", "cat mačka\ndog pas\n"),
        ("x.txt", "cat  mačka \r\n\r\ndog\u0020pas"),
        ("x.txt", "\ufeffcat\tmačka\t0.93\ndog\tpas\t0.5\tnoun\n"),
        ("x.tsv", "# English\n\ncat\tmačka\ndog\tpas\n"),
        ("x.csv", 'cat,mačka\n"dog", pas ,0.5\n'),
    ],
)
def test_spaces_tabs_and_commas_give_the_same_pairs(tmp_path, name, text):
    lexicon = load(tmp_path, text, name, strict=True)
    assert list(lexicon) == [("cat", "mačka"), ("dog", "pas")]
    assert lexicon.report.summary() is None


def test_a_gzipped_lexicon_is_read(tmp_path):
    assert load(tmp_path, gzip.compress(b"a,b\n"), "x.csv.gz").pairs == [("a", "b")]


def test_words_with_spaces_need_a_tab(tmp_path):
    assert load(tmp_path, "New York\tNjujork\na\tb\n").pairs == [("New York", "Njujork"), ("a", "b")]
    spaced = load(tmp_path, "New York Njujork\na b\n")
    assert spaced.pairs == [("a", "b")]
    assert spaced.report.summary() == "x.txt: 1 pair; skipped 1 malformed line (line 1, 'New York Njujork', 3 fields)"


def test_a_no_break_space_belongs_to_its_word(tmp_path):
    assert load(tmp_path, "a\u00a0b c\n").pairs == [("a\u00a0b", "c")]


def test_the_hash_sign_can_be_a_word_and_can_begin_a_comment(tmp_path):
    assert load(tmp_path, "# a comment here\n# #\n#tag oznaka\n", strict=True).pairs == [("#", "#"), ("#tag", "oznaka")]
    assert load(tmp_path, "# a comment\n#\tljestve\n", strict=True).pairs == [("#", "ljestve")]


def test_malformed_lines_are_counted_and_strict_names_file_and_line(tmp_path):
    text = "cat\tmačka\nalone\nx\t\ndog\tpas\n"
    lexicon = load(tmp_path, text)
    assert lexicon.pairs == [("cat", "mačka"), ("dog", "pas")]
    assert lexicon.report.summary() == "x.txt: 2 pairs; skipped 2 malformed lines (first: line 2, 'alone', 1 field)"
    with pytest.raises(FippError, match=r"x\.txt, line 2, 'alone', 1 field: malformed line"):
        load(tmp_path, text, strict=True)


def test_bytes_that_are_not_utf8_are_repaired_and_counted(tmp_path):
    lexicon = load(tmp_path, b"na\xefve naivan\n")
    assert lexicon.pairs == [("na\ufffdve", "naivan")]
    assert "repaired 1 line that is not UTF-8" in lexicon.report.summary()


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing here yet\n", "alone\n"])
def test_a_lexicon_without_pairs_is_refused(tmp_path, text):
    with pytest.raises(FippError, match="holds no pair of words"):
        load(tmp_path, text)


def test_what_is_no_pair_is_refused():
    for pairs in [["ab"], [("a", "b", "c")], [("a", 1)]]:
        with pytest.raises(FippError, match="pair 0"):
            Lexicon(pairs)


LEXICON_WORDS = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1)
    .map(lambda word: word.strip(" \v\f"))
    .filter(bool)
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.tuples(LEXICON_WORDS, LEXICON_WORDS), min_size=1, max_size=5),
    st.sampled_from(["x.tsv", "x.txt.gz", "x.csv"]),
)
def test_pairs_read_back_as_they_were_written(tmp_path, pairs, name):
    Lexicon(pairs).save(tmp_path / name)
    assert Lexicon.load(tmp_path / name, strict=True).pairs == pairs


@pytest.mark.parametrize("word", ["a\tb", "a\nb", "", " a", "\ud800"])
def test_a_word_that_the_file_cannot_hold_is_refused(tmp_path, word):
    with pytest.raises(FippError, match="cannot be written"):
        Lexicon([("fine", word)]).save(tmp_path / "x.tsv")
    assert not (tmp_path / "x.tsv").exists()


PAIRS = [(f"w{i // 2}", f"t{i}") for i in range(40)] + [("W3", "other case")]


@pytest.mark.parametrize("size", [5, 0.25])
def test_no_source_word_is_in_both_parts_of_a_split(size):
    chosen, rest = Lexicon(PAIRS).split(size, random_state=7)
    sources = [{source.lower() for source, _ in part} for part in (chosen, rest)]
    assert not sources[0] & sources[1]
    assert (len(sources[0]), len(sources[1])) == (5, 15)
    assert sorted(chosen.pairs + rest.pairs) == sorted(PAIRS)
    assert chosen.pairs == sorted(chosen.pairs, key=PAIRS.index)


def test_a_split_depends_on_its_seed_only():
    lexicon = Lexicon(PAIRS)
    assert lexicon.split(5, 1)[0].pairs == lexicon.split(5, np.random.default_rng(1))[0].pairs
    assert lexicon.split(5, 1)[0].pairs != lexicon.split(5, 2)[0].pairs


@pytest.mark.parametrize("size", [0, 20, 1.0, 0.0, -1])
def test_a_split_with_an_empty_part_is_refused(size):
    with pytest.raises(FippError, match="both parts"):
        Lexicon(PAIRS).split(size)


def test_lookup_gives_rows_coverage_and_what_is_missing():
    source, target = vocabulary("dog", "cat", "cow"), vocabulary("krava", "mačka", "pas")
    lexicon = Lexicon([("cat", "mačka"), ("Dog", "pas"), ("dog", "Pas"), ("emu", "emu"), ("cow", "x"), ("y", "pas")])
    lookup = lexicon.lookup(source, target).require()
    assert lookup.rows.tolist() == [[1, 1], [0, 2]]
    assert lookup.rows.dtype == np.int64
    assert lookup.pairs_found.tolist() == [0, 1]
    assert lookup.lines.tolist() == [0, 1, 2]
    assert lookup.line_rows.tolist() == [[1, 1], [0, 2], [0, 2]]
    assert (lookup.total, lookup.found, lookup.duplicates) == (6, 3, 1)
    assert lookup.coverage == 0.5
    assert (lookup.missing_source, lookup.missing_source_examples) == (2, ("emu", "y"))
    assert (lookup.missing_target, lookup.missing_target_examples) == (2, ("emu", "x"))
    assert lookup.hint() is None


def test_words_in_other_case_are_found_on_both_sides():
    lookup = Lexicon([("Paris", "pariz"), ("london", "LONDON")]).lookup(
        vocabulary("paris", "London"), vocabulary("Pariz", "london")
    )
    assert lookup.rows.tolist() == [[0, 0], [1, 1]]


def test_a_lexicon_the_wrong_way_round_is_noticed():
    source = vocabulary(*[f"s{i}" for i in range(100)], "radio")
    target = vocabulary(*[f"t{i}" for i in range(96)], "radio")
    wrong = Lexicon([(f"t{i}", f"s{i}") for i in range(98)] + [("radio", "radio")] * 2)
    lookup = wrong.lookup(source, target)
    assert (lookup.found, lookup.duplicates) == (2, 1)
    assert lookup.reversed_coverage == 0.98
    assert lookup.hint() == (
        "only 2 % of the pairs were found; the other way round it would be 98 %: is the dictionary target-source? "
        "Lexicon.reverse() or --reverse-dict turns it"
    )
    turned = wrong.reverse().lookup(source, target)
    assert turned.coverage == 0.98
    assert turned.hint() is None


def test_a_lookup_that_found_nothing_raises_with_examples_and_hint():
    source, target = vocabulary("cat", "dog"), vocabulary("mačka", "pas")
    with pytest.raises(FippError) as caught:
        Lexicon([("mačka", "cat"), ("pas", "dog")]).lookup(source, target).require()
    message = str(caught.value)
    assert message.startswith("none of the 2 pairs of the dictionary was found in both vocabularies")
    assert "not in the source: 'mačka', 'pas'" in message
    assert "not in the target: 'cat', 'dog'" in message
    assert "the other way round it would be 100 %" in message


def test_low_coverage_without_a_better_direction_gives_no_hint():
    lookup = Lexicon([(f"x{i}", f"y{i}") for i in range(30)]).lookup(vocabulary("a"), vocabulary("b"))
    assert lookup.reversed_coverage is None
    assert lookup.hint() is None


def test_an_empty_lexicon_finds_nothing():
    lookup = Lexicon([]).lookup(vocabulary("a"), vocabulary("b"))
    assert lookup.rows.shape == (0, 2)
    assert lookup.coverage == 0
    with pytest.raises(FippError, match="none of the 0 pairs"):
        lookup.require()
