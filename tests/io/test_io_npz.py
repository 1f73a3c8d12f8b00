"""NumPy archives: read without unpickling, without unpacking to disk, and within the memory allowed."""

import io
import os
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fipp.exceptions import FippError
from fipp.io import Vectors
from io_samples import MATRIX, VECTORS, WORDS


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def archive(folder, members, compression=zipfile.ZIP_STORED):
    path = folder / "x.npz"
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize(("words", "vectors"), [("words", "matrix"), ("vocab", "vectors"), ("a", "b")])
@pytest.mark.parametrize("make", [np.array, lambda words: np.char.encode(np.array(words))])
def test_archives_of_numpy_are_read_under_any_names(tmp_path, save, words, vectors, make):
    save(tmp_path / "x.npz", **{words: make(WORDS), vectors: MATRIX})
    assert Vectors.load(tmp_path / "x.npz", strict=True).checksum == VECTORS.checksum


@pytest.mark.parametrize("matrix", [MATRIX.astype(">f4"), MATRIX.astype("f8"), np.asfortranarray(MATRIX)])
def test_other_types_and_orders_give_the_same_vectors(tmp_path, matrix):
    np.savez(tmp_path / "x.npz", words=WORDS, matrix=matrix)
    assert Vectors.load(tmp_path / "x.npz").checksum == VECTORS.checksum
    assert Vectors.load(tmp_path / "x.npz", limit=2).words == WORDS[:2]


def test_numpy_reads_what_we_write(tmp_path):
    VECTORS.save(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as arrays:
        assert arrays["words"].tolist() == list(WORDS)
        assert arrays["matrix"].tobytes() == MATRIX.tobytes()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), unique=True, min_size=1))
def test_every_word_reads_back(tmp_path, words):
    if words == [""]:
        words = ["", "a"]
    vectors = Vectors(words, np.arange(float(len(words)))[:, np.newaxis])
    vectors.save(tmp_path / "x.npz")
    assert Vectors.load(tmp_path / "x.npz").checksum == vectors.checksum


@pytest.mark.parametrize("name", ["words", "matrix"])
def test_pickled_arrays_are_refused_and_never_opened(tmp_path, name):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "unpickled"),)

    arrays = {"words": np.array(WORDS), "matrix": MATRIX, name: np.array([Bomb()], dtype=object)}
    np.savez(tmp_path / "x.npz", allow_pickle=True, **arrays)
    with pytest.raises(FippError, match="holds pickled Python objects"):
        Vectors.load(tmp_path / "x.npz")
    assert not (tmp_path / "unpickled").exists()


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = archive(
        tmp_path, {"words.npy": npy(np.array(["a"])), "matrix.npy": b"\0" * 50_000_000}, zipfile.ZIP_DEFLATED
    )
    assert path.stat().st_size < 100_000
    with pytest.raises(FippError, match=r"would unpack to 50,000,\d+ bytes, more than 1,000,000"):
        Vectors.load(path, max_bytes=1_000_000)


@pytest.mark.parametrize(
    "shape", ["(1000000000000, 3)", "(4, 1000000000000)", "(-4, 3)", "(4, 0)", "(1000000000000, 0)"]
)
def test_headers_that_promise_more_than_there_is_are_refused(tmp_path, shape):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    matrix = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + MATRIX.tobytes()
    with pytest.raises(FippError, match=r"cut short|empty|whole"):
        Vectors.load(archive(tmp_path, {"words.npy": npy(np.array(WORDS)), "matrix.npy": matrix}))


def test_empty_words_of_a_trillion_rows_are_refused(tmp_path):
    header = b"{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117) + b"\n"
    words = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with pytest.raises(FippError):
        Vectors.load(archive(tmp_path, {"words.npy": words, "matrix.npy": npy(MATRIX)}))


def test_names_with_path_separators_are_names_and_nothing_more(tmp_path):
    path = archive(tmp_path, {"../../words.npy": npy(np.array(WORDS)), "/etc/matrix.npy": npy(MATRIX)})
    assert Vectors.load(path).checksum == VECTORS.checksum
    assert os.listdir(tmp_path) == ["x.npz"]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"matrix.npy": npy(MATRIX)}, "has no words"),
        ({"words.npy": npy(np.array(WORDS))}, "must hold one 2-D matrix"),
        ({"words.npy": npy(np.array(WORDS[:2])), "matrix.npy": npy(MATRIX)}, "2 words but 4 vectors"),
        (
            {"words.npy": npy(np.array(WORDS)), "a.npy": npy(MATRIX), "b.npy": npy(MATRIX)},
            "its arrays are: a, b, words",
        ),
        ({"words.npy": npy(np.ones(4)), "matrix.npy": npy(MATRIX)}, "must be text"),
        ({"model/data.pkl": b"x"}, "pickled objects, which fipp never loads"),
        ({"readme.txt": b"x"}, "without NumPy arrays"),
    ],
)
def test_what_is_missing_is_named(tmp_path, members, message):
    with pytest.raises(FippError, match=message):
        Vectors.load(archive(tmp_path, members))


def test_words_that_numpy_would_change_or_blow_up_are_refused(tmp_path):
    with pytest.raises(FippError, match="drops"):
        Vectors(["a\0"], [[1.0]]).save(tmp_path / "x.npz")
    words = ["a" * 1_000_000, *map(str, range(300))]
    with pytest.raises(FippError, match="too large"):
        Vectors(words, np.ones((301, 1))).save(tmp_path / "x.npz")
    assert os.listdir(tmp_path) == []
