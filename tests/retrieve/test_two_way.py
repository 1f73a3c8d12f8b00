"""The index for both directions gives what single searches give, by cosine and by CSLS."""

import numpy as np
import pytest

from fipp.exceptions import FippError
from fipp.retrieve import TwoWayIndex, neighbours


@pytest.fixture
def sides(rng):
    source, target = rng.standard_normal((310, 17)), rng.standard_normal((270, 17))
    target[5], target[200] = target[4], 0  # a copy and a row of zeros
    source[7] = source[3]
    return source.astype(np.float32), target.astype(np.float32)


def brute_force_csls(source, target, n_neighbours=10):
    X, Y = (
        rows.astype(np.float64) / np.maximum(np.linalg.norm(rows, axis=1), 1e-30)[:, None] for rows in (source, target)
    )
    cosines = X @ Y.T
    of_source = np.sort(cosines, axis=1)[:, -n_neighbours:].mean(axis=1)
    of_target = np.sort(cosines, axis=0)[-n_neighbours:].mean(axis=0)
    return 2 * cosines - of_source[:, None] - of_target


@pytest.mark.parametrize("n_queries", [1, 3, 20, 21, 60])
def test_both_directions_find_what_a_brute_force_search_finds(sides, n_queries):
    index = TwoWayIndex(*sides)
    index.hubs = index.measure_hubs()
    for side, (own, other) in {"source": sides, "target": sides[::-1]}.items():
        rows = np.arange(n_queries) * 4 + 3
        found = index.search(rows, 5, side=side)
        expected = np.sort(brute_force_csls(own, other)[rows], axis=1)[:, :-6:-1]
        np.testing.assert_allclose(found.csls.scores, expected, atol=2e-6)
        alone = neighbours(own[rows], other, 5)
        assert (found.cosine.indices == alone.indices).all() and (found.cosine.scores == alone.scores).all()
        csls = neighbours(own[rows], other, 5, retrieval="csls", hub_reference=own)
        assert (found.csls.indices == csls.indices).all() and (found.csls.scores == csls.scores).all()


def test_a_query_finds_the_same_alone_and_among_others(sides):
    index = TwoWayIndex(*sides)
    index.hubs = index.measure_hubs()
    together = index.search(np.arange(50), 4)
    for row in range(50):
        alone = index.search([row], 4)
        for one, many in zip(alone, together, strict=True):
            assert (one.indices[0] == many.indices[row]).all() and (one.scores[0] == many.scores[row]).all()


def test_similar_rows_leave_out_the_row_itself_even_among_copies(sides):
    source, target = sides
    source[100:130] = source[0]
    index = TwoWayIndex(source, target)
    found = index.similar([0, 3, 120], 8)
    assert found.indices.shape == (3, 8)
    assert all(row not in found.indices[place] for place, row in enumerate([0, 3, 120]))
    assert found.indices[1, 0] == 7


def test_there_is_no_csls_before_hubs_are_measured_and_wrong_rows_are_refused(sides):
    index = TwoWayIndex(*sides)
    assert index.search([1], 3).csls is None
    with pytest.raises(FippError, match="between 0 and 309"):
        index.search([310])
    with pytest.raises(FippError, match="only vectors of one space"):
        TwoWayIndex(np.eye(2), np.eye(3))
