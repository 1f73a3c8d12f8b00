"""`fipp lexicon` and its subcommands."""

import json

import numpy as np
import pytest

from fipp import Lexicon, Vectors

SUBCOMMANDS = ["check", "suspects", "split", "reverse", "identical", "numerals", "cognates", "cldr"]
OTHERS = [f"{'abcdefghij'[i // 10] * 3}{'klmnopqrst'[i % 10] * 4}" for i in range(60)]


@pytest.fixture
def files(tmp_path):
    """Two vocabularies and a dictionary of which they have a part."""
    english = ["radio", "photography", "cat", "1984", *OTHERS]
    russian = ["radio", "фотография", "кошка", "1984", "١٩"]
    for name, words in [("en.vec", english), ("ru.vec", russian)]:
        Vectors(words, np.random.default_rng(0).standard_normal((len(words), 3))).save(tmp_path / name)
    (tmp_path / "x.tsv").write_text(
        "cat\tкошка\t0.9\ncat\tкот\t0.5\nradio\tradio\t0.1\ndog\tсобака\t0.9\n", encoding="utf-8"
    )
    return tmp_path


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_subcommand_explains_itself_with_an_example(run, name):
    result = run("lexicon", name, "--help")
    assert result.exit_code == 0
    assert f"Example: fipp lexicon {name}" in " ".join(result.stdout.split())


def test_the_help_names_every_subcommand(run):
    shown = run("lexicon", "--help").stdout
    assert all(name in shown for name in SUBCOMMANDS)


def test_check_shows_coverage_and_writes_what_was_found(run, files):
    result = run("lexicon", "check", files / "x.tsv", files / "en.vec", files / "ru.vec", "-o", files / "found.tsv")
    assert result.exit_code == 0, result.stderr
    assert "2 (50.0 %)" in result.stdout and "such as dog" in result.stdout and "кот" in result.stdout
    found = Lexicon.load(files / "found.tsv")
    assert found.pairs == [("cat", "кошка"), ("radio", "radio")] and found.scores.tolist() == [0.9, 0.1]


def test_check_as_json_is_one_object(run, files):
    result = run("lexicon", "check", files / "x.tsv", files / "en.vec", files / "ru.vec", "--json")
    figures = json.loads(result.stdout)
    assert (figures["pairs"], figures["found"], figures["coverage"]) == (4, 2, 0.5)
    assert figures["missing_source_examples"] == ["dog"]


def test_check_knows_a_dictionary_that_is_the_wrong_way_round(run, files):
    run("lexicon", "reverse", files / "x.tsv", "-o", files / "y.tsv", "--min-score", 0.6)
    result = run("lexicon", "check", files / "y.tsv", files / "en.vec", files / "ru.vec")
    assert "the other way round" in result.stderr


def test_split_puts_all_pairs_of_a_word_in_one_part(run, files):
    parts = [files / "a.tsv", files / "b.csv"]
    result = run(
        "lexicon", "split", files / "x.tsv", "-o", parts[0], "--rest", parts[1], "--size", 2, "--random-state", 1
    )
    assert result.exit_code == 0, result.stderr
    loaded = [Lexicon.load(path) for path in parts]
    assert not {source for source, _ in loaded[0]} & {source for source, _ in loaded[1]}
    assert len({source for source, _ in loaded[0]}) == 2
    assert f"{parts[0]}: {len(loaded[0])} pairs" in result.stdout
    assert loaded[0].pairs == Lexicon.load(files / "x.tsv").split(2, 1)[0].pairs


@pytest.mark.parametrize("size", ["many", "0", "1.0", "99"])
def test_split_refuses_a_size_that_cannot_be(run, files, size):
    result = run("lexicon", "split", files / "x.tsv", "-o", files / "a.tsv", "--rest", files / "b.tsv", "--size", size)
    assert result.exit_code == 2 and not (files / "a.tsv").exists() and result.stderr.startswith("error: ")


def test_split_refuses_one_file_for_both_parts(run, files):
    result = run("lexicon", "split", files / "x.tsv", "-o", files / "a.tsv", "--rest", files / "a.tsv")
    assert result.exit_code == 2 and "two files" in result.stderr


