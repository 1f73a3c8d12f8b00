"""Two files that belong together are replaced and read as one, whoever is killed and whoever else writes."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from writer_trials import version, version_of

from fipp.exceptions import FippError
from fipp.io import Vectors

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kills, forks and locks are those of POSIX")


def trial(*arguments):
    command = [sys.executable, str(Path(__file__).with_name("writer_trials.py")), *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert result.returncode == 0, result.stderr
    counts = json.loads(result.stdout)
    assert counts["failures"] == 0, result.stderr
    return counts


@pytest.fixture
def pair(tmp_path):
    """Return a pair of version 1."""
    version(1).save(tmp_path / "x.npy")
    return tmp_path / "x.npy"


def fail_at_move(monkeypatch, number, error):
    """Let the n-th move fail: 1 and 2 to the names `.new`, 3 and 4 into place."""
    move, moves = os.replace, []

    def failing(old, new):
        moves.append(new)
        if len(moves) == number:
            raise error
        move(old, new)

    monkeypatch.setattr(os, "replace", failing)


def test_a_writer_killed_at_any_system_call_leaves_the_old_pair_or_the_new_one_and_the_next_heals_it():
    counts = trial("calls", "x.npy")
    assert counts["old"] and counts["new"] and counts["kills"] == counts["old"] + counts["new"]


def test_writers_and_readers_at_the_same_time_never_mix_words_and_matrix():
    counts = trial("race", 100)
    assert counts["saves"] == 200 and counts["reads"] > 0


@pytest.mark.parametrize("error", [OSError(errno.EIO, "the power went"), KeyboardInterrupt()])
@pytest.mark.parametrize("move", [1, 2, 3])
def test_a_failure_before_anything_is_in_place_keeps_the_old_pair(pair, monkeypatch, move, error):
    fail_at_move(monkeypatch, move, error)
    with pytest.raises(FippError if isinstance(error, OSError) else KeyboardInterrupt):
        version(2).save(pair)
    assert version_of(pair) == 1
    assert sorted(os.listdir(pair.parent)) == ["x.npy", "x.txt"]


def test_a_failure_between_the_two_moves_keeps_the_new_pair(pair, monkeypatch):
    with monkeypatch.context() as patched:
        fail_at_move(patched, 4, OSError(errno.EIO, "the power went"))
        with pytest.raises(FippError, match=r"cannot write .*the power went"):
            version(2).save(pair)
    before = {name: (pair.parent / name).read_bytes() for name in os.listdir(pair.parent)}
    assert sorted(before) == [".x.npy.pair", ".x.txt.new", "x.npy", "x.txt"]
    assert version_of(pair) == version_of(pair.with_suffix(".txt")) == 2
    assert {name: (pair.parent / name).read_bytes() for name in os.listdir(pair.parent)} == before, "a reader wrote"
    version(3).save(pair)
    assert version_of(pair) == 3
    assert sorted(os.listdir(pair.parent)) == ["x.npy", "x.txt"]


def interrupt_between_moves(pair, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(FippError):
        fail_at_move(patched, 4, OSError(errno.EIO, "the power went"))
        version(2).save(pair)


@pytest.mark.parametrize("changed", ["x.npy", "x.txt"])
def test_a_file_that_another_program_changed_later_is_not_paired_with_a_guess(pair, monkeypatch, changed):
    interrupt_between_moves(pair, monkeypatch)
    place = pair.with_name(changed)
    place.write_bytes(place.read_bytes() + b"\n")
    monkeypatch.setattr("fipp.io._pair._PAUSE", 0)
    with pytest.raises(FippError, match=r"may not belong together.*delete .*\.x\.npy\.pair"):
        Vectors.load(pair)
    version(3).save(pair)
    assert version_of(pair) == 3
    assert sorted(os.listdir(pair.parent)) == ["x.npy", "x.txt"]


@pytest.mark.parametrize("content", [b"", b"half of a rec", b"\0" * 50, b"[]\n", b'["x", [[[1, 2], [3]], 5]]\n'])
def test_a_record_that_is_not_whole_means_nothing(pair, content):
    pair.with_name(".x.npy.pair").write_bytes(content)
    pair.with_name(".x.npy.new").write_bytes(b"litter")
    assert version_of(pair) == 1
    version(2).save(pair)
    assert version_of(pair) == 2
    assert sorted(os.listdir(pair.parent)) == ["x.npy", "x.txt"]


def test_links_and_permissions_of_a_pair_are_kept(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    version(1).save(real / "a.npy")
    (real / "a.npy").chmod(0o640)
    (tmp_path / "x.npy").symlink_to(real / "a.npy")
    (tmp_path / "x.txt").symlink_to(real / "a.txt")
    version(2).save(tmp_path / "x.npy")
    assert version_of(real / "a.npy") == version_of(tmp_path / "x.npy") == 2
    assert (tmp_path / "x.npy").is_symlink() and (tmp_path / "x.txt").is_symlink()
    assert (real / "a.npy").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["real", "x.npy", "x.txt"] and sorted(os.listdir(real)) == ["a.npy", "a.txt"]


def test_names_as_long_as_the_system_allows_can_be_saved(tmp_path):
    path = tmp_path / ("x" * 251 + ".npy")
    version(1).save(path)
    version(2).save(path)
    assert version_of(path) == 2 and len(os.listdir(tmp_path)) == 2


def test_both_files_are_plain(pair):
    assert np.load(pair).tolist() == [[1.0] * 3] * 7
    assert pair.with_suffix(".txt").read_text().split("\n") == [*version(1).words, ""]
