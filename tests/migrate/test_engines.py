"""The conversion is a function of record batches, which other engines call on their own data."""

import numpy as np
import pytest

from fipp import Ridge
from fipp.migrate import BatchConverter

pa = pytest.importorskip("pyarrow", reason="record batches need pyarrow")

N = 500


@pytest.fixture
def old():
    return np.random.default_rng(0).standard_normal((N, 4)).astype(np.float32)


@pytest.fixture
def aligner(old):
    return Ridge().fit(old, old @ np.random.default_rng(1).standard_normal((4, 6)))


@pytest.fixture
def table(old):
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(old.ravel()), 4)
    return pa.table({"id": range(N), "title": [f"item {row}" for row in range(N)], "vector": vectors})


def check(converted, old, aligner):
    rows = sorted(converted.to_pylist(), key=lambda row: row["id"])
    assert [row["id"] for row in rows] == list(range(N))
    assert [row["title"] for row in rows] == [f"item {row}" for row in range(N)]
    assert np.array_equal(np.array([row["vector"] for row in rows], np.float32), aligner.transform(old))


def test_duckdb_streams_a_query_through_it(table, old, aligner):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    convert = BatchConverter(aligner.transform, "vector")
    with duckdb.connect() as connection:
        connection.register("items", table)
        batches = pa.RecordBatchReader.from_stream(connection.sql("SELECT * FROM items WHERE id >= 0"))
        converted = pa.Table.from_batches(map(convert, batches))
        connection.register("converted", converted)
        connection.sql("CREATE TABLE stored AS SELECT * FROM converted")
        check(pa.table(connection.sql("SELECT * FROM stored")), old, aligner)


def test_polars_frames_go_through_it(table, old, aligner):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    convert = BatchConverter(aligner.transform, "vector")
    batches = polars.from_arrow(table).to_arrow().to_batches()
    check(polars.from_arrow(pa.Table.from_batches(map(convert, batches))).to_arrow(), old, aligner)
