"""Model files: exact, deterministic, checked, never a pickle."""

import json
import os
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from fipp.exceptions import FippError
from fipp.io._model import (
    DEEPEST_HEADER,
    FORMAT,
    MOST_HEADER_BYTES,
    MOST_TENSORS,
    is_model,
    read_model,
    write_model,
)

TENSORS = {
    "map": np.array([[1, -0.0], [1e-310, 3]]),
    "mean": np.arange(6, dtype=">f4").reshape(2, 3).T,
    "scale": np.float32(2.5),
    "rows": np.array([1, 2], dtype=np.int64),
    "mask": np.array([True, False]),
    "none": np.zeros((0, 3), dtype=np.float32),
}
HEADER = {"method": "fipp", "settings": {"epsilon": 0.05, "words": ["č", None]}, "scores": [1, 2.5]}


def deep(levels):
    return 0 if levels == 0 else [deep(levels - 1)]


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.safetensors"
    write_model(path, TENSORS, HEADER)
    return path


def test_tensors_and_header_read_back_exactly(model):
    tensors, header = read_model(model)
    assert header == HEADER
    assert set(tensors) == set(TENSORS)
    for name, tensor in TENSORS.items():
        assert tensors[name].shape == np.shape(tensor)
        assert tensors[name].dtype == np.asarray(tensor).dtype.newbyteorder("=")
        np.testing.assert_array_equal(tensors[name], tensor)
    assert np.signbit(tensors["map"][0, 1])


def test_the_same_model_gives_the_same_bytes_in_whatever_order(model, tmp_path):
    other = tmp_path / "other.safetensors"
    write_model(other, dict(reversed(TENSORS.items())), dict(reversed(HEADER.items())))
    assert other.read_bytes() == model.read_bytes()


def test_numpy_scalars_may_stand_in_the_header(tmp_path):
    write_model(tmp_path / "m", {}, {"n": np.int64(3), "score": np.float32(0.5)})
    assert read_model(tmp_path / "m")[1] == {"n": 3, "score": 0.5}


