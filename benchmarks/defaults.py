"""The choice of FIPP's default ε and weights, on held-out pairs of the training dictionaries.

A fifth of the 5K dictionary is held out: a random one, or the last one, whose words are rarer, like those of the test
dictionary. The maps learn from the first c of the other pairs. Scores are mean reciprocal ranks by cosine.
"""

from __future__ import annotations

import _data
import numpy as np
from _benchmark import Benchmark
from _tables import short, table

from fipp import FIPP, Procrustes
from fipp.aligners._holdout import held_out_parts
from fipp.retrieve import ranks_of_gold

PAIRS = ("en-fr", "en-ru", "en-fi", "fi-fr", "fi-ru", "ru-en", "fr-en100")
COUNTS = (100, 300, 600, 1000, 5000)
SPLITS = {
    "random": lambda words: held_out_parts(words, holdout=0.2)[0],
    "rarest": lambda words: ~np.isin(words, words[: len(words) * 4 // 5]),
}
PROCRUSTES = "Procrustes, isotropic"
SETTINGS = {
    PROCRUSTES: Procrustes(preprocess="isotropic"),
    **{
        f"ε {epsilon:g}, {name}": FIPP(epsilon, weighting=weighting)
        for epsilon, weighting, name in [
            (0.05, "published", "weights as published"),
            (0.05, "root", "their root"),
            (0.1, "published", "weights as published"),
            (0.1, "root", "their root"),
            (0.1, None, "no weights"),
            (0.15, "root", "their root"),
        ]
    },
}


def measure(pair, split, pairs, setting):
    rows = _data.seed_rows(pair, "5k")
    held_out = SPLITS[split](rows[:, 0])
    asked, learned = rows[held_out], rows[~held_out][:pairs]
    alignment, _ = _data.fitted(SETTINGS[setting], pair, learned)
    source, target = _data.sides(pair)
    queries = alignment.aligner.transform(source.matrix[asked[:, 0]])
    keys = alignment.aligner.transform_target(target.matrix)
    ranks = ranks_of_gold(queries, keys, np.arange(len(asked)), asked[:, 1])
    return {"used": len(learned), "asked": len(asked), "cosine": np.mean(1 / ranks)}


PLAN = [
    {"pair": pair, "split": split, "pairs": pairs, "setting": setting}
    for pair in PAIRS
    for split in SPLITS
    for pairs in COUNTS
    for setting in SETTINGS
]
benchmark = Benchmark("defaults", PLAN, measure, minutes=25, obstacle=_data.obstacle)


def scores_table():
    """Return the means of each setting, and how far it falls behind Procrustes at most."""
    scores = {
        setting: np.array([record["cosine"] for record in benchmark.find(setting=setting)]) for setting in SETTINGS
    }
    few = np.array([record["pairs"] < 1000 for record in benchmark.find(setting=PROCRUSTES)], dtype=bool)
    rows = [
        [
            setting,
            *(short(found[part].mean().item(), 4) for part in (few, ~few)),
            short((scores[PROCRUSTES] - found).max().item(), 4),
            f"{int((scores[PROCRUSTES] - found > 0.005).sum())} of {len(found)}",
        ]
        for setting, found in scores.items()
    ]
    header = ["setting", "mean, 100 to 600 pairs", "mean, 1,000 pairs and more", "largest deficit to Procrustes"]
    return table([*header, "deficit above .005"], rows)


if __name__ == "__main__":
    benchmark.main()
