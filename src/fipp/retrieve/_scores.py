"""How a query and a key are scored, and how much of a hub each key is, which corrected scores subtract."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._progress import Steps
from fipp.exceptions import FippError
from fipp.linalg import n_threads, ordered_map, row_blocks, rows_per_block
from fipp.retrieve._best import Wanted, find_best
from fipp.retrieve._scan import Rows, Scan, check_comparable

_NAMES = {"cosine": "cosine", "nn": "cosine", "dot": "dot", "csls": "csls", "isf": "isf", "dualis": "dualis"}
# With a larger β, scores could leave the range of float32.
_LARGEST_BETA = 1e30
# Sums run over this many vectors of the bank at a time, whatever the memory, so that memory does not change a bit.
BANK_AT_A_TIME = 256
KEYS_AT_A_TIME = 2048
# Numbers of unit vectors are rounded to multiples of 2^-25. Products are then multiples of 2^-50 and their sums at
# most 1, so that float64 holds every one of them exactly: BLAS may add in any order, and copies of a key tie.
_GRID = 2.0**25


def check_retrieval(retrieval: str) -> str:
    """Return the full name of a way to score: ``"nn"`` is the literature's name for ``"cosine"``."""
    try:
        return _NAMES[retrieval]
    except (KeyError, TypeError):
        raise FippError(f"retrieval {retrieval!r} is not known; choose from {', '.join(_NAMES)}") from None


def corrects_hubs(retrieval: str) -> bool:
    """Return whether a way to score compares the keys with a reference, the whole mapped source vocabulary."""
    return check_retrieval(retrieval) in ("csls", "isf", "dualis")


def check_beta(beta: float) -> float:
    """Return ``beta`` as a float if it is a number above 0 with which scores stay finite."""
    try:
        number = float(beta)
    except (TypeError, ValueError):
        number = 0.0
    if not 0 < number <= _LARGEST_BETA:
        raise FippError(f"beta must be a number above 0, {_LARGEST_BETA:g} at most, not {beta!r}")
    return number


@dataclass(frozen=True)
class Settings:
    """How a query and a key are scored, after all names and numbers were checked."""

    retrieval: str
    n_neighbours: int
    beta: float

    @classmethod
    def checked(cls, retrieval: str, n_neighbours: int, beta: float, *, symmetric: bool = False) -> Settings:
        """Refuse settings that make no sense, and scores that are not symmetric where these are asked for."""
        if symmetric and check_retrieval(retrieval) not in ("cosine", "dot", "csls"):
            raise FippError(f"mutual neighbours by {retrieval!r} are not defined; choose from cosine, nn, dot, csls")
        return cls(check_retrieval(retrieval), check_count(n_neighbours, "n_neighbours"), check_beta(beta))

    @property
    def unit(self) -> bool:
        """Whether vectors are compared at unit length."""
        return self.retrieval != "dot"

    def reference(self, queries: Rows, given: ArrayLike | None) -> Rows:
        """Return the vectors that hubs are measured against: those given for it, or the queries."""
        if given is None or not corrects_hubs(self.retrieval):
            return queries
        return Rows(given, "hub_reference", unit=True)


def check_count(count: int, name: str) -> int:
    """Return ``count`` as an int if it is a whole number of at least 1."""
    try:
        number = index(count)
    except TypeError:
        number = 0
    if number < 1:
        raise FippError(f"{name} must be a whole number of at least 1, not {count!r}")
    return number


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
            else find_best(scan, steps, Wanted(self.settings.n_neighbours))[0].means()
            for scan in self.scans
        ]
        if not parts:
            return None
        # cos - r_S/2 is half of CSLS up to a term that is the same for all keys, and one β of the product of two
        # inverted softmaxes likewise; halving and doubling a float are exact.
        halved = self.settings.retrieval in ("csls", "dualis")
        return sum(parts[1:], parts[0]) / np.float32(2 if halved else 1)


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
