"""From the words and rows that a reader found to `Vectors` that can be used."""

from __future__ import annotations

from collections.abc import Sequence

from fipp.exceptions import FippError
from fipp.io._report import DUPLICATE, NOT_FINITE, Inspector, counted
from fipp.io._rows import FloatMatrix, rows_not_finite
from fipp.io._vectors import Vectors


def assemble(words: Sequence[str], matrix: FloatMatrix, inspector: Inspector, limit: int | None = None) -> Vectors:
    """Leave out rows with a NaN or an infinity and words met before, count them, and make vectors of the others.

    The matrix is copied only if something is left out. It needs a row for each word.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> rows = np.array([[1, 2], [3, 4], [np.nan, 6]], dtype=np.float32)
    >>> vectors = assemble(["cat", "cat", "dog"], rows, Inspector(Path("x.bin"), strict=False))
    >>> print(vectors.report.summary())
    x.bin: 1 word x 2; skipped 1 row with NaN or infinity (row 2, 'dog'), 1 duplicate (row 1, 'cat')
    """
    skipped = set()
    for row in rows_not_finite(matrix):
        inspector.skip(NOT_FINITE, f"row {row}", words[row])
        skipped.add(row)
    index: dict[str, int] = {}
    kept: list[int] = []
    for row, word in enumerate(words):
        if limit is not None and len(kept) >= limit:
            break
        if row in skipped:
            continue
        if word in index:
            inspector.skip(DUPLICATE, f"row {row}", word)
            continue
        index[word] = len(kept)
        kept.append(row)
    if not kept:
        raise FippError(f"{inspector.path} holds no vector that can be used")
    if len(kept) < len(matrix):
        matrix = matrix[: len(kept)] if kept[-1] == len(kept) - 1 else matrix[kept]
    report = inspector.report(f"{counted(len(kept), 'word')} x {matrix.shape[1]}")
    return Vectors._from_checked(tuple(index), matrix, index, report)
