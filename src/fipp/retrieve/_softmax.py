"""The normaliser of the inverted softmax: how close each key is to a whole bank of vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError
from fipp.linalg import n_threads, ordered_map, row_blocks, rows_per_block
from fipp.retrieve._options import Ticker
from fipp.retrieve._rows import Rows

# Sums run over this many vectors of the bank at a time, whatever the memory, so that it does not change a bit.
BANK_AT_A_TIME = 256
KEYS_AT_A_TIME = 2048
# Numbers of unit vectors are rounded to multiples of 2^-25. Products are then multiples of 2^-50 and their sums at
# most 1, so that float64 holds every one of them exactly: BLAS may add in any order, and copies of a key tie.
_GRID = 2.0**25


class SoftmaxScan:
    r"""One pass over all keys and a bank, for the logarithm of the mean of :math:`e^{\beta\cos}`.

    Parameters
    ----------
    keys, bank : Rows
        Read at unit length.
    beta : float
        β, the inverse temperature.
    max_memory : int, float, str or None
        Working memory.

    Examples
    --------
    >>> keys, bank = (Rows(rows, "rows", unit=True) for rows in (np.eye(2), np.array([[1.0, 0.0]])))
    >>> SoftmaxScan(keys, bank, 2.0, None).run(Ticker(None, 1))
    array([1., 0.], dtype=float32)
    """

    def __init__(self, keys: Rows, bank: Rows, beta: float, max_memory: int | float | str | None) -> None:
        if keys.dimensions != bank.dimensions:
            raise FippError(
                f"{keys.name} have {keys.dimensions} dimensions and {bank.name} {bank.dimensions}; "
                "only vectors of one space can be compared"
            )
        if len(bank) == 0:
            raise FippError(f"{bank.name} has no rows: there is nothing to measure hubs against")
        self._keys, self._bank, self._beta = keys, bank, beta
        # A key is converted through float64 and multiplied in it; its cosines are held in float64 and float32.
        bytes_per_key = n_threads() * (32 * keys.dimensions + 16 * min(BANK_AT_A_TIME, len(bank)) + 32)
        self._step = rows_per_block(bytes_per_key, max_memory, at_most=KEYS_AT_A_TIME)

    def __len__(self) -> int:
        return len(list(row_blocks(len(self._keys), self._step)))

    def run(self, tick: Ticker) -> NDArray[np.float32]:
        """Return log(mean over the bank of exp(β cos)) / β of each key: from -1, far from all, to 1."""
        normaliser = np.empty(len(self._keys), dtype=np.float32)
        parts = list(row_blocks(len(self._keys), self._step))
        for part, found in zip(parts, ordered_map(self._of_keys, parts), strict=True):
            normaliser[part] = found
            tick()
        return normaliser

    def _of_keys(self, part: slice) -> NDArray[np.float32]:
        keys = _on_grid(self._keys, part)
        highest, total = np.full(len(keys), -np.inf), np.zeros(len(keys))
        for block in row_blocks(len(self._bank), BANK_AT_A_TIME):
            cosine = keys @ _on_grid(self._bank, block).T
            higher = np.maximum(highest, cosine.max(axis=1))
            cosine -= higher[:, None]
            cosine *= self._beta
            # What is far from the highest counts little, so float32 will do, where exp is several times as fast.
            terms = np.exp(cosine.astype(np.float32)).sum(axis=1, dtype=np.float64)
            total = total * np.exp(self._beta * (highest - higher)) + terms
            highest = higher
        mean: NDArray[np.float64] = highest + np.log(total / len(self._bank)) / self._beta
        return mean.astype(np.float32)


def _on_grid(rows: Rows, part: slice) -> NDArray[np.float64]:
    return np.rint(rows.read(part).vectors.astype(np.float64) * _GRID) / _GRID
