"""Vectors in a safetensors file: a 2-D tensor, and the words as metadata, as bytes or in a text file beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from fipp.exceptions import FippError
from fipp.io._atomic import atomic_path
from fipp.io._budget import Budget
from fipp.io._report import Inspector
from fipp.io._rows import BLOCK_NUMBERS, FloatMatrix, convert, gather
from fipp.io._stream import encoded, explained
from fipp.io._table import Options, Table, assemble
from fipp.io.formats._numpy import WORD_NAMES, ArrayKind, check_counts, matrix_name, read_words, split_words, words_name

_MAX_HEADER_BYTES = 100_000_000
"""The safetensors library's own limit."""

_BFLOAT16 = "BF16"
_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", _BFLOAT16: "<u2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1",
}  # fmt: skip


class Tensor(NamedTuple):
    """The type, the shape and the position of a tensor in its file."""

    kind: str
    shape: tuple[int, ...]
    start: int

    @property
    def array_kind(self) -> ArrayKind:
        """The kind of array that it becomes."""
        return ArrayKind(self.shape, "f" if self.kind == _BFLOAT16 else np.dtype(_TYPES.get(self.kind, "V1")).kind)


def recognises_safetensors(path: Path, opening: bytes) -> bool:
    """Return whether a file begins with a length and a JSON object, as safetensors files do."""
    return len(opening) > 8 and opening[8:9] == b"{" and 2 <= int.from_bytes(opening[:8], "little") <= _MAX_HEADER_BYTES


def read_safetensors(path: Path, options: Options) -> Table:
    """Map the matrix of a safetensors file into memory and read its words.

    A tensor ``scale`` with a number for each row multiplies the rows, as in quantised vectors.
    """
    inspector = Inspector(path, options.strict)
    budget = options.budget(path)
    tensors, metadata = open_tensors(path, budget)
    if "fipp" in metadata:
        raise FippError(f"{path} is a model, not vectors: fipp.Alignment.load reads it")
    kinds = {name: tensor.array_kind for name, tensor in tensors.items()}
    name = matrix_name(kinds, path)
    rows, columns = tensors[name].shape
    budget.expect_rows(rows, 0)
    count = rows if options.limit is None else min(options.limit, rows)
    scale = tensors.get("scale")
    if scale is not None and (scale.shape not in [(rows,), (rows, 1)] or scale.array_kind.kind != "f"):
        scale = None
    if scale is not None or tensors[name].kind == _BFLOAT16:
        budget.take(4 * count * columns)
    elif tensors[name].kind != "F32":
        budget.take_numbers(4 * count * columns)
    words = _read_words(path, tensors, metadata, rows, inspector, budget)
    check_counts(len(words), rows, path)
    weights = None if scale is None else tensor_rows(path, scale, slice(count))
    matrix = tensor_rows(path, tensors[name], slice(count), weights, options.scratch)
    return assemble(words[:count], matrix, inspector, scratch=options.scratch)


def write_safetensors(table: Table, path: Path) -> None:
    """Write a tensor ``matrix`` of float32 and a tensor ``words`` of bytes, one word per line."""
    words = b"".join(encoded(word, path, "\n") + b"\n" for word in table.words)
    kind = next(kind for kind, dtype in _TYPES.items() if np.dtype(dtype) == table.dtype)
    size = len(table) * table.dim * table.dtype.itemsize
    # The library's own writer wants the whole matrix, and ends in a panic on a full disk.
    header = {
        "matrix": {"dtype": kind, "shape": [len(table), table.dim], "data_offsets": [0, size]},
        "words": {"dtype": "U8", "shape": [len(words)], "data_offsets": [size, size + len(words)]},
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the matrix begins at a multiple of eight bytes
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for block in table.blocks(BLOCK_NUMBERS):
            file.write(np.ascontiguousarray(table.rows(block), dtype=_TYPES[kind]).data)
        file.write(words)


def open_tensors(path: Path, budget: Budget) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors of a file and its metadata, after checking their sizes against the file."""
    with open(path, "rb") as raw:
        budget.expect_json(int.from_bytes(raw.read(8), "little"))
    errors = (SafetensorError, OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
    with explained(path, "is not a whole safetensors file", *errors):
        with safe_open(path, framework="numpy") as file:
            metadata = dict(file.metadata() or {})
        with open(path, "rb") as raw:
            length = int.from_bytes(raw.read(8), "little")
            header = json.loads(raw.read(length))
        header.pop("__metadata__", None)
        tensors = {
            name: Tensor(entry["dtype"], tuple(entry["shape"]), 8 + length + entry["data_offsets"][0])
            for name, entry in header.items()
        }
    return tensors, metadata


def tensor_rows(
    path: Path,
    tensor: Tensor,
    rows: slice | npt.NDArray[np.int64],
    weights: FloatMatrix | None = None,
    scratch: Path | None = None,
) -> FloatMatrix:
    """Return rows of a tensor as float32, multiplied by their weights; those of float32 stay on disk if they can.

    With a folder ``scratch``, those of float16 and the like are kept on disk there.
    """
    mapped = map_tensor(path, tensor).reshape(tensor.shape[0], -1)
    plain = isinstance(rows, slice) and weights is None and tensor.kind != _BFLOAT16
    if plain and (tensor.kind == "F32" or scratch is not None):
        return convert(mapped[rows], np.float32, scratch)
    return gather(mapped, rows, weights, is_bfloat16=tensor.kind == _BFLOAT16)


def map_tensor(path: Path, tensor: Tensor) -> npt.NDArray[Any]:
    """Map a tensor into memory; bfloat16 comes as 16-bit integers."""
    if tensor.kind not in _TYPES:
        raise FippError(f"{path} holds numbers of the type {tensor.kind}, which fipp does not read")
    if 0 in tensor.shape:
        raise FippError(f"{path} is empty: a tensor has the shape {tensor.shape}")
    return np.memmap(path, dtype=_TYPES[tensor.kind], mode="r", offset=tensor.start, shape=tensor.shape)


def _read_words(
    path: Path,
    tensors: dict[str, Tensor],
    metadata: dict[str, str],
    count: int,
    inspector: Inspector,
    budget: Budget,
) -> list[str]:
    for name in WORD_NAMES:
        if name in metadata:
            return _words_of_json(metadata[name], path)
    bytes_only = {name: tensor.array_kind for name, tensor in tensors.items() if tensor.kind == "U8"}
    named = words_name(bytes_only)
    if named is not None:
        # As bytes, and as text.
        budget.expect(5 * tensors[named].shape[0])
        words = split_words(map_tensor(path, tensors[named]).tobytes(), count, inspector)
        budget.take_words(words)
        return words
    beside = path.with_suffix(".txt")
    if beside.is_file():
        words, total = read_words(beside, count, inspector, budget)
        check_counts(total, count, path)
        return words
    raise FippError(
        f"{path} has no words: it needs a tensor 'words' of bytes with one word per line, a JSON list 'words' in its "
        f"metadata, or {beside.name} beside it"
    )


def _words_of_json(text: str, path: Path) -> list[str]:
    try:
        words = json.loads(text)
    except (ValueError, RecursionError):
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise FippError(f"{path} is damaged: the words in its metadata are not a JSON list of strings")
    return words
