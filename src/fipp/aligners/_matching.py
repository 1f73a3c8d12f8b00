"""The heaviest one-to-one matching of a sparse graph, in which words may stay alone."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import min_weight_full_bipartite_matching


def heaviest_matching(
    rows: NDArray[np.int64], columns: NDArray[np.int64], weights: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Choose edges so that no row and no column has two and their weights add up to most.

    Parameters
    ----------
    rows, columns : ndarray of shape (e,)
        The two ends of each edge; no edge is given twice.
    weights : ndarray of shape (e,)
        Edges whose weight is not above 0 are never chosen.

    Returns
    -------
    ndarray of shape (k,)
        Numbers of the chosen edges, in the order of their rows.

    Examples
    --------
    >>> heaviest_matching(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([3.0, 2.0, 2.0]))
    array([1, 2])
    """
    useful = np.flatnonzero(weights > 0)
    if not len(useful):
        return np.empty(0, np.int64)
    row_names, row = np.unique(rows[useful], return_inverse=True)
    column_names, column = np.unique(columns[useful], return_inverse=True)
    n, m = len(row_names), len(column_names)
    # Each row may also take a column of its own for nothing, so that every row has one. All weights are raised alike,
    # which changes no choice among matchings of n edges, because a weight of 0 would count as no edge.
    alone = np.arange(n)
    raised = 1 + np.concatenate([weights[useful] / weights[useful].max(), np.zeros(n)])
    graph = scipy.sparse.csr_array(
        (raised, (np.concatenate([row, alone]), np.concatenate([column, m + alone]))), shape=(n, m + n)
    )
    matched_rows, matched_columns = min_weight_full_bipartite_matching(graph, maximize=True)
    number = scipy.sparse.csr_array((1 + np.arange(len(useful)), (row, column)), shape=(n, m + n))
    chosen = np.asarray(number[matched_rows, matched_columns]).ravel()
    return useful[chosen[chosen > 0] - 1]
