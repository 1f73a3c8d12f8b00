"""model2vec: folders with ``model.safetensors`` and ``tokenizer.json``, and loaded models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._assemble import assemble
from fipp.io._named import check_bytes
from fipp.io._report import NO_VECTOR, Inspector
from fipp.io._rows import as_float32
from fipp.io._safetensors import map_tensor, open_tensors
from fipp.io._stream import DEFAULT_MAX_BYTES
from fipp.io._vectors import Vectors

_TENSORS, _TOKENIZER = "model.safetensors", "tokenizer.json"
_MATRIX_NAMES = ("embeddings", "embedding.weight")
_PER_TOKEN: tuple[str, ...] = ("weights", "mapping")

Array = npt.NDArray[Any]


def recognises(path: Path, opening: bytes = b"") -> bool:
    """Tell whether a folder holds a static embedding model and its tokenizer."""
    return (path / _TENSORS).is_file() and (path / _TOKENIZER).is_file()


def read_model2vec(
    path: Path, *, limit: int | None = None, strict: bool = False, max_bytes: int = DEFAULT_MAX_BYTES
) -> Vectors:
    """Read the vectors of a model's tokens from its folder, without model2vec.

    A model with a quantised vocabulary gives each token the row and the weight that it has there.

    Examples
    --------
    >>> import tempfile
    >>> from safetensors.numpy import save_file
    >>> folder = Path(tempfile.mkdtemp())
    >>> save_file({"embeddings": np.ones((2, 3), dtype=np.float32)}, folder / "model.safetensors")
    >>> _ = (folder / "tokenizer.json").write_text('{"model": {"vocab": {"cat": 0, "##s": 1}}}')
    >>> read_model2vec(folder).words
    ('cat', '##s')
    """
    inspector = Inspector(path, strict)
    tensors, _ = open_tensors(path / _TENSORS)
    name = next((name for name in _MATRIX_NAMES if name in tensors), None)
    if name is None or len(tensors[name].shape) != 2:
        raise FippError(f"{path / _TENSORS} has no matrix named 'embeddings': is {path} a model2vec folder?")
    arrays = {key: map_tensor(path / _TENSORS, tensors[key]) for key in _PER_TOKEN if key in tensors}
    matrix = map_tensor(path / _TENSORS, tensors[name])
    return _collect(_read_tokens(path / _TOKENIZER, max_bytes), matrix, arrays, inspector, limit, max_bytes)


def from_model2vec(model: Any) -> Vectors:
    """Take the vectors of a loaded ``StaticModel``; see `Vectors.from_model2vec`."""
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
) -> Vectors:
    mapping, weights = arrays.get("mapping"), arrays.get("weights")
    for name, array in arrays.items():
        if array.ndim != 1 or (name == "mapping" and array.dtype.kind not in "iu"):
            raise FippError(f"{inspector.path} is damaged: its {name} are no list of numbers")
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
    check_bytes(len(words), matrix.shape[1], max_bytes, inspector.path)
    rows = np.array(numbers) if mapping is None else mapping[numbers].astype(np.int64)
    if rows.min() < 0 or rows.max() >= len(matrix):
        raise FippError(f"{inspector.path} is damaged: a token has the row {rows.max()} of {len(matrix):,}")
    chosen = as_float32(matrix[rows])
    if weights is not None:
        chosen = as_float32(chosen * weights[numbers].astype(np.float32)[:, np.newaxis])
    return assemble(words, chosen, inspector)


def _read_tokens(path: Path, max_bytes: int) -> dict[str, int]:
    """Return the number of each token of a tokenizer's JSON: a map, or a list in the order of the numbers."""
    if path.stat().st_size > max_bytes:
        raise FippError(f"{path} has more than {max_bytes:,} bytes; max_bytes sets the limit")
    try:
        content = json.loads(path.read_bytes())
        vocabulary = content["model"]["vocab"]
        if isinstance(vocabulary, list):  # Unigram: pairs of token and score
            vocabulary = {entry[0]: number for number, entry in enumerate(vocabulary)}
        added = {entry["content"]: entry["id"] for entry in content.get("added_tokens") or []}
        tokens = {**vocabulary, **added}
        if not all(type(token) is str and type(number) is int for token, number in tokens.items()):
            raise ValueError("a token is no text, or its number is none")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise FippError(f"{path} is not a tokenizer with a vocabulary: {error}") from error
    return tokens
