"""Tables of LanceDB: read in the order of their fragments, written in one commit, switched by a link."""

import os

import numpy as np
import pytest

lance = pytest.importorskip("lance", reason="the extra lance is not installed")
pa = pytest.importorskip("pyarrow")

from fipp import Ridge  # noqa: E402
from fipp.exceptions import FippError  # noqa: E402
from fipp.migrate import Conversion, draw, verify  # noqa: E402
from fipp.stores import open_source  # noqa: E402

OLD, NEW, ROWS = 5, 7, 1000


def rows(start, n, seed=0):
    vectors = np.random.default_rng((seed, start)).standard_normal((n, OLD)).astype(np.float32)
    mask = pa.array(np.arange(n) == 3)
    return pa.table(
        {
            "id": pa.array([f"doc {row}" for row in range(start, start + n)]),
            "tags": [["a", None][: row % 3] for row in range(n)],
            "seen": pa.array(np.arange(n), pa.timestamp("us", tz="UTC")),
            "nested": [{"a": row, "b": str(row)} for row in range(n)],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), OLD, mask=mask),
        }
    )


@pytest.fixture
def setting(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, OLD)).astype(np.float32)
    aligner = Ridge().fit(X, X @ rng.standard_normal((OLD, NEW)))
    aligner.save("model.fipp")
    lance.write_dataset(rows(0, ROWS // 2), "old.lance")
    lance.write_dataset(rows(ROWS // 2, ROWS // 2), "old.lance", mode="append")
    lance.dataset("old.lance").delete("id = 'doc 17'")
    return aligner


def start(**options):
    return Conversion.start("model.fipp", "old.lance", "new.lance", fragment_rows=150, **options)


def is_converted(aligner):
    old, new = lance.dataset("old.lance").to_table(), lance.dataset("new.lance").to_table()
    if not old.drop(["vector"]).equals(new.drop(["vector"])):
        return False
    X, Y = (np.array([row for row in table["vector"].to_pylist() if row], np.float32) for table in (old, new))
    return old["vector"].null_count == new["vector"].null_count and np.allclose(aligner.transform(X), Y, atol=1e-5)


def test_all_columns_and_rows_survive_in_order(setting):
    conversion = start()
    conversion.run()
    assert is_converted(setting) and verify(conversion).is_right
    assert sorted(os.listdir()) == ["model.fipp", "new.lance", "new.lance.migration.jsonl", "old.lance"]
    lance.dataset("new.lance").update({"id": "'other'"}, where="id = 'doc 5'")
    found = verify(conversion)
    assert found.converted_rows == ROWS - 1 and len(found.changed) == 1


def test_lancedb_finds_the_table_and_the_link_that_is_switched(setting):
    lancedb = pytest.importorskip("lancedb", reason="lancedb is not installed")
    conversion = start()
    conversion.run()
    os.symlink("old.lance", "live.lance")
    conversion.switch("live.lance")
    table = lancedb.connect(".").open_table("live")
    query = setting.transform(np.array(rows(0, 500)["vector"][40].as_py(), np.float32)[None])[0]
    assert table.search(query).limit(1).to_list()[0]["id"] == "doc 40"
    conversion.rollback()
    assert lancedb.connect(".").open_table("live").schema.field("vector").type.list_size == OLD


def test_rows_that_change_meanwhile_are_caught_up(setting):
    changed = []

    def progress(done, total):
        if not changed and done > 400:
            changed.append(True)
            table = lance.dataset("old.lance")
            table.update({"id": "'changed'"}, where="id = 'doc 30'")
            table.delete("id = 'doc 600'")
            lance.write_dataset(rows(5000, 10, 1), "old.lance", mode="append")

    conversion = start()
    conversion.run(progress)
    assert changed and is_converted(setting) and verify(conversion).is_right
    lance.dataset("old.lance").delete("id = 'doc 700'")
    assert verify(conversion).outdated > 0


def test_an_interrupted_conversion_goes_on_and_other_stores_take_part(setting):
    conversion = start()

    def interrupt(done, total):
        if done > 400:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        conversion.run(interrupt)
    assert not os.path.exists("new.lance")
    Conversion.load("new.lance").run()
    assert is_converted(setting)
    Conversion.start("model.fipp", "old.lance", "new.arrow").run()
    np.save("old.npy", np.ones((5000, OLD), np.float32))
    conversion = Conversion.start("model.fipp", "old.npy", "matrix.lance", dtype="int8")
    conversion.run()
    assert verify(conversion).is_right and verify(Conversion.load("new.arrow")).is_right
    assert len(draw("old.lance", 50)) == 50
    conversion.delete()
    assert not os.path.exists("matrix.lance")


def test_a_failure_in_the_middle_is_the_error_that_it_was(setting, monkeypatch):
    conversion = start(dtype="float16")
    monkeypatch.setattr("fipp.migrate.BatchConverter._rounded", lambda self, mapped: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        conversion.run()


def test_what_is_no_table_is_an_error_that_names_it(setting):
    with pytest.raises(FippError, match=r"no table of LanceDB nothing\.lance"):
        open_source("nothing.lance")
    os.mkdir("empty.lance")
    with pytest.raises(FippError, match=r"empty\.lance cannot be read"):
        open_source("empty.lance").schema()
    for path in ("_versions", "data"):
        (file,) = sorted(os.scandir(f"old.lance/{path}"), key=lambda entry: entry.name)[:1]
        with open(file.path, "r+b") as damaged:
            damaged.write(os.urandom(200))
    for path in os.scandir("old.lance/_versions"):
        with open(path.path, "r+b") as damaged:
            damaged.write(os.urandom(200))
    with pytest.raises(FippError, match=r"old\.lance"):
        list(open_source("old.lance").batches())
