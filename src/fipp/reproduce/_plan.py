"""What to run: the cells that the tables need, for given data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from fipp._version import __version__
from fipp.aligners import METHODS
from fipp.exceptions import FippError
from fipp.experiments import result_key
from fipp.reproduce._data import Data, Dictionary, SimilaritySet
from fipp.reproduce._paper import BLI, SIMILARITY, TABLES, VARIANTS, Variant, authors_settings, with_others

_FILES = ("source", "target", "train", "test", "similarity")


@dataclass(frozen=True)
class Cell:
    """One method to fit on one pair of languages, and one thing to measure."""

    pair: str
    size: str
    variant: str
    method: str
    settings: Mapping[str, Any]
    dimensions: int | None
    retrieval: str
    source: Path
    target: Path
    train: Dictionary
    test: Dictionary
    limit: int | None = None
    measure: str = BLI
    tune: bool = False
    similarity: tuple[SimilaritySet, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return all but the files as JSON can hold it."""
        return {name: value for name, value in asdict(self).items() if name not in _FILES}

    @property
    def key(self) -> str:
        """A SHA-256 of all that the result depends on: settings, the contents of the files, the version of fipp."""
        inputs = {
            "source": checksum(self.source),
            "target": checksum(self.target),
            "train": [checksum(self.train.path), self.train.reverse],
            "test": [checksum(self.test.path), self.test.reverse],
            "similarity": [[checksum(known.path), known.languages] for known in self.similarity],
        }
        described = {**self.as_dict(), "inputs": inputs, "version": __version__}
        del described["variant"]  # the same settings under two names have one result
        return result_key(described)


def make_plan(
    data: Data,
    *,
    pairs: Sequence[str] | None = None,
    sizes: Sequence[str] = ("1k", "5k"),
    methods: Sequence[str] | None = None,
    tables: Sequence[str] | None = None,
    sgd_steps: int = 100,
    limit: int | None = None,
) -> list[Cell]:
    """List the cells that the tables need, pair by pair.

    Parameters
    ----------
    data : Data
        From `discover`.
    pairs : sequence of str, optional
        Such as ``"en-fr"``; by default all that have vectors and dictionaries.
    sizes : sequence of str
        Sizes of training dictionaries; one that a pair does not have is left out for it.
    methods : sequence of str, optional
        Only these: names in `VARIANTS`, or of further aligners, which join the tables that compare methods.
    tables : sequence of str, optional
        Names in `TABLES`; all by default.
    sgd_steps : int, default=100
        Steps of gradient descent; the paper used 10,000.
    limit : int, optional
        Use only the first words of the vectors.

    Returns
    -------
    list of Cell
    """
    wanted = _wanted(check_names(tables, TABLES, "table"), methods)
    pairs = data.pairs() if pairs is None else list(pairs)
    if not pairs:
        raise FippError("no two languages have vectors and both a training and a test dictionary")
    cells = []
    for pair in pairs:
        source, target = (data.side(pair, language) for language in _languages(pair))
        test, sets = data.test(pair), data.similarity_sets(pair)
        trains = {size: train for size in sizes if (train := data.train(pair, size)) is not None}
        for (size, train), (name, retrieval, measure) in product(trains.items(), wanted):
            variant = VARIANTS.get(name) or Variant(name)
            settings = _settings(variant, pair, size, sgd_steps)
            if settings is None or (measure == SIMILARITY and not sets):
                continue
            cells.append(
                Cell(
                    pair=pair,
                    size=size,
                    variant=name,
                    method=variant.method,
                    settings=settings,
                    dimensions=variant.dimensions,
                    retrieval=retrieval,
                    source=source,
                    target=target,
                    train=train,
                    test=test,
                    limit=limit,
                    measure=measure,
                    tune=variant.tune,
                    similarity=sets if measure == SIMILARITY else (),
                )
            )
    if not cells:
        raise FippError(f"there is no training dictionary of size {' or '.join(sizes)} for {', '.join(pairs)}")
    return cells


def check_names(names: Sequence[str] | None, known: Iterable[str], what: str) -> list[str]:
    """Return the names, or all known names if it is None; refuse others."""
    known = list(known)
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise FippError(f"there is no {what} {unknown[0]!r}; known are {', '.join(known)}")
    return known if names is None else list(names)


def _wanted(tables: Sequence[str], methods: Sequence[str] | None) -> list[tuple[str, str, str]]:
    """Return the methods, retrievals and measures that the tables need, each combination once."""
    if methods is not None:
        methods = check_names(methods, [*VARIANTS, *(name for name in METHODS if name not in VARIANTS)], "method")
    others = [name for name in methods or () if name not in VARIANTS]
    specs = [with_others(table, TABLES[table], others) for table in tables]
    needed = [(column.variant, column.retrieval, spec.measure) for spec in specs for column in spec.columns]
    # A further method that was asked for is run, whatever the tables.
    needed += [(name, "cosine", BLI) for name in others]
    wanted = [item for item in dict.fromkeys(needed) if methods is None or item[0] in methods]
    if not wanted:
        raise FippError(f"none of these tables has a column for {', '.join(methods or ())}")
    return wanted


def _settings(variant: Variant, pair: str, size: str, sgd_steps: int) -> dict[str, Any] | None:
    """Return the settings of a variant for a pair; None if the authors list none for it."""
    settings = dict(variant.settings)
    if settings.get("solver") == "sgd":
        settings["n_steps"] = sgd_steps
    if not variant.authors:
        return settings
    listed = authors_settings(size).get(pair)
    return None if listed is None else settings | listed


def _languages(pair: str) -> list[str]:
    languages = pair.split("-")
    if len(languages) != 2:
        raise FippError(f"a pair is two language codes such as en-fr, not {pair!r}")
    return languages


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file, with the words that belong to a matrix; of all files of a folder."""
    if path.is_dir():
        parts = sorted(part for part in path.rglob("*") if part.is_file())
    else:
        words = path.with_suffix(".txt")
        parts = [path, words] if path.suffix == ".npy" and words.exists() else [path]
    stats = [(part, part.stat()) for part in parts]
    return _checksum(tuple((part, stat.st_size, stat.st_mtime_ns) for part, stat in stats))


@cache
def _checksum(parts: tuple[tuple[Path, int, int], ...]) -> str:
    """Read each file once, however many cells need it, and again when its size or time has changed."""
    digest = hashlib.sha256()
    for part, _, _ in parts:
        with part.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()
