"""How much of a hub each key is: what a corrected score takes off the cosine of every query with that key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fipp.retrieve._options import Settings, Ticker
from fipp.retrieve._rows import Rows
from fipp.retrieve._scores import Scan
from fipp.retrieve._softmax import SoftmaxScan

MeanOfBest = Callable[[Scan, int, Ticker], NDArray[np.float32]]


@dataclass(frozen=True)
class Hubs:
    """The work of measuring hubs, planned; :meth:`offsets` does it.

    Attributes
    ----------
    settings : Settings
        How keys are scored.
    scans : tuple
        One pass over all pairs for each bank that the keys are compared with.
    """

    settings: Settings
    scans: tuple[Scan | SoftmaxScan, ...]

    @classmethod
    def plan(cls, settings: Settings, keys: Rows, reference: Rows, max_memory: int | float | str | None) -> Hubs:
        """Say what has to be compared with what."""
        if settings.retrieval == "csls":
            return cls(settings, (Scan(keys, reference, max_memory, kept=settings.n_neighbours),))
        banks = {"isf": (reference,), "dualis": (reference, keys)}.get(settings.retrieval, ())
        return cls(settings, tuple(SoftmaxScan(keys, bank, settings.beta, max_memory) for bank in banks))

    def __len__(self) -> int:
        return sum(len(scan) for scan in self.scans)

    def offsets(self, mean_of_best: MeanOfBest, tick: Ticker) -> NDArray[np.float32] | None:
        """Return what the score of each key is lowered by, before the cosine is scaled; None when nothing is."""
        parts = [
            scan.run(tick) if isinstance(scan, SoftmaxScan) else mean_of_best(scan, self.settings.n_neighbours, tick)
            for scan in self.scans
        ]
        if not parts:
            return None
        # cos - r_S/2 is half of CSLS up to what is the same for all keys, and so is one β of the product of two
        # inverted softmaxes; halving and doubling a float are exact.
        halved = self.settings.retrieval in ("csls", "dualis")
        return sum(parts[1:], parts[0]) / np.float32(2 if halved else 1)
