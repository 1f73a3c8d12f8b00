"""A matrix in ``x.npy`` with its words, one a line, in ``x.txt`` beside it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._assemble import assemble
from fipp.io._atomic import atomic_path, flush_to_disk
from fipp.io._report import Inspector
from fipp.io._rows import as_floats
from fipp.io._stream import BYTE_ORDER_MARK, DEFAULT_MAX_BYTES, encoded, read_batches
from fipp.io._vectors import Vectors

NPY_MAGIC = b"\x93NUMPY"


def recognises(path: Path, opening: bytes) -> bool:
    """Tell whether a file is a NumPy matrix, or the vocabulary of the one beside it."""
    return opening.startswith(NPY_MAGIC) or (path.suffix.lower() == ".txt" and path.with_suffix(".npy").is_file())


def read_npy(
    path: Path,
    *,
    limit: int | None = None,
    strict: bool = False,
    max_bytes: int = DEFAULT_MAX_BYTES,
    dtype: npt.DTypeLike = np.float32,
    encoding_errors: str = "replace",
) -> Vectors:
    """Map the matrix of a pair ``x.npy`` and ``x.txt`` into memory, either of which ``path`` may name.

    Nothing is unpickled, and nothing is read before the header has been checked against the file's size. A matrix of
    the type asked for, without defects, stays on disk; others are copied.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "animals.npy")
    >>> write_npy(Vectors(["cat", "dog"], [[1.0, 0.0], [0.5, 2.0]]), path)
    >>> read_npy(path).words
    ('cat', 'dog')
    """
    matrix_path, words_path = _pair(path)
    inspector = Inspector(matrix_path, strict, encoding_errors)
    mapped = _map_matrix(matrix_path)
    if not words_path.is_file():
        raise FippError(f"{matrix_path} has no words: {words_path}, one word a line, is missing")
    count = len(mapped) if limit is None else min(limit, len(mapped))
    words, total = _read_words(words_path, count, inspector, max_bytes)
    if total != len(mapped):
        raise FippError(f"{matrix_path} has {len(mapped):,} rows but {words_path} has {total:,} words")
    return assemble(words, as_floats(mapped[:count], dtype), inspector)


def write_npy(vectors: Vectors, path: Path) -> None:
    """Write the pair ``x.npy`` and ``x.txt``.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "animals.npy")
    >>> write_npy(Vectors(["cat", "dog"], [[1.0], [2.0]]), path)
    >>> print(path.with_suffix(".txt").read_text())
    cat
    dog
    """
    matrix_path, words_path = _pair(path)
    if words_path.exists() and not matrix_path.exists():
        # Most likely text vectors: saving glove.npy must not destroy glove.txt.
        raise FippError(f"{words_path} exists and would be overwritten by the words of {matrix_path}; use another name")
    lines = [encoded(word, words_path, "\n\r") for word in vectors.words]
    # The reader drops one mark at the start of the file; a first word that begins with one needs another.
    mark = BYTE_ORDER_MARK if lines[0].startswith(BYTE_ORDER_MARK) else b""
    # Two files cannot be moved in one step, and new words beside an old matrix of the same length would go
    # unnoticed. So both are whole on disk first; then the old matrix goes, the words move, the matrix moves. A crash
    # before that leaves the old pair, one in between leaves no matrix, which no reader can mistake for a pair.
    with atomic_path(matrix_path) as new_matrix, atomic_path(words_path) as new_words:
        with open(new_matrix, "wb") as file:
            np.lib.format.write_array(file, vectors.matrix, allow_pickle=False)
        new_words.write_bytes(mark + b"\n".join(lines) + b"\n")
        flush_to_disk(new_matrix)
        flush_to_disk(new_words)
        matrix_path.unlink(missing_ok=True)


def _pair(path: Path) -> tuple[Path, Path]:
    matrix_path = path.with_suffix(".npy") if path.suffix.lower() == ".txt" else path
    return matrix_path, path.with_suffix(".txt")


def _map_matrix(path: Path) -> npt.NDArray[Any]:
    """Map a .npy file after its header has been checked; numpy's own errors speak of pickles and mmap."""
    try:
        with open(path, "rb") as file:
            major, _ = np.lib.format.read_magic(file)
            read_header = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
            shape, by_columns, dtype = read_header(file)
            start = file.tell()
            present = path.stat().st_size - start
    except Exception as error:  # the header is parsed as Python text, and what that raises depends on the damage
        raise FippError(f"{path} is not a NumPy matrix: {error}") from error
    if dtype.hasobject:
        raise FippError(f"{path} holds pickled Python objects, which fipp never loads; save it as float32")
    if dtype.kind not in "fiu":
        raise FippError(f"{path} must hold real numbers, not {dtype}")
    if len(shape) != 2:
        raise FippError(f"{path} must hold a 2-D matrix with a row for each word, not {len(shape)}-D")
    promised = math.prod(shape) * dtype.itemsize
    if promised > present or min(shape) < 0:
        raise FippError(
            f"{path} is cut short: its header promises {shape[0]:,} x {shape[1]:,} {dtype} numbers "
            f"({promised:,} bytes), but only {present:,} bytes follow"
        )
    if promised == 0:
        raise FippError(f"{path} is empty: its matrix has the shape {shape}")
    # Not numpy.load: it would parse the header again, and has a path that unpickles.
    return np.memmap(path, dtype=dtype, mode="r", offset=start, shape=shape, order="F" if by_columns else "C")


def _read_words(path: Path, count: int, inspector: Inspector, max_bytes: int) -> tuple[list[str], int]:
    """Return the first ``count`` words, and how many there are."""
    words: list[str] = []
    total = 0
    for batch in read_batches(path, max_bytes):
        for number, line in enumerate(batch[: count - len(words)], total + 1):
            words.append(inspector.decode(line.removesuffix(b"\r"), f"{path.name} line {number}"))
        total += len(batch)
    return words, total
