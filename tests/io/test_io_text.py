"""Text vectors: exact round trips, and no file, however hostile, that breaks the reader."""

import gzip
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fipp.exceptions import FippError
from fipp.io import Vectors, _stream
from fipp.io._table import Options, Table
from fipp.io.formats._text import Row, parse_row, read_text
from fipp.io.formats._text_block import parse_block
from fipp.io.formats._text_writer import write_text

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def write(folder, text, name="x.vec"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def load(folder, text, **options):
    return Vectors.load(write(folder, text), **options)


@in_one_folder
@given(arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 5)), elements=FLOATS))
def test_every_float32_reads_back_with_the_same_bits(tmp_path, matrix):
    words = [f"w{row}" for row in range(len(matrix))]
    Vectors(words, matrix).save(tmp_path / "x.vec")
    again = Vectors.load(tmp_path / "x.vec", strict=True)
    assert again.words == tuple(words)
    assert again.matrix.tobytes() == matrix.tobytes()


def test_the_edges_of_float32_read_back_with_the_same_bits(tmp_path):
    # The last but one is the well-known number whose shortest text, read as a double, rounds to its neighbour.
    bits = [0x00000001, 0x007FFFFF, 0x00800000, 0x80000000, 0x80000001, 0x7F7FFFFF, 0x15AE43FD, 0x3EAAAAAB]
    matrix = np.array([bits], dtype=np.uint32).view(np.float32)
    Vectors(["w"], matrix).save(tmp_path / "x.vec")
    assert Vectors.load(tmp_path / "x.vec").matrix.tobytes() == matrix.tobytes()


def test_random_bit_patterns_read_back_as_doubles_rounded_to_float32(tmp_path):
    bits = np.random.default_rng(0).integers(0, 2**32, size=40_000, dtype=np.uint32)
    numbers = bits.view(np.float32)
    numbers = numbers[np.isfinite(numbers)][:30_000].reshape(-1, 100)
    Vectors([f"w{row}" for row in range(len(numbers))], numbers).save(tmp_path / "x.vec")
    lines = (tmp_path / "x.vec").read_text().splitlines()[1:]
    by_python = np.array([[float(field) for field in line.split()[1:]] for line in lines]).astype(np.float32)
    assert by_python.tobytes() == numbers.tobytes()


def test_numbers_are_written_in_their_shortest_form(tmp_path):
    Vectors(["w"], np.array([[0.1, 1 / 3, -2.5, 1e-5]], dtype=np.float32)).save(tmp_path / "x.vec")
    assert (tmp_path / "x.vec").read_text() == "1 4\nw 0.1 0.33333334 -2.5 1e-05\n"


TEXT_WORDS = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), min_size=1, max_size=12)
    .map(lambda word: word.strip(" \t\v\f"))
    .filter(bool)
)


@in_one_folder
@given(
    st.lists(TEXT_WORDS | st.sampled_from(["a b", "1", "1 2", "a 0.5", "nan", "a nan", "a  b", "x\x1f"]), unique=True),
    st.sampled_from(["x.vec", "x.txt.gz"]),
)
def test_every_word_that_can_be_written_reads_back(tmp_path, words, name):
    words = ["plain", "ordinary", *(word for word in words if word not in {"plain", "ordinary"})]
    vectors = Vectors(words, np.arange(2.0 * len(words)).reshape(-1, 2))
    try:
        vectors.save(tmp_path / name)
    except FippError as error:
        assert "too many end in a number" in str(error)
        return
    again = Vectors.load(tmp_path / name)
    assert again.words == vectors.words
    assert again.checksum == vectors.checksum


