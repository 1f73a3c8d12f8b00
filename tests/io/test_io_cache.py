"""The cache of parsed vectors: there at once the second time, never stale, never trusted, never in the way."""

import gzip
import mmap
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from fipp.exceptions import FippError
from fipp.io import Vectors, _cache
from fipp.io._cache import cache_folder
from fipp.io.formats import _text

ROWS, DIMENSIONS = 700, 400


@pytest.fixture(autouse=True)
def settled(monkeypatch):
    """Files of these tests have just been written, which otherwise keeps them from being cached."""
    monkeypatch.setattr(_cache, "_SETTLED_SECONDS", -10.0)


@pytest.fixture
def path(tmp_path, rng):
    path = tmp_path / "x.vec"
    matrix = rng.standard_normal((ROWS, DIMENSIONS)).astype(np.float32)
    Vectors([f"wörd{row}" for row in range(ROWS)], matrix).save(path)
    return path


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


def is_mapped(vectors):
    base = vectors.matrix
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    return isinstance(base, np.memmap)


def own_folder(folder):
    return folder / "fipp-vectors"


def cache_files(folder):
    return sorted(own_folder(folder).glob("*.fippvec"))


def test_the_second_load_is_mapped_and_equal(path, folder):
    first = Vectors.load(path, cache=folder)
    assert not is_mapped(first)
    second = Vectors.load(path, cache=folder, strict=True)
    assert is_mapped(second)
    assert second.checksum == first.checksum
    assert second.report == first.report
    assert second["wörd5"].tolist() == first["wörd5"].tolist()
    assert second.matrix.ctypes.data % 4096 == 0
    with pytest.raises(ValueError, match="read-only"):
        second.matrix[0, 0] = 1


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_compressed_files_are_cached_too(tmp_path, folder, path, suffix):
    packed = tmp_path / f"y.vec{suffix}"
    vectors = Vectors.load(path, cache=False)
    vectors.save(packed)
    Vectors.load(packed, cache=folder)
    again = Vectors.load(packed, cache=folder)
    assert is_mapped(again)
    assert again.checksum == vectors.checksum


def test_limit_and_words_are_served_from_the_cache_of_the_whole_file(path, folder):
    Vectors.load(path, cache=folder)
    head = Vectors.load(path, limit=10, cache=folder)
    assert is_mapped(head)
    assert head.words == tuple(f"wörd{row}" for row in range(10))
    assert head.report.contents == "10 words x 400"
    some = Vectors.load(path, words=["wörd7", "wörd3", "none"], cache=folder)
    plain = Vectors.load(path, words=["wörd7", "wörd3", "none"], cache=False)
    assert some.words == plain.words == ("wörd3", "wörd7")
    assert some.checksum == plain.checksum
    assert some.report == plain.report


def test_a_limit_has_its_own_cache_and_never_stands_for_the_whole_file(path, folder):
    assert len(Vectors.load(path, limit=680, cache=folder)) == 680
    assert is_mapped(Vectors.load(path, limit=680, cache=folder))
    assert not is_mapped(Vectors.load(path, limit=681, cache=folder))
    whole = Vectors.load(path, cache=folder)
    assert len(whole) == ROWS
    assert Vectors.load(path, words=["wörd699"], cache=folder).words == ("wörd699",)


def test_types_and_encodings_have_caches_of_their_own(path, folder):
    for dtype in ["float64", "float32", "float64"]:
        vectors = Vectors.load(path, dtype=dtype, cache=folder)
        assert vectors.matrix.dtype == dtype
        assert vectors.checksum == Vectors.load(path, dtype=dtype, cache=False).checksum
    assert is_mapped(vectors)
    assert not is_mapped(Vectors.load(path, encoding_errors="strict", cache=folder))


