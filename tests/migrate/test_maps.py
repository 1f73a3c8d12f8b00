"""The map of a migration is chosen by the neighbours that it keeps of items that it was not fitted on."""

import numpy as np
import pytest

from fipp.linalg import unit_rows
from fipp.migrate import PairedSample
from fipp.migrate._maps import best_map, nearest_others, pairs_of, shares_found


def sample_of(relate, n=400, d=6, queries=0):
    rng = np.random.default_rng(1)
    new = rng.standard_normal((n + queries, d))
    old = relate(new)
    if not queries:
        return PairedSample.from_arrays(old, new)
    return PairedSample.from_arrays(old[:n], new[:n], old_queries=old[n:], new_queries=new[n:])


def bent(X):
    return np.hstack([X[:, :3], np.sign(X) * np.abs(X) ** 2])


def test_a_linear_relation_takes_a_linear_map_and_a_bent_one_a_kernel():
    for direction in ("documents", "queries"):
        assert best_map(sample_of(lambda X: X[:, ::-1] * 2), direction).name == "linear"
    assert best_map(sample_of(bent)).name == "kernel"


def test_queries_of_both_models_are_fitted_on_when_queries_are_adapted():
    sample = sample_of(bent, queries=50)
    assert len(pairs_of(sample, "documents")[0]) == 400 and len(pairs_of(sample, "queries")[0]) == 450
    assert len(best_map(sample, "queries").left_out.Y) == 450


def test_recall_is_the_share_of_neighbours_found_by_a_plain_search():
    sample = sample_of(bent, n=60)
    best = best_map(sample)
    new, mapped = unit_rows(sample.new), unit_rows(best.left_out.predictions())
    shares = []
    for row in range(60):
        true, found = (
            sorted(set(range(60)) - {row}, key=lambda j: -float(new[row] @ pool[j]))[:10] for pool in (new, mapped)
        )
        shares.append(len(set(true) & set(found)) / 10)
    assert best.recall == pytest.approx(np.mean(shares))


def test_shares_are_counted_at_every_depth():
    assert shares_found([[1, 2, 3] + [9] * 7], [[2, 1, 4] + [8] * 7])[0, :3].tolist() == pytest.approx([0, 1, 2 / 3])
    assert nearest_others(np.eye(3), np.eye(3), np.arange(3))[0] == [1, 2]
