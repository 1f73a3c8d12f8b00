"""Forecasts agree with simulated collections."""

import numpy as np
import pytest
from scipy.special import ndtr

from fipp.migrate._forecast import (
    Answers,
    chance_among,
    continued,
    gain_among,
    gain_in,
    recall_in,
    reciprocal_rank_among,
    reciprocal_rank_in,
    tail_recall,
)


@pytest.mark.parametrize("noise", [0.3, 1.0, 1.8])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_recall_of_an_exponential_tail_is_that_of_simulated_ones(noise, k):
    rng = np.random.default_rng(0)
    arrivals = np.cumsum(rng.exponential(size=(3000, 2500)), axis=1)
    noisy = -np.log(arrivals) + noise * rng.standard_normal(arrivals.shape)
    found = np.argpartition(-noisy, k - 1, axis=1)[:, :k]
    assert tail_recall(noise, k) == pytest.approx((found < k).mean(), abs=0.02)


def test_recall_is_continued_to_a_collection_ten_times_as_large():
    rng = np.random.default_rng(0)
    recalls = {}
    for size in (500, 5000):
        scores = rng.exponential(size=(400, size))
        noisy = scores + rng.standard_normal(scores.shape)
        best, found = np.argsort(-scores, axis=1)[:, :10], np.argsort(-noisy, axis=1)[:, :10]
        both = list(zip(found, best, strict=True))
        shares = [[len(np.intersect1d(f[:k], b[:k])) / k for k in range(1, 11)] for f, b in both]
        recalls[size] = np.mean(shares, axis=0)
    assert recall_in(recalls[500], 500, 5000) == pytest.approx(recalls[5000][-1], abs=0.04)


def test_reciprocal_ranks_in_a_part_are_those_of_drawn_parts():
    rng = np.random.default_rng(0)
    for rank in (1, 2, 7):
        before = rng.random((20_000, rank - 1)) < 0.3
        drawn = (1 / (1 + before.sum(axis=1))).mean()
        assert reciprocal_rank_in(0.3, np.array([rank]))[0] == pytest.approx(drawn, abs=0.01)


def test_gains_in_a_part_are_those_of_drawn_parts():
    rng = np.random.default_rng(0)
    places = 1 + (rng.random((20_000, 20)) < 0.4).sum(axis=1)
    expected = np.where(places <= 10, 1 / np.log2(1 + places), 0).mean()
    assert gain_in(0.4, np.array([21]))[0] == pytest.approx(expected, abs=0.01)


def test_ranks_of_answers_are_continued():
    rng = np.random.default_rng(0)
    # The share of items that score more than the answer varies from query to query.
    above = 10 ** rng.uniform(-5, -1, 3000)
    ranks = {size: 1 + rng.binomial(size, above) for size in (1000, 10_000)}
    value, error = continued(lambda part: float(reciprocal_rank_in(part, ranks[1000]).mean()), 10.0)
    assert value == pytest.approx((1 / ranks[10_000]).mean(), abs=0.03)
    assert 0 <= error < 0.1


def test_answers_of_normal_height_are_followed_to_a_larger_collection():
    rng = np.random.default_rng(0)
    above = ndtr(-rng.normal(2.5, 1.2, 2000))
    ranks = {size: 1 + rng.binomial(size - 1, above) for size in (1000, 10_000)}
    answers = Answers(ranks[1000], 1000)
    for among, value in ((reciprocal_rank_among, 1 / ranks[10_000]), (gain_among, gains(ranks[10_000]))):
        expected = answers.expected(among(10_000))
        assert expected.mean() == pytest.approx(value.mean(), abs=0.02)
        # Answers that were found at the same rank are worth as much as they are on average.
        first = ranks[1000] == 1
        assert expected[first].mean() == pytest.approx(value[first].mean(), abs=0.02)
        assert answers.mean_of(np.arange(2000), among(10_000)) == pytest.approx(expected.mean(), abs=1e-3)


def gains(ranks):
    return np.where(ranks <= 10, 1 / np.log2(1 + ranks), 0)


def test_a_larger_collection_pushes_answers_out_of_the_first():
    chances = chance_among(100, np.array([1, 3, 8, 15]), 1000, 10_000)
    assert (np.diff(chances) <= 0).all() and chances[0] == 1 and chances[-1] < 0.1
