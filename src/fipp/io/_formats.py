"""The file formats of vectors, and which of them a file is in.

To add one, write a module with a reader and a writer of the signatures below and name it in ``FORMATS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fipp.exceptions import FippError
from fipp.io import (
    _arrow,
    _fasttext,
    _floret,
    _gensim,
    _model2vec,
    _npy,
    _npz,
    _safetensors,
    _spacy,
    _text,
    _word2vec,
)
from fipp.io._sniff import is_text_table, opening_of
from fipp.io._stream import first_bytes, suffix_of
from fipp.io._vectors import Vectors


class Reader(Protocol):
    """Reads vectors; ``limit``, ``strict`` and ``max_bytes`` are those of `Vectors.load`."""

    def __call__(self, path: Path, *, limit: int | None, strict: bool, max_bytes: int) -> Vectors: ...


@dataclass(frozen=True)
class Format:
    """A file format: its names, how a file in it is recognised, read and written.

    Attributes
    ----------
    description : str
        What a person calls it; named in the error for a file of no known format.
    suffixes : tuple of str
        The endings of its files, in lower case, without ``.gz``; none for what fipp does not write.
    recognises : callable
        Tells from a path and the file's first bytes whether the content can be nothing but this format. A path without
        first bytes is a folder.
    read : callable
        The reader.
    write : callable or None
        The writer, which writes atomically.
    options : frozenset of str
        What else its reader takes: ``words``, if it makes vectors for any word.
    """

    description: str
    suffixes: tuple[str, ...]
    recognises: Callable[[Path, bytes], bool]
    read: Reader
    write: Callable[[Vectors, Path], None] | None = None
    options: frozenset[str] = frozenset()


TEXT = Format(
    "word2vec, fastText or GloVe text (.vec, .txt, .vec.gz, .txt.gz)",
    (".vec", ".txt"),
    _text.recognises,
    _text.read_text,
    _text.write_text,
)

FORMATS = (
    Format(
        "a fastText model (read only)", (), _fasttext.recognises, _fasttext.read_fasttext, options=frozenset({"words"})
    ),
    Format(
        "a matrix x.npy with its words one a line in x.txt", (".npy",), _npy.recognises, _npy.read_npy, _npy.write_npy
    ),
    Format("NumPy's .npz with words and matrix", (".npz",), _npz.recognises, _npz.read_npz, _npz.write_npz),
    Format(
        "Parquet (.parquet)", (".parquet", ".pq"), _arrow.recognises_parquet, _arrow.read_arrow, _arrow.write_parquet
    ),
    Format(
        "Arrow or Feather (.arrow, .ipc, .feather)",
        (".arrow", ".ipc", ".feather"),
        _arrow.recognises_arrow,
        _arrow.read_arrow,
        _arrow.write_arrow,
    ),
    Format(
        ".safetensors with words and matrix",
        (".safetensors",),
        _safetensors.recognises,
        _safetensors.read_safetensors,
        _safetensors.write_safetensors,
    ),
    Format("a pickle (refused)", (), _gensim.recognises_pickle, _gensim.refuse_pickle),
    Format("a floret table (read only)", (), _floret.recognises, _floret.read_floret, options=frozenset({"words"})),
    Format(
        "word2vec binary (.bin, .bin.gz)",
        (".bin",),
        _word2vec.recognises,
        _word2vec.read_word2vec,
        _word2vec.write_word2vec,
    ),
    TEXT,
)
"""The known formats of files; the first that recognises a file's content gets it, otherwise its name decides."""

FOLDERS = (
    Format("a spaCy folder (read only)", (), _spacy.recognises, _spacy.read_spacy, options=frozenset({"words"})),
    Format("a model2vec folder (read only)", (), _model2vec.recognises, _model2vec.read_model2vec),
)
"""The known formats of folders."""


def format_to_read(path: Path) -> Format:
    """Choose the format of an existing file or folder: by its content where that is clear, by its name otherwise.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "x.bin")
    >>> _ = path.write_text("cat 1 2")
    >>> format_to_read(path).suffixes
    ('.vec', '.txt')
    """
    if path.is_dir():
        return _folder_to_read(path)
    opening = first_bytes(path)
    for candidate in FORMATS:
        if candidate.recognises(path, opening):
            return candidate
    return TEXT if opening and is_text_table(opening_of(path, opening)) else format_to_write(path)


def format_to_write(path: Path) -> Format:
    """Choose the format that the name of a file asks for.

    Examples
    --------
    >>> format_to_write(Path("x.h5"))
    Traceback (most recent call last):
    fipp.exceptions.FippError: x.h5 is in no format that fipp knows; it knows ...
    """
    suffix = suffix_of(path)
    for candidate in FORMATS:
        if suffix in candidate.suffixes:
            return candidate
    known = "; ".join(candidate.description for candidate in FORMATS if candidate.suffixes)
    raise FippError(f"{path} is in no format that fipp knows; it knows {known}")


def _folder_to_read(path: Path) -> Format:
    for candidate in FOLDERS:
        if candidate.recognises(path, b""):
            return candidate
    raise FippError(
        f"{path} is a folder, not a file, and neither spaCy's (with vocab/vectors) nor model2vec's (with "
        "model.safetensors and tokenizer.json)"
    )
