"""Mutual neighbours against the definition."""

import numpy as np
import pytest

from fipp.exceptions import FippError
from fipp.linalg import unit_rows
from fipp.retrieve import mutual_neighbours, neighbours


def literal(A, B):
    cosines = (A / np.linalg.norm(A, axis=1)[:, None]) @ (B / np.linalg.norm(B, axis=1)[:, None]).T
    return [[i, j] for i in range(len(A)) for j in [int(np.argmax(cosines[i]))] if np.argmax(cosines[:, j]) == i]


def test_mutual_neighbours_are_the_literal_ones(rng):
    A, B = rng.standard_normal((70, 5)).astype(np.float32), rng.standard_normal((60, 5)).astype(np.float32)
    found = mutual_neighbours(A, B)
    assert found.pairs.tolist() == literal(A, B)
    expected = np.einsum("ij,ij->i", unit_rows(A[found.pairs[:, 0]]), unit_rows(B[found.pairs[:, 1]]))
    np.testing.assert_allclose(found.scores, expected, atol=1e-6)
    assert found.mean_score == pytest.approx(expected.mean(), abs=1e-6)


@pytest.mark.parametrize("max_memory", [None, 3000])
def test_mutual_neighbours_under_csls_are_the_literal_ones(rng, max_memory):
    A, B = (unit_rows(rng.standard_normal((n, 5))) for n in (50, 40))
    cosines = A.astype(float) @ B.T
    r_T, r_S = np.sort(cosines, axis=1)[:, -10:].mean(axis=1), np.sort(cosines, axis=0)[-10:].mean(axis=0)
    csls = 2 * cosines - r_T[:, None] - r_S
    expected = [[i, j] for i, j in enumerate(csls.argmax(axis=1)) if csls[:, j].argmax() == i]
    found = mutual_neighbours(A, B, retrieval="csls", max_memory=max_memory)
    assert found.pairs.tolist() == expected
    np.testing.assert_allclose(found.scores, csls[tuple(found.pairs.T)], atol=1e-6)


@pytest.mark.parametrize("retrieval", ["cosine", "dot", "csls"])
def test_the_nearest_and_the_scores_are_those_of_a_search(rng, retrieval):
    A, B = rng.standard_normal((300, 6)), rng.standard_normal((200, 6))
    there, found = neighbours(A, B, 1, retrieval=retrieval), mutual_neighbours(A, B, retrieval=retrieval)
    np.testing.assert_array_equal(found.nearest, there.indices[:, 0])
    np.testing.assert_array_equal(found.scores, there.scores[found.pairs[:, 0], 0])


def test_rows_of_zeros_are_in_no_pair():
    A = np.array([[0, 0], [1, 0]], dtype=np.float32)
    assert mutual_neighbours(A, A).pairs.tolist() == [[1, 1]]
    nothing = mutual_neighbours(0 * A, A)
    assert nothing.pairs.shape == (0, 2) and nothing.mean_score == 0


def test_progress_rises_to_the_whole(rng):
    told, (A, B) = [], rng.standard_normal((2, 30, 3))
    mutual_neighbours(A, B, progress=lambda *now: told.append(now))
    shares = [done / total for done, total in told]
    assert shares == sorted(shares) and shares[-1] == 1


def test_scores_that_are_not_symmetric_are_refused():
    with pytest.raises(FippError, match="choose from cosine, nn, dot, csls"):
        mutual_neighbours(np.eye(2), np.eye(2), retrieval="isf")
