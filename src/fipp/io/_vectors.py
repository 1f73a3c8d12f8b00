"""Words and their vectors, and vectors for words that have none."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from fipp._progress import Progress
from fipp.exceptions import FippError
from fipp.io._budget import bytes_allowed
from fipp.io._cache import load_table
from fipp.io._report import LoadReport, quoted
from fipp.io._rows import FloatMatrix, as_floats, blocks, float_type, read_rows_not_finite
from fipp.io._table import (
    MappedTable,
    Options,
    Table,
    Variants,
    WordNotFoundError,
    as_strings,
    index_of_unique,
    wanted_words,
)
from fipp.io.formats import format_to_write
from fipp.io.formats._gensim import from_gensim, to_gensim
from fipp.io.formats._model2vec import from_model2vec
from fipp.io.formats._spacy import from_spacy
from fipp.io.seeds import nearest_spellings
from fipp.linalg import parse_memory


class Vectors:
    """A vocabulary: unique words, and a matrix whose rows are their vectors.

    The words may be any ids: documents, entities, products. The matrix is read-only. A matrix that already has the
    requested type is not copied (it may be a memory map); any other is converted.

    Parameters
    ----------
    words : sequence of str
        The words, all different.
    matrix : array-like of shape (n, d)
        Finite numbers, one row per word.
    dtype : {"float32", "float16", "float64"}
        The type of the numbers. Half precision takes half the memory; aligners compute with float32 either way.

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
        self, words: Sequence[str] | npt.NDArray[np.str_], matrix: npt.ArrayLike, dtype: npt.DTypeLike = np.float32
    ) -> None:
        rows = as_floats(matrix, dtype)
        names = as_strings(words)
        if len(names) != len(rows):
            raise FippError(f"there are {len(names):,} words but {len(rows):,} rows in the matrix")
        index = index_of_unique(names)
        for row in read_rows_not_finite(rows):
            what = "a NaN" if np.isnan(rows[row]).any() else f"an infinity, or a number too large for {rows.dtype}"
            raise FippError(f"row {row} ({quoted(names[row])}) has {what}; drop or repair it first")
        self._set_table(Table(names, rows, rows_of_words=index))

    @staticmethod
    def _from_table(table: Table) -> Vectors:
        """Wrap a table; with a composer it becomes `SubwordVectors`."""
        vectors = object.__new__(Vectors if table.composer is None else SubwordVectors)
        vectors._set_table(table)
        return vectors

    def _set_table(self, table: Table) -> None:
        self._table = table
        self._variants: Variants | None = None
        self._checksum: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The words in the order of the rows."""
        return self._table.words

    @property
    def matrix(self) -> FloatMatrix:
        """The vectors, one per row; read-only."""
        return self._table.matrix

    @property
    def report(self) -> LoadReport | None:
        """What was skipped or repaired when these vectors were read from a file."""
        return self._table.report

    @property
    def dim(self) -> int:
        """The number of dimensions."""
        return self._table.dim

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._table.index

    def __getitem__(self, word: str) -> FloatMatrix:
        return self.matrix[self.index(word)]

    def __repr__(self) -> str:
        return f"Vectors({len(self)} words, {self.dim} dimensions)"

    def index(self, word: str) -> int:
        """Return the row of exactly this word.

        Raises
        ------
        FippError
            If there is no such word; the error is also a KeyError.

        Examples
        --------
        >>> vectors = Vectors(["cat", "dog"], [[1.0, 0.0], [0.5, 2.0]])
        >>> vectors.index("dog")
        1
        >>> vectors.index("Dog")
        Traceback (most recent call last):
        fipp.io._table.WordNotFoundError: the word 'Dog' is not among the 2 words; there is 'dog'
        """
        try:
            return self._table.index[word]
        except KeyError:
            pass
        similar = self.find([word])[0] if isinstance(word, str) else -1
        hint = f"; there is {quoted(self.words[similar])}" if similar >= 0 else ""
        raise WordNotFoundError(f"the word {word!r} is not among the {len(self):,} words{hint}")

    def find(self, words: Iterable[str]) -> npt.NDArray[np.int64]:
        """Return the row of each word, or -1 for a word that is absent in every spelling.

        A word is looked up as it is, then in composed Unicode (NFC, so that ``é`` is found whether it is one character
        or two), then in lower case, and finally in any case; the first matching row counts.

        Examples
        --------
        >>> vectors = Vectors(["paris", "US", "us"], [[1.0], [2.0], [3.0]])
        >>> vectors.find(["Paris", "US", "us", "Us", "london"])
        array([ 0,  1,  2,  2, -1])
        """
        if isinstance(words, str):
            raise FippError(f"find takes several words; for one write find([{words!r}])")
        return np.array([self._find_one(word) for word in words], dtype=np.int64)

    def _find_one(self, word: str) -> int:
        row = self._table.index.get(word)
        if row is not None:
            return row
        if self._variants is None:  # many lookups never need it
            self._variants = Variants(self.words)
        return self._variants.find(word, self._table.index)

    def near(self, word: str, k: int = 3) -> list[str]:
        """Return up to ``k`` words that are spelled nearly like this one, nearest first.

        Examples
        --------
        >>> Vectors(["what", "water", "house"], [[1.0], [2.0], [3.0]]).near("Watr")
        ['water']
        """
        return [self.words[row] for row in nearest_spellings(word.lower(), self.words, k)]

    def head(self, count: int) -> Vectors:
        """Return the first ``count`` rows, which share memory with these.

        Examples
        --------
        >>> Vectors(["cat", "dog"], [[1.0], [2.0]]).head(1).words
        ('cat',)
        """
        if count < 0:
            raise FippError(f"head takes a number of rows, not {count}")
        return self._from_table(self._table.take(slice(count)))

    def rows(self, indices: npt.ArrayLike) -> Vectors:
        """Return the rows with these numbers, in this order, or the rows where a boolean mask is true.

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
        return self._from_table(self._table.take(numbers))

    def astype(self, dtype: npt.DTypeLike) -> Vectors:
        """Return the same vectors with numbers of another type: ``"float16"``, ``"float32"`` or ``"float64"``.

        Examples
        --------
        >>> Vectors(["cat"], [[1.0, 0.1]]).astype("float16").matrix
        array([[1.  , 0.1]], dtype=float16)
        """
        return self._from_table(self._table.astype(dtype))

    @property
    def checksum(self) -> str:
        """The SHA-256 of words and numbers, in hexadecimal: the same on every machine, for every file format.

        Examples
        --------
        >>> Vectors(["cat"], [[1.0]]).checksum == Vectors(["cat"], [[1]]).checksum
        True
        """
        if self._checksum is None:
            self._checksum = _checksum(self.words, self.matrix)
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
        max_bytes: int | float | str | None = None,
        max_memory: int | float | str | None = None,
        cache: bool | str | os.PathLike[str] = True,
        scratch: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Vectors:
        r"""Read vectors from a file or folder; its format is detected from the content, or else from the name.

        Formats are word2vec text and binary files, fastText models (which become `SubwordVectors`) and text, GloVe,
        floret tables, ``.npy`` with its words in a ``.txt`` file beside it, ``.npz``, safetensors, Parquet, Arrow and
        Feather (with ``fipp[arrow]``), and folders of spaCy and model2vec. Any file may be compressed by gzip, bzip2,
        xz or Zstandard, whatever its name. Nothing is ever unpickled.

        Parameters
        ----------
        path : str, path-like or binary file object
            The file; ``"-"`` is standard input.
        limit : int, optional
            Read at most this many words from the start of the file, and no more of the file than that requires.
        strict : bool, default=False
            Refuse a file with a row that cannot be used; otherwise such rows are skipped and counted in ``report``.
        words : iterable of str, optional
            Read only these words, in the order of the file; reading text stops when all are found, and other rows are
            not examined. A fastText model, and a floret table, which has no words of its own and requires this,
            return vectors for all of them, in the order given.
        dtype : {"float32", "float16", "float64"}, default="float32"
            The type of the numbers. Text is read as the nearest float64 and rounded to this type.
        encoding_errors : {"replace", "strict", "surrogateescape"}, default="replace"
            How to treat words that are not UTF-8: insert replacement characters and count them, refuse the file, or
            keep the bytes as Python does in file names.
        max_bytes : int or str, optional
            Refuse a file whose words and vectors take more memory than this, such as ``"4GB"``, and a compressed file
            or stream that unpacks to more. By default it is half of the machine's memory, or of the limit of the
            control group (container) if that is less. A matrix that stays on disk and is mapped does not count.
            Whatever a file holds, reading it takes at most 256 MB more. Of these, the compiled reader of text takes
            some 100 MB once.
        max_memory : int or str, optional
            Refuse text whose vectors take more memory than this, such as ``"4GB"``.
        cache : bool or path-like, default=True
            Store what was parsed from large text and compressed files in the user's cache folder, or the folder given,
            so that the next load is immediate. The files are in a private folder of their own there, ``fipp-vectors``.
            The environment variable ``FIPP_CACHE`` sets another folder, or ``off``; all caches together take at most
            ``FIPP_CACHE_SIZE`` (10 GiB), and the oldest are removed first. A cache is used only while the file is
            unchanged.
        scratch : path-like, optional
            A folder for an unnamed temporary file, in which the numbers are kept instead of in memory where the file
            itself cannot be mapped into memory.
        progress : callable, optional
            Called as ``progress(done, total)`` with the bytes of a text or compressed file that have been read.

        Returns
        -------
        Vectors
            Its ``report`` has what was skipped or repaired.

        Notes
        -----
        ``.npy`` and safetensors files of float32 are mapped into memory, not read. fipp replaces files instead of
        changing them, so mapped vectors stay as they were when the file is saved again. If another program shortens
        the file itself, the system ends every process that reads the missing part (SIGBUS); if it overwrites the
        file, the vectors change. Where that can happen, copy them: ``Vectors(vectors.words, vectors.matrix.copy())``.

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
        memory = None if max_memory is None else parse_memory(max_memory)
        folder = None if scratch is None else Path(scratch)
        allowed = bytes_allowed(max_bytes)
        options = Options(
            limit, strict, wanted_words(words), float_type(dtype), encoding_errors, allowed, memory, folder
        )
        return cls._from_table(load_table(path, options, cache, progress))

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        transform: Callable[[npt.NDArray[Any]], npt.ArrayLike] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Write the vectors in the format that the file's name asks for; reading them back gives equal numbers.

        The file is written whole or not at all, also by two processes at the same time, and also the two files of
        ``.npy``. Text is compressed if the name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.

        Parameters
        ----------
        path : str or path-like
            The file, which is replaced if it exists.
        transform : callable, optional
            What to write instead of the vectors: it is called with some rows at a time and returns as many, such as
            ``alignment.transform``. Only these rows are in memory, not all that are written.
        progress : callable, optional
            Called as ``progress(done, total)`` with the rows that have been written.

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "animals.vec")
        >>> Vectors(["cat", "dog"], [[0.1, 1 / 3], [0.5, 2.0]]).save(path)
        >>> print(path.read_text())
        2 2
        cat 0.1 0.33333334
        dog 0.5 2.0
        """
        if len(self) == 0:
            raise FippError(f"there are no vectors to write to {path}")
        chosen = format_to_write(Path(path))
        assert chosen.write is not None  # every format with a name has a writer
        table = replace(self._table, progress=progress)
        if transform is not None:
            table = MappedTable(table.words, table.matrix, transform=transform, progress=progress)
        chosen.write(table, Path(path))

    @classmethod
    def from_gensim(cls, model: Any) -> Vectors:
        """Return the vectors of gensim's ``KeyedVectors``, or of a model that has them as ``.wv``.

        Vectors of gensim's fastText become `SubwordVectors`. gensim's own files are pickles, which fipp never opens.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> keyed = SimpleNamespace(index_to_key=["cat"], vectors=np.ones((1, 2)))  # gensim.models.KeyedVectors
        >>> Vectors.from_gensim(keyed)
        Vectors(1 words, 2 dimensions)
        """
        return cls._from_table(from_gensim(model))

    def to_gensim(self) -> Any:
        """Return gensim's ``KeyedVectors`` with a copy of the matrix.

        Examples
        --------
        >>> keyed = Vectors(["cat", "dog"], [[1.0], [2.0]]).to_gensim()
        >>> keyed["dog"]
        array([2.], dtype=float32)
        """
        return to_gensim(self._table)

    @classmethod
    def from_spacy(cls, pipeline: Any, words: Iterable[str] | None = None) -> Vectors:
        """Return the vectors of a loaded spaCy pipeline, or of its ``vocab``.

        A pipeline with floret vectors has no list of words, so ``words`` must name those wanted.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> vectors = SimpleNamespace(data=np.ones((1, 2)), key2row={5439657043933447811: 0})
        >>> vocab = SimpleNamespace(vectors=vectors, strings={5439657043933447811: "cat"})  # spacy.load(...).vocab
        >>> Vectors.from_spacy(vocab).words
        ('cat',)
        """
        return cls._from_table(from_spacy(pipeline, words))

    @classmethod
    def from_model2vec(cls, model: Any) -> Vectors:
        """Return the vectors of the tokens of a loaded model2vec ``StaticModel``.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> tokenizer = SimpleNamespace(get_vocab=lambda: {"cat": 0, "##s": 1})
        >>> model = SimpleNamespace(embedding=np.ones((2, 3)), tokenizer=tokenizer)  # StaticModel.from_pretrained(...)
        >>> Vectors.from_model2vec(model).words
        ('cat', '##s')
        """
        return cls._from_table(from_model2vec(model))


