"""A file is written whole or not at all."""

import os
import stat

import pytest

from fipp.exceptions import FippError
from fipp.io._atomic import atomic_path
from fipp.io._stream import open_for_writing


def test_the_file_appears_when_the_block_ends(tmp_path):
    target = tmp_path / "out.txt"
    with atomic_path(target) as temporary:
        temporary.write_text("new")
        assert temporary.parent == tmp_path
        assert not target.exists()
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_in_the_middle_leaves_the_old_file_and_no_litter(tmp_path, error):
    target = tmp_path / "out.txt"
    target.write_text("old")
    with pytest.raises(error), atomic_path(target) as temporary:
        temporary.write_text("half of the n")
        raise error
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_stream_that_breaks_off_leaves_the_old_file(tmp_path):
    target = tmp_path / "out.gz"
    target.write_bytes(b"old")
    with pytest.raises(RuntimeError), open_for_writing(target) as file:
        file.write(b"new")
        raise RuntimeError
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.gz"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FippError, match=r"folder .*nowhere does not exist"), atomic_path(tmp_path / "nowhere" / "x"):
        pytest.fail("the block must not run")


def test_a_folder_is_not_replaced_by_a_file(tmp_path):
    with pytest.raises(FippError, match="not a regular file"), atomic_path(tmp_path):
        pytest.fail("the block must not run")


@pytest.mark.skipif(os.name == "nt", reason="links and permissions are those of POSIX")
def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    real = tmp_path / "real.txt"
    real.write_text("old")
    real.chmod(0o640)
    link = tmp_path / "link.txt"
    link.symlink_to(real)
    with atomic_path(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name == "nt", reason="permissions are those of POSIX")
def test_a_new_file_has_the_permissions_that_any_new_file_has(tmp_path):
    plain = tmp_path / "plain.txt"
    plain.write_text("x")
    with atomic_path(tmp_path / "atomic.txt") as temporary:
        temporary.write_text("x")
    assert (tmp_path / "atomic.txt").stat().st_mode == plain.stat().st_mode
