"""The figures that the paper printed, by pair of languages (Sachidananda, Yang and Zhu, ICLR 2021).

``paper.1k.tsv`` and ``paper.5k.tsv`` hold the tables of the main part and of the appendices A, I and J: mean average
precision on XLING with fastText vectors of Wikipedia. Their last row is the mean as printed. For three columns it is
not the mean of the printed rows: FIPP+IN at 1K (0.331, the rows give 0.329), FIPP+P at 1K (0.336, 0.335) and PROC+CSLS
at 5K (0.454, 0.455).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

SIZES = ("1k", "5k")

# Appendix I.1 gives these for all 28 pairs together only.
_ABLATION = {
    "1k": {"FIPP w/o IP": 0.333, "FIPP w/o IPF": 0.335},
    "5k": {"FIPP w/o IP": 0.430, "FIPP w/o IPF": 0.439, "FIPP+SL": 0.441},
}
# Appendix D.1: the three smallest, the three largest, and the mean of all.
_DEVIATION = {
    "1k": {"de-it": 0.025, "en-fi": 0.090, "it-fr": 0.100, "tr-fr": 0.405, "tr-ru": 0.408, "tr-fi": 0.494},
    "5k": {"en-fi": 0.008, "hr-it": 0.012, "hr-ru": 0.014, "fi-fr": 0.343, "fi-hr": 0.351, "tr-fi": 0.384},
}
_DEVIATION_MEAN = {"1k": 0.292, "5k": 0.115}
# Section 5.2.2, en-de at 5K.
_DIMENSIONS = {"PROC 250": 0.524, "PROC 200": 0.486, "FIPP 250": 0.574, "FIPP 200": 0.543}
# Section 5.1, en-de at 5K, in seconds: FIPP on twelve cores, FIPP+SL (10K more pairs) on two GPUs.
_SECONDS = {"FIPP seconds": 23.0, "FIPP+SL seconds": 176.0}


@cache
def printed(size: str) -> dict[str, dict[str, float]]:
    """Give what the paper printed for a size of dictionary: figures by column, by pair; ``"mean"`` is one of the pairs.

    Examples
    --------
    >>> printed("5k")["en-de"]["FIPP"], printed("5k")["mean"]["FIPP"], printed("1k")["mean"]["FIPP"]
    (0.59, 0.442, 0.344)
    >>> len(printed("1k")) - 1, printed("3k")
    (28, {})
    """
    if size not in SIZES:
        return {}
    text = (files("fipp.study") / f"paper.{size}.tsv").read_text(encoding="utf-8")
    header, *rows = (line.split("\t") for line in text.splitlines())
    figures = {pair: dict(zip(header[1:], map(float, values), strict=True)) for pair, *values in rows}
    for pair, deviation in (_DEVIATION[size] | {"mean": _DEVIATION_MEAN[size]}).items():
        figures[pair]["deviation"] = deviation
    figures["mean"] |= _ABLATION[size]
    if size == "5k":
        figures["en-de"] |= _DIMENSIONS | _SECONDS
    return figures


def paper_pairs() -> list[str]:
    """Give the 28 pairs of XLING, in the paper's order and direction.

    Examples
    --------
    >>> paper_pairs()[:2], len(paper_pairs())
    (['de-fi', 'de-fr'], 28)
    """
    return [pair for pair in printed("1k") if pair != "mean"]
