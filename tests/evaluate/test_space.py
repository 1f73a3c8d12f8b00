"""Figures about a space agree with their definitions, counted out by hand."""

import numpy as np
import pytest
from scipy import stats

from fipp.evaluate import describe_space
from fipp.exceptions import FippError
from fipp.io import Vectors


@pytest.fixture
def matrix(rng):
    return (rng.standard_normal((60, 7)) * [3, 2, 1, 1, 1, 0.5, 0.1] + 0.5).astype(np.float32)


def unit(matrix):
    return matrix / np.linalg.norm(matrix.astype(float), axis=1, keepdims=True)


def test_lengths_zeros_and_repetitions_are_counted(matrix):
    matrix[5] = 0
    matrix[6:8] = matrix[9]
    report = describe_space(matrix)
    lengths = [np.sqrt(sum(float(x) ** 2 for x in row)) for row in matrix]
    assert (report.norm_min, report.zero_rows, report.repeated_rows) == (0, 1, 2)
    assert report.norm_mean == pytest.approx(np.mean(lengths))
    assert report.norm_max == pytest.approx(max(lengths))
    assert (report.rows, report.dimensions) == (60, 7)


def test_shares_of_variance_are_those_of_the_singular_values(matrix):
    report = describe_space(matrix)
    rows = unit(matrix)
    variances = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False) ** 2
    assert report.top_1 == pytest.approx(variances[0] / variances.sum(), rel=1e-4)
    assert report.top_2 == pytest.approx(variances[:2].sum() / variances.sum(), rel=1e-4)
    assert report.top_10 == pytest.approx(1)
    assert report.effective_dimensions == pytest.approx(variances.sum() ** 2 / (variances**2).sum(), rel=1e-4)
    assert report.mean_length == pytest.approx(np.linalg.norm(rows.mean(axis=0)), rel=1e-4)


def test_isotropy_is_the_ratio_of_partition_functions(matrix):
    rows = unit(matrix)
    directions = np.linalg.svd(rows, full_matrices=False)[2]
    partition = [sum(np.exp(row @ (sign * c)) for row in rows) for c in directions for sign in (1, -1)]
    assert describe_space(matrix).isotropy == pytest.approx(min(partition) / max(partition), rel=1e-4)


def test_hubness_is_the_skewness_of_neighbour_counts(matrix):
    rows = unit(matrix)
    counts = np.zeros(len(rows))
    for i in range(len(rows)):
        others = sorted((j for j in range(len(rows)) if j != i), key=lambda j: -rows[i] @ rows[j])
        counts[others[:4]] += 1
    report = describe_space(matrix, neighbours=4)
    assert report.hubness == pytest.approx(stats.skew(counts))
    assert report.largest_hub == counts.max()
    assert (report.sample, report.neighbours) == (60, 4)


def test_a_hub_is_noticed(rng):
    centred = rng.standard_normal((300, 30))
    hub = np.vstack([centred + 1, np.ones(30)])
    assert describe_space(hub).largest_hub > 2 * describe_space(centred).largest_hub
    assert describe_space(hub).hubness > 2


def test_the_sample_depends_on_its_seed_only(rng):
    matrix = rng.standard_normal((500, 8))
    assert describe_space(matrix, sample=100) == describe_space(matrix, sample=100)
    assert describe_space(matrix, sample=100).sample == 100
    assert describe_space(matrix, sample=100) != describe_space(matrix, sample=100, random_state=1)


def test_words_make_no_difference(matrix):
    assert describe_space(Vectors([str(row) for row in range(60)], matrix)) == describe_space(matrix)


@pytest.mark.parametrize("matrix", [np.zeros((3, 2)), np.ones((1, 2)), np.ones((5, 1))])
def test_degenerate_spaces_have_finite_figures(matrix):
    assert all(np.isfinite(value) for value in describe_space(matrix).as_dict().values())


@pytest.mark.parametrize("matrix", [np.zeros((0, 3)), np.ones(3), [[np.nan, 1.0]], [["a"]]])
def test_what_is_no_set_of_vectors_is_refused(matrix):
    with pytest.raises(FippError):
        describe_space(matrix)
    with pytest.raises(FippError, match="at least 1"):
        describe_space(np.ones((3, 2)), sample=0)
