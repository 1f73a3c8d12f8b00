"""Robust self-learning: map, induce a dictionary, and so on, with ever fewer pairs left out at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from fipp.aligners._csls_induction import Hubness, Induced, hubness, induce
from fipp.aligners._multi_step import rotations
from fipp.exceptions import FippError
from fipp.linalg import Progress, cross_products, ordered_map, row_blocks, unit_rows

# Hubs are counted anew in every so many rounds, the map moves little in between; and before the last round.
_ROUNDS_BETWEEN_HUBS = 10


@dataclass(frozen=True)
class Schedule:
    """When fewer pairs are left out, and when it is enough.

    Attributes
    ----------
    keep, growth : float
        Share of pairs kept at first, and what it is multiplied by when nothing improves.
    window, tolerance : int, float
        The objective must grow by ``tolerance`` within ``window`` rounds to have improved.
    """

    keep: float
    growth: float
    window: int
    tolerance: float

    def rounds_left(self, keep: float, since: int) -> int:
        """Return the least number of rounds there will be if nothing improves any more."""
        stages = 0
        while keep < 1:
            keep, stages = keep * self.growth, stages + 1
        return max(0, self.window - since) + stages * self.window


@dataclass(frozen=True)
class Learned:
    """What self-learning came to.

    Attributes
    ----------
    pairs : ndarray of shape (c, 2)
        The last dictionary, of both directions; mutual pairs stand twice.
    objectives : ndarray of shape (rounds,)
        Mean inner product of the dictionary's pairs after they were mapped, round by round.
    """

    pairs: NDArray[np.int64]
    objectives: NDArray[np.float64]


def self_learn(
    X: NDArray[np.float32],
    Z: NDArray[np.float32],
    seed_cross: NDArray[np.float64],
    schedule: Schedule,
    *,
    k: int = 10,
    random_seed: int = 0,
    progress: Progress | None = None,
) -> Learned:
    """Alternate between the best orthogonal maps for a dictionary and the best dictionary for the maps.

    Parameters
    ----------
    X, Z : ndarray of shape (n, d1), (m, d2)
        Normalised vocabularies without rows of zeros.
    seed_cross : ndarray of shape (d1, d2)
        X_sᵀX_t of the first dictionary.
    schedule : Schedule
    k : int, default=10
        Neighbours of CSLS.
    random_seed : int, default=0
        Decides which pairs are left out.
    progress : callable, optional
        Called as ``progress(done, total)``; the total is the least there can be, and grows.

    Returns
    -------
    Learned

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((300, 5)).astype(np.float32)
    >>> learned = self_learn(X, X[:, ::-1], np.fliplr(np.eye(5)), Schedule(0.5, 2.0, 3, 1e-6))
    >>> bool((learned.pairs[:, 0] == learned.pairs[:, 1]).all())
    True
    """
    keep, best, last_better = schedule.keep, -np.inf, 0
    hubs = Hubness(np.zeros(len(X), np.float32), np.zeros(len(Z), np.float32))
    induced: Induced | None = None
    C, settled = seed_cross, False
    objectives: list[float] = []
    while True:
        turn = rotations(C)
        if not len(turn.s):
            raise FippError(
                "the vectors of the first pairs are zero after preprocessing, as they are if all vectors of a side are "
                "the same: there is nothing to learn from"
            )
        # The first dictionary is of another kind, so that its objective cannot be compared with later ones.
        if induced is not None:
            objectives.append(float(turn.s.sum() / len(induced.pairs())))
            if objectives[-1] >= best + schedule.tolerance:
                best, last_better = objectives[-1], len(objectives)
            elif len(objectives) - last_better >= schedule.window:
                if keep >= 1:
                    break
                keep, last_better = min(1.0, keep * schedule.growth), len(objectives)
        if progress is not None:
            left = schedule.rounds_left(keep, len(objectives) - last_better)
            progress(len(objectives), len(objectives) + left)
        A, B = _turned(X, turn.U), _turned(Z, turn.V)
        counted = settled or len(objectives) % _ROUNDS_BETWEEN_HUBS == 0
        if counted:
            hubs = hubness(A, B, k)
        before, induced = induced, induce(A, B, hubs, keep, (random_seed, len(objectives)))
        settled = keep >= 1 and _same(before, induced)
        if settled and counted:
            break  # nothing will ever change again
        C = dictionary_cross(X, Z, induced.pairs())
    return Learned(induced.pairs(), np.array(objectives))


def dictionary_cross(X: NDArray[np.float32], Z: NDArray[np.float32], pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return XᵀDZ, D_ij how often the pair (i, j) is in the dictionary; large dictionaries name every word.

    Examples
    --------
    >>> dictionary_cross(np.eye(2), np.eye(2), np.array([[0, 1], [0, 1]]))
    array([[0., 2.],
           [0., 0.]])
    """
    ones = np.ones(len(pairs), dtype=Z.dtype)
    D = scipy.sparse.csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(len(X), len(Z)))
    return cross_products(X, D @ Z)


def _same(one: Induced | None, other: Induced) -> bool:
    return one is not None and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def _turned(X: NDArray[np.float32], U: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return XU with rows of unit length: with fewer dimensions than X has, they are not so by themselves."""
    turn = U.astype(np.float32)
    out = np.empty((len(X), U.shape[1]), dtype=np.float32)

    def fill(rows: slice) -> None:
        out[rows] = unit_rows(X[rows] @ turn)

    for _ in ordered_map(fill, row_blocks(len(X))):
        pass
    return out
