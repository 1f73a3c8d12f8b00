"""model2vec: folders with ``model.safetensors`` and ``tokenizer.json``, and loaded models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._report import NO_VECTOR, Inspector
from fipp.io._rows import as_floats
from fipp.io._stream import DEFAULT_MAX_BYTES, read_json
from fipp.io._table import Options, Table, assemble, check_size
from fipp.io.formats._safetensors import map_tensor, open_tensors

_TENSORS, _TOKENIZER = "model.safetensors", "tokenizer.json"
_MATRIX_NAMES = ("embeddings", "embedding.weight")
_PER_TOKEN: tuple[str, ...] = ("weights", "mapping")

Array = npt.NDArray[Any]


def recognises_model2vec(path: Path, opening: bytes) -> bool:
    """Return whether a folder holds a static embedding model and its tokenizer."""
    return (path / _TENSORS).is_file() and (path / _TOKENIZER).is_file()


def read_model2vec(path: Path, options: Options) -> Table:
    """Read the vectors of a model's tokens from its folder, without model2vec."""
    inspector = Inspector(path, options.strict)
    tensors, _ = open_tensors(path / _TENSORS)
    name = next((name for name in _MATRIX_NAMES if name in tensors), None)
    if name is None or len(tensors[name].shape) != 2:
        raise FippError(f"{path / _TENSORS} has no matrix named 'embeddings': is {path} a model2vec folder?")
    arrays = {key: map_tensor(path / _TENSORS, tensors[key]) for key in _PER_TOKEN if key in tensors}
    matrix = map_tensor(path / _TENSORS, tensors[name])
    tokens = _read_tokens(path / _TOKENIZER, options.max_bytes)
    return _collect(tokens, matrix, arrays, inspector, options.limit, options.max_bytes)


def from_model2vec(model: Any) -> Table:
    """Return the vectors of a loaded ``StaticModel``; see `Vectors.from_model2vec`."""
    if not hasattr(model, "embedding") or not hasattr(model, "tokenizer"):
        raise FippError(f"from_model2vec takes a model2vec StaticModel, not {type(model).__name__}")
    arrays = {"weights": getattr(model, "weights", None), "mapping": getattr(model, "token_mapping", None)}
    present = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
    inspector = Inspector(Path(getattr(model, "base_model_name", None) or "model2vec"), strict=False)
    tokens = model.tokenizer.get_vocab()
    return _collect(tokens, np.asarray(model.embedding), present, inspector, None, DEFAULT_MAX_BYTES)


def _collect(
    tokens: dict[str, int],
    matrix: Array,
    arrays: dict[str, Array],
    inspector: Inspector,
    limit: int | None,
    max_bytes: int,
) -> Table:
    mapping, weights = arrays.get("mapping"), arrays.get("weights")
    for name, array in arrays.items():
        if array.ndim != 1 or (name == "mapping" and array.dtype.kind not in "iu"):
            raise FippError(f"{inspector.path} is damaged: its {name} are not a list of numbers")
    known = len(matrix) if mapping is None else len(mapping)
    known = known if weights is None else min(known, len(weights))
    words: list[str] = []
    numbers: list[int] = []
    for token, number in sorted(tokens.items(), key=lambda item: item[1]):
        if limit is not None and len(words) >= limit:
            break
        if not 0 <= number < known:
            inspector.skip(NO_VECTOR, f"token {number}", token)
            continue
        words.append(token)
        numbers.append(number)
    if not words:
        raise FippError(f"{inspector.path} holds no token with a vector")
    check_size(len(words), matrix.shape[1], max_bytes, inspector.path)
    rows = np.array(numbers) if mapping is None else mapping[numbers].astype(np.int64)
    if rows.min() < 0 or rows.max() >= len(matrix):
        raise FippError(f"{inspector.path} is damaged: a token has the row {rows.max()} of {len(matrix):,}")
    chosen = as_floats(matrix[rows])
    if weights is not None:
        chosen = as_floats(chosen * weights[numbers].astype(np.float32)[:, np.newaxis])
    return assemble(words, chosen, inspector)


def _read_tokens(path: Path, max_bytes: int) -> dict[str, int]:
    """Return the number of each token in a tokenizer's JSON, which has a map or a list in the order of the numbers."""
    content = read_json(path, max_bytes)
    try:
        vocabulary = content["model"]["vocab"]
        if isinstance(vocabulary, list):  # Unigram: pairs of token and score
            vocabulary = {entry[0]: number for number, entry in enumerate(vocabulary)}
        added = {entry["content"]: entry["id"] for entry in content.get("added_tokens") or []}
        tokens = {**vocabulary, **added}
        if not all(type(token) is str and type(number) is int for token, number in tokens.items()):
            raise ValueError("a token is not a string, or its number is not a whole number")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise FippError(f"{path} is not a tokenizer with a vocabulary: {error}") from error
    return tokens
