"""What every reader is given and what it returns: `Options` and a `Table`, from which `Vectors` are made.

Readers and writers know tables only, so that `Vectors`, which load and save themselves, can import them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fipp._progress import Progress, Steps
from fipp._validation import rows_not_finite
from fipp.exceptions import FippError, warn
from fipp.io._budget import Budget, bytes_allowed
from fipp.io._ngrams import Composer
from fipp.io._report import DUPLICATE, NOT_FINITE, Inspector, LoadReport, counted, quoted
from fipp.io._rows import FloatMatrix, as_floats, blocks, read_rows_not_finite, release_pages, take_rows
from fipp.linalg import BLOCK_ROWS

_FLOAT32: np.dtype[Any] = np.dtype(np.float32)
_ENCODING_ERRORS = ("replace", "strict", "surrogateescape")


class WordNotFoundError(FippError, KeyError):
    """A word is not in the vocabulary; also a KeyError, for code that treats `Vectors` like a dict."""

    # KeyError would print the message's repr.
    __str__ = Exception.__str__


@dataclass(frozen=True)
class Options:
    """The options of `Vectors.load` that readers use; ``words`` are unique, in the order asked for."""

    limit: int | None = None
    strict: bool = False
    words: tuple[str, ...] | None = None
    dtype: np.dtype[Any] = _FLOAT32
    encoding_errors: str = "replace"
    max_bytes: int = field(default_factory=lambda: bytes_allowed(None))
    max_memory: int | None = None
    scratch: Path | None = None

    def budget(self, path: Path) -> Budget:
        """Return what reading a file may take of the machine's memory."""
        return Budget(path, self.max_bytes, on_disk=self.scratch is not None)

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise FippError(f"limit must be at least 1, not {self.limit}")
        if self.encoding_errors not in _ENCODING_ERRORS:
            raise FippError(
                f"encoding_errors must be one of {', '.join(_ENCODING_ERRORS)}, not {self.encoding_errors!r}"
            )