@pytest.mark.parametrize("word", ["a\nb", "a\r", "", " a", "a\t", "\ud800"])
def test_a_word_that_text_cannot_hold_is_refused_and_the_old_file_stays(tmp_path, word):
    path = write(tmp_path, "old")
    with pytest.raises(FippError, match="cannot be written"):
        Vectors(["fine", word], np.ones((2, 2))).save(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.vec"]


def test_words_that_would_change_the_dimension_are_refused_but_numbered_items_are_not(tmp_path):
    with pytest.raises(FippError, match=r"Windows 3\.1.*use \.npy"):
        Vectors(["Windows 3.1", "OS 4.5"], np.ones((2, 3))).save(tmp_path / "x.vec")
    Vectors(["doc 1", "doc 2"], np.ones((2, 3))).save(tmp_path / "x.vec")
    assert Vectors.load(tmp_path / "x.vec").words == ("doc 1", "doc 2")


def test_an_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.vec"
    Vectors(["old"], [[1.0]]).save(path)
    before = path.read_bytes()

    def broken(matrix):
        yield b"1.0"
        raise KeyboardInterrupt

    monkeypatch.setattr("fipp.io.formats._text_writer.float32_rows", broken)
    with pytest.raises(KeyboardInterrupt):
        write_text(Table(("new", "newer"), np.ones((2, 1), dtype=np.float32)), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.vec"]


def test_gzip_bytes_do_not_depend_on_name_or_time(tmp_path):
    vectors = Vectors(["a", "b"], np.ones((2, 3)))
    vectors.save(tmp_path / "one.vec.gz")
    vectors.save(tmp_path / "two.txt.gz")
    assert (tmp_path / "one.vec.gz").read_bytes() == (tmp_path / "two.txt.gz").read_bytes()


def test_gzip_is_known_by_content_whatever_the_name(tmp_path):
    path = write(tmp_path, gzip.compress(b"cat 1 2\n"), "odd.bin")
    assert Vectors.load(path).words == ("cat",)
    assert Vectors.load(write(tmp_path, b"cat 1 2\n", "plain.vec.gz")).words == ("cat",)


@pytest.mark.parametrize("header", ["", "3 2\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", " \n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("separator", [" ", "\t"])
def test_header_newlines_mark_and_separator_make_no_difference(tmp_path, header, newline, mark, separator):
    rows = "cat 1 2.5\ndog -3 4e-1\nčvor 0 1".replace(" ", separator).replace("\n", newline)
    vectors = load(tmp_path, mark + header.replace("\n", newline) + rows)
    assert vectors.words == ("cat", "dog", "čvor")
    np.testing.assert_array_equal(vectors.matrix, np.array([[1, 2.5], [-3, 0.4], [0, 1]], dtype=np.float32))
    assert vectors.report.summary() is None


def test_words_may_contain_spaces_and_unicode_white_space(tmp_path):
    text = "plain 1 2\nNew York 3 4\n. . . 5 6\n2016 7 8\nno\u00a0break 9 10\nline\u2028sep 11 12\n\u0085 13 14\n"
    vectors = load(tmp_path, text)
    assert vectors.words == ("plain", "New York", ". . .", "2016", "no\u00a0break", "line\u2028sep", "\u0085")
    assert vectors.matrix[-1].tolist() == [13, 14]


def test_defects_are_skipped_counted_and_named(tmp_path):
    text = (
        "a 1 2 3\nfoo bar 1 2\nb 1 2 3\nb 9 9 9\nc 1 x.y 3\nd 1 nan 3\ne 1 2 inf\nf 1 2 1e39\n"
        "\ng 4 5 6\ncut 1 2\nalone\n"
    )
    vectors = load(tmp_path, text)
    assert vectors.words == ("a", "b", "g")
    assert vectors["b"].tolist() == [1, 2, 3]
    assert vectors.report.summary() == (
        "x.vec: 3 words x 3; skipped 3 ragged rows (first: line 2, 'foo bar', 2 numbers), "
        "1 duplicate (line 4, 'b'), 1 row with an unreadable number (line 5, 'c', 'x.y' is not a number), "
        "3 rows with NaN or infinity (first: line 6, 'd')"
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("foo bar 1 2", "line 3, 'foo bar', 2 numbers: ragged row"),
        ("foo 1 x 3", "line 3, 'foo', 'x' is not a number"),
        ("foo 1 nan 3", "line 3, 'foo': row with NaN"),
        ("cat 1 2 3", "line 3, 'cat': duplicate"),
        ("foo 0.1 1 2 3", r"line 3, 'foo 0\.1': word that ends in a number or row that is too long"),
        (b"\xff\xfe 1 2 3", "line 3, .*not UTF-8"),
    ],
)
def test_strict_refuses_with_file_line_and_word(tmp_path, row, message):
    row = row if isinstance(row, bytes) else row.encode()
    text = b"2 3\ncat 1 2 3\n" + row + b"\ndog 1 2 3\n"
    with pytest.raises(FippError, match=r"x\.vec, " + message):
        load(tmp_path, text, strict=True)
    assert "dog" in load(tmp_path, text)


def test_a_row_with_too_many_numbers_is_kept_as_a_word_with_spaces_but_mentioned(tmp_path):
    vectors = load(tmp_path, "a 1 2\nfoo 0.1 3 4\nb 5 6\n")
    assert vectors.words == ("a", "foo 0.1", "b")
    assert "kept 1 word that ends in a number or row that is too long (line 2, 'foo 0.1')" in vectors.report.summary()


def test_bytes_that_are_not_utf8_are_replaced_and_counted(tmp_path):
    vectors = load(tmp_path, b"a 1 2\nna\xefve 3 4\n")
    assert vectors.words == ("a", "na\ufffdve")
    assert "repaired 1 line that is not UTF-8 (line 2, 'na\ufffdve')" in vectors.report.summary()


@pytest.mark.parametrize(
    ("header", "remark"),
    [
        ("2 300", "the header says 300 dimensions, the rows have 3"),
        ("2 2", "the header says 2 dimensions, the rows have 3"),
        ("2 0", "the header says 0 dimensions, the rows have 3"),
        ("9999999999999999999 3", "the header promises 9,999,999,999,999,999,999 rows, the file has 2"),
        ("1 3", "the header promises 1 row, the file has 2"),
    ],
)
def test_a_header_that_lies_is_reported_and_reserves_no_memory(tmp_path, header, remark):
    text = header + "\na 0.1 0.2 0.3\nb 0.4 0.5 0.6\n"
    vectors = load(tmp_path, text)
    assert (vectors.words, vectors.dim) == (("a", "b"), 3)
    assert vectors.report.notes == (remark,)
    with pytest.raises(FippError, match="header"):
        load(tmp_path, text, strict=True)


def test_a_ragged_first_row_does_not_decide_the_dimension(tmp_path):
    vectors = load(tmp_path, "cut 0.5\na 0.1 0.2\nb 0.3 0.4\n")
    assert (vectors.words, vectors.dim) == (("a", "b"), 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is empty"),
        (b"\n\n \n", "is empty"),
        (b"5 300\n", "header but no vectors"),
        (b"only words here\nand here\n", "no line is a word followed by numbers"),
        (b"a nan 1\nb 1 inf\n", "holds no vectors.*skipped 2 rows with NaN"),
        (b"\xff\xfea\x00 \x001\x00", "UTF-16"),
        (bytes(range(256)) * 20, "no vectors|dimension"),
    ],
)
def test_a_file_without_vectors_is_refused(tmp_path, text, message):
    with pytest.raises(FippError, match=message):
        load(tmp_path, text)


def test_a_missing_file_a_folder_and_an_unknown_format_are_named(tmp_path):
    with pytest.raises(FippError, match=r"no file .*nothing\.vec"):
        Vectors.load(tmp_path / "nothing.vec")
    with pytest.raises(FippError, match="is a folder"):
        Vectors.load(tmp_path)
    with pytest.raises(FippError, match=r"no format that fipp knows.*x\.npy.*\.vec"):
        Vectors.load(write(tmp_path, b"\x00\x01\x02\x03", "x.h5"))
    with pytest.raises(FippError, match="no format"):
        Vectors(["a"], [[1.0]]).save(tmp_path / "x.h5")


def test_text_is_text_whatever_its_name(tmp_path):
    assert Vectors.load(write(tmp_path, "a 1 2", "x.parquet")).words == ("a",)


def test_truncated_and_damaged_gzip_are_refused(tmp_path):
    whole = gzip.compress(os.urandom(5000).hex().encode() + b"\na 1 2\n")
    with pytest.raises(FippError, match="cut short"):
        Vectors.load(write(tmp_path, whole[:-20], "x.vec.gz"))
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    with pytest.raises(FippError, match=r"damaged gzip|no vectors"):
        Vectors.load(write(tmp_path, bytes(damaged), "x.vec.gz"))
    with pytest.raises(FippError, match="damaged gzip"):
        Vectors.load(write(tmp_path, whole + b"rubbish", "x.vec.gz"))


def test_a_gzip_bomb_stops_at_the_limit(tmp_path):
    bomb = gzip.compress(b"a 1 2\n" * 2_000_000)
    with pytest.raises(FippError, match=r"more than 3,000,000 bytes.*max_bytes"):
        Vectors.load(write(tmp_path, bomb, "x.vec.gz"), max_bytes=3_000_000)


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_an_endless_line_is_refused(tmp_path, monkeypatch, end):
    monkeypatch.setattr(_stream, "MAX_LINE_BYTES", 3 << 20)
    with pytest.raises(FippError, match=r"line of more than 3,145,728 bytes"):
        Vectors.load(write(tmp_path, gzip.compress(b"a" * (3 << 20) + b"b" + end), "x.vec.gz"))


def test_limit_stops_reading_before_later_defects(tmp_path):
    text = "9 2\na 1 2\na 3 4\nNew York 5 6\nb 7 8\nbroken\n"
    vectors = load(tmp_path, text, limit=3)
    assert vectors.words == ("a", "New York", "b")
    assert vectors.report.summary() == "x.vec: 3 words x 2; skipped 1 duplicate (line 3, 'a')"
    assert load(tmp_path, text, limit=1, strict=True).words == ("a",)
    with pytest.raises(FippError, match="limit"):
        load(tmp_path, text, limit=0)


def test_limit_does_not_read_the_rest_of_a_truncated_file(tmp_path):
    whole = gzip.compress(b"".join(b"w%d %f 2\n" % (i, i * 0.37) for i in range(200_000)))
    path = write(tmp_path, whole[:-10], "x.vec.gz")
    assert len(Vectors.load(path, limit=1000)) == 1000


def test_files_of_many_batches_read_like_one(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    matrix = rng.standard_normal((300, 7)).astype(np.float32)
    words = [f"word {row} x" if row % 50 == 0 else f"w{row}" for row in range(300)]
    Vectors(words, matrix).save(tmp_path / "x.vec")
    for size in [1 << 20, 1000, 37]:
        monkeypatch.setattr(_stream, "_CHUNK_BYTES", size)
        again = read_text(tmp_path / "x.vec", Options())
        assert again.words == tuple(words)
        np.testing.assert_array_equal(again.matrix, matrix)
        assert again.report.summary() is None


def test_line_numbers_count_every_line_of_every_batch(tmp_path, monkeypatch):
    monkeypatch.setattr(_stream, "_CHUNK_BYTES", 16)
    vectors = load(tmp_path, "3 2\n" + "\n" * 40 + "a 1 2\nb 1 2\nbroken\n")
    assert vectors.report.skipped[0].example == "line 44, 'broken', 0 numbers"


@given(st.lists(st.lists(FLOATS, min_size=3, max_size=3), min_size=1, max_size=5))
def test_lines_parsed_together_and_singly_agree(rows):
    lines = [f"w{i} {' '.join(map(repr, row))}".encode() for i, row in enumerate(rows)]
    together = parse_block(b"\n".join([*lines, b""]), 3)
    singly = [parse_row(line, 3) for line in lines]
    assert all(isinstance(row, Row) for row in singly)
    assert together.odd == []
    assert together.words == [row.word for row in singly]
    assert together.matrix.tobytes() == np.stack([row.values for row in singly]).tobytes()


@in_one_folder
@given(st.lists(st.lists(st.sampled_from(["a", "b c", "1", "0.5", "-2e3", "nan", "\t", "é", "1_0"]), max_size=5)))
def test_the_fast_parser_never_changes_the_result(tmp_path, lines):
    path = write(tmp_path, "w 1 2\n" + "\n".join(" ".join(line) for line in lines))

    def outcome():
        try:
            vectors = Vectors._from_table(read_text(path, Options()))
        except FippError as error:
            return str(error)
        return vectors.checksum, vectors.report

    def nothing_together(block, dimension, dtype, wanted):
        lines = block.split(b"\n")[:-1]
        nothing = parse_block(b"", dimension, dtype, wanted)
        return nothing._replace(odd=list(enumerate(lines)), total=len(lines))

    fast = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fipp.io.formats._text_block.parse_block", nothing_together)
        assert outcome() == fast


def test_any_number_of_blank_lines_may_come_first(tmp_path, monkeypatch):
    for size in [1 << 20, 100]:
        monkeypatch.setattr(_stream, "_CHUNK_BYTES", size)
        assert load(tmp_path, "1 2\n" + "\n" * 500 + "a 1 2\n").words == ("a",)


@in_one_folder
@given(st.binary(max_size=200) | st.text("ab 0123.\n\t", max_size=80).map(str.encode))
def test_any_bytes_give_vectors_or_a_fipp_error(tmp_path, content):
    try:
        vectors = load(tmp_path, content)
    except FippError:
        return
    assert len(vectors) == len(vectors.matrix) > 0
    assert np.isfinite(vectors.matrix).all()
