"""No file makes a reader take much more memory than it may: at most ``max_bytes`` and 256 MB, of each process."""

import json
import os
import subprocess
import sys

import bombs
import numpy as np
import pytest
from bombs import BOMBS, MAX_BYTES, MB

from fipp.exceptions import FippError
from fipp.io import Vectors, _budget
from fipp.io.formats import _arrow_child

linux = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak of a process is read from /proc")


def read_in_a_process(paths):
    """Read files one after the other; return what became of each, and the peak of memory so far in MB."""
    command = [sys.executable, bombs.__file__, *map(str, paths)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line)[1:] for line in output.splitlines()]


@linux
def test_no_bomb_takes_more_memory_than_allowed(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    paths = []
    for name, make in BOMBS.items():
        (tmp_path / name).mkdir()
        paths.append(make(tmp_path / name))
    found = read_in_a_process(paths)
    assert len(found) == len(BOMBS)
    for name, (outcome, *peaks) in zip(BOMBS, found, strict=True):
        assert max(peaks) <= MAX_BYTES // MB + 256, (name, outcome, peaks)
        # That one is large, but its words take only some of its rows.
        assert outcome.startswith("refused") or name == "fasttext_of_wide_rows", (name, outcome)


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
