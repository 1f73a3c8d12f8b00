"""Collections of Qdrant, by the client's own local mode: nothing is lost, everything resumes, aliases are switched."""

import json
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest

qdrant_client = pytest.importorskip("qdrant_client", reason="the extra qdrant is not installed")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from conversion_trials import counted_in_a_process, local_qdrant  # noqa: E402
from qdrant_client import models  # noqa: E402

from fipp import Ridge  # noqa: E402
from fipp.exceptions import FippError, FippWarning  # noqa: E402
from fipp.migrate import Conversion, draw, verify  # noqa: E402
from fipp.stores import open_source  # noqa: E402

OLD, NEW, ROWS = 5, 7, 130
PLACE = "qdrant://db.example"


@pytest.fixture
def client(monkeypatch):
    with local_qdrant(monkeypatch.setattr, ":memory:") as client:
        yield client


@pytest.fixture
def aligner():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, OLD)).astype(np.float32)
    return Ridge().fit(X, X @ rng.standard_normal((OLD, NEW)))


@pytest.fixture
def model(aligner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    aligner.save(tmp_path / "model.fipp")
    return tmp_path / "model.fipp"


def vectors(n=ROWS, seed=1):
    return np.random.default_rng(seed).standard_normal((n, OLD)).astype(np.float32)


def key(kind, row):
    uuid = f"00000000-0000-0000-0000-{row:012x}"
    return {"number": row * 3, "uuid": uuid, "mixed": uuid if row % 2 else row}[kind]


def payload(row):
    return {"title": f"título {row}", "price": row / 7, "nested": {"a": [row, None, True]}} if row % 5 else {}


def fill(client, kind="number", distance=models.Distance.DOT):
    client.create_collection("docs", vectors_config=models.VectorParams(size=OLD, distance=distance))
    points = [
        models.PointStruct(id=key(kind, row), vector=[] if row == 9 else vector, payload=payload(row))
        for row, vector in enumerate(vectors().tolist())
    ]
    points[9].vector = {}
    client.upsert("docs", points)


def start(model, **options):
    return Conversion.start(model, f"{PLACE}#docs", f"{PLACE}#new", fragment_rows=40, **options)


def points(client, name):
    return client.scroll(name, limit=1000, with_vectors=True)[0]


def is_converted(client, aligner, old="docs", new="new"):
    before, after = points(client, old), points(client, new)
    assert [(point.id, point.payload) for point in before] == [(point.id, point.payload) for point in after]
    assert [isinstance(point.vector, list) for point in before] == [isinstance(point.vector, list) for point in after]
    X, Y = (np.array([each.vector for each in both if each.vector], np.float32) for both in (before, after))
    return np.allclose(aligner.transform(X), Y, atol=1e-5)


@pytest.mark.parametrize("kind", ["number", "uuid", "mixed"])
def test_ids_payloads_and_points_without_vectors_survive(kind, model, aligner, client):
    fill(client, kind)
    conversion = start(model)
    conversion.run()
    assert is_converted(client, aligner)
    found = verify(conversion)
    assert found.is_right and found.converted_rows == found.sampled == ROWS
    client.set_payload("new", {"title": "changed"}, points=[key(kind, 4)])
    assert verify(conversion).changed == ["new"]


def test_a_collection_by_cosine_stays_one_although_it_keeps_directions_only(model, aligner, client):
    fill(client, distance=models.Distance.COSINE)
    conversion = start(model)
    conversion.run()
    assert client.get_collection("new").config.params.vectors.distance == models.Distance.COSINE
    assert verify(conversion).is_right
    before, after = (
        np.array([point.vector for point in points(client, name) if point.vector]) for name in ("docs", "new")
    )
    expected = aligner.transform(before)
    assert np.allclose(expected / np.linalg.norm(expected, axis=1, keepdims=True), after, atol=1e-5)


def test_other_vectors_of_a_point_stay_as_they_are(model, aligner, client):
    dot = models.Distance.DOT
    client.create_collection(
        "docs",
        vectors_config={
            "text": models.VectorParams(size=OLD, distance=dot),
            "image": models.VectorParams(size=2, distance=models.Distance.EUCLID),
            "tokens": models.VectorParams(
                size=2, distance=dot, multivector_config=models.MultiVectorConfig(comparator="max_sim")
            ),
        },
        sparse_vectors_config={"terms": models.SparseVectorParams()},
    )
    X = vectors(20)
    for row in range(20):
        others = {"image": [row, 1.0], "tokens": [[1.0, row], [2.0, 3.0]]} if row % 2 else {}
        terms = models.SparseVector(indices=[1, row + 2], values=[0.5, row])
        vector = {"text": X[row].tolist(), "terms": terms, **others}
        client.upsert("docs", [models.PointStruct(id=row, vector=vector, payload={})])
    with pytest.raises(FippError, match="--column"):
        start(model)
    conversion = start(model, column="text")
    conversion.run()
    assert verify(conversion).is_right
    for one, other in zip(points(client, "docs"), points(client, "new"), strict=True):
        assert np.allclose(
            aligner.transform(np.array([one.vector.pop("text")], np.float32)), other.vector.pop("text"), atol=1e-5
        )
        assert one.vector == other.vector


def parquet(path, ids):
    n = len(ids)
    columns = {
        "code": ids,
        "title": pa.array([None if row % 7 == 0 else f"t{row}" for row in range(n)]),
        "seen": pa.array(np.arange(n) * 1_000_001, pa.timestamp("us", tz="UTC")),
        "kind": pa.array([f"k{row % 3}" for row in range(n)]).dictionary_encode(),
        "place": pa.array([[row / 3, 2.0] for row in range(n)]),
        "v": pa.array(vectors(n).tolist(), pa.list_(pa.float32())),
    }
    pq.write_table(pa.table(columns), path)


def test_a_table_becomes_a_collection_and_a_table_again(model, aligner, client, tmp_path):
    parquet(tmp_path / "old.parquet", pa.array(np.arange(ROWS)[::-1] * 2, pa.int32()))
    conversion = Conversion.start(
        model, tmp_path / "old.parquet", f"{PLACE}#new", key="code", column="v", fragment_rows=40, dtype="float16"
    )
    conversion.run()
    assert verify(conversion).is_right
    found = client.retrieve("new", [ROWS * 2 - 2 - 6])[0].payload
    assert found == {"title": "t3", "seen": "1970-01-01 00:00:03.000003Z", "kind": "k0", "place": [1.0, 2.0]}
    back = Ridge().fit(np.eye(NEW), np.eye(NEW))
    back.save(tmp_path / "back.fipp")
    Conversion.start(tmp_path / "back.fipp", f"{PLACE}#new", tmp_path / "back.parquet").run()
    table = pq.read_table(tmp_path / "back.parquet")
    assert table["id"].to_pylist() == list(range(0, 2 * ROWS, 2))
    assert json.loads(table["payload"][0].as_py())["place"] == [(ROWS - 1) / 3, 2.0]


def test_an_empty_collection_that_was_made_beforehand_is_filled(model, client, tmp_path):
    parquet(tmp_path / "old.parquet", pa.array(range(30)))
    vectors = {name: models.VectorParams(size=size, distance="Euclid") for name, size in (("v", NEW), ("place", 2))}
    client.create_collection("new", vectors_config=vectors)
    conversion = Conversion.start(model, tmp_path / "old.parquet", f"{PLACE}#new", key="code", column="v")
    conversion.run()
    assert verify(conversion).is_right
    assert client.retrieve("new", [3], with_vectors=True)[0].vector["place"] == [1.0, 2.0]
    with pytest.raises(FippError, match="exists already"):
        Conversion.start(model, tmp_path / "old.parquet", f"{PLACE}#new", key="code", column="v", manifest="other.json")


def test_points_that_change_meanwhile_are_caught_up(model, aligner, client):
    fill(client)
    changed = []

    def progress(done, total):
        if not changed and done > 60:
            changed.append(True)
            client.upsert("docs", [models.PointStruct(id=30, vector=[1.0] * OLD, payload={"late": 1})])
            client.delete("docs", [33, 36])
            client.upsert("docs", [models.PointStruct(id=each, vector=[2.0] * OLD) for each in (1, 9999)])

    conversion = start(model)
    conversion.run(progress)
    assert changed and is_converted(client, aligner) and verify(conversion).is_right
    client.set_payload("docs", {"late": 2}, points=[60])
    assert verify(conversion).outdated == 1


def test_killed_conversions_are_resumed_to_the_identical_collection():
    (counts,) = counted_in_a_process(3, f"{PLACE}#new").values()
    assert counts["kills"] == 3 and counts["failures"] == 0
    assert counts["done again after one kill at most"] <= 1


def test_an_alias_is_switched_in_one_step_and_back(model, client):
    fill(client)
    conversion = start(model)
    conversion.run()
    with pytest.raises(FippError, match="is a collection"):
        conversion.switch("docs")
    made = models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name="docs", alias_name="live"))
    client.update_collection_aliases([made])
    with pytest.MonkeyPatch.context() as patch, pytest.raises(ZeroDivisionError):
        # between what is noted and what is done
        patch.setattr(type(conversion.sink), "switch", lambda self, name: 1 / 0)
        conversion.switch("live")
    Conversion.load(f"{PLACE}#new").rollback()
    assert client.get_collection("live").config.params.vectors.size == OLD
    conversion = Conversion.load(f"{PLACE}#new")
    conversion.switch("live")
    assert client.get_collection("live").config.params.vectors.size == NEW
    assert verify(Conversion.load(f"{PLACE}#new")).is_right
    conversion.rollback()
    assert client.get_collection("live").config.params.vectors.size == OLD
    conversion.switch("live")
    client.create_collection("newer", vectors_config=models.VectorParams(size=3, distance="Dot"))
    made.create_alias.collection_name = "newer"
    client.update_collection_aliases([made])
    with pytest.raises(FippError, match="live means newer since"):
        conversion.rollback()
    made.create_alias.collection_name = "docs"
    client.update_collection_aliases([made])
    conversion.rollback()  # which somebody has done by hand
    conversion.switch("fresh")
    conversion.rollback()
    assert [alias.alias_name for alias in client.get_aliases().aliases] == ["live"]
    conversion.delete()
    assert not client.collection_exists("new")


