"""The tables of the paper: for each column the method, the result, and the paper's figure to show beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fipp.reproduce._variants import REDUCED, SCIKIT_CCA

BLI = "bli"
SIMILARITY = "similarity"
SPECTRUM = "spectrum"
INNER_PRODUCTS = "inner products"


@dataclass(frozen=True)
class Column:
    """A column of a table: a result of a method, and the paper's figure to show beside it.

    ``averaged`` says whether its mean over the pairs is meaningful.
    """

    label: str
    variant: str
    paper: str | None = None
    retrieval: str = "cosine"
    value: str = "test.map"
    averaged: bool = True


@dataclass(frozen=True)
class TableSpec:
    """A table of the paper.

    Attributes
    ----------
    title : str
    columns : tuple of Column
    digits : int
        Decimals shown.
    measure : str
        What its cells measure: lexicon induction, with one row per pair, or something with several rows per pair.
    rows : str
        What those rows are.
    """

    title: str
    columns: tuple[Column, ...]
    digits: int = 3
    measure: str = BLI
    rows: str = ""


def _both(label: str, change: str = "", paper: str | None = None, **options: Any) -> tuple[Column, Column]:
    """Return a column for FIPP as published, with the paper's figure beside it, and one for ours."""
    return (
        Column(f"{label} (published)", f"fipp-published{change}", paper, **options),
        Column(f"{label} (ours)", f"fipp{change}", **options),
    )


def _objective(label: str, variant: str) -> tuple[Column, Column]:
    return Column(f"{label}, loss", variant, value="fitted.objective"), Column(f"{label}, MAP", variant)


def _reduced(label: str, method: str, paper: str | None = None) -> tuple[Column, ...]:
    smaller = (Column(f"{label}, {d}", f"{method}-{d}", paper and f"{paper} {d}") for d in REDUCED)
    return Column(f"{label}, all", method, paper), *smaller


def _times(column: Column) -> Column:
    return replace(column, paper=f"{column.paper} seconds", value="fit_seconds")


def with_others(name: str, spec: TableSpec, others: list[str]) -> TableSpec:
    """Add columns for methods that the paper does not have to the tables that compare methods."""
    added = [Column(other, other) for other in others]
    if name == "retrieval":
        added = [
            replace(column, label=f"{column.label} + {label}", retrieval=retrieval)
            for column in added
            for label, retrieval in (("NN", "cosine"), ("CSLS", "csls"))
        ]
    elif name == "times":
        added = [_times(column) for column in added]
    elif name != "methods":
        return spec
    return replace(spec, columns=(*spec.columns, *added))


_FIPP = _both("FIPP", paper="FIPP")
_SELF_LEARNED = _both("FIPP + SL", "-sl", "FIPP+SL")
_PROCRUSTES = Column("Procrustes", "procrustes", "PROC")
_BOOTSTRAP, _RCSLS = Column("PROC-B", "proc-b", "PROC-B"), Column("RCSLS", "rcsls", "RCSLS")
# The paper's VecMap, MUSE and ICP have no seed.
_VECMAP = Column("VecMap, 4,000 words", "vecmap-4000", "VecMap")
_SMALLEST = min(REDUCED)

