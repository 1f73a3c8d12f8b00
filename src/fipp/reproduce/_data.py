"""The data to reproduce the paper with: vectors named by language code, dictionaries in the layouts of XLING."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from fipp.exceptions import FippError
from fipp.io import Lexicon, may_hold_vectors
from fipp.reproduce._paper import paper_pairs

_CODE = r"[a-z]{2,3}"
_DICTIONARY = re.compile(
    rf"(?:yacle\.)?(?P<part>train|test)(?:\.freq)?\.(?P<size>\d+k?)(?:\.(?P<pair>{_CODE}-{_CODE}))?\.(?:tsv|txt|csv)(?:\.gz)?"
)


@dataclass(frozen=True)
class Dictionary:
    """A dictionary file, and whether to reverse it."""

    path: Path
    reverse: bool = False

    def load(self) -> Lexicon:
        """Read the file, in the direction of the pair."""
        lexicon = Lexicon.load(self.path)
        return lexicon.reverse() if self.reverse else lexicon


@dataclass(frozen=True)
class SimilaritySet:
    """A word similarity file: of one language, or between two."""

    path: Path
    name: str
    languages: tuple[str, ...]


@dataclass(frozen=True)
class Data:
    """The vectors that were found, by language, and the dictionaries, by pair, part ("train" or "test") and size.

    ``chosen`` holds the vectors to use, by language (``"en"``) or by pair and language (``"en-fr:en"``).
    """

    vectors: Mapping[str, list[Path]]
    dictionaries: Mapping[tuple[str, str, str], Path]
    chosen: Mapping[str, Path] = field(default_factory=dict)
    similarity: tuple[SimilaritySet, ...] = ()

    def pairs(self) -> list[str]:
        """Return the pairs of languages that have vectors and dictionaries, the paper's first, in its direction."""
        ready = [pair for pair in dict.fromkeys(pair for pair, _, _ in self.dictionaries) if self._is_ready(pair)]
        known = [pair for pair in paper_pairs() if pair in ready or _reverse_of(pair) in ready]
        # Where both directions exist, the one that comes first in the alphabet.
        others = sorted({min(pair, _reverse_of(pair)) if _reverse_of(pair) in ready else pair for pair in ready})
        return known + [pair for pair in others if pair not in known and _reverse_of(pair) not in known]

    def _is_ready(self, pair: str) -> bool:
        parts = {part for known, part, _ in self.dictionaries if known in (pair, _reverse_of(pair))}
        return parts == {"train", "test"} and all(language in self.vectors for language in pair.split("-"))

    def train(self, pair: str, size: str) -> Dictionary | None:
        """Return the training dictionary of a pair, reversed if only the other direction exists; None without any."""
        for direction in (pair, _reverse_of(pair)):
            if (direction, "train", size) in self.dictionaries:
                return Dictionary(self.dictionaries[direction, "train", size], direction != pair)
        return None

    def test(self, pair: str) -> Dictionary:
        """Return the test dictionary of a pair; the largest if there are several."""
        for direction in (pair, _reverse_of(pair)):
            sizes = [size for known, part, size in self.dictionaries if (known, part) == (direction, "test")]
            if sizes:
                return Dictionary(self.dictionaries[direction, "test", max(sizes, key=_number)], direction != pair)
        raise FippError(f"there is no test dictionary of {pair}, such as {pair}/test.2k.tsv")

    def similarity_sets(self, pair: str) -> tuple[SimilaritySet, ...]:
        """Return the word similarity files of either language of a pair, and from its source to its target."""
        source, target = pair.split("-")
        wanted = ((source,), (target,), (source, target))
        return tuple(known for languages in wanted for known in self.similarity if known.languages == languages)

    def side(self, pair: str, language: str) -> Path:
        """Return the vectors of one side of a pair."""
        for name in (f"{pair}:{language}", f"{_reverse_of(pair)}:{language}", language):
            if name in self.chosen:
                return self.chosen[name]
        found = self.vectors.get(language, [])
        if len(found) == 1:
            return found[0]
        if not found:
            raise FippError(f"there are no vectors of {language!r}, such as wiki.{language}.vec")
        names = ", ".join(path.name for path in found)
        raise FippError(
            f"there are several vectors of {language!r}: {names}. Choose with --vectors {language}=FILE, "
            f"or for one pair with --vectors {pair}:{language}=FILE"
        )


