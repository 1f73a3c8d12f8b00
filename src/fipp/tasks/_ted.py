"""The TED-CLDC corpus of Hermann and Blunsom (2014), from its folder or its archive.

Its page (clg.ox.ac.uk/tedcldc.html) describes it: "for evaluating on the keyword arts in the arabic-english language
setting, you train a classifier on the data in ``ted-cldc/ar-en/train/arts/[positive|negative]``, evaluate that
classifier on ``ted-cldc/en-ar/test/arts/[positive|negative]``", with 15 keywords; text is lower-cased, unique tokens
are replaced by an unknown type "UNK", and "all words were suffixed according to their language". Public
programs that read the corpus show that the first language of a folder is that of its texts, that a document is a file
``NUMBER.ted``, and that suffixes look like ``_de`` and the unknown word like ``_UNK_``; the corpus itself was not
available when this was written.
"""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import product
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from fipp.exceptions import FippError
from fipp.io import Budget, FileInPieces, Source, explained
from fipp.tasks._documents import DocumentCorpus
from fipp.tasks._texts import decode

_LARGEST_DOCUMENT = 16 << 20
_SIDES = {"positive": 1, "negative": 0}
_UNKNOWN = re.compile(r"_?unk_?", re.IGNORECASE)

_Place = tuple[str, int, Callable[[], bytes]]
"""The place of a file in the corpus, its size, and a function that reads it."""


class _File(NamedTuple):
    topic: str
    side: str
    name: str


def load_ted(
    path: str | os.PathLike[str], pair: str, part: str, *, max_bytes: int | float | str | None = None
) -> DocumentCorpus:
    """Read documents of the TED-CLDC corpus in its published layout.

    ``PATH/en-fr/train/TOPIC/positive/NUMBER.ted`` and ``…/negative/…`` are English talks with French as their other
    language; each talk is in the folders of all topics, as ``positive`` or ``negative``. The suffix of the language is
    removed from each word, and the corpus's unknown word is left out.

    Parameters
    ----------
    path : str or path-like
        The folder ``ted-cldc``, or the archive (``.tar``, ``.tar.gz``, …) that it comes in, which is not unpacked.
    pair : str
        ``"en-fr"`` are the English texts beside the French ones, which are ``"fr-en"``.
    part : {"train", "test"}
        Which part.
    max_bytes : int or str, optional
        Refuse a corpus that takes more memory than this, and an archive that unpacks to more, as in `Vectors.load`.

    Returns
    -------
    DocumentCorpus
        Topics and documents in alphabetical order.

    Raises
    ------
    FippError
        If the layout differs, a topic lacks one of its folders, a file is empty or not UTF-8, or a document is on
        both sides of a topic.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp(), "ted-cldc")
    >>> for side, text in (("positive", "a_en song_en _UNK_"), ("negative", "a_en vote_en")):
    ...     place = folder / "en-fr" / "train" / "arts" / side
    ...     place.mkdir(parents=True)
    ...     _ = (place / f"{len(text)}.ted").write_text(text)
    >>> corpus = load_ted(folder, "en-fr", "train")
    >>> corpus.texts, corpus.labels.ravel().tolist()
    (('a vote', 'a song'), [0, 1])
    """
    path = Path(path)
    if not re.fullmatch(r"[a-z]{2,3}-[a-z]{2,3}", pair):
        raise FippError(f"a pair of languages is written such as en-fr, not {pair!r}")
    texts: dict[str, str] = {}
    files = list(_documents(path, pair, part, texts, Budget(path, max_bytes)))
    _check_sides(files, path, pair, part)
    topics = sorted({file.topic for file in files})
    names = sorted({file.name for file in files}, key=_number)
    columns, rows = ({name: i for i, name in enumerate(each)} for each in (topics, names))
    labels = np.full((len(names), len(topics)), -1, dtype=np.int8)
    for file in files:
        row, column = rows[file.name], columns[file.topic]
        if labels[row, column] >= 0:
            raise FippError(f"{path}: {file.name} is both positive and negative for {file.topic} in {pair}/{part}")
        labels[row, column] = _SIDES[file.side]
    language = pair.partition("-")[0]
    return DocumentCorpus([_plain(texts[name], language) for name in names], labels, topics)