class SubwordVectors(Vectors):
    """Vectors that can compose more: for any other word from its character n-grams.

    ``Vectors.load`` returns them for fastText ``.bin`` files and floret tables. ``word in vectors`` and
    ``vectors[word]`` know the vocabulary only; ``vector(word)`` returns a vector for any word, and ``with_words`` adds
    words to the vocabulary.

    Examples
    --------
    >>> from fipp.io._ngrams import FastTextNgrams
    >>> composer = FastTextNgrams(np.ones((11, 2), dtype=np.float32), offset=1, buckets=10, shortest=3, longest=6)
    >>> vectors = Vectors._from_table(Table(("cat",), np.ones((1, 2)), composer=composer))
    >>> "cats" in vectors, vectors.vector("cats")
    (False, array([1., 1.], dtype=float32))
    >>> vectors.with_words(["cats"]).words
    ('cat', 'cats')
    """

    def vector(self, word: str) -> FloatMatrix:
        """Return the vector of a word: its row, or the mean of its n-grams if it has none.

        Raises
        ------
        FippError
            If the word is unknown and too short to have n-grams; the error is also a KeyError.
        """
        if word in self:
            return self[word]
        assert self._table.composer is not None
        composed, known = self._table.composer.compose([word.encode("utf-8", "surrogatepass")])
        if not known[0] or not np.isfinite(composed[0]).all():
            raise WordNotFoundError(f"the word {word!r} is not among the {len(self):,} words, and has no n-grams")
        return composed[0]

    def with_words(self, words: Iterable[str]) -> SubwordVectors:
        """Return vectors with the absent words added as rows after the others.

        Words too short to have n-grams are left out, with a warning that names the first.
        """
        if isinstance(words, str):
            raise FippError(f"with_words takes several words; for one write with_words([{words!r}])")
        table = self._table.with_words(words)
        extended = self if table is self._table else self._from_table(table)
        assert isinstance(extended, SubwordVectors)
        return extended


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