def test_a_source_that_is_an_alias_is_found_after_it_was_switched(model, client):
    fill(client)
    made = models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name="docs", alias_name="live"))
    client.update_collection_aliases([made])
    conversion = Conversion.start(model, f"{PLACE}#live", f"{PLACE}#new")
    conversion.run()
    conversion.switch("live")
    assert verify(Conversion.load(f"{PLACE}#new")).is_right


def test_a_sample_has_texts_from_the_payload(client):
    fill(client, "uuid")
    table = draw(f"{PLACE}#docs", 40, text_column="payload.title")
    assert len(table) == 40 and set(table["text"].to_pylist()) <= {None, *(f"título {row}" for row in range(ROWS))}
    assert draw(f"{PLACE}#docs", 40)["text"].to_pylist() == table["text"].to_pylist()


def test_what_has_no_place_in_a_collection_is_refused_with_the_reason(model, client, tmp_path):
    parquet(tmp_path / "text.parquet", pa.array([f"doc {row}" for row in range(20)]))
    parquet(tmp_path / "twice.parquet", pa.array([row // 2 for row in range(20)]))
    pq.write_table(pa.table({"id": [1], "raw": [b"x"], "v": [[1.0] * OLD]}), tmp_path / "raw.parquet")
    options = {"key": "code", "column": "v"}
    with pytest.raises(FippError, match=r"whole numbers from 0 or UUIDs.*'doc 0'"):
        Conversion.start(model, tmp_path / "text.parquet", f"{PLACE}#a", **options).run()
    with pytest.raises(FippError, match="10 points, but the source has 20 rows: ids repeat"):
        Conversion.start(model, tmp_path / "twice.parquet", f"{PLACE}#b", **options).run()
    with pytest.raises(FippError, match="'raw' of the type binary"):
        Conversion.start(model, tmp_path / "raw.parquet", f"{PLACE}#c")
    with pytest.raises(FippError, match="int8"):
        Conversion.start(model, tmp_path / "text.parquet", f"{PLACE}#d", dtype="int8", **options)
    with pytest.raises(FippError, match="there is no collection"):
        open_source(f"{PLACE}#nothing")
    assert not list(tmp_path.glob("[cd].*"))


@contextmanager
def server(answers):
    """Answer requests as a server would, and note their headers."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append((self.path, self.headers.get("api-key")))
            status, body = answers.get(self.path, (403, {"status": {"error": "forbidden"}}))
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *ignored):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"qdrant://127.0.0.1:{running.server_port}", seen
        running.shutdown()


def test_a_server_gets_the_key_of_the_environment_which_is_never_shown(monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", "hunter2")
    with server({}) as (place, seen), pytest.raises(FippError, match=r"403 .*QDRANT_API_KEY") as refusal:
        open_source(f"{place}#docs")
    assert seen == [("/collections/docs/exists", "hunter2")]
    assert "hunter2" not in str(refusal.value)
    with pytest.raises(FippError, match="cannot"):
        open_source("qdrant://127.0.0.1:9#docs")
    with pytest.raises(FippError, match="pickles"):
        open_source("qdrant:///var/lib/qdrant#docs")
    with pytest.warns(FippWarning, match="without encryption"), pytest.raises(FippError):
        open_source("qdrant://db.invalid#docs")


def test_a_missing_client_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with pytest.raises(FippError, match=r"pip install 'fipp\[qdrant\]'"):
        open_source(f"{PLACE}#docs")
