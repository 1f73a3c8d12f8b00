"""The one way in for arrays and pairs. Errors name the row that is wrong and say what to do."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp.exceptions import FippError
from fipp.linalg import row_blocks


class NotNumbersError(FippError, TypeError):
    """Vectors hold something other than numbers."""


def as_matrix(X: ArrayLike, name: str, *, n_columns: int | None = None, owner: str = "the model") -> NDArray:
    """Check that ``X`` is a matrix of finite numbers and return it as floats: of its own precision, or float32.

    ``name`` is what an error calls it; ``owner`` is what expects it to have ``n_columns``.
    """
    if hasattr(X, "toarray"):
        raise FippError(f"{name} is a sparse matrix; vectors must be dense: pass {name}.toarray()")
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise FippError(f"{name} must be a matrix whose rows all have the same length: {error}") from None
    if array.dtype.kind == "c":
        raise FippError(f"Complex data not supported: {name} must hold real numbers")
    if array.dtype.kind != "f":
        try:
            array = array.astype(np.float32)
        except (TypeError, ValueError) as error:
            raise NotNumbersError(f"{name} must hold numbers only: {error}") from None
    if array.ndim != 2:
        raise FippError(
            f"{name} must be a matrix with one row per item, but it is {array.ndim}-dimensional. Reshape your data: "
            f"{name}.reshape(1, -1) turns one vector into a matrix of one row"
        )
    if not len(array):
        raise FippError(f"{name} has no rows: found array with 0 sample(s) while a minimum of 1 is required.")
    if not array.shape[1]:
        raise FippError(f"{name} has no columns: 0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    if n_columns is not None and array.shape[1] != n_columns:
        raise FippError(
            f"{name} has {array.shape[1]} features, but {owner} is expecting {n_columns} features as input: "
            "is this the right set of vectors?"
        )
    _require_finite(array, name)
    return array


def _require_finite(array: NDArray, name: str) -> None:
    for rows in row_blocks(len(array)):
        block = array[rows]
        # Finite column sums prove that a whole block is finite; others may also be overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.ones(len(block), block.dtype) @ block).all():
                continue
        for row, column in np.argwhere(~np.isfinite(block))[:1]:
            raise FippError(
                f"row {rows.start + row} of {name} holds NaN or infinity (column {column}): repair or remove that row"
            )


def as_pairs(pairs: ArrayLike | None, n_source: int, n_target: int) -> NDArray[np.int64]:
    """Check seed pairs (c, 2) and return each once, in the order given, as row numbers; None pairs row i with row i."""
    if pairs is None:
        if n_source != n_target:
            raise FippError(
                f"without pairs, row i of X belongs to row i of Y, but X has {n_source:,} rows and Y {n_target:,}: "
                "pass pairs, the row numbers that belong together"
            )
        rows = np.arange(n_source)
        return np.stack([rows, rows], axis=1)
    try:
        array = np.asarray(pairs)
    except ValueError:  # rows of different length
        raise FippError("pairs must be whole numbers in two columns, source row and target row, in every row") from None
    if array.size == 0:
        raise FippError("there are no pairs to learn from; was the dictionary made for these vectors?")
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise FippError(
            f"pairs must be whole numbers in two columns, source row and target row, not {array.dtype} of {array.shape}"
        )
    for column, (limit, side) in enumerate([(n_source, "X"), (n_target, "Y")]):
        outside = np.flatnonzero((array[:, column] < 0) | (array[:, column] >= limit))
        if len(outside):
            first = outside[0]
            raise FippError(f"pair {first} names row {array[first, column]} of {side}, which has {limit:,} rows")
    _, first_seen = np.unique(array, axis=0, return_index=True)
    return array[np.sort(first_seen)].astype(np.int64)


def as_weights(weights: ArrayLike, pairs: ArrayLike, unique: NDArray[np.int64]) -> NDArray[np.float64]:
    """Check the weights of seed pairs and return one for each pair that `as_pairs` kept, summed over its repetitions.

    Examples
    --------
    >>> pairs = [(4, 1), (2, 2), (4, 1)]
    >>> as_weights([1.0, 5.0, 2.0], pairs, as_pairs(pairs, 5, 5))
    array([3., 5.])
    """
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (len(np.asarray(pairs)),):
        raise FippError(f"there are {len(np.asarray(pairs)):,} pairs but sample_weight has the shape {array.shape}")
    if not (np.isfinite(array).all() and (array >= 0).all() and array.any()):
        raise FippError("sample_weight must be finite and not negative, and at least one weight must not be zero")
    place = np.unique(np.asarray(pairs), axis=0, return_inverse=True)[1].ravel()
    totals = np.bincount(place, array).astype(np.float64)
    return totals[np.unique(unique, axis=0, return_inverse=True)[1].ravel()]
