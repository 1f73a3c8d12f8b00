"""What the paper printed for the downstream tasks (section 5.2), and for word similarity (appendix D.3).

The last row of each table is the mean as printed. For DLV on XNLI it is 0.571 where the printed rows give 0.580.
"""

from __future__ import annotations

from typing import NamedTuple

_COLUMNS = ("VecMap", "MUSE", "ICP", "GWA", "PROC", "PROC-B", "DLV", "RCSLS", "FIPP")
# Micro-averaged F1 on TED-CLDC, English to …; the last row is the mean as printed.
_DOCUMENTS = {
    "de": (0.433, 0.288, 0.492, 0.180, 0.345, 0.352, 0.299, 0.588, 0.520),
    "fr": (0.316, 0.223, 0.254, 0.209, 0.239, 0.210, 0.175, 0.540, 0.433),
    "it": (0.333, 0.198, 0.457, 0.206, 0.310, 0.218, 0.234, 0.451, 0.459),
    "ru": (0.504, 0.226, 0.362, 0.151, 0.251, 0.186, 0.375, 0.527, 0.481),
    "tr": (0.439, 0.264, 0.175, 0.173, 0.190, 0.310, 0.208, 0.447, 0.491),
    "mean": (0.405, 0.240, 0.348, 0.184, 0.267, 0.255, 0.258, 0.510, 0.477),
}
# Accuracy on XNLI, English to …
_INFERENCE = {
    "de": (0.604, 0.611, 0.580, 0.427, 0.607, 0.615, 0.614, 0.390, 0.603),
    "fr": (0.613, 0.536, 0.510, 0.383, 0.534, 0.532, 0.556, 0.363, 0.509),
    "ru": (0.574, 0.363, 0.572, 0.376, 0.585, 0.599, 0.571, 0.399, 0.577),
    "tr": (0.534, 0.359, 0.400, 0.359, 0.568, 0.573, 0.579, 0.387, 0.547),
    "mean": (0.581, 0.467, 0.516, 0.386, 0.574, 0.580, 0.571, 0.385, 0.559),
}
TASKS = {"documents": _DOCUMENTS, "inference": _INFERENCE}

# Figures that the paper marks: "language pairs for which unsupervised methods were unable to yield successful runs".
_UNSUCCESSFUL = {
    "documents": {
        "de": ("GWA",),
        "fr": ("GWA",),
        "it": ("MUSE", "ICP", "GWA"),
        "ru": ("MUSE", "GWA"),
        "tr": ("MUSE", "GWA"),
    },
    "inference": {"de": ("GWA",), "fr": ("GWA",), "ru": ("MUSE", "GWA"), "tr": ("MUSE", "ICP", "GWA")},
}

# By fipp's names. The paper's VecMap and MUSE are those without a dictionary.
_NAMES = {name.lower(): name for name in _COLUMNS if name not in ("PROC", "VecMap", "MUSE")} | {
    "procrustes": "PROC",
    "fipp-published": "FIPP",
    "vecmap-unsupervised": "VecMap",
    "muse-adversarial": "MUSE",
}


class SimilarityFigures(NamedTuple):
    """Correlation before and after alignment by FIPP, English to Turkish."""

    before: float
    after: float


_SIMILARITY = {
    "ws353": SimilarityFigures(0.739, 0.736),
    "wordsim": SimilarityFigures(0.739, 0.736),
    "mturk771": SimilarityFigures(0.669, 0.670),
    "semeval17": SimilarityFigures(0.722, 0.722),
    "semeval2017": SimilarityFigures(0.722, 0.722),
    "simlex": SimilarityFigures(0.382, 0.381),
}


def printed(task: str, pair: str, method: str) -> float | None:
    """Return the paper's figure for a task, a pair of languages and a method of fipp; None if it has none.

    Examples
    --------
    >>> printed("documents", "en-fr", "fipp"), printed("inference", "en-ru", "procrustes")
    (0.433, 0.585)
    >>> printed("documents", "en-fr", "none"), printed("inference", "en-it", "fipp")
    (None, None)
    """
    source, _, target = pair.partition("-")
    row = TASKS[task].get(target) if source == "en" else None
    column = _NAMES.get(method)
    return None if row is None or column is None else row[_COLUMNS.index(column)]


def was_unsuccessful(task: str, pair: str, method: str) -> bool:
    """Say whether the paper marks this figure as one of a method that had no successful run.

    Examples
    --------
    >>> was_unsuccessful("documents", "en-fr", "gwa"), was_unsuccessful("documents", "en-fr", "fipp")
    (True, False)
    """
    marked = _UNSUCCESSFUL[task].get(pair.removeprefix("en-"), ())
    return printed(task, pair, method) is not None and _NAMES[method] in marked


def printed_similarity(file_name: str) -> SimilarityFigures | None:
    """Return what appendix D.3 prints for an English set, told by the name of its file.

    Examples
    --------
    >>> printed_similarity("en-wordsim353-all.tsv").after, printed_similarity("SimLex-999.txt").before
    (0.736, 0.382)
    >>> printed_similarity("rg65.csv")
    """
    plain = "".join(character for character in file_name.lower() if character.isalnum())
    return next((figures for name, figures in _SIMILARITY.items() if name in plain), None)
