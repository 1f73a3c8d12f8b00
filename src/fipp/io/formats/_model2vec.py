"""model2vec: folders with ``model.safetensors`` and ``tokenizer.json``, and loaded models."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._budget import Budget
from fipp.io._report import NO_VECTOR, Inspector
from fipp.io._rows import FloatMatrix, copy_rows, gather
from fipp.io._stream import read_json
from fipp.io._table import Options, Table, assemble
from fipp.io.formats._safetensors import map_tensor, open_tensors, tensor_rows

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
    budget = Budget(path, options.max_bytes)
    tensors, _ = open_tensors(path / _TENSORS, budget)
    name = next((name for name in _MATRIX_NAMES if name in tensors), None)
    if name is None or len(tensors[name].shape) != 2:
        raise FippError(f"{path / _TENSORS} has no matrix named 'embeddings': is {path} a model2vec folder?")
    arrays = {key: map_tensor(path / _TENSORS, tensors[key]) for key in _PER_TOKEN if key in tensors}
    tokens = _read_tokens(path / _TOKENIZER, budget)
    rows_of = partial(tensor_rows, path / _TENSORS, tensors[name])
    return _collect(tokens, tensors[name].shape, rows_of, arrays, inspector, options.limit, budget)


def from_model2vec(model: Any) -> Table:
    """Return the vectors of a loaded ``StaticModel``; see `Vectors.from_model2vec`."""
    if not hasattr(model, "embedding") or not hasattr(model, "tokenizer"):
        raise FippError(f"from_model2vec takes a model2vec StaticModel, not {type(model).__name__}")
    arrays = {"weights": getattr(model, "weights", None), "mapping": getattr(model, "token_mapping", None)}
    present = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
    inspector = Inspector(Path(getattr(model, "base_model_name", None) or "model2vec"), strict=False)
    tokens = model.tokenizer.get_vocab()
    matrix = np.asarray(model.embedding)
    return _collect(tokens, matrix.shape, partial(gather, matrix), present, inspector, None, Budget(inspector.path))


def _collect(
    tokens: dict[str, int],
    shape: tuple[int, ...],
    rows_of: Callable[[npt.NDArray[np.int64], Array | None], FloatMatrix],
    arrays: dict[str, Array],
    inspector: Inspector,
    limit: int | None,
    budget: Budget,
) -> Table:
    """Look up the row of each token; ``rows_of`` returns rows of the matrix, multiplied by weights."""
    mapping, weights = arrays.get("mapping"), arrays.get("weights")
    for name, array in arrays.items():
        if array.ndim != 1 or (name == "mapping" and array.dtype.kind not in "iu"):
            raise FippError(f"{inspector.path} is damaged: its {name} are not a list of numbers")
    known = shape[0] if mapping is None else len(mapping)
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
    budget.take_words(words)
    budget.take(4 * len(words) * shape[1])
    places = np.array(numbers)
    rows = places if mapping is None else _entries(mapping, places).astype(np.int64)
    if rows.min() < 0 or rows.max() >= shape[0]:
        raise FippError(f"{inspector.path} is damaged: a token has the row {rows.max()} of {shape[0]:,}")
    return assemble(words, rows_of(rows, None if weights is None else _entries(weights, places)), inspector)


def _entries(array: Array, places: npt.NDArray[np.int64]) -> Array:
    """Return some entries of a list of numbers that is mapped into memory."""
    return copy_rows(array[:, np.newaxis], places)[:, 0]


def _read_tokens(path: Path, budget: Budget) -> dict[str, int]:
    """Return the number of each token in a tokenizer's JSON, which has a map or a list in the order of the numbers."""
    content = read_json(path, budget)
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
