r"""The filtered difference of two Gram matrices, tile by tile.

With X_s (c, d1) and X_t (c, d2) the seed pairs, D = G_t − G_s = X_t X_tᵀ − X_s X_sᵀ and Δ^ε the entries on which
\|D\| < ε. Nothing of size c×c ever exists: a tile of D is one product of depth d1 + d2, because
D = [X_t X_s] [X_t −X_s]ᵀ; it is filtered, multiplied and summed while it is in the cache. D is symmetric, so only
tiles on and above the diagonal are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fipp._progress import Progress, Steps
from fipp.linalg._device import product
from fipp.linalg._parallel import Result, Shared, ordered_map, parse_memory, rows_per_block, shared_map

FloatArray = NDArray[np.floating]

_RowSums = tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]

# A tile of 512 × 512 float32 and its square stay in the second-level cache; smaller ones slow the products down.
_TILE = 512
# The tiles are small enough for this many threads.
_THREADS = 8


def target_share(kept_fraction: float, lam: float) -> float:
    """Return a = γλ / (1 + γλ), γ = c² / NNZ(Δ): how far kept entries of G* move from G_s towards G_t (eq. 5)."""
    return float(lam / (kept_fraction + lam)) if kept_fraction > 0 else 0.0


def transfer_weight(kept_fraction: float, lam: float) -> float:
    """Return γλ, γ = c² / NNZ(Δ): how much the transfer loss counts beside the reconstruction loss (appendix E)."""
    return float(lam / kept_fraction) if kept_fraction > 0 else 0.0


def is_kept(difference: NDArray[np.float32], epsilon: float) -> NDArray[np.bool_]:
    """Return Δ^ε for entries of G_t − G_s: whether both spaces agree on an inner product within ε (section 3.1.2)."""
    with np.errstate(over="ignore"):  # an ε beyond the range of float32 keeps everything
        return np.abs(difference) < np.float32(epsilon)


@dataclass(frozen=True)
class FilteredGram:
    """The sums that one pass over the Gram tiles leaves for one ε: enough for every λ."""

    epsilon: float
    transfer: NDArray[np.float64]  # Qᵀ(Δ∘(G_t − G_s))Q, of shape (r, r)
    kept: NDArray[np.float64]  # number of entries that the filter keeps in each of the c rows of Δ
    difference: NDArray[np.float64]  # row sums of (G_t − G_s)²
    kept_difference: NDArray[np.float64]  # the same sums over kept entries only
    rounding: float  # a row of G_t − G_s with a smaller norm is nothing but rounding

    @property
    def kept_fraction(self) -> float:
        """NNZ(Δ) / c²."""
        return float(self.kept.sum() / len(self.kept) ** 2)

    def residual_norms(self, lam: float) -> NDArray[np.float64]:
        """Return the norm of each row of G* − G_t, on which the Procrustes weights are based (section 4.2)."""
        a = target_share(self.kept_fraction, lam)
        # On kept entries G* − G_t = (1 − a)(G_s − G_t); elsewhere it is G_s − G_t.
        squared = self.difference - (1 - (1 - a) ** 2) * self.kept_difference
        norms: NDArray[np.float64] = np.sqrt(np.maximum(squared, 0))
        return np.where(norms > self.rounding, norms, 0)


def residual_weights(residual_norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a weight of at most 1 for each pair, larger the more both spaces agree on its inner products.

    Examples
    --------
    >>> residual_weights(np.array([1.0, 2.0, 4.0]))
    array([1.  , 0.5 , 0.25])
    """
    if not residual_norms.any():
        return np.ones_like(residual_norms)
    # A pair without any residual would count for everything.
    floor = 1e-3 * np.median(residual_norms[residual_norms > 0])
    weights: NDArray[np.float64] = floor / np.maximum(residual_norms, floor)
    return weights / weights.max()


