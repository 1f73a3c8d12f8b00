"""Converting collections: nothing is lost, everything resumes, and what is wrong is said."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from conversion_trials import FILES, counted_in_a_process  # noqa: E402

from fipp import Procrustes, Ridge  # noqa: E402
from fipp.exceptions import FippError, FippWarning  # noqa: E402
from fipp.migrate import BatchConverter, Conversion, Migration, PairedSample, verify  # noqa: E402
from fipp.migrate._manifest import Manifest  # noqa: E402

OLD, NEW = 6, 9


@pytest.fixture
def aligner():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, OLD)).astype(np.float32)
    return Ridge().fit(X, X @ rng.standard_normal((OLD, NEW)))


@pytest.fixture
def model(aligner, tmp_path):
    aligner.save(tmp_path / "model.fipp")
    return tmp_path / "model.fipp"


def table(n=1000, seed=1, start=0):
    """Return rows with columns of many types, a row without a vector, and ids that repeat."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((n, OLD)).astype(np.float32).tolist()
    vectors[5] = None
    return pa.table(
        {
            "id": pa.array(np.arange(start, start + n) // 2, pa.int64()),
            "title": pa.array([None if row % 7 == 0 else f"título {row}" for row in range(n)]),
            "vector": pa.array(vectors, pa.list_(pa.float32())),
            "tags": pa.array([[f"t{row}"] * (row % 3) for row in range(n)]),
            "seen": pa.array(np.arange(n) * 1000, pa.timestamp("us", tz="UTC")),
            "kind": pa.array([f"k{row % 4}" for row in range(n)]).dictionary_encode(),
            "nested": pa.array([{"a": row, "b": None} for row in range(n)], pa.struct([("a", "int16"), ("b", "bool")])),
        }
    )


@pytest.fixture
def old(tmp_path):
    folder = tmp_path / "old" / "year=2024"
    folder.mkdir(parents=True)
    for part in range(3):
        pq.write_table(table(seed=part, start=1000 * part), folder / f"p{part}.parquet", row_group_size=300)
    return tmp_path / "old"


def by_hand(aligner, source):
    """Return what the vectors of a table become."""
    vectors = source["vector"].to_pylist()
    mapped = iter(aligner.transform(np.array([vector for vector in vectors if vector is not None], np.float32)))
    return [None if vector is None else next(mapped) for vector in vectors]


def close(found, expected, tolerance=1e-5):
    pairs = list(zip(found, expected, strict=True))
    assert all((one is None) == (other is None) for one, other in pairs)
    gaps = [np.abs(np.array(one) - other).max() for one, other in pairs if one is not None]
    return max(gaps) < tolerance


def test_folders_whose_names_tell_what_no_column_does_are_kept_or_missed(model, old, tmp_path):
    Conversion.start(model, old, tmp_path / "folder")
    with pytest.warns(FippWarning, match=r"folders such as year=2024 .*file\.parquet will not have it"):
        Conversion.start(model, old, tmp_path / "file.parquet")
    for path in old.rglob("*.parquet"):
        rows = pq.ParquetFile(path).read()
        pq.write_table(rows.append_column("year", pa.array([2024] * len(rows))), path)
    Conversion.start(model, old, tmp_path / "column.parquet")


def test_a_migration_converts_documents_and_refuses_vectors_of_another_model(tmp_path):
    rng = np.random.default_rng(0)
    new = (rng.standard_normal((400, NEW)) * np.geomspace(1, 0.2, NEW)).astype(np.float32)
    old = (new @ rng.standard_normal((NEW, OLD))).astype(np.float32)
    sample = PairedSample.from_arrays(old, new)
    migration = Migration.fit(sample, direction="documents")
    migration.save(tmp_path / "documents.fipp")
    np.save(tmp_path / "old.npy", old)
    Conversion.start(tmp_path / "documents.fipp", tmp_path / "old.npy", tmp_path / "converted.npy").run()
    np.testing.assert_allclose(np.load(tmp_path / "converted.npy"), migration.convert_documents(old), atol=1e-5)
    np.save(tmp_path / "other.npy", new)
    with pytest.raises(FippError, match="swapped"):
        Conversion.start(tmp_path / "documents.fipp", tmp_path / "other.npy", tmp_path / "no.npy")
    Migration.fit(PairedSample.from_arrays(old, new, old_queries=old, new_queries=new), direction="queries").save(
        tmp_path / "queries.fipp"
    )
    with pytest.raises(FippError, match="adapts queries"):
        Conversion.start(tmp_path / "queries.fipp", tmp_path / "old.npy", tmp_path / "no.npy")
    assert not list(tmp_path.glob("no*"))


def test_all_columns_rows_and_types_survive_in_order(model, aligner, old, tmp_path):
    Conversion.start(model, old, tmp_path / "new", fragment_rows=400).run()
    source, found = pq.read_table(old), pq.read_table(tmp_path / "new")
    assert found.drop(["vector"]).equals(source.drop(["vector"]))
    assert found.schema.names == source.schema.names
    assert close(found["vector"].to_pylist(), by_hand(aligner, source))
    # one file per fragment, under the name of the file that it comes from
    assert sorted(path.name for path in (tmp_path / "new" / "year=2024").iterdir())[:2] == [
        "p0.000000000000.parquet",
        "p0.000000000400.parquet",
    ]


@pytest.mark.parametrize(("group", "rows"), [(10_000, 70_000), (100_000, 100_000), (1_200_000, 65_536)])
def test_a_fragment_divides_no_row_group_unless_that_is_very_large(group, rows, model, tmp_path):
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(1_200_000 * OLD, np.float32)), OLD)
    pq.write_table(pa.table({"vector": vectors}), tmp_path / "old.parquet", row_group_size=group)
    conversion = Conversion.start(model, tmp_path / "old.parquet", tmp_path / "new")
    assert conversion.manifest.fragment_rows == rows
    other = Conversion.start(model, tmp_path / "old.parquet", tmp_path / "other", fragment_rows=9)
    assert other.manifest.fragment_rows == 9


