r"""The FIPP objective by gradient descent (appendix F).

With X̃ (c, r) the unknown and Δ the filter, the objective is

    L(X̃) = \|X̃X̃ᵀ − G_s\|² + γλ \|Δ∘(X̃X̃ᵀ − G_t)\|²,    ∇L = 4 [(X̃X̃ᵀ − G_s) + γλ Δ∘(X̃X̃ᵀ − G_t)] X̃.

The first term is of low rank and needs no tiles; the second walks over the tiles that Δ was stored for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.linalg._gram import FloatArray, GramTiles, symmetric_product
from fipp.linalg._memory import parse_memory
from fipp.linalg._parallel import Progress


class Objective(NamedTuple):
    """The two terms of the FIPP objective, and the weight γλ between them."""

    reconstruction: float
    transfer: float
    weight: float

    @property
    def total(self) -> float:
        """The reconstruction loss plus γλ times the transfer loss."""
        return self.reconstruction + self.weight * self.transfer


class FilteredObjective:
    r"""The FIPP objective of given seed pairs as a function of X̃, with its gradient.

    Parameters
    ----------
    X_s, X_t : ndarray of shape (c, d1), (c, d2)
        Source and target vectors of the seed pairs.
    epsilon : float
        ε of the filter.
    weight : float
        γλ, by which the transfer loss counts.
    max_memory : int or str, optional
        The filter takes c²/2 bytes; when that does not fit, it is made anew each time.

    Examples
    --------
    >>> X = np.eye(2, dtype=np.float32)
    >>> FilteredObjective(X, 2 * X, 0.5, weight=2.0)(X)
    Objective(reconstruction=0.0, transfer=0.0, weight=2.0)
    """

    def __init__(
        self, X_s: FloatArray, X_t: FloatArray, epsilon: float, weight: float, max_memory: int | str | None = None
    ) -> None:
        self.X_s, self.X_t = X_s.astype(np.float32), X_t.astype(np.float32)
        self.epsilon, self.weight, self.max_memory = np.float32(epsilon), weight, max_memory
        self._tiles = GramTiles(X_s, X_t, max_memory)
        self._wide_source = X_s.astype(np.float64)
        self._source_norm = float(np.square(self._wide_source.T @ self._wide_source).sum())  # ‖G_s‖²
        self._store = len(X_s) ** 2 // 2 <= parse_memory(max_memory)
        self._filters: dict[tuple[int, int], NDArray[np.bool_]] = {}

    def _filter(self, i: int, j: int) -> NDArray[np.bool_]:
        """Return tile (i, j) of Δ."""
        inside = self._filters.get((i, j))
        if inside is None:
            inside = np.abs(self._tiles.difference(i, j)) < self.epsilon
            if self._store:
                self._filters[i, j] = inside
        return inside

    def __call__(self, X: NDArray[np.float32]) -> Objective:
        """Return both losses at X̃."""
        return self.with_gradient(X)[0]

    def with_gradient(self, X: NDArray[np.float32]) -> tuple[Objective, NDArray[np.float32]]:
        """Return both losses at X̃, and the gradient of their sum."""
        tiles = GramTiles(self.X_t, X, self.max_memory)  # of X̃X̃ᵀ − G_t
        tiles.size, tiles.n_blocks = self._tiles.size, self._tiles.n_blocks
        losses = np.zeros((tiles.n_blocks, tiles.n_blocks))

        def filtered_error(i: int, j: int, left: NDArray[np.float32]) -> NDArray[np.float32]:
            tile = tiles.difference(i, j, left)
            tile *= self._filter(i, j)
            losses[i, j] = (1 if i == j else 2) * float(np.vdot(tile, tile))
            return tile

        pulled = symmetric_product(tiles, filtered_error, X)  # (Δ∘(X̃X̃ᵀ − G_t)) X̃
        reconstruction, retained = self._reconstruction(X)
        gradient = 4 * (retained + np.float32(self.weight) * pulled)
        return Objective(reconstruction, float(losses.sum()), self.weight), gradient

    def _reconstruction(self, X: NDArray[np.float32]) -> tuple[float, NDArray[np.float32]]:
        r"""Return \|X̃X̃ᵀ − G_s\|² and (X̃X̃ᵀ − G_s) X̃, both from small matrices."""
        # In float64: the loss is a small difference of large numbers.
        wide = X.astype(np.float64)
        XX, SX = wide.T @ wide, self._wide_source.T @ wide
        loss = np.square(XX).sum() - 2 * np.square(SX).sum() + self._source_norm
        return max(float(loss), 0.0), X @ XX.astype(np.float32) - self.X_s @ SX.astype(np.float32)


def descend(
    objective: FilteredObjective,
    start: NDArray[np.float32],
    *,
    learning_rate: float = 1e-3,
    n_steps: int = 1000,
    progress: Progress | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Minimise the objective with Adam; give the best X̃ met and the loss at every step.

    Examples
    --------
    >>> X = np.eye(3, dtype=np.float32)
    >>> found, losses = descend(FilteredObjective(X, 1.2 * X, 1.0, weight=1.0), X, n_steps=50)
    >>> bool(losses[-1] < losses[0]), losses.shape
    (True, (51,))
    """
    X = start.astype(np.float32)
    mean, square = np.zeros_like(X), np.zeros_like(X)
    losses, best, best_loss = np.empty(n_steps + 1), X.copy(), np.inf
    for step in range(n_steps + 1):
        value, gradient = objective.with_gradient(X)
        losses[step] = value.total
        if value.total < best_loss:
            best, best_loss = X.copy(), value.total
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        corrected = mean / (1 - 0.9 ** (step + 1)), square / (1 - 0.999 ** (step + 1))
        X = X - np.float32(learning_rate) * corrected[0] / (np.sqrt(corrected[1]) + np.float32(1e-8))
        if progress is not None:
            progress(step, n_steps)
    return best, losses
