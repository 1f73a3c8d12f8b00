"""Word similarity before and after alignment, for every method, English to French with the 5K seed.

Spearman's correlation of cosines with human scores for the English sets and across the two languages; for FIPP and
Procrustes also the uncertainty of the scores of bilingual lexicon induction.
"""

from __future__ import annotations

from functools import cache

import _data
from _benchmark import Benchmark
from _tables import pivot, short, table

import fipp
from fipp.aligners import METHODS
from fipp.evaluate import compare_results, cross_similarity, similarity, similarity_before_after

PAIR, SIZE = "en-fr", "5k"
SETS = {
    "WordSim-353": "en-wordsim353-all.tsv",
    "MTurk-771": "en-mturk771.tsv",
    "SemEval-2017": "en.semeval17.csv",
    "SimLex-999": "en-simlex999.tsv",
}
ACROSS = "across, RG-65"
BEFORE, PREPARED = "before", "FIPP's preprocessing alone"
JUDGED = ("fipp", "procrustes")
# As in docs/results/downstream.md: with the default of 20,000 words, these take twenty minutes each.
SMALLER = {f"vecmap-{mode}": {"max_words": 4000} for mode in ("semi", "identical", "unsupervised")}


@cache
def _aligned(method):
    pairs = None if METHODS[method].learns_from == "identical" else _data.dictionary(PAIR, f"train.{SIZE}")
    return fipp.align(*_data.sides(PAIR), pairs, method, **SMALLER.get(method, {}))


def measure(method):
    source, _ = _data.sides(PAIR)
    files = {name: _data.DATA / "similarity" / file for name, file in SETS.items()}
    if method == PREPARED:
        prepared = _aligned("fipp").aligner.source_preprocess_.transform(source.matrix)
        source = fipp.Vectors(source.words, prepared)
    if method in (BEFORE, PREPARED):
        results = {name: similarity(source, file) for name, file in files.items()}
        found = {f"{name} found": [result.pairs, result.total] for name, result in results.items()}
        return {name: result.spearman for name, result in results.items()} | found
    alignment = _aligned(method)
    told = {name: similarity_before_after(alignment, file).after.spearman for name, file in files.items()}
    across = cross_similarity(alignment, _data.DATA / "similarity" / "en-fr.rg65.csv")
    told |= {ACROSS: across.spearman, "pearson": across.pearson, "found": [across.pairs, across.total]}
    return told | (_sureness(alignment) if method in JUDGED else {})


def _sureness(alignment):
    """Return the scores on the test dictionary with intervals, the cross-validated scores, and FIPP's lead."""
    test, told = _data.dictionary(PAIR, "test.2k"), {}
    for way in _data.WAYS:
        result, seed = alignment.evaluate(test, retrieval=way), alignment.evaluate(retrieval=way)
        told[way] = [result.map, *result.interval("map")]
        told[f"{way} on the seed"] = [seed.map, seed.mutual_rate, seed.mean_csls]
        if alignment is not _aligned("procrustes"):
            lead = compare_results(result, _aligned("procrustes").evaluate(test, retrieval=way))
            told[f"{way} lead"] = [lead.difference, lead.low, lead.high, lead.p_value]
    return told


PLAN = [{"method": method} for method in (BEFORE, PREPARED, *METHODS)]
benchmark = Benchmark("similarity", PLAN, measure, minutes=15, obstacle=_data.obstacle)


def sets_table():
    """Return the English sets before and after alignment by FIPP and by Procrustes."""
    columns = {BEFORE: BEFORE, PREPARED: PREPARED, "FIPP": "fipp", "Procrustes": "procrustes"}

    def cell(name, method):
        if method is None:
            return "{} of {}".format(*benchmark.one(method=BEFORE)[f"{name} found"])
        return short(benchmark.one(method=method)[name])

    return pivot("set", {name: name for name in SETS}, {"pairs found": None, **columns}, cell)


def methods_table():
    """Return the sets after alignment by every method."""

    def cell(method, name):
        record = benchmark.get(method=method)
        return record and short(record[name])

    return pivot("method", {f"`{name}`": name for name in METHODS}, {name: name for name in (*SETS, ACROSS)}, cell)


def sureness_table():
    rows = []
    for way in _data.WAYS:
        for method in JUDGED:
            record = benchmark.one(method=method)
            value, low, high = record[way]
            validated, mutual, csls = record[f"{way} on the seed"]
            on_seed = [short(validated), f"{100 * mutual:.1f} %", short(csls)]
            rows.append([way, f"`{method}`", short(value), f"{short(low)} to {short(high)}", *on_seed])
    header = ["retrieval", "method", "MAP", "interval", "cross-validated MAP on the seed"]
    return table([*header, "mutual neighbours", "mean CSLS"], rows)


def lead(way):
    """Return how far FIPP is ahead of Procrustes on the same queries, with the paired interval."""
    difference, low, high = map(short, benchmark.one(method="fipp")[f"{way} lead"][:3])
    return f"+{difference} (paired interval +{low} to +{high})"


def across(method):
    record = benchmark.one(method=method)
    return f"Spearman {short(record[ACROSS])} and Pearson {short(record['pearson'])}"


if __name__ == "__main__":
    benchmark.main()
