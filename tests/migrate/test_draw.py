"""A sample is drawn in one pass, is representative, comes from all parts of the space, and can be read back."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from fipp.exceptions import FippError  # noqa: E402
from fipp.migrate import PairedSample, draw, sample_path, write_sample  # noqa: E402


@pytest.fixture
def store(tmp_path):
    """Return five clusters of very different sizes, with texts and ids that are text."""
    rng = np.random.default_rng(0)
    sizes = (4000, 3000, 2000, 970, 30)
    labels = np.repeat(np.arange(5), sizes)
    X = 5 * rng.standard_normal((5, 8))[labels] + rng.standard_normal((10_000, 8))
    vectors = X.astype(np.float32).tolist()
    vectors[17], vectors[18] = None, [0.0] * 8
    table = pa.table(
        {"id": [f"d{row}" for row in range(10_000)], "text": [f"cluster {label}" for label in labels], "v": vectors}
    )
    pq.write_table(table, tmp_path / "old.parquet", row_group_size=1000)
    return tmp_path / "old.parquet"


def test_each_part_of_the_space_has_its_share_and_the_smallest_has_some(store):
    sample = draw(store, 500)
    counts = {label: sample["text"].to_pylist().count(f"cluster {label}") for label in range(5)}
    assert sum(counts.values()) == 500
    for label, share in enumerate((200, 150, 100, 48.5)):
        assert abs(counts[label] - share) < 12
    assert counts[4] >= 1


def test_rows_are_whole_unique_in_order_and_have_a_vector(store):
    sample = draw(store, 500)
    rows = [int(key[1:]) for key in sample["id"].to_pylist()]
    assert rows == sorted(set(rows)) and not {17, 18} & set(rows)
    source = pq.read_table(store)
    assert sample["vector"].to_pylist() == [source["v"][row].as_py() for row in rows]


def test_the_choice_depends_on_the_seed_alone(store, tmp_path):
    first = draw(store, 100)
    pq.write_table(pq.read_table(store), tmp_path / "other.parquet", row_group_size=137)
    assert draw(tmp_path / "other.parquet", 100).equals(first)
    assert not draw(store, 100, random_state=1).equals(first)


def test_a_small_collection_is_taken_whole(store):
    assert len(draw(store, 50_000)) == 9998


def test_what_was_written_is_read_as_a_paired_sample_once_the_new_model_has_embedded_it(store, tmp_path):
    path = write_sample(draw(store, 300), tmp_path / "sample")
    with pytest.raises(FippError, match=r"no new\.parquet: embed the texts"):
        PairedSample.load(tmp_path / "sample")
    items = pq.read_table(path)
    turn = np.random.default_rng(1).standard_normal((8, 12))
    new = np.array(items["vector"].to_pylist()) @ turn
    shuffled = np.random.default_rng(2).permutation(300)
    ids = [items["id"][row].as_py() for row in shuffled.tolist()]
    pq.write_table(pa.table({"id": ids, "vector": new[shuffled].tolist()}), tmp_path / "sample" / "new.parquet")
    asked = pa.table({"old": items["vector"][:20], "new": new[:20].tolist(), "gold": items["id"][:20]})
    pq.write_table(asked, tmp_path / "sample" / "queries.parquet")
    sample = PairedSample.load(tmp_path / "sample")
    assert (sample.paired_by, len(sample), len(sample.gold)) == ("id", 300, 20)
    np.testing.assert_allclose(sample.old @ turn, sample.new, rtol=1e-4)
    assert sample.texts[0].startswith("cluster")
    with pytest.raises(FippError, match="exists already"):
        write_sample(draw(store, 300), tmp_path / "sample")


def test_rows_without_a_direction_are_left_out_and_equal_ones_are_no_problem(tmp_path):
    vectors = [[1.0, 2.0]] * 90 + [[0.0, 0.0], [float("nan"), 1.0], [1.0, float("inf")], None]
    pq.write_table(pa.table({"id": range(94), "v": vectors}), tmp_path / "old.parquet")
    assert draw(tmp_path / "old.parquet", 93)["id"].to_pylist() == list(range(90))
    assert len(draw(tmp_path / "old.parquet", 50)) == 50
    pq.write_table(pa.table({"id": range(4), "v": vectors[90:]}), tmp_path / "none.parquet")
    with pytest.raises(FippError, match="no row with a vector"):
        draw(tmp_path / "none.parquet", 50)
    pq.write_table(pa.table({"id": [], "v": pa.array([], pa.list_(pa.float32()))}), tmp_path / "empty.parquet")
    with pytest.raises(FippError, match="no row with a vector"):
        draw(tmp_path / "empty.parquet", 50)


def test_a_sample_is_not_written_among_what_it_was_drawn_from(store):
    with pytest.raises(FippError, match="a part of"):
        sample_path(store.parent / "sample", store.parent)
    assert sample_path(store.parent / "sample", store) == store.parent / "sample" / "old.parquet"


def test_rows_without_ids_are_numbered(tmp_path):
    X = np.random.default_rng(0).standard_normal((400, 4))
    np.save(tmp_path / "old.npy", X)
    sample = draw(tmp_path / "old.npy", 30)
    np.testing.assert_allclose(np.array(sample["vector"].to_pylist()), X[sample["id"].to_numpy()])
    assert sample.column_names == ["id", "vector"]