def test_a_report_is_kept_and_strict_still_refuses(path, folder):
    with open(path, "ab") as file:
        file.write(b"broken 1 2\nw\xe9 " + b" 1" * DIMENSIONS + b"\n")
    first = Vectors.load(path, cache=folder)
    second = Vectors.load(path, cache=folder)
    assert is_mapped(second)
    assert second.report == first.report
    assert "skipped 1 ragged row" in second.report.summary()
    with pytest.raises(FippError, match="ragged row"):
        Vectors.load(path, strict=True, cache=folder)
    assert Vectors.load(path, limit=5, strict=True, cache=folder).report.summary() is None


@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
def test_a_change_of_the_same_size_is_noticed_even_if_the_time_is_set_back(path, folder, place):
    Vectors.load(path, cache=folder)
    before = path.stat()
    content = bytearray(path.read_bytes())
    at = next(i for i in range(int(place * (len(content) - 2000)) + 20, len(content)) if content[i : i + 1].isdigit())
    content[at] = ord("7") if content[at] != ord("7") else ord("3")
    time.sleep(0.02)  # longer than the clock of the file system takes to advance
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    again = Vectors.load(path, cache=folder)
    assert not is_mapped(again)
    assert again.checksum == Vectors.load(path, cache=False).checksum


@pytest.mark.parametrize("place", ["head", "tail"])
def test_a_change_of_head_or_tail_is_noticed_by_content_alone(path, place):
    with open(path, "r+b") as file:
        before = _cache.Fingerprint.of(path).sample
        file.seek(30 if place == "head" else -30, os.SEEK_SET if place == "head" else os.SEEK_END)
        file.write(b"#")
    assert _cache.Fingerprint.of(path).sample != before


def test_a_file_that_has_just_changed_is_not_cached(path, folder, monkeypatch):
    monkeypatch.setattr(_cache, "_SETTLED_SECONDS", 60.0)
    Vectors.load(path, cache=folder)
    assert not is_mapped(Vectors.load(path, cache=folder))


def test_a_file_that_changes_while_it_is_read_is_not_cached(path, folder, monkeypatch):
    read = _text.read_blocks

    def meddling(source):
        yield from read(source)
        with open(path, "ab") as file:
            file.write(b"\n")

    monkeypatch.setattr(_text, "read_blocks", meddling)
    Vectors.load(path, cache=folder)
    assert not folder.exists() or cache_files(folder) == []


@pytest.mark.parametrize("place", [0, 10, 18, 40, 400, 6000, -1000, -3])
def test_a_damaged_cache_is_ignored_and_written_anew(path, folder, place):
    good = Vectors.load(path, cache=folder).checksum
    (file,) = cache_files(folder)
    content = bytearray(file.read_bytes())
    content[place] ^= 0xFF
    file.write_bytes(content)
    again = Vectors.load(path, cache=folder)
    assert not is_mapped(again)
    assert again.checksum == good
    assert is_mapped(Vectors.load(path, cache=folder))


@pytest.mark.parametrize("content", [b"", b"FIPPVEC\x02", b"FIPPVEC\x02" + b"\xff" * 100, b"\x00" * 5000, None])
def test_a_cache_of_any_content_or_cut_short_is_ignored(path, folder, content):
    good = Vectors.load(path, cache=folder).checksum
    (file,) = cache_files(folder)
    file.write_bytes(file.read_bytes()[:-5000] if content is None else content)
    assert Vectors.load(path, cache=folder).checksum == good
    file.unlink()
    file.mkdir()
    assert Vectors.load(path, cache=folder).checksum == good


