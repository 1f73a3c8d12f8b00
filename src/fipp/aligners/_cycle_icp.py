"""Iterative closest points in both directions at once, with maps that undo each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fipp.linalg import cross_products, matmul_blocks, ordered_map, row_blocks, single_threaded_blas

_FIRST_LEARNING_RATE, _LAST_LEARNING_RATE = 0.5, 0.05


@dataclass(frozen=True)
class PrincipalAxes:
    """Words in coordinates along their principal axes, of mean squared length 1.

    Attributes
    ----------
    coordinates : ndarray of shape (n, p)
    variance : ndarray of shape (p,)
        Falling.
    """

    coordinates: NDArray[np.float32]
    variance: NDArray[np.float64]

    @classmethod
    @single_threaded_blas
    def of(cls, X: NDArray[np.float32], p: int) -> PrincipalAxes:
        """Find the ``p`` first axes of X.

        Examples
        --------
        >>> axes = PrincipalAxes.of(np.float32([[3, 0], [-1, 0], [-1, 0], [-1, 0]]), 1)
        >>> abs(axes.coordinates.T).round(3), axes.variance.round(3)
        (array([[1.732, 0.577, 0.577, 0.577]], dtype=float32), array([1.]))
        """
        centred = X - X.mean(axis=0, dtype=np.float64).astype(np.float32)
        variance, axes = np.linalg.eigh(cross_products(centred, centred) / len(X))
        variance, axes = np.maximum(variance[::-1][:p], 0), axes[:, ::-1][:, :p]
        total = max(variance.sum(), 1e-30)
        return cls(matmul_blocks(centred, axes / np.sqrt(total)), np.maximum(variance / total, 1e-12))


@dataclass(frozen=True)
class CycleMaps:
    """A map there, a map back, and how far from each other words are that they bring together."""

    W: NDArray[np.float64]
    V: NDArray[np.float64]
    loss: float = np.inf


def cycle_icp(
    X: PrincipalAxes,
    Y: PrincipalAxes,
    start: CycleMaps,
    *,
    cycle_weight: float,
    n_epochs: int,
    batch_size: int,
    rng: np.random.RandomState,
) -> CycleMaps:
    r"""Improve both maps, mini-batch by mini-batch, and say how well they fit in the end.

    Each step goes down the gradient of

        ‖xW − y'‖² + ‖yV − x'‖² + λ‖xWV − x‖² + λ‖yVW − y‖²

    over a batch of words x, y with the nearest words y' of xW and x' of yV, scaled by the variances of the axes.
    """
    W, V = start.W, start.V
    n = min(len(X.coordinates), len(Y.coordinates))
    n_batches = max(1, n // batch_size)
    # The second derivative is about 1 + 2λ, measured by the variances.
    rates = np.geomspace(_FIRST_LEARNING_RATE, _LAST_LEARNING_RATE, n_epochs * n_batches) / (1 + 2 * cycle_weight)
    for epoch in range(n_epochs):
        orders = rng.permutation(len(X.coordinates))[:n], rng.permutation(len(Y.coordinates))[:n]
        batches = zip(*(np.array_split(order, n_batches) for order in orders), strict=True)
        for number, (of_x, of_y) in enumerate(batches):
            x, y = X.coordinates[of_x], Y.coordinates[of_y]
            y_near, x_near = nearest(matmul_blocks(x, W), Y.coordinates), nearest(matmul_blocks(y, V), X.coordinates)
            to_W, to_V = gradients(x, y, x_near, y_near, W, V, cycle_weight)
            rate = rates[epoch * n_batches + number]
            W, V = W - rate * to_W / X.variance[:, None], V - rate * to_V / Y.variance[:, None]
    return CycleMaps(W, V, fit_loss(X, Y, W, V))


@single_threaded_blas
def gradients(
    x: NDArray,
    y: NDArray,
    x_near: NDArray,
    y_near: NDArray,
    W: NDArray[np.float64],
    V: NDArray[np.float64],
    cycle_weight: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the gradients of half the mean loss of a batch by W and by V."""
    xW, yV = x @ W, y @ V
    x_cycle, y_cycle = cycle_weight * (xW @ V - x), cycle_weight * (yV @ W - y)
    to_W = x.T @ (xW - y_near + x_cycle @ V.T) + yV.T @ y_cycle
    to_V = y.T @ (yV - x_near + y_cycle @ W.T) + xW.T @ x_cycle
    return to_W / len(x), to_V / len(y)


def nearest(A: NDArray[np.float32], B: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return for each row of A the row of B with the smallest distance."""
    half = np.einsum("ij,ij->i", B, B) / np.float32(2)

    def closest(rows: slice) -> NDArray[np.int64]:
        scores = A[rows] @ B.T
        scores -= half
        return scores.argmax(axis=1)

    return B[np.concatenate(list(ordered_map(closest, row_blocks(len(A), 512))))]


def fit_loss(X: PrincipalAxes, Y: PrincipalAxes, W: NDArray[np.float64], V: NDArray[np.float64]) -> float:
    """Return the mean squared distance of mapped words to the nearest word of the other side, both ways."""
    total = 0.0
    for source, target, M in ((X.coordinates, Y.coordinates, W), (Y.coordinates, X.coordinates, V)):
        images = matmul_blocks(source, M)
        total += float(np.square(images - nearest(images, target), dtype=np.float64).sum()) / len(source)
    return total
