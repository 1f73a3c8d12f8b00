"""The quality of maps without a dictionary: from CLDR names, identical words, equal numerals and cognates.

"Right" is the share of the found pairs that the XLING 5K training dictionary confirms, of those whose source word it
contains; many others are different translations or forms of the right word. Seeds exclude pairs whose source word is in
the test dictionary, as in XLING.
"""

from __future__ import annotations

from functools import cache

import _data
from _benchmark import Benchmark
from _tables import both, count, table
from auto import AUTO

from fipp import FIPP, Alignment, Lexicon, Vectors

METHODS = {"FIPP": FIPP(), "FIPP + self-learning": FIPP(self_learning=4000), "auto": AUTO}
NAMES = ["territories", "languages", "scripts", "months", "weekdays", "units", "cities"]
SEEDS = {
    "XLING 1K": lambda source, target, pair: _data.dictionary(pair, "train.1k"),
    "XLING 5K": lambda source, target, pair: _data.dictionary(pair, "train.5k"),
    "CLDR names": lambda source, target, pair: Lexicon.from_cldr(*pair.split("-")),
    "CLDR without emoji": lambda source, target, pair: Lexicon.from_cldr(*pair.split("-"), kinds=NAMES),
    "identical": lambda source, target, pair: Lexicon.identical(source, target),
    "identical, no numerals": lambda source, target, pair: Lexicon.identical(source, target, numerals=False),
    "identical, 5 letters or more": lambda source, target, pair: Lexicon.identical(
        source, target, min_length=5, numerals=False
    ),
    "numerals": lambda source, target, pair: Lexicon.numerals(source, target),
    "cognates": lambda source, target, pair: Lexicon.cognates(source, target),
    "cognates, distance 0.25": lambda source, target, pair: Lexicon.cognates(source, target, max_distance=0.25),
    "cognates, equal only": lambda source, target, pair: Lexicon.cognates(source, target, max_distance=0),
    "CLDR + numerals": lambda *given: SEEDS["CLDR names"](*given) + SEEDS["numerals"](*given),
    "CLDR + cognates": lambda *given: SEEDS["CLDR names"](*given) + SEEDS["cognates"](*given),
    "CLDR + identical": lambda *given: SEEDS["CLDR names"](*given) + SEEDS["identical"](*given),
}
# The other seeds add nothing for Russian, whose vocabulary has no numerals.
SHORT = ("XLING 1K", "CLDR names", "identical", "cognates", "cognates, distance 0.25", "cognates, equal only")
SHORT += ("CLDR + cognates",)
RUNS = {
    ("en-fr", 0): (tuple(SEEDS), ("XLING 1K", "CLDR names", "CLDR without emoji")),
    ("en-ru", 20_000): (SHORT, ("XLING 1K", "CLDR + cognates")),
    ("en-ru", 0): (("XLING 1K", "CLDR names", "cognates", "CLDR + cognates"), ()),
}
"""By language pair and word limit: the seeds, and those that also run with `auto`."""


@cache
def _sides(pair, limit):
    names = _data.PAIRS[pair][:2]
    return tuple(Vectors.load(_data.DATA / "vectors" / f"{name}.npy", limit or None) for name in names)


@cache
def _seed(pair, limit, name):
    """Return the seed without words of the test dictionary, and its counts."""
    source, target = _sides(pair, limit)
    found = SEEDS[name](source, target, pair).filter(source, target)
    held_out = {word for word, _ in _data.dictionary(pair, "test.2k")}
    used = Lexicon([(left, right) for left, right in found if left not in held_out])
    gold = {}
    for left, right in _data.dictionary(pair, "train.5k"):
        gold.setdefault(left, set()).add(right)
    judged = [(left, right) for left, right in found if left in gold]
    right = sum(right in gold[left] for left, right in judged)
    return used, {"found": len(found), "judged": len(judged), "right": right, "used": len(used)}


def measure(pair, limit, seed, method):
    source, target = _sides(pair, limit)
    used, counts = _seed(pair, limit, seed)
    rows = used.lookup(source, target).rows
    alignment = Alignment(METHODS[method].fit(source.matrix, target.matrix, rows), source, target)
    return {**counts, **_data.maps(alignment, pair)}


PLAN = [
    {"pair": pair, "limit": limit, "seed": seed, "method": method}
    for (pair, limit), (names, chosen) in RUNS.items()
    for seed in names
    for method in METHODS
    if method != "auto" or seed in chosen
]
benchmark = Benchmark("seeds", PLAN, measure, minutes=25, obstacle=_data.obstacle)


def scores_table(pair, limit):
    """Return the scores of FIPP with every seed."""
    rows = []
    for seed in RUNS[pair, limit][0]:
        plain, learned = (
            benchmark.get(pair=pair, limit=limit, seed=seed, method=name) for name in ("FIPP", "FIPP + self-learning")
        )
        if plain and learned:
            counts = [count(plain["found"]), _right(plain), count(plain["used"])]
            rows.append([seed, *counts, both(plain), both(learned)])
    return table(["seed", "pairs found", "right", "pairs used", "FIPP", "+ self-learning"], rows)


def auto_table():
    rows = [
        [
            _data.arrow(record["pair"]) + (f", {count(record['limit'])} words" if record["limit"] else ""),
            record["seed"],
            count(record["used"]),
            score(record["pair"], record["limit"], record["seed"], "FIPP + self-learning"),
            both(record),
        ]
        for record in benchmark.find(method="auto")
    ]
    return table(["vectors", "seed", "pairs used", "FIPP + self-learning", "`auto`"], rows)


def score(pair, limit, seed, method):
    return both(benchmark.one(pair=pair, limit=limit, seed=seed, method=method))


def _right(record):
    """Return the share of right pairs; XLING's own seeds and seeds without judged pairs have none."""
    right, judged = record["right"], record["judged"]
    if record["seed"].startswith("XLING") or not judged:
        return "not judged"
    return right if isinstance(right, str) else f"{100 * right / judged:.0f} % of {count(judged)}"


if __name__ == "__main__":
    benchmark.main()
