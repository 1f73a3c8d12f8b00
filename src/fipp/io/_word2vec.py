"""word2vec's binary form: ``n d``, then each word, a space and its numbers as float32."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fipp.exceptions import FippError
from fipp.io._assemble import assemble
from fipp.io._report import NOT_UTF8, Inspector, counted
from fipp.io._rows import FloatMatrix, RowCollector, blocks
from fipp.io._sniff import bytes_of, is_text, is_text_row
from fipp.io._stream import DEFAULT_MAX_BYTES, MAX_LINE_BYTES, encoded, open_for_writing
from fipp.io._vectors import Vectors

_HEADER = re.compile(rb"([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]*\r?\n")
_MAX_WORD_BYTES = 1 << 16
"""Where no space comes within so many bytes, there is no word."""

_DOUBTFUL_AFTER = 50
"""From so many rows on, a file in which every other word is not UTF-8 is not believed."""


def recognises(path: Path, opening: bytes) -> bool:
    """Tell whether a file, which may be compressed, has word2vec's header and then something that is no text."""
    header = _HEADER.match(opening)
    if header is None:
        return False
    rows = opening[header.end() :]
    return not is_text(rows) and not is_text_row(rows)


def read_word2vec(
    path: Path, *, limit: int | None = None, strict: bool = False, max_bytes: int = DEFAULT_MAX_BYTES
) -> Vectors:
    r"""Read word2vec's binary form, with or without a line end after each vector, also compressed.

    The header's count is compared with what is there and never used to reserve memory. A file that ends within a row
    gives the rows before it, and the report says how many they are.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "animals.bin")
    >>> _ = path.write_bytes(b"3 2\ncat " + np.array([1, 2], "<f4").tobytes() + b"dog " + b"abc")
    >>> vectors = read_word2vec(path)
    >>> print(vectors.report.summary())
    animals.bin: 1 word x 2; the header promises 3 rows, 1 is whole in the file, which ends within another
    """
    inspector = Inspector(path, strict)
    chunks = bytes_of(path, max_bytes)
    opening = next(chunks, b"")
    header = _HEADER.match(opening)
    if header is None:
        raise FippError(f"{path} is not a word2vec file: it does not begin with the numbers of rows and dimensions")
    promised, dimensions = int(header[1]), int(header[2])
    if not 1 <= dimensions <= MAX_LINE_BYTES // 4:
        raise FippError(f"{path} cannot be read: its header says {dimensions:,} dimensions")
    rows = _Rows(path, dimensions, opening[header.end() :])
    words: list[str] = []
    collected = RowCollector(dimensions)
    for raw, matrix in rows.batches(chunks):
        words += [inspector.decode(word, f"row {row}") for row, word in enumerate(raw, len(words))]
        collected.append(matrix)
        _check_words(inspector, len(words))
        if limit is not None and len(words) >= limit:
            break
    else:
        if len(words) != promised or rows.rest:
            are = "is" if len(words) == 1 else "are"
            ending = ", which ends within another" if rows.rest else ""
            inspector.note(
                f"the header promises {counted(promised, 'row')}, {len(words):,} {are} whole in the file{ending}"
            )
    if not words:
        raise FippError(f"{path} holds no whole row of {dimensions:,} numbers")
    return assemble(words, collected.finish(), inspector, limit)


def write_word2vec(vectors: Vectors, path: Path) -> None:
    r"""Write word2vec's binary form, compressed when the name says so.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "animals.bin")
    >>> write_word2vec(Vectors(["cat"], [[1.0]]), path)
    >>> path.read_bytes()
    b'1 1\ncat \x00\x00\x80?\n'
    """
    words = [encoded(word, path, " \n") for word in vectors.words]
    long = next((word for word in words if len(word) >= _MAX_WORD_BYTES), None)
    if long is not None:
        raise FippError(f"a word of {len(long):,} bytes cannot be written to {path}; use .npz")
    with open_for_writing(path) as file:
        file.write(b"%d %d\n" % (len(vectors), vectors.dim))
        for block in blocks(len(vectors), vectors.dim):
            rows = vectors.matrix[block].astype("<f4", copy=False)
            file.write(
                b"".join(b"%b %b\n" % (word, row.tobytes()) for word, row in zip(words[block], rows, strict=True))
            )


class _Rows:
    """Cuts a stream of bytes into words and vectors."""

    def __init__(self, path: Path, dimensions: int, start: bytes) -> None:
        self.rest = start
        self._path = path
        self._dimensions = dimensions
        self._seen = 0

    def batches(self, chunks: Iterator[bytes]) -> Iterator[tuple[list[bytes], FloatMatrix]]:
        """Yield the whole rows of each chunk; afterwards ``rest`` holds what is left of an unfinished one."""
        yield self._cut()
        for chunk in chunks:
            self.rest += chunk
            yield self._cut()
        self.rest = self.rest.strip(b"\n")

    def _cut(self) -> tuple[list[bytes], FloatMatrix]:
        buffer, size = self.rest, 4 * self._dimensions
        words: list[bytes] = []
        vectors: list[bytes] = []
        at = 0
        while True:
            space = buffer.find(b" ", at, at + _MAX_WORD_BYTES)
            end = space + 1 + size
            if space < 0 or end > len(buffer):
                break
            # Some writers end each vector with a line end, others do not.
            words.append(buffer[at:space].lstrip(b"\n"))
            vectors.append(buffer[space + 1 : end])
            at = end
        self._seen += len(words)
        if space < 0 and len(buffer) - at >= _MAX_WORD_BYTES:
            raise FippError(
                f"{self._path} is damaged, or its header lies about the dimensions: no word can be found in row "
                f"{self._seen}"
            )
        self.rest = buffer[at:]
        return words, np.frombuffer(b"".join(vectors), dtype="<f4").reshape(-1, self._dimensions).astype(
            "=f4", copy=False
        )


def _check_words(inspector: Inspector, seen: int) -> None:
    """Refuse a file whose words are no text: a wrong number of dimensions makes words of what are numbers."""
    broken = inspector.count("repaired", NOT_UTF8)
    if seen >= _DOUBTFUL_AFTER and 2 * broken > seen:
        raise FippError(
            f"{inspector.path} is damaged, or its header lies about the dimensions: {broken:,} of the first {seen:,} "
            "words are not UTF-8"
        )
