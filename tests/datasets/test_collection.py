"""The made-up collection: the same items every time, and a new model for the samples that are drawn from it."""

import json

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from fipp.datasets import MadeUpModels, embed_sample, make_collection  # noqa: E402
from fipp.exceptions import FippError  # noqa: E402
from fipp.migrate import PairedSample, draw, write_sample  # noqa: E402


def test_items_have_the_same_vectors_in_whatever_order_they_are_asked_for():
    models, ids = MadeUpModels(), np.array([70_000, 3, 4095, 4096, 3])
    found = models.embed(ids, "old")
    assert np.array_equal(found, np.vstack([MadeUpModels().embed([each], "old") for each in ids]))
    assert np.array_equal(found[1], found[4]) and not np.array_equal(found[1], found[2])


def test_files_have_every_item_once_with_the_vectors_of_the_old_model(tmp_path):
    paths = make_collection(tmp_path / "old", 40_000)
    table = pa.concat_tables([pq.read_table(path) for path in paths])
    assert len(paths) == 2 and table.column("id").to_pylist() == list(range(40_000))
    rows = [0, 5000, 39_999]
    vectors = np.array(table.column("vector").take(rows).to_pylist(), np.float32)
    assert np.array_equal(vectors, MadeUpModels().embed(rows, "old"))


def test_a_sample_becomes_a_pair_of_sides_with_queries(tmp_path):
    make_collection(tmp_path / "old", 6000)
    write_sample(draw(tmp_path / "old", 300), tmp_path / "sample")
    embed_sample(tmp_path / "sample", queries=40)
    sample = PairedSample.load(tmp_path / "sample")
    assert (len(sample), sample.paired_by, len(sample.new_queries)) == (300, "id", 40)
    assert all(len(rows) == 1 for rows in sample.gold)


def test_what_was_not_made_here_is_not_embedded(tmp_path):
    with pytest.raises(FippError, match="has no sample"):
        embed_sample(tmp_path)
    for ids in (np.arange(50), np.arange(50) - 5, [f"d{row}" for row in range(50)]):
        vectors = list(np.random.default_rng(0).standard_normal((50, 96)))
        pq.write_table(pa.table({"id": ids, "vector": vectors}), tmp_path / "old.parquet")
        with pytest.raises(FippError, match="not drawn from"):
            embed_sample(tmp_path)


def test_nothing_is_written_into_a_folder_with_other_files(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(FippError, match="not empty"):
        make_collection(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_command_lists_its_files(tmp_path):
    from typer.testing import CliRunner

    from fipp.cli import app

    done = CliRunner().invoke(app, ["migrate", "demo", str(tmp_path / "old"), "--items", "100", "--json"])
    assert json.loads(done.stdout) == {"paths": [str(tmp_path / "old" / "part-0000.parquet")]}
