"""The file formats of vectors, and which of them a file is in.

To add one, write a module with a reader and a writer, and add a line to ``FORMATS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fipp.exceptions import FippError
from fipp.io._stream import Source, suffix_of
from fipp.io._table import Options, Table
from fipp.io.formats._arrow import (
    read_arrow,
    read_whole,
    recognises_arrow,
    whole_batches,
    write_arrow,
    write_parquet,
)
from fipp.io.formats._arrow_child import PARQUET_MARK
from fipp.io.formats._fasttext import FASTTEXT_MARK, read_fasttext
from fipp.io.formats._floret import read_floret, recognises_floret
from fipp.io.formats._gensim import PICKLE_MARKS, refuse_pickle
from fipp.io.formats._model2vec import read_model2vec, recognises_model2vec
from fipp.io.formats._numpy import ZIP_MARK, map_matrix, read_npy, read_npz, recognises_npy, write_npy, write_npz
from fipp.io.formats._safetensors import read_safetensors, recognises_safetensors, write_safetensors
from fipp.io.formats._spacy import read_spacy, recognises_spacy
from fipp.io.formats._text import is_text_table, read_text
from fipp.io.formats._text_writer import float32_rows, write_text
from fipp.io.formats._word2vec import read_word2vec, recognises_word2vec, write_word2vec


@dataclass(frozen=True)
class Format:
    """A file format: its names, and how a file is recognised, read and written."""

    description: str
    # The endings of its files, in lower case, without .gz and the like.
    suffixes: tuple[str, ...]
    # Called with a path and its first 64 KiB, decompressed, or nothing for a folder: can it only be this format?
    recognises: Callable[[Path, bytes], bool]
    read: Callable[[Any, Options], Table]
    write: Callable[[Table, Path], None] | None = None
    # Whether the reader takes a `Source`, which may be compressed or a pipe; other readers get a temporary file.
    streams: bool = False
    # Whether the reader returns only `options.words`; otherwise they are selected after everything was read.
    selects: bool = False


def _begins_with(*marks: bytes) -> Callable[[Path, bytes], bool]:
    return lambda path, opening: opening.startswith(marks)


# fmt: off
TEXT = Format(
    "word2vec, fastText or GloVe text (.vec, .txt; also .gz, .bz2, .xz, .zst)", (".vec", ".txt"),
    lambda path, opening: False,  # any bytes may be text
    read_text, write_text, streams=True, selects=True,
)
FORMATS = (
    Format("a fastText model (read only)", (), _begins_with(FASTTEXT_MARK), read_fasttext, selects=True),
    Format("a matrix x.npy with one word per line in x.txt", (".npy",), recognises_npy, read_npy, write_npy),
    Format("NumPy's .npz with words and matrix", (".npz",), _begins_with(ZIP_MARK), read_npz, write_npz),
    Format("Parquet (.parquet)", (".parquet", ".pq"), _begins_with(PARQUET_MARK), read_arrow, write_parquet),
    Format(
        "Arrow or Feather (.arrow, .ipc, .feather)", (".arrow", ".ipc", ".feather"),
        recognises_arrow, read_arrow, write_arrow,
    ),
    Format(
        ".safetensors with words and matrix", (".safetensors",),
        recognises_safetensors, read_safetensors, write_safetensors,
    ),
    Format("a pickle (refused)", (), _begins_with(*PICKLE_MARKS), refuse_pickle),
    Format("a floret table (read only)", (), recognises_floret, read_floret, selects=True),
    Format("word2vec binary (.bin, .bin.gz)", (".bin",), recognises_word2vec, read_word2vec, write_word2vec),
    TEXT,
)
"""The formats of files: the first that recognises the content reads it; if none does, the name decides."""
# fmt: on

FOLDERS = (
    Format("a spaCy folder (read only)", (), recognises_spacy, read_spacy, selects=True),
    Format("a model2vec folder (read only)", (), recognises_model2vec, read_model2vec),
)
"""The formats of folders."""


def format_to_read(place: Path | Source) -> Format:
    """Return the format of an existing file or folder: by its content if that is clear, otherwise by its name."""
    if not isinstance(place, Source):
        with Source(place) as source:
            return format_to_read(source)
    if place.is_path and place.path.is_dir():
        return _folder_to_read(place.path)
    opening = place.peek()
    # The name of a stream is not a path: use its ending only, not the files beside it.
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
    """Return the format that the name of a file asks for."""
    suffix = suffix_of(path)
    for candidate in FORMATS:
        if suffix in candidate.suffixes:
            return candidate
    known = "; ".join(candidate.description for candidate in FORMATS if candidate.suffixes)
    raise FippError(f"{path} is in no format that fipp knows; it knows {known}")


def may_hold_vectors(path: Path) -> bool:
    """Return whether a folder has the layout, or a file the name, of a known format; nothing is read."""
    if path.is_dir():
        return any(folder.recognises(path, b"") for folder in FOLDERS)
    is_words = path.suffix == ".txt" and path.with_suffix(".npy").exists()
    return not is_words and any(suffix_of(path) in known.suffixes for known in FORMATS)


def _folder_to_read(path: Path) -> Format:
    for candidate in FOLDERS:
        if candidate.recognises(path, b""):
            return candidate
    raise FippError(
        f"{path} is a folder, not a file, and neither spaCy's (with vocab/vectors) nor model2vec's (with "
        "model.safetensors and tokenizer.json)"
    )
