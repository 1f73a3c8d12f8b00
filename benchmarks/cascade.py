"""What a cascade finds compared with embedding everything again, and how fair a half-converted index is.

The texts and vectors are those of examples/embedding_models.py, in the folder that `_embeddings` names. Documents are
Debian's package descriptions and passages of them; a query is a package's short description, and its answer the long
one. 2,000 documents, with the queries that they answer, are the sample; all others are searched.
"""

from __future__ import annotations

import json
import tempfile
from functools import cache

import numpy as np
from _benchmark import Benchmark
from _embeddings import FOLDER
from _tables import table

SAMPLE, ASKED, CANDIDATES = 2_000, 1_000, 100
CLEAN = 10_000
"""Of the answers to the queries that are asked, as examples/embedding_models.py explains."""
PAIRS = ["wordllama to use", "minilm-static to use", "wordllama to minilm", "minilm-layer4 to minilm"]


def load(space):
    return [np.load(FOLDER / f"{space}.{kind}.npy", mmap_mode="r") for kind in ("documents", "queries")]


@cache
def answers():
    with open(FOLDER / "queries.jsonl", encoding="utf-8") as file:
        return np.array([json.loads(line)["gold"] for line in file])


@cache
def data(pair):
    """Return a sample with queries, the rows searched with their vectors, and queries with their answers."""
    from fipp.migrate import PairedSample

    (old, old_queries), (new, new_queries) = map(load, pair.split(" to "))
    n = min(len(old), len(new))
    gold = answers()[: min(len(old_queries), len(new_queries))]
    asked = np.flatnonzero(gold < CLEAN)
    rng = np.random.default_rng(0)
    fitted = np.sort(rng.choice(np.arange(CLEAN, min(n, 22_000)), SAMPLE, replace=False))
    known = np.flatnonzero(np.isin(gold, fitted))
    sample = PairedSample.from_arrays(
        old[fitted], new[fitted], old_queries=old_queries[known], new_queries=new_queries[known]
    )
    searched = np.setdiff1d(np.arange(n), fitted)
    drawn = np.sort(rng.choice(asked, ASKED, replace=False))
    places = np.searchsorted(searched, gold[drawn])
    return sample, old[searched], new[searched], old_queries[drawn], new_queries[drawn], places


def reciprocal(queries, items, gold):
    from fipp.retrieve import ranks_of_gold

    return float(np.mean(1 / ranks_of_gold(queries, items, np.arange(len(gold)), gold)))


def measure(pair, way):
    from fipp.migrate import Cascade, Migration

    sample, old, new, old_queries, new_queries, gold = data(pair)
    if way == "embed again":
        return {"mrr": reciprocal(new_queries, new, gold), "searched": len(old), "embedded": len(old)}
    if way == "stay on the old model":
        return {"mrr": reciprocal(old_queries, old, gold), "searched": len(old), "embedded": 0}
    direction = "queries" if "adapt" in way else "documents"
    migration = Migration.fit(sample, direction=direction)
    if "score" not in way:
        if direction == "documents":
            return {
                "mrr": reciprocal(new_queries, migration.convert_documents(old), gold),
                "searched": len(old),
                "embedded": 0,
            }
        return {"mrr": reciprocal(migration.adapt_queries(new_queries), old, gold), "searched": len(old), "embedded": 0}
    with tempfile.TemporaryDirectory() as folder:
        cascade = Cascade.over(
            migration, range(len(old)), old, lambda ids: new[ids], store=folder, n_candidates=CANDIDATES
        )
        found = cascade.search(new_queries, CANDIDATES)
    ranks = [[hit.id for hit in hits].index(wanted) + 1 if wanted in {hit.id for hit in hits} else np.inf
             for hits, wanted in zip(found, gold.tolist(), strict=True)]  # fmt: skip
    return {"mrr": float(np.mean(1 / np.array(ranks))), "searched": len(old), "embedded": cascade.n_embedded}


WAYS = [
    "stay on the old model",
    "adapt queries",
    "convert",
    "adapt queries, score the first 100 again",
    "convert, score the first 100 again",
    "embed again",
]
PLAN = [{"pair": pair, "way": way} for pair in PAIRS for way in WAYS]


def obstacle():
    return None if (FOLDER / "queries.jsonl").exists() else f"{FOLDER} does not exist"


benchmark = Benchmark("cascade", PLAN, measure, minutes=10, obstacle=obstacle)


def mrr_table():
    rows = []
    for way in WAYS:
        row = [way]
        for pair in PAIRS:
            record, again = benchmark.get(pair=pair, way=way), benchmark.get(pair=pair, way="embed again")
            row.append(f"{record['mrr']:.3f} ({100 * record['mrr'] / again['mrr']:.0f} %)" if record else "–")
        rows.append(row)
    sizes = [f"{benchmark.one(pair=pair, way='embed again')['searched']:,}" for pair in PAIRS]
    return table(["", *(f"{pair}, {size}" for pair, size in zip(PAIRS, sizes, strict=True))], rows)


def embedded_share(pair):
    """Return the percentage of the documents that 1,000 queries had embedded."""
    record = benchmark.one(pair=pair, way="convert, score the first 100 again")
    return f"{100 * record['embedded'] / record['searched']:.0f}"


if __name__ == "__main__":
    benchmark.main()
