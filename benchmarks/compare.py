"""Every method side by side, as in `fipp compare`: scores with intervals, seconds, memory.

Every method that does not take long runs on English to French, where it is compared with `auto`; on the other pairs
some do. Each runs in its own process. Finished results are saved in build/, so that `auto` runs once for all of them.
"""

from __future__ import annotations

import _data
from _benchmark import ROOT, Benchmark, fingerprint
from _tables import between, both, count, pivot, short, table

import fipp
from fipp.aligners import METHODS

# These take twenty minutes or more, or need torch; docs/methods.md has their scores with fewer words.
_LONG = ("vecmap-semi", "vecmap-identical", "vecmap-unsupervised", "muse-adversarial")
OURS = ("spectral", "self-learning", "local", "ranking", "unsupervised", "auto")
"""fipp's own methods."""
FURTHER = ("en100-fr", "fr-en100")
MEASURES = {
    "cosine": ("cosine", "map"), "csls": ("csls", "map"),
    "cosine p@1": ("cosine", "p@1"), "csls p@1": ("csls", "p@1"),
}  # fmt: skip
SIGNIFICANT = 0.05
"""Differences from `auto` with at least this p value are not significant."""
BEST = "auto"
_ON_ALL = ("fipp", "procrustes", "proc-b", "cca", "pls", BEST)
_ALSO = {
    "en-ru": ("cca-rotation", "dlv", "rcsls", "vecmap", "muse", "ridge", "low-rank", "mlp"),
    "en100-fr": ("dlv", "rcsls"),
}


def _methods(pair):
    """Return the names of the methods that run on a pair."""
    if pair == "en-fr":
        return [name for name in METHODS if name not in _LONG]
    return [*_ON_ALL, *_ALSO.get(pair, ())]


def measure(pair, size, method):
    kept = ROOT / "build" / f"compare-{fingerprint()}.jsonl"
    kept.parent.mkdir(exist_ok=True)
    compared = fipp.compare(
        *_data.sides(pair),
        _data.dictionary(pair, f"train.{size}"),
        _data.dictionary(pair, "test.2k"),
        list(dict.fromkeys((method, BEST))) if pair == "en-fr" else [method],
        results_path=kept,
        on_result=lambda score: print(f"    {score}", flush=True),
    )
    seed, words = compared.setting.seed["seed"][0], len(compared.setting.queries)
    return {"seed": seed, "words": words, **_told(compared.scores[0], compared)}


def _told(score, compared):
    """Return the figures of one method that the tables show: scores with intervals, and which are close to `auto`'s."""
    if score.error is not None:
        return {"error": score.error}
    told = {"learns from": score.pairs, "seconds": score.seconds, "memory": score.memory, "near": []}
    for name, (way, measure) in MEASURES.items():
        values, ends = score.results[way].per_query(measure), score.results[way].interval(measure)
        told[name] = [values.mean(), *ends]
        if compared.p_values[score.name, way, measure] >= SIGNIFICANT:
            told["near"].append(name)
    return told


PLAN = [
    {"pair": pair, "size": size, "method": method}
    for pair in (*_data.VISIBLE, *FURTHER)
    for size in _data.SIZES
    for method in _methods(pair)
]
benchmark = Benchmark("compare", PLAN, measure, minutes=30, obstacle=_data.obstacle)


def side_by_side(pair, size):
    """Return all figures for one pair; the best is bold, ≈ marks scores not significantly worse than `auto`'s."""
    records = [record for record in benchmark.find(pair=pair, size=size) if "cosine p@1" in record]
    best = {name: max(record[name][0] for record in records) for name in MEASURES}

    def cell(record, name):
        text = between(record[name], 3)
        if record[name][0] == best[name]:
            return f"**{text}**"
        return f"{text} ≈" if name in record["near"] else text

    rows = [
        [
            record["method"],
            *(cell(record, name) for name in MEASURES),
            f"{record['seconds']:.1f}",
            f"{record['memory'] / 1e6:,.0f}",
            record["learns from"],
        ]
        for record in records
    ]
    return table(["method", "MAP NN", "MAP CSLS", "P@1 NN", "P@1 CSLS", "s", "MB", "learns from"], rows)


def overview():
    """Return scores by cosine / by CSLS of the methods that run on every pair but English to French."""
    return _scores(_data.VISIBLE[1:], _ON_ALL)


def further():
    """Return the same between English vectors of 100 dimensions and French vectors."""
    return _scores(FURTHER, _ON_ALL)


def of(*methods):
    """Return the scores of some methods for English to French, with 100 dimensions too if all ran on these."""
    return _scores(("en-fr", "en100-fr") if set(methods) <= set(_methods("en100-fr")) else ("en-fr",), methods)


def seed_pairs(pair, size):
    return count(benchmark.find(pair=pair, size=size, method="fipp")[0]["seed"])


def score(pair, size, method):
    return both(benchmark.one(pair=pair, size=size, method=method))


def best_other(pair, size):
    """Return the best scores of the methods that are not ours, by cosine and by CSLS, with the names."""
    found = {way: max(_others(pair, size), key=lambda record, way=way: record[way][0]) for way in _data.WAYS}
    scores = [short(record[way][0]) for way, record in found.items()]
    names = [record["method"] for record in found.values()]
    if names[0] == names[1]:
        return f"{scores[0]} / {scores[1]} `{names[0]}`"
    return f"{scores[0]} `{names[0]}` / {scores[1]} `{names[1]}`"


def best_score(pair, size):
    """Return the best score by cosine among the methods that are not ours."""
    return short(max(record["cosine"][0] for record in _others(pair, size)))


def _others(pair, size):
    return [each for each in benchmark.find(pair=pair, size=size) if each["method"] not in OURS and "cosine" in each]


def _scores(pairs, methods):
    def cell(method, column):
        record = benchmark.get(**column, method=method)
        return both(record) if record and "cosine" in record else None

    return pivot("method", {f"`{method}`": method for method in methods}, _data.columns(pairs), cell)


if __name__ == "__main__":
    benchmark.main()
