"""Damaged files of every format give vectors or a FippError, nothing else."""

import warnings
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fipp.exceptions import FippError, FippWarning
from fipp.io import Vectors
from fipp.io.formats import _arrow
from io_samples import SAMPLES, WORDS, decoded_here

# Numbers that readers get wrong: the largest, the smallest, and those around zero.
NUMBERS = [
    b"\xff" * 8,
    b"\xff" * 4,
    b"\0" * 8,
    b"\xff\xff\xff\x7f",
    b"\0\0\0\x80",
    b"\x01" + b"\0" * 7,
    b"\0\xff\xff\x7f\x7f",
]

flips = st.tuples(st.just("flip"), st.integers(0, 1 << 16), st.binary(min_size=1, max_size=4))
numbers = st.tuples(st.just("flip"), st.integers(0, 1 << 16), st.sampled_from(NUMBERS))
cuts = st.tuples(st.just("cut"), st.integers(0, 1 << 16), st.just(b""))
inserts = st.tuples(st.just("insert"), st.integers(0, 1 << 16), st.binary(min_size=1, max_size=40))
copies = st.tuples(st.just("copy"), st.integers(0, 1 << 16), st.binary(min_size=2, max_size=2))
mutations = st.lists(flips | numbers | cuts | inserts | copies, min_size=1, max_size=4)


def damaged(content, changes):
    content = bytearray(content)
    for kind, place, data in changes:
        at = place % (len(content) + 1)
        if kind == "flip":
            content[at : at + len(data)] = data
        elif kind == "cut":
            del content[at:]
        elif kind == "insert":
            content[at:at] = data
        else:
            start = data[0] * 256 + data[1]
            piece = content[start % (len(content) + 1) :][:64]
            content[at:at] = piece
    return bytes(content)


@pytest.fixture(autouse=True)
def decoding_here(monkeypatch):
    monkeypatch.setattr(_arrow, "decoded", decoded_here)


@pytest.fixture(scope="module", params=SAMPLES)
def sample(request, tmp_path_factory):
    """A whole file or folder, and the contents of its files."""
    path = SAMPLES[request.param](tmp_path_factory.mktemp("fuzz"))
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return path, {file: file.read_bytes() for file in files}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(which=st.integers(0, 9), changes=mutations, strict=st.booleans(), limit=st.none() | st.integers(1, 3))
def test_a_damaged_file_gives_vectors_or_a_fipp_error(sample, which, changes, strict, limit):
    path, contents = sample
    chosen = list(contents)[which % len(contents)]
    for file, content in contents.items():
        file.write_bytes(damaged(content, changes) if file == chosen else content)
    with warnings.catch_warnings(), suppress(FippError):
        warnings.simplefilter("ignore", FippWarning)
        vectors = Vectors.load(path, words=WORDS, strict=strict, limit=limit, max_bytes=1 << 20)
        assert vectors.matrix.shape == (len(vectors.words), vectors.dim)


def test_a_file_cut_anywhere_gives_vectors_or_a_fipp_error(sample):
    path, contents = sample
    for file, content in contents.items():
        for length in range(0, len(content), max(1, len(content) // 60)):
            file.write_bytes(content[:length])
            with suppress(FippError):
                Vectors.load(path, words=WORDS)
        file.write_bytes(content)
