"""word2vec's binary form."""

import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fipp.exceptions import FippError
from fipp.io import Vectors
from io_samples import MATRIX, VECTORS, WORDS


def write(folder, header, rows, end=b""):
    path = folder / "x.bin"
    path.write_bytes(header + b"".join(word + b" " + np.array(row, "<f4").tobytes() + end for word, row in rows))
    return path


ROWS = [(b"cat", [1, 2]), (b"dog", [3, 4])]


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("name", ["x.bin", "x.bin.gz"])
def test_files_with_and_without_line_ends_are_read(tmp_path, end, name):
    path = write(tmp_path, b"2 2\n", ROWS, end)
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress(path.read_bytes()))
    vectors = Vectors.load(tmp_path / name, strict=True)
    assert vectors.words == ("cat", "dog")
    assert vectors.matrix.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("promised", "message"), [(b"9 2\n", "promises 9 rows, 2 are whole"), (b"1 2\n", "promises 1 row, 2")]
)
def test_a_header_that_lies_about_the_count_is_reported(tmp_path, promised, message):
    path = write(tmp_path, promised, ROWS)
    assert message in Vectors.load(path).report.summary()
    with pytest.raises(FippError, match=message):
        Vectors.load(path, strict=True)


@pytest.mark.parametrize("missing", [1, 4, 8, 9, 11])
def test_a_truncated_file_gives_its_whole_rows_and_says_how_many(tmp_path, missing):
    path = write(tmp_path, b"2 2\n", ROWS)
    path.write_bytes(path.read_bytes()[:-missing])
    vectors = Vectors.load(path)
    assert vectors.words == ("cat",)
    assert "promises 2 rows, 1 is whole in the file, which ends within another" in vectors.report.summary()


def test_a_header_that_lies_about_the_dimension_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    rows = [(f"w{number}".encode(), rng.standard_normal(20)) for number in range(300)]
    with pytest.raises(FippError, match="wrong number of dimensions"):
        Vectors.load(write(tmp_path, b"300 19\n", rows))


@pytest.mark.parametrize("dimensions", [b"0", b"99999999999", b"999999999999999999"])
def test_sizes_that_make_no_sense_are_refused(tmp_path, dimensions):
    with pytest.raises(FippError, match="dimensions"):
        Vectors.load(write(tmp_path, b"2 " + dimensions + b"\n", ROWS))


def test_a_row_longer_than_the_file_is_refused(tmp_path):
    with pytest.raises(FippError, match="no whole row of 300 numbers"):
        Vectors.load(write(tmp_path, b"2 300\n", ROWS))


def test_words_that_are_not_utf8_are_repaired_and_counted(tmp_path):
    vectors = Vectors.load(write(tmp_path, b"2 2\n", [(b"caf\xe9", [1, 2]), (b"dog", [3, 4])]))
    assert vectors.words == ("caf\ufffd", "dog")
    assert "not UTF-8" in vectors.report.summary()


def test_text_with_a_header_is_not_taken_for_binary(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(b"2 2\nNew cat\x01 1 2\ndog\x02 3 4\n")
    assert Vectors.load(path).matrix.tolist() == [[1, 2], [3, 4]]


def test_a_word_with_a_space_is_refused_when_writing(tmp_path):
    with pytest.raises(FippError, match="'New York' cannot be written"):
        Vectors(["New York"], [[1.0]]).save(tmp_path / "x.bin")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \n")), unique=True, min_size=1))
def test_every_word_without_space_reads_back(tmp_path, words):
    vectors = Vectors(words, np.full((len(words), 2), 0.1, dtype=np.float32))
    vectors.save(tmp_path / "x.bin")
    assert Vectors.load(tmp_path / "x.bin").checksum == vectors.checksum


@pytest.mark.parametrize("binary", [True, False])
def test_gensim_reads_what_we_write_and_we_read_what_gensim_writes(tmp_path, binary):
    models = pytest.importorskip("gensim.models", reason="gensim is not installed")
    name = "x.bin" if binary else "x.vec"
    VECTORS.save(tmp_path / name)
    keyed = models.KeyedVectors.load_word2vec_format(tmp_path / name, binary=binary)
    assert tuple(keyed.index_to_key) == WORDS
    assert keyed.vectors.tobytes() == MATRIX.tobytes()
    keyed.save_word2vec_format(tmp_path / f"y{name}", binary=binary)
    assert Vectors.load(tmp_path / f"y{name}", strict=True).checksum == VECTORS.checksum
