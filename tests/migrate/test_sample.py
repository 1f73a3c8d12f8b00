"""A sample pairs the right rows, and notices the usual mistakes."""

import numpy as np
import pytest

from fipp import FippError, FippWarning
from fipp.io import read_whole
from fipp.migrate import PairedSample


@pytest.fixture
def sides():
    rng = np.random.default_rng(0)
    new = rng.standard_normal((400, 8)).astype(np.float32)
    old = (new @ rng.standard_normal((8, 6)) + 0.1 * rng.standard_normal((400, 6))).astype(np.float32)
    return old, new


def test_rows_are_paired_by_position_without_ids(sides):
    sample = PairedSample.from_arrays(*sides)
    assert len(sample) == 400 and sample.paired_by == "position" and sample.agreement > 0.2


@pytest.mark.parametrize("make", [int, "doc-{}".format, lambda row: ("a", row), lambda row: b"%d" % row])
def test_rows_are_paired_by_ids_of_any_type(sides, make):
    old, new = sides
    order = np.random.default_rng(1).permutation(400)
    ids = [make(row) for row in range(400)]
    sample = PairedSample.from_arrays(old, new[order], old_ids=ids, new_ids=[ids[row] for row in order])
    assert sample.paired_by == "id"
    assert np.array_equal(sample.old, old) and np.array_equal(sample.new, new)


def test_items_without_a_partner_are_counted_and_left_out(sides):
    old, new = sides
    with pytest.warns(FippWarning, match="100 items have no partner"):
        sample = PairedSample.from_arrays(old[:300], new, old_ids=range(300), new_ids=range(400))
    assert len(sample) == 300


def test_shuffled_rows_are_refused(sides):
    old, new = sides
    with pytest.raises(FippError, match=r"do not belong together.*paired by position"):
        PairedSample.from_arrays(old, new[np.random.default_rng(1).permutation(400)])