@pytest.mark.parametrize(
    ("tensors", "header", "message"),
    [
        ({"map": np.array([1.0, np.nan])}, {}, "'map' .*NaN"),
        ({"map": np.array([np.inf])}, {}, "infinity"),
        ({"map": np.array([object()])}, {}, "real numbers, not object"),
        ({"map": np.array(["a"])}, {}, "real numbers"),
        ({}, {"score": float("nan")}, "JSON"),
        ({}, {"score": np.eye(2)}, "JSON"),
        ({}, {"format": 3}, "'format'"),
        ({}, {"checksum": "x"}, "'checksum'"),
        ({}, {"n": 2**63}, "64 bits"),
        ({}, {"deep": deep(DEEPEST_HEADER)}, "nested deeper"),
        ({}, {"long": "x" * MOST_HEADER_BYTES}, "longer than"),
        ({str(number): np.ones(1) for number in range(MOST_TENSORS + 1)}, {}, "1,001 arrays"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_the_old_model_stays(model, tensors, header, message):
    before = model.read_bytes()
    with pytest.raises(FippError, match=message):
        write_model(model, tensors, header)
    assert model.read_bytes() == before
    assert os.listdir(model.parent) == [model.name]


def test_missing_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "x.safetensors"
    with pytest.raises(FippError, match="no file"):
        read_model(path)
    with pytest.raises(FippError, match="folder"):
        read_model(tmp_path)
    for content in [b"", b"short", b"PK\x03\x04" * 50, b"\x80\x04\x95" + bytes(100), b"\xff" * 64]:
        path.write_bytes(content)
        with pytest.raises(FippError, match="not a whole safetensors file"):
            read_model(path)


def test_a_safetensors_file_of_someone_else_is_refused(tmp_path):
    for metadata in [None, {"format": "pt"}]:
        save_file({"a": np.ones(2)}, tmp_path / "x", metadata=metadata)
        with pytest.raises(FippError, match="this safetensors file was not written by fipp"):
            read_model(tmp_path / "x")


def test_a_truncated_model_is_refused_wherever_it_ends(model):
    content = model.read_bytes()
    for length in [7, 8, 50, len(content) // 2, len(content) - 1]:
        model.write_bytes(content[:length])
        with pytest.raises(FippError, match="not a whole safetensors file"):
            read_model(model)


def test_a_header_that_claims_more_than_the_file_holds_is_refused(tmp_path):
    claim = {"a": {"dtype": "F32", "shape": [10**9, 10**3], "data_offsets": [0, 4 * 10**12]}}
    header = json.dumps(claim).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 64)
    with pytest.raises(FippError, match="not a whole safetensors file"):
        read_model(path)


def test_a_model_of_a_newer_fipp_is_refused_with_advice(tmp_path):
    save_file({}, tmp_path / "x", metadata={"fipp": json.dumps({"format": FORMAT + 1})})
    with pytest.raises(FippError, match=r"newer fipp .*pip install -U fipp"):
        read_model(tmp_path / "x")


@pytest.mark.parametrize("text", ["", "[]", "{}", "3", '{"format": "one"}', '{"format": 0}', "[" * 100_000])
def test_a_damaged_header_is_refused(tmp_path, text):
    save_file({}, tmp_path / "x", metadata={"fipp": text})
    with pytest.raises(FippError, match="damaged"):
        read_model(tmp_path / "x")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('"score": NaN', "NaN"),
        ('"score": 1e999', "infinity"),
        ('"n": ' + "9" * 30, "64 bits"),
        ('"n": ' + "9" * 5000, "cannot be read"),
        ('"deep": ' + "[" * DEEPEST_HEADER + "]" * DEEPEST_HEADER, "nested deeper"),
        ('"deep": ' + "[" * 100_000 + "]" * 100_000, "cannot be read"),
    ],
)
def test_a_header_that_no_model_has_is_refused(tmp_path, content, message):
    save_file({}, tmp_path / "x", metadata={"fipp": f'{{"format": 1, {content}}}'})
    with pytest.raises(FippError, match=rf"x is damaged: its header cannot be read .*{message}|cannot be read"):
        read_model(tmp_path / "x")


def test_more_arrays_or_a_longer_header_than_any_model_has_are_refused(tmp_path):
    many = {f"{number}": np.ones(1) for number in range(MOST_TENSORS + 1)}
    save_file(many, tmp_path / "many", metadata={"fipp": '{"format": 1}'})
    with pytest.raises(FippError, match="many is damaged: it has 1,001 arrays"):
        read_model(tmp_path / "many")
    save_file({}, tmp_path / "long", metadata={"fipp": '{"format": 1}', "x": "x" * MOST_HEADER_BYTES})
    with pytest.raises(FippError, match="long is not a model: its header has"):
        read_model(tmp_path / "long")
    assert not is_model(tmp_path / "long")


def test_a_flipped_bit_is_noticed_wherever_it_is(model):
    content = model.read_bytes()
    # Under another name, the checksum is not found; whoever reads a model refuses names that it does not know.
    named = content.index(b"checksum")
    for place in {*range(len(content))} - {*range(named, named + len("checksum"))}:
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        model.write_bytes(flipped)
        with pytest.raises(FippError, match=r"model\.safetensors"):
            read_model(model)


def test_a_model_without_a_checksum_is_read_as_older_versions_wrote_it(model, tmp_path):
    save_file(load_file(model), tmp_path / "old", metadata={"fipp": json.dumps({"format": 1, **HEADER})})
    tensors, header = read_model(tmp_path / "old")
    assert header == HEADER and set(tensors) == set(TENSORS)


def test_words_that_are_not_unicode_can_be_kept(tmp_path):
    write_model(tmp_path / "m", {}, {"words": ["\ud800", "č"]})
    assert read_model(tmp_path / "m")[1] == {"words": ["\ud800", "č"]}


def test_whether_a_file_is_a_model_is_answered_for_anything(model, tmp_path):
    content = model.read_bytes()
    assert is_model(model)
    for length in [0, 7, 8, 100, len(content) - 1]:
        (tmp_path / "x").write_bytes(content[:length])
        assert not is_model(tmp_path / "x")
    assert not is_model(tmp_path) and not is_model(tmp_path / "none") and not is_model("\0")


def test_a_model_with_nan_inside_is_refused(tmp_path):
    save_file({"map": np.array([np.nan])}, tmp_path / "x", metadata={"fipp": '{"format": 1}'})
    with pytest.raises(FippError, match="NaN"):
        read_model(tmp_path / "x")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_a_model_with_a_damaged_byte_is_read_or_refused(tmp_path, data):
    path = tmp_path / "model.safetensors"
    write_model(path, TENSORS, HEADER)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with suppress(FippError):
        read_model(path)
