"""What to run: the methods of the study, the tables that need them, and the cells that follow for given data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fipp._version import __version__
from fipp.aligners import METHODS
from fipp.exceptions import FippError
from fipp.study._discover import Data, Dictionary


@dataclass(frozen=True)
class Variant:
    """A method with its settings; ``dimensions`` reduces the source by principal components first."""

    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    dimensions: int | None = None


VARIANTS: dict[str, Variant] = {
    "procrustes": Variant("procrustes"),
    "procrustes-isotropic": Variant("procrustes", {"preprocess": "isotropic"}),
    "procrustes-iterative": Variant("procrustes", {"preprocess": "iterative"}),
    "fipp": Variant("fipp"),
    # Appendix C as published, and with both words of a pair each other's best, which far fewer are.
    "fipp-sl": Variant("fipp", {"self_learning": 14000, "mutual": False}),
    "fipp-sl-mutual": Variant("fipp", {"self_learning": 14000}),
    "fipp-no-ip": Variant("fipp", {"preprocess": "unit"}),
    "fipp-no-filter": Variant("fipp", {"epsilon": None}),
    "fipp-no-weights": Variant("fipp", {"weighting": None}),
    "fipp-iterative": Variant("fipp", {"preprocess": "iterative"}),
    **{f"fipp-{rounds}-rounds": Variant("fipp", {"n_rounds": rounds}) for rounds in range(2, 6)},
    **{f"procrustes-{d}": Variant("procrustes", {}, d) for d in (250, 200)},
    **{f"fipp-{d}": Variant("fipp", {}, d) for d in (250, 200)},
    "fipp-eigen": Variant("fipp", {"solver": "eigen", "rank": "target"}),
    "fipp-sgd": Variant("fipp", {"solver": "sgd", "rank": "target"}),
}
"""The methods of the study by name; every other aligner of fipp can be asked for by its own name."""


@dataclass(frozen=True)
class Column:
    """A column of a table: which result of which method, and which figure of the paper stands beside it."""

    label: str
    variant: str
    paper: str | None = None
    retrieval: str = "cosine"
    value: str = "test.map"


@dataclass(frozen=True)
class TableSpec:
    """A table of the paper."""

    title: str
    columns: tuple[Column, ...]
    digits: int = 3


def _objective(label: str, variant: str) -> tuple[Column, Column]:
    return Column(f"{label}, loss", variant, value="fitted.objective"), Column(f"{label}, MAP", variant)


_FIPP = Column("FIPP", "fipp", "FIPP")
_PROCRUSTES = Column("Procrustes", "procrustes", "PROC")

TABLES: dict[str, TableSpec] = {
    "main": TableSpec(
        "Mean average precision",
        (
            _PROCRUSTES,
            _FIPP,
            Column("FIPP + SL", "fipp-sl", "FIPP+SL"),
            Column("FIPP + SL, mutual", "fipp-sl-mutual"),
        ),
    ),
    "ablation": TableSpec(
        "Ablation: without isotropic preprocessing (IP), inner product filter (IPF), weights of the rotation (WP)",
        (
            _PROCRUSTES,
            Column("FIPP w/o IP", "fipp-no-ip", "FIPP w/o IP"),
            Column("FIPP w/o IPF", "fipp-no-filter", "FIPP w/o IPF"),
            Column("FIPP w/o WP", "fipp-no-weights", "FIPP+P"),
            _FIPP,
        ),
    ),
    "preprocessing": TableSpec(
        "Iterative normalisation (IN) against isotropic preprocessing (IP)",
        (
            Column("Proc. + IN", "procrustes-iterative", "PROC+IN"),
            Column("Proc. + IP", "procrustes-isotropic", "PROC+IP"),
            Column("FIPP + IN", "fipp-iterative", "FIPP+IN"),
            Column("FIPP + IP", "fipp", "FIPP"),
        ),
    ),
    "rotation": TableSpec(
        "Plain (P) against weighted (WP) rotation",
        (Column("FIPP + P", "fipp-no-weights", "FIPP+P"), Column("FIPP + WP", "fipp", "FIPP")),
    ),
    "retrieval": TableSpec(
        "Nearest neighbours (NN) against CSLS",
        (
            Column("Proc. + NN", "procrustes", "PROC"),
            Column("Proc. + CSLS", "procrustes", "PROC+CSLS", "csls"),
            Column("FIPP + NN", "fipp", "FIPP"),
            Column("FIPP + CSLS", "fipp", "FIPP+CSLS", "csls"),
        ),
    ),
    "rounds": TableSpec(
        "Repeated rounds of FIPP",
        (
            Column("1 round", "fipp", "FIPP"),
            *(Column(f"{rounds} rounds", f"fipp-{rounds}-rounds") for rounds in range(2, 6)),
        ),
    ),
    "dimensions": TableSpec(
        "The source reduced by principal components",
        (
            Column("Procrustes, all", "procrustes", "PROC"),
            Column("Procrustes, 250", "procrustes-250", "PROC 250"),
            Column("Procrustes, 200", "procrustes-200", "PROC 200"),
            Column("FIPP, all", "fipp", "FIPP"),
            Column("FIPP, 250", "fipp-250", "FIPP 250"),
            Column("FIPP, 200", "fipp-200", "FIPP 200"),
        ),
    ),
    "deviation": TableSpec(
        "Deviation of FIPP from the nearest rotation",
        (Column("deviation", "fipp", "deviation", value="fitted.deviation"),),
    ),
    "filtered": TableSpec(
        "Least and most filtered pairs of words",
        (
            Column("least filtered", "fipp", value="fitted.least_filtered"),
            Column("most filtered", "fipp", value="fitted.most_filtered"),
        ),
    ),
    "sgd": TableSpec(
        "Descent (SGD) against low rank (published) and the linear solver (default): objective and MAP",
        (*_objective("linear", "fipp"), *_objective("low rank", "fipp-eigen"), *_objective("SGD", "fipp-sgd")),
    ),
    "times": TableSpec(
        "Seconds to fit",
        (
            Column("Procrustes", "procrustes", value="fit_seconds"),
            Column("FIPP", "fipp", "FIPP seconds", value="fit_seconds"),
            Column("FIPP + SL", "fipp-sl", "FIPP+SL seconds", value="fit_seconds"),
            Column("FIPP + SL, mutual", "fipp-sl-mutual", value="fit_seconds"),
        ),
        digits=2,
    ),
}
"""The tables of the paper by name."""


@dataclass(frozen=True)
class Cell:
    """One thing to fit and to score."""

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

    def as_dict(self) -> dict[str, Any]:
        """Give all but the files as JSON can hold it."""
        return {
            name: value for name, value in asdict(self).items() if name not in ("source", "target", "train", "test")
        }

    @property
    def key(self) -> str:
        """A SHA-256 of all that decides the result: settings, the contents of the inputs, the version of fipp."""
        inputs = {
            "source": checksum(self.source),
            "target": checksum(self.target),
            **{
                part: [checksum(dictionary.path), dictionary.reverse]
                for part, dictionary in (("train", self.train), ("test", self.test))
            },
        }
        described = {**self.as_dict(), "inputs": inputs, "version": __version__}
        del described["variant"]  # the same settings under two names are one thing
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


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
        Such as ``"en-fr"``; all that have vectors and dictionaries by default.
    sizes : sequence of str
        Sizes of training dictionaries; one that a pair does not have is left out for it.
    methods : sequence of str, optional
        Only these; names in `VARIANTS`, or of further aligners, which join the main table.
    tables : sequence of str, optional
        Names in `TABLES`; all by default.
    sgd_steps : int, default=100
        Steps of gradient descent; the paper took 10,000.
    limit : int, optional
        Take the first words of the vectors only.

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
        test = data.test(pair)
        for size in sizes:
            train = data.train(pair, size)
            if train is None:
                continue
            for name, retrieval in wanted:
                variant = VARIANTS.get(name) or Variant(name)
                settings = dict(variant.settings)
                if settings.get("solver") == "sgd":
                    settings["n_steps"] = sgd_steps
                common = (source, target, train, test, limit)
                cells.append(Cell(pair, size, name, variant.method, settings, variant.dimensions, retrieval, *common))
    if not cells:
        raise FippError(f"there is no training dictionary of size {' or '.join(sizes)} for {', '.join(pairs)}")
    return cells


def check_names(names: Sequence[str] | None, known: Iterable[str], what: str) -> list[str]:
    """Give the names, all that are known without any; refuse others.

    Examples
    --------
    >>> check_names(["main"], TABLES, "table")
    ['main']
    """
    known = list(known)
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise FippError(f"there is no {what} {unknown[0]!r}; known are {', '.join(known)}")
    return known if names is None else list(names)


def _wanted(tables: Sequence[str], methods: Sequence[str] | None) -> list[tuple[str, str]]:
    """Give the methods and retrievals that the tables need, none twice."""
    if methods is not None:
        methods = check_names(methods, [*VARIANTS, *(name for name in METHODS if name not in VARIANTS)], "method")
    needed = [(column.variant, column.retrieval) for table in tables for column in TABLES[table].columns]
    needed += [(name, "cosine") for name in methods or () if name not in VARIANTS]
    wanted = [item for item in dict.fromkeys(needed) if methods is None or item[0] in methods]
    if not wanted:
        raise FippError(f"none of these tables has a column for {', '.join(methods or ())}")
    return wanted


def _languages(pair: str) -> list[str]:
    languages = pair.split("-")
    if len(languages) != 2:
        raise FippError(f"a pair is two language codes such as en-fr, not {pair!r}")
    return languages


def checksum(path: Path) -> str:
    """Give the SHA-256 of a file, with the words that lie beside a matrix; of all its files for a folder."""
    if path.is_dir():
        parts = sorted(part for part in path.rglob("*") if part.is_file())
    else:
        beside = path.with_suffix(".txt")
        parts = [path, beside] if path.suffix == ".npy" and beside.exists() else [path]
    stats = [(part, part.stat()) for part in parts]
    return _checksum(tuple((part, stat.st_size, stat.st_mtime_ns) for part, stat in stats))


@cache
def _checksum(parts: tuple[tuple[Path, int, int], ...]) -> str:
    """Read each file once, however many cells ask, and again when its size or time has changed."""
    digest = hashlib.sha256()
    for part, _, _ in parts:
        with part.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()
