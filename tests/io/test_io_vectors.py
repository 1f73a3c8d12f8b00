"""Vectors keep their words unique, their numbers finite, and find words in other spellings."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fipp.exceptions import FippError
from fipp.io import Vectors
from fipp.io._rows import RowCollector

ANIMALS = Vectors(["cat", "dog", "cow"], np.arange(6.0).reshape(3, 2))


def test_a_float32_matrix_is_not_copied_and_stays_writable_for_its_owner():
    matrix = np.ones((2, 3), dtype=np.float32)
    vectors = Vectors(["a", "b"], matrix)
    assert np.shares_memory(vectors.matrix, matrix)
    assert matrix.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        vectors.matrix[0, 0] = 7


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", ">f8", "i8", "u1", ">i2"])
def test_every_real_type_becomes_float32(dtype):
    vectors = Vectors(["a", "b"], np.array([[1, 2], [3, 4]], dtype=dtype))
    assert vectors.matrix.dtype == np.dtype("=f4")
    assert vectors.matrix.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("words", "matrix", "message"),
    [
        (["a", "b"], np.ones((3, 2)), "2 words but 3 rows"),
        (["a"], np.ones(3), "2-D"),
        (["a"], np.ones((1, 0)), "at least one dimension"),
        (["a"], np.ones((1, 2), dtype=complex), "complex"),
        (["a"], np.array([["x"]]), "real numbers"),
        (["a", "b", "a"], np.ones((3, 2)), "'a' is in rows 0 and 2"),
        (["a", 5], np.ones((2, 2)), "word of row 1 is 5"),
        (["a", "foo"], [[1, 2], [np.nan, 1]], r"row 1 \('foo'\) has a NaN"),
        (["a", "foo"], [[1, 2], [np.inf, 1]], r"row 1 \('foo'\) has an infinity"),
        (["a", "foo"], [[1, 2], [1e300, 1]], r"row 1 \('foo'\) has .*too large for float32"),
    ],
)
def test_what_cannot_be_vectors_is_refused_by_name(words, matrix, message):
    with pytest.raises(FippError, match=message):
        Vectors(words, matrix)


def test_a_bad_row_far_into_a_large_matrix_is_found():
    matrix = np.zeros((30_000, 100), dtype=np.float32)
    matrix[23_456, 99] = np.nan
    with pytest.raises(FippError, match="row 23456"):
        Vectors([f"w{row}" for row in range(30_000)], matrix)


def test_words_may_come_as_a_numpy_array():
    assert Vectors(np.array(["a", "b"]), np.ones((2, 1))).words == ("a", "b")


def test_a_vocabulary_behaves_like_a_read_only_dict():
    assert len(ANIMALS) == 3
    assert list(ANIMALS) == ["cat", "dog", "cow"]
    assert "dog" in ANIMALS
    assert "Dog" not in ANIMALS
    assert ANIMALS["dog"].tolist() == [2, 3]
    assert repr(ANIMALS) == "Vectors(3 words, 2 dimensions)"


def test_an_unknown_word_is_a_key_error_that_names_a_near_spelling():
    with pytest.raises(KeyError) as caught:
        ANIMALS["DOG"]
    assert isinstance(caught.value, FippError)
    assert str(caught.value) == "the word 'DOG' is not among the 3 words; there is 'dog'"


def test_find_prefers_exact_then_lower_case_then_the_first_in_any_case():
    vectors = Vectors(["US", "us", "NATO", "Nato", "Straße"], np.ones((5, 1)))
    assert vectors.find(["US", "us", "Us", "nato", "STRASSE", "xyz"]).tolist() == [0, 1, 1, 2, 4, -1]
    assert vectors.find([]).dtype == np.int64


def test_find_sees_through_unicode_composition_on_either_side():
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    assert Vectors([composed], [[1.0]]).find([decomposed, "CAFE\u0301"]).tolist() == [0, 0]
    assert Vectors([decomposed], [[1.0]]).find([composed, "CAF\u00c9"]).tolist() == [0, 0]
    both = Vectors([composed, decomposed], [[1.0], [2.0]])
    assert both.find([composed, decomposed]).tolist() == [0, 1]


@given(st.lists(st.text(max_size=4), unique=True, min_size=1, max_size=20), st.lists(st.text(max_size=4), max_size=10))
def test_find_agrees_with_a_search_through_all_rows(words, queries):
    vectors = Vectors(words, np.zeros((len(words), 1)))

    def composed(word):
        return unicodedata.normalize("NFC", word)

    def slow_find(query):
        rules = [
            lambda word: word == query,
            lambda word: word == composed(query),
            lambda word: composed(word) == composed(query),
            lambda word: word == composed(query).lower(),
            lambda word: composed(word) == composed(query).lower(),
            lambda word: composed(composed(word).casefold()) == composed(composed(query).casefold()),
        ]
        return next((row for rule in rules for row, word in enumerate(words) if rule(word)), -1)

    assert vectors.find(queries + words).tolist() == [slow_find(query) for query in queries + words]


def test_find_refuses_a_single_word_whose_letters_it_would_seek():
    with pytest.raises(FippError, match=r"find\(\['cat'\]\)"):
        ANIMALS.find("cat")


def test_head_and_rows_keep_words_and_numbers_together():
    assert ANIMALS.head(2).words == ("cat", "dog")
    assert np.shares_memory(ANIMALS.head(2).matrix, ANIMALS.matrix)
    assert len(ANIMALS.head(99)) == 3
    assert ANIMALS.rows([2, 0]).words == ("cow", "cat")
    assert ANIMALS.rows([2, 0])["cow"].tolist() == ANIMALS["cow"].tolist()
    assert ANIMALS.rows(np.array([True, False, True])).words == ("cat", "cow")
    assert len(ANIMALS.rows([])) == 0


@pytest.mark.parametrize("indices", [[3], [-1], [0.5], [[0]], [1, 1], [True, False]])
def test_rows_that_are_none_are_refused(indices):
    with pytest.raises(FippError):
        ANIMALS.rows(indices)


def test_the_checksum_depends_on_words_numbers_and_shape_only():
    words, matrix = ["ab", "c"], np.arange(4.0).reshape(2, 2)
    checksum = Vectors(words, matrix).checksum
    assert checksum == Vectors(words, np.asfortranarray(matrix.astype(">f8"))).checksum
    assert len(checksum) == 64
    others = [
        Vectors(["a", "bc"], matrix),
        Vectors(words, matrix + 1),
        Vectors(["ab", "c"], matrix[:, ::-1]),
        Vectors(["ab"], matrix.reshape(1, 4)),
    ]
    assert checksum not in {other.checksum for other in others}


@given(st.lists(st.integers(0, 12), max_size=8), st.integers(1, 3))
def test_collected_rows_are_the_rows_given(sizes, dimensions):
    blocks = [np.random.default_rng(size).random((size, dimensions), dtype=np.float32) for size in sizes]
    collector = RowCollector(dimensions, chunk_bytes=4 * dimensions * 5)
    for block in blocks:
        collector.append(block)
    expected = np.concatenate([np.empty((0, dimensions), dtype=np.float32), *blocks])
    np.testing.assert_array_equal(collector.finish(), expected)
