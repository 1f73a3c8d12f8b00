"""Tables in PostgreSQL, on a real server: nothing is lost, everything resumes, and names are switched at once."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from postgres import postgres

psycopg = pytest.importorskip("psycopg")
pq = pytest.importorskip("pyarrow.parquet")

from conversion_trials import counted_in_a_process  # noqa: E402

from fipp import Ridge  # noqa: E402
from fipp.exceptions import FippError  # noqa: E402
from fipp.migrate import Conversion, draw, verify  # noqa: E402
from fipp.migrate._convert import _write_fragment  # noqa: E402
from fipp.stores import open_sink, open_source  # noqa: E402

OLD, NEW, ROWS = 5, 7, 230
KEYS = {"bigint": "row * 3", "text": "'doc ' || row", "uuid": "md5(row::text)::uuid"}


@pytest.fixture(scope="session")
def server():
    with postgres() as place:
        yield place


@pytest.fixture
def run(server):
    connection = psycopg.connect(server, autocommit=True)

    def execute(statement):
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else None

    yield execute
    connection.close()


@pytest.fixture(params=list(KEYS))
def kind(request):
    return request.param


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


def fill(run, kind="bigint"):
    run("DROP VIEW IF EXISTS new CASCADE") if run("SELECT 1 FROM pg_views WHERE viewname = 'new'") else None
    for name in ("docs", "new", "new__fipp_partial", "docs__before"):
        run(f"DROP TABLE IF EXISTS {name} CASCADE")
    run(
        f"CREATE TABLE docs (code {kind} PRIMARY KEY, title varchar(20) DEFAULT 'none', body jsonb, tags text[], "
        f"seen timestamptz, price numeric, raw bytea, v vector({OLD}))"
    )
    run(
        f"""INSERT INTO docs SELECT {KEYS[kind]}, 'tab	and "quote" ' || row, jsonb_build_object('a', row),
        ARRAY['x', NULL, 'é'], to_timestamp(row), row / 7.0, decode('00ff', 'hex'),
        CASE WHEN row = 9 THEN NULL ELSE
        (SELECT array_agg(sin(row * 10 + place))::real[]::vector FROM generate_series(1, {OLD}) AS place) END
        FROM generate_series(1, {ROWS}) AS row"""
    )


def others(run, table):
    return run(f"SELECT code, title, body, tags, seen, price, raw FROM {table} ORDER BY code")


def is_converted(run, aligner, table="new"):
    old = run("SELECT v::real[] FROM docs ORDER BY code")
    new = run(f"SELECT v::real[] FROM {table} ORDER BY code")
    assert [row[0] is None for row in old] == [row[0] is None for row in new]
    X = np.array([row[0] for row in old if row[0]], np.float32)
    Y = np.array([row[0] for row in new if row[0]], np.float32)
    return np.allclose(aligner.transform(X), Y, atol=1e-5)


def start(model, server, **options):
    return Conversion.start(model, f"{server}#docs", f"{server}#new", fragment_rows=50, **options)


def test_all_columns_and_keys_of_any_type_survive(model, aligner, server, run, kind):
    fill(run, kind)
    conversion = start(model, server)
    conversion.run()
    assert others(run, "new") == others(run, "docs")
    assert is_converted(run, aligner)
    types = "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = '{}'::regclass "
    types += "AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    assert run(types.format("new"))[:-1] == run(types.format("docs"))[:-1]
    assert run(types.format("new"))[-1] == ("v", f"vector({NEW})")
    found = verify(conversion)
    assert found.is_right and found.converted_rows == ROWS and found.sampled == ROWS
    assert [fragment.rows for fragment in conversion.manifest.done] == [50, 50, 50, 50, 30]
    run("UPDATE new SET v = v + v WHERE title LIKE '%17'")
    assert verify(conversion).changed == ["new"]


def test_a_table_goes_to_parquet_and_back(model, aligner, server, run, tmp_path):
    fill(run)
    Conversion.start(model, f"{server}#docs", tmp_path / "new.parquet", fragment_rows=50).run()
    found = pq.read_table(tmp_path / "new.parquet")
    assert found["code"].to_pylist() == [3 * row for row in range(1, ROWS + 1)]
    assert json.loads(found["body"][4].as_py()) == {"a": 5}
    back = Ridge().fit(np.eye(NEW), np.eye(NEW))
    back.save(tmp_path / "back.fipp")
    conversion = Conversion.start(tmp_path / "back.fipp", tmp_path / "new.parquet", f"{server}#new", key="code")
    conversion.run()
    assert verify(conversion).is_right
    assert others(run, "new") == others(run, "docs")


def test_killed_conversions_are_resumed_to_the_identical_table(server, run):
    (counts,) = counted_in_a_process(3, f"{server}#killed").values()
    assert counts["kills"] == 3 and counts["failures"] == 0
    assert counts["done again after one kill at most"] <= 1
    assert run("SELECT relname FROM pg_class WHERE relname LIKE 'killed%'") == []


def test_rows_that_change_meanwhile_are_caught_up(model, aligner, server, run):
    fill(run)
    changed = []

    def progress(done, total):
        if not changed and done > 100:
            changed.append(True)
            run("UPDATE docs SET v = v + v WHERE code = 30")
            run("DELETE FROM docs WHERE code = 33")
            run("INSERT INTO docs (code, v) SELECT 1, v FROM docs WHERE code = 3")
            run("INSERT INTO docs (code, v) SELECT 9999, v FROM docs WHERE code = 3")

    conversion = start(model, server)
    conversion.run(progress)
    assert changed
    assert others(run, "new") == others(run, "docs") and is_converted(run, aligner)
    assert verify(conversion).is_right
    run("UPDATE docs SET title = 'late' WHERE code = 60")
    assert verify(conversion).outdated == 1


def test_names_are_switched_in_one_transaction_and_back(model, aligner, server, run, monkeypatch):
    fill(run)
    conversion = start(model, server)
    conversion.run()
    before = others(run, "docs")
    # a failure between the two renamings changes nothing
    rename = type(conversion.sink)._rename
    monkeypatch.setattr(
        type(conversion.sink), "_rename", lambda self, old, to: rename(self, old, to) if old == "docs" else 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        conversion.switch("docs")
    monkeypatch.undo()
    os.chdir(model.parent)
    assert run("SELECT vector_dims(v) FROM docs LIMIT 1") == [(OLD,)]
    assert run("SELECT to_regclass('docs__before')") == [(None,)]
    Conversion.load(f"{server}#new").rollback()  # nothing was renamed, and nothing is renamed back
    conversion = Conversion.load(f"{server}#new")
    conversion.switch("docs")
    assert run("SELECT vector_dims(v) FROM docs LIMIT 1") == [(NEW,)]
    assert run("SELECT count(*) FROM new") == [(ROWS,)]
    assert others(run, "docs") == before
    run("INSERT INTO docs (code) VALUES (100000)")
    assert run("SELECT title FROM docs WHERE code = 100000") == [("none",)]
    run("DELETE FROM docs WHERE code = 100000")
    assert verify(Conversion.load(f"{server}#new")).is_right  # the source has another name now
    run("ALTER TABLE docs RENAME TO aside; CREATE TABLE docs ()")
    with pytest.raises(FippError, match="docs means another table since"):
        conversion.rollback()
    run("DROP TABLE docs; ALTER TABLE aside RENAME TO docs")
    conversion.rollback()
    assert run("SELECT vector_dims(v) FROM docs LIMIT 1") == [(OLD,)]
    assert run("SELECT vector_dims(v) FROM new LIMIT 1") == [(NEW,)]
    conversion.delete()
    assert run("SELECT to_regclass('new')") == [(None,)]


def test_whoever_may_use_the_table_may_use_the_new_one_after_the_switch(model, server, run):
    fill(run)
    run('DROP ROLE IF EXISTS "the app"; CREATE ROLE "the app"; GRANT SELECT ON docs TO "the app"')
    run("GRANT UPDATE ON docs TO PUBLIC")
    conversion = start(model, server)
    conversion.run()
    conversion.switch("docs")
    may = "SELECT has_table_privilege('the app', 'docs', '{}')"
    assert [run(may.format(right)) for right in ("SELECT", "UPDATE", "DELETE")] == [[(True,)], [(True,)], [(False,)]]
    assert run("SELECT indexname FROM pg_indexes WHERE tablename = 'docs'") == [("new_pkey",)]


def test_numbers_and_values_that_the_database_makes_itself_go_on(model, server, run):
    fill(run)
    run("DROP TABLE IF EXISTS docs CASCADE")
    run(
        f"CREATE TABLE docs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL, "
        f"found tsvector GENERATED ALWAYS AS (to_tsvector('simple', body)) STORED, v vector({OLD}))"
    )
    run("INSERT INTO docs (body, v) SELECT 'text ' || row, '[1,2,3,4,5]' FROM generate_series(1, 20) AS row")
    conversion = start(model, server)
    conversion.run()
    assert run("SELECT id, body, found FROM new ORDER BY id") == run("SELECT id, body, found FROM docs ORDER BY id")
    conversion.switch("docs")
    run("INSERT INTO docs (body) VALUES ('more')")
    assert run("SELECT id, found FROM docs WHERE body = 'more'") == [(21, "'more':1")]


def test_whole_numbers_become_an_array_with_a_scale(model, aligner, server, run):
    fill(run)
    conversion = start(model, server, dtype="int8")
    conversion.run()
    assert verify(conversion).is_right
    ((whole, scale, old),) = run(
        "SELECT new.v, new.v_scale, docs.v::real[] FROM new JOIN docs USING (code) WHERE code = 30"
    )
    expected = aligner.transform(np.array([old], np.float32))[0]
    assert np.abs(np.array(whole) * scale - expected).max() <= np.abs(expected).max() / 127


def is_left_alone(run):
    """Return whether no connection is left; the server needs a moment to notice that one was closed."""
    for _ in range(100):
        if run("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'fipp'") == [(0,)]:
            return True
        time.sleep(0.05)
    return False


def test_no_connection_or_lock_outlives_the_work(model, server, run):
    fill(run)
    conversion = start(model, server)
    with pytest.raises(ZeroDivisionError) as kept:
        conversion.run(lambda done, total: 1 / 0)
    assert is_left_alone(run)
    assert kept.tb is not None  # not even while the error is looked at
    conversion.run()
    verify(conversion)
    draw(f"{server}#docs", 10)
    assert is_left_alone(run)


def test_a_lost_connection_is_an_error_that_can_be_resumed(model, aligner, server, run):
    fill(run)
    conversion, lost = start(model, server), []

    def progress(done, total):
        if not lost and done > 100:
            lost.extend(run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fipp'"))

    with pytest.raises(FippError, match="terminating connection"):
        conversion.run(progress)
    assert lost
    conversion.run()
    assert verify(conversion).is_right and is_converted(run, aligner)


def test_a_password_is_taken_from_the_environment_and_never_written(model, server, run, tmp_path, monkeypatch):
    fill(run)
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    start(model, server).run()
    assert not [path for path in tmp_path.iterdir() if path.is_file() and b"hunter2" in path.read_bytes()]


def test_several_workers_may_write_fragments_at_the_same_time(model, aligner, server, run):
    fill(run)
    conversion = start(model, server)
    with conversion._working(), ThreadPoolExecutor(3) as pool:
        planned = list(conversion.source.plan(50))
        for fragment, checksum in pool.map(partial(_write_fragment, conversion.manifest), planned):
            conversion.manifest.record(fragment, checksum, 0)
    conversion.run()
    assert others(run, "new") == others(run, "docs") and is_converted(run, aligner)
    assert verify(conversion).is_right


def test_a_sample_has_ids_and_texts(server, run):
    fill(run)
    table = draw(f"{server}#docs", 40, id_column="code", text_column="title")
    assert len(table) == 40 and set(table["id"].to_pylist()) <= {3 * row for row in range(1, ROWS + 1)}


def test_what_cannot_be_converted_is_refused_with_the_reason(model, server, run):
    fill(run)
    with pytest.raises(FippError, match="PGPASSWORD") as refusal:
        open_source("postgresql://me:hunter2@host/shop#docs")
    assert "hunter2" not in str(refusal.value)
    with pytest.raises(FippError, match="PGPASSWORD"):
        open_sink("postgres://host/shop?password=hunter2#docs")
    for hidden in ("postgresql://me:hun#ter2@host/shop#docs", "postgresql://me:hun/ter2@host/shop#docs"):
        with pytest.raises(FippError, match="PGPASSWORD") as refusal:
            open_source(hidden)
        assert "hun" not in str(refusal.value)
    with pytest.raises(FippError, match="there is no table"):
        open_source(f"{server}#nothing")
    with pytest.raises(FippError, match="unique index"):
        open_source(f"{server}#docs", key="title")
    with pytest.raises(FippError, match="cannot be reached"):
        open_source("postgresql:///shop?host=/nowhere#docs")
    with pytest.raises(FippError, match="names no collection"):
        open_source(server)
    with pytest.raises(FippError, match="exists already"):
        Conversion.start(model, f"{server}#docs", f"{server}#docs")
    run("DROP TABLE IF EXISTS keyless; CREATE TABLE keyless (v vector(5))")
    with pytest.raises(FippError, match="no primary key"):
        open_source(f"{server}#keyless")
    with pytest.raises(FippError, match=r"no type halfvec .* pgvector 0\.7"):
        start(model, server, dtype="float16")


def test_a_missing_client_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(FippError, match=r"pip install 'fipp\[postgres\]'"):
        open_source("postgresql:///shop#docs")
