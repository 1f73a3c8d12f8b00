"""The forecasts of `fipp migrate probe` for collections ten times as large, compared with searches of those.

A sample of 1,000 documents with 500 queries is drawn at random, and 10,000 other documents with 1,500 queries are the
collection. No document of the collection is in the sample, and the maps are fitted on the sample alone.
"""

from __future__ import annotations

import _embeddings
import numpy as np
from _benchmark import Benchmark
from _tables import short, table

from fipp.linalg import unit_rows
from fipp.migrate import probe
from fipp.migrate._maps import best_map

SAMPLE, LARGER, DRAWS = 1_000, 10, 5
QUERIES = (500, 1_500)
RESCORED = {"stay on the old model": (100,), "convert": (50, 100, 200)}


def truth(sample, collection):
    """Return recall and MRR of every way in the collection."""
    queries, items, gold = collection.new_queries, collection.new, collection.gold
    wanted, ranks = _embeddings.search(queries, items, 10, gold)
    adapted = unit_rows(best_map(sample, "queries").aligner.transform(queries))
    converted = unit_rows(best_map(sample).aligner.transform(collection.old))
    own = np.einsum("ij,ij->i", queries, items[gold])
    found = {"embed again": [1.0, float((1 / ranks).mean())]}
    ways = {
        "stay on the old model": (collection.old_queries, collection.old),
        "query adapter": (adapted, collection.old),
        "convert": (queries, converted),
    }
    for name, (asked, searched) in ways.items():
        firsts = RESCORED.get(name, ())
        nearest, ranks = _embeddings.search(asked, searched, max(firsts, default=10), gold)
        found[name] = [_embeddings.overlap(nearest[:, :10], wanted), float((1 / ranks).mean())]
        for first in firsts:
            rows = nearest[:, :first]
            scores = np.stack([items[each] @ query for each, query in zip(rows, queries, strict=True)])
            reached = (rows == gold[:, None]).any(axis=1) / (1 + (scores > own[:, None] + 1e-6).sum(axis=1))
            recall = _embeddings.overlap(rows, wanted)
            found[f"{name}, score the first {first} again"] = [recall, float(reached.mean())]
    return found


def judged(ways, recommended, true):
    """Return each forecast with its interval and the truth, and how much the recommended way loses."""
    best = max(mrr for _, mrr in true.values())
    return {
        "ways": {way.name: [[*way.recall, true[way.name][0]], [*way.mrr, true[way.name][1]]] for way in ways},
        "recommended": recommended,
        "regret": best - true[recommended][1],
    }


def measure(pair, draw):
    sample, collection = _embeddings.parts(pair, draw, (SAMPLE, LARGER * SAMPLE), QUERIES)
    found = probe(sample.sample(), size=LARGER * SAMPLE)
    return judged(found.ways, found.recommended, truth(sample.sample(), collection))


PLAN = [{"pair": pair, "draw": draw} for pair in _embeddings.PAIRS for draw in range(DRAWS)]
benchmark = Benchmark("forecast", PLAN, measure, minutes=10, obstacle=_embeddings.obstacle)


def _figures(name, place):
    return np.array([record["ways"][name][place] for record in benchmark.records])


def coverage_table():
    """Return, for each way, how far forecasts are from the truth and how often intervals cover it."""
    header = ["way", "figure", "mean error", "root mean square", "within .04", "covered"]
    rows = []
    for name in benchmark.records[0]["ways"]:
        for place, figure in enumerate(("recall@10", "MRR")):
            if name == "embed again" and not place:
                continue
            value, low, high, true = _figures(name, place).T
            rows.append([name, figure, *_judgement(value - true, (low <= true) & (true <= high))])
    return table(header, rows)


def _judgement(error, covered):
    return [
        short(round(float(error.mean()), 3)),
        short(round(float(np.sqrt(np.mean(error**2))), 3)),
        f"{100 * np.mean(np.abs(error) <= 0.04):.0f} %",
        f"{100 * covered.mean():.0f} %",
    ]


def pairs_table():
    """Return, for each pair of models, the truth, the forecasts of converting, and the regret."""
    header = ["models", "MRR: stay", "convert", "convert, first 100 again", "embed again", "forecast errors of these"]
    rows = []
    for pair in _embeddings.PAIRS:
        records = benchmark.find(pair=pair)
        names = ("stay on the old model", "convert", "convert, score the first 100 again", "embed again")
        figures = {name: np.array([record["ways"][name][1] for record in records]).mean(axis=0) for name in names}
        errors = ", ".join(short(round(float(each[0] - each[3]), 3)) for each in figures.values())
        rows.append([pair, *(short(round(float(each[3]), 3)) for each in figures.values()), errors])
    return table([*header, "largest regret"], [[*row, short(_regret(row[0]))] for row in rows])


def _regret(pair):
    return round(max(record["regret"] for record in benchmark.find(pair=pair)), 3)


def share(what):
    """Return how many percent of all forecasts are covered or within .04: of "recall", "mrr" or "regret"."""
    if what == "regret":
        return f"{100 * np.mean([record['regret'] <= 0.02 for record in benchmark.records]):.0f} %"
    name, place = what.split()[0], ("recall", "mrr").index(what.split()[1])
    plain = ("stay on the old model", "query adapter", "convert", "embed again")[: 4 if place else 3]
    value, low, high, true = np.concatenate([_figures(each, place) for each in plain]).T
    held = (low <= true) & (true <= high) if name == "covered" else np.abs(value - true) <= 0.04
    return f"{100 * held.mean():.0f} %"


def recommended(name):
    """Return in how many runs a way was recommended."""
    return sum(record["recommended"] == name for record in benchmark.records)


if __name__ == "__main__":
    benchmark.main()
