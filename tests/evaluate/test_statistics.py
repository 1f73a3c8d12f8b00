"""Intervals and significance, against loops over every resample and every choice of signs."""

import itertools

import numpy as np
import pytest

import fipp
from fipp.evaluate import MEASURES, bli, bootstrap_interval, compare_results
from fipp.evaluate._statistics import sign_flip_p_value
from fipp.exceptions import FippError


def noisy(rng, noise=1.0, n=150):
    keys = rng.standard_normal((n, 8))
    return keys + noise * rng.standard_normal((n, 8)), keys


@pytest.fixture
def result(rng):
    queries, keys = noisy(rng)
    return bli(queries, keys, np.arange(150), np.arange(150))


def test_an_interval_holds_the_quantiles_of_resampled_means(rng):
    values = rng.random(40)
    draw = np.random.default_rng(3)
    means = [np.mean([values[i] for i in draw.integers(40, size=40)]) for _ in range(500)]
    expected = np.quantile(means, [0.05, 0.95])
    np.testing.assert_allclose(bootstrap_interval(values, level=0.9, n_resamples=500, random_state=3), expected)


def test_an_interval_has_the_width_that_the_normal_distribution_predicts(rng):
    values = rng.random(2000)
    low, high = bootstrap_interval(values, n_resamples=4000)
    half = 1.96 * values.std() / np.sqrt(2000)
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=half / 10)


@pytest.mark.parametrize("measure", MEASURES)
def test_every_score_lies_in_its_interval_and_is_the_mean_of_its_queries(result, measure):
    score = result.as_dict()[measure]
    low, high = result.interval(measure)
    assert low < score < high
    assert result.per_query(measure).mean() == pytest.approx(score)
    assert result.interval(measure) == result.interval(measure)
    wide_low, wide_high = result.interval(measure, 0.99)
    assert wide_low < low and high < wide_high


def test_a_single_query_has_an_interval_without_width():
    assert bli(np.eye(3), np.eye(3), [0], [0]).interval() == (1.0, 1.0)


def test_the_seed_decides_the_draws(result):
    assert result.interval("map", random_state=1) != result.interval("map", random_state=2)


def test_sign_flips_of_a_few_differences_are_all_tried(rng):
    for n in range(1, 9):
        differences = rng.standard_normal(n).round(1)
        reached = abs(differences.sum()) - 1e-9
        sums = [abs(np.dot(signs, differences)) for signs in itertools.product((1, -1), repeat=n)]
        assert sign_flip_p_value(differences) == pytest.approx(np.mean([total >= reached for total in sums]))


def test_thrown_signs_come_near_to_all_signs(rng):
    differences = rng.standard_normal(12) + 0.3
    exact = sign_flip_p_value(differences, n_resamples=5000)
    thrown = sign_flip_p_value(differences, n_resamples=4000)
    assert thrown == pytest.approx(exact, abs=0.03) and thrown != exact


def test_equal_results_do_not_differ(result):
    comparison = compare_results(result, result)
    assert (comparison.difference, comparison.low, comparison.high, comparison.p_value) == (0, 0, 0, 1)


def test_a_better_model_is_told_from_a_worse_and_the_other_way_round(rng):
    keys = rng.standard_normal((150, 8))
    rows = np.arange(150)
    good, bad = (bli(keys + noise * rng.standard_normal((150, 8)), keys, rows, rows) for noise in (0.5, 1.5))
    comparison, reversed_comparison = compare_results(good, bad), compare_results(bad, good)
    assert comparison.difference == pytest.approx(good.map - bad.map) and comparison.second == pytest.approx(bad.map)
    assert 0 < comparison.low < comparison.difference < comparison.high and comparison.p_value < 0.001
    assert reversed_comparison.difference == pytest.approx(-comparison.difference)
    assert reversed_comparison.p_value == comparison.p_value
    assert "150 queries" in str(comparison) and comparison.as_dict()["p_value"] == comparison.p_value


def test_p_values_without_a_difference_are_spread_evenly(rng):
    p_values = [sign_flip_p_value(rng.standard_normal(30), n_resamples=400) for _ in range(300)]
    assert np.mean(np.array(p_values) <= 0.1) == pytest.approx(0.1, abs=0.05)


def test_results_on_different_queries_are_not_compared(rng):
    queries, keys = noisy(rng)
    first, second = (bli(queries, keys, rows, rows) for rows in ([0, 1, 2], [0, 1, 3]))
    with pytest.raises(FippError, match="not of the same queries; only the first has 2; only the second has 3"):
        compare_results(first, second)


def test_queries_of_two_vocabularies_are_matched_by_their_words(rng):
    keys = rng.standard_normal((60, 5)).astype(np.float32)
    words = [f"w{i}" for i in range(60)]
    seed, test = [(w, w) for w in words[:30]], [(w, w) for w in words[30:]]
    target = fipp.Vectors(words, keys)
    source = fipp.Vectors(words, keys + 0.5 * rng.standard_normal((60, 5)))
    turned = source.rows(np.arange(60)[::-1])
    straight, backwards = (fipp.align(side, target, seed, "procrustes").evaluate(test) for side in (source, turned))
    assert straight.words == tuple(reversed(backwards.words))
    assert compare_results(straight, backwards).p_value == 1 and compare_results(straight, backwards).low == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda result: result.interval("f1"), "no measure 'f1'"),
        (lambda result: result.interval("map", 95), "level must lie between 0 and 1"),
        (lambda result: result.interval(n_resamples=0), "n_resamples must be a whole number"),
    ],
)
def test_wrong_settings_are_refused(result, wrong, message):
    with pytest.raises(FippError, match=message):
        wrong(result)