def wanted_words(words: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return each word once; raise a FippError if they are one text, or not text."""
    if isinstance(words, str):
        raise FippError(f"words takes several words; for one write words=[{words!r}]")
    wanted = None if words is None else tuple(dict.fromkeys(words))
    for word in wanted or ():
        if not isinstance(word, str):
            raise FippError(f"words must be text, but one is {word!r}")
    return wanted


@dataclass(eq=False)
class Table:
    """Unique words, a finite read-only matrix with one row per word, and what the reader reported.

    ``composer`` makes vectors for words without a row; ``rows_of_words`` is the index, if it is known already;
    ``progress`` is told how many rows have been written.
    """

    words: tuple[str, ...]
    matrix: FloatMatrix
    report: LoadReport | None = None
    composer: Composer | None = None
    rows_of_words: dict[str, int] | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        self.matrix = self.matrix.view()
        self.matrix.flags.writeable = False

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dim(self) -> int:
        """The number of dimensions."""
        return int(self.matrix.shape[1])

    @property
    def index(self) -> dict[str, int]:
        """The row of each word, made on first use so that vectors from a cache load at once."""
        if self.rows_of_words is None:
            self.rows_of_words = dict(zip(self.words, range(len(self.words)), strict=True))
        return self.rows_of_words

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return self.matrix.dtype

    def blocks(self, numbers: int) -> Iterator[slice]:
        """Split the rows into slices of about so many numbers, to be written one after the other."""
        return self._counted(blocks(len(self), self.dim, numbers))

    def _counted(self, slices: Iterator[slice]) -> Iterator[slice]:
        steps = Steps(self.progress, len(self))
        for block in slices:
            yield block
            steps(block.stop - block.start)

    def rows(self, block: slice) -> FloatMatrix:
        """Return the numbers of some rows, as they are written."""
        return self.matrix[block]

    def take(self, rows: slice | list[int] | npt.NDArray[Any]) -> Table:
        """Return some rows, in the order asked for. A slice shares memory; row numbers must be unique."""
        if isinstance(rows, slice):
            return replace(self, words=self.words[rows], matrix=self.matrix[rows], rows_of_words=None)
        numbers = np.asarray(rows, dtype=np.int64)
        words = tuple(self.words[row] for row in numbers.tolist())
        return replace(self, words=words, matrix=self.matrix[numbers], rows_of_words=index_of_unique(words))

    def astype(self, dtype: npt.DTypeLike) -> Table:
        """Return the rows as another float type; raise a FippError if a number is too large for it."""
        matrix = as_floats(self.matrix, dtype)
        for row in read_rows_not_finite(matrix):
            raise FippError(f"row {row} ({quoted(self.words[row])}) has a number too large for {matrix.dtype}")
        return replace(self, matrix=matrix, composer=None)

    def only(self, words: Sequence[str]) -> Table:
        """Return the rows of unique words: those present, in row order; with a composer all, in the given order."""
        known = self.take(sorted(self.index[word] for word in words if word in self.index))
        if self.composer is None:
            return known
        made = known.with_words(words)
        return made.take([made.index[word] for word in words if word in made.index])

    def with_words(self, words: Iterable[str]) -> Table:
        """Append rows that the composer makes for the words that have none."""
        assert self.composer is not None
        new = as_strings([word for word in dict.fromkeys(words) if word not in self.index])
        if not new:
            return self
        added, matrix = compose(new, self.composer)
        return replace(self, words=self.words + added, matrix=np.concatenate([self.matrix, matrix]), rows_of_words=None)


@dataclass(eq=False)
class MappedTable(Table):
    """A table whose rows pass through a function when they are written, so that the result is never all in memory."""

    transform: Callable[[FloatMatrix], npt.ArrayLike] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._dim = as_floats(self.transform(self.matrix[:1])).shape[1]

    @property
    def dim(self) -> int:
        """The number of dimensions that the function returns."""
        return self._dim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type that is written."""
        return _FLOAT32

    def blocks(self, numbers: int) -> Iterator[slice]:
        """Split the rows as aligners do, whose products may differ in the last bit for other numbers of rows."""
        return self._counted(blocks(len(self), 1, max(1, numbers // (BLOCK_ROWS * self.dim)) * BLOCK_ROWS))

    def rows(self, block: slice) -> FloatMatrix:
        """Return what the function returns for some rows; raise a FippError if it is not as many finite rows."""
        found = as_floats(self.transform(self.matrix[block]))
        release_pages(self.matrix)
        if found.shape != (block.stop - block.start, self.dim):
            raise FippError(f"the function must return a row for each row, but returned an array of {found.shape}")
        for row in rows_not_finite(found):
            row += block.start
            raise FippError(f"row {row} ({quoted(self.words[row])}) has a NaN or an infinity after the function")
        return found


def compose(words: Sequence[str], composer: Composer) -> tuple[tuple[str, ...], FloatMatrix]:
    """Make vectors for unique words; warn about words that have none and leave them out."""
    composed, known = composer.compose([word.encode("utf-8", "surrogatepass") for word in words])
    good = known & np.isfinite(composed).all(axis=1)
    if good.all():
        return tuple(words), composed
    missing = [words[row] for row in np.flatnonzero(~good).tolist()]
    warn(
        f"no vector can be made for {counted(len(missing), 'word')} such as {quoted(missing[0])}: it has no "
        "n-grams, or numbers too large for float32"
    )
    return tuple(words[row] for row in np.flatnonzero(good).tolist()), composed[good]


def assemble(
    words: Sequence[str],
    matrix: FloatMatrix,
    inspector: Inspector,
    limit: int | None = None,
    scratch: Path | None = None,
) -> Table:
    """Make a table from the rows a reader found; skip and count rows with NaN or infinity, and repeated words.

    The matrix is copied only if a row is skipped, to a file in the folder ``scratch`` if there is one.
    """
    skipped = set()
    for row in read_rows_not_finite(matrix):
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
        matrix = matrix[: len(kept)] if kept[-1] == len(kept) - 1 else take_rows(matrix, kept, scratch)
    report = inspector.report(f"{counted(len(kept), 'word')} x {matrix.shape[1]}")
    return Table(tuple(index), matrix, report, rows_of_words=index)


def fold(word: str) -> str:
    """Return the form of a word in which case and Unicode composition make no difference."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", word).casefold())


class Variants:
    """The rows of words by their composed form and by their folded form."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._composed: dict[str, int] = {}
        self._folded: dict[str, int] = {}
        for row, word in enumerate(words):
            if not unicodedata.is_normalized("NFC", word):
                self._composed.setdefault(unicodedata.normalize("NFC", word), row)
            self._folded.setdefault(fold(word), row)

    def find(self, word: str, exact: dict[str, int]) -> int:
        """Return the row of the nearest spelling of ``word``, -1 if there is none; ``exact`` has the rows by word."""
        composed = unicodedata.normalize("NFC", word)
        for spelling in (composed, composed.lower()):
            for index in (exact, self._composed):
                if spelling in index:
                    return index[spelling]
        return self._folded.get(fold(word), -1)


def as_strings(words: Sequence[str] | npt.NDArray[np.str_]) -> tuple[str, ...]:
    """Return words as a tuple; raise a FippError if one is not text."""
    names = tuple(words.tolist() if isinstance(words, np.ndarray) else words)
    for row, name in enumerate(names):
        if not isinstance(name, str):
            raise FippError(f"words must be text, but the word of row {row} is {name!r}")
    return names


def index_of_unique(words: tuple[str, ...]) -> dict[str, int]:
    """Return the row of each word; raise a FippError that names a repeated word and its rows."""
    index = {word: row for row, word in enumerate(words)}
    if len(index) < len(words):
        first: dict[str, int] = {}
        for row, word in enumerate(words):
            if first.setdefault(word, row) != row:
                raise FippError(f"the word {quoted(word)} is in rows {first[word]} and {row}; words must be unique")
    return index