class GramTiles:
    """Tiles of G_t − G_s on and above the diagonal.

    ``max_memory`` can only make the tiles smaller; ``size`` is for tiles that must match others.
    """

    def __init__(
        self, X_s: FloatArray, X_t: FloatArray, max_memory: int | str | None = None, size: int | None = None
    ) -> None:
        self.n_pairs, self.n_source = X_s.shape
        self.stacked = np.concatenate([X_s, X_t], axis=1, dtype=np.float32)
        # Each thread holds a few tiles and a strip of the stacked vectors with the sign changed. Sums over other tiles
        # round differently, so the size must not depend on the machine: it leaves room for a few threads, and more of
        # them work only if they fit as well.
        per_row = 4 * (4 * _TILE + 2 * self.stacked.shape[1])
        self.size = size or rows_per_block(per_row * _THREADS, max_memory, at_most=_TILE)
        self.n_blocks = -(-self.n_pairs // self.size)
        self._most_threads = max(_THREADS, parse_memory(max_memory) // (per_row * self.size))

    def rows(self, block: int) -> slice:
        """Return the rows of a block."""
        return slice(block * self.size, min((block + 1) * self.size, self.n_pairs))

    def negated(self, block: int) -> NDArray[np.float32]:
        """Return [−X_s X_t] of a block, the left factor of its row of tiles."""
        left = self.stacked[self.rows(block)].copy()
        np.negative(left[:, : self.n_source], out=left[:, : self.n_source])
        return left

    def difference(
        self, i: int, j: int, left: NDArray[np.float32] | None = None, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Return tile (i, j) of G_t − G_s."""
        left = self.negated(i) if left is None else left
        tile: NDArray[np.float32] = product(left, self.stacked[self.rows(j)].T, out=out)
        return tile

    def by_row(self, work: Callable[[int], Result], progress: Progress | None = None) -> Iterator[Result]:
        """Yield ``work(i)`` for every row of tiles, in order, on all threads; ``progress`` counts tiles."""
        return self._counted(ordered_map(work, range(self.n_blocks), self._most_threads), progress)

    def by_row_anywhere(
        self, work: Callable[[Shared, int], Result], shared: Shared, progress: Progress | None = None
    ) -> Iterator[Result]:
        """Yield ``work(shared, i)`` for every row of tiles, in order, on all threads or on other machines."""
        return self._counted(shared_map(work, shared, range(self.n_blocks), self._most_threads), progress)

    def _counted(self, results: Iterator[Result], progress: Progress | None) -> Iterator[Result]:
        steps = Steps(progress, self.n_blocks * (self.n_blocks + 1) // 2)
        for i, result in enumerate(results):
            steps(self.n_blocks - i)
            yield result


def symmetric_product(
    tiles: GramTiles,
    make_tile: Callable[[int, int, NDArray[np.float32]], NDArray[np.float32]],
    Z: NDArray[np.float32],
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """Multiply a symmetric c×c matrix that exists only as tiles on and above the diagonal with ``Z`` (c, k).

    ``make_tile(i, j, tiles.negated(i))`` returns tile (i, j).
    """

    def work(i: int) -> NDArray[np.float32]:
        left, first = tiles.negated(i), i * tiles.size
        part = np.zeros((tiles.n_pairs - first, Z.shape[1]), dtype=np.float32)
        for j in range(i, tiles.n_blocks):
            tile, rows = make_tile(i, j, left), tiles.rows(j)
            part[: len(left)] += product(tile, Z[rows])
            if i != j:
                part[rows.start - first : rows.stop - first] += product(tile.T, Z[tiles.rows(i)])
        return part

    total = np.zeros_like(Z)
    for i, part in enumerate(tiles.by_row(work, progress)):
        total[i * tiles.size :] += part
    return total


def filtered_gram(
    X_s: FloatArray,
    X_t: FloatArray,
    Q: FloatArray | None,
    epsilons: Sequence[float],
    *,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> list[FilteredGram]:
    """Sum Qᵀ(Δ^ε∘(G_t − G_s))Q and the row sums for the weights in one pass over Gram tiles, for several ε.

    The columns of Q (c, r) are an orthonormal basis of those of X_s; it is None if only the row sums are wanted.
    """
    tiles = GramTiles(X_s, X_t, max_memory)
    Q = np.empty((len(X_s), 0), np.float32) if Q is None else np.ascontiguousarray(Q, dtype=np.float32)
    c, r, n = tiles.n_pairs, Q.shape[1], len(epsilons)
    transfer = np.zeros((n, r, r))
    difference, kept, kept_difference = np.zeros(c), np.zeros((n, c)), np.zeros((n, c))

    sums = tiles.by_row_anywhere(_row_of_tiles, (tiles, Q, epsilons), progress)
    for i, (moved, total, count, kept_total) in enumerate(sums):
        rest = slice(i * tiles.size, c)
        transfer += moved
        difference[rest] += total
        kept[:, rest] += count
        kept_difference[:, rest] += kept_total

    transfer += np.swapaxes(transfer, 1, 2).copy()  # the halves below the diagonal
    rounding = 1e-6 * c**0.5 * float(np.einsum("ij,ij->i", X_s, X_s).max())
    return [
        FilteredGram(float(epsilon), transfer[e], kept[e], difference, kept_difference[e], rounding)
        for e, epsilon in enumerate(epsilons)
    ]


def _row_of_tiles(shared: tuple[GramTiles, NDArray[np.float32], Sequence[float]], i: int) -> _RowSums:
    """Return products with Q on both sides of tiles (i, i), (i, i+1), …, and row sums over rows from block i on."""
    tiles, Q, epsilons = shared
    n, first, left = len(epsilons), i * tiles.size, tiles.negated(i)
    n_rows, n_columns = len(left), tiles.n_pairs - first
    moved = np.zeros((n, n_rows, Q.shape[1]), dtype=np.float32)
    difference, kept, kept_difference = np.zeros(n_columns), np.zeros((n, n_columns)), np.zeros((n, n_columns))

    # New pages for every tile would take longer than the sums.
    room = np.empty((4, n_rows * tiles.size), dtype=np.float32)
    part = np.empty((n_rows, Q.shape[1]), dtype=np.float32)
    for j in range(i, tiles.n_blocks):
        columns = slice(tiles.rows(j).start - first, tiles.rows(j).stop - first)
        tile, square, mask, filtered = room[:, : n_rows * len(range(n_columns)[columns])].reshape(4, n_rows, -1)
        tiles.difference(i, j, left, out=tile)
        np.square(tile, out=square)
        _add_sums(difference, square, columns, n_rows, i == j)
        for e, epsilon in enumerate(epsilons):
            # A float mask, because products with a Boolean one are converted entry by entry.
            np.copyto(mask, is_kept(tile, epsilon))
            product(np.multiply(tile, mask, out=filtered), Q[tiles.rows(j)], out=part)
            if i == j:
                part *= 0.5  # transposition adds the mirror image of every tile, and that of this one is itself
            moved[e] += part
            _add_sums(kept[e], mask, columns, n_rows, i == j)
            _add_sums(kept_difference[e], np.multiply(square, mask, out=filtered), columns, n_rows, i == j)
    return product(Q[tiles.rows(i)].T, moved), difference, kept, kept_difference


def _add_sums(
    sums: NDArray[np.float64], tile: NDArray[np.float32], columns: slice, n_rows: int, on_diagonal: bool
) -> None:
    """Add a tile's sums to its rows and, unless it lies on the diagonal, to its columns: rows of its mirror image."""
    sums[:n_rows] += tile @ np.ones(tile.shape[1], dtype=np.float32)
    if not on_diagonal:
        sums[columns] += np.ones(n_rows, dtype=np.float32) @ tile
