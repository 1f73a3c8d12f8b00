"""Vectors and dictionaries are found by their names."""

import pytest

from fipp import FippError, Vectors
from fipp.reproduce import discover, make_plan, paper_pairs


def test_vectors_of_any_format_and_both_layouts_of_dictionaries_are_found(folders):
    data = discover(*folders)
    assert {language: path.name for language, (path,) in data.vectors.items()} == {
        "en": "wiki.en.vec",
        "fr": "cc.fr.300.vec.gz",
        "xx": "xx.small.npy",
    }
    assert data.pairs() == ["en-fr", "xx-en"]


def test_a_dictionary_that_exists_the_other_way_only_is_turned(folders):
    data = discover(*folders)
    assert data.train("en-xx", "1k").load().reverse().pairs == data.train("xx-en", "1k").load().pairs
    assert next(iter(data.test("en-xx").load())) == ("en100", "xx100")
    assert data.train("en-xx", "5k") is None


def test_all_eight_languages_give_the_28_pairs_of_the_paper_in_its_direction(tmp_path):
    languages = sorted({language for pair in paper_pairs() for language in pair.split("-")})
    vectors, dictionaries = tmp_path / "vectors", tmp_path / "xling"
    vectors.mkdir()
    for language in languages:
        Vectors(["a"], [[1.0]]).save(vectors / f"wiki.{language}.vec")
    for first in languages:
        for second in languages:
            if first < second:  # alphabetical, so that some have to be turned
                folder = dictionaries / f"{first}-{second}"
                folder.mkdir(parents=True)
                for name in ("train.freq.1k", "train.freq.5k", "test.freq.2k"):
                    (folder / f"yacle.{name}.{first}-{second}.tsv").write_text("a\ta\n")
    data = discover(vectors, dictionaries)
    assert data.pairs() == paper_pairs()
    assert data.train("it-fr", "5k").reverse and not data.train("de-fr", "5k").reverse


def test_several_vectors_of_a_language_have_to_be_chosen_from(folders):
    Vectors(["en0"], [[1.0]]).save(folders.vectors / "en.other.vec")
    with pytest.raises(FippError, match=r"en\.other\.vec, wiki\.en\.vec.*--vectors en=FILE"):
        make_plan(discover(*folders))
    data = discover(*folders, ["en=wiki.en.vec", "xx-en:en=en.other.vec"])
    assert data.side("en-fr", "en").name == "wiki.en.vec"
    assert data.side("xx-en", "en").name == data.side("en-xx", "en").name == "en.other.vec"


@pytest.mark.parametrize(
    ("choice", "complaint"),
    [("en", "takes en=FILE"), ("en=absent.vec", "no absent.vec"), ("en-fr:xx=wiki.en.vec", "not a language of en-fr")],
)
def test_a_choice_that_makes_no_sense_is_refused(folders, choice, complaint):
    with pytest.raises(FippError, match=complaint):
        discover(*folders, [choice])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"pairs": ["en-de"]}, "no vectors of 'de'"),
        ({"pairs": ["fr-xx"]}, "no test dictionary of fr-xx"),
        ({"pairs": ["english"]}, "two language codes"),
        ({"sizes": ["5k"]}, "no training dictionary of size 5k"),
        ({"tables": ["mane"]}, "no table 'mane'; known are main,"),
        ({"methods": ["vecmap?"]}, "no method 'vecmap?'"),
        ({"methods": ["fipp-published-sgd"], "tables": ["main"]}, "none of these tables"),
    ],
)
def test_a_plan_of_what_is_not_there_is_refused(folders, options, complaint):
    with pytest.raises(FippError, match=complaint.replace("?", r"\?")):
        make_plan(discover(*folders), **options)


def test_folders_without_dictionaries_are_refused(folders):
    with pytest.raises(FippError, match="holds no dictionary"):
        discover(folders.vectors, folders.vectors)
    with pytest.raises(FippError, match="is not a folder"):
        discover(folders.vectors / "absent", folders.dictionaries)
