"""Small parts of the readers and writers give known results."""

import functools
import gzip
import io
from pathlib import Path

import numpy as np
import pytest

from fipp.exceptions import FippError
from fipp.io import _ngrams
from fipp.io._report import RAGGED, Finding, Inspector, counted, quoted
from fipp.io._rows import blocks, rows_not_finite
from fipp.io._stream import Source, suffix_of
from fipp.io._table import Variants, assemble, fold
from fipp.io.formats import format_to_read, format_to_write, may_hold_vectors
from fipp.io.formats._numpy import ArrayKind, matrix_name, split_words
from fipp.io.formats._text import (
    Defect,
    Header,
    dimension_of,
    ends_in_number,
    is_text_table,
    parse_header,
    parse_row,
)
from fipp.io.seeds._spelling import edit_distances, numeral


def bytes_of(text):
    return np.frombuffer(text, dtype=np.uint8)


def test_hashes_are_those_that_their_authors_publish():
    assert _ngrams.fnv1a(bytes_of(b"a")[np.newaxis]).tolist() == [0xE40C292C]
    assert _ngrams.murmur3(bytes_of(b"hello")[np.newaxis], 0)[0, :2].tolist() == [0x41BD9B02, 0xCBD8A7B3]
    assert _ngrams.murmur2(bytes_of(b"coffee")[np.newaxis]).tolist() == [3197928453018144401]  # in spaCy's manual


def test_spans_of_several_lengths_are_hashed_at_once():
    hashes = _ngrams.hash_spans(bytes_of(b"catdog!"), np.array([0, 3, 0]), np.array([3, 7, 3]), _ngrams.fnv1a)
    assert hashes.tolist() == [108289031, 3739338232, 108289031]


def test_the_mean_of_no_rows_is_zero():
    matrix = np.array([[1, 2], [3, 4]], dtype=np.float32)
    means = _ngrams.mean_rows(matrix, np.array([0, 1, 1]), np.array([0, 0, 2]), 3)
    assert means.dtype == np.float32
    assert means.tolist() == [[2, 3], [0, 0], [3, 4]]


def test_messages_quote_words_and_count_nouns():
    assert (quoted("foo"), quoted("a" * 100, longest=5)) == ("'foo'", "'aaaaa…'")
    assert (counted(1, "pair"), counted(2000, "pair")) == ("1 pair", "2,000 pairs")
    finding = Finding(RAGGED, 3, "line 1402, 'foo bar', 299 numbers")
    assert str(finding) == "3 ragged rows (first: line 1402, 'foo bar', 299 numbers)"


def test_rows_are_split_into_blocks_and_checked():
    assert list(blocks(5, 500_000)) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert list(rows_not_finite(np.array([[0, 1], [np.nan, 0], [0, np.inf]], dtype=np.float32))) == [1, 2]


def test_a_source_is_decompressed_and_can_be_peeked_at():
    with Source(io.BytesIO(gzip.compress(b"cat 1 2"))) as source:
        assert source.peek(3) == b"cat"
        assert source.compression.name == "gzip"
        assert b"".join(source.chunks()) == b"cat 1 2"


@pytest.mark.parametrize(("name", "suffix"), [("wiki.hr.VEC.gz", ".vec"), ("pairs.csv", ".csv"), ("x.vec.zst", ".vec")])
def test_the_suffix_of_a_compressed_file_is_that_of_its_format(name, suffix):
    assert suffix_of(Path(name)) == suffix


def test_a_table_skips_and_counts_rows_that_cannot_be_used():
    rows = np.array([[1, 2], [3, 4], [np.nan, 6]], dtype=np.float32)
    table = assemble(["cat", "cat", "dog"], rows, Inspector(Path("x.bin"), strict=False))
    assert table.report.summary() == (
        "x.bin: 1 word x 2; skipped 1 row with NaN or infinity (row 2, 'dog'), 1 duplicate (row 1, 'cat')"
    )