def test_the_source_is_never_changed_and_nothing_is_left_beside(model, old, tmp_path):
    before = {path: path.read_bytes() for path in old.rglob("*.parquet")}
    Conversion.start(model, old, tmp_path / "new").run()
    assert {path: path.read_bytes() for path in old.rglob("*.parquet")} == before
    assert sorted(os.listdir(tmp_path)) == ["model.fipp", "new", "new.migration.jsonl", "old"]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather"])
def test_one_file_is_put_together_from_the_fragments(suffix, model, aligner, old, tmp_path):
    sink = tmp_path / f"new{suffix}"
    Conversion.start(model, f"{old}/year=2024/*.parquet", sink, fragment_rows=300).run()
    found = pq.read_table(sink) if suffix == ".parquet" else pa.ipc.open_file(sink).read_all()
    source = pq.read_table(sorted(old.rglob("*.parquet")), partitioning=None)
    assert found.drop(["vector"]).equals(source.drop(["vector"]))
    assert close(found["vector"].to_pylist(), by_hand(aligner, source))


def test_float16_and_int8_with_its_scale_stay_close(model, aligner, old, tmp_path):
    expected = by_hand(aligner, pq.read_table(old))
    Conversion.start(model, old, tmp_path / "half", dtype="float16").run()
    half = pq.read_table(tmp_path / "half")
    assert half.schema.field("vector").type.value_type == pa.float16()
    assert close(half["vector"].to_pylist(), expected, 5e-3)
    Conversion.start(model, old, tmp_path / "eighth", dtype="int8").run()
    eighth = pq.read_table(tmp_path / "eighth")
    pairs = zip(eighth["vector"].to_pylist(), eighth["vector_scale"].to_pylist(), strict=True)
    restored = [None if vector is None else np.array(vector) * scale for vector, scale in pairs]
    largest = max(np.abs(vector).max() for vector in expected if vector is not None)
    assert close(restored, expected, largest / 127)


