r"""The three ways to solve the objective of FIPP: a small eigenproblem, the eigenvectors of G*, and gradient descent.

With X̃ (c, r) the unknown, Δ the filter and γλ the weight of the transfer loss, the objective (eq. 1) is

    L(X̃) = \|X̃X̃ᵀ − G_s\|² + γλ \|Δ∘(X̃X̃ᵀ − G_t)\|²,    ∇L = 4 [(X̃X̃ᵀ − G_s) + γλ Δ∘(X̃X̃ᵀ − G_t)] X̃,

whose minimiser among all c×c matrices X̃X̃ᵀ is G* = G_s + a Δ∘(G_t − G_s) with a = γλ / (1 + γλ) (eq. 5).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from fipp._progress import Progress, Steps
from fipp.exceptions import FippError
from fipp.linalg._device import product
from fipp.linalg._gram import FloatArray, GramTiles, is_kept, symmetric_product
from fipp.linalg._moments import cross_products, map_rows
from fipp.linalg._parallel import parse_memory, single_threaded_blas

# Directions whose singular value is below this fraction of the largest are float32 noise, not data.
_NOISE = 1e-5
# Up to this many pairs, subspace iteration to the same accuracy takes longer than the dense decomposition.
_DENSE_UP_TO = 5000
_SUBSPACE_TOLERANCE = 1e-4
_SUBSPACE_PRODUCTS = 20
# Numbers up to this stay in the range of float32 when their inner products are squared and summed.
_DIVERGED = 1e8


class ThinFactors(NamedTuple):
    """X = Q diag(σ) Vᵀ, without the directions in which X is zero."""

    Q: NDArray[np.float32]
    sigma: NDArray[np.float64]
    V: NDArray[np.float64]


@single_threaded_blas
def thin_svd(X: FloatArray) -> ThinFactors:
    """Factor a tall matrix as X = Q diag(σ) Vᵀ, Q orthonormal, σ > 0 falling.

    The factors come from the eigenvectors of XᵀX in float64, which is small. For tall matrices this is many times as
    fast as an SVD of X itself, and accurate enough because directions below 1e-5 of the largest are dropped.
    """
    wide = X.astype(np.float64)
    squared, V = np.linalg.eigh(cross_products(wide, wide))
    squared, V = squared[::-1], V[:, ::-1]
    keep = squared > _NOISE**2 * squared.max(initial=np.finfo(np.float64).tiny)
    sigma, V = np.sqrt(squared[keep]), np.ascontiguousarray(V[:, keep])
    inverse = V / sigma
    return ThinFactors(map_rows(lambda rows: rows @ inverse, wide, len(sigma)), sigma, V)


@single_threaded_blas
def positive_root(M: NDArray[np.float64], rank: int | None = None) -> NDArray[np.float64]:
    """Return some L with L Lᵀ the positive part of M, or the best approximation to it of that rank (eq. 6).

    Examples
    --------
    >>> positive_root(np.diag([4.0, -1.0]))
    array([[2.],
           [0.]])
    """
    if rank is None or rank >= len(M):
        try:  # M is mostly positive definite already; then its Cholesky factor is enough
            factor: NDArray[Any] = np.linalg.cholesky((M + M.T) / 2)
            return factor
        except np.linalg.LinAlgError:
            pass
    values, vectors = positive_part(M, rank)
    root: NDArray[np.float64] = vectors * np.sqrt(values)
    return root


@single_threaded_blas
def positive_part(M: NDArray[np.float64], rank: int | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the eigenvalues above zero (at most ``rank``, largest first) and their eigenvectors."""
    return _leading(*np.linalg.eigh((M + M.T) / 2), rank)


