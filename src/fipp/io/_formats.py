"""The file formats of vectors, and which of them a file is in.

To add one, write a module with a reader and a writer of the signatures below and name it in ``FORMATS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fipp.exceptions import FippError
from fipp.io import _npy, _text
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
        The endings of its files, in lower case, without ``.gz``.
    recognises : callable
        Tells from a path and the file's first bytes whether the content can be nothing but this format.
    read, write : callable
        The reader and the writer, which writes atomically.
    """

    description: str
    suffixes: tuple[str, ...]
    recognises: Callable[[Path, bytes], bool]
    read: Reader
    write: Callable[[Vectors, Path], None]


FORMATS = (
    Format(
        "a matrix x.npy with its words one a line in x.txt", (".npy",), _npy.recognises, _npy.read_npy, _npy.write_npy
    ),
    Format(
        "word2vec, fastText or GloVe text (.vec, .txt, .vec.gz, .txt.gz)",
        (".vec", ".txt"),
        _text.recognises,
        _text.read_text,
        _text.write_text,
    ),
)
"""The known formats; the first that recognises a file's content gets it, otherwise its name decides."""


def format_to_read(path: Path) -> Format:
    """Choose the format of an existing file: by its content where that is clear, by its name otherwise.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "x.vec")
    >>> _ = path.write_text("cat 1 2")
    >>> format_to_read(path).suffixes
    ('.vec', '.txt')
    """
    opening = first_bytes(path)
    for candidate in FORMATS:
        if candidate.recognises(path, opening):
            return candidate
    return format_to_write(path)


def format_to_write(path: Path) -> Format:
    """Choose the format that the name of a file asks for.

    Examples
    --------
    >>> format_to_write(Path("x.parquet"))
    Traceback (most recent call last):
    fipp.exceptions.FippError: x.parquet is in no format that fipp knows; it knows ...
    """
    suffix = suffix_of(path)
    for candidate in FORMATS:
        if suffix in candidate.suffixes:
            return candidate
    known = "; ".join(candidate.description for candidate in FORMATS)
    raise FippError(f"{path} is in no format that fipp knows; it knows {known}")
