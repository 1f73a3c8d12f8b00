"""The conversion is a function of record batches, which other engines call on their own data."""

import shutil
import sys

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


@pytest.mark.filterwarnings("ignore")
def test_spark_maps_partitions_in_arrow(table, old, aligner, monkeypatch):
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    pytest.importorskip("pandas", reason="pandas, which mapInArrow needs, is not installed")
    if shutil.which("java") is None:
        pytest.skip("there is no Java")
    convert = BatchConverter(aligner.transform, "vector")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    options = {"spark.ui.enabled": "false", "spark.driver.memory": "512m", "spark.log.level": "ERROR"}
    with sql.SparkSession.builder.master("local[2]").config(map=options).getOrCreate() as spark:
        frame = spark.createDataFrame(table.to_pylist(), "id long, title string, vector array<float>").repartition(3)
        converted = frame.mapInArrow(lambda batches: map(convert, batches), frame.schema)
        check(converted.toArrow(), old, aligner)


@pytest.mark.filterwarnings("ignore")
def test_ray_data_maps_batches_in_arrow(table, old, aligner):
    ray = pytest.importorskip("ray", reason="ray is not installed")
    pytest.importorskip("pandas", reason="pandas, which Ray Data needs, is not installed")
    convert = BatchConverter(aligner.transform, "vector")

    def convert_table(part):
        return pa.Table.from_batches(map(convert, part.to_batches()))

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        blocks = ray.data.from_arrow([table.slice(start, 300) for start in range(0, len(table), 300)])
        converted = blocks.map_batches(convert_table, batch_format="pyarrow", batch_size=256)
        check(pa.concat_tables(ray.get(converted.to_arrow_refs())), old, aligner)
    finally:
        ray.shutdown()
