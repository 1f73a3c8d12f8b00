"""Reading vectors as text: a word and its numbers on each line, as word2vec, fastText and GloVe write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from io import BytesIO
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._budget import WORD_BYTES
from fipp.io._report import DOUBTFUL, DUPLICATE, NOT_FINITE, RAGGED, UNREADABLE, Inspector, counted
from fipp.io._rows import FloatMatrix, RowCollector, keep_freed_pages
from fipp.io._stream import Source, read_blocks
from fipp.io._table import Options, Table
from fipp.linalg import ordered_map

if TYPE_CHECKING:
    from fipp.io.formats._text_block import Parsed

SAMPLE_ROWS = 100
"""The number of rows that decide the number of dimensions."""

_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r")
_MOST_THREADS = 6
_MOST_TOGETHER = 16_384
"""The number of rows whose words are added at once, before the next ones take memory too."""


def read_text(place: Path | Source, options: Options) -> Table:
    """Read text vectors, plain or compressed, with or without the header line ``n d``.

    The header may be wrong: it is compared with the rows, and never used to reserve memory. The last ``d`` fields of a
    line are the numbers and everything before them is the word, which may contain spaces.
    """
    source = place if isinstance(place, Source) else Source(place, options.max_bytes)
    path = source.path
    inspector = Inspector(path, options.strict, options.encoding_errors)
    with closing(read_blocks(source)) as blocks:
        start = _open(blocks, path)
        lines = (line for line in BytesIO(start.block) if line.strip())
        dimension = dimension_of(list(islice(lines, SAMPLE_ROWS)), start.header)
        if dimension is None:
            raise FippError(f"{path} holds no vectors: no line is a word followed by numbers")
        if start.header is not None and start.header.dimension != dimension:
            inspector.note(f"the header says {start.header.dimension:,} dimensions, the rows have {dimension:,}")
        rows = _Rows(dimension, inspector, start.line, options)
        rows.read(chain([start.block], blocks))
    if start.header is not None and not rows.is_full and start.header.rows != rows.seen:
        inspector.note(f"the header promises {counted(start.header.rows, 'row')}, the file has {rows.seen:,}")
    return rows.finish()


class _Start(NamedTuple):
    """The beginning of a file: its header, the first block that has a row, and the line number it starts at."""

    header: Header | None
    block: bytes
    line: int


def _open(blocks: Iterator[bytes], path: Path) -> _Start:
    """Read up to the first block that has a row, and count the blank lines before it."""
    block = next(blocks, b"")
    first, _, rest = block.partition(b"\n")
    header = parse_header(first) if len(first) < 100 else None
    if header is not None:
        block = rest
    line = 1 if header is None else 2
    for text in chain([block], blocks):
        if text and not text.isspace():
            return _Start(header, text, line)
        line += text.count(b"\n")
    raise FippError(f"{path} is empty" if header is None else f"{path} has a header but no vectors")


class _Rows:
    """The words and rows collected from a text file so far."""

    def __init__(self, dimension: int, inspector: Inspector, first_line: int, options: Options) -> None:
        self.seen = 0
        self._index: dict[str, int] = {}
        self._rows = RowCollector(dimension, dtype=options.dtype, scratch=options.scratch)
        self._inspector = inspector
        self._next_line = first_line
        self._wanted = options.words
        self._wanted_bytes = None if options.words is None else frozenset(map(_as_bytes, options.words))
        limits = [options.limit, None if options.words is None else len(options.words)]
        self._limit = min((limit for limit in limits if limit is not None), default=None)
        self._max_memory = options.max_memory
        self._budget = options.budget(inspector.path)

    @property
    def is_full(self) -> bool:
        return self._limit is not None and len(self._index) >= self._limit

    def read(self, blocks: Iterator[bytes]) -> None:
        """Collect the rows of all blocks: parse on all threads, add in order."""
        from fipp.io.formats._text_block import parse_block  # which imports numba

        parse = partial(parse_block, dimension=self._rows.dimensions, dtype=self._rows.dtype, wanted=self._wanted_bytes)
        keep_freed_pages()
        while not self.is_full:
            # With a limit, read ahead no further than the missing rows need.
            some = blocks if self._limit is None or self._wanted is not None else self._enough(blocks)
            found = False
            with closing(ordered_map(parse, some, at_most=_MOST_THREADS)) as results:
                for parsed in results:
                    found = True
                    self._add(parsed)
                    if self.is_full:
                        break
            if not found:
                return

    def _enough(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        missing = (self._limit or 0) - len(self._index)
        for block in blocks:
            yield block
            missing -= block.count(b"\n")
            if missing <= 0:
                return

    def finish(self) -> Table:
        if not self._index and self._wanted is None:
            why = self._inspector.report("nothing that can be used").summary()
            raise FippError(f"{self._inspector.path} holds no vectors. {why}")
        contents = f"{counted(len(self._index), 'word')} x {self._rows.dimensions}"
        if self._wanted is not None:
            contents += f" of {len(self._wanted):,} asked for"
        report = self._inspector.report(contents)
        return Table(tuple(self._index), self._rows.finish(), report, rows_of_words=self._index)

    def _add(self, parsed: Parsed) -> None:
        """Add the rows of a block: runs of rows parsed together, and the odd lines between them one by one."""
        words, done = parsed.words, 0
        self.seen += parsed.rows - len(words)
        for line, text in parsed.odd:
            stop = int(np.searchsorted(parsed.lines, line))
            self._add_run(parsed, words, done, stop)
            done = stop
            if self.is_full:
                return
            stripped = text.strip()
            if stripped:
                self._add_one(stripped, self._next_line + line)
        self._add_run(parsed, words, done, len(words))
        self._next_line += parsed.total

    def _add_run(self, parsed: Parsed, words: list[bytes], start: int, stop: int) -> None:
        for first in range(start, stop, _MOST_TOGETHER):
            self._add_together(parsed, words, first, min(first + _MOST_TOGETHER, stop))

    def _add_together(self, parsed: Parsed, words: list[bytes], start: int, stop: int) -> None:
        raw, matrix = words[start:stop], parsed.matrix[start:stop]
        if not self._enter_together(raw, parsed.finite[start:stop]):
            lines, finite = parsed.lines[start:stop].tolist(), parsed.finite[start:stop].tolist()
            kept = [
                self._enter(word, good, self._next_line + line)
                for word, good, line in zip(raw, finite, lines, strict=True)
            ]
            matrix = matrix[kept]
        self._collect(matrix)

    def _enter_together(self, raw: list[bytes], finite: npt.NDArray[np.bool_]) -> bool:
        """Assign the next rows to words if all can be used, and return True; otherwise do nothing and return False."""
        count = len(self._index)
        if not finite.all() or (self._limit is not None and count + len(raw) > self._limit):
            return False
        try:
            words = b"\n".join(raw).decode("utf-8").split("\n")
        except UnicodeDecodeError:
            return False
        new = dict(zip(words, range(count, count + len(words)), strict=True))
        if len(new) < len(words) or not self._index.keys().isdisjoint(new):
            return False
        self._budget.take_words(words)
        self._index.update(new)
        self.seen += len(words)
        return True

    def _add_one(self, line: bytes, number: int) -> None:
        row = parse_row(line, self._rows.dimensions, self._rows.dtype)
        if self._wanted_bytes is not None and row.word not in self._wanted_bytes:
            self.seen += 1
            return
        if isinstance(row, Defect):
            self.seen += 1
            kind = UNREADABLE if row.unreadable else RAGGED
            self._inspector.skip(kind, f"line {number}", row.word.decode("utf-8", "replace"), row.detail)
            return
        if ends_in_number(row.word):
            self._inspector.doubt(DOUBTFUL, f"line {number}", row.word.decode("utf-8", "replace"))
        if self._enter(row.word, bool(np.isfinite(row.values).all()), number):
            self._collect(row.values[np.newaxis])

    def _collect(self, matrix: FloatMatrix) -> None:
        self._budget.take_numbers(matrix.nbytes)
        self._rows.append(matrix)
        needed = self._rows.nbytes + WORD_BYTES * len(self._index)
        if self._max_memory is not None and needed > self._max_memory:
            raise FippError(
                f"{self._inspector.path} holds more vectors than {self._max_memory:,} bytes of memory; "
                "limit or words takes fewer, dtype='float16' makes them smaller, max_memory sets the limit"
            )

    def _enter(self, raw: bytes, finite: bool, number: int) -> bool:
        """Assign the next row to a word and return True, or count why it cannot be used and return False."""
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
            self._budget.take_words([word])
            self._index[word] = len(self._index)
            return True
        return False


def _as_bytes(word: str) -> bytes:
    try:
        return word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # no file holds it
        return word.encode("utf-8", "surrogatepass")


class Header(NamedTuple):
    """What the first line of a word2vec file declares."""

    rows: int
    dimension: int


class Row(NamedTuple):
    """A line that can be used."""

    word: bytes
    values: FloatMatrix


class Defect(NamedTuple):
    """A line that cannot be used: it has too few numbers, or a field that is not a number."""

    word: bytes
    detail: str
    unreadable: bool


def is_text(sample: bytes) -> bool:
    """Return whether bytes look like UTF-8 text: no control characters except tabs and line ends."""
    if sample.translate(None, _CONTROLS) != sample:
        return False
    broken = sample.decode("utf-8", "replace").count("\N{REPLACEMENT CHARACTER}")
    return broken <= 1 + len(sample) // 100


def is_text_row(sample: bytes) -> bool:
    """Return whether at least half of the first line is numbers: then it is text, whatever bytes its word has."""
    line, end, _ = sample.partition(b"\n")
    fields = line.split()[: None if end else -1]
    return len(_numbers_at_end(fields)) >= max(1, len(fields) // 2)


def is_text_table(sample: bytes) -> bool:
    """Return whether bytes are text, or at least begin with a row of text, perhaps below a header."""
    _, _, after_header = sample.partition(b"\n")
    return is_text(sample) or is_text_row(sample) or is_text_row(after_header)


def parse_header(line: bytes) -> Header | None:
    """Return the header if a line is two whole numbers and nothing else."""
    fields = line.split()
    # Longer numbers are not counts, and converting them to int could take very long.
    if len(fields) == 2 and all(field.isdigit() and len(field) < 20 for field in fields):
        return Header(int(fields[0]), int(fields[1]))
    return None


def dimension_of(lines: list[bytes], header: Header | None) -> int | None:
    """Return the number of dimensions that the first rows have; None if no row has a number.

    The header is believed if half of the rows agree with it. A row whose word seems to end in whole numbers
    (``channel 4 0.1 0.2``) agrees too. Otherwise the most frequent count wins.
    """
    endings = [_numbers_at_end(line.split()) for line in lines]
    if header is not None and header.dimension > 0:
        agreeing = sum(
            len(numbers) >= header.dimension
            and all(number.isdigit() for number in numbers[: len(numbers) - header.dimension])
            for numbers in endings
        )
        if 2 * agreeing >= len(lines):
            return header.dimension
    counts = Counter(len(numbers) for numbers in endings if numbers)
    return counts.most_common(1)[0][0] if counts else None


def parse_row(line: bytes, dimension: int, dtype: npt.DTypeLike = np.float32) -> Row | Defect:
    """Parse a line: its last ``dimension`` fields are the numbers, everything before them is the word."""
    fields = line.rsplit(None, dimension)
    if len(fields) == dimension + 1:
        try:
            with np.errstate(over="ignore"):
                return Row(fields[0], np.array(list(map(float, fields[1:]))).astype(dtype))
        except ValueError:
            pass
    return _explain(line.split())


def ends_in_number(word: bytes) -> bool:
    """Return whether a word contains spaces and ends in a number: the row may have too many numbers."""
    fields = word.split()
    return len(fields) > 1 and _is_number(fields[-1]) and any(byte in b"0123456789" for byte in fields[-1])


def _explain(fields: list[bytes]) -> Defect:
    """Describe what is wrong with a row; its numbers begin at the first number after the first field."""
    start = next((i for i, field in enumerate(fields[1:], 1) if _is_number(field)), len(fields))
    word, numbers = b" ".join(fields[:start]), fields[start:]
    bad = next((field for field in numbers if not _is_number(field)), None)
    if bad is not None:
        return Defect(word, f"{bad[:40].decode('utf-8', 'replace')!r} is not a number", unreadable=True)
    return Defect(word, counted(len(numbers), "number"), unreadable=False)


def _numbers_at_end(fields: list[bytes]) -> list[bytes]:
    """Return the numbers at the end of a row, in order; the first field is a word even if it looks like a number."""
    return list(takewhile(_is_number, reversed(fields[1:])))[::-1]


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
