"""The README's table, rendered from the records of other benchmarks."""

from __future__ import annotations

import accuracy
import auto
import compare
import unsupervised
from _tables import pivot

COLUMNS = {
    "EN→FR 1K": ("en-fr", "1k"),
    "EN→FR 5K": ("en-fr", "5k"),
    "EN→RU 1K (100→300)": ("en-ru", "1k"),
    "EN→FI 1K": ("en-fi", "1k"),
}


def _setting(name):
    return lambda pair, size: accuracy.score(pair, size, name)


ROWS = {
    "Procrustes, unit length": _setting("Procrustes, unit length"),
    'FIPP as published (`method="fipp-published"`)': _setting("FIPP as published"),
    "FIPP as published, `self_learning=4000`": _setting("FIPP as published + self-learning 4,000"),
    'FIPP (`method="fipp"`)': _setting("FIPP"),
    "FIPP, `self_learning=4000`": _setting("FIPP + self-learning 4,000"),
    "best other published method ([side by side](docs/results/methods.md))": compare.best_score,
    '`method="auto"`, the default': lambda pair, size: f"**{auto.by_cosine(pair, size)}**",
    "`auto` without known pairs, starting from words spelled alike": lambda pair, size: unsupervised.by_cosine(pair),
}


def table():
    return pivot("", ROWS, COLUMNS, lambda row, column: row(*column))