def test_a_lost_row_is_noticed(sides):
    old, new = sides
    with pytest.warns(FippWarning, match=r"the first from row 2\d\d on.*was a row lost"):
        PairedSample.from_arrays(old[:-1], np.delete(new, 230, axis=0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda old, new: dict(old=old, new=new[:-1]), "has 400 rows and new 399"),
        (lambda old, new: dict(old=new, new=new), "given twice"),
        (lambda old, new: dict(old=old[:5], new=new[:5]), "too few"),
        (lambda old, new: dict(old=old, new=new, old_ids=[0] * 400, new_ids=range(400)), "id 0 twice, in rows 0 and 1"),
        (lambda old, new: dict(old=old, new=new, old_ids=range(400), new_ids=map(str, range(400))), "no id in common"),
        (lambda old, new: dict(old=old, new=new, new_queries=old), "queries have 6 dimensions and its items 8"),
        (lambda old, new: dict(old=old, new=new, old_queries=old), "embedded by the new model"),
        (lambda old, new: dict(old=old, new=new, new_queries=new[:3], gold=["x"] * 3), "no gold item is in the sample"),
        (lambda old, new: dict(old=old, new=new, new_queries=new[:3], gold=[1]), "3 queries but gold for 1"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(sides, change, message):
    with pytest.raises(FippError, match=message):
        PairedSample.from_arrays(**change(*sides))


def test_vectors_of_zeros_are_left_out(sides):
    old, new = sides
    new[7] = 0
    with pytest.warns(FippWarning, match="1 items have a vector of zeros"):
        sample = PairedSample.from_arrays(old, new)
    assert len(sample) == 399 and 7 not in sample.ids


def test_gold_is_found_by_id(sides):
    old, new = sides
    ids = [f"doc-{row}" for row in range(400)]
    gold = ["doc-3", ["doc-9", "elsewhere"], "elsewhere"]
    sample = PairedSample.from_arrays(old, new, old_ids=ids, new_queries=new[:3], gold=gold)
    assert [rows.tolist() for rows in sample.gold] == [[3], [9], []]


class TestFiles:
    @pytest.fixture
    def arrow(self):
        return pytest.importorskip("pyarrow")

    def table(self, arrow, matrix, ids, name="vector", **columns):
        vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(matrix.ravel()), matrix.shape[1])
        return arrow.table({"id": ids, name: vectors, **columns})

    def test_two_parquet_files_are_matched_by_integer_ids(self, sides, arrow, tmp_path):
        from pyarrow import parquet

        old, new = sides
        order = np.random.default_rng(1).permutation(400)
        texts = [f"text {row}" for row in range(400)]
        parquet.write_table(self.table(arrow, old, np.arange(400), text=texts), tmp_path / "old.parquet")
        parquet.write_table(self.table(arrow, new[order], order), tmp_path / "new.parquet")
        sample = PairedSample.load(tmp_path / "old.parquet", tmp_path / "new.parquet")
        assert sample.paired_by == "id" and np.array_equal(sample.new, new)
        assert sample.texts[5] == "text 5"

    def test_one_table_may_have_both_sides_and_queries_another(self, sides, arrow, tmp_path):
        from pyarrow import feather

        old, new = sides
        both = self.table(arrow, old, np.arange(400), "old")
        both = both.append_column("new", arrow.array(list(new), arrow.list_(arrow.float32())))
        feather.write_feather(both, tmp_path / "both.feather")
        queries = arrow.table({"new": list(new[:5]), "gold": [[1], [2, 3], [4], [5], [6]]})
        sample = PairedSample.load(tmp_path / "both.feather", queries=queries)
        assert np.array_equal(sample.new, new) and sample.gold[1].tolist() == [2, 3]

    def test_a_folder_of_parquet_files_is_one_table(self, sides, arrow, tmp_path):
        from pyarrow import parquet

        old, new = sides
        for part in range(2):
            rows = np.arange(200 * part, 200 * part + 200)
            parquet.write_table(self.table(arrow, old[rows], rows), tmp_path / f"{part}.parquet")
        (tmp_path / "_metadata.parquet").write_text("not of the data")
        sample = PairedSample.load(tmp_path, self.table(arrow, new, np.arange(400)))
        assert np.array_equal(sample.old, old) and sample.ids.tolist() == list(range(400))
        with pytest.raises(FippError, match="no Parquet files"):
            PairedSample.load(tmp_path / "0.parquet", (tmp_path / "empty").mkdir() or tmp_path / "empty")

    def test_a_small_file_cannot_take_all_memory(self, arrow, tmp_path):
        from pyarrow import parquet

        path = tmp_path / "bomb.parquet"
        text = arrow.DictionaryArray.from_arrays(arrow.array(np.zeros(40_000, np.int32)), ["x" * 10_000])
        parquet.write_table(arrow.table({"id": np.arange(40_000), "text": text}), path)
        assert path.stat().st_size < 1_000_000
        with pytest.raises(FippError, match="memory"):
            read_whole(path, max_bytes=50_000_000)

    def test_npy_with_ids_beside_it(self, sides, tmp_path):
        old, new = sides
        np.save(tmp_path / "old.npy", old)
        np.save(tmp_path / "new.npy", new[::-1])
        np.save(tmp_path / "old.ids.npy", np.arange(400))
        np.save(tmp_path / "new.ids.npy", np.arange(400)[::-1])
        sample = PairedSample.load(tmp_path / "old.npy", tmp_path / "new.npy")
        assert sample.paired_by == "id" and np.array_equal(sample.new, new)

    def test_data_frames_of_polars(self, sides):
        polars = pytest.importorskip("polars")
        old, new = sides
        frames = [polars.DataFrame({"id": range(400), "vector": side}) for side in (old, new)]
        assert PairedSample.load(*frames).paired_by == "id"

    def test_files_that_are_no_tables_are_refused(self, arrow, tmp_path):
        path = tmp_path / "x.parquet"
        path.write_text("nothing of the kind")
        with pytest.raises(FippError, match="cannot read it"):
            PairedSample.load(path, path)
        with pytest.raises(FippError, match="does not exist"):
            PairedSample.load(tmp_path / "none.parquet")


def test_queries_without_a_vector_are_left_out_with_their_gold():
    rng = np.random.default_rng(0)
    new = rng.standard_normal((100, 6))
    old, asked = new @ rng.standard_normal((6, 4)), new[:5].copy()
    asked[2] = 0
    with pytest.warns(FippWarning, match="1 queries have a vector of zeros"):
        sample = PairedSample.from_arrays(old, new, old_queries=old[:5], new_queries=asked, gold=[0, 1, 2, 3, 4])
    assert len(sample.new_queries) == len(sample.old_queries) == 4
    assert [rows.tolist() for rows in sample.gold] == [[0], [1], [3], [4]]
