"""Writing vectors as text: each number as the shortest text that reads back as the same float32."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._report import quoted
from fipp.io._rows import FloatMatrix, keep_freed_pages
from fipp.io._stream import encoded, open_for_writing
from fipp.io._text_digits import float32_rows
from fipp.io._text_row import SAMPLE_ROWS, Header, dimension_of
from fipp.io._vectors import Vectors
from fipp.linalg import ordered_map, row_blocks

_BLOCK_NUMBERS = 1 << 17
"""Numbers formatted at a time by a thread: few enough to stay in its cache."""

_MOST_THREADS = 12
"""Each has some twenty megabytes of its own, and one thread writes for all."""


def write_text(vectors: Vectors, path: Path) -> None:
    """Write text vectors with a header, compressed as the file's name asks.

    Each number is the shortest text that every reader turns into the same float32, or float64 if the vectors are.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "animals.vec")
    >>> write_text(Vectors(["cat"], [[0.1, 1 / 3]]), path)
    >>> print(path.read_text())
    1 2
    cat 0.1 0.33333334
    """
    words = [_encoded_word(word, path) for word in vectors.words]
    _check_dimension_is_plain(words, vectors, path)

    def lines(block: slice) -> bytes:
        rows = zip(words[block], _row_texts(vectors.matrix[block]), strict=True)
        return b"".join([b"%b %b\n" % row for row in rows])

    keep_freed_pages()
    with open_for_writing(path) as file:
        file.write(b"%d %d\n" % (len(vectors), vectors.dim))
        for text in ordered_map(
            lines, row_blocks(len(vectors), max(1, _BLOCK_NUMBERS // vectors.dim)), at_most=_MOST_THREADS
        ):
            file.write(text)


def _encoded_word(word: str, path: Path) -> bytes:
    raw = encoded(word, path, "\n\r")
    if not raw or raw != raw.strip():
        raise FippError(f"the word {word!r} cannot be written to {path}: it is empty, or has spaces around; use .npy")
    return raw


def _check_dimension_is_plain(words: list[bytes], vectors: Vectors, path: Path) -> None:
    """Refuse a vocabulary such as "Windows 3.1", "OS 4.5", …, whose rows would seem to have another dimension."""
    numbers = b" 0.0" * vectors.dim
    header = Header(len(vectors), vectors.dim)
    if dimension_of([word + numbers for word in words[:SAMPLE_ROWS]], header) != vectors.dim:
        raise FippError(
            f"the words cannot be written to {path}: too many end in a number, such as {quoted(vectors.words[0])}, "
            "which a reader would take for a part of the vector; use .npy"
        )


def _row_texts(matrix: FloatMatrix) -> Iterator[bytes]:
    """Yield the numbers of each row, separated by spaces."""
    if matrix.dtype == np.float64:
        for row in matrix.tolist():
            yield " ".join(map(repr, row)).encode()
        return
    # Half precision is written as the float32 that it is, so that either type reads it back.
    rows: npt.NDArray[np.float32] = np.ascontiguousarray(matrix, dtype=np.float32)
    yield from float32_rows(rows)