def test_a_batch_is_converted_by_a_plain_function_that_can_be_pickled(aligner):
    import pickle

    batch = table().to_batches()[0]
    converter = pickle.loads(pickle.dumps(BatchConverter(aligner.transform, "vector")))
    converted = converter(batch)
    assert converted.schema == converter.schema(batch.schema)
    assert close(converted["vector"].to_pylist(), by_hand(aligner, table()))


def test_killed_conversions_are_resumed_to_the_identical_result():
    for sink, counts in counted_in_a_process(2, *FILES).items():
        assert counts["kills"] == 2 and counts["failures"] == 0, sink
        assert counts["done again after one kill at most"] <= 1, sink


class ConversionError(Exception):
    pass


def interrupt_after(conversion, count):
    """Let a conversion fail when so many fragments are done."""

    def progress(done, total):
        nonlocal count
        count -= 1
        if count == 0:
            raise ConversionError

    with pytest.raises(ConversionError):
        conversion.run(progress)


def test_a_resumed_conversion_does_only_what_is_missing(model, old, tmp_path, monkeypatch):
    interrupt_after(Conversion.start(model, old, tmp_path / "new", fragment_rows=400), 4)
    assert not (tmp_path / "new").exists()
    assert Manifest.load(tmp_path / "new.migration.jsonl").status()["rows"] == 1400
    resumed = Conversion.load(tmp_path / "new")
    written = []
    write = type(resumed.sink).write
    monkeypatch.setattr(
        type(resumed.sink), "write", lambda self, part, rows: written.append(part.name) or write(self, part, rows)
    )
    resumed.run()
    assert len(written) == 5
    assert verify(resumed).is_right


def test_files_that_change_during_the_conversion_are_converted_again(model, aligner, old, tmp_path):
    conversion = Conversion.start(model, old, tmp_path / "new", fragment_rows=400)
    interrupt_after(conversion, 6)
    folder = old / "year=2024"
    pq.write_table(table(1100, seed=9), folder / "p0.parquet")  # changed, and longer
    (folder / "p1.parquet").unlink()
    pq.write_table(table(50, seed=10), folder / "p3.parquet")  # new
    Conversion.load(tmp_path / "new").run()
    source, found = pq.read_table(old), pq.read_table(tmp_path / "new")
    assert found.drop(["vector"]).equals(source.drop(["vector"]))
    assert close(found["vector"].to_pylist(), by_hand(aligner, source))


def test_a_file_that_changes_while_others_are_converted_is_noticed_in_the_same_run(model, aligner, old, tmp_path):
    conversion = Conversion.start(model, old, tmp_path / "new", fragment_rows=400)
    changed = []

    def progress(done, total):
        if not changed:
            changed.append(True)
            pq.write_table(table(900, seed=11), old / "year=2024" / "p0.parquet")

    conversion.run(progress)
    source, found = pq.read_table(old), pq.read_table(tmp_path / "new")
    assert close(found["vector"].to_pylist(), by_hand(aligner, source))


def test_verification_finds_what_was_changed_lost_or_is_outdated(model, old, tmp_path):
    conversion = Conversion.start(model, old, tmp_path / "new", fragment_rows=400)
    with pytest.raises(FippError, match="not finished"):
        verify(conversion)
    conversion.run()
    found = verify(conversion)
    assert found.is_right and found.sampled > 1000 and found.checksums == 9
    piece = next((tmp_path / "new").rglob("p1.*.parquet"))
    content = bytearray(piece.read_bytes())
    content[100] ^= 1
    piece.write_bytes(content)
    assert [Path(name).name for name in verify(conversion).changed] == [piece.name.removesuffix(".parquet")]
    pq.write_table(table(seed=12), old / "year=2024" / "p2.parquet")
    assert verify(conversion).outdated == 3


