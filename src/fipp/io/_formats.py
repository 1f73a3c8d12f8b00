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
    _text_write,
    _word2vec,
)
from fipp.io._sniff import is_text_table
from fipp.io._stream import Source, suffix_of
from fipp.io._vectors import Vectors


class Reader(Protocol):
    """Reads vectors; ``limit``, ``strict`` and ``max_bytes`` are those of `Vectors.load`.

    A reader may take more of its options by the same names; they stand in the format's ``options``.
    """

    def __call__(self, path: Path, *, limit: int | None, strict: bool, max_bytes: int) -> Vectors: ...


@dataclass(frozen=True)
class Format:
    """A file format: its names, how a file in it is recognised, read and written.

    Attributes
    ----------
    description : str
        What a person calls it; named in the error for a file of no known format.
    suffixes : tuple of str
        The endings of its files, in lower case, without ``.gz`` and its like.
    recognises : callable
        Tells from a path and the first 64 KiB, decompressed, whether the content can be nothing but this format.
        They are empty for a folder.
    read, write : callable
        The reader and the writer, which writes atomically.
    streams : bool
        Whether the reader takes a `Source` for the path, and so reads compressed files, file objects and standard
        input as they come; other readers get a temporary file for these. Vectors read from streams are cached.
    options : frozenset of str
        Which of ``words``, ``dtype``, ``encoding_errors`` and ``max_memory`` the reader takes; where it does not take
        ``words`` and ``dtype``, all is read as float32 first.
    """

    description: str
    suffixes: tuple[str, ...]
    recognises: Callable[[Path, bytes], bool]
    read: Reader | Callable[..., Vectors]
    write: Callable[[Vectors, Path], None] | None = None
    streams: bool = False
    options: frozenset[str] = frozenset()


TEXT = Format(
    "word2vec, fastText or GloVe text (.vec, .txt; also .gz, .bz2, .xz, .zst)",
    (".vec", ".txt"),
    lambda path, opening: False,  # any bytes may be text
    _text.read_text,
    _text_write.write_text,
    streams=True,
    options=frozenset({"words", "dtype", "encoding_errors", "max_memory"}),
)

FORMATS = (
    Format(
        "a fastText model (read only)", (), _fasttext.recognises, _fasttext.read_fasttext, options=frozenset({"words"})
    ),
    Format(
        "a matrix x.npy with its words one a line in x.txt",
        (".npy",),
        _npy.recognises,
        _npy.read_npy,
        _npy.write_npy,
        options=frozenset({"dtype", "encoding_errors"}),
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


def format_to_read(place: Path | Source) -> Format:
    """Choose the format of an existing file or folder: by its content where that is clear, by its name otherwise.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "x.bin")
    >>> _ = path.write_text("cat 1 2")
    >>> format_to_read(path).suffixes
    ('.vec', '.txt')
    """
    if not isinstance(place, Source):
        with Source(place) as source:
            return format_to_read(source)
    if place.is_path and place.path.is_dir():
        return _folder_to_read(place.path)
    opening = place.peek()
    # What lies beside a path says something about it; a stream's name says no more than its ending.
    path = place.path if place.is_path else Path(f"-{suffix_of(place.path)}")
    for candidate in FORMATS:
        if candidate.recognises(path, opening):
            return candidate
    if opening and is_text_table(opening):
        return TEXT
    try:
        return format_to_write(path)
    except FippError:
        if place.is_path and place.compression is None:
            raise
        return TEXT


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


def may_hold_vectors(path: Path) -> bool:
    """Return whether the name of a file, or the content of a folder, suggests that it holds vectors.

    Examples
    --------
    >>> may_hold_vectors(Path("wiki.en.vec.gz")), may_hold_vectors(Path("notes.md"))
    (True, False)
    """
    if path.is_dir():
        return any(folder.recognises(path, b"") for folder in FOLDERS)
    words_of_a_matrix = path.suffix == ".txt" and path.with_suffix(".npy").exists()
    return any(suffix_of(path) in known.suffixes for known in FORMATS) and not words_of_a_matrix
