"""Tables in Parquet, Arrow and Feather, with pyarrow and polars as peers."""

import numpy as np
import pytest

from fipp.exceptions import FippError
from fipp.io import Vectors
from io_samples import MATRIX, VECTORS, WORDS

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

LISTS = MATRIX.tolist()


def write(table, path):
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".arrows":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=3)
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".arrows"])
@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 3), pa.large_list(pa.float64())])
@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_lists_of_every_sort_are_read(tmp_path, suffix, kind, text):
    columns = {"n": pa.array([1, 2, 3, 4]), "w": pa.array(WORDS).cast(text), "v": pa.array(LISTS, kind)}
    path = write(pa.table(columns), tmp_path / f"x{suffix}")
    assert Vectors.load(path, strict=True).checksum == VECTORS.checksum


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_without_lists_every_column_of_numbers_is_a_dimension(tmp_path, suffix):
    columns = {"0": MATRIX[:, 0], "1": MATRIX[:, 1].astype("f8"), "2": MATRIX[:, 2], "word": list(WORDS)}
    assert Vectors.load(write(pa.table(columns), tmp_path / f"x{suffix}")).checksum == VECTORS.checksum


def test_whole_numbers_named_id_may_be_the_ids(tmp_path):
    path = write(pa.table({"id": [7, 8], "vector": [[1.0, 2.0], [3.0, 4.0]]}), tmp_path / "x.parquet")
    assert Vectors.load(path).words == ("7", "8")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_rows_without_word_or_vector_and_ragged_ones_are_skipped_and_counted(tmp_path, suffix):
    vectors = [[1.0, 2.0], None, [3.0], [5.0, 6.0], [7.0, None], [8.0, 9.0], []]
    table = pa.table({"w": ["a", "b", "c", None, "e", "f", "g"], "v": pa.array(vectors, pa.list_(pa.float32()))})
    path = write(table, tmp_path / f"x{suffix}")
    loaded = Vectors.load(path)
    assert loaded.words == ("a", "f")
    assert loaded.matrix.tolist() == [[1, 2], [8, 9]]
    summary = loaded.report.summary()
    for finding in ["1 word without a vector", "2 ragged rows", "1 row without a word", "1 row with NaN"]:
        assert finding in summary
    with pytest.raises(FippError, match="'b'"):
        Vectors.load(path, strict=True)


def test_a_large_table_keeps_one_dimension_through_all_batches(tmp_path):
    lists = [[1.0, 2.0]] * 9000 + [[1.0]] * 5000
    table = pa.table({"w": [f"w{row}" for row in range(14000)], "v": pa.array(lists, pa.list_(pa.float32()))})
    loaded = Vectors.load(write(table, tmp_path / "x.parquet"))
    assert (len(loaded), loaded.dim) == (9000, 2)
    assert "5,000 ragged rows" in loaded.report.summary()


def test_words_that_are_not_utf8_are_repaired(tmp_path):
    raw = pa.array([b"caf\xe9", b"dog"], pa.binary())
    broken = pa.StringArray.from_buffers(2, raw.buffers()[1], raw.buffers()[2])
    loaded = Vectors.load(write(pa.table({"w": broken, "v": [[1.0], [2.0]]}), tmp_path / "x.arrow"))
    assert loaded.words == ("caf\ufffd", "dog")
    assert "not UTF-8" in loaded.report.summary()


def test_a_small_file_of_many_equal_rows_does_not_fill_the_memory(tmp_path):
    table = pa.table({"w": pa.array(["a"] * 300_000), "v": pa.array([[0.0] * 20] * 300_000, pa.list_(pa.float32()))})
    path = write(table, tmp_path / "x.parquet")
    with pytest.raises(FippError, match="more than 1,000,000 bytes"):
        Vectors.load(path, max_bytes=1_000_000)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"v": [[1.0]]}, "no column of text"),
        ({"w": ["a"]}, "no column of lists"),
        ({"w": ["a"], "v": [["x"]]}, "no column of lists"),
        ({"w": ["a"], "v": pa.array([None], pa.list_(pa.float32()))}, "no vector that can be used"),
    ],
)
def test_what_is_missing_is_named(tmp_path, columns, message):
    with pytest.raises(FippError, match=message):
        Vectors.load(write(pa.table(columns), tmp_path / "x.parquet"))


def test_feather_of_the_first_version_says_what_to_do(tmp_path):
    (tmp_path / "x.feather").write_bytes(b"FEA1" + b"\0" * 100)
    with pytest.raises(FippError, match="version 1"):
        Vectors.load(tmp_path / "x.feather")


def test_pyarrow_reads_what_we_write(tmp_path):
    VECTORS.save(tmp_path / "x.parquet")
    VECTORS.save(tmp_path / "x.feather")
    from pyarrow import feather

    for table in [pq.read_table(tmp_path / "x.parquet"), feather.read_table(tmp_path / "x.feather")]:
        assert table["word"].to_pylist() == list(WORDS)
        values = table["vector"].combine_chunks().flatten().to_numpy()
        assert values.tobytes() == MATRIX.tobytes()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_polars_reads_what_we_write_and_we_read_what_polars_writes(tmp_path, suffix):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    path = tmp_path / f"x{suffix}"
    VECTORS.save(path)
    read = pl.read_parquet if suffix == ".parquet" else pl.read_ipc
    frame = read(path)
    assert frame["word"].to_list() == list(WORDS)
    assert np.array(frame["vector"].to_list(), dtype=np.float32).tobytes() == MATRIX.tobytes()
    for kind in [pl.List(pl.Float32), pl.Array(pl.Float32, 3)]:
        frame = pl.DataFrame({"token": WORDS, "embedding": pl.Series(LISTS, dtype=kind)})
        other = tmp_path / f"y{suffix}"
        frame.write_parquet(other) if suffix == ".parquet" else frame.write_ipc(other, compression="zstd")
        assert Vectors.load(other, strict=True).checksum == VECTORS.checksum


def test_words_stored_as_their_differences_are_read(tmp_path):
    table = pa.table({"w": list(WORDS), "v": pa.array(LISTS, pa.list_(pa.float32()))})
    encodings = {"w": "DELTA_BYTE_ARRAY", "v.list.element": "PLAIN"}
    pq.write_table(table, tmp_path / "x.parquet", use_dictionary=False, column_encoding=encodings)
    assert Vectors.load(tmp_path / "x.parquet", strict=True).checksum == VECTORS.checksum