def test_recall_after_the_fact_is_one_for_a_map_without_error(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, OLD)).astype(np.float32)
    Y = (X @ np.linalg.qr(rng.standard_normal((OLD, OLD)))[0]).astype(np.float32)
    Procrustes(preprocess=None).fit(X, Y).save(tmp_path / "model.fipp")
    ids = [f"doc {row}" for row in range(400)]
    pq.write_table(pa.table({"id": ids, "vector": X.tolist()}), tmp_path / "old.parquet")
    pq.write_table(pa.table({"id": ids[100:300], "new": Y[100:300].tolist()}), tmp_path / "native.parquet")
    conversion = Conversion.start(tmp_path / "model.fipp", tmp_path / "old.parquet", tmp_path / "new.parquet")
    conversion.run()
    assert verify(conversion, native=tmp_path / "native.parquet").recall > 0.99


def test_a_link_is_switched_back_from_any_folder(model, old, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "current").symlink_to("old")
    Conversion.start(model, "current", "new").run()
    Conversion.load("new").switch("current")
    monkeypatch.chdir("old")
    assert verify(Conversion.load("../new")).is_right
    Conversion.load("../new").rollback()
    assert (tmp_path / "current").resolve() == old
    assert os.listdir() == ["year=2024"]


def test_a_link_is_switched_back_without_the_model_and_the_source(model, old, tmp_path):
    (tmp_path / "current").symlink_to("old")
    conversion = Conversion.start(model, old, tmp_path / "new")
    conversion.run()
    conversion.switch(str(tmp_path / "current"))
    model.unlink()
    old.rename(tmp_path / "away")
    Conversion.load(tmp_path / "new").rollback()
    assert os.readlink(tmp_path / "current") == "old"
    Conversion.load(tmp_path / "new").delete()
    assert not (tmp_path / "new").exists()


def test_a_link_that_was_switched_again_is_left_alone(model, old, tmp_path):
    (tmp_path / "current").symlink_to("old")
    conversion = Conversion.start(model, old, tmp_path / "new")
    conversion.run()
    conversion.switch(str(tmp_path / "current"))
    (tmp_path / "current").unlink()
    (tmp_path / "current").symlink_to("newer")
    for undo in (conversion.rollback, conversion.delete):
        with pytest.raises(FippError, match="means newer since"):
            undo()
    assert os.readlink(tmp_path / "current") == "newer" and (tmp_path / "new").exists()


def test_a_link_is_switched_and_switched_back(model, old, tmp_path):
    (tmp_path / "current").symlink_to("old")
    conversion = Conversion.start(model, old, tmp_path / "new")
    with pytest.raises(FippError, match="finished"):
        conversion.switch(str(tmp_path / "current"))
    conversion.run()
    conversion.switch(str(tmp_path / "current"))
    assert (tmp_path / "current").resolve() == tmp_path / "new"
    Conversion.load(tmp_path / "new").rollback()
    assert (tmp_path / "current").resolve() == old
    with pytest.raises(FippError, match="nothing was switched"):
        conversion.rollback()


def test_a_failure_while_switching_leaves_the_old_collection_and_can_be_undone(model, old, tmp_path, monkeypatch):
    (tmp_path / "current").symlink_to("old")
    conversion = Conversion.start(model, old, tmp_path / "new")
    conversion.run()
    monkeypatch.setattr(os, "replace", _fails)
    with pytest.raises((FippError, OSError)):
        conversion.switch(str(tmp_path / "current"))
    monkeypatch.undo()
    assert (tmp_path / "current").resolve() == old
    # also if it fails after the switch and before it is recorded
    monkeypatch.setattr(type(conversion.sink), "switch", _switch_and_fail(type(conversion.sink).switch))
    with pytest.raises(OSError):
        conversion.switch(str(tmp_path / "current"))
    assert (tmp_path / "current").resolve() == tmp_path / "new"
    Conversion.load(tmp_path / "new").rollback()
    assert (tmp_path / "current").resolve() == old


