"""The figures that the paper printed, by pair of languages (Sachidananda, Yang and Zhu, ICLR 2021).

``paper.1k.tsv`` and ``paper.5k.tsv`` hold the tables of the main part and of appendices A, I and J: mean average
precision on XLING with fastText vectors of Wikipedia. Their last row is the mean as printed. For three columns it is
not the mean of the printed rows: FIPP+IN at 1K (0.331, the rows give 0.329), FIPP+P at 1K (0.336, 0.335) and PROC+CSLS
at 5K (0.454, 0.455). ``paper.further.tsv`` holds figures that the paper has for some pairs only. ``paper.settings.tsv``
holds ε and λ of each pair, which the paper does not print: those that the authors' code (vinsachi/FIPPCLE) lists for
FIPP at 5K and for FIPP with self-learning at 1K. ``paper.tasks.tsv`` holds the downstream tasks of section 5.2, from
English: micro-averaged F1 on TED-CLDC and accuracy on XNLI. An asterisk marks "language pairs for which unsupervised
methods were unable to yield successful runs". The mean of DLV on XNLI is printed as 0.571; the rows give 0.580.
"""

from __future__ import annotations

import csv
import re
from functools import cache
from importlib.resources import files

_SIZES = ("1k", "5k")
# Appendix D.3: English fastText vectors before and after alignment to Turkish, size not said.
_SIMILARITY = {
    "ws353": (0.739, 0.736),
    "wordsim353": (0.739, 0.736),
    "mturk771": (0.669, 0.670),
    "semeval17": (0.722, 0.722),
    "semeval2017": (0.722, 0.722),
    "simlex": (0.382, 0.381),
}
# Columns of the downstream tasks by fipp's names. The paper's VecMap and MUSE are those without a dictionary.
_TASK_COLUMNS = {
    "vecmap-unsupervised": "VecMap",
    "muse-adversarial": "MUSE",
    "icp": "ICP",
    "gwa": "GWA",
    "procrustes": "PROC",
    "proc-b": "PROC-B",
    "dlv": "DLV",
    "rcsls": "RCSLS",
    "fipp": "FIPP",
    "fipp-published": "FIPP",
}

Printed = dict[str, dict[str, float | str]]
"""What the paper printed, by pair and column."""


@cache
def printed(size: str) -> Printed:
    """Return what the paper printed for a size of dictionary, by pair and column; ``"mean"`` is one of the pairs.

    Examples
    --------
    >>> printed("5k")["en-de"]["FIPP"], printed("5k")["mean"]["FIPP"], printed("1k")["mean"]["FIPP"]
    (0.59, 0.442, 0.344)
    >>> len(printed("1k")) - 1, printed("3k")
    (28, {})
    """
    if size not in _SIZES:
        return {}
    figures: Printed = {
        row.pop("pair"): {name: float(value) for name, value in row.items()} for row in read_tsv(f"paper.{size}.tsv")
    }
    for row in read_tsv("paper.further.tsv"):
        if row["size"] == size:
            value = row["value"]
            figures[row["pair"]][row["column"]] = value if row["column"] == "learned" else float(value)
    for pair, settings in authors_settings(size).items():
        figures[pair] |= settings
    return figures


@cache
def authors_settings(size: str) -> dict[str, dict[str, float]]:
    """Return ε and λ that the authors' code lists, by pair: of FIPP at 5K, of FIPP with self-learning at 1K.

    Examples
    --------
    >>> authors_settings("5k")["en-de"]
    {'epsilon': 0.01, 'lam': 0.75}
    """
    if size not in _SIZES:
        return {}
    return {
        row["pair"]: {name: float(row[f"{size} {name}"]) for name in ("epsilon", "lam")}
        for row in read_tsv("paper.settings.tsv")
    }


def printed_task(task: str, pair: str, method: str) -> tuple[float, bool] | None:
    """Return the paper's figure for a downstream task and whether it is marked as unsuccessful; None if it has none.

    Examples
    --------
    >>> printed_task("documents", "en-fr", "fipp"), printed_task("documents", "en-fr", "gwa")
    ((0.433, False), (0.209, True))
    >>> printed_task("documents", "en-fr", "none"), printed_task("inference", "en-it", "fipp")
    (None, None)
    """
    source, _, target = pair.partition("-")
    rows = [row for row in read_tsv("paper.tasks.tsv") if (row["task"], row["language"]) == (task, target)]
    if source != "en" or not rows or method not in _TASK_COLUMNS:
        return None
    figure = rows[0][_TASK_COLUMNS[method]]
    return float(figure.rstrip("*")), figure.endswith("*")


def printed_similarity(language: str, name: str) -> dict[str, float]:
    """Return what the paper printed for a word similarity set, ``"before"`` and after alignment by ``"FIPP"``.

    Examples
    --------
    >>> printed_similarity("en", "wordsim353-all"), printed_similarity("ru", "simlex999")
    ({'before': 0.739, 'FIPP': 0.736}, {})
    """
    plain = re.sub(r"[^a-z0-9]", "", name.lower()).removeprefix(language)
    known = [figures for start, figures in _SIMILARITY.items() if language == "en" and plain.startswith(start)]
    return dict(zip(("before", "FIPP"), known[0], strict=True)) if known else {}


def paper_pairs() -> list[str]:
    """Return the 28 pairs of XLING, in the paper's order and direction.

    Examples
    --------
    >>> paper_pairs()[:2], len(paper_pairs())
    (['de-fi', 'de-fr'], 28)
    """
    return [pair for pair in printed("1k") if pair != "mean"]


def read_tsv(name: str) -> list[dict[str, str]]:
    """Return the rows of a table in this folder by the names of its columns; empty cells at the end may be left out."""
    text = (files("fipp.reproduce") / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t", restval=""))
