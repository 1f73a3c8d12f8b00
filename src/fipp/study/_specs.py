"""The tables of the paper: which result of which method stands in which column, beside which figure of the paper."""

from __future__ import annotations

from dataclasses import dataclass

from fipp.study._variants import REDUCED, VARIANTS

BLI = "bli"
SIMILARITY = "similarity"
SPECTRUM = "spectrum"
INNER_PRODUCTS = "inner products"


@dataclass(frozen=True)
class Column:
    """A column of a table: which result of which method, and which figure of the paper stands beside it.

    ``averaged`` tells whether its mean over the pairs says anything.
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
        What its cells measure: lexicon induction, one row a pair, or something that gives several rows a pair.
    rows : str
        What those rows are.
    """

    title: str
    columns: tuple[Column, ...]
    digits: int = 3
    measure: str = BLI
    rows: str = ""


# The paper's name of a method that fipp has beside the study's own. Its CCA does not whiten, its VecMap and MUSE
# have no seed, its Proc-B at 5K has 3K.
PAPER_NAMES = {
    "cca": "CCA",
    "cca-rotation": "CCA",
    "vecmap-unsupervised": "VecMap",
    "rcsls": "RCSLS",
    "dlv": "DLV",
    "muse-adversarial": "MUSE",
    "icp": "ICP",
    **dict.fromkeys(("procb", "proc-b", "procrustes-b", "bootstrap"), "PROC-B"),
}


def _objective(label: str, variant: str) -> tuple[Column, Column]:
    return Column(f"{label}, loss", variant, value="fitted.objective"), Column(f"{label}, MAP", variant)


def _reduced(label: str, method: str, paper: str) -> tuple[Column, ...]:
    smaller = (Column(f"{label}, {d}", f"{method}-{d}", f"{paper} {d}") for d in REDUCED)
    return (Column(f"{label}, all", method, paper), *(column for column in smaller if column.variant in VARIANTS))


def with_others(name: str, spec: TableSpec, others: list[str]) -> TableSpec:
    """Add columns for methods that are not the study's own to the tables that compare methods."""
    if name == "main":
        further = [Column(other, other, PAPER_NAMES.get(other)) for other in others]
    elif name == "retrieval":
        further = [
            Column(f"{other} + {label}", other, paper, retrieval)
            for other in others
            for label, retrieval, paper in (("NN", "cosine", PAPER_NAMES.get(other)), ("CSLS", "csls", None))
        ]
    elif name == "times":
        further = [Column(other, other, f"{PAPER_NAMES.get(other)} seconds", value="fit_seconds") for other in others]
    else:
        return spec
    return TableSpec(spec.title, (*spec.columns, *further), spec.digits)


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
    "tuning": TableSpec(
        "ε and λ as they are by default, and chosen on held-out seed pairs",
        (
            _FIPP,
            Column("FIPP, tuned", "fipp-tuned"),
            Column("ε", "fipp-tuned", "epsilon", value="chosen.epsilon", averaged=False),
            Column("λ", "fipp-tuned", "lam", value="chosen.lam", averaged=False),
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
            *_reduced("Procrustes", "procrustes", "PROC"),
            *(_reduced("CCA", "cca", "CCA") if f"cca-{REDUCED[0]}" in VARIANTS else ()),
            *_reduced("FIPP", "fipp", "FIPP"),
        ),
    ),
    "spectrum": TableSpec(
        f"Eigenvalues of the Gram matrix of the seed words, source of {min(REDUCED)} dimensions at most",
        (
            Column("source", f"fipp-{min(REDUCED)}", value="source"),
            Column("Procrustes + IP", f"procrustes-isotropic-{min(REDUCED)}", value="mapped"),
            Column("FIPP", f"fipp-{min(REDUCED)}", value="mapped"),
            Column("FIPP as published, X̃_s", f"fipp-eigen-{min(REDUCED)}", value="solution"),
            Column("FIPP as published, mapped", f"fipp-eigen-{min(REDUCED)}", value="mapped"),
            Column("target", f"fipp-{min(REDUCED)}", value="target"),
        ),
        measure=SPECTRUM,
        rows="eigenvalue",
    ),
    "deviation": TableSpec(
        "Deviation of FIPP from the nearest rotation, by default and as published with the authors' ε and λ",
        (
            Column("deviation", "fipp", value="fitted.deviation"),
            Column("with authors' ε, λ", "fipp-authors", "deviation", value="fitted.deviation"),
            Column("MAP with authors' ε, λ", "fipp-authors"),
        ),
    ),
    "filtered": TableSpec(
        "Least and most filtered pairs of words",
        (
            Column("least filtered", "fipp", value="fitted.least_filtered", averaged=False),
            Column("most filtered", "fipp", value="fitted.most_filtered", averaged=False),
        ),
    ),
    "similarity": TableSpec(
        "Word similarity before and after alignment, Spearman's correlation",
        (
            Column("before", "fipp", "before", value="before"),
            Column("Procrustes", "procrustes", value="after"),
            Column("Procrustes + IP", "procrustes-isotropic", value="after"),
            Column("FIPP", "fipp", "FIPP", value="after"),
            Column("pairs found", "fipp", value="pairs"),
        ),
        measure=SIMILARITY,
        rows="set",
    ),
    "sgd": TableSpec(
        "Descent (SGD) against low rank (published) and the linear solver (default): objective, MAP, and distances "
        "from the low-rank solution",
        (
            *_objective("linear", "fipp"),
            *_objective("low rank", "fipp-eigen"),
            *_objective("SGD", "fipp-sgd"),
            Column("SGD from low rank", "fipp-sgd", "SGD from low rank", value="fitted.from_low_rank"),
            Column("source from low rank", "fipp-sgd", "source from low rank", value="fitted.source_from_low_rank"),
        ),
    ),
    "products": TableSpec(
        "Inner products of seed words without preprocessing, with isotropic preprocessing (IP), and aligned",
        (
            Column("source", "fipp", value="source"),
            Column("target", "fipp", value="target"),
            Column("source, IP", "fipp", value="source preprocessed"),
            Column("target, IP", "fipp", value="target preprocessed"),
            Column("source, aligned", "fipp", value="aligned"),
        ),
        measure=INNER_PRODUCTS,
        rows="of all",
    ),
    "times": TableSpec(
        "Seconds to fit",
        (
            Column("Procrustes", "procrustes", value="fit_seconds"),
            Column("FIPP", "fipp", "FIPP seconds", value="fit_seconds"),
            Column("FIPP, tuned", "fipp-tuned", value="fit_seconds"),
            Column("FIPP + SL", "fipp-sl", "FIPP+SL seconds", value="fit_seconds"),
            Column("FIPP + SL, mutual", "fipp-sl-mutual", value="fit_seconds"),
        ),
        digits=2,
    ),
}
"""The tables of the paper by name."""
