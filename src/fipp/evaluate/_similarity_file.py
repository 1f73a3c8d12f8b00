"""Pairs of words with human scores of their similarity, from text in whatever layout."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from fipp.exceptions import FippError, warn
from fipp.io import MALFORMED, Inspector, counted, layout_of, number_of, read_batches

_MAX_BYTES = 1 << 28


class ScoredPair(NamedTuple):
    """Two words, and how similar people find them."""

    first: str
    second: str
    score: float


def load_similarity(path: str | os.PathLike[str], *, strict: bool = False) -> list[ScoredPair]:
    r"""Read a file of word similarity: two words and a score a line.

    Columns may be separated by tabs, commas, semicolons or white space. A column of row numbers before the words,
    columns between the words and the first number, columns behind it, a header and lines that begin with ``#`` are
    passed over.

    Parameters
    ----------
    path : str or path-like
        The file, compressed or not.
    strict : bool, default=False
        Refuse a file with a line that cannot be used; otherwise a warning tells how many were skipped.

    Returns
    -------
    list of ScoredPair

    Raises
    ------
    FippError
        If there are no two words with a number.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "similar.csv")
    >>> _ = path.write_text(",word1,word2,similarity,sd\n0,cat,tiger,7.5,1.2\n1,cat,global warming,0.3,0.5\n")
    >>> load_similarity(path)
    [ScoredPair(first='cat', second='tiger', score=7.5), ScoredPair(first='cat', second='global warming', score=0.3)]
    """
    path = Path(path)
    inspector = Inspector(path, strict)
    every_line = (line for batch in read_batches(path, _MAX_BYTES) for line in batch)
    lines = [
        # Not strip: a header may begin with an empty field.
        (number, inspector.decode(line.rstrip(b"\r"), f"line {number}"))
        for number, line in enumerate(every_line, 1)
        if line.strip() and not line.startswith(b"#")
    ]
    # A header whose first field is empty, above row numbers, would look like no pair.
    layout = layout_of([text for _, text in lines if text[0] not in ",;"], path)
    rows = [layout.split(text) for _, text in lines]
    words, score = _columns(rows[1:] or rows, layout.separator, path)
    pairs = []
    for place, ((number, text), row) in enumerate(zip(lines, rows, strict=True)):
        value = number_of(row[score], layout.separator) if len(row) > score else None
        if value is not None and row[words] and row[words + 1]:
            pairs.append(ScoredPair(row[words], row[words + 1], value))
        elif place:  # the first is the header
            inspector.skip(MALFORMED, f"line {number}", text, counted(len(row), "field"))
    remarks = inspector.report(counted(len(pairs), "pair")).summary()
    if remarks:
        warn(remarks)
    return pairs


def _columns(rows: list[list[str]], separator: str, path: Path) -> tuple[int, int]:
    """Find the column of the first word, which the second follows, and that of the score."""
    widest = max(map(len, rows), default=0)

    def is_numeric(column: int) -> bool:
        values = [number_of(row[column], separator) for row in rows if len(row) > column]
        return 2 * sum(value is not None for value in values) >= len(rows)

    numeric = [is_numeric(column) for column in range(widest)]
    words = 1 if numeric[:3] == [True, False, False] else 0
    for column in range(words + 2, widest):
        if numeric[column]:
            return words, column
    raise FippError(f"{path} has no two words with a number behind them in half of its lines or more")
