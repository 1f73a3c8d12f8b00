"""A whole dictionary from an alignment, and how likely its pairs are to be right."""

import json

import numpy as np
import pytest

import fipp
from fipp.evaluate import InducedPairs, induce_pairs
from fipp.exceptions import FippError


def noisy_spaces(n=1500, d=20, noise=0.75, random_state=0):
    """Return two spaces of which row i belongs to row i, hidden by noise."""
    rng = np.random.default_rng(random_state)
    X = rng.standard_normal((n, d))
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return X.astype(np.float32), (X @ rotation + noise * rng.standard_normal((n, d))).astype(np.float32)


@pytest.mark.parametrize("noise", [1.1, 1.5])
def test_the_estimated_precision_is_near_the_true_one(noise):
    X, Y = noisy_spaces(noise=noise)
    aligner = fipp.Procrustes(preprocess=None).fit(X, Y, np.repeat(np.arange(600)[:, None], 2, axis=1))
    found = induce_pairs(aligner, X, Y)
    fresh = found.rows[:, 0] >= 600
    right = found.rows[:, 0] == found.rows[:, 1]
    assert found.probabilities is not None and 0.2 < right[fresh].mean() < 0.95
    assert abs(found.probabilities[fresh].mean() - right[fresh].mean()) < 0.06


def test_pairs_choose_each_other_and_come_best_first():
    X, Y = noisy_spaces(n=300)
    aligner = fipp.Procrustes(preprocess=None).fit(X, Y, np.repeat(np.arange(100)[:, None], 2, axis=1))
    found = induce_pairs(aligner, X, Y)
    assert len(np.unique(found.rows[:, 0])) == len(np.unique(found.rows[:, 1])) == len(found.rows)
    assert (np.diff(found.scores) <= 0).all() and (np.diff(found.probabilities) <= 0).all()


def test_as_many_pairs_are_kept_as_the_precision_allows():
    found = InducedPairs(np.zeros((4, 2), int), np.zeros(4, np.float32), np.array([0.9, 0.8, 0.4, 0.1]), 50)
    assert len(found.best().rows) == 2
    assert len(found.best(0.7).rows) == 3  # (.9 + .8 + .4) / 3
    assert len(found.best(0.95).rows) == 0


def test_without_known_pairs_all_are_returned_without_an_estimate():
    X, Y = noisy_spaces(n=200, noise=0.1)
    aligner = fipp.Procrustes(preprocess=None).fit(X, Y)
    aligner.pairs_ = aligner.pairs_[:0]
    found = induce_pairs(aligner, X, Y)
    assert found.probabilities is None and len(found.best().rows) == len(found.rows) > 100


def test_the_command_writes_words_with_probabilities(run, aligned, tmp_path):
    output = tmp_path / "found.tsv"
    told = run("induce", aligned.model, aligned.source, aligned.target, "-o", output, "--json")
    found = fipp.Lexicon.load(output)
    assert json.loads(told.stdout)["pairs"] == len(found) > 250
    assert sum(source[1:] == target[1:] for source, target in found) > 0.9 * len(found)
    assert found.scores is not None and ((found.scores >= 0.5) & (found.scores <= 1)).all()


def test_the_command_refuses_a_precision_that_is_no_share(run, aligned, tmp_path):
    result = run("induce", aligned.model, aligned.source, aligned.target, "-o", tmp_path / "x.tsv", "--precision", 1.5)
    assert result.exit_code == 2 and "between 0 and 1" in result.stderr and not (tmp_path / "x.tsv").exists()


def test_a_precision_that_cannot_be_estimated_is_refused():
    X, Y = noisy_spaces(n=40, noise=0.1)
    source, target = fipp.Vectors([f"s{i}" for i in range(40)], X), fipp.Vectors([f"t{i}" for i in range(40)], Y)
    alignment = fipp.align(source, target, [(f"s{i}", f"t{i}") for i in range(20)], "procrustes")
    with pytest.raises(FippError, match="cannot be estimated"):
        alignment.induce(precision=0.5)
