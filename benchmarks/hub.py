"""A hub of four languages compared with maps of single pairs, and with two maps in a row where there is no dictionary.

English is the hub, with dictionaries to French, Finnish and Russian; each of these pairs is also aligned alone. From
Finnish to French and to Russian there is no dictionary. There, the hub is compared with the two single maps in a row,
in two ways: the best English word by CSLS is translated, or the vector is carried over to the English vectors by least
squares, and mapped again. XLING's dictionaries without English were made by way of English, so test words that are in a
seed dictionary are left out.
"""

from __future__ import annotations

import _data
import numpy as np
from _benchmark import Benchmark
from _tables import count, short, table

import fipp
from fipp.evaluate import bli
from fipp.linalg import unit_rows
from fipp.retrieve import neighbours

OTHERS = {"fr": "fr.spacymd300", "fi": "fi.floret300", "ru": "ru.navecnews300"}
KNOWN = ("en-fr", "en-fi", "en-ru")
UNKNOWN = ("fi-fr", "fi-ru")
ENGLISH = ("en.glove840b300", "en.wink100")
USED = ("procrustes", "fipp", "auto")
N_WORDS = 20_000
"""The most frequent words of each language take part."""


def measure(english, size, method):
    vectors = {name: _data.load(each).head(N_WORDS) for name, each in {"en": english, **OTHERS}.items()}
    seeds = {pair: _data.dictionary(pair, f"train.{size}") for pair in KNOWN}
    joined = fipp.align_many(vectors, {tuple(pair.split("-")): seed for pair, seed in seeds.items()}, method, hub="en")
    alone = {pair: fipp.align(vectors["en"], vectors[pair[3:]], seed, method) for pair, seed in seeds.items()}
    from_finnish = fipp.align(vectors["fi"], vectors["en"], seeds["en-fi"].reverse(), method)

    told = {}
    for pair in KNOWN:
        test = _data.dictionary(pair, "test.2k")
        told[pair] = {
            "words": alone[pair].evaluate(test).n_queries,
            "alone": [alone[pair].evaluate(test, retrieval=way).map for way in _data.WAYS],
            "hub": _of_hub(joined, pair, test),
        }
    known = {word for seed in seeds.values() for _, word in seed}
    for pair in UNKNOWN:
        test = fipp.Lexicon([each for each in _data.dictionary(pair, "test.2k") if each[0] not in known])
        rows = np.asarray(test.lookup(vectors["fi"], vectors[pair[3:]]).rows)
        told[pair] = {"words": len(np.unique(rows[:, 0])), "hub": _of_hub(joined, pair, test)}
        told[pair] |= _in_a_row(from_finnish, alone[f"en-{pair[3:]}"], rows)
    return told


def _of_hub(joined, pair, test):
    return [joined.evaluate(test, *pair.split("-"), retrieval=way).map for way in _data.WAYS]


def _in_a_row(first, second, rows):
    """Return the scores of two maps in a row: by the words between them, and by vectors."""
    finnish, english = first.transform().matrix, first.transform_target().matrix
    found = neighbours(finnish, english, 1, retrieval="csls").indices[:, 0]
    back = np.linalg.lstsq(english, unit_rows(first.target.matrix))[0]
    answers = second.transform_target().matrix
    queries = {
        "by words": second.transform().matrix[found],
        "by vectors": second.transform(finnish @ back),
    }
    return {
        name: [bli(each, answers, *rows.T, retrieval=way).map for way in _data.WAYS] for name, each in queries.items()
    }


PLAN = [
    {"english": english, "size": size, "method": method}
    for english in ENGLISH
    for size in _data.SIZES
    for method in USED
]
benchmark = Benchmark("hub", PLAN, measure, minutes=40, obstacle=_data.obstacle)


def _both(scores):
    return " / ".join(map(short, scores))


def known_table():
    """Return the scores of pairs with a dictionary: alone, in the hub, and the smaller of the two gains."""
    rows = [
        [record["english"], record["size"].upper(), f"`{record['method']}`", pair, *_row(record[pair], "alone")]
        for record in benchmark.records
        for pair in KNOWN
    ]
    return table(["English vectors", "seed", "method", "pair", "alone", "hub", "smaller gain"], rows)


def unknown_table():
    """Return the same for pairs without a dictionary, compared with the better of two maps in a row by each measure."""
    rows = []
    for record in benchmark.records:
        for pair in UNKNOWN:
            scores = _with_best(record[pair])
            cells = [_both(scores["by words"]), _both(scores["by vectors"]), *_row(scores, "best")[1:]]
            rows.append([record["english"], record["size"].upper(), f"`{record['method']}`", pair, *cells])
    header = ["English vectors", "seed", "method", "pair", "by words", "by vectors", "hub", "smaller gain"]
    return table(header, rows)


def _with_best(scores):
    """Return the scores with the better of two maps in a row, by each measure."""
    return {**scores, "best": [max(each) for each in zip(scores["by words"], scores["by vectors"], strict=True)]}


def _row(scores, other):
    return [_both(scores[other]), _both(scores["hub"]), _signed(_gain(scores, other))]


def _gain(scores, other):
    """Return the smaller of the two gains, by cosine and by CSLS."""
    return min(mine - theirs for mine, theirs in zip(scores["hub"], scores[other], strict=True))


def _signed(gain):
    return f"{gain:+.3f}".replace("0.", ".").replace("-", "−")


def gains(other, method="*"):
    """Return the smaller gain over "alone", "by words", "by vectors" or the "best" of these two, for each score."""
    pairs = KNOWN if other == "alone" else UNKNOWN
    records = [record for record in benchmark.records if method in ("*", record["method"])]
    return [
        _gain(record[pair] if other == "alone" else _with_best(record[pair]), other)
        for record in records
        for pair in pairs
    ]


def at_least(other, least, method="*"):
    """Return how many of the gains are not smaller than this."""
    every = gains(other, method)
    return f"{sum(gain >= least for gain in every)} of {len(every)}"


def extreme(other, which):
    """Return the smallest ("min") or the largest ("max") of the gains."""
    return _signed({"min": min, "max": max}[which](gains(other)))


def words(pair, size):
    """Return how many test words of a pair are left."""
    (number,) = {record[pair]["words"] for record in benchmark.find(size=size)}
    return count(number)


if __name__ == "__main__":
    benchmark.main()