TABLES: dict[str, TableSpec] = {
    "main": TableSpec("Mean average precision", (_PROCRUSTES, *_FIPP, *_SELF_LEARNED)),
    "methods": TableSpec(
        "Mean average precision of the other methods of the paper",
        (
            _VECMAP,
            Column("MUSE, 5,000 words", "muse-adversarial", "MUSE"),
            Column("ICP", "icp", "ICP"),
            Column("GWA", "gwa"),
            # The paper's CCA is that of the XLING comparison, which does not whiten.
            Column("CCA, not whitened", "cca-rotation", "CCA"),
            Column("CCA (ours)", "cca"),
            _PROCRUSTES,
            _BOOTSTRAP,
            Column("DLV", "dlv", "DLV"),
            _RCSLS,
            *_FIPP,
            *_SELF_LEARNED,
        ),
    ),
    "tuning": TableSpec(
        "ε and λ as they are by default, and chosen on held-out seed pairs",
        (
            _FIPP[1],
            Column("FIPP (ours), tuned", "fipp-tuned", "FIPP"),
            Column("ε", "fipp-tuned", "epsilon", value="chosen.epsilon", averaged=False),
            Column("λ", "fipp-tuned", "lam", value="chosen.lam", averaged=False),
        ),
    ),
    "ablation": TableSpec(
        "Ablation: without isotropic preprocessing (IP), inner product filter (IPF), weights of the rotation (WP)",
        (
            _PROCRUSTES,
            *_both("FIPP w/o IP", "-no-ip", "FIPP w/o IP"),
            *_both("FIPP w/o IPF", "-no-filter", "FIPP w/o IPF"),
            *_both("FIPP w/o WP", "-no-weights", "FIPP+P"),
            *_FIPP,
            *_SELF_LEARNED,
        ),
    ),
    "preprocessing": TableSpec(
        "Iterative normalisation (IN) against isotropic preprocessing (IP)",
        (
            Column("Proc. + IN", "procrustes-iterative", "PROC+IN"),
            Column("Proc. + IP", "procrustes-isotropic", "PROC+IP"),
            *_both("FIPP + IN", "-iterative", "FIPP+IN"),
            *_both("FIPP + IP", "", "FIPP"),
        ),
    ),
    "rotation": TableSpec(
        "Plain (P) against weighted (WP) rotation",
        (*_both("FIPP + P", "-no-weights", "FIPP+P"), *_both("FIPP + WP", "", "FIPP")),
    ),
    "retrieval": TableSpec(
        "Nearest neighbours (NN) against CSLS",
        (
            Column("Proc. + NN", "procrustes", "PROC"),
            Column("Proc. + CSLS", "procrustes", "PROC+CSLS", "csls"),
            *_both("FIPP + NN", "", "FIPP"),
            *_both("FIPP + CSLS", "", "FIPP+CSLS", retrieval="csls"),
        ),
    ),
    "rounds": TableSpec(
        "Repeated rounds of FIPP",
        (
            *_both("1 round", "", "FIPP"),
            *(column for rounds in range(2, 6) for column in _both(f"{rounds} rounds", f"-{rounds}-rounds")),
        ),
    ),
    "learned": TableSpec(
        "The most similar pairs that self-learning adds, with their similarities",
        (
            *_both("best", "-sl", "learned", value="fitted.learned", averaged=False),
            *_both("pairs added", "-sl", value="fitted.induced_pairs", averaged=False),
        ),
    ),
    "dimensions": TableSpec(
        "The source reduced by principal components",
        (
            *_reduced("Procrustes", "procrustes", "PROC"),
            *_reduced("CCA (scikit-learn)", SCIKIT_CCA, "CCA"),
            *_reduced("CCA (ours)", "cca"),
            *_reduced("FIPP (published)", "fipp-published", "FIPP"),
            *_reduced("FIPP (ours)", "fipp"),
        ),
    ),
    "spectrum": TableSpec(
        f"Eigenvalues of the Gram matrix of the seed words, source of {_SMALLEST} dimensions at most",
        (
            Column("source", f"fipp-{_SMALLEST}", value="source"),
            Column("Procrustes + IP", f"procrustes-isotropic-{_SMALLEST}", value="mapped"),
            Column("RCSLS", f"rcsls-{_SMALLEST}", value="mapped"),
            Column("FIPP (published), X̃_s", f"fipp-published-{_SMALLEST}", value="solution"),
            Column("FIPP (published), mapped", f"fipp-published-{_SMALLEST}", value="mapped"),
            Column("FIPP (ours), mapped", f"fipp-{_SMALLEST}", value="mapped"),
            Column("target", f"fipp-{_SMALLEST}", value="target"),
        ),
        measure=SPECTRUM,
        rows="eigenvalue",
    ),
    "deviation": TableSpec(
        "Deviation of FIPP from the nearest rotation, with the authors' ε and λ and with the defaults",
        (
            Column("authors' ε, λ", "fipp-authors", "deviation", value="fitted.deviation"),
            *_both("defaults", value="fitted.deviation"),
            Column("authors' ε, λ, MAP", "fipp-authors"),
        ),
    ),
    "filtered": TableSpec(
        "Least and most filtered pairs of words",
        (
            Column("least filtered", "fipp-published", value="fitted.least_filtered", averaged=False),
            Column("most filtered", "fipp-published", value="fitted.most_filtered", averaged=False),
        ),
    ),
    "similarity": TableSpec(
        "Word similarity before and after alignment, Spearman's correlation",
        (
            Column("before", "fipp-published", "before", value="before"),
            Column("Procrustes", "procrustes", value="after"),
            Column("Procrustes + IP", "procrustes-isotropic", value="after"),
            *_both("FIPP", paper="FIPP", value="after"),
            Column("pairs found", "fipp-published", value="pairs"),
        ),
        measure=SIMILARITY,
        rows="set",
    ),
    "sgd": TableSpec(
        "FIPP (published) by low rank, by descent (SGD) and by the linear solver: objective, MAP, and distances from "
        "the low-rank solution",
        (
            *_objective("linear", "fipp-published-linear"),
            *_objective("low rank", "fipp-published"),
            *_objective("SGD", "fipp-published-sgd"),
            *(
                Column(f"{side} from low rank", "fipp-published-sgd", f"{side} from low rank", value=f"fitted.{value}")
                for side, value in (("SGD", "from_low_rank"), ("source", "source_from_low_rank"))
            ),
        ),
    ),
    "products": TableSpec(
        "Inner products of seed words without preprocessing, with isotropic preprocessing (IP), and aligned",
        (
            *(
                Column(label, "fipp-published", value=value)
                for label, value in (
                    ("source", "source"),
                    ("target", "target"),
                    ("source, IP", "source preprocessed"),
                    ("target, IP", "target preprocessed"),
                )
            ),
            *_both("source, aligned", value="aligned"),
        ),
        measure=INNER_PRODUCTS,
        rows="of all",
    ),
    "times": TableSpec(
        "Seconds to fit",
        tuple(
            _times(column)
            for column in (
                _PROCRUSTES,
                *_FIPP,
                Column("FIPP (ours), tuned", "fipp-tuned"),
                *_SELF_LEARNED,
                _BOOTSTRAP,
                _RCSLS,
                _VECMAP,
            )
        ),
        digits=2,
    ),
}
"""The tables of the paper by name."""
