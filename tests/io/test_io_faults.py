"""A full disk, and temporary files of writers that were killed."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fipp import FIPP, Alignment, Lexicon, Vectors
from fipp.exceptions import FippError
from fipp.experiments._run import appending, read_results
from fipp.io import _atomic
from fipp.io._atomic import atomic_path
from fipp.report import _canvas

fcntl = pytest.importorskip("fcntl", reason="locks are those of POSIX")
resource = pytest.importorskip("resource", reason="limits are those of POSIX")

VECTORS = Vectors([f"w{row}" for row in range(500)], np.random.default_rng(0).standard_normal((500, 20)))
FORMATS = [
    "x.npy",
    "x.vec",
    "x.vec.gz",
    "x.vec.bz2",
    "x.vec.xz",
    "x.bin",
    "x.npz",
    "x.safetensors",
    "x.parquet",
    "x.arrow",
]


def save_model(path):
    Alignment(FIPP().fit(VECTORS.matrix, VECTORS.matrix[:, :9]), VECTORS, VECTORS).save(path)


def save_figure(path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    with _canvas.drawing(path, (2, 2)):
        pass


WRITERS = {name: VECTORS.save for name in FORMATS} | {
    "model.fipp": save_model,
    "pairs.tsv": Lexicon([("a", "b")]).save,
    "pairs.csv.gz": Lexicon([("a", "b")]).save,
    "figure.png": save_figure,
}


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_told_with_the_name_of_the_file_and_leaves_the_old_one(tmp_path, name, request):
    WRITERS[name](tmp_path / name)
    before = contents(tmp_path)
    request.getfixturevalue("full_disk")
    with pytest.raises(FippError, match=f"cannot write .*{name}: the disk is full"):
        WRITERS[name](tmp_path / name)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["x.npy", "x.vec", "x.safetensors"])
def test_a_disk_that_is_full_only_when_it_is_flushed_leaves_the_old_file(tmp_path, monkeypatch, name):
    VECTORS.save(tmp_path / name)
    before = contents(tmp_path)

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FippError, match=f"cannot write .*{name}: the disk is full"):
        VECTORS.head(3).save(tmp_path / name)
    assert contents(tmp_path) == before


LIMITED = """
import resource, signal, sys
from test_io_faults import WRITERS
from fipp.exceptions import FippError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
for path in sys.argv[1:]:
    try:
        WRITERS[path.rsplit("/", 1)[1]](path)
    except FippError as error:
        print(error)
"""


def test_a_limit_of_the_system_is_told_by_every_writer(tmp_path):
    names = [name for name in FORMATS if name != "x.npy"] + ["model.fipp", "x.npy"]
    for name in names:
        WRITERS[name](tmp_path / name)
    before = contents(tmp_path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    command = [sys.executable, "-c", LIMITED, *(str(tmp_path / name) for name in names)]
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    expected = [f"cannot write {tmp_path / name}: the file would be larger than the system allows" for name in names]
    assert result.stdout.splitlines() == expected
    assert contents(tmp_path) == before


def test_results_that_cannot_be_written_are_told_and_leave_what_was_there(tmp_path):
    path = tmp_path / "results.jsonl"
    with appending(path) as keep:
        keep({"key": "a"})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 5, hard))
        with pytest.raises(FippError, match=r"cannot write .*results\.jsonl"), appending(path) as keep:
            keep({"key": "b"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert read_results(path) == {"a": {"key": "a"}}
    with appending(path) as keep:
        keep({"key": "b"})
    assert list(read_results(path)) == ["a", "b"]


def test_a_scratch_file_that_cannot_be_made_is_told(tmp_path):
    VECTORS.save(tmp_path / "x.bin")
    with pytest.raises(FippError, match=r"cannot write a temporary file in .*nowhere"):
        Vectors.load(tmp_path / "x.bin", scratch=tmp_path / "nowhere")


def test_temporary_files_of_killed_writers_are_removed_and_those_of_living_ones_are_not(tmp_path):
    target = tmp_path / "out.txt"
    abandoned = tmp_path / ".out.txt.0123456789ab.part"
    others = [tmp_path / name for name in (".out.txt.part", ".other.txt.0123456789ab.part", ".out.txt.0123.part")]
    for path in (abandoned, *others):
        path.write_text("x")
    with atomic_path(target) as living:
        with atomic_path(target) as second:
            assert living.exists() and not abandoned.exists()
            second.write_text("second")
        living.write_text("first")
    assert target.read_text() == "first"
    assert sorted(tmp_path.iterdir()) == sorted([target, *others])


def test_a_file_that_is_swept_before_its_writer_could_lock_it_is_made_again(tmp_path, monkeypatch):
    lock, swept = _atomic.lock, []

    def late(descriptor, *, wait):
        for path in tmp_path.iterdir():  # another writer is quicker
            if wait and not swept:
                path.unlink()
                swept.append(path)
        return lock(descriptor, wait=wait)

    monkeypatch.setattr(_atomic, "lock", late)
    with atomic_path(tmp_path / "out.txt") as temporary:
        assert swept and temporary not in swept
        temporary.write_text("whole")
    assert contents(tmp_path) == {"out.txt": b"whole"}


def test_without_locks_nothing_is_swept(tmp_path, monkeypatch):
    abandoned = tmp_path / ".out.txt.0123456789ab.part"
    abandoned.write_text("x")

    def unsupported(descriptor, operation):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with atomic_path(tmp_path / "out.txt") as temporary:
        temporary.write_text("whole")
    assert contents(tmp_path) == {"out.txt": b"whole", abandoned.name: b"x"}
