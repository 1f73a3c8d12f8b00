"""`fipp migrate convert` and its companions, as a person uses them."""

import json
import re

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from fipp import Ridge  # noqa: E402


@pytest.fixture
def place(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 5)).astype(np.float32)
    Ridge().fit(X[:200], X[:200] @ rng.standard_normal((5, 7))).save(tmp_path / "v1-v2.fipp")
    (tmp_path / "old").mkdir()
    for part in range(2):
        rows = slice(500 * part, 500 * part + 500)
        table = pa.table(
            {"id": np.arange(1000)[rows], "title": [f"title {row}" for row in range(500)], "v": list(X[rows])}
        )
        pq.write_table(table, tmp_path / "old" / f"{part}.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_collection_is_converted_verified_switched_and_switched_back(place, run):
    done = run("migrate", "convert", "v1-v2.fipp", "old/*.parquet", "new/")
    assert re.search(r"1,000 rows in 2 fragments", done.stdout)
    status = json.loads(run("migrate", "status", "new/", "--json").stdout)
    assert (status["state"], status["rows"], status["total"]) == ("finished", 1000, 1000)
    assert "finished" in run("migrate", "status", "new").stdout
    native = pa.table({"id": np.arange(100), "vector": list(np.random.default_rng(1).standard_normal((100, 7)))})
    pq.write_table(native, "native.parquet")
    assert "All is right." in run("migrate", "verify", "new/", "--native", "native.parquet").stdout
    (place / "current").symlink_to("old")
    run("migrate", "switch", "new/", "current")
    assert (place / "current").resolve() == place / "new"
    run("migrate", "rollback", "new/")
    assert (place / "current").resolve() == place / "old"
    assert run("migrate", "resume", "new/").exit_code == 0
    run("migrate", "rollback", "new/", "--delete")
    assert not (place / "new").exists()


def test_a_sample_is_written_for_the_new_model_to_embed(place, run):
    done = run("migrate", "sample", "old", "-n", "60", "-o", "sample", "--text", "title", "--json")
    assert json.loads(done.stdout) == {"path": "sample/old.parquet", "items": 60, "columns": ["id", "text", "vector"]}
    assert "new.parquet" in run("migrate", "probe", "sample").stderr


def test_what_is_wrong_is_found_and_the_exit_code_is_2(place, run):
    run("migrate", "convert", "v1-v2.fipp", "old", "new", "--dtype", "int8", "--quiet")
    piece = place / "new" / "1.parquet"
    piece.write_bytes(piece.read_bytes()[:-1] + b"0")
    found = run("migrate", "verify", "new", "--json")
    assert found.exit_code == 2
    assert json.loads(found.stdout)["changed"] == ["1"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("convert", "v1-v2.fipp", "old", "old"), "exists already"),
        (("convert", "v1-v2.fipp", "nothing/*.parquet", "new"), "no store"),
        (("convert", "v1-v2.fipp", "old", "new.docx"), "no format"),
        (("convert", "v1-v2.fipp", "postgresql://me:secret@host/db#t", "new"), "PGPASSWORD"),
        (("convert", "missing.fipp", "old", "new"), "missing.fipp"),
        (("status", "new"), "no conversion is known"),
        (("resume", "new"), "no conversion is known"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(arguments, reason, place, run):
    done = run("migrate", *arguments)
    assert done.exit_code == 2
    assert reason in done.stderr and "Traceback" not in done.stderr and "secret" not in done.stderr


def test_an_interruption_says_how_to_go_on(place, run, monkeypatch):
    def interrupt(self, item):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("fipp.migrate.Conversion._converted", interrupt)
        done = run("migrate", "convert", "v1-v2.fipp", "old", "new", "--quiet")
    assert done.exit_code == 130
    assert re.search(r"interrupted; a part of .*new \(`fipp migrate resume` goes on\) was written", done.stderr)
    assert run("migrate", "resume", "new").exit_code == 0


def test_a_failure_says_what_is_done_and_how_to_go_on(place, run, monkeypatch):
    whole = pq.read_table("old/1.parquet")
    vectors = whole["v"].to_pylist()
    vectors[300][0] = float("nan")
    pq.write_table(whole.set_column(2, "v", pa.array(vectors, whole["v"].type)), "old/1.parquet")
    done = run("migrate", "convert", "v1-v2.fipp", "old", "new", "--fragment-rows", "100")
    assert done.exit_code == 2 and "id 800" in done.stderr
    assert re.search(r"[5-8]00 rows are done: `fipp migrate resume .*new` goes on", done.stderr)
    pq.write_table(whole, "old/1.parquet")
    assert "1,000 rows in 10 fragments" in run("migrate", "resume", "new").stdout