def discover(
    vectors: str | Path, dictionaries: str | Path, choices: Iterable[str] = (), similarity: str | Path | None = None
) -> Data:
    """Find vectors, dictionaries and word similarity files.

    Parameters
    ----------
    vectors : path
        A folder with vectors in any format that `Vectors.load` reads. Their names contain the language code that
        dictionaries use: ``wiki.en.vec``, ``cc.fr.300.vec.gz``, ``en.spacymd300.npy``.
    dictionaries : path
        A folder with ``en-fr/train.1k.tsv`` and ``en-fr/test.2k.tsv``, or as XLING names them,
        ``yacle.train.freq.1k.en-fr.tsv``, at any depth.
    choices : iterable of str
        ``"en=FILE"`` or ``"en-fr:en=FILE"``: which to use where a language has several; in the folder or elsewhere.
    similarity : path, optional
        A folder with word similarity files whose names begin with one language, ``en-simlex999.tsv``, or with two,
        ``en-fr.rg65.csv``. By default, a folder ``similarity`` beside one of the others.

    Returns
    -------
    Data
    """
    vectors, dictionaries = Path(vectors), Path(dictionaries)
    for folder in (vectors, dictionaries, *([] if similarity is None else [Path(similarity)])):
        if not folder.is_dir():
            raise FippError(f"{folder} is not a folder")
    found = _find_dictionaries(dictionaries)
    if not found:
        raise FippError(
            f"{dictionaries} holds no dictionary such as en-fr/train.1k.tsv or yacle.train.freq.1k.en-fr.tsv"
        )
    languages = {language for pair, _, _ in found for language in pair.split("-")}
    by_language: dict[str, list[Path]] = {}
    for path in sorted(vectors.iterdir()):
        language = _language_of(path.name, languages)
        if language and not path.name.startswith(".") and may_hold_vectors(path):
            by_language.setdefault(language, []).append(path)
    chosen = dict(_parse_choice(choice, vectors) for choice in choices)
    for name, path in chosen.items():
        by_language.setdefault(name.split(":")[-1], [path])
    return Data(by_language, found, chosen, _find_similarity(similarity, (vectors, dictionaries), languages))


def _language_of(name: str, languages: set[str]) -> str | None:
    """Return the first part of a file's name that is one of the language codes."""
    return next((part for part in re.split(r"[._\-]", name.lower()) if part in languages), None)


def _reverse_of(pair: str) -> str:
    return "-".join(reversed(pair.split("-")))


def _find_dictionaries(folder: Path) -> dict[tuple[str, str, str], Path]:
    found: dict[tuple[str, str, str], Path] = {}
    for path in sorted(folder.rglob("*")):
        name = _DICTIONARY.fullmatch(path.name.lower())
        if name is None or not path.is_file():
            continue
        pair = name["pair"] or path.parent.name.lower()
        if re.fullmatch(rf"{_CODE}-{_CODE}", pair):
            found.setdefault((pair, name["part"], name["size"]), path)
    return found


def _find_similarity(
    chosen: str | Path | None, beside: Iterable[Path], languages: set[str]
) -> tuple[SimilaritySet, ...]:
    folders = [path.absolute().parent / "similarity" for path in beside] if chosen is None else [Path(chosen)]
    found: dict[Path, SimilaritySet] = {}
    for folder in filter(Path.is_dir, folders):
        for path in sorted(folder.iterdir()):
            parts = re.split(r"([._\-])", path.name.lower())
            own = tuple(takewhile(languages.__contains__, parts[:3:2]))
            if own and path.is_file():
                name = "".join(parts[2 * len(own) :])
                found[path] = SimilaritySet(path, re.sub(r"\.(tsv|csv|txt|gz)", "", name), own)
    return tuple(found.values())


def _parse_choice(choice: str, folder: Path) -> tuple[str, Path]:
    name, _, file = choice.partition("=")
    name = name.strip().lower()
    if not file or not re.fullmatch(rf"(?:{_CODE}-{_CODE}:)?{_CODE}", name):
        raise FippError(f"--vectors takes en=FILE or en-fr:en=FILE, not {choice!r}")
    pair, _, language = name.rpartition(":")
    if pair and language not in pair.split("-"):
        raise FippError(f"--vectors {choice}: {language!r} is not a language of {pair}")
    for path in (folder / file, Path(file)):
        if path.exists():
            return name, path
    raise FippError(f"--vectors {choice}: there is no {file}, neither in {folder} nor here")


def _number(size: str) -> int:
    return int(size.removesuffix("k")) * (1000 if size.endswith("k") else 1)
