"""The accuracy of FIPP on real vectors, setting by setting.

Each setting is fitted on the training dictionary and scored on the test dictionary by mean average precision (cosine,
whole target vocabulary). Nothing is chosen here; all settings are shown.
"""

from __future__ import annotations

import _data
from _benchmark import Benchmark
from _tables import pivot, short

from fipp import FIPP, Procrustes
from fipp.preprocess import Isotropic

SETTINGS = {
    "Procrustes, unit length": Procrustes(),
    "Procrustes, isotropic": Procrustes(preprocess="isotropic"),
    "FIPP": FIPP(),
    "FIPP, ε 0.05": FIPP(0.05),
    "FIPP, ε 0.15": FIPP(0.15),
    "FIPP, λ 0.5": FIPP(lam=0.5),
    "FIPP, textbook isotropic": FIPP(preprocess="isotropic-textbook"),
    "FIPP, 2 components removed": FIPP(preprocess=Isotropic(2)),
    "FIPP, 2 removed, textbook": FIPP(preprocess=Isotropic(2, "textbook")),
    "FIPP, iterative normalisation": FIPP(preprocess="iterative"),
    "FIPP without preprocessing (unit length)": FIPP(preprocess="unit"),
    "FIPP without filter": FIPP(None),
    "FIPP without weights": FIPP(weighting=None),
    "FIPP, weights as published": FIPP(weighting="published"),
    "FIPP, weights of the paper": FIPP(weighting="paper"),
    "FIPP, 2 rounds": FIPP(n_rounds=2),
    "FIPP, rank of the target": FIPP(rank="target"),
    "FIPP as published": FIPP.published(),
    "FIPP as published, full rank": FIPP.published(rank="full"),
    "FIPP as published, without filter": FIPP.published(None),
    "FIPP as published, without weights": FIPP.published(weighting=None),
}
LEARNING = {
    "FIPP as published + self-learning 4,000": FIPP.published(self_learning=4000),
    "FIPP + self-learning 4,000": FIPP(self_learning=4000),
}
LEARNED = (("en-fr", "1k"), ("en-fr", "5k"), ("en-ru", "1k"), ("en-fi", "1k"))
"""Columns in which the README shows self-learning. The study and `self_learning.py` have more."""
SHRINKING = ("ru-en", "fr-en100")
"""Pairs whose source has more dimensions than the target."""
OTHERS = tuple(pair for pair in _data.PAIRS if pair not in SHRINKING)


def measure(pair, size, setting):
    alignment, seconds = _data.fitted((SETTINGS | LEARNING)[setting], pair, _data.seed_rows(pair, size))
    return {"cosine": alignment.evaluate(_data.dictionary(pair, "test.2k")).map, **seconds}


PLAN = [
    {"pair": pair, "size": size, "setting": setting}
    for pair in _data.PAIRS
    for size in _data.SIZES
    for setting in (*SETTINGS, *(LEARNING if (pair, size) in LEARNED else ()))
]
benchmark = Benchmark("accuracy", PLAN, measure, minutes=25, obstacle=_data.obstacle)


def table():
    return _table(OTHERS)


def shrinking_table():
    return _table(SHRINKING)


def score(pair, size, setting):
    """Return one score by cosine."""
    return short(benchmark.one(pair=pair, size=size, setting=setting)["cosine"])


def mean(setting):
    """Return the mean over the pairs whose source has at most as many dimensions as the target."""
    return _mean(OTHERS, setting)


def shrinking_mean(setting):
    return _mean(SHRINKING, setting)


def _table(pairs):
    def cell(setting, column):
        if column is None:
            return _mean(pairs, setting)
        record = benchmark.get(**column, setting=setting)
        return record and short(record["cosine"])

    columns = {**_data.columns(pairs), "mean": None}
    return pivot("setting", {setting: setting for setting in SETTINGS}, columns, cell)


def _mean(pairs, setting):
    """Return the mean over all columns, or None if one has not been measured."""
    scores = [each["cosine"] for pair in pairs for each in benchmark.find(pair=pair, setting=setting)]
    return short(sum(scores) / len(scores)) if len(scores) == len(pairs) * len(_data.SIZES) else None


if __name__ == "__main__":
    benchmark.main()
