"""The pair x.npy and x.txt: mapped, checked, never unpickled."""

import os
import pickle
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fipp.exceptions import FippError
from fipp.io import Vectors

WORDS = ["cat", "New York", "čvor"]
MATRIX = np.array([[1, -0.0], [1e-45, 3], [0.1, 1e38]], dtype=np.float32)


def write_pair(folder, matrix, words, **options):
    np.save(folder / "x.npy", matrix, **options)
    (folder / "x.txt").write_text("".join(word + "\n" for word in words), encoding="utf-8")
    return folder / "x.npy"


def with_header(folder, header, body=b"\0" * 64):
    header = header.encode().ljust(117) + b"\n"
    (folder / "x.txt").write_text("a\nb\n")
    path = folder / "x.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body)
    return path


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("unpickled",)


def test_a_pair_reads_back_with_the_same_bits_from_either_name(tmp_path):
    Vectors(WORDS, MATRIX).save(tmp_path / "x.npy")
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "x.txt"]
    for name in ["x.npy", "x.txt"]:
        vectors = Vectors.load(tmp_path / name, strict=True)
        assert vectors.words == tuple(WORDS)
        assert vectors.matrix.tobytes() == MATRIX.tobytes()
        assert vectors.report.summary() is None


def test_a_clean_float32_matrix_is_mapped_not_read(tmp_path):
    vectors = Vectors.load(write_pair(tmp_path, MATRIX, WORDS))
    base = vectors.matrix
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)


@pytest.mark.parametrize("matrix", [MATRIX.astype(">f4"), MATRIX.astype("f8"), np.asfortranarray(MATRIX)])
def test_other_types_and_orders_give_the_same_vectors(tmp_path, matrix):
    assert Vectors.load(write_pair(tmp_path, matrix, WORDS)).checksum == Vectors(WORDS, MATRIX).checksum


def test_limit_takes_the_first_rows_and_still_compares_the_counts(tmp_path):
    path = write_pair(tmp_path, MATRIX, WORDS)
    assert Vectors.load(path, limit=2).words == tuple(WORDS[:2])
    (tmp_path / "x.txt").write_text("a\nb\n")
    with pytest.raises(FippError, match=r"3 rows but .*x\.txt has 2 words"):
        Vectors.load(path, limit=2)


def test_crlf_mark_and_a_missing_last_newline_are_understood(tmp_path):
    path = write_pair(tmp_path, MATRIX[:2], WORDS[:2])
    (tmp_path / "x.txt").write_bytes(b"\xef\xbb\xbfcat\r\ndog")
    assert Vectors.load(path).words == ("cat", "dog")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r")), unique=True, min_size=1))
def test_every_word_without_newline_reads_back(tmp_path, words):
    vectors = Vectors(words, np.arange(float(len(words)))[:, np.newaxis])
    vectors.save(tmp_path / "x.npy")
    assert Vectors.load(tmp_path / "x.npy").words == vectors.words


def test_duplicates_and_rows_that_are_not_finite_are_skipped_or_refused(tmp_path):
    matrix = np.array([[1, 2], [np.nan, 2], [3, 4], [5, 6]], dtype=np.float32)
    path = write_pair(tmp_path, matrix, ["a", "b", "a", "b"])
    vectors = Vectors.load(path)
    assert vectors.words == ("a", "b")
    assert vectors["b"].tolist() == [5, 6]
    assert vectors.report.summary() == (
        "x.npy: 2 words x 2; skipped 1 row with NaN or infinity (row 1, 'b'), 1 duplicate (row 2, 'a')"
    )
    with pytest.raises(FippError, match=r"x\.npy, row 1, 'b'"):
        Vectors.load(path, strict=True)


def test_objects_are_refused_without_unpickling(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write_pair(tmp_path, np.array([[Bomb()]], dtype=object), ["a"], allow_pickle=True)
    with pytest.raises(FippError, match="pickled Python objects"):
        Vectors.load(path)
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(FippError, match="is a pickle"):
        Vectors.load(path)
    assert not (tmp_path / "unpickled").exists()


@pytest.mark.parametrize("shape", ["(2000000000, 300)", "(6, 3)", f"({10**30}, {10**30})"])
def test_a_header_that_promises_more_than_the_file_holds_is_refused(tmp_path, shape):
    path = with_header(tmp_path, f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}")
    with pytest.raises(FippError, match=r"cut short: its header promises .* only 64 bytes follow"):
        Vectors.load(path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (16,), }", "2-D"),
        ("{'descr': '<c8', 'fortran_order': False, 'shape': (2, 4), }", "real numbers"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0), }", "empty"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 4), }", "x.npy"),
        ("{'descr': '|O', 'fortran_order': False, 'shape': (2, 4), }", "pickled"),
        ("{'descr': __import__('os'), }", "not a NumPy matrix"),
        ("((((((((((", "not a NumPy matrix"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(tmp_path, header, message):
    with pytest.raises(FippError, match=message):
        Vectors.load(with_header(tmp_path, header))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 130), st.integers(0, 255))
def test_a_damaged_header_gives_vectors_or_a_fipp_error(tmp_path, place, byte):
    path = write_pair(tmp_path, MATRIX, WORDS)
    content = bytearray(path.read_bytes())
    content[place % len(content)] = byte
    path.write_bytes(content)
    with suppress(FippError):
        Vectors.load(path)


def test_a_missing_half_of_the_pair_is_named(tmp_path):
    path = write_pair(tmp_path, MATRIX, WORDS)
    (tmp_path / "x.txt").unlink()
    with pytest.raises(FippError, match=r"x\.txt, with one word per line, is missing"):
        Vectors.load(path)


def test_saving_does_not_destroy_a_text_file_that_is_no_vocabulary(tmp_path):
    (tmp_path / "glove.txt").write_text("cat 1 2\n")
    with pytest.raises(FippError, match=r"glove\.txt exists and would be overwritten"):
        Vectors(["cat"], [[1.0, 2.0]]).save(tmp_path / "glove.npy")
    assert (tmp_path / "glove.txt").read_text() == "cat 1 2\n"
    assert os.listdir(tmp_path) == ["glove.txt"]


def test_a_pair_can_be_written_over_itself_while_it_is_mapped(tmp_path):
    path = write_pair(tmp_path, MATRIX, WORDS)
    vectors = Vectors.load(path)
    vectors.rows([2, 1, 0]).save(path)
    vectors.save(path)
    assert Vectors.load(path).checksum == Vectors(WORDS, MATRIX).checksum


def test_a_word_with_a_newline_is_refused(tmp_path):
    with pytest.raises(FippError, match="cannot be written"):
        Vectors(["a\nb"], [[1.0]]).save(tmp_path / "x.npy")
    assert os.listdir(tmp_path) == []
