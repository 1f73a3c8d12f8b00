"""Bytes from anywhere: compressed, from a file object, from standard input; never more of them than allowed."""

import bz2
import gzip
import io
import lzma
import subprocess
import sys
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fipp.exceptions import FippError
from fipp.io import Lexicon, Vectors, _compression, _stream
from fipp.io._stream import Source, read_batches, read_blocks

TEXT = b"3 2\ncat 0.5 -1\nNew York 2 3\n\xc4\x8dvor 1e-3 4\n"
WORDS = ("cat", "New York", "čvor")


def zstd_compress(data):
    return pytest.importorskip("backports.zstd" if sys.version_info < (3, 14) else "compression.zstd").compress(data)


COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd_compress}
compressions = pytest.mark.parametrize("suffix", COMPRESS)


@compressions
@pytest.mark.parametrize("name", ["x.vec", "odd.bin", "x.vec.gz", "without-an-ending"])
def test_compression_is_told_by_content_whatever_the_name(tmp_path, suffix, name):
    path = tmp_path / name
    path.write_bytes(COMPRESS[suffix](TEXT))
    assert Vectors.load(path, strict=True).words == WORDS


@compressions
def test_vectors_written_compressed_read_back_equal(tmp_path, suffix):
    vectors = Vectors(WORDS, np.random.default_rng(0).standard_normal((3, 5)))
    path = tmp_path / f"x.vec{suffix}"
    vectors.save(path)
    first = path.read_bytes()
    assert _compression.compression_of(first).suffix == suffix
    assert Vectors.load(path).checksum == vectors.checksum
    vectors.save(path)
    assert path.read_bytes() == first


@compressions
def test_a_dictionary_may_be_compressed_too(tmp_path, suffix):
    path = tmp_path / f"seed.tsv{suffix}"
    Lexicon([("cat", "mačka")]).save(path)
    assert _compression.compression_of(path.read_bytes()).suffix == suffix
    assert list(Lexicon.load(path).pairs) == [("cat", "mačka")]


@compressions
def test_several_streams_in_one_file_are_read_one_after_the_other(tmp_path, suffix):
    compress = COMPRESS[suffix]
    path = tmp_path / "x.vec"
    path.write_bytes(compress(TEXT[:10]) + compress(TEXT[10:20]) + compress(b"") + compress(TEXT[20:]))
    assert Vectors.load(path, strict=True).words == WORDS


@compressions
@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_a_compressed_file_cut_short_anywhere_is_refused(tmp_path, monkeypatch, suffix, chunk):
    monkeypatch.setattr(_stream, "_CHUNK_BYTES", chunk)
    whole = COMPRESS[suffix](TEXT)
    path = tmp_path / "x.vec"
    for length in range(20, len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FippError, match=r"cut short|damaged"):
            list(read_blocks(path))


@compressions
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 10_000), byte=st.integers(1, 255))
def test_damage_gives_vectors_or_a_fipp_error(tmp_path, suffix, place, byte):
    content = bytearray(COMPRESS[suffix](TEXT))
    content[place % len(content)] ^= byte
    path = tmp_path / "x.vec"
    path.write_bytes(content)
    with suppress(FippError):
        assert len(Vectors.load(path)) > 0


@compressions
def test_rubbish_after_a_stream_is_refused(tmp_path, suffix):
    path = tmp_path / "x.vec"
    path.write_bytes(COMPRESS[suffix](TEXT) + b"rubbish")
    with pytest.raises(FippError, match=r"damaged|cut short"):
        Vectors.load(path)


@compressions
def test_a_bomb_stops_at_the_limit_and_never_fills_the_memory(tmp_path, suffix):
    path = tmp_path / "x.vec"
    path.write_bytes(COMPRESS[suffix](b"a 1 2\n" * 5_000_000))
    assert path.stat().st_size < 1_000_000
    tracemalloc.start()
    try:
        with pytest.raises(FippError, match=r"more than 15,000,000 bytes.*max_bytes"):
            list(map(len, read_blocks(path, 15_000_000)))
        with pytest.raises(FippError, match=r"line of more than .* bytes"):
            path.write_bytes(COMPRESS[suffix](b"a" * 30_000_000))
            tracemalloc.reset_peak()
            list(map(len, read_blocks(path)))
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def test_vectors_that_take_more_than_max_memory_are_refused(tmp_path):
    path = tmp_path / "x.vec.gz"
    path.write_bytes(gzip.compress(b"".join(b"w%d 1 2\n" % row for row in range(100_000))))
    with pytest.raises(FippError, match=r"more vectors than 1,000,000 bytes.*max_memory"):
        Vectors.load(path, max_memory="1MB", cache=False)
    assert len(Vectors.load(path, max_memory="1MB", limit=1000, cache=False)) == 1000


