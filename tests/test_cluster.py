"""A Dask cluster of real processes: the same results as in one process, also if a worker is killed in the middle."""

import os
import signal
from contextlib import contextmanager

import numpy as np
import pytest

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")

from fipp import FIPP, Ridge, SelfLearning  # noqa: E402
from fipp.cluster import on_dask  # noqa: E402
from fipp.exceptions import FippError  # noqa: E402
from fipp.linalg import shared_map  # noqa: E402
from fipp.retrieve import mean_similarity, mutual_neighbours, neighbours  # noqa: E402

# Sockets of workers that were killed are closed when they are collected.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0, silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@contextmanager
def losing_a_worker(client, after=2):
    """Work on the cluster, and kill one of its processes when some pieces of work have been sent."""
    sent, killed, submit = [], [], client.submit

    def noted(*arguments, **options):
        sent.append(submit(*arguments, **options))
        if len(sent) == after:
            killed.append(min(client.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)
        return sent[-1]

    client.submit = noted
    try:
        with on_dask(client):
            yield
    finally:
        del client.submit
    assert killed and len(sent) > after, f"{len(sent)} pieces of work were sent"


def vectors(n, dimensions, seed=0):
    return np.random.default_rng(seed).standard_normal((n, dimensions)).astype(np.float32)


def test_a_fit_has_the_same_bits_although_a_worker_is_killed(client):
    X = vectors(6000, 20)
    Y = X @ vectors(20, 24, 1) + 0.3 * vectors(6000, 24, 2)
    here = FIPP(epsilon=0.2).fit(X, Y)
    with losing_a_worker(client):
        there = FIPP(epsilon=0.2).fit(X, Y)
    assert np.array_equal(here.map_, there.map_)
    assert np.array_equal(here.weights_, there.weights_)
    assert here.kept_fraction_ == there.kept_fraction_


@pytest.mark.parametrize("retrieval", ["cosine", "dot", "csls", "isf"])
def test_a_search_over_shards_has_the_same_bits_and_the_same_order_of_ties(client, retrieval):
    keys = vectors(20_000, 12)
    keys[15_000:15_100] = keys[100:200]  # copies in another shard
    keys[7] = keys[19_999] = 0
    queries = np.vstack([keys[100:150], vectors(200, 12, 5), np.zeros((1, 12), np.float32)])
    here = neighbours(queries, keys, 5, retrieval=retrieval)
    with losing_a_worker(client) if retrieval == "cosine" else on_dask(client):
        there = neighbours(queries, keys, 5, retrieval=retrieval)
    assert np.array_equal(here.indices, there.indices)
    assert np.array_equal(here.scores, there.scores)


@pytest.mark.parametrize("max_memory", [None, "1MB"], ids=["one-pass", "two-passes"])
@pytest.mark.parametrize("retrieval", ["cosine", "csls"])
def test_mutual_neighbours_are_the_same(client, retrieval, max_memory):
    A = vectors(5000, 8)
    B = A[::-1] + 0.4 * vectors(5000, 8, 1)
    B[17] = 0
    here = mutual_neighbours(A, B, retrieval=retrieval)
    with on_dask(client):
        there = mutual_neighbours(A, B, retrieval=retrieval, max_memory=max_memory)
    for name in ("pairs", "scores", "nearest", "nearest_back"):
        assert np.array_equal(getattr(here, name), getattr(there, name)), name


def test_hubs_and_self_learning_are_the_same_although_a_worker_is_killed(client):
    X = vectors(5000, 10)
    Y = X @ np.linalg.qr(vectors(10, 10, 1))[0] + 0.1 * vectors(5000, 10, 2)
    pairs = np.stack([np.arange(50)] * 2, axis=1)
    here = mean_similarity(X, Y), SelfLearning().fit(X, Y, pairs)
    with losing_a_worker(client, after=9):
        there = mean_similarity(X, Y), SelfLearning().fit(X, Y, pairs)
    assert np.array_equal(here[0], there[0])
    assert np.array_equal(here[1].induced_pairs_, there[1].induced_pairs_)
    assert np.array_equal(here[1].transform(X), there[1].transform(X))


def test_a_probe_has_the_same_verdict_and_figures_although_a_worker_is_killed(client):
    from fipp.migrate import PairedSample, probe

    new = vectors(300, 8)
    sample = PairedSample.from_arrays(np.tanh(new @ vectors(8, 6, 1)), new)
    here = probe(sample, size=3000)
    with losing_a_worker(client):
        there = probe(sample, size=3000)
    assert there.as_dict() == here.as_dict()


def collection(folder, n=12_000):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    X = vectors(n, 6)
    Ridge().fit(X[:500], X[:500] @ vectors(6, 9, 1)).save(folder / "model.fipp")
    (folder / "old").mkdir()
    column = pa.FixedSizeListArray.from_arrays(X.ravel(), 6)
    for part in range(3):
        rows = slice(part * n // 3, (part + 1) * n // 3)
        ids = pa.array(range(rows.start, rows.stop))
        pq.write_table(pa.table({"id": ids, "vector": column[rows]}), folder / "old" / f"p{part}.parquet")


@pytest.mark.parametrize("sink", ["new", "new.npy"])
def test_a_conversion_writes_the_same_bytes_although_a_worker_is_killed(client, tmp_path, sink):
    from fipp.migrate import Conversion, verify

    collection(tmp_path)
    names = f"here-{sink}", f"there-{sink}"
    here, there = (
        Conversion.start(tmp_path / "model.fipp", tmp_path / "old", tmp_path / name, fragment_rows=500)
        for name in names
    )
    here.run()
    with losing_a_worker(client):
        there.run()
    assert verify(there).is_right
    assert there.manifest.fragments == here.manifest.fragments
    assert list(there.manifest.checksums.values()) == list(here.manifest.checksums.values())


def test_a_conversion_that_was_interrupted_here_goes_on_there(client, tmp_path):
    from fipp.migrate import Conversion

    collection(tmp_path)
    conversion = Conversion.start(tmp_path / "model.fipp", tmp_path / "old", tmp_path / "new", fragment_rows=1000)

    def interrupt(done, total):
        if done >= total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        conversion.run(interrupt)
    with on_dask(client):
        Conversion.load(tmp_path / "new").run()
    assert Conversion.load(tmp_path / "new").manifest.rows == 12_000


def test_data_that_was_lost_with_all_workers_is_sent_again(client):
    items = [np.full(100_000, number, np.float32) for number in range(12)]
    with on_dask(client):
        results = shared_map(np.add, np.ones(100_000, np.float32), items)
        found = [next(results)]
        client.restart()
        found += list(results)
    assert [part[0] for part in found] == list(range(1, 13))


def test_errors_of_workers_are_raised_here_and_name_the_row(client):
    keys = vectors(20_000, 4)
    keys[17_123, 2] = np.nan
    with on_dask(client), pytest.raises(FippError, match="row 17123 of keys"):
        neighbours(keys[:5], keys)


def test_the_command_takes_the_address_of_a_scheduler(client, tmp_path):
    from typer.testing import CliRunner

    from fipp.cli import app

    collection(tmp_path)
    paths = [str(tmp_path / name) for name in ("model.fipp", "old", "new")]
    found = CliRunner().invoke(app, ["migrate", "convert", *paths, "--dask", client.scheduler.address, "--json"])
    assert found.exit_code == 0, found.output
    assert '"rows": 12000' in found.output


def test_a_scheduler_that_does_not_answer_is_named_before_anything_is_written(monkeypatch, tmp_path):
    from typer.testing import CliRunner

    from fipp.cli import app

    monkeypatch.setattr("fipp.cluster._SECONDS", 0.5)
    collection(tmp_path)
    paths = [str(tmp_path / name) for name in ("model.fipp", "old", "new")]
    found = CliRunner().invoke(app, ["migrate", "convert", *paths, "--dask", "tcp://127.0.0.1:9"])
    assert found.exit_code != 0 and not list(tmp_path.glob("new*"))
    with (
        pytest.raises(FippError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"),
        on_dask("tcp://127.0.0.1:9"),
    ):
        pass


def test_a_cluster_in_a_cluster_is_refused(client):
    with on_dask(client), pytest.raises(FippError, match="already"), on_dask(client):
        pass
