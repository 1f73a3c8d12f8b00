"""What can be downloaded, and by which names."""

import re
import urllib.request

import pytest

from fipp.datasets import find_data_set
from fipp.datasets._fetch import _SafeRedirects
from fipp.datasets._registry import FAMILIES, MUSE_PAIRS, XLING_PAIRS
from fipp.exceptions import FippError

ALL = [
    find_data_set(f"{family.name}:{choice}" if choice else family.name)
    for family in FAMILIES.values()
    for choice in family.choices or (("hr", "en", "zh-min-nan") if family.parameter else ("",))
]


def test_every_address_is_protected_and_every_path_stays_in_its_folder():
    files = [file for data_set in ALL for file in data_set.files]
    assert all(re.fullmatch(r"https://[a-z0-9.]+/[\w./~-]+", file.url) for file in files)
    assert all(re.fullmatch(r"[\w-]+(/[\w-][\w.-]*)+", file.path) for file in files)


def test_no_two_files_share_a_place():
    places = {file.path: (file.url, file.member) for data_set in ALL for file in data_set.files}
    assert all(places[file.path] == (file.url, file.member) for data_set in ALL for file in data_set.files)


def test_every_checksum_is_one():
    lengths = {"md5": 32, "sha1": 40, "sha256": 64}
    sums = [file.checksum for data_set in ALL for file in data_set.files if file.checksum]
    assert sums
    for checksum in sums:
        algorithm, _, digits = checksum.partition(":")
        assert re.fullmatch(r"[0-9a-f]+", digits) and len(digits) == lengths[algorithm]


def test_xling_has_each_pair_of_eight_languages_once():
    assert len(XLING_PAIRS) == 28 == len({frozenset(pair.split("-")) for pair in XLING_PAIRS})
    languages = {language for pair in XLING_PAIRS for language in pair.split("-")}
    assert languages == {"de", "en", "fi", "fr", "hr", "it", "ru", "tr"}


def test_muse_has_english_both_ways_and_five_languages_among_each_other():
    assert len(MUSE_PAIRS) == 44 * 2 + 5 * 4 and {"en-hr", "hr-en", "de-pt"} <= set(MUSE_PAIRS)


def test_the_example_of_every_family_is_a_data_set():
    assert all(find_data_set(family.example).files for family in FAMILIES.values())


def test_one_glove_dimension_is_one_file_and_a_corpus_all_of_its():
    assert [file.path for file in find_data_set("glove:6B.100d").files] == ["glove/glove.6B.100d.txt"]
    assert len(find_data_set("glove:twitter.27B").files) == 4
    assert find_data_set("glove:twitter.27B.25d").files[0].member == "glove.twitter.27B.25d.txt"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "there is no data set ''; the data sets are xling, "),
        ("word2vec", "fipp download --list"),
        ("xling:", "needs a pair, such as xling:en-fr"),
        ("xling:fr-en", "it has en-fr, which `fipp lexicon reverse` reverses"),
        ("xling:en-en", "it has de-fi, "),
        ("muse", "needs a pair, such as muse:en-hr"),
        ("muse:hr-ru", "has no 'hr-ru'"),
        ("fasttext", "needs a language"),
        ("fasttext:../../etc", "is not a language code"),
        ("fasttext:hr/x", "is not a language code"),
        ("fasttext:HR", "is not a language code"),
        ("glove:6B.25d", "has no '6B.25d'"),
        ("simlex:en", "has no parts"),
    ],
)
def test_wrong_names_are_answered_with_right_ones(name, message):
    with pytest.raises(FippError) as error:
        find_data_set(name)
    assert message in str(error.value)


def test_a_protected_connection_is_not_left():
    request = urllib.request.Request("https://example.org/x")
    with pytest.raises(FippError, match="not safe to follow"):
        _SafeRedirects().redirect_request(request, None, 302, "Found", {}, "http://example.org/x")
    assert _SafeRedirects().redirect_request(request, None, 302, "Found", {}, "https://example.org/y")


def test_inference_corpora_are_members_of_their_archives():
    members = [file.member for name in ("multinli", "xnli") for file in find_data_set(name).files]
    assert members[0] == "multinli_1.0/multinli_1.0_train.jsonl" and "XNLI-1.0/xnli.test.tsv" in members


def test_what_is_not_downloaded_is_said_with_where_it_is():
    with pytest.raises(FippError, match=r"ted-cldc is not downloaded: .*tedcldc\.html"):
        find_data_set("ted-cldc")
