"""A matrix of any kind of number, read a few rows at a time as float32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp.exceptions import FippError


@dataclass(frozen=True)
class Block:
    """Some rows of a matrix, ready for a product.

    Attributes
    ----------
    vectors : ndarray of float32, shape (n, d)
        The rows, at unit length if that was asked for; a row of zeros stays so.
    lengths : ndarray of float64, shape (n,)
        Their lengths: for unit rows 1, or 0 for a row of zeros.
    """

    vectors: NDArray[np.float32]
    lengths: NDArray[np.float64]

    def part(self, rows: slice) -> Block:
        """Return some of the rows, not copied."""
        return Block(self.vectors[rows], self.lengths[rows])


class Rows:
    """The rows of a matrix, converted only when read, so that no second copy of the whole is made.

    Parameters
    ----------
    matrix : array-like of shape (n, d)
        Floating point numbers or integers; a memory map stays on disk.
    name : str
        What the user calls it, for the message when something is wrong with it.
    unit : bool
        Whether rows are read at unit length.

    Examples
    --------
    >>> rows = Rows(np.array([[3, 4], [0, 0]], dtype=np.int8), "queries", unit=True)
    >>> rows.read(slice(0, 2)).vectors
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """

    def __init__(self, matrix: ArrayLike, name: str, *, unit: bool) -> None:
        self.matrix: NDArray[Any] = np.asarray(matrix)
        self.name = name
        self.unit = unit
        self._picked: NDArray[np.int64] | None = None
        self.ready: Block | None = None
        if self.matrix.ndim != 2 or self.matrix.dtype.kind not in "fiub":
            raise FippError(
                f"{name} must be a matrix of real numbers, one vector a row, "
                f"not an array of shape {self.matrix.shape} and type {self.matrix.dtype}"
            )

    def __len__(self) -> int:
        return len(self.matrix if self._picked is None else self._picked)

    @property
    def dimensions(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    def pick(self, numbers: NDArray[np.int64]) -> Rows:
        """Return only the rows of these numbers, in their order, still unread."""
        picked = Rows(self.matrix, self.name, unit=self.unit)
        picked._picked = numbers
        return picked

    def converted(self, whole: Block) -> Rows:
        """Return rows that are read from ``whole``, where all of them were converted before."""
        rows = Rows(whole.vectors, self.name, unit=self.unit)
        rows.ready = whole
        return rows

    def read(self, part: slice) -> Block:
        """Return the rows of ``part``. What a row becomes does not depend on the rows it is read with."""
        if self.ready is not None:
            return self.ready.part(part)
        chosen = part if self._picked is None else self._picked[part]
        # Lengths are taken in float64, where no square of a float32 overflows or vanishes.
        rows = np.array(self.matrix[chosen], dtype=np.float64)
        finite: NDArray[np.bool_] = np.asarray(np.isfinite(rows).all(axis=1))
        if not finite.all():
            self._refuse(part, finite, "a value that is not a finite number")
        if self.unit:
            # Dividing by the largest value first keeps even the square of 1e200 in range.
            rows /= _one_for_zero(np.abs(rows).max(axis=1, initial=0.0))[:, None]
        lengths = np.sqrt((rows * rows).sum(axis=1))
        if self.unit:
            rows /= _one_for_zero(lengths)[:, None]
            return Block(rows.astype(np.float32), (lengths > 0).astype(np.float64))
        fits = lengths < np.finfo(np.float32).max
        if not fits.all():
            self._refuse(part, fits, "values too large for float32; scale the vectors down")
        return Block(rows.astype(np.float32), lengths)

    def _refuse(self, part: slice, good: NDArray[np.bool_], what: str) -> None:
        position = part.start + int(np.flatnonzero(~good)[0])
        row = position if self._picked is None else int(self._picked[position])
        raise FippError(f"row {row} of {self.name} holds {what}")


def _one_for_zero(divisors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(divisors == 0, 1.0, divisors)
