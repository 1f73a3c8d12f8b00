"""Exported maps give what the migration gives, in runtimes that know nothing of fipp."""

import subprocess
import sys

import numpy as np
import pytest

from fipp import FippError, FippWarning, KernelRidge
from fipp.migrate import Migration, PairedSample


def vectors(seed=0):
    rng = np.random.default_rng(seed)
    old = rng.standard_normal((300, 10)) * np.geomspace(1, 0.2, 10) + 0.2
    new = np.tanh(old @ np.random.default_rng(9).standard_normal((10, 7)))
    return old, 3 * new / np.linalg.norm(new, axis=1, keepdims=True)


def fitted(kernel, direction="documents", same=False, queries=True):
    old, new = vectors()
    new = old + 0.1 * np.sin(9 * old) if same else new
    asked = {"old_queries": old[200:], "new_queries": new[200:]} if queries else {}
    migration = Migration.fit(PairedSample.from_arrays(old[:200], new[:200], **asked), direction=direction)
    sides = (old, new) if direction == "documents" else (new, old)
    aligner = KernelRidge(kernel).fit(*sides)
    source = sides[0].astype(np.float32)
    source[5] = 0
    return Migration(**{**vars(migration), "aligner": aligner}), source


CASES = [
    ("linear", "documents", False),
    ("rbf", "documents", False),
    ("rbf", "queries", False),
    ("rbf", "documents", True),
]


def mapped(migration, X):
    return migration.convert_documents(X) if migration.direction == "documents" else migration.adapt_queries(X)


@pytest.mark.parametrize(("kernel", "direction", "same"), CASES)
def test_onnxruntime_gives_the_same_vectors(tmp_path, kernel, direction, same):
    pytest.importorskip("onnx", reason="writing ONNX needs fipp[onnx]")
    runtime = pytest.importorskip("onnxruntime", reason="checking ONNX needs onnxruntime")
    migration, X = fitted(kernel, direction, same)
    assert (migration.aligner.prior_ == "identity") == same
    assert migration.export(tmp_path / "map.onnx") == [tmp_path / "map.onnx"]
    session = runtime.InferenceSession(tmp_path / "map.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(["mapped"], {"vectors": X})
    assert np.allclose(found, mapped(migration, X), atol=1e-4) and not found[5].any()
    assert session.get_modelmeta().custom_metadata_map == {"direction": direction, "old": "old", "new": "new"}
    one = session.run(None, {"vectors": X[:1]})[0]
    assert np.allclose(one, found[:1], atol=1e-5)


@pytest.mark.parametrize(("kernel", "direction", "same"), CASES)
def test_numpy_alone_gives_the_same_vectors(tmp_path, kernel, direction, same):
    migration, X = fitted(kernel, direction, same)
    assert migration.export(tmp_path / "map.npz") == [tmp_path / "map.npz", tmp_path / "map.py"]
    np.save(tmp_path / "x.npy", X)
    program = (
        "import sys, numpy as np; from map import Adapter; adapt = Adapter('map.npz'); X = np.load('x.npy'); "
        "np.save('y.npy', adapt(X)); np.save('one.npy', adapt(X[0])); "
        "assert not {'fipp', 'scipy', 'sklearn'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, env={})
    found = np.load(tmp_path / "y.npy")
    assert found.dtype == np.float32 and np.allclose(found, mapped(migration, X), atol=1e-4) and not found[5].any()
    assert np.allclose(np.load(tmp_path / "one.npy"), found[0], atol=1e-4)


def test_the_adapter_refuses_other_dimensions(tmp_path):
    from fipp.migrate._adapter import Adapter

    fitted("linear")[0].export(tmp_path / "map.npz")
    with pytest.raises(ValueError, match="takes vectors of 10 dimensions, not 7"):
        Adapter(tmp_path / "map.npz")(vectors()[1])


def test_an_adapter_that_saw_no_queries_says_so_when_it_is_exported(tmp_path):
    with pytest.warns(FippWarning, match="no queries"):
        migration, _ = fitted("linear", "queries", queries=False)
    with pytest.warns(FippWarning, match="was fitted without queries"):
        migration.export(tmp_path / "map.npz")


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(FippError, match=r"must end in \.onnx, or in \.npz"):
        fitted("linear")[0].export(tmp_path / "map.pkl")
    assert not list(tmp_path.iterdir())