def test_a_header_that_promises_too_much_is_ignored(path, folder):
    good = Vectors.load(path, cache=folder).checksum
    (file,) = cache_files(folder)
    content = file.read_bytes()
    length = int.from_bytes(content[8:16], "little")
    header = content[20 : 20 + length].replace(b'"rows": 700', b'"rows": 10000000000')
    for rows in [header, header.replace(b'"words_bytes": ', b'"words_bytes": -')]:
        checksum = _cache.zlib.crc32(rows).to_bytes(4, "little")
        file.write_bytes(content[:8] + len(rows).to_bytes(8, "little") + checksum + rows + content[20 + length :])
        assert Vectors.load(path, cache=folder).checksum == good


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not hold for root or on Windows")
def test_a_folder_that_may_not_be_written_does_no_harm(path, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    assert len(Vectors.load(path, cache=folder)) == ROWS


def test_a_folder_that_cannot_be_made_and_a_full_disk_do_no_harm(path, tmp_path, folder, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    assert len(Vectors.load(path, cache=tmp_path / "file" / "cache")) == ROWS
    monkeypatch.setattr(_cache, "_free_bytes", lambda folder: 1000)
    assert len(Vectors.load(path, cache=folder)) == ROWS
    assert cache_files(folder) == []

    def full(file, vectors, key):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.undo()
    monkeypatch.setattr(_cache, "_SETTLED_SECONDS", -10.0)
    monkeypatch.setattr(_cache, "_write", full)
    assert len(Vectors.load(path, cache=folder)) == ROWS
    assert list(own_folder(folder).iterdir()) == []


def test_small_files_mapped_formats_and_streams_are_not_cached(tmp_path, path, folder):
    small = tmp_path / "small.vec"
    small.write_text("cat 1 2\n")
    Vectors.load(small, cache=folder)
    Vectors.load(path, cache=False).save(tmp_path / "y.npy")
    Vectors.load(tmp_path / "y.npy", cache=folder)
    with open(path, "rb") as file:
        Vectors.load(file, cache=folder)
    Vectors.load(path, cache=False)
    assert not folder.exists() or cache_files(folder) == []


def test_all_caches_together_stay_within_their_size_and_the_least_used_goes_first(tmp_path, path, folder, monkeypatch):
    content = path.read_bytes()
    paths = [tmp_path / f"{name}.vec" for name in "abcd"]
    for each in paths:
        each.write_bytes(content)
    Vectors.load(paths[0], cache=folder)
    size = cache_files(folder)[0].stat().st_size
    monkeypatch.setenv("FIPP_CACHE_SIZE", str(int(2.5 * size)))
    Vectors.load(paths[1], cache=folder)
    for age, file in enumerate(cache_files(folder)):
        os.utime(file, (1e9 + age, 1e9 + age))
    assert is_mapped(Vectors.load(paths[0], cache=folder))
    Vectors.load(paths[2], cache=folder)
    assert len(cache_files(folder)) == 2
    assert is_mapped(Vectors.load(paths[0], cache=folder))
    assert is_mapped(Vectors.load(paths[2], cache=folder))
    monkeypatch.setenv("FIPP_CACHE_SIZE", "1kB")
    Vectors.load(paths[3], cache=folder)
    assert not is_mapped(Vectors.load(paths[3], cache=folder))
    monkeypatch.setenv("FIPP_CACHE_SIZE", "rubbish")
    assert len(Vectors.load(paths[3], cache=folder)) == ROWS


def test_what_a_killed_writer_left_is_removed_in_time(path, folder):
    own_folder(folder).mkdir(parents=True)
    old, new = (own_folder(folder) / f".{name}.fippvec.0.part" for name in "xy")
    for file in (old, new):
        file.write_bytes(b"half")
    os.utime(old, (1e9, 1e9))
    Vectors.load(path, cache=folder)
    assert not old.exists()
    assert new.exists()


def test_vectors_stay_usable_when_their_cache_is_removed(path, folder):
    Vectors.load(path, cache=folder)
    vectors = Vectors.load(path, cache=folder)
    if os.name != "nt":
        cache_files(folder)[0].unlink()
    assert vectors.checksum == Vectors.load(path, cache=False).checksum


def test_writers_at_the_same_time_leave_one_whole_cache(path, folder):
    expected = Vectors.load(path, cache=False).checksum
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(Vectors.load(path, cache=folder).checksum)) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 6
    assert len(list(own_folder(folder).iterdir())) == 1
    assert is_mapped(Vectors.load(path, cache=folder))


def test_words_with_any_characters_come_back(tmp_path, folder, rng):
    words = ["a b", "c\x1fd", "e\u2028f", "\udcef", "g\0h"]
    words += [f"w{row}" for row in range(ROWS)]
    path = tmp_path / "x.vec"
    Vectors(words, rng.standard_normal((len(words), DIMENSIONS))).save(path)
    for _ in range(2):
        vectors = Vectors.load(path, encoding_errors="surrogateescape", cache=folder)
        assert vectors.words == tuple(words)
    assert is_mapped(vectors)


def test_the_environment_names_the_folder_or_switches_the_cache_off(monkeypatch, tmp_path, path):
    monkeypatch.setenv("FIPP_CACHE", str(tmp_path / "elsewhere"))
    Vectors.load(path)
    assert len(cache_files(tmp_path / "elsewhere")) == 1
    for off in ["off", "0", ""]:
        monkeypatch.setenv("FIPP_CACHE", off)
        assert cache_folder() is None
        assert not is_mapped(Vectors.load(path))
    monkeypatch.delenv("FIPP_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_folder() == tmp_path / "xdg" / "fipp"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder().parts[-2:] == ("Caches", "fipp")


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is of POSIX")
@pytest.mark.parametrize("name", ["x.vec", "x.vec.gz"])
def test_a_process_killed_while_saving_leaves_the_old_file(tmp_path, name):
    path = tmp_path / name
    Vectors(["old"], [[1.0, 2.0]]).save(path)
    before = path.read_bytes()
    program = (
        "import sys, numpy as np; from fipp import Vectors\n"
        "vectors = Vectors([f'w{i}' for i in range(60_000)], np.random.default_rng(0).random((60_000, 50)))\n"
        "print('ready', flush=True)\n"
        "while True: vectors.save(sys.argv[1])\n"
    )
    for delay in [0.0, 0.03, 0.1]:
        path.write_bytes(before)
        with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            if delay:  # until a file beside is being written
                while not list(tmp_path.glob(".*.part")):
                    time.sleep(0.001)
                time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            process.wait()
        vectors = Vectors.load(path, strict=True, cache=False)
        assert path.read_bytes() == before or len(vectors) == 60_000
        for litter in tmp_path.glob(".*.part"):
            litter.unlink()


def test_a_gzipped_file_named_like_text_is_cached_by_its_compressed_bytes(tmp_path, folder, path):
    packed = tmp_path / "z.vec"
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    Vectors.load(packed, cache=folder)
    assert is_mapped(Vectors.load(packed, cache=folder))


def test_no_flipped_byte_of_a_cache_goes_unnoticed(path, folder, rng):
    good = Vectors.load(path, cache=folder).checksum
    (file,) = cache_files(folder)
    content = file.read_bytes()
    starts = [b"\0" * 16, content[:16]]  # padding after the words is not used
    for place in rng.integers(0, len(content), 40).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(damaged)
        again = Vectors.load(path, cache=folder)
        assert again.checksum == good, place
        assert not is_mapped(again) or content[place - 8 : place + 8] in starts, place


def test_only_the_blocks_that_a_limit_needs_are_checked(path, folder, monkeypatch):
    monkeypatch.setattr(_cache, "_BLOCK_BYTES", 1 << 16)
    Vectors.load(path, cache=folder)
    (file,) = cache_files(folder)
    content = bytearray(file.read_bytes())
    content[-4000] ^= 1
    file.write_bytes(content)
    assert is_mapped(Vectors.load(path, limit=10, cache=folder))
    assert not is_mapped(Vectors.load(path, limit=ROWS - 1, cache=folder))


@pytest.mark.skipif(os.name == "nt", reason="Windows does not change a mapped file")
def test_an_edit_through_a_memory_map_is_noticed(path, folder):
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as content:
        # Between two samples; the first write makes the page dirty, and only that sets the time.
        at = next(i for i in range(len(content) // 22, len(content)) if content[i : i + 2] == b".1")
        content[at + 1 : at + 2] = b"2"
        before = path.stat().st_mtime_ns
        time.sleep(0.02)
        content.flush()
        content[at + 1 : at + 2] = b"3"
        if path.stat().st_mtime_ns == before:
            pytest.skip("this file system does not record changes through memory maps")
        Vectors.load(path, cache=folder)
        time.sleep(0.02)
        content[at + 1 : at + 2] = b"4"
        again = Vectors.load(path, cache=folder)
        assert again.checksum == Vectors.load(path, cache=False).checksum


@pytest.mark.skipif(os.name == "nt", reason="Windows has no inodes")
def test_folders_swapped_within_a_tick_of_the_clock_are_noticed(tmp_path, path, folder):
    content = bytearray(path.read_bytes())
    at = next(i for i in range(len(content) // 22, len(content)) if content[i : i + 2] in (b".1", b".2"))
    content[at + 1] ^= 3
    one, other = tmp_path / "one", tmp_path / "other"
    for place, text in [(one, path.read_bytes()), (other, bytes(content))]:
        place.mkdir()
        (place / "x.vec").write_bytes(text)
    for _ in range(1000):
        for place in (one, other):
            os.utime(place / "x.vec", ns=(10**18, 10**18))
        states = [(place / "x.vec").stat() for place in (one, other)]
        if states[0].st_ctime_ns == states[1].st_ctime_ns:
            break
    else:
        pytest.skip("the clock of this file system is too fine")
    Vectors.load(one / "x.vec", cache=folder)
    one.rename(tmp_path / "aside")
    other.rename(one)
    assert Vectors.load(one / "x.vec", cache=folder).checksum == Vectors.load(one / "x.vec", cache=False).checksum


@pytest.mark.skipif(os.name == "nt", reason="permissions are of POSIX")
def test_the_cache_is_private_whoever_made_its_folder(path, folder):
    own = own_folder(folder)
    own.mkdir(parents=True)
    own.chmod(0o755)
    Vectors.load(path, cache=folder)
    (file,) = cache_files(folder)
    assert (own.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    own.chmod(0o755)
    file.chmod(0o644)
    assert is_mapped(Vectors.load(path, cache=folder))
    assert (own.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    file.chmod(0o666)  # anybody could have written to it
    assert not is_mapped(Vectors.load(path, cache=folder))
    assert cache_files(folder)[0].stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name == "nt", reason="permissions are of POSIX")
@pytest.mark.parametrize("named", ["argument", "environment", "working folder"])
def test_a_folder_of_the_users_keeps_its_permissions(path, folder, monkeypatch, named):
    folder.mkdir()
    folder.chmod(0o755)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FIPP_CACHE", str(folder))
    cache = {"argument": folder, "environment": True, "working folder": "."}[named]
    Vectors.load(path, cache=cache)
    assert is_mapped(Vectors.load(path, cache=cache))
    assert folder.stat().st_mode & 0o777 == 0o755
    assert [place.name for place in folder.iterdir()] == ["fipp-vectors"]


@pytest.mark.skipif(os.name == "nt", reason="owners are of POSIX")
@pytest.mark.parametrize("theirs", ["folder", "file", "link", "pipe"])
def test_a_cache_of_another_user_is_never_believed(path, folder, tmp_path, monkeypatch, theirs):
    good = Vectors.load(path, cache=folder).checksum
    (file,) = cache_files(folder)
    planted = file.read_bytes()
    if theirs == "folder":
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    elif theirs == "file":
        status = os.fstat
        monkeypatch.setattr(os, "fstat", lambda place: _owned_by_another(status(place)))
    else:
        file.unlink()
        (tmp_path / "planted").write_bytes(planted)
        file.symlink_to(tmp_path / "planted") if theirs == "link" else os.mkfifo(file)
    again = Vectors.load(path, cache=folder)
    assert not is_mapped(again)
    assert again.checksum == good
    if theirs in ("link", "pipe"):
        assert not file.is_symlink()
        assert is_mapped(Vectors.load(path, cache=folder))
        assert (tmp_path / "planted").read_bytes() == planted


def _owned_by_another(status):
    fields = list(status)
    fields[4] += 1
    return os.stat_result(fields, {name: getattr(status, name) for name in ("st_mtime_ns", "st_ctime_ns")})
