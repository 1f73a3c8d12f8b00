"""The options of Vectors.load: some words, other types, bytes that are not UTF-8."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fipp.exceptions import FippError
from fipp.io import Vectors

TEXT = b"5 2\ncat 0.1 0.2\nNew York 3 4\ndog 5 6\ncat 7 8\nbroken 1\n"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "x.vec"
    path.write_bytes(TEXT)
    return path


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["dog", "cat"], ("cat", "dog")),
        ({"New York"}, ("New York",)),
        (iter(["cow", "dog"]), ("dog",)),
        ({"cow": 1}, ()),
        (np.array(["cat"]).tolist(), ("cat",)),
    ],
)
def test_words_keeps_only_those_in_the_order_of_the_file(path, words, found):
    vectors = Vectors.load(path, words=words)
    assert vectors.words == found
    whole = Vectors.load(path)
    for word in found:
        assert vectors[word].tolist() == whole[word].tolist()


def test_rows_of_other_words_are_not_examined_and_reading_ends_with_the_last_wanted(path):
    assert Vectors.load(path, words=["New York", "dog"], strict=True).words == ("New York", "dog")
    report = Vectors.load(path, words=["cat", "cow"]).report
    assert report.contents == "1 word x 2 of 2 asked for"
    assert [finding.kind.one for finding in report.skipped] == ["duplicate"]
    assert report.notes == ()


def test_words_and_limit_together_take_the_first_of_the_wanted(path):
    assert Vectors.load(path, words=["dog", "New York", "cat"], limit=2).words == ("cat", "New York")


def test_words_work_for_a_format_whose_reader_does_not_know_them(tmp_path):
    Vectors(["a", "b", "c"], np.arange(6.0).reshape(3, 2)).save(tmp_path / "x.npy")
    vectors = Vectors.load(tmp_path / "x.npy", words=["c", "a", "x"], limit=5)
    assert vectors.words == ("a", "c")
    assert vectors.matrix.tolist() == [[0, 1], [4, 5]]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sets(st.sampled_from(["a", "b", "b c", "1", "nan", "é"])),
    st.lists(
        st.sampled_from(
            ["a 1 2", "b 3 4", "b c 5 6", "1 1 1", "nan 1 2", "é 0.5 1e-9", "a 9 9", "b x 1", "", "b 1", "a nan 1"]
        ),
        max_size=8,
    ),
)
def test_some_words_are_what_a_whole_load_would_give_for_them(tmp_path, wanted, lines):
    path = tmp_path / "x.vec"
    path.write_text("\n".join(["plain 1 2", "ordinary 3 4", *lines]), encoding="utf-8")
    whole, some = Vectors.load(path), Vectors.load(path, words=wanted)
    assert some.words == tuple(word for word in whole.words if word in wanted)
    for word in some:
        assert some[word].tobytes() == whole[word].tobytes()


@pytest.mark.parametrize("words", ["cat", [1, 2], [None]])
def test_words_that_are_none_are_refused(path, words):
    with pytest.raises(FippError, match="words"):
        Vectors.load(path, words=words)


@pytest.mark.parametrize("dtype", ["float16", np.float32, "f8"])
def test_the_type_asked_for_is_kept_and_rounds_the_text_as_python_does(path, dtype):
    vectors = Vectors.load(path, dtype=dtype)
    assert vectors.matrix.dtype == np.dtype(dtype)
    assert vectors["cat"].tolist() == np.array([0.1, 0.2]).astype(dtype).tolist()
    assert vectors.head(1).matrix.dtype == vectors.rows([0]).matrix.dtype == np.dtype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["x.vec", "x.npy"])
def test_every_type_reads_back_with_the_same_bits(tmp_path, dtype, name):
    matrix = np.random.default_rng(0).standard_normal((20, 7)).astype(dtype)
    vectors = Vectors([f"w{row}" for row in range(20)], matrix, dtype=dtype)
    vectors.save(tmp_path / name)
    again = Vectors.load(tmp_path / name, dtype=dtype)
    assert again.matrix.tobytes() == matrix.tobytes()
    assert again.checksum == vectors.checksum


@pytest.mark.parametrize("dtype", ["int32", "complex64", "longdouble", "rubbish", object])
def test_other_types_are_refused(path, dtype):
    with pytest.raises(FippError, match="dtype must be one of float32, float16, float64"):
        Vectors.load(path, dtype=dtype)


def test_a_number_too_large_for_the_type_is_refused_or_skipped(tmp_path):
    with pytest.raises(FippError, match="too large for float16"):
        Vectors(["a"], [[1e6]], dtype="float16")
    with pytest.raises(FippError, match=r"row 0 \('a'\) has a number too large for float16"):
        Vectors(["a"], [[1e6]]).astype("float16")
    (tmp_path / "x.vec").write_text("a 1 2\nb 1 1e6\n")
    assert Vectors.load(tmp_path / "x.vec", dtype="float16").words == ("a",)


@pytest.mark.parametrize("name", ["x.vec", "x.npy"])
def test_bytes_that_are_not_utf8_are_replaced_refused_or_kept(tmp_path, name):
    path = tmp_path / name
    if name == "x.npy":
        np.save(path, np.ones((2, 2)))
        (tmp_path / "x.txt").write_bytes(b"a\nna\xefve\n")
    else:
        path.write_bytes(b"a 1 1\nna\xefve 1 1\n")
    assert Vectors.load(path).words == ("a", "na\ufffdve")
    with pytest.raises(FippError, match=r"line 2, 'na.ve': not UTF-8; encoding_errors='replace'"):
        Vectors.load(path, encoding_errors="strict")
    kept = Vectors.load(path, encoding_errors="surrogateescape")
    assert kept.words == ("a", "na\udcefve")
    assert "kept 1 line that is not UTF-8" in kept.report.summary()
    kept.save(tmp_path / "y.vec")
    assert b"\nna\xefve 1.0 1.0\n" in (tmp_path / "y.vec").read_bytes()
    with pytest.raises(FippError, match="encoding_errors must be one of"):
        Vectors.load(path, encoding_errors="ignore")


def test_a_word_made_of_escaped_bytes_that_would_read_back_otherwise_is_refused(tmp_path):
    with pytest.raises(FippError, match="not valid Unicode"):
        Vectors(["\udcc3\udca9"], [[1.0]]).save(tmp_path / "x.vec")


def test_words_may_be_given_as_bytes_that_were_kept(tmp_path):
    (tmp_path / "x.vec").write_bytes(b"a 1 1\nna\xefve 1 1\n")
    vectors = Vectors.load(tmp_path / "x.vec", words=["na\udcefve"], encoding_errors="surrogateescape")
    assert vectors.words == ("na\udcefve",)