def test_reverse_turns_pairs_and_keeps_scores(run, files):
    assert run("lexicon", "reverse", files / "x.tsv", "-o", files / "y.tsv").exit_code == 0
    turned = Lexicon.load(files / "y.tsv")
    assert turned.pairs[0] == ("кошка", "cat") and turned.scores.tolist() == [0.9, 0.5, 0.1, 0.9]


def test_several_translations_are_cut_where_asked(run, files):
    (files / "z.tsv").write_text("cat\tкошка, кот\n", encoding="utf-8")
    assert run("lexicon", "reverse", files / "z.tsv", "-o", files / "y.tsv", "--alternatives", ",").exit_code == 0
    assert Lexicon.load(files / "y.tsv").pairs == [("кошка", "cat"), ("кот", "cat")]


def test_seeds_are_found_in_the_vocabularies(run, files):
    vectors = files / "en.vec", files / "ru.vec"
    for arguments, pairs in [
        (["identical"], [("radio", "radio"), ("1984", "1984")]),
        (["identical", "--no-numerals"], [("radio", "radio")]),
        (["identical", "--min-length", 5, "--limit", 1], [("radio", "radio")]),
        (["numerals"], [("1984", "1984")]),
        (["cognates", "--max-rank-ratio", 0], [("radio", "radio"), ("photography", "фотография")]),
    ]:
        result = run("lexicon", arguments[0], *vectors, "-o", files / "seed.tsv", *arguments[1:])
        assert result.exit_code == 0, result.stderr
        assert Lexicon.load(files / "seed.tsv").pairs == pairs
        assert f"seed.tsv: {len(pairs)} pair" in result.stdout


def test_where_nothing_is_found_nothing_is_written(run, files):
    result = run("lexicon", "identical", files / "en.vec", files / "ru.vec", "-o", files / "y.tsv", "--min-length", 50)
    assert result.exit_code == 2 and "no pairs were found" in result.stderr
    assert not (files / "y.tsv").exists()


def test_names_of_cldr_are_written(run, files):
    pytest.importorskip("babel", reason="Babel, of the extra fipp[cldr], is not installed")
    pytest.importorskip("emoji", reason="emoji, of the extra fipp[cldr], is not installed")
    result = run("lexicon", "cldr", "en", "fr", "-o", files / "y.tsv", "--kinds", "weekdays, months")
    assert result.exit_code == 0 and "19 pairs" in result.stdout
    assert run("lexicon", "cldr", "en", "xx", "-o", files / "z.tsv").exit_code == 2
    phrases = run(
        "lexicon", "cldr", "en", "fr", "-o", files / "y.tsv", "--phrases", "--keep-case", "--kinds", "territories"
    )
    assert phrases.exit_code == 0 and ("United Kingdom", "Royaume-Uni") in Lexicon.load(files / "y.tsv").pairs


def test_an_input_is_never_overwritten(run, files):
    before = (files / "x.tsv").read_bytes()
    assert run("lexicon", "reverse", files / "x.tsv", "-o", files / "x.tsv").exit_code == 2
    assert run("lexicon", "split", files / "x.tsv", "-o", files / "a.tsv", "--rest", files / "x.tsv").exit_code == 2
    assert run("lexicon", "identical", files / "en.vec", files / "ru.vec", "-o", files / "en.vec").exit_code == 2
    assert (files / "x.tsv").read_bytes() == before
    assert run("lexicon", "check", files / "none.tsv", files / "en.vec", files / "ru.vec").exit_code == 2


def test_suspects_are_named_worst_first_written_and_counted(run, space):
    wrong = [(f"e{i}", f"f{(i + 1) % 40}") for i in range(40)]
    Lexicon([*wrong, *((f"e{i}", f"f{i}") for i in range(40, 200))]).save(space.seed)
    out = space.seed.with_name("suspects.tsv")
    result = run("lexicon", "suspects", space.seed, space.source, space.target, "-o", out)
    assert result.exit_code == 0 and "of the pairs seem wrong" in " ".join(result.stdout.split())
    written = Lexicon.load(out)
    assert len(set(written) & set(wrong)) > 30 and list(written.scores) == sorted(written.scores)
    told = json.loads(run("lexicon", "suspects", space.seed, space.source, space.target, "--json").stdout)
    assert [tuple(pair[:2]) for pair in told["suspects"]] == list(written)
    assert told["noisy"] and told["pairs"] == 200 and 0.15 < told["wrong_share"] < 0.25
    assert all(source in result.stdout for source, _ in list(written)[:5])
