"""The steps of a refinement by ranking: two maps of the shared space, one for either side."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.aligners._ranking_loss import Contest, Gradient
from fipp.linalg import cross_products, matmul_blocks
from fipp.retrieve import neighbours

Loss = Callable[[NDArray, NDArray, Contest], Gradient]

# The nearest words are looked for again after so many steps: they change slowly, and finding them takes the longest.
_STEPS_PER_CONTEST = 2
PAIRS_AT_ONCE = 5_000
"""Of more pairs so many are drawn for each contest: every pair is ranked against all."""


class Words(NamedTuple):
    """Words of either side in the shared space: the frequent ones first, which may get in between, then others."""

    source: NDArray[np.float32]
    target: NDArray[np.float32]
    n_frequent: int
    pairs: NDArray[np.int64]
    """Known pairs, as positions in both."""


class Descent:
    r"""Maps P and Q of the shared space, refined step by step, so that zP and tQ have the smaller ranking loss.

    Both begin as the identity. A step of length η along the gradient by P changes the map W of the start to

        W P = W − η W Wᵀ ∇f(W)

    and so moves words most along the directions that the start weighs most; along those that it hardly trusts, where
    there is little but chance to learn from, it moves them least.

    Parameters
    ----------
    words : Words
    loss : callable
        Takes mapped source words, mapped target words and a `Contest`.
    n_neighbours : int
        How many of the nearest words a pair is ranked against.
    learning_rate : float
        Length of the first step, relative to the maps; η is what makes it so.
    both : bool
        Whether the target is mapped, too.
    rng : numpy.random.Generator
        Draws the pairs of a contest.
    """

    def __init__(
        self,
        words: Words,
        loss: Loss,
        n_neighbours: int,
        learning_rate: float,
        both: bool,
        rng: np.random.Generator,
    ) -> None:
        self.P, self.Q = np.eye(words.source.shape[1]), np.eye(words.target.shape[1])
        self._words, self._loss, self._n_neighbours = words, loss, n_neighbours
        self._learning_rate, self._both, self._rng = learning_rate, both, rng
        self._n_steps = 0
        self.losses: list[float] = []

    def step(self) -> None:
        """Take one step."""
        if self._n_steps % _STEPS_PER_CONTEST == 0:
            self._contested = self._draw()
        self._n_steps += 1
        value, *gradients = self._contested(self.P, self.Q)
        self.losses.append(value)
        if not self._both:
            gradients[1][:] = 0
        if self._n_steps == 1:
            length = float(np.linalg.norm(gradients))
            self._eta = self._learning_rate * float(np.linalg.norm([self.P, self.Q])) / length if length else 0.0
        self.P, self.Q = self.P - self._eta * gradients[0], self.Q - self._eta * gradients[1]

    def _draw(self) -> MappedLoss:
        """Find the words nearest to those of the pairs, as mapped now."""
        pairs, n = self._words.pairs, self._words.n_frequent
        if len(pairs) > PAIRS_AT_ONCE:
            pairs = pairs[np.sort(self._rng.choice(len(pairs), PAIRS_AT_ONCE, replace=False))]
        Z, T = matmul_blocks(self._words.source, self.P), matmul_blocks(self._words.target, self.Q)
        near_targets = neighbours(Z[pairs[:, 0]], T[:n], self._n_neighbours).indices
        near_sources = neighbours(T[pairs[:, 1]], Z[:n], self._n_neighbours).indices
        sources, source_place, n_sources = _listed(pairs[:, 0], near_sources, len(Z))
        targets, target_place, n_targets = _listed(pairs[:, 1], near_targets, len(T))
        contest = Contest(
            np.stack([source_place[pairs[:, 0]], target_place[pairs[:, 1]]], axis=1),
            (n_sources, n_targets),
            target_place[near_targets],
            source_place[near_sources],
        )
        return MappedLoss(self._words.source[sources], self._words.target[targets], contest, self._loss)


class MappedLoss(NamedTuple):
    """A ranking loss as a function of P and Q."""

    Z: NDArray
    T: NDArray
    contest: Contest
    loss: Loss

    def __call__(self, P: NDArray[np.float64], Q: NDArray[np.float64]) -> Gradient:
        """Return the loss at P and Q, and its gradients."""
        (S, source_lengths), (T, target_lengths) = _unit(matmul_blocks(self.Z, P)), _unit(matmul_blocks(self.T, Q))
        value, by_S, by_T = self.loss(S, T, self.contest)
        by_P = cross_products(self.Z, _before_unit(by_S, S, source_lengths))
        return value, by_P, cross_products(self.T, _before_unit(by_T, T, target_lengths))


def _unit(X: NDArray) -> tuple[NDArray, NDArray]:
    """Return rows of unit length, and the lengths they had."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    lengths[lengths == 0] = 1
    return X / lengths, lengths


def _before_unit(gradient: NDArray, unit: NDArray, lengths: NDArray) -> NDArray:
    """Return the gradient by rows, from that by the same rows at unit length: nothing of it is along them."""
    along = np.einsum("ij,ij->i", gradient, unit)[:, None]
    back: NDArray = (gradient - along * unit) / lengths
    return back


def _listed(
    paired: NDArray[np.int64], near: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """List words once, those of pairs first; give the list, the place of each of n words in it, how many have pairs."""
    first = np.unique(paired)
    words = np.concatenate([first, np.setdiff1d(near, first)])
    place = np.full(n, -1)
    place[words] = np.arange(len(words))
    return words, place, len(first)
