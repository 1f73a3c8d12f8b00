"""Words and their vectors."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from fipp.exceptions import FippError
from fipp.io._exchange import Exchange
from fipp.io._report import LoadReport, quoted
from fipp.io._rows import FloatMatrix, as_floats, blocks, rows_not_finite
from fipp.io._stream import DEFAULT_MAX_BYTES
from fipp.io._words import Variants, WordNotFoundError, as_strings, index_of_unique


class Vectors(Exchange):
    """A vocabulary: unique words, and a matrix with the vector of each word in its row.

    The words may be any ids: documents, entities, products. The matrix is read-only and float32, unless another float
    type is asked for; one of that type already is not copied (it may be a memory map), others are converted.

    Parameters
    ----------
    words : sequence of str
        The words, no two equal.
    matrix : array-like of shape (n, d)
        A finite number for each word and dimension.
    dtype : {"float32", "float16", "float64"}
        The type of the numbers. Half precision takes half the memory; aligners calculate with float32 either way.

    Attributes
    ----------
    report : LoadReport or None
        What was skipped or repaired when these vectors were read from a file.

    Examples
    --------
    >>> vectors = Vectors(["cat", "dog"], [[1.0, 0.0], [0.5, 2.0]])
    >>> vectors
    Vectors(2 words, 2 dimensions)
    >>> vectors["dog"]
    array([0.5, 2. ], dtype=float32)
    >>> "cat" in vectors, len(vectors), vectors.dim
    (True, 2, 2)
    """

    def __init__(
        self,
        words: Sequence[str] | npt.NDArray[np.str_],
        matrix: npt.ArrayLike,
        dtype: npt.DTypeLike = np.float32,
    ) -> None:
        rows = as_floats(matrix, dtype)
        names = as_strings(words)
        if len(names) != len(rows):
            raise FippError(f"there are {len(names):,} words but {len(rows):,} rows in the matrix")
        index = index_of_unique(names)
        for row in rows_not_finite(rows):
            what = "a NaN" if np.isnan(rows[row]).any() else f"an infinity, or a number too large for {rows.dtype}"
            raise FippError(f"row {row} ({quoted(names[row])}) has {what}; drop or repair it first")
        self._take(names, rows, index, None)

    @classmethod
    def _from_checked(
        cls,
        words: tuple[str, ...],
        matrix: FloatMatrix,
        index: dict[str, int] | None = None,
        report: LoadReport | None = None,
    ) -> Vectors:
        """Make vectors of parts that a reader or another `Vectors` has checked already."""
        vectors = cls.__new__(cls)
        vectors._take(words, matrix, index, report)
        return vectors

    def _take(
        self, words: tuple[str, ...], matrix: FloatMatrix, index: dict[str, int] | None, report: LoadReport | None
    ) -> None:
        view = matrix.view()
        view.flags.writeable = False
        self._words = words
        self._matrix = view
        self._rows_of_words = index
        self._variants: Variants | None = None
        self._checksum: str | None = None
        self.report = report

    @property
    def _index(self) -> dict[str, int]:
        if self._rows_of_words is None:  # made when it is needed: vectors from a cache are there at once
            self._rows_of_words = dict(zip(self._words, range(len(self._words)), strict=True))
        return self._rows_of_words

    @property
    def words(self) -> tuple[str, ...]:
        """The words in the order of the rows."""
        return self._words

    @property
    def matrix(self) -> FloatMatrix:
        """The vectors, one a row; read-only."""
        return self._matrix

    @property
    def dim(self) -> int:
        """The number of dimensions."""
        return int(self._matrix.shape[1])

    def __len__(self) -> int:
        return len(self._words)

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def __contains__(self, word: object) -> bool:
        return word in self._index

    def __getitem__(self, word: str) -> FloatMatrix:
        return self._matrix[self.index(word)]

    def __repr__(self) -> str:
        return f"Vectors({len(self)} words, {self.dim} dimensions)"

    def index(self, word: str) -> int:
        """Return the row of exactly this word.

        Raises
        ------
        FippError
            If there is no such word; the error is a KeyError as well.

        Examples
        --------
        >>> vectors = Vectors(["cat", "dog"], [[1.0, 0.0], [0.5, 2.0]])
        >>> vectors.index("dog")
        1
        >>> vectors.index("Dog")
        Traceback (most recent call last):
        fipp.io._words.WordNotFoundError: the word 'Dog' is not among the 2 words; there is 'dog'
        """
        try:
            return self._index[word]
        except KeyError:
            pass
        similar = self.find([word])[0] if isinstance(word, str) else -1
        hint = f"; there is {quoted(self._words[similar])}" if similar >= 0 else ""
        raise WordNotFoundError(f"the word {word!r} is not among the {len(self):,} words{hint}")

    def find(self, words: Iterable[str]) -> npt.NDArray[np.int64]:
        """Return the row of each word, -1 for a word that is absent in every spelling.

        A word is sought as it is, then in composed Unicode (NFC, so that ``é`` is found whether it is one character
        or two), then in lower case, and last in any case: the first row that differs in nothing else.

        Parameters
        ----------
        words : iterable of str
            The words to look up.

        Returns
        -------
        ndarray of int64
            A row for each word.

        Examples
        --------
        >>> vectors = Vectors(["paris", "US", "us"], [[1.0], [2.0], [3.0]])
        >>> vectors.find(["Paris", "US", "us", "Us", "london"])
        array([ 0,  1,  2,  2, -1])
        """
        if isinstance(words, str):
            raise FippError(f"find takes several words; for one write find([{words!r}])")
        rows = [self._find_one(word) for word in words]
        return np.array(rows, dtype=np.int64)

    def _find_one(self, word: str) -> int:
        row = self._index.get(word)
        if row is not None:
            return row
        if self._variants is None:  # many lookups never need it
            self._variants = Variants(self._words)
        return self._variants.find(word, self._index)

    def head(self, count: int) -> Vectors:
        """Return the first ``count`` rows, which share the memory of these.

        Examples
        --------
        >>> Vectors(["cat", "dog"], [[1.0], [2.0]]).head(1).words
        ('cat',)
        """
        if count < 0:
            raise FippError(f"head takes a number of rows, not {count}")
        return Vectors._from_checked(self._words[:count], self._matrix[:count], report=self.report)

    def rows(self, indices: npt.ArrayLike) -> Vectors:
        """Return the rows with these numbers, in this order, or those where a boolean mask is true.

        Examples
        --------
        >>> Vectors(["cat", "dog", "cow"], [[1.0], [2.0], [3.0]]).rows([2, 0]).words
        ('cow', 'cat')
        """
        numbers = np.asarray(indices)
        if numbers.dtype == bool and numbers.shape == (len(self),):
            numbers = np.flatnonzero(numbers)
        if numbers.size == 0:
            numbers = numbers.astype(np.int64)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise FippError("rows takes row numbers, or a mask with a boolean for each row")
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < len(self)):
            raise FippError(f"row numbers must lie between 0 and {len(self) - 1}")
        words = tuple(self._words[row] for row in numbers.tolist())
        return Vectors._from_checked(words, self._matrix[numbers], index_of_unique(words), self.report)

    def astype(self, dtype: npt.DTypeLike) -> Vectors:
        """Return the same vectors with numbers of another type: ``"float16"``, ``"float32"`` or ``"float64"``.

        Examples
        --------
        >>> Vectors(["cat"], [[1.0, 0.1]]).astype("float16").matrix
        array([[1.  , 0.1]], dtype=float16)
        """
        matrix = as_floats(self._matrix, dtype)
        for row in rows_not_finite(matrix):
            raise FippError(f"row {row} ({quoted(self._words[row])}) has a number too large for {matrix.dtype}")
        return Vectors._from_checked(self._words, matrix, self._rows_of_words, self.report)

    @property
    def checksum(self) -> str:
        """A SHA-256 of words and numbers, in hexadecimal: the same on every machine, whatever the file format.

        Examples
        --------
        >>> Vectors(["cat"], [[1.0]]).checksum == Vectors(["cat"], [[1]]).checksum
        True
        """
        if self._checksum is None:
            self._checksum = _checksum(self._words, self._matrix)
        return self._checksum

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | BinaryIO,
        limit: int | None = None,
        strict: bool = False,
        *,
        words: Iterable[str] | None = None,
        dtype: npt.DTypeLike = np.float32,
        encoding_errors: str = "replace",
        max_bytes: int = DEFAULT_MAX_BYTES,
        max_memory: int | float | str | None = None,
        cache: bool | str | os.PathLike[str] = True,
    ) -> Vectors:
        r"""Read vectors from a file or folder whose format is told by its content, or else by its name.

        Text and binary files of word2vec, fastText models (which give `SubwordVectors`) and text, GloVe, floret
        tables, ``.npy`` with words one a line in ``.txt`` beside it, ``.npz``, safetensors, Parquet, Arrow and Feather
        (with ``fipp[arrow]``), folders of spaCy and model2vec. Any file may be compressed by gzip, bzip2, xz or
        Zstandard, whatever its name. Nothing is ever unpickled.

        Parameters
        ----------
        path : str, path-like or binary file object
            The file; ``"-"`` is standard input.
        limit : int, optional
            Take at most this many words from the start of the file, and read no more of it than that needs.
        strict : bool, default=False
            Refuse a file with a row that cannot be used; otherwise such rows are skipped and counted in ``report``.
        words : iterable of str, optional
            Take only these words, in the order of the file; reading text ends when all are found, and other rows are
            passed over unexamined. A floret table, which has no words of its own and so needs them, and a fastText
            model make vectors for all of them, in the order asked for.
        dtype : {"float32", "float16", "float64"}, default="float32"
            The type of the numbers. Text is read as the float64 nearest to it and rounded to this type.
        encoding_errors : {"replace", "strict", "surrogateescape"}, default="replace"
            What to do with words that are not UTF-8: put replacement characters and count them, refuse the file, or
            keep the bytes as Python does in file names.
        max_bytes : int, default=64 GiB
            Refuse a file with more bytes than this, decompressed.
        max_memory : int or str, optional
            Refuse text whose vectors take more memory than this, such as ``"4GB"``.
        cache : bool or path-like, default=True
            Keep what was parsed from large text and compressed files in the user's cache folder, or the folder given,
            so that the next load is immediate. The environment variable ``FIPP_CACHE`` names another folder, or says
            ``off``; all caches together take at most ``FIPP_CACHE_SIZE`` (10 GiB), the oldest go first. A cache is
            used only while the file is unchanged.

        Returns
        -------
        Vectors
            With the reader's findings in ``report``.

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "animals.vec")
        >>> _ = path.write_text("3 2\ncat 1 0\ndog 0.5 2\ncow 7\n")
        >>> vectors = Vectors.load(path)
        >>> vectors.words
        ('cat', 'dog')
        >>> print(vectors.report.summary())
        animals.vec: 2 words x 2; skipped 1 ragged row (line 4, 'cow', 1 number)
        >>> with open(path, "rb") as file:
        ...     Vectors.load(file, words=["dog", "bird"]).words
        ('dog',)
        """
        # Imported here because every format imports Vectors.
        from fipp.io._load import check_options, load

        options = check_options(
            limit=limit,
            strict=strict,
            words=words,
            dtype=dtype,
            encoding_errors=encoding_errors,
            max_bytes=max_bytes,
            max_memory=max_memory,
            cache=cache,
        )
        return load(path, options)

    def _only(self, words: list[str]) -> Vectors:
        """Return the rows of those words that are there, in the order of the rows."""
        return self.rows(sorted(self._index[word] for word in words if word in self._index))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vectors, in the format that the file's name tells; reading them gives equal numbers.

        Text is compressed when the name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "animals.vec")
        >>> Vectors(["cat", "dog"], [[1.0, 0.0], [0.5, 2.0]]).save(path)
        >>> print(path.read_text())
        2 2
        cat 1.0 0.0
        dog 0.5 2.0
        """
        from fipp.io._formats import format_to_write

        if len(self) == 0:
            raise FippError(f"there are no vectors to write to {path}")
        path = Path(path)
        chosen = format_to_write(path)
        assert chosen.write is not None  # every format with a name has a writer
        chosen.write(self, path)


def _checksum(words: tuple[str, ...], matrix: FloatMatrix) -> str:
    digest = hashlib.sha256(f"{matrix.dtype.name} {matrix.shape[0]} {matrix.shape[1]}\n".encode())
    little_endian = matrix.dtype.newbyteorder("<")
    for block in blocks(*matrix.shape):
        digest.update(np.ascontiguousarray(matrix[block], dtype=little_endian).tobytes())
    # The lengths go first: otherwise ["ab", "c"] and ["a", "bc"] would look alike.
    spelled = [word.encode("utf-8", "surrogatepass") for word in words]
    digest.update(np.array([len(word) for word in spelled], dtype="<u4").tobytes())
    digest.update(b"".join(spelled))
    return digest.hexdigest()
