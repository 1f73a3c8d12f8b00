"""`fipp migrate` fits maps, shows them, and ends with code 2 for a mistake."""

import html
import json
from hashlib import sha256

import numpy as np
import pytest

from fipp.migrate import Migration

pa = pytest.importorskip("pyarrow", reason="tables need pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def write(path, **columns):
    listed = {name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in columns.items()}
    parquet.write_table(pa.table(listed), path)
    return path


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    new = rng.standard_normal((300, 8)) * np.geomspace(1, 0.2, 8)
    old = new @ rng.standard_normal((8, 6))
    ids = [f"doc {row}" for row in range(200)]
    return {
        "old": write(tmp_path / "old.parquet", id=ids, vector=old[:200]),
        "new": write(tmp_path / "new.parquet", id=ids, vector=new[:200]),
        "queries": write(tmp_path / "queries.parquet", old=old[200:], new=new[200:]),
        "model": tmp_path / "v1-v2.fipp",
        "vectors": {"old": old, "new": new},
    }


def test_fit_writes_a_migration_that_info_describes(files, run):
    names = ("--old-name", "v1", "--new-name", "v2")
    done = run("migrate", "fit", files["old"], files["new"], "--direction", "documents", *names, "-o", files["model"])
    assert done.exit_code == 0 and "converts stored vectors of v1 to v2" in done.stdout
    assert Migration.load(files["model"]).convert_documents(files["vectors"]["old"]).shape == (300, 8)
    shown = run("info", files["model"])
    assert shown.exit_code == 0 and "v1, 6 dimensions" in shown.stdout and "a migration of fipp" in shown.stdout
    told = json.loads(run("info", files["model"], "--json").stdout)
    assert told["direction"] == "documents" and told["new"]["dimensions"] == 8 and told["n_items"] == 200


def test_fit_takes_queries_and_prints_json(files, run):
    options = ("--queries", files["queries"], "--direction", "queries", "-o", files["model"], "--json")
    done = run("migrate", "fit", files["old"], files["new"], *options)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["n_queries"] == 100
    without = run("migrate", "fit", files["old"], files["new"], "--direction", "queries", "-o", files["model"])
    assert without.exit_code == 0 and "no queries embedded by both models" in without.stderr


def test_mistakes_end_with_code_2(files, run):
    wrong = run("migrate", "fit", files["old"], files["new"], "--direction", "up", "-o", files["model"])
    assert wrong.exit_code == 2 and "documents or queries" in wrong.stderr and not files["model"].exists()
    onto_input = run("migrate", "fit", files["old"], files["new"], "--direction", "queries", "-o", files["old"])
    assert onto_input.exit_code == 2 and "overwrite the input" in onto_input.stderr
    run("migrate", "fit", files["old"], files["new"], "--direction", "documents", "-o", files["model"])
    mistaken = run("transform", files["model"], files["old"], "-o", files["model"].with_suffix(".npy"))
    assert mistaken.exit_code == 2 and "is a migration between embedding models" in mistaken.stderr


def test_export_writes_what_its_extension_says(files, run, tmp_path):
    run("migrate", "fit", files["old"], files["new"], "--direction", "documents", "-o", files["model"])
    done = run("migrate", "export", files["model"], "-o", tmp_path / "adapter.npz")
    assert done.exit_code == 0 and "6 to 8 dimensions" in done.stdout and (tmp_path / "adapter.py").exists()
    wrong = run("migrate", "export", files["model"], "-o", tmp_path / "adapter.pickle")
    assert wrong.exit_code == 2 and "must end in .onnx" in wrong.stderr
    not_one = run("migrate", "export", files["old"], "-o", tmp_path / "adapter.npz")
    assert not_one.exit_code == 2 and "Traceback" not in not_one.stderr


def test_a_probe_writes_a_report_that_names_its_files_and_no_folder(files, run, tmp_path):
    page = tmp_path / "probe.html"
    done = run("migrate", "probe", files["old"], files["new"], "--report", page)
    assert done.exit_code == 0 and f"The report is in {page}." in done.stdout.replace("\n", ""), done.stderr
    text = page.read_text(encoding="utf-8")
    assert "Migration from old to new" in text and "old.parquet, SHA-256" in text and str(tmp_path) not in text
    told = json.loads(run("migrate", "probe", files["old"], files["new"], "--report", page, "--json").stdout)
    assert html.escape(told["verdict"]) in text
    sample = tmp_path / "sample"
    sample.mkdir()
    for name in ("new", "old"):
        files[name].rename(sample / f"{name}.parquet")
    assert run("migrate", "probe", sample, "--report", page, "--random-state", "7").exit_code == 0
    text = page.read_text(encoding="utf-8")
    digest = sha256(b"".join((sample / f"{name}.parquet").read_bytes() for name in ("new", "old"))).hexdigest()
    assert "Vectors of both" in text and "sample, 2 files in a row, SHA-256" in text and digest in text
    assert '<th scope="row">Random seed</th><td class="long">7</td>' in text


@pytest.mark.parametrize("name", ["options", "curve"])
def test_the_figures_of_a_probe_are_drawn(files, run, tmp_path, name):
    figure = tmp_path / f"{name}.pdf"
    done = run("migrate", "plot", name, files["old"], files["new"], "--narrow", "-o", figure)
    assert done.exit_code == 0 and figure.read_bytes().startswith(b"%PDF"), done.stderr
    for wrong, file, said in (
        ("map", figure, "choose from options, curve"),
        (name, files["old"], "a figure is written as"),
    ):
        refused = run("migrate", "plot", wrong, files["old"], files["new"], "-o", file)
        assert refused.exit_code == 2 and said in refused.stderr.replace("\n", " "), refused.stderr


def test_a_page_does_not_overwrite_its_input(files, run):
    onto_input = run("migrate", "probe", files["old"], files["new"], "--report", files["new"])
    assert onto_input.exit_code == 2 and "overwrite the input" in onto_input.stderr
