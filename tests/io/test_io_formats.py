"""What every format promises: exact round trips, content before name, defects counted, nothing half written."""

import os
import pickle
import shutil
import sys

import numpy as np
import pytest

from fipp.exceptions import FippError
from fipp.io import SubwordVectors, Vectors
from fipp.io._table import Table
from io_samples import MATRIX, SAMPLES, VECTORS, WORDS, WRITTEN


@pytest.mark.parametrize("suffix", WRITTEN)
def test_every_written_file_reads_back_with_the_same_bits(tmp_path, suffix):
    VECTORS.save(tmp_path / f"x{suffix}")
    again = Vectors.load(tmp_path / f"x{suffix}", strict=True)
    assert again.words == WORDS
    assert again.matrix.tobytes() == MATRIX.tobytes()
    assert again.report.summary() is None


@pytest.mark.parametrize("suffix", WRITTEN)
def test_the_same_vectors_give_the_same_bytes(tmp_path, suffix):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    VECTORS.save(tmp_path / "a" / f"x{suffix}")
    VECTORS.save(tmp_path / "b" / f"x{suffix}")
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITTEN if suffix != ".npy"])
def test_a_wrong_name_does_not_matter(tmp_path, suffix):
    VECTORS.save(tmp_path / f"x{suffix}")
    for name in ["y", "y.txt", "y.bin", "y.npz"]:
        shutil.copy(tmp_path / f"x{suffix}", tmp_path / name)
        assert Vectors.load(tmp_path / name).checksum == VECTORS.checksum


@pytest.mark.parametrize("suffix", WRITTEN)
def test_limit_takes_the_first_words(tmp_path, suffix):
    VECTORS.save(tmp_path / f"x{suffix}")
    assert Vectors.load(tmp_path / f"x{suffix}", limit=2).words == WORDS[:2]


@pytest.mark.parametrize("suffix", WRITTEN)
def test_words_takes_those_that_are_there_in_the_order_of_the_file(tmp_path, suffix):
    VECTORS.save(tmp_path / f"x{suffix}")
    chosen = Vectors.load(tmp_path / f"x{suffix}", words=["čvor", "unicorn", "cat"])
    assert chosen.words == ("cat", "čvor")
    assert chosen["čvor"].tolist() == VECTORS["čvor"].tolist()


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITTEN if suffix != ".vec"])
def test_duplicates_and_rows_that_are_not_finite_are_skipped_and_counted_or_refused(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    matrix = np.array([[1, 2], [np.nan, 2], [3, 4], [np.inf, 6], [7, 8]], dtype=np.float32)
    # Vectors refuse such rows themselves, so that only the writer sees these.
    Vectors._from_table(Table(("a", "b", "a", "c", "b"), matrix)).save(path)
    vectors = Vectors.load(path)
    assert vectors.words == ("a", "b")
    assert vectors.matrix.tolist() == [[1, 2], [7, 8]]
    summary = vectors.report.summary()
    assert "2 rows with NaN or infinity" in summary
    assert "1 duplicate" in summary
    with pytest.raises(FippError, match="'b'"):
        Vectors.load(path, strict=True)


@pytest.mark.parametrize("suffix", [".bin", ".npz", ".safetensors", ".parquet", ".arrow", ".feather"])
def test_a_failed_write_leaves_the_old_file(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    VECTORS.save(path)
    before = path.read_bytes()
    with pytest.raises(FippError, match="cannot be written"):
        Vectors(["good", "\ud800 \n\0"], [[1.0], [2.0]]).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("name", SAMPLES)
def test_no_more_memory_than_allowed(tmp_path, name):
    path = SAMPLES[name](tmp_path)
    with pytest.raises(FippError, match="more than"):
        Vectors.load(path, words=WORDS * 10, max_bytes=10)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_is_whole(tmp_path, name):
    vectors = Vectors.load(SAMPLES[name](tmp_path), words=WORDS, strict=True)
    assert vectors.words == WORDS
    assert isinstance(vectors, SubwordVectors) == (name in ("fasttext", "floret", "spacy-floret"))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ["x.kv", "x.model", "x.npy", "x.npz", "x.bin", "x.safetensors", "x"])
def test_a_pickle_is_refused_with_the_reason_and_never_opened(tmp_path, name, protocol):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "unpickled"),)

    path = tmp_path / name
    path.write_bytes(pickle.dumps(Bomb(), protocol))
    with pytest.raises(FippError, match=r"is a pickle, .* never .*from_gensim"):
        Vectors.load(path)
    assert not (tmp_path / "unpickled").exists()


def test_a_missing_library_is_named_with_what_to_install(tmp_path, monkeypatch):
    VECTORS.save(tmp_path / "x.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FippError, match=r"pip install 'fipp\[arrow\]'"):
        Vectors.load(tmp_path / "x.parquet")
    with pytest.raises(FippError, match=r"pip install 'fipp\[arrow\]'"):
        VECTORS.save(tmp_path / "y.feather")
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(FippError, match="pip install gensim"):
        VECTORS.to_gensim()


def test_a_folder_of_no_known_sort_is_refused(tmp_path):
    with pytest.raises(FippError, match=r"is a folder.*spaCy.*model2vec"):
        Vectors.load(tmp_path)