def _leading(values: NDArray[Any], vectors: NDArray[Any], rank: int | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return at most ``rank`` positive eigenvalues, the largest first, and their eigenvectors.

    Eigenvalues at or below zero are dropped, never clipped: they would be divided by.
    """
    order = np.argsort(values)[::-1][:rank]
    order = order[values[order] > _NOISE**2 * np.abs(values).max(initial=0)]
    return values[order], np.ascontiguousarray(vectors[:, order])


def target_gram_eigen(
    tiles: GramTiles,
    epsilon: float,
    a: float,
    rank: int,
    *,
    method: str = "auto",
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return at most ``rank`` positive eigenvalues, largest first, and eigenvectors of G* = G_s + a Δ^ε∘(G_t − G_s).

    ``method`` is ``"dense"``, ``"subspace"`` (block subspace iteration, which forms no c×c matrix), or ``"auto"``:
    dense up to 5,000 pairs if that fits into ``max_memory``.
    """
    c, dense_bytes = tiles.n_pairs, 4 * 4 * tiles.n_pairs**2
    fits = max_memory is None or dense_bytes <= parse_memory(max_memory)
    if method == "dense" and not fits:
        raise FippError(
            f"a dense eigendecomposition for {c:,} pairs needs about {dense_bytes / 1e9:.1f} GB, more than max_memory; "
            "take solver='linear', or eigen_method='subspace'"
        )
    if method == "dense" or (method == "auto" and fits and c <= _DENSE_UP_TO):
        values, vectors = _dense(tiles, epsilon, a, rank)
    else:
        values, vectors = _subspace(tiles, epsilon, a, rank, progress)
    return _leading(values, vectors, rank)


def _dense(tiles: GramTiles, epsilon: float, a: float, rank: int) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    c = tiles.n_pairs
    X_s, X_t = tiles.stacked[:, : tiles.n_source], tiles.stacked[:, tiles.n_source :]
    G_star = product(X_s, X_s.T)
    difference = product(X_t, X_t.T) - G_star
    difference *= is_kept(difference, epsilon)
    G_star += np.float32(a) * difference
    del difference
    leading = [c - min(rank, c), c - 1]
    values, vectors = scipy.linalg.eigh(G_star, subset_by_index=leading, overwrite_a=True, check_finite=False)
    return values.astype(np.float64), vectors


def _subspace(
    tiles: GramTiles, epsilon: float, a: float, rank: int, progress: Progress | None
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    X_s = tiles.stacked[:, : tiles.n_source]
    # The dominant directions of G* are close to span[X_s, X_t], so a few products are enough.
    Z, known = thin_svd(tiles.stacked).Q, np.zeros(0)
    for _ in range(_SUBSPACE_PRODUCTS):
        G_Z = product(X_s, product(X_s.T, Z)) + np.float32(a) * filtered_product(tiles, Z, epsilon, progress)
        # Rayleigh-Ritz: the best approximation to eigenpairs within span(Z).
        values, P = np.linalg.eigh(product(Z.T, G_Z).astype(np.float64))
        leading, vectors = values[::-1][:rank], product(Z, P.astype(np.float32))
        if len(known) and np.abs(leading - known).max() < _SUBSPACE_TOLERANCE * np.abs(leading).max():
            break
        known = leading
        previous, Z = Z, thin_svd(G_Z).Q
        if Z.shape != previous.shape:
            known = np.zeros(0)
    return values, vectors


def filtered_product(
    tiles: GramTiles, Z: NDArray[np.float32], epsilon: float, progress: Progress | None = None
) -> NDArray[np.float32]:
    """Return (Δ∘(G_t − G_s)) Z in one pass over the tiles."""

    def filtered(i: int, j: int, left: NDArray[np.float32]) -> NDArray[np.float32]:
        tile = tiles.difference(i, j, left)
        tile *= is_kept(tile, epsilon)
        return tile

    return symmetric_product(tiles, filtered, Z, progress)


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
    r"""The FIPP objective of given seed pairs as a function of X̃, with its gradient; ``weight`` is γλ.

    The filter takes c²/2 bytes; if ``max_memory`` has no room for that, it is computed again at each step.
    """

    def __init__(
        self, X_s: FloatArray, X_t: FloatArray, epsilon: float, weight: float, max_memory: int | str | None = None
    ) -> None:
        self.X_s, self.X_t = X_s.astype(np.float32), X_t.astype(np.float32)
        self.epsilon, self.weight, self.max_memory = epsilon, weight, max_memory
        self._tiles = GramTiles(X_s, X_t, max_memory)
        self._wide_source = X_s.astype(np.float64)
        self._source_norm = float(np.square(self._wide_source.T @ self._wide_source).sum())  # ‖G_s‖²
        self._store = len(X_s) ** 2 // 2 <= parse_memory(max_memory)
        self._filters: dict[tuple[int, int], NDArray[np.bool_]] = {}

    def _filter(self, i: int, j: int) -> NDArray[np.bool_]:
        """Return tile (i, j) of Δ."""
        inside = self._filters.get((i, j))
        if inside is None:
            inside = is_kept(self._tiles.difference(i, j), self.epsilon)
            if self._store:
                self._filters[i, j] = inside
        return inside

    def __call__(self, X: NDArray[np.float32]) -> Objective:
        """Return both losses at X̃."""
        return self.with_gradient(X)[0]

    def with_gradient(self, X: NDArray[np.float32]) -> tuple[Objective, NDArray[np.float32]]:
        """Return both losses at X̃, and the gradient of their sum."""
        # Tiles of X̃X̃ᵀ − G_t that match those of the filter.
        tiles = GramTiles(self.X_t, X, self.max_memory, size=self._tiles.size)
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
    """Return the best X̃ that Adam finds, and the loss at every step (section 3.2.2, appendix F)."""
    X = start.astype(np.float32)
    mean, square = np.zeros_like(X), np.zeros_like(X)
    losses, best, best_loss = np.empty(n_steps + 1), X.copy(), np.inf
    steps = Steps(progress, n_steps)
    for step in range(n_steps + 1):
        value, gradient = objective.with_gradient(X)
        losses[step] = value.total
        if value.total < best_loss:
            best, best_loss = X.copy(), value.total
        mean = 0.9 * mean + 0.1 * gradient
        with np.errstate(over="ignore"):  # an infinite square stops its entry
            square = 0.999 * square + 0.001 * gradient**2
        corrected = mean / (1 - 0.9 ** (step + 1)), square / (1 - 0.999 ** (step + 1))
        X = X - np.float32(learning_rate) * corrected[0] / (np.sqrt(corrected[1]) + np.float32(1e-8))
        if not np.abs(X).max(initial=0) <= _DIVERGED:
            raise FippError(f"the descent has diverged: take a learning_rate below {learning_rate:g}")
        if step:  # the first value is that of the start
            steps()
    return best, losses
