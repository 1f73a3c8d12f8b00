"""The map of a migration is chosen by how close it comes to items that it was not fitted on."""

import numpy as np
import pytest

from fipp import KernelRidge
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


def test_a_small_gain_of_a_kernel_is_not_worth_it():
    nearly_linear = sample_of(lambda X: X + 0.1 * np.tanh(X))
    best = best_map(nearly_linear)
    kernel = KernelRidge("rbf").fit(*pairs_of(nearly_linear, "documents"))
    assert best.name == "linear" and abs(kernel.held_out_cosine_ - best.aligner.held_out_cosine_) < 0.005
    bent_sample = sample_of(bent)
    linear = KernelRidge("linear").fit(*pairs_of(bent_sample, "documents"))
    assert best_map(bent_sample).aligner.held_out_cosine_ > linear.held_out_cosine_ + 0.005


@pytest.mark.parametrize("direction", ["documents", "queries"])
def test_the_vectors_of_the_model_that_is_mapped_to_stay_as_they_are(direction):
    sample = sample_of(bent)
    kept = sample.new.copy(), sample.old.copy()
    best = best_map(sample, direction)
    target = sample.new if direction == "documents" else sample.old
    assert np.array_equal(sample.new, kept[0]) and np.array_equal(sample.old, kept[1])
    # Scaled to unit length, which changes no cosine; neither centred nor mapped.
    assert best.aligner.target_map_ is None
    assert np.allclose(best.aligner.transform_target(target), unit_rows(target), atol=1e-6)


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