def _fails(*arguments):
    raise OSError("no")


def _switch_and_fail(switch):
    def run(self, name):
        switch(self, name)
        raise OSError("no")

    return run


def test_rollback_can_remove_everything(model, old, tmp_path):
    interrupt_after(Conversion.start(model, old, tmp_path / "new", fragment_rows=400), 2)
    Conversion.load(tmp_path / "new").delete()
    assert sorted(os.listdir(tmp_path)) == ["model.fipp", "old"]


def test_a_conversion_is_refused_with_the_reason(model, old, tmp_path):
    with pytest.raises(FippError, match="exists already"):
        Conversion.start(model, old, old)
    with pytest.raises(FippError, match="no column of vectors 'nothing'"):
        Conversion.start(model, old, tmp_path / "new", column="nothing")
    pq.write_table(table(n=10).drop(["kind"]), tmp_path / "other.parquet")
    with pytest.raises(FippError, match=r"other\.parquet has other columns.* than .*p0\.parquet"):
        Conversion.start(model, tmp_path / "**" / "*.parquet", tmp_path / "new")
    with pytest.raises(FippError, match="float32, float16, int8"):
        Conversion.start(model, old, tmp_path / "new", dtype="float64")
    with pytest.raises(FippError, match=r"no place for the columns title, tags"):
        Conversion.start(model, old, tmp_path / "new.npy")
    with pytest.raises(FippError, match=r"no store s3://.*copy or mount"):
        Conversion.start(model, "s3://bucket/old.parquet", tmp_path / "new")
    (tmp_path / "some.npy").write_bytes(b"nothing")
    with pytest.raises(FippError, match="not a NumPy matrix"):
        Conversion.start(model, tmp_path / "some.npy", tmp_path / "new")
    Conversion.start(model, old, tmp_path / "new")
    with pytest.raises(FippError, match="resume"):
        Conversion.start(model, old, tmp_path / "new")
    model.write_bytes(model.read_bytes()[:-1])
    with pytest.raises(FippError, match="not the one"):
        Conversion.load(tmp_path / "new").run()


@pytest.mark.parametrize("source", ["old", "old/*/*", "old/**/*.parquet", "**/*.parquet"])
def test_a_result_among_its_own_source_is_refused(source, model, old, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FippError, match="a part of"):
        Conversion.start(model, source, "old/new")
    assert [path.name for path in old.iterdir()] == ["year=2024"] and not list(tmp_path.rglob("*.json"))
    Conversion.start(model, "old/year*/*.parquet", "old/new").run()
    assert sorted(path.name for path in old.iterdir()) == ["new", "new.migration.jsonl", "year=2024"]


def test_a_row_that_cannot_be_converted_is_named_and_the_conversion_goes_on_when_it_is_repaired(model, tmp_path):
    source = table()
    vectors = source["vector"].to_pylist()
    vectors[800] = [1.0, float("nan"), *vectors[800][2:]]
    broken = source.set_column(2, "vector", pa.array(vectors, source["vector"].type))
    pq.write_table(broken, tmp_path / "old.parquet", row_group_size=300)
    conversion = Conversion.start(model, tmp_path / "old.parquet", tmp_path / "new", fragment_rows=400)
    with pytest.raises(
        FippError, match=r"old\.000000000800 of .*old\.parquet: the vector of the row with id 400 has NaN"
    ):
        conversion.run()
    pq.write_table(source, tmp_path / "old.parquet", row_group_size=300)
    Conversion.load(tmp_path / "new").run()
    assert verify(Conversion.load(tmp_path / "new")).is_right


