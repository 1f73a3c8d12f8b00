"""Matrices in files: .npy, safetensors shards and FAISS indexes are read and written piece by piece."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from safetensors.numpy import load_file, save_file  # noqa: E402

from fipp import Ridge  # noqa: E402
from fipp.exceptions import FippError  # noqa: E402
from fipp.migrate import Conversion, verify  # noqa: E402
from fipp.stores import open_source  # noqa: E402


@pytest.fixture
def setting(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 5)).astype(np.float32)
    aligner = Ridge().fit(X[:200], X[:200] @ rng.standard_normal((5, 7)))
    aligner.save(tmp_path / "model.fipp")
    return X, aligner.transform(X), tmp_path


def convert(folder, source, sink, **options):
    conversion = Conversion.start(folder / "model.fipp", folder / source, folder / sink, fragment_rows=1500, **options)
    conversion.run()
    assert verify(conversion).is_right
    return folder / sink


def test_a_matrix_without_ids_stays_a_matrix(setting):
    X, expected, folder = setting
    np.save(folder / "old.npy", X)
    np.testing.assert_allclose(np.load(convert(folder, "old.npy", "new.npy")), expected, atol=1e-5)
    assert not (folder / "new.txt").exists()


@pytest.mark.parametrize("dtype", [np.int64, np.uint32])
def test_ids_beside_a_matrix_keep_their_type(dtype, setting):
    X, expected, folder = setting
    np.save(folder / "old.npy", X.astype(np.float64))
    np.save(folder / "old.ids.npy", np.arange(5000, dtype=dtype)[::-1])
    new = convert(folder, "old.npy", "new.npy", dtype="float16")
    assert np.load(new).dtype == np.float16
    np.testing.assert_allclose(np.load(new), expected, atol=1e-2)
    (folder / "live.npy").symlink_to("new.npy")
    assert open_source(str(folder / "live.npy")).schema().names == ["id", "vector"]
    ids = np.load(folder / "new.ids.npy")
    assert ids.dtype == dtype and np.array_equal(ids, np.arange(5000)[::-1])


def test_ids_that_are_text_stay_lines_beside_a_matrix(setting):
    X, expected, folder = setting
    np.save(folder / "old.npy", X)
    lines = "".join(f"dokument č. {row}\n" for row in range(5000))
    (folder / "old.txt").write_text(lines, encoding="utf-8")
    np.testing.assert_allclose(np.load(convert(folder, "old.npy", "new.npy")), expected, atol=1e-5)
    assert (folder / "new.txt").read_text(encoding="utf-8") == lines


def test_shards_keep_their_names_and_their_other_tensors(setting):
    X, expected, folder = setting
    (folder / "old").mkdir()
    for part in range(2):
        rows = slice(part * 2500, (part + 1) * 2500)
        tensors = {"embedding": X[rows], "id": np.arange(5000)[rows], "weight": np.ones(2500, np.float16)}
        save_file(tensors, folder / "old" / f"model-{part}-of-2.safetensors")
    conversion = Conversion.start(folder / "model.fipp", folder / "old", folder / "new", fragment_rows=10_000)
    conversion.run()
    assert verify(conversion).is_right
    shards = [load_file(folder / "new" / f"model-{part}-of-2.safetensors") for part in range(2)]
    np.testing.assert_allclose(np.concatenate([shard["embedding"] for shard in shards]), expected, atol=1e-5)
    assert np.array_equal(np.concatenate([shard["id"] for shard in shards]), np.arange(5000))
    assert shards[0]["weight"].dtype == np.float16


@pytest.mark.parametrize("metric", ["L2", "IP"])
@pytest.mark.parametrize("with_ids", [True, False])
def test_an_index_stays_an_index_with_its_ids_and_its_metric(metric, with_ids, setting):
    faiss = pytest.importorskip("faiss")
    X, expected, folder = setting
    index = faiss.IndexFlatL2(5) if metric == "L2" else faiss.IndexFlatIP(5)
    ids = np.arange(5000) * 3 + 7 if with_ids else np.arange(5000)
    if with_ids:
        index = faiss.IndexIDMap(index)
        index.add_with_ids(X, ids)
    else:
        index.add(X)
    faiss.write_index(index, str(folder / "old.faiss"))
    new = faiss.read_index(str(convert(folder, "old.faiss", "new.faiss")))
    assert (new.ntotal, new.d, new.metric_type) == (5000, 7, index.metric_type)
    found = new.search(expected[:50].astype(np.float32), 3)[1]
    similarity = expected[:50] @ expected.T
    if metric == "L2":
        similarity -= (expected**2).sum(axis=1) / 2
    assert np.array_equal(found[:, 0], ids[similarity.argmax(axis=1)])


def test_an_index_with_inverted_lists_gives_its_vectors_back(setting):
    faiss = pytest.importorskip("faiss")
    X, expected, folder = setting
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(5), 5, 4)
    index.train(X)
    index.add(X)
    faiss.write_index(index, str(folder / "old.index"))
    np.testing.assert_allclose(
        np.array(pq.read_table(convert(folder, "old.index", "new.parquet"))["vector"].to_pylist()), expected, atol=1e-5
    )


def test_an_index_has_float32_vectors_only(setting):
    X, _, folder = setting
    np.save(folder / "old.npy", X)
    with pytest.raises(FippError, match="only hold vectors of float32, not float16"):
        Conversion.start(folder / "model.fipp", folder / "old.npy", folder / "new.faiss", dtype="float16")


def test_damaged_files_are_errors_that_name_them(setting):
    X, _, folder = setting
    (folder / "x.safetensors").write_bytes(b"\xff" * 100)
    (folder / "x.faiss").write_bytes(b"IxFI" + b"\xff" * 50)
    (folder / "x.parquet").write_bytes(b"PAR1 nothing")
    (folder / "x.arrow").write_bytes(b"ARROW1 nothing")
    np.save(folder / "x.npy", X)
    np.save(folder / "x.ids.npy", np.arange(3))
    for name in ("x.safetensors", "x.parquet", "x.arrow", "x.npy"):
        with pytest.raises(FippError, match=name):
            open_source(str(folder / name)).count()
    pytest.importorskip("faiss")
    with pytest.raises(FippError, match=r"x\.faiss"):
        open_source(str(folder / "x.faiss")).count()


def test_an_address_with_a_secret_is_refused_and_not_repeated():
    for address in ("postgresql://me:hunter2@host/db#t", "qdrant://host?api_key=hunter2#t"):
        with pytest.raises(FippError, match=r"environment|PGPASSWORD|QDRANT_API_KEY") as error:
            open_source(address)
        assert "hunter2" not in str(error.value)
