"""The one way in for arrays and pairs. Errors name the row that is wrong and say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp.exceptions import FippError
from fipp.linalg import row_blocks

# The sum of a block of rows with numbers up to this stays in the range of float32.
LARGEST_NUMBER = 1e34
# The weighted sum of the products of numbers up to 1e8 stays in the range of float32.
_LARGEST_WEIGHT = 1e15


class NotNumbersError(FippError, TypeError):
    """Vectors hold something other than numbers."""


def as_matrix(
    X: ArrayLike, name: str, *, n_columns: int | None = None, owner: str = "the model", largest: float = np.inf
) -> NDArray[Any]:
    """Check that ``X`` is a matrix of finite numbers and return it as floats: of its own precision, or float32.

    ``name`` is what an error calls it; ``owner`` is what expects it to have ``n_columns``. Numbers beyond ± ``largest``
    are refused.
    """
    array = _as_floats(X, name)
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
    for row in rows_not_finite(array):
        column = np.flatnonzero(~np.isfinite(array[row]))[0]
        raise FippError(f"row {row} of {name} holds NaN or infinity (column {column}): repair or remove that row")
    if largest < np.inf:
        _require_at_most(largest, array, name)
    return array


def _as_floats(X: ArrayLike, name: str) -> NDArray[Any]:
    if hasattr(X, "toarray"):
        raise FippError(f"{name} is a sparse matrix; vectors must be dense: pass {name}.toarray()")
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise FippError(f"{name} must be a matrix whose rows all have the same length: {error}") from None
    if array.dtype.kind == "c":
        raise FippError(f"Complex data not supported: {name} must hold real numbers")
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        try:
            with np.errstate(over="ignore"):  # numbers that are too large become infinite, which is refused below
                array = array.astype(np.float64 if array.dtype.kind == "f" else np.float32)
        except (TypeError, ValueError, OverflowError) as error:
            raise NotNumbersError(f"{name} must hold numbers only: {error}") from None
    return array


def rows_not_finite(array: NDArray[Any]) -> Iterator[int]:
    """Yield the numbers of rows that hold NaN or infinity."""
    for rows in row_blocks(len(array)):
        block = array[rows]
        # Finite column sums prove that a whole block is finite; others may also be overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.ones(len(block), block.dtype) @ block).all():
                continue
        yield from (rows.start + np.flatnonzero(~np.isfinite(block).all(axis=1))).tolist()


def _require_at_most(largest: float, X: NDArray[Any], name: str) -> None:
    for rows in row_blocks(len(X)):
        block = X[rows]
        if max(float(block.max()), -float(block.min())) > largest:
            first = int(np.flatnonzero(np.abs(block).max(axis=1) > largest)[0])
            raise too_long(X, rows.start + first, name)


def too_long(X: NDArray[Any], row: int, name: str) -> FippError:
    """Return the error for a row whose numbers are too large to calculate with."""
    return FippError(
        f"row {row} of {name} holds {np.abs(X[row]).max():.1e}, whose products leave the range of float32: "
        "remove or repair that row, or scale all vectors to unit length first, as fipp.preprocess.UnitLength does"
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


def require_usable(weights: NDArray[np.float64]) -> None:
    """Refuse weights of the pairs that are left if all are zero, or too large or small to multiply by."""
    largest = weights.max(initial=0)
    if largest == 0:
        raise FippError("every pair whose sample_weight is not zero has a vector of zeros on one side")
    if not 1 / _LARGEST_WEIGHT <= largest <= _LARGEST_WEIGHT:
        raise FippError(
            f"the largest sample_weight is {largest:g}, which leaves the range of float32 when it is multiplied: "
            f"scale all weights so that it lies between {1 / _LARGEST_WEIGHT:g} and {_LARGEST_WEIGHT:g}, such as 1"
        )
