"""Rotations refined by the dictionaries that they find themselves, and what such a dictionary is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fipp.aligners._mutual_pairs import mutual_pairs
from fipp.linalg import Progress, cross_products, matmul_blocks, rotation, unit_rows
from fipp.retrieve import neighbours


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
    >>> bool(np.allclose(refined.map, np.eye(4), atol=1e-5)), refinement.consistency(refined.map)
    (True, 1.0)
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
            forth, criterion = self._translations(omega)
            comparable = best is not None and (keep_start or best.rounds > 0)
            if best is None or not comparable or criterion > best.criterion:
                best = Refined(omega, pairs, criterion, rounds)
            if rounds < self.n_iterations:
                pairs = self._mutual(forth, omega)
                if not len(pairs):
                    break
                omega = self._rotation(pairs)
            if progress is not None:
                progress(rounds + 1, self.n_iterations + 1)
        assert best is not None  # there is always the start
        return best

    def consistency(self, omega: NDArray[np.float32], random_state: int = 0) -> float:
        """Return the share of mutual pairs that are found again by a rotation of other mutual pairs.

        The pairs are dealt into two halves at random; the rotation of either half looks for the partners of the other
        by cosine among all target words.

        Parameters
        ----------
        omega : ndarray of shape (d1, d2)
            Under which pairs are mutual.
        random_state : int, default=0
            Of the dealing.
        """
        pairs = mutual_pairs(
            matmul_blocks(self.source, omega), self.target, retrieval="csls", max_memory=self.max_memory
        )[0]
        if len(pairs) < 2:
            return 0.0
        dealt = np.random.default_rng(random_state).permutation(len(pairs))
        halves = [pairs[np.sort(half)] for half in np.array_split(dealt, 2)]
        found = sum(self._n_found(*both) for both in (halves, halves[::-1]))
        return found / len(pairs)

    def _n_found(self, known: NDArray[np.int64], wanted: NDArray[np.int64]) -> int:
        omega = self._rotation(known)
        queries = matmul_blocks(self.source[wanted[:, 0]], omega)
        nearest = neighbours(queries, self.target, 1, max_memory=self.max_memory).indices[:, 0]
        return int(np.count_nonzero(nearest == wanted[:, 1]))

    def _translations(self, omega: NDArray[np.float32]) -> tuple[NDArray[np.int64], float]:
        """Return the best target word by CSLS of each source word, and the mean cosine of these pairs."""
        moved = matmul_blocks(self.source, omega)
        best = neighbours(moved, self.target, 1, retrieval="csls", max_memory=self.max_memory).indices[:, 0]
        cosines = np.einsum("ij,ij->i", unit_rows(moved), unit_rows(self.target[best]))
        return best, float(cosines.mean(dtype=np.float64))

    def _mutual(self, forth: NDArray[np.int64], omega: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the pairs of which each word is the best translation of the other."""
        moved = matmul_blocks(self.source, omega)
        back = neighbours(self.target, moved, 1, retrieval="csls", max_memory=self.max_memory).indices[:, 0]
        agree = np.flatnonzero((back[forth] == np.arange(len(forth))) & self.source.any(axis=1))
        return np.stack([agree, forth[agree]], axis=1)

    def _rotation(self, pairs: NDArray[np.int64]) -> NDArray[np.float32]:
        source, target = pairs.T
        return rotation(cross_products(self.source[source], self.target[target])).astype(np.float32)
