"""How much of a hub each key is: what a corrected score subtracts from the cosine of every query with that key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fipp._progress import Steps
from fipp.linalg import n_threads, ordered_map, row_blocks, rows_per_block
from fipp.retrieve._best import Best, Collector
from fipp.retrieve._options import Settings
from fipp.retrieve._scan import Pairs, Rows, Scan, Tiles, check_comparable

# Sums run over this many vectors of the bank at a time, whatever the memory, so that memory does not change a bit.
BANK_AT_A_TIME = 256
KEYS_AT_A_TIME = 2048
# Numbers of unit vectors are rounded to multiples of 2^-25. Products are then multiples of 2^-50 and their sums at
# most 1, so that float64 holds every one of them exactly: BLAS may add in any order, and copies of a key tie.
_GRID = 2.0**25


@dataclass(frozen=True)
class Hubs:
    """The passes over all pairs, one for each bank that the keys are compared with, that measure hubs."""

    settings: Settings
    scans: tuple[Scan | SoftmaxScan, ...]

    @classmethod
    def plan(cls, settings: Settings, keys: Rows, reference: Rows, max_memory: int | float | str | None) -> Hubs:
        """Plan which vectors the keys are compared with."""
        if settings.retrieval == "csls":
            return cls(settings, (Scan(keys, reference, max_memory, kept=settings.n_neighbours),))
        banks = {"isf": (reference,), "dualis": (reference, keys)}.get(settings.retrieval, ())
        return cls(settings, tuple(SoftmaxScan(keys, bank, settings.beta, max_memory) for bank in banks))

    def __len__(self) -> int:
        return sum(len(scan) for scan in self.scans)

    def offsets(self, steps: Steps) -> NDArray[np.float32] | None:
        """Return what is subtracted from the cosine with each key; None if nothing is."""
        parts = [
            scan.run(steps)
            if isinstance(scan, SoftmaxScan)
            else best_keys(scan, self.settings.n_neighbours, steps).means()
            for scan in self.scans
        ]
        if not parts:
            return None
        # cos - r_S/2 is half of CSLS up to a term that is the same for all keys, and one β of the product of two
        # inverted softmaxes likewise; halving and doubling a float are exact.
        halved = self.settings.retrieval in ("csls", "dualis")
        return sum(parts[1:], parts[0]) / np.float32(2 if halved else 1)


def best_keys(scan: Scan, k: int, steps: Steps, offsets: NDArray[np.float32] | None = None) -> Best:
    """Find the ``k`` keys with the highest score, less the offset of the key, for each query of ``scan``."""
    return nearest_and_best(scan, steps, (k, offsets))[0]


def nearest_and_best(scan: Scan, steps: Steps, *wanted: tuple[int, NDArray[np.float32] | None]) -> list[Best]:
    """Find the best keys for several k and offsets in one pass; offsets add up, so what has none comes first."""
    found = [Best(len(scan.queries), min(k, len(scan.keys))) for k, _ in wanted]

    def work(pairs: Pairs, tiles: Tiles) -> list[NDArray[np.int64]]:
        collectors = [
            Collector(pairs, best.k, best.floor[pairs.rows], None if offsets is None else offsets[pairs.columns])
            for best, (_, offsets) in zip(found, wanted, strict=True)
        ]
        for part, products in tiles:
            for collector in collectors:
                collector.add(part, products)
        return [collector.best() for collector in collectors]

    for rows, packed in scan.run(work):
        for best, new in zip(found, packed, strict=True):
            best.add(rows, new)
        steps()
    return found


class SoftmaxScan:
    r"""One pass over all keys and a bank of vectors of unit length, for the normaliser of the inverted softmax."""

    def __init__(self, keys: Rows, bank: Rows, beta: float, max_memory: int | float | str | None) -> None:
        check_comparable(keys, bank, "measure hubs against")
        self._keys, self._bank, self._beta = keys, bank, beta
        # A key is converted through float64 and multiplied in it; its cosines are held in float64 and float32.
        bytes_per_key = n_threads() * (32 * keys.dimensions + 16 * min(BANK_AT_A_TIME, len(bank)) + 32)
        step = rows_per_block(bytes_per_key, max_memory, at_most=KEYS_AT_A_TIME)
        self._parts = list(row_blocks(len(keys), step))

    def __len__(self) -> int:
        return len(self._parts)

    def run(self, steps: Steps) -> NDArray[np.float32]:
        """Return log(mean over the bank of exp(β cos)) / β of each key: from -1, far from all, to 1."""
        normaliser = np.empty(len(self._keys), dtype=np.float32)
        for part, found in zip(self._parts, ordered_map(self._normaliser, self._parts), strict=True):
            normaliser[part] = found
            steps()
        return normaliser

    def _normaliser(self, part: slice) -> NDArray[np.float32]:
        keys = _on_grid(self._keys, part)
        highest, total = np.full(len(keys), -np.inf), np.zeros(len(keys))
        for block in row_blocks(len(self._bank), BANK_AT_A_TIME):
            cosine = keys @ _on_grid(self._bank, block).T
            higher = np.maximum(highest, cosine.max(axis=1))
            cosine -= higher[:, None]
            cosine *= self._beta
            # Terms far below the highest count little, so float32 is enough, where exp is several times as fast.
            terms = np.exp(cosine.astype(np.float32)).sum(axis=1, dtype=np.float64)
            total = total * np.exp(self._beta * (highest - higher)) + terms
            highest = higher
        mean: NDArray[np.float64] = highest + np.log(total / len(self._bank)) / self._beta
        return mean.astype(np.float32)


def _on_grid(rows: Rows, part: slice) -> NDArray[np.float64]:
    return np.rint(rows.read(part).vectors.astype(np.float64) * _GRID) / _GRID