def test_other_spellings_are_found():
    assert fold("STRASSE") == fold("Straße")
    assert Variants(("Cat", "dog")).find("CAT", {"Cat": 0, "dog": 1}) == 0


def test_the_format_of_a_file_is_known_by_content_and_name(tmp_path):
    path = tmp_path / "x.bin"
    path.write_text("cat 1 2")
    assert format_to_read(path).suffixes == (".vec", ".txt")
    with pytest.raises(FippError, match=r"x\.h5 is in no format that fipp knows; it knows "):
        format_to_write(Path("x.h5"))
    assert may_hold_vectors(Path("wiki.hr.vec.gz"))
    assert not may_hold_vectors(Path("README.md"))


def test_the_matrix_and_the_words_are_found_among_arrays():
    assert matrix_name({"a": ArrayKind((3, 2), "f"), "b": ArrayKind((3,), "U")}, Path("x.npz")) == "a"
    assert split_words(b"cat\ndog\n", 2, Inspector(Path("x"), strict=False)) == ["cat", "dog"]


@pytest.mark.parametrize(
    ("sample", "expected"), [(b"1 2\n\x01 0.5 2\n", True), (b"cat 0.5 2", True), (b"\x00\x01", False)]
)
def test_text_is_told_from_other_bytes(sample, expected):
    assert is_text_table(sample) == expected


def test_a_header_is_two_whole_numbers():
    assert parse_header(b"50000 300") == Header(rows=50000, dimension=300)
    assert parse_header(b"the 0.1 0.2") is None


@pytest.mark.parametrize(
    ("lines", "header"),
    [
        ([b"cat 0.1 0.2", b"New York 0.3 0.4"], None),
        ([b"cat 0.1 0.2", b"dog 0.3 0.4"], Header(2, 300)),
        ([b"channel 4 0.1 0.2"], Header(1, 2)),
    ],
)
def test_the_rows_decide_the_number_of_dimensions(lines, header):
    assert dimension_of(lines, header) == 2


def test_a_row_is_a_word_and_numbers():
    row = parse_row(b"New York 0.5 2", 2)
    assert row.word == b"New York"
    assert row.values.dtype == np.float32
    assert row.values.tolist() == [0.5, 2.0]
    assert parse_row(b"New York 0.5", 2) == Defect(word=b"New York", detail="1 number", unreadable=False)


@pytest.mark.parametrize(("word", "expected"), [(b"Windows 3.1", True), (b"New York", False), (b"2016", False)])
def test_a_word_may_end_in_a_number(word, expected):
    assert ends_in_number(word) == expected


def test_edit_distances_count_letters():
    letters = [np.array([list(map(ord, word))], dtype=np.uint32) for word in ("kitten", "sitting")]
    assert edit_distances(*letters).tolist() == [3]


def test_letters_in_the_wrong_order_are_one_mistake(rng):
    @functools.cache
    def distance(left, right):
        if not left or not right:
            return len(left) + len(right)
        ways = [distance(left[1:], right) + 1, distance(left, right[1:]) + 1]
        ways.append(distance(left[1:], right[1:]) + (left[0] != right[0]))
        if left[:2] == right[1::-1] and len(left) > 1:
            ways.append(distance(left[2:], right[2:]) + 1)
        return min(ways)

    left, right = rng.integers(97, 100, (200, 5), dtype=np.uint32), rng.integers(97, 100, (200, 6), dtype=np.uint32)
    expected = [distance(*("".join(map(chr, row)) for row in rows)) for rows in zip(left, right, strict=True)]
    assert edit_distances(left, right, swaps=True).tolist() == expected


@pytest.mark.parametrize(
    ("word", "expected"), [("١٩٨٤", "1984"), ("3,5%", "3,5%"), ("۱٫۵", "1.5"), ("b2b", None), ("--", None)]
)
def test_numerals_of_any_script_are_read(word, expected):
    assert numeral(word) == expected