def test_zstandard_without_the_package_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "x.vec.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    for name in ["compression", "compression.zstd", "backports", "backports.zstd"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(FippError, match=r"pip install 'fipp\[zstd\]'"):
        Vectors.load(path)
    with pytest.raises(FippError, match=r"pip install 'fipp\[zstd\]'"):
        Vectors(["a"], [[1.0]]).save(tmp_path / "y.vec.zst")
    path = tmp_path / "x.vec.gz"
    path.write_bytes(gzip.compress(TEXT)[:-3])
    with pytest.raises(FippError, match="cut short"):
        Vectors.load(path)


def test_words_that_begin_like_a_compressed_file_are_text(tmp_path):
    path = tmp_path / "x.vec"
    path.write_bytes(b"BZh9 1 2\ncat 3 4\n")
    assert Vectors.load(path).words == ("BZh9", "cat")


@pytest.mark.parametrize("compress", [bytes, *COMPRESS.values()])
def test_a_file_object_is_read_from_where_it_stands_and_left_open(compress):
    file = io.BytesIO(b"before" + compress(TEXT))
    file.seek(6)
    vectors = Vectors.load(file)
    assert vectors.words == WORDS
    assert not file.closed
    assert vectors.report.path == "the file object"


class Trickle(io.RawIOBase):
    """A pipe that gives a few bytes at a time and cannot go back."""

    def __init__(self, content):
        self.content = io.BytesIO(content)

    def readable(self):
        return True

    def seekable(self):
        return False

    def read(self, count=-1):
        return self.content.read(min(count, 5))


@pytest.mark.parametrize("compress", [bytes, *COMPRESS.values()])
def test_a_pipe_that_gives_few_bytes_at_a_time_is_read_whole(compress):
    assert Vectors.load(Trickle(compress(TEXT)), strict=True).words == WORDS


def test_what_is_no_source_is_refused(tmp_path):
    with pytest.raises(FippError, match="open as text"):
        Vectors.load(io.StringIO("cat 1 2"))
    with pytest.raises(FippError, match="path or a binary file object"):
        Vectors.load(5)
    with pytest.raises(FippError, match="is empty"):
        Vectors.load(io.BytesIO())


@compressions
def test_standard_input_is_read(suffix):
    program = "from fipp import Vectors; print(*Vectors.load('-', strict=True).words, sep='|')"
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", program], input=COMPRESS[suffix](TEXT), capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == "|".join(WORDS)


@compressions
def test_a_binary_format_is_unpacked_to_a_temporary_file(tmp_path, suffix):
    np.save(tmp_path / "x.npy", np.ones((2, 3), dtype=np.float32))
    packed = tmp_path / f"x.npy{suffix}"
    packed.write_bytes(COMPRESS[suffix]((tmp_path / "x.npy").read_bytes()))
    with Source(packed) as source, source.as_file() as path:
        assert path.name == "x.npy"
        assert path.read_bytes() == (tmp_path / "x.npy").read_bytes()
    assert not path.exists()
    with Source(tmp_path / "x.npy") as source, source.as_file() as path:
        assert path == tmp_path / "x.npy"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.integers(0, 40), st.sampled_from([1, 3, 16, 17, 1 << 20]))
def test_peeking_loses_nothing(monkeypatch, content, count, size):
    monkeypatch.setattr(_stream, "_CHUNK_BYTES", size)
    content = b"x" + content  # not by chance a compressed file
    source = Source(io.BytesIO(content))
    assert source.peek(count) == content[:count]
    assert b"".join(source.chunks()) == content


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("ab\n", max_size=60), st.sampled_from([1, 2, 5, 1 << 20]))
def test_batches_are_the_lines_of_the_file(monkeypatch, text, size):
    monkeypatch.setattr(_stream, "_CHUNK_BYTES", size)
    lines = [line for batch in read_batches(io.BytesIO(text.encode())) for line in batch]
    expected = text.encode().split(b"\n")
    assert lines == (expected[:-1] if expected[-1] == b"" else expected)


def test_limit_reads_no_more_of_the_file_than_it_needs_and_words_stop_early(monkeypatch):
    monkeypatch.setattr("fipp.linalg._parallel.n_threads", lambda: 2)  # with more, more is read ahead

    class Counting(io.BytesIO):
        taken = 0

        def read(self, count=-1):
            data = super().read(count)
            self.taken += len(data)
            return data

    file = Counting(b"".join(b"w%d %f 2\n" % (row, row * 0.37) for row in range(500_000)))
    assert len(Vectors.load(file, limit=1000)) == 1000
    assert file.taken <= 1 << 20
    file = Counting(file.getvalue())
    assert Vectors.load(file, words={"w17", "w900"}).words == ("w17", "w900")
    assert file.taken <= 8 << 20
    assert len(file.getvalue()) > 8 << 20
