"""The words and the matrix among the arrays of an .npz or safetensors file, and words in a text file beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from fipp.exceptions import FippError
from fipp.io._report import Inspector
from fipp.io._stream import read_batches

MATRIX_NAMES = ("matrix", "vectors", "embeddings", "embedding", "embedding.weight", "weight")
WORD_NAMES = ("words", "vocab", "vocabulary", "tokens", "keys", "ids", "labels")


class ArrayKind(NamedTuple):
    """What is known about an array before it is read: its shape, and the letter of its dtype's kind."""

    shape: tuple[int, ...]
    kind: str


def matrix_name(arrays: Mapping[str, ArrayKind], path: Path) -> str:
    """Return the name of the matrix: one of the usual names, or the only 2-D array of real numbers.

    Examples
    --------
    >>> matrix_name({"a": ArrayKind((3, 2), "f"), "b": ArrayKind((3,), "U")}, Path("x.npz"))
    'a'
    """
    candidates = [name for name, array in arrays.items() if len(array.shape) == 2 and array.kind in "fiu"]
    usual = next((name for name in MATRIX_NAMES if name in candidates), None)
    if usual is not None:
        return usual
    if len(candidates) == 1:
        return candidates[0]
    names = ", ".join(sorted(arrays)[:10]) or "none"
    raise FippError(
        f"{path} must hold one 2-D matrix of real numbers, named 'matrix' or 'vectors'; its arrays are: {names}"
    )


def words_name(arrays: Mapping[str, ArrayKind]) -> str | None:
    """Return the name of the words: one of the usual names, or the only 1-D array of text; None if there is none."""
    usual = [name for name in WORD_NAMES if name in arrays and len(arrays[name].shape) == 1]
    texts = [name for name, array in arrays.items() if len(array.shape) == 1 and array.kind in "US"]
    if usual:
        return usual[0]
    return texts[0] if len(texts) == 1 else None


def split_words(joined: bytes, inspector: Inspector) -> list[str]:
    r"""Return the words in ``joined``, which has one word per line.

    Examples
    --------
    >>> split_words(b"cat\ndog\n", Inspector(Path("x"), strict=False))
    ['cat', 'dog']
    """
    lines = joined.split(b"\n")
    if lines[-1] == b"" and len(lines) > 1:
        lines.pop()
    return [inspector.decode(line, f"word {row}") for row, line in enumerate(lines)]


def read_words(path: Path, count: int | None, inspector: Inspector, max_bytes: int) -> tuple[list[str], int]:
    """Return the first ``count`` words of a text file with one word per line, and the number of all."""
    words: list[str] = []
    total = 0
    for batch in read_batches(path, max_bytes):
        for number, line in enumerate(batch if count is None else batch[: count - len(words)], total + 1):
            words.append(inspector.decode(line.removesuffix(b"\r"), f"{path.name} line {number}"))
        total += len(batch)
    return words, total


def check_counts(words: int, rows: int, path: Path) -> None:
    """Raise a FippError unless there is a row for each word."""
    if words != rows:
        raise FippError(f"{path} has {words:,} words but {rows:,} vectors")
