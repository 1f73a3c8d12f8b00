"""A linear map with a small hidden layer beside it, and its training: numpy alone, the same bits every time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError
from fipp.linalg._parallel import single_threaded_blas

Matrix = NDArray[np.float32]

_SMALL = np.float32(1e-12)


@dataclass(frozen=True)
class ResidualNetwork:
    r"""ŷ = xW + b + \max(0, xA + a) B, with x of d1, ŷ of d2 and the hidden layer of h dimensions."""

    linear: Matrix  # W
    offset: Matrix  # b
    hidden: Matrix  # A
    hidden_offset: Matrix  # a
    output: Matrix  # B

    def __call__(self, X: Matrix) -> Matrix:
        """Return ŷ of each row."""
        mapped: Matrix = X @ self.linear + self.offset
        mapped += self.activation(X) @ self.output
        return mapped

    def activation(self, X: Matrix) -> Matrix:
        r"""Return \max(0, xA + a) of each row."""
        active: Matrix = X @ self.hidden + self.hidden_offset
        return np.maximum(active, 0, out=active)

    def arrays(self) -> list[Matrix]:
        """Return W, b, A, a, B."""
        return [getattr(self, part.name) for part in fields(self)]

    def gradient(self, X: Matrix, Y: Matrix, loss: str, mask: Matrix | None = None) -> tuple[float, list[Matrix]]:
        """Return the mean loss and its gradient by W, b, A, a, B; ``mask`` multiplies the hidden layer (dropout)."""
        active = self.activation(X)
        dropped = active if mask is None else active * mask
        value, error = LOSSES[loss](X @ self.linear + self.offset + dropped @ self.output, Y)
        back = error @ self.output.T
        back *= active > 0
        if mask is not None:
            back *= mask
        return value, [X.T @ error, error.sum(axis=0), X.T @ back, back.sum(axis=0), dropped.T @ error]


def squared_error(mapped: Matrix, Y: Matrix) -> tuple[float, Matrix]:
    r"""Return the mean of \|ŷ − y\|² and its gradient by ŷ."""
    error = mapped - Y
    return float(np.square(error).sum(axis=1).mean(dtype=np.float64)), error * np.float32(2 / len(Y))


def cosine_error(mapped: Matrix, Y: Matrix) -> tuple[float, Matrix]:
    """Return the mean of 1 − cos(ŷ, y) and its gradient by ŷ."""
    lengths = np.sqrt(np.einsum("ij,ij->i", mapped, mapped) + _SMALL)[:, None]
    unit = mapped / lengths
    gold = Y / np.sqrt(np.einsum("ij,ij->i", Y, Y) + _SMALL)[:, None]
    cosines = np.einsum("ij,ij->i", unit, gold)[:, None]
    return float(1 - cosines.mean(dtype=np.float64)), (cosines * unit - gold) / lengths / np.float32(len(Y))


LOSSES = {"cosine": cosine_error, "mse": squared_error}


@dataclass(frozen=True)
class Training:
    """The training of a network: AdamW in mini-batches, with weight decay of W towards its start and others to 0."""

    loss: str
    learning_rate: float
    weight_decay: float
    dropout: float
    batch_size: int
    random_state: int

    def epochs(self, network: ResidualNetwork, X: Matrix, Y: Matrix) -> Iterator[ResidualNetwork]:
        """Yield the network after each pass over all pairs, without end."""
        rng = np.random.default_rng(self.random_state)
        arrays = [array.copy() for array in network.arrays()]
        rest = [network.linear, network.offset, *(np.zeros_like(array) for array in arrays[2:])]
        means, squares = ([np.zeros_like(array) for array in arrays] for _ in range(2))
        step = 0
        while True:
            order = rng.permutation(len(X))
            for start in range(0, len(X), self.batch_size):
                rows = order[start : start + self.batch_size]
                step += 1
                # Overflow is looked for below.
                with single_threaded_blas, np.errstate(over="ignore", invalid="ignore"):
                    mask = self._mask(rng, (len(rows), network.hidden.shape[1]))
                    _, gradients = ResidualNetwork(*arrays).gradient(X[rows], Y[rows], self.loss, mask)
                    for place, gradient in enumerate(gradients):
                        self._step(arrays[place], rest[place], gradient, means[place], squares[place], step)
                if not all(np.isfinite(array).all() for array in arrays):
                    raise self.diverged()
            yield ResidualNetwork(*(array.copy() for array in arrays))

    def diverged(self) -> FippError:
        """Return the error for a network whose numbers have left the range of float32."""
        return FippError(
            f"the training has diverged: take a learning_rate below {self.learning_rate:g} or a weight_decay below "
            f"{self.weight_decay:g}"
        )

    def _mask(self, rng: np.random.Generator, shape: tuple[int, int]) -> Matrix | None:
        if self.dropout == 0:
            return None
        kept = rng.random(shape, dtype=np.float32) >= self.dropout
        return kept.astype(np.float32) / np.float32(1 - self.dropout)

    def _step(self, array: Matrix, rest: Matrix, gradient: Matrix, mean: Matrix, square: Matrix, step: int) -> None:
        mean += np.float32(0.1) * (gradient - mean)
        square += np.float32(0.001) * (gradient * gradient - square)
        rate = np.float32(self.learning_rate / (1 - 0.9**step))
        decay = np.float32(self.learning_rate * self.weight_decay)
        scale = np.sqrt(square / np.float32(1 - 0.999**step)) + np.float32(1e-8)
        array -= rate * mean / scale + decay * (array - rest)
