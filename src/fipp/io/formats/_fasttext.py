"""fastText's binary models: their words, and vectors for any other word from its character n-grams."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._budget import WORD_BYTES, Budget
from fipp.io._ngrams import MAX_NGRAM, FastTextNgrams
from fipp.io._report import Inspector
from fipp.io._rows import MAPPED_BYTES
from fipp.io._table import Options, Table, assemble

FASTTEXT_MARK = struct.pack("<i", 793712314)
_VERSIONS = (11, 12)
_ARGUMENTS = struct.Struct("<12id")
_COUNTS = struct.Struct("<3i2q")
_SUPERVISED = 3
_MAX_WORD_BYTES = 1 << 12
"""The longest word; each of its n-grams takes some memory."""


class _Arguments(NamedTuple):
    """The settings of a model that decide how its vectors are made."""

    dimensions: int
    buckets: int
    shortest: int
    longest: int


def read_fasttext(path: Path, options: Options) -> Table:
    """Read the words of a fastText model; their vectors are those that fastText prints.

    The matrix is mapped into memory. Labels are left out. Quantised and pruned models are refused, because they
    approximate or lack some n-grams.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return _Model(path, content, Inspector(path, options.strict), Budget(path, options.max_bytes)).read(options)


class _Model:
    """Reads a model from beginning to end."""

    def __init__(self, path: Path, content: mmap.mmap, inspector: Inspector, budget: Budget) -> None:
        self._path = path
        self._content = content
        self._at = len(FASTTEXT_MARK)
        self._inspector = inspector
        self._budget = budget

    def read(self, options: Options) -> Table:
        (version,) = self._take(struct.Struct("<i"), "version")
        if version not in _VERSIONS:
            raise FippError(f"{self._path} is a fastText model of version {version}; fipp reads 11 and 12")
        arguments = self._read_arguments(version)
        raw = self._read_words()
        composer = self._map_matrix(arguments, len(raw))
        wanted = None if options.words is None else options.words[: options.limit]
        rows = np.arange(len(raw))[: options.limit] if wanted is None else _rows_of(wanted, raw)
        self._budget.take(4 * len(rows) * arguments.dimensions)
        chosen = [raw[row] for row in rows.tolist()]
        words = [self._inspector.decode(word, f"word {row}") for row, word in zip(rows, chosen, strict=True)]
        matrix = composer.compose(chosen, rows).matrix
        known = assemble(words, matrix, self._inspector) if words else Table((), matrix)
        table = replace(known, composer=composer)
        return table if wanted is None else table.only(wanted)

    def _read_arguments(self, version: int) -> _Arguments:
        dimensions, _, _, _, _, _, _, model, buckets, shortest, longest, _, _ = self._take(_ARGUMENTS, "settings")
        size, words, labels, _, _ = self._peek(_COUNTS, "dictionary")
        if size != words + labels:
            # floret writes the same magic number and version, but two more settings.
            size, words, labels, _, _ = self._peek(_COUNTS, "dictionary", skip=8)
            if size == words + labels:
                raise FippError(
                    f"{self._path} is floret's own binary model, which has no published layout; "
                    "write its table with model.save_floret_vectors('x.floret') and load that"
                )
            raise self._damaged("the counts of words and labels do not add up")
        if version == _VERSIONS[0] and model == _SUPERVISED:
            longest = 0  # these models have no n-grams, whatever their settings say
        if dimensions < 1 or buckets < 0 or longest > MAX_NGRAM:
            raise self._damaged(f"{dimensions} dimensions, {buckets} buckets and n-grams up to {longest} characters")
        return _Arguments(dimensions, buckets, shortest, longest)

    def _read_words(self) -> list[bytes]:
        """Return the words, which precede the labels."""
        size, count, _, _, pruned = self._take(_COUNTS, "dictionary")
        if pruned >= 0:
            raise FippError(
                f"{self._path} is a pruned model: it lacks some of the n-grams, so its vectors would be "
                "wrong; use the model from before `fasttext quantize`"
            )
        words: list[bytes] = []
        for entry in range(size):
            end = self._content.find(b"\0", self._at, self._at + _MAX_WORD_BYTES)
            if end < 0 or end + 10 > len(self._content):
                raise self._damaged(f"it ends in entry {entry:,} of {size:,} of the dictionary")
            is_word = self._content[end + 9] == 0
            if is_word != (entry < count):
                raise self._damaged(f"entry {entry:,} of the dictionary is {'a word' if is_word else 'no word'}")
            if is_word:
                # Now as bytes, later as text.
                self._budget.take(WORD_BYTES + 5 * (end - self._at))
                words.append(self._content[self._at : end])
            self._at = end + 10
        if not words:
            raise FippError(f"{self._path} holds no words")
        return words

    def _map_matrix(self, arguments: _Arguments, words: int) -> FastTextNgrams:
        (quantised,) = self._take(struct.Struct("<B"), "matrix")
        if quantised:
            raise FippError(
                f"{self._path} is a quantised model: it holds approximations of its vectors; use the model from before "
                "`fasttext quantize`"
            )
        rows, columns = self._take(struct.Struct("<2q"), "matrix")
        uses_ngrams = arguments.longest > 0 and arguments.buckets > 0
        needed = words + (arguments.buckets if uses_ngrams else 0)
        if columns != arguments.dimensions or rows < needed:
            raise self._damaged(f"its matrix is {rows:,} x {columns:,}, not {needed:,} x {arguments.dimensions:,}")
        if 4 * rows * columns > len(self._content) - self._at:
            raise FippError(
                f"{self._path} is cut short: its matrix of {rows:,} x {columns:,} numbers needs "
                f"{4 * rows * columns:,} bytes, but only {len(self._content) - self._at:,} follow"
            )
        matrix = np.memmap(self._path, dtype="<f4", mode="r", offset=self._at, shape=(rows, columns))
        lengths = max(1, arguments.shortest), max(0, arguments.longest)
        mapped = max(MAPPED_BYTES, self._budget.left)
        return FastTextNgrams(matrix, words, arguments.buckets if uses_ngrams else 0, *lengths, mapped)

    def _take(self, layout: struct.Struct, what: str) -> tuple[int, ...]:
        values = self._peek(layout, what)
        self._at += layout.size
        return values

    def _peek(self, layout: struct.Struct, what: str, skip: int = 0) -> tuple[int, ...]:
        if self._at + skip + layout.size > len(self._content):
            raise FippError(f"{self._path} is cut short: it ends in the {what}")
        return layout.unpack_from(self._content, self._at + skip)

    def _damaged(self, why: str) -> FippError:
        return FippError(f"{self._path} is a damaged fastText model: {why}")


def _rows_of(words: Sequence[str], raw: list[bytes]) -> npt.NDArray[np.int64]:
    """Return the rows of those words that the dictionary has."""
    places = {word: row for row, word in reversed(list(enumerate(raw)))}
    spelled = [word.encode("utf-8", "surrogatepass") for word in words]
    return np.array([places[word] for word in spelled if word in places], dtype=np.int64)
