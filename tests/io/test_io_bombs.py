"""No file makes a reader take much more memory than it may: at most ``max_bytes`` and 256 MB, of each process."""

import json
import os
import subprocess
import sys

import bombs
import numpy as np
import pytest
from bombs import BOMBS, FIT, MAX_BYTES, MB

from fipp.exceptions import FippError
from fipp.io import Vectors, _budget, _ngrams, _rows
from fipp.io.formats import _arrow_child

linux = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak of a process is read from /proc")


def read_in_a_process(paths):
    """Read files one after the other; return the MB before, and what became of each with the peaks of MB so far."""
    command = [sys.executable, bombs.__file__, *map(str, paths)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    before, *found = map(json.loads, output.splitlines())
    return before, [each[1:] for each in found]


@linux
def test_no_bomb_takes_more_memory_than_allowed(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    # The peak of a child begins with that of its parent, so those that are read by a child come first.
    names = sorted(BOMBS, key=lambda name: not name.startswith(("parquet", "arrow", "feather")))
    paths = []
    for name in names:
        (tmp_path / name).mkdir()
        paths.append(BOMBS[name](tmp_path / name))
    (fipp_alone, with_reader), found = read_in_a_process(paths)
    for name, (outcome, here, child) in zip(names, found, strict=True):
        # The compiled reader of text takes some 100 MB once, of which numba takes nearly all. Files take far less.
        assert here - with_reader <= MAX_BYTES // MB + 128, (name, outcome, here, with_reader)
        assert max(here - fipp_alone, child) <= MAX_BYTES // MB + 256, (name, outcome, here, child, fipp_alone)
        assert outcome.endswith("Vectors") if name in FIT else outcome.startswith("refused"), (name, outcome)


@pytest.mark.parametrize(
    "name",
    ["x.vec", "x.vec.gz", "x.bin", "x.npy", "x.npz", "x.safetensors", "x.parquet", "x.arrow"],
)
def test_vectors_near_the_limit_load(tmp_path, name):
    if name in ("x.parquet", "x.arrow"):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    rows, dimensions = 3000, 300
    matrix = np.random.default_rng(0).integers(-9, 9, (rows, dimensions)).astype(np.float32)
    Vectors([f"word{row}" for row in range(rows)], matrix).save(tmp_path / name)
    loaded = Vectors.load(tmp_path / name, max_bytes=int(1.15 * matrix.nbytes), cache=False)
    assert np.array_equal(loaded.matrix, matrix)
    if name not in ("x.npy", "x.safetensors"):  # their matrices stay on disk
        with pytest.raises(FippError, match=r"more than .*max_bytes"):
            Vectors.load(tmp_path / name, max_bytes=int(0.15 * matrix.nbytes), cache=False)


def test_plain_text_may_be_longer_than_the_vectors_in_it(tmp_path):
    path = tmp_path / "x.vec"
    path.write_text("".join(f"word{row} " + "0.1234567890123456 " * 50 + "\n" for row in range(1000)))
    assert len(Vectors.load(path, max_bytes=500_000)) == 1000
    assert len(Vectors.load(path, words=["word999"], max_bytes=10_000)) == 1


def test_the_default_is_half_of_the_memory_that_the_process_can_have(monkeypatch, tmp_path):
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert _budget.bytes_allowed(None) <= physical // 2
    group = tmp_path / "a" / "b"
    group.mkdir(parents=True)
    (tmp_path / "a" / "memory.max").write_text("64000000\n")
    (group / "memory.max").write_text("max\n")
    (tmp_path / "self").write_text("0::/a/b\n")
    monkeypatch.setattr(_budget, "_CGROUPS", tmp_path)
    monkeypatch.setattr(_budget, "_OWN_CGROUPS", tmp_path / "self")
    _budget.machine_memory.cache_clear()
    assert _budget.bytes_allowed(None) == 32_000_000
    monkeypatch.undo()
    _budget.machine_memory.cache_clear()
    assert _budget.bytes_allowed("1.5 KiB") == 1536


def test_a_crash_of_pyarrow_is_an_error_and_not_the_end(tmp_path, monkeypatch):
    # Some damaged Parquet files make pyarrow abort its process.
    (tmp_path / "crash.py").write_text("import os; os.write(2, b'terminate called'); os.abort()")
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr(_arrow_child, "__file__", str(tmp_path / "crash.py"))
    with pytest.raises(FippError, match=r"is damaged, or needs more than .* terminate called"):
        Vectors.load(tmp_path / "x.parquet")


def test_vectors_composed_some_columns_at_a_time_are_the_means_of_their_rows(rng, monkeypatch):
    matrix = rng.standard_normal((9, 5)).astype(np.float32)
    rows, owners = rng.integers(0, 9, 20), np.sort(rng.integers(0, 4, 20))
    expected = [matrix[rows[owners == owner]].mean(axis=0) if owner in owners else np.zeros(5) for owner in range(4)]
    monkeypatch.setattr(_ngrams, "_BLOCK_NUMBERS", 15)
    for mapped_bytes in (1, 3 * 8192, 1 << 20):
        assert np.allclose(_ngrams.mean_rows(matrix, rows, owners, 4, mapped_bytes), expected, atol=1e-6)


def test_rows_of_a_mapped_matrix_are_the_same_whatever_may_be_in_memory(rng, tmp_path):
    matrix = rng.standard_normal((500, 700)).astype(np.float32)
    np.save(tmp_path / "x.npy", matrix)
    mapped, rows = np.load(tmp_path / "x.npy", mmap_mode="r"), rng.integers(0, 500, 90)
    for mapped_bytes in (1, 100_000, 1 << 30):
        assert np.array_equal(_rows.copy_rows(mapped, rows, mapped_bytes=mapped_bytes), matrix[rows])
        assert np.array_equal(_rows.copy_rows(mapped, rows, slice(3, 600), mapped_bytes), matrix[rows, 3:600])
