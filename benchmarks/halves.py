"""How fair an index is of which a part has been embedded again, and the rest converted.

Data as in `cascade`. The share of native vectors in the first ten is compared with that in the new model's first ten.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from _benchmark import Benchmark
from _tables import table
from cascade import PAIRS, data, obstacle

ASKED = 300
PARTS = {"a tenth, at random": 0.1, "half, at random": 0.5, "nine tenths, at random": 0.9, "the most wanted half": None}
DEPTH, KEPT = 10, 200


@cache
def converted(pair):
    from fipp.migrate import Migration

    sample, old = data(pair)[:2]
    return Migration.fit(sample, direction="documents").convert_documents(old)


def measure(pair, part):
    from fipp.linalg import unit_rows
    from fipp.migrate import merge_halves
    from fipp.retrieve import neighbours

    _, _, new, _, queries, _ = data(pair)
    asked, others, mapped = queries[:ASKED], queries[ASKED:], converted(pair)
    native = np.random.default_rng(0).random(len(new)) < (PARTS[part] or 0)
    if PARTS[part] is None:
        wanted = np.bincount(neighbours(others, mapped, 100).indices.ravel(), minlength=len(new))
        native[np.argsort(-wanted, kind="stable")[: len(new) // 2]] = True
    truth = neighbours(asked, new, DEPTH).indices
    halves = [np.flatnonzero(native), np.flatnonzero(~native)]
    found = [neighbours(asked, np.asarray(new[halves[0]]), KEPT), neighbours(asked, mapped[halves[1]], KEPT)]
    assert np.allclose(np.linalg.norm(unit_rows(asked), axis=1), 1, atol=1e-3)
    shares = {
        "truth": native[truth].mean(),
        **{name: [] for name in ("by score", "merged", "recall by score", "recall merged")},
    }
    for query in range(len(asked)):
        scores = [each.scores[query].astype(np.float64) for each in found]
        ids = [half[each.indices[query]] for half, each in zip(halves, found, strict=True)]
        plain = np.concatenate(ids)[np.argsort(-np.concatenate(scores), kind="stable")[:DEPTH]]
        merged = merge_halves(*scores, n_native=len(halves[0]), n_converted=len(halves[1]), k=DEPTH)
        fair = np.where(
            merged.is_native, ids[0][np.minimum(merged.places, KEPT - 1)], ids[1][np.minimum(merged.places, KEPT - 1)]
        )
        for name, rows in (("by score", plain), ("merged", fair)):
            shares[name].append(native[rows].mean())
            shares[f"recall {name}"].append(len(set(rows) & set(truth[query])) / DEPTH)
    return {name: float(np.mean(each)) for name, each in shares.items()}


PLAN = [{"pair": pair, "part": part} for pair in PAIRS for part in PARTS]
benchmark = Benchmark("halves", PLAN, measure, minutes=8, obstacle=obstacle)


def shares_table():
    rows = [
        [record["pair"], record["part"], f"{record['truth']:.2f}",
         *(f"{record[name]:.2f} ({record[f'recall {name}']:.2f})" for name in ("by score", "merged"))]
        for record in benchmark.records
    ]  # fmt: skip
    return table(["models", "embedded again", "truth", "merged by score", "`merge_halves`"], rows)


def largest_difference():
    """Return how far the share is from the truth at most where documents were embedded in random order."""
    return f"{max(abs(r['merged'] - r['truth']) for r in benchmark.records if 'random' in r['part']):.3f}"


if __name__ == "__main__":
    benchmark.main()
