"""word2vec's binary format: ``n d``, then each word, a space and its numbers as float32."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fipp.exceptions import FippError
from fipp.io._report import NOT_UTF8, Inspector, counted
from fipp.io._rows import BLOCK_NUMBERS, FloatMatrix, RowCollector
from fipp.io._stream import MAX_LINE_BYTES, Source, encoded, open_for_writing
from fipp.io._table import Options, Table, assemble
from fipp.io.formats._text import is_text, is_text_row

_HEADER = re.compile(rb"([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]*\r?\n")
_MAX_WORD_BYTES = 1 << 16
"""The longest word: without a space within this many bytes, the file is damaged."""

_DOUBTFUL_AFTER = 50
"""After this many rows, a file in which every other word is not UTF-8 is refused."""


def recognises_word2vec(path: Path, opening: bytes) -> bool:
    """Return whether the content has word2vec's header followed by something other than text."""
    header = _HEADER.match(opening)
    if header is None:
        return False
    rows = opening[header.end() :]
    return not is_text(rows) and not is_text_row(rows)


def read_word2vec(path: Path, options: Options) -> Table:
    """Read word2vec's binary format, with or without a line end after each vector.

    The header's count is compared with the rows found and never used to reserve memory.
    """
    inspector = Inspector(path, options.strict)
    budget = options.budget(path)
    words: list[str] = []
    with Source(path, options.max_bytes) as source:
        chunks = source.chunks()
        opening = next(chunks, b"")
        header = _HEADER.match(opening)
        if header is None:
            raise FippError(f"{path} is not a word2vec file: it does not begin with the numbers of rows and dimensions")
        promised, dimensions = int(header[1]), int(header[2])
        if not 1 <= dimensions <= MAX_LINE_BYTES // 4:
            raise FippError(f"{path} cannot be read: its header says {dimensions:,} dimensions")
        rows = _Rows(path, dimensions, opening[header.end() :])
        collected = RowCollector(dimensions, scratch=options.scratch)
        for raw, matrix in rows.batches(chunks):
            found = [inspector.decode(word, f"row {row}") for row, word in enumerate(raw, len(words))]
            budget.take_words(found)
            budget.take_numbers(matrix.nbytes)
            words += found
            collected.append(matrix)
            _check_words(inspector, len(words))
            if options.limit is not None and len(words) >= options.limit:
                break
        else:
            _check_count(len(words), promised, bool(rows.rest), inspector)
    if not words:
        raise FippError(f"{path} holds no whole row of {dimensions:,} numbers")
    return assemble(words, collected.finish(), inspector, options.limit, options.scratch)


def write_word2vec(table: Table, path: Path) -> None:
    """Write word2vec's binary format, compressed if the name says so."""
    words = [encoded(word, path, " \n") for word in table.words]
    long = next((word for word in words if len(word) >= _MAX_WORD_BYTES), None)
    if long is not None:
        raise FippError(f"a word of {len(long):,} bytes cannot be written to {path}; use .npz")
    with open_for_writing(path) as file:
        file.write(b"%d %d\n" % (len(table), table.dim))
        for block in table.blocks(BLOCK_NUMBERS):
            rows = table.rows(block).astype("<f4", copy=False)
            file.write(
                b"".join(b"%b %b\n" % (word, row.tobytes()) for word, row in zip(words[block], rows, strict=True))
            )


class _Rows:
    """Splits a stream of bytes into words and vectors."""

    def __init__(self, path: Path, dimensions: int, start: bytes) -> None:
        self.rest = start
        self._path = path
        self._dimensions = dimensions
        self._seen = 0

    def batches(self, chunks: Iterator[bytes]) -> Iterator[tuple[list[bytes], FloatMatrix]]:
        """Yield the whole rows of each chunk; afterwards ``rest`` holds the beginning of an unfinished row."""
        yield self._split()
        for chunk in chunks:
            self.rest += chunk
            yield self._split()
        self.rest = self.rest.strip(b"\n")

    def _split(self) -> tuple[list[bytes], FloatMatrix]:
        buffer, size = self.rest, 4 * self._dimensions
        words: list[bytes] = []
        vectors: list[bytes] = []
        at = 0
        while True:
            space = buffer.find(b" ", at, at + _MAX_WORD_BYTES)
            end = space + 1 + size
            if space < 0 or end > len(buffer):
                break
            # Some writers put a line end after each vector.
            words.append(buffer[at:space].lstrip(b"\n"))
            vectors.append(buffer[space + 1 : end])
            at = end
        self._seen += len(words)
        if space < 0 and len(buffer) - at >= _MAX_WORD_BYTES:
            raise FippError(
                f"{self._path} is damaged, or its header has a wrong number of dimensions: no word can be found in row "
                f"{self._seen}"
            )
        self.rest = buffer[at:]
        matrix = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(-1, self._dimensions)
        return words, matrix.astype("=f4", copy=False)


def _check_words(inspector: Inspector, seen: int) -> None:
    """Refuse a file whose words are not text: a wrong number of dimensions turns numbers into words."""
    broken = inspector.count("repaired", NOT_UTF8)
    if seen >= _DOUBTFUL_AFTER and 2 * broken > seen:
        raise FippError(
            f"{inspector.path} is damaged, or its header has a wrong number of dimensions: {broken:,} of the first "
            f"{seen:,} words are not UTF-8"
        )


def _check_count(whole: int, promised: int, has_rest: bool, inspector: Inspector) -> None:
    if whole != promised or has_rest:
        ending = ", which ends within another" if has_rest else ""
        are = "is" if whole == 1 else "are"
        inspector.note(f"the header promises {counted(promised, 'row')}, {whole:,} {are} whole in the file{ending}")
