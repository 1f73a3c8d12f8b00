"""The choice of the pairs that FIPP's self-learning adds, on held-out pairs of the training dictionaries."""

from __future__ import annotations

from functools import cache

import _data
import numpy as np
from _benchmark import Benchmark
from _tables import count, pivot, short

from fipp import FIPP, Alignment, Lexicon
from fipp.aligners._holdout import held_out_parts

FOLDS = {"1k": {"folds": 5}, "5k": {"holdout": 0.2}}
"""A fifth of 5K has as many words as all of 1K."""
NONE = "no self-learning"
RULES, ADDED = ("mutual", "one-to-one", "one-way"), (4_000, 14_000)
SETTINGS = {NONE: (RULES[0], 0)} | {f"{rule}, {count(added)}": (rule, added) for rule in RULES for added in ADDED}


def measure(pair, size, setting):
    source, target = _data.sides(pair)
    rows = _data.seed_rows(pair, size)
    rule, added = SETTINGS[setting]
    scores, found = [], []
    for part, held_out in enumerate(_parts(pair, size)):
        pairs = _induced(pair, size, part, rule)[:added] if added else rows[:0]
        aligner = FIPP().fit(source.matrix, target.matrix, np.concatenate([rows[~held_out], pairs]))
        test = Lexicon([(source.words[i], target.words[j]) for i, j in rows[held_out]])
        scores.append(Alignment(aligner, source, target).evaluate(test).map)
        found.append(len(pairs))
    return {"cosine": np.mean(scores), "added": np.mean(found)}


def _parts(pair, size):
    return held_out_parts(_data.seed_rows(pair, size)[:, 0], **FOLDS[size])


@cache
def _induced(pair, size, part, rule):
    """Return the pairs that the rule adds, the most similar first."""
    source, target = _data.sides(pair)
    rows = _data.seed_rows(pair, size)[~_parts(pair, size)[part]]
    aligner = FIPP(self_learning=max(ADDED), self_learning_rule=rule)
    return aligner.fit(source.matrix, target.matrix, rows).induced_pairs_


PLAN = [
    {"pair": pair, "size": size, "setting": setting}
    for pair in _data.VISIBLE
    for size in _data.SIZES
    for setting in SETTINGS
]
benchmark = Benchmark("self_learning", PLAN, measure, minutes=90, obstacle=_data.obstacle)


def table():
    """Return the held-out scores of every rule, and their means over the language pairs."""

    def cell(setting, column):
        records = benchmark.find(setting=setting, **column)
        whole = len(records) == (1 if "pair" in column else len(_data.VISIBLE))
        return short(np.mean([record["cosine"] for record in records]).item()) if whole else None

    means = {f"mean {size.upper()}": {"size": size} for size in _data.SIZES}
    columns = _data.columns(_data.VISIBLE) | means
    return pivot("held-out words", dict(zip(SETTINGS, SETTINGS, strict=True)), columns, cell)


def added_table():
    """Return how many of the requested pairs each rule finds."""

    def cell(setting, column):
        record = benchmark.get(setting=setting, **column)
        return record and count(round(record["added"]))

    rows = {setting: setting for setting, (_, added) in SETTINGS.items() if added}
    return pivot("pairs added", rows, _data.columns(_data.VISIBLE), cell)


if __name__ == "__main__":
    benchmark.main()
