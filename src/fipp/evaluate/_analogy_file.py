"""Analogies from text in Google's layout."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from fipp.exceptions import FippError, warn
from fipp.io import MALFORMED, Inspector, counted, read_batches

_MAX_BYTES = 1 << 28


class Analogy(NamedTuple):
    """a is to b as c is to d; ``section`` is the kind of question."""

    a: str
    b: str
    c: str
    d: str
    section: str = ""


def load_analogies(path: str | os.PathLike[str], *, strict: bool = False) -> list[Analogy]:
    r"""Read analogies in Google's layout: four words a line, and lines ``: name`` that begin a section.

    Parameters
    ----------
    path : str or path-like
        The file, compressed or not.
    strict : bool, default=False
        Refuse a file with a line that is neither; otherwise a warning tells how many were skipped.

    Returns
    -------
    list of Analogy

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "questions-words.txt")
    >>> _ = path.write_text(": capitals\nAthens Greece Oslo Norway\n")
    >>> load_analogies(path)
    [Analogy(a='Athens', b='Greece', c='Oslo', d='Norway', section='capitals')]
    """
    path = Path(path)
    inspector = Inspector(path, strict)
    section, analogies = "", []
    every_line = (line.strip() for batch in read_batches(path, _MAX_BYTES) for line in batch)
    for number, raw in enumerate(every_line, 1):
        text = inspector.decode(raw, f"line {number}")
        words = text.split("\t") if text.count("\t") == 3 else text.split()
        if text.startswith(":"):
            section = text[1:].strip()
        elif len(words) == 4:
            a, b, c, d = words
            analogies.append(Analogy(a, b, c, d, section))
        elif text and not text.startswith("#"):
            inspector.skip(MALFORMED, f"line {number}", text, counted(len(words), "word"))
    report = inspector.report(f"{len(analogies):,} analogies").summary()
    if not analogies:
        raise FippError(f"{path} holds no line of four words. {report or ''}".strip())
    if report:
        warn(report)
    return analogies
