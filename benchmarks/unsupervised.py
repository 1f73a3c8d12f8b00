"""The accuracy of alignment without known pairs on real vectors, compared with other methods with 1,000 pairs.

The XLING test dictionaries are used only for scoring. In the rows with shuffled guesses, words spelled alike are paired
at random, which must be refused.
"""

from __future__ import annotations

import re

import _data
import compare
import numpy as np
from _benchmark import Benchmark
from _tables import both, count, short, table

from fipp import FippError, Unsupervised
from fipp._inputs import words_spelled_alike

PAIRS = tuple(pair for pair in _data.PAIRS if pair not in ("ru-en", "fr-en100"))
SHUFFLED = ("en-ru", "en-fi")


def measure(pair, guesses):
    source, target = _data.sides(pair)
    rows = np.asarray(words_spelled_alike(source, target).lookup(source, target).rows)
    aligner = Unsupervised()
    if guesses == "shuffled":
        rows = np.stack([rows[:, 0], np.random.default_rng(0).permutation(rows[:, 1])], axis=1)
        aligner = Unsupervised(start="spelling")
    told = {"words": len(rows)}
    try:
        alignment, seconds = _data.fitted(aligner, pair, None, guesses=rows)
    except FippError as refused:
        *tried, chance = (float(figure) for figure in re.findall(r"(\d\.\d\d) from", str(refused)))
        return {**told, "refused": str(refused), "consistency": max(tried), "chance": chance}
    fitted = alignment.aligner
    return {
        **told,
        "start": fitted.start_,
        "consistency": fitted.consistency_,
        "chance": fitted.chance_consistency_,
        "starts": {each["start"]: each["consistency"] for each in fitted.starts_},
        **_data.maps(alignment, pair),
        **seconds,
    }


PLAN = [{"pair": pair, "guesses": "found"} for pair in PAIRS]
PLAN += [{"pair": pair, "guesses": "shuffled"} for pair in SHUFFLED]
benchmark = Benchmark("unsupervised", PLAN, measure, minutes=15, obstacle=_data.obstacle)


def scores_table():
    header = ["vectors", "guesses", "words spelled alike", "consistency", "chance", "cosine / CSLS", "best other, 1K"]
    rows = [
        [
            _data.arrow(record["pair"]),
            record["guesses"],
            count(record["words"]),
            short(record["consistency"]),
            short(record["chance"]),
            both(record, 4) or "refused",
            compare.best_other(record["pair"], "1k"),
        ]
        for record in benchmark.records
    ]
    return table(header, rows)


def score(pair):
    return both(benchmark.one(pair=pair, guesses="found"))


def by_cosine(pair):
    return short(benchmark.one(pair=pair, guesses="found")["cosine"])


def consistency(pair):
    """Return the consistency of the found pairs, and that of chance."""
    record = benchmark.one(pair=pair, guesses="found")
    return f"{short(record['consistency'], 2)}, chance {short(record['chance'], 2)}"


if __name__ == "__main__":
    benchmark.main()
