"""Vectors that pass through a function when they are saved, and vectors that are kept on disk: little is in memory."""

import os
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

from fipp import FIPP, Alignment, Vectors
from fipp.exceptions import FippError

ROWS, DIMENSIONS = 40_000, 300
NAMES = ["x.npy", "x.vec", "x.vec.gz", "x.bin", "x.npz", "x.safetensors", "x.parquet", "x.arrow"]


def some_vectors(rows, dimensions=9, dtype=np.float32):
    matrix = np.random.default_rng(0).standard_normal((rows, dimensions))
    return Vectors([f"w{row}" for row in range(rows)], matrix, dtype)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_what_the_function_returns(tmp_path, name):
    vectors = some_vectors(2500)
    vectors.save(tmp_path / name, transform=lambda rows: rows[:, :4] * 2)
    written = Vectors.load(tmp_path / name, cache=False)
    assert written.words == vectors.words
    assert np.array_equal(written.matrix, vectors.matrix[:, :4] * 2)


def test_a_fitted_map_gives_the_same_bits_as_all_at_once(tmp_path):
    vectors = some_vectors(9000, 64)
    aligner = FIPP().fit(vectors.matrix[:500], some_vectors(500, 50).matrix)
    for name in ("x.npy", "x.vec"):
        vectors.save(tmp_path / name, transform=aligner.transform)
        assert np.array_equal(Vectors.load(tmp_path / name).matrix, aligner.transform(vectors.matrix))


@pytest.mark.parametrize("name", NAMES)
def test_a_function_that_fails_leaves_the_old_file(tmp_path, name):
    some_vectors(3).save(tmp_path / name)
    before = {file: (tmp_path / file).read_bytes() for file in os.listdir(tmp_path)}
    vectors = some_vectors(5000)
    for wrong, message in [(lambda rows: rows[:-1], "a row for each row"), (lambda rows: rows / 0, "row 0 .*'w0'")]:
        with np.errstate(divide="ignore"), pytest.raises(FippError, match=message):
            vectors.save(tmp_path / name, transform=lambda rows, wrong=wrong: rows if len(rows) == 1 else wrong(rows))
        assert {file: (tmp_path / file).read_bytes() for file in os.listdir(tmp_path)} == before


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_safetensors_has_the_bytes_that_the_library_writes(tmp_path, dtype):
    vectors = some_vectors(11, dtype=dtype)
    vectors.save(tmp_path / "ours.safetensors")
    words = np.frombuffer("".join(f"{word}\n" for word in vectors.words).encode(), dtype=np.uint8)
    save_file({"matrix": vectors.matrix, "words": words}, tmp_path / "theirs.safetensors")
    assert (tmp_path / "ours.safetensors").read_bytes() == (tmp_path / "theirs.safetensors").read_bytes()


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_npy_has_the_bytes_that_numpy_writes(tmp_path, dtype):
    vectors = some_vectors(11, dtype=dtype)
    vectors.save(tmp_path / "ours.npy")
    np.save(tmp_path / "theirs.npy", vectors.matrix)
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_vectors_kept_on_disk_are_the_same_and_leave_nothing_there(tmp_path, name):
    vectors, scratch = some_vectors(3000), tmp_path / "scratch"
    scratch.mkdir()
    vectors.save(tmp_path / name)
    found = Vectors.load(tmp_path / name, scratch=scratch, cache=False)
    assert found.checksum == vectors.checksum
    assert os.listdir(scratch) == []


def test_rows_that_cannot_be_used_are_skipped_on_disk_too(tmp_path):
    matrix = some_vectors(3000).matrix.astype(np.float64)
    matrix[7, 1] = np.nan
    np.save(tmp_path / "x.npy", matrix)
    (tmp_path / "x.txt").write_text("".join(f"w{row}\n" for row in range(3000)))
    found, expected = Vectors.load(tmp_path / "x.npy", scratch=tmp_path), Vectors.load(tmp_path / "x.npy")
    assert len(found) == 2999 and found.checksum == expected.checksum
    assert found.report.summary() == expected.report.summary()


def test_private_changes_to_a_mapped_matrix_survive_saving(tmp_path):
    np.save(tmp_path / "m.npy", np.ones((3000, 2), dtype=np.float32))
    mapped = np.load(tmp_path / "m.npy", mmap_mode="c")
    mapped[:] = 5
    Vectors([f"w{row}" for row in range(3000)], mapped).save(tmp_path / "x.npy", transform=lambda rows: rows)
    assert np.all(mapped == 5) and np.all(np.load(tmp_path / "x.npy") == 5)


MEASURE = """
import sys
from fipp.cli import app
from fipp.experiments._run import PeakMemory
model, small, large, output = sys.argv[1:]
app(["transform", model, small, "-o", output, "-q"], standalone_mode=False)  # what is imported and started once
peak = PeakMemory()
app(["transform", model, large, "-o", output, "-q"], standalone_mode=False)
print(peak.growth())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports the peak memory of a part of a run")
@pytest.mark.parametrize("name", ["x.npy", "x.bin", "x.safetensors"])
def test_transform_does_not_hold_the_vectors_in_memory(tmp_path, name):
    rng = np.random.default_rng(0)
    large = Vectors([f"w{row}" for row in range(ROWS)], rng.standard_normal((ROWS, DIMENSIONS), dtype=np.float32))
    large.save(tmp_path / name)
    large.head(2000).save(tmp_path / f"small-{name}")
    aligner = FIPP().fit(large.matrix[:400], large.matrix[:400, ::-1].copy())
    Alignment(aligner, large.head(400), large.head(400)).save(tmp_path / "m.fipp")
    arguments = [tmp_path / "m.fipp", tmp_path / f"small-{name}", tmp_path / name, tmp_path / "out" / name]
    (tmp_path / "out").mkdir()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "FIPP_CACHE": "off"}
    result = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, arguments)], capture_output=True, text=True, env=environment
    )
    assert result.returncode == 0, result.stderr
    growth = int(result.stdout.split()[-1])
    # Before, this was the matrix twice or three times; now it is some blocks, and the words.
    assert growth < 0.7 * large.matrix.nbytes, f"{growth:,} bytes"
    assert np.array_equal(Vectors.load(tmp_path / "out" / name).matrix, aligner.transform(large.matrix))
