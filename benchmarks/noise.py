"""The accuracy of `auto` and other methods from noisy dictionaries, which are made from clean ones.

- wrong 10, 20, 30: so many percent of the pairs get the target word of another one of them, at random.
- shared: 30 % of the source words get the translation of the most similar other source word, so that several words
  share a target.
- function: 20 % of the pairs get one of the 50 most frequent target words.
- mixed: shared, then wrong 20, then function.
"""

from __future__ import annotations

import _data
import numpy as np
from _benchmark import Benchmark
from _tables import both, short, table
from sklearn.metrics import roc_auc_score

from fipp.aligners import METHODS, pair_cosines

NOISES = ("wrong 10", "wrong 20", "wrong 30", "shared", "function", "mixed")
SEEDS = (("en-fr", "1k"), ("en-fr", "5k"), ("en-ru", "1k"), ("en-ru", "5k"), ("en-fi", "1k"))
STRONG = ("self-learning", "spectral", "cca")
"""The methods of `fipp compare` that come closest to `auto` on clean dictionaries."""
FURTHER = {"en-fr": ("rcsls", "proc-b", "ranking", "local")}
SLOW = {"en-ru": ("rcsls",)}
"""Further methods for the 5K dictionaries of these pairs, in some kinds of noise."""
SLOW_NOISES = ("wrong 30", "shared", "mixed")
N_FREQUENT = 50


def methods(pair, size, noise):
    """Return the names of the methods that run on a dictionary."""
    slow = SLOW.get(pair, ()) if size == "5k" and noise in SLOW_NOISES else ()
    return ("auto", *STRONG, *FURTHER.get(pair, ()), *slow)


def spoilt(rows, noise, source, seed=0):
    """Return the pairs with some made wrong, and which of them are."""
    if noise == "mixed":
        pairs = rows
        for place, kind in enumerate(("shared", "wrong 20", "function")):
            pairs, _ = spoilt(pairs, kind, source, seed=place)
        return pairs, (pairs != rows).any(axis=1)
    rng, pairs = np.random.default_rng(seed), rows.copy()
    kind, _, percent = noise.partition(" ")
    share = {"wrong": int(percent or 0) / 100, "shared": 0.3, "function": 0.2}[kind]
    chosen = rng.permutation(len(rows))[: round(share * len(rows))]
    if kind == "wrong":
        pairs[chosen, 1] = np.roll(rows[chosen, 1], 1)
    elif kind == "function":
        pairs[chosen, 1] = rng.integers(0, N_FREQUENT, len(chosen))
    else:
        vectors = source[rows[:, 0]] / np.linalg.norm(source[rows[:, 0]], axis=1, keepdims=True)
        cosines = vectors[chosen] @ vectors.T
        cosines[rows[chosen, :1] == rows[:, 0]] = -1
        pairs[chosen, 1] = rows[cosines.argmax(axis=1), 1]
    return pairs, (pairs != rows).any(axis=1)


def measure(pair, size, noise, method):
    source, target = _data.sides(pair)
    pairs, wrong = spoilt(_data.seed_rows(pair, size), noise, source.matrix)
    alignment, seconds = _data.fitted(METHODS[method], pair, pairs)
    told = {**_data.maps(alignment, pair), **seconds}
    if method != "auto":
        return told
    judged = pair_cosines(source.matrix, target.matrix, pairs)
    told |= {"pairs": len(pairs), "wrong": wrong.mean(), "estimate": judged.wrong_share}
    told["area"] = roc_auc_score(wrong, -judged.cosines)
    told["suspicious"] = [judged.suspicious[wrong].mean(), judged.suspicious[~wrong].mean()]
    return {**told, "chosen": alignment.aligner.chosen_}


PLAN = [
    {"pair": pair, "size": size, "noise": noise, "method": method}
    for pair, size in SEEDS
    for noise in NOISES
    for method in methods(pair, size, noise)
]
benchmark = Benchmark("noise", PLAN, measure, minutes=60, obstacle=_data.obstacle)


def _best_others(record):
    """Return the records of the best other method by cosine and by CSLS, and the smaller lead of `auto` over them."""
    key = {name: record[name] for name in ("pair", "size", "noise")}
    others = [each for each in benchmark.find(**key) if each["method"] != "auto"]
    best = [max(others, key=lambda each, way=way: each[way]) for way in _data.WAYS]
    return best, round(min(record[way] - other[way] for way, other in zip(_data.WAYS, best, strict=True)), 6)


def leads(least):
    """Return in how many of the rows the lead is at least this."""
    every = [_best_others(record)[1] for record in benchmark.find(method="auto")]
    return f"{sum(lead >= least for lead in every)} of {len(every)}"


def smallest_lead():
    return short(min(_best_others(record)[1] for record in benchmark.find(method="auto")))


def scores_table():
    """Return the scores of `auto`, of the best other method by cosine and by CSLS, and the smaller lead over them."""
    header = ["vectors", "seed", "noise", "`auto`", "best other by cosine", "best other by CSLS", "lead", "chosen"]
    rows = []
    for record in benchmark.find(method="auto"):
        best, lead = _best_others(record)
        rows.append(
            [
                _data.arrow(record["pair"]),
                record["size"].upper(),
                record["noise"],
                both(record),
                *(f"{short(other[way])} `{other['method']}`" for way, other in zip(_data.WAYS, best, strict=True)),
                short(lead),
                record["chosen"],
            ]
        )
    return table(header, rows)


def suspects_table():
    """Return how well wrong pairs are told from right ones."""
    header = ["vectors", "seed", "noise", "wrong", "estimate", "area", "wrong suspicious", "right suspicious"]
    rows = [
        [
            _data.arrow(record["pair"]),
            record["size"].upper(),
            record["noise"],
            *(short(record[name]) for name in ("wrong", "estimate", "area")),
            *map(short, record["suspicious"]),
        ]
        for record in benchmark.find(method="auto")
    ]
    return table(header, rows)


if __name__ == "__main__":
    benchmark.main()
