"""Rotations refined by the dictionaries that they find themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fipp.linalg import Progress, cross_products, matmul_blocks, rotation, unit_rows
from fipp.retrieve import MutualNeighbours, mutual_neighbours


@dataclass(frozen=True)
class Refined:
    """A map, the pairs it was learned from, how good it looks without any dictionary, and after how many rounds."""

    map: NDArray[np.float32]
    pairs: NDArray[np.int64]
    """None if the map is the start."""
    criterion: float
    rounds: int


@dataclass(frozen=True)
class Refinement:
    """Procrustes on mutual CSLS neighbours, again and again.

    Parameters
    ----------
    source, target : ndarray of shape (n, d1), (m, d2)
        Preprocessed vectors of the most frequent words.
    n_iterations : int
        How often the dictionary is found again.
    max_memory : int or str, optional
        Working memory.

    Examples
    --------
    >>> Y = np.random.default_rng(0).standard_normal((200, 4)).astype(np.float32)
    >>> refinement = Refinement(Y, Y, n_iterations=3)
    >>> nearly = np.linalg.qr(np.eye(4) + 0.1 * Y[:4])[0].astype(np.float32)
    >>> refined = refinement.best(nearly * np.sign(np.diag(nearly)))
    >>> bool(np.allclose(refined.map, np.eye(4), atol=1e-5))
    True
    """

    source: NDArray[np.float32]
    target: NDArray[np.float32]
    n_iterations: int
    max_memory: int | str | None = None

    def best(self, start: NDArray[np.float32], *, keep_start: bool = True, progress: Progress | None = None) -> Refined:
        """Return the map of all rounds whose deemed translations have the highest mean cosine.

        Parameters
        ----------
        start : ndarray of shape (d1, d2)
        keep_start : bool, default=True
            Whether the start itself may be the best. A start of low rank has high cosines, because it leaves most of
            the vectors out, so it cannot be compared with rotations; it is given only if no pairs are found by it.
        progress : callable, optional
            Called as ``progress(done, total)``.
        """
        omega, pairs, best = start, np.empty((0, 2), np.int64), None
        for rounds in range(self.n_iterations + 1):
            mutual = self.mutual(omega)
            criterion = self._criterion(omega, mutual)
            comparable = best is not None and (keep_start or best.rounds > 0)
            if best is None or not comparable or criterion > best.criterion:
                best = Refined(omega, pairs, criterion, rounds)
            if rounds < self.n_iterations:
                pairs = mutual.pairs
                if not len(pairs):
                    break
                omega = self._rotation(pairs)
            if progress is not None:
                progress(rounds + 1, self.n_iterations + 1)
        assert best is not None  # there is always the start
        return best

    def mutual(self, omega: NDArray[np.float32]) -> MutualNeighbours:
        """Return the words that are each other's best translation by CSLS."""
        moved = matmul_blocks(self.source, omega)
        return mutual_neighbours(moved, self.target, retrieval="csls", max_memory=self.max_memory)

    def _criterion(self, omega: NDArray[np.float32], mutual: MutualNeighbours) -> float:
        """Return the mean cosine of all source words with their best translation."""
        moved, translations = matmul_blocks(self.source, omega), self.target[mutual.nearest]
        return float(np.einsum("ij,ij->i", unit_rows(moved), unit_rows(translations)).mean(dtype=np.float64))

    def _rotation(self, pairs: NDArray[np.int64]) -> NDArray[np.float32]:
        source, target = pairs.T
        return rotation(cross_products(self.source[source], self.target[target])).astype(np.float32)