def _number(name: str) -> tuple[int, str]:
    digits = re.match(r"\d+", name)
    return (int(digits[0]) if digits else -1, name)


def _plain(text: str, language: str) -> str:
    """Remove the suffixes of a language from the words, and unknown words altogether."""
    words = (word.removesuffix(f"_{language}") for word in text.split())
    return " ".join(word for word in words if not _UNKNOWN.fullmatch(word))


def _documents(path: Path, pair: str, part: str, texts: dict[str, str], budget: Budget) -> Iterator[_File]:
    """Yield the documents of one part; names in an archive are compared and never used as paths.

    ``texts`` gets each text once: a document is in the folders of all topics.
    """
    for place, size, read in _folder(path, pair, part) if path.is_dir() else _archive(path, pair, part, budget):
        topic, side, name = PurePosixPath(place).parts[-3:]
        if name.startswith("."):
            continue
        where = f"{path}: {place}"
        if size > _LARGEST_DOCUMENT:
            raise FippError(f"{where} has {size:,} bytes, more than {_LARGEST_DOCUMENT:,}: is it a document?")
        with _whole_archive(path):
            contents = read()
        if not contents.strip():
            raise FippError(f"{where} is empty: the corpus was not unpacked completely")
        text = decode(contents, where)
        if name not in texts:
            texts[name] = text
            budget.take_words([text, text])  # as it is, and without suffixes
        budget.take_words([topic, side, name])
        yield _File(topic, side, name)


def _folder(path: Path, pair: str, part: str) -> Iterator[_Place]:
    base = path / pair / part
    if not base.is_dir():
        there = sorted(entry.name for entry in path.iterdir() if entry.is_dir())
        raise FippError(f"{path} has no folder {pair}/{part}; it has {', '.join(there) or 'no folders'}")
    for file in sorted(base.glob("*/*/*")):
        if file.is_file():
            yield file.relative_to(path).as_posix(), file.stat().st_size, file.read_bytes


def _archive(path: Path, pair: str, part: str, budget: Budget) -> Iterator[_Place]:
    if not path.exists():
        raise FippError(f"there is no {path}: `fipp download ted-cldc` says where the corpus is")
    with (
        _whole_archive(path),
        Source(path, budget.max_bytes) as source,
        source.as_file() as plain,
        FileInPieces(plain) as file,
        tarfile.open(fileobj=file, mode="r:") as archive,
    ):
        while (member := archive.next()) is not None:
            archive.members = []  # type: ignore[attr-defined]  # there may be millions
            contents = archive.extractfile(member) if member.isreg() else None
            if contents is not None and PurePosixPath(member.name).parts[-5:-3] == (pair, part):
                yield member.name, member.size, contents.read


def _whole_archive(path: Path) -> AbstractContextManager[None]:
    errors = (tarfile.TarError, EOFError, OSError)
    return explained(path, "is not a complete tar archive; download it again", *errors)


def _check_sides(files: list[_File], path: Path, pair: str, part: str) -> None:
    """Refuse files of a topic without positive or negative documents, or with others."""
    if not files:
        raise FippError(f"{path} has no documents such as {pair}/{part}/arts/positive/1.ted")
    found = dict.fromkeys((file.topic, file.side) for file in files)
    for topic, side in found:
        if side not in _SIDES:
            raise FippError(f"{path}: {pair}/{part}/{topic} has a folder {side!r} besides positive and negative")
    for topic, side in product(dict.fromkeys(topic for topic, _ in found), _SIDES):
        if (topic, side) not in found:
            raise FippError(f"{path}: {pair}/{part}/{topic} has no {side} documents; the corpus is not complete")
