"""safetensors files of vectors."""

import json
from importlib.resources import as_file, files

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fipp.datasets import load_demo
from fipp.exceptions import FippError
from fipp.io import Vectors
from io_samples import MATRIX, VECTORS, WORDS

JOINED = np.frombuffer("\n".join(WORDS).encode(), dtype=np.uint8)


def test_the_library_reads_what_we_write(tmp_path):
    VECTORS.save(tmp_path / "x.safetensors")
    tensors = load_file(tmp_path / "x.safetensors")
    assert tensors["matrix"].tobytes() == MATRIX.tobytes()
    assert tensors["words"].tobytes().decode().split() == list(WORDS)


def test_words_are_found_in_metadata_in_a_tensor_and_beside(tmp_path):
    path = tmp_path / "x.safetensors"
    save_file({"embeddings": MATRIX}, path, metadata={"vocab": json.dumps(WORDS)})
    assert Vectors.load(path, strict=True).checksum == VECTORS.checksum
    save_file({"anything": MATRIX, "words": JOINED}, path)
    assert Vectors.load(path, strict=True).checksum == VECTORS.checksum
    save_file({"matrix": MATRIX}, path)
    with pytest.raises(FippError, match=r"has no words.* x\.txt beside it"):
        Vectors.load(path)
    (tmp_path / "x.txt").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(WORDS).encode())
    assert Vectors.load(path, strict=True).checksum == VECTORS.checksum


def test_a_float32_matrix_is_mapped_not_read(tmp_path):
    VECTORS.save(tmp_path / "x.safetensors")
    base = Vectors.load(tmp_path / "x.safetensors").matrix
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)


def test_quantised_vectors_are_scaled_as_the_demo_is():
    with as_file(files("fipp.datasets") / "demo" / "en.safetensors") as path:
        assert Vectors.load(path, limit=50).checksum == load_demo().source.head(50).checksum


@pytest.mark.parametrize("dtype", ["f2", "f8", "i4", "u1"])
def test_other_types_become_float32(tmp_path, dtype):
    matrix = np.array([[1, 2], [3, 4]], dtype=dtype)
    save_file({"matrix": matrix, "words": np.frombuffer(b"a\nb", dtype=np.uint8)}, tmp_path / "x.safetensors")
    assert Vectors.load(tmp_path / "x.safetensors").matrix.tolist() == [[1, 2], [3, 4]]


def with_header(folder, header, body=b""):
    raw = json.dumps(header).encode()
    path = folder / "x.safetensors"
    path.write_bytes(len(raw).to_bytes(8, "little") + raw + body)
    return path


def test_bfloat16_is_read(tmp_path):
    # The upper halves of 1, 2 and -0.5.
    body = np.array([0x3F80, 0x4000, 0xBF00], dtype="<u2").tobytes()
    header = {
        "__metadata__": {"words": '["a"]'},
        "matrix": {"dtype": "BF16", "shape": [1, 3], "data_offsets": [0, 6]},
    }
    assert Vectors.load(with_header(tmp_path, header, body)).matrix.tolist() == [[1, 2, -0.5]]


@pytest.mark.parametrize(
    ("shape", "offsets"), [([10**9, 10**9], [0, 4 * 10**18]), ([2, 2], [0, 16]), ([-1, 2], [0, 8]), ([1, 2], [-8, 0])]
)
def test_sizes_that_lie_are_refused(tmp_path, shape, offsets):
    header = {"matrix": {"dtype": "F32", "shape": shape, "data_offsets": offsets}}
    with pytest.raises(FippError, match="not a whole safetensors file"):
        Vectors.load(with_header(tmp_path, header, b"\0" * 8))


@pytest.mark.parametrize("words", ["not JSON", "{}", "[1, 2]", "[" * 100_000])
def test_metadata_that_is_no_list_of_words_is_refused(tmp_path, words):
    save_file({"matrix": MATRIX}, tmp_path / "x.safetensors", metadata={"words": words})
    with pytest.raises(FippError, match="not a JSON list"):
        Vectors.load(tmp_path / "x.safetensors")


def test_a_model_is_not_taken_for_vectors(tmp_path):
    save_file({"map": MATRIX}, tmp_path / "x.safetensors", metadata={"fipp": "{}"})
    with pytest.raises(FippError, match=r"Alignment\.load"):
        Vectors.load(tmp_path / "x.safetensors")
