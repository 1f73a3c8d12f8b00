"""Lengths, means and products of many vectors, block by block: float32 products, float64 sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp.linalg._device import product
from fipp.linalg._parallel import ordered_map

# Rows at a time: 1,024 × 300 float32 stay in the cache between the steps, and products are at full speed.
BLOCK_ROWS = 1024
_SMALL_NORM = 1e-15


def row_blocks(n_rows: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    """Cut ``n_rows`` rows into slices of at most ``size``."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def map_rows(function: Callable[[NDArray[Any]], NDArray[Any]], X: NDArray[Any], n_columns: int) -> NDArray[np.float32]:
    """Return ``function`` of the rows of ``X``, which has ``n_columns`` for each, block by block on all threads."""
    out = np.empty((len(X), n_columns), dtype=np.float32)

    def fill(rows: slice) -> None:
        out[rows] = function(X[rows])

    for _ in ordered_map(fill, row_blocks(len(X))):
        pass
    return out


def unit_rows(X: NDArray[Any]) -> NDArray[np.float32]:
    """Return a float32 copy of ``X`` whose rows have length 1; rows of zeros stay zero."""
    with np.errstate(over="ignore"):
        unit = np.array(X, dtype=np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", unit, unit))
    if not (np.isfinite(norms).all() and norms.min(initial=1) > _SMALL_NORM):
        # Squares of very large and very small numbers leave the range of float32: measure against the largest entry.
        largest = np.abs(X).max(axis=1, keepdims=True).astype(np.float64)
        largest[largest == 0] = 1
        unit = (X / largest).astype(np.float32)
        norms = np.sqrt(np.einsum("ij,ij->i", unit, unit))
        norms[norms == 0] = 1
    unit /= norms[:, None]
    return unit


def mean_and_scatter(
    X: NDArray[Any], prepare: Callable[[NDArray[Any]], NDArray[np.float32]], *, scatter: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean and the covariance matrix of ``prepare(rows)`` over all rows that are not zero.

    ``prepare`` is applied to blocks of rows; without ``scatter``, the matrix is zero.
    """
    d = X.shape[1]
    count, total, products = 0, np.zeros(d), np.zeros((d, d))

    def moments(rows: slice) -> tuple[int, NDArray[Any], NDArray[Any] | float]:
        block = prepare(X[rows])
        # Vectors of zeros stand for missing ones and do not count.
        n_rows = int(block.any(axis=1).sum())
        return n_rows, np.ones(len(block), np.float32) @ block, product(block.T, block) if scatter else 0.0

    for n_rows, block_total, block_products in ordered_map(moments, row_blocks(len(X))):
        count += n_rows
        total += block_total
        products += block_products
    mean = total / max(count, 1)
    return mean, products / max(count, 1) - np.outer(mean, mean) if scatter else products


def cross_products(A: NDArray[Any], B: NDArray[Any], weights: NDArray[Any] | None = None) -> NDArray[np.float64]:
    """Return Aᵀ diag(weights) B of two tall matrices: products in their own precision, sums of blocks in float64."""

    def of_block(rows: slice) -> NDArray[Any]:
        left = A[rows] if weights is None else A[rows] * weights[rows, None].astype(A.dtype)
        return product(left.T, B[rows])

    total = np.zeros((A.shape[1], B.shape[1]))
    for block in ordered_map(of_block, row_blocks(len(A))):
        total += block
    return total


def affine(
    X: NDArray[np.float32], linear: NDArray[np.float32] | None, offset: NDArray[np.float32] | None
) -> NDArray[np.float32]:
    """Return X · linear + offset, either of which may be None; rows of zeros stay zero.

    Examples
    --------
    >>> affine(np.float32([[1, 2], [0, 0]]), None, np.float32([10, 10]))
    array([[11., 12.],
           [ 0.,  0.]], dtype=float32)
    """
    mapped: NDArray[np.float32] = X if linear is None else product(X, linear)
    if offset is not None:
        mapped = mapped + offset
        mapped[~X.any(axis=1)] = 0
    return mapped


def matmul_blocks(X: NDArray[np.float32], W: NDArray[Any]) -> NDArray[np.float32]:
    """Return X W of a tall X in its own precision, with the same bits whatever the number of threads."""
    narrow = W.astype(X.dtype)
    return np.concatenate(list(ordered_map(lambda rows: product(X[rows], narrow), row_blocks(len(X)))))