@pytest.mark.parametrize("kind", ["aligner", "migration"])
def test_the_first_rows_are_refused_by_name_before_anything_is_written(kind, aligner, tmp_path):
    rng = np.random.default_rng(0)
    old = rng.standard_normal((400, OLD)).astype(np.float32)
    if kind == "aligner":
        aligner.save(tmp_path / "model.fipp")
    else:
        sample = PairedSample.from_arrays(old, old @ rng.standard_normal((OLD, NEW)))
        Migration.fit(sample, direction="documents").save(tmp_path / "model.fipp")
    ids, vectors = [f"item {row}" for row in range(100)], old[:100].copy()
    vectors[0, 3] = np.nan
    pq.write_table(pa.table({"id": ids, "vector": list(vectors)}), tmp_path / "broken.parquet")
    with pytest.raises(FippError, match=r"broken\.parquet: the vector of the row with id item 0 has NaN"):
        Conversion.start(tmp_path / "model.fipp", tmp_path / "broken.parquet", tmp_path / "new")
    pq.write_table(pa.table({"id": ids, "vector": list(old[:100, :5])}), tmp_path / "short.parquet")
    with pytest.raises(FippError, match=r"short\.parquet: .*6 dimensions.*these have 5"):
        Conversion.start(tmp_path / "model.fipp", tmp_path / "short.parquet", tmp_path / "new")
    assert not list(tmp_path.glob("new*"))


def test_a_disk_that_is_too_small_is_noticed_before_anything_is_written(model, old, tmp_path, monkeypatch):
    needed = 3000 * NEW * 4
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=needed))
    Conversion.start(model, old, tmp_path / "folder")
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=needed - 1))
    with pytest.raises(FippError, match="needs 108,000 bytes"):
        Conversion.start(model, old, tmp_path / "new")
    assert not list(tmp_path.glob("new*"))


def test_a_result_that_is_gone_is_not_taken_for_finished(model, old, tmp_path):
    conversion = Conversion.start(model, old, tmp_path / "new")
    conversion.run()
    (tmp_path / "new").rename(tmp_path / "moved")
    for act in (conversion.run, lambda: conversion.switch(str(tmp_path / "live"))):
        with pytest.raises(FippError, match="is gone"):
            act()
    (tmp_path / "new.migration.jsonl").rename(tmp_path / "moved.migration.jsonl")
    with pytest.raises(FippError, match=r"not the manifest of .*moved, but of .*new"):
        Conversion.load(tmp_path / "moved")  # whose deletion would remove something else


def test_ids_beside_a_matrix_that_change_are_noticed(model, tmp_path):
    np.save(tmp_path / "old.npy", np.ones((50, OLD), np.float32))
    np.save(tmp_path / "old.ids.npy", np.arange(50))
    conversion = Conversion.start(model, tmp_path / "old.npy", tmp_path / "new.npy")
    conversion.run()
    assert verify(conversion).is_right
    np.save(tmp_path / "old.ids.npy", np.arange(50)[::-1])
    os.utime(tmp_path / "old.ids.npy", ns=(1, 1))
    assert verify(conversion).outdated == 1


def test_two_processes_do_not_work_on_one_conversion(model, old, tmp_path):
    first, second = Conversion.start(model, old, tmp_path / "new"), Conversion.load(tmp_path / "new")
    with first.manifest.locked(), pytest.raises(FippError, match="another process"):
        second.run()


def test_a_damaged_manifest_is_an_error_that_says_so(model, old, tmp_path):
    Conversion.start(model, old, tmp_path / "new")
    path = tmp_path / "new.migration.jsonl"
    for content in (b"{", b"[]", b'{"format": 1}', path.read_bytes()[:-30]):
        path.write_bytes(content)
        with pytest.raises(FippError, match="manifest"):
            Conversion.load(tmp_path / "new")


def test_a_line_that_was_not_written_to_its_end_costs_one_fragment(model, old, tmp_path):
    interrupt_after(Conversion.start(model, old, tmp_path / "new", fragment_rows=400), 3)
    path = tmp_path / "new.migration.jsonl"
    path.write_bytes(path.read_bytes()[:-7])
    assert Manifest.load(path).rows == 800
    Conversion.load(tmp_path / "new").run()
    assert Manifest.load(path).rows == 3000 and verify(Conversion.load(tmp_path / "new")).is_right
