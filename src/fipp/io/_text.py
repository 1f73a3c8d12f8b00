"""Vectors as text: a word and its numbers on each line, as word2vec, fastText and GloVe write them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fipp.exceptions import FippError
from fipp.io._report import DOUBTFUL, DUPLICATE, NOT_FINITE, RAGGED, UNREADABLE, Inspector, counted, quoted
from fipp.io._rows import FloatMatrix, RowCollector, blocks, rows_not_finite
from fipp.io._stream import DEFAULT_MAX_BYTES, GZIP_MAGIC, encoded, open_for_writing, read_batches
from fipp.io._text_row import (
    SAMPLE_ROWS,
    Defect,
    Header,
    dimension_of,
    ends_in_number,
    parse_header,
    parse_row,
    parse_together,
)
from fipp.io._vectors import Vectors


def recognises(path: Path, opening: bytes) -> bool:
    """Tell whether a file is gzipped: no other format is."""
    return opening.startswith(GZIP_MAGIC)


def read_text(
    path: Path, *, limit: int | None = None, strict: bool = False, max_bytes: int = DEFAULT_MAX_BYTES
) -> Vectors:
    r"""Read text vectors, plain or gzipped, with or without the header line ``n d``.

    The number of dimensions is what the first rows have; a header that says otherwise is reported, and its count is
    never used to reserve memory. The numbers are the last ``d`` fields of a line and the word is what comes before,
    so that a word may contain spaces. Rows that cannot be used are skipped and counted, or refused when ``strict``.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "glove.txt")
    >>> _ = path.write_text("New York 1 2\nParis 3 4\nParis 5 6\n")
    >>> vectors = read_text(path)
    >>> vectors.words
    ('New York', 'Paris')
    >>> print(vectors.report.summary())
    glove.txt: 2 words x 2; skipped 1 duplicate (line 3, 'Paris')
    """
    inspector = Inspector(path, strict)
    with closing(read_batches(path, max_bytes)) as batches:
        start = _open(batches, path)
        rows = (line for line in start.lines if line.strip())
        dimension = dimension_of(list(islice(rows, SAMPLE_ROWS)), start.header)
        if dimension is None:
            raise FippError(f"{path} holds no vectors: no line is a word followed by numbers")
        if start.header is not None and start.header.dimension != dimension:
            inspector.note(f"the header says {start.header.dimension:,} dimensions, the rows have {dimension:,}")
        table = _Table(dimension, limit, inspector, start.line)
        for lines in chain([start.lines], batches):
            table.add(lines)
            if table.is_full:
                break
    if start.header is not None and not table.is_full and start.header.rows != table.seen:
        inspector.note(f"the header promises {counted(start.header.rows, 'row')}, the file has {table.seen:,}")
    return table.finish()


class _Start(NamedTuple):
    """The beginning of a file: its header, and the first lines with a row among them, the first being ``line``."""

    header: Header | None
    lines: list[bytes]
    line: int


def _open(batches: Iterator[list[bytes]], path: Path) -> _Start:
    """Read up to the first batch with a row; of blank lines before it only the number is kept."""
    batch = next(batches, [])
    header = parse_header(batch[0]) if batch else None
    if header is not None:
        batch = batch[1:]
    line = 1 if header is None else 2
    for lines in chain([batch], batches):
        if any(map(bytes.strip, lines)):
            return _Start(header, lines, line)
        line += len(lines)
    raise FippError(f"{path} is empty" if header is None else f"{path} has a header but no vectors")


class _Table:
    """The words and rows taken from a text file so far."""

    def __init__(self, dimension: int, limit: int | None, inspector: Inspector, first_line: int) -> None:
        self.seen = 0
        self._index: dict[str, int] = {}
        self._rows = RowCollector(dimension)
        self._limit = limit
        self._inspector = inspector
        self._next_line = first_line

    @property
    def is_full(self) -> bool:
        return self._limit is not None and len(self._index) >= self._limit

    def add(self, lines: list[bytes]) -> None:
        """Take the rows of a batch of lines: in one call when all are as expected, one by one otherwise."""
        numbered = [(number, line.strip()) for number, line in enumerate(lines, self._next_line)]
        numbered = [(number, line) for number, line in numbered if line]
        self._next_line += len(lines)
        together = parse_together([line for _, line in numbered], self._rows.dimensions)
        if together is not None:
            words, matrix = together
            not_finite = set(rows_not_finite(matrix))
            kept = [self._enter(words[i], i not in not_finite, number) for i, (number, _) in enumerate(numbered)]
            self._rows.append(matrix if all(kept) else matrix[kept])
            return
        for number, line in numbered:
            if self.is_full:
                break
            self._add_one(line, number)

    def finish(self) -> Vectors:
        if not self._index:
            why = self._inspector.report("nothing that can be used").summary()
            raise FippError(f"{self._inspector.path} holds no vectors. {why}")
        report = self._inspector.report(f"{counted(len(self._index), 'word')} x {self._rows.dimensions}")
        return Vectors._from_checked(tuple(self._index), self._rows.finish(), self._index, report)

    def _add_one(self, line: bytes, number: int) -> None:
        row = parse_row(line, self._rows.dimensions)
        if isinstance(row, Defect):
            self.seen += 1
            kind = UNREADABLE if row.unreadable else RAGGED
            self._inspector.skip(kind, f"line {number}", row.word.decode("utf-8", "replace"), row.detail)
            return
        if ends_in_number(row.word):
            self._inspector.doubt(DOUBTFUL, f"line {number}", row.word.decode("utf-8", "replace"))
        if self._enter(row.word, bool(np.isfinite(row.values).all()), number):
            self._rows.append(row.values[np.newaxis])

    def _enter(self, raw: bytes, finite: bool, number: int) -> bool:
        """Give a word the next row; say whether it could be used."""
        if self.is_full:
            return False
        self.seen += 1
        where = f"line {number}"
        word = self._inspector.decode(raw, where)
        if not finite:
            self._inspector.skip(NOT_FINITE, where, word)
        elif word in self._index:
            self._inspector.skip(DUPLICATE, where, word)
        else:
            self._index[word] = len(self._index)
            return True
        return False


def write_text(vectors: Vectors, path: Path) -> None:
    """Write text vectors with a header, gzipped when the name ends in ``.gz``.

    Each number is the shortest text that every reader turns into the same float32.

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
    with open_for_writing(path) as file:
        file.write(b"%d %d\n" % (len(vectors), vectors.dim))
        for block in blocks(len(vectors), vectors.dim):
            rows = _number_texts(vectors.matrix[block])
            for word, row in zip(words[block], rows, strict=True):
                file.write(b"%b %b\n" % (word, " ".join(row).encode()))


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


def _number_texts(matrix: FloatMatrix) -> Iterator[list[str]]:
    """Yield the texts of the numbers of each row."""
    size = np.abs(matrix)
    # Most readers turn the text into a double and that into a float32. Rounding twice can miss the number when its
    # shortest text lies within a double's precision of the middle between two float32, as 7.038531e-26 does. With 9
    # digits and at most 12 of them after the point that cannot be: k/10¹² and m/2ᵖ, m < 2²⁵, differ by at least one
    # part in 5¹²·2²⁵ < 2⁵³. So only the numbers outside these bounds need to be tried.
    rare = ((size < 1e-4) & (size > 0)) | (size > 1e15)
    for row, is_rare in zip(matrix, rare, strict=True):
        texts = list(map(str, row))
        for column in np.flatnonzero(is_rare).tolist():
            if np.float32(float(texts[column])) != row[column]:
                texts[column] = f"{float(row[column]):.9g}"
        yield texts
