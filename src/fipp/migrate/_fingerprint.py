r"""Fingerprints of embedding models: what their vectors look like, so that those of another model are recognised.

Unit vectors of a model are not spread evenly: they have a mean and a few strong directions. A Gaussian with these
directions, and the same variance σ² in all others (probabilistic principal components), gives every vector x a density

.. math:: -2 \log p(x) = \sum_j \Bigl(\frac{z_j^2}{v_j} + \log v_j\Bigr)
          + \frac{\|x - μ\|^2 - \sum_j z_j^2}{σ^2} + (d - k) \log σ^2, \quad z = V^\top (x - μ)

of which almost all vectors of the model have more than a certain amount, and those of another model hardly ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from fipp.exceptions import FippError
from fipp.io import MismatchError, Sizes, check_value
from fipp.linalg import row_blocks, unit_rows

# At most this many strong directions are kept, and no more than a quarter of the vectors that they are measured on.
_MOST_DIRECTIONS = 32
# One vector in a hundred of the model itself is less usual than this.
_UNUSUAL = 0.01
# Vectors are those of another model if more than half of them are unusual; fewer than these say nothing.
_MOST_UNUSUAL, _FEWEST = 0.5, 8
_CHECKED = 2000
_SMALLEST, _LARGEST = 1e-9, 1e30
_POSITIVE = [Interval(Real, 0, _LARGEST, closed="right")]
_ARRAYS = {"mean": "float32 d", "directions": "float32 k d", "variances": "float32 k"}
_NUMBERS = {
    "name": [str],
    "noise": _POSITIVE,
    "least": [Interval(Real, None, None, closed="neither")],
    "length": _POSITIVE,
}


class Fingerprint(NamedTuple):
    """The name of a model and what its vectors look like.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> spread = np.geomspace(1, 0.01, 16)
    >>> model = Fingerprint.of(rng.standard_normal((400, 16)) * spread, "v1")
    >>> model.share_unusual(rng.standard_normal((100, 16)) * spread) < 0.1
    True
    >>> model.share_unusual(rng.standard_normal((100, 16)) * spread[::-1])
    1.0
    """

    name: str
    mean: NDArray[np.float32]
    directions: NDArray[np.float32]
    """V, of shape (k, d)."""
    variances: NDArray[np.float32]
    noise: float
    """σ²."""
    least: float
    """The log density that 99 % of the vectors exceed."""
    length: float
    """The median length of the vectors."""

    @classmethod
    def of(cls, X: NDArray[Any], name: str) -> Self:
        """Return the fingerprint of a model from some of its vectors, none of them zero."""
        unit = unit_rows(X)
        # Measured on every second vector; the others say what is usual for vectors that were not measured.
        measured = unit[::2].astype(np.float64)
        k = max(1, min(_MOST_DIRECTIONS, X.shape[1] - 1, len(measured) // 4))
        mean = measured.mean(axis=0)
        centred = measured - mean
        values, vectors = np.linalg.eigh(centred.T @ centred / len(measured))
        noise = max(float(values[:-k].mean()) if len(values) > k else 0.0, _SMALLEST)
        kept = np.maximum(values[: -k - 1 : -1], noise)
        V = vectors[:, : -k - 1 : -1].T
        length = float(np.median(np.linalg.norm(X, axis=1)))
        mean, V, kept = (part.astype(np.float32) for part in (mean, V, kept))
        whole = cls(name, mean, V, kept, noise, least=0.0, length=length)
        return whole._replace(least=float(np.quantile(whole.log_density(unit[1::2]), _UNUSUAL)))

    @property
    def dimensions(self) -> int:
        """The number of dimensions of the model's vectors."""
        return len(self.mean)

    def log_density(self, unit: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return log p of unit vectors, up to a constant."""
        density = np.empty(len(unit))
        fixed = np.log(self.variances, dtype=np.float64).sum()
        fixed += (self.dimensions - len(self.variances)) * np.log(self.noise)
        for rows in row_blocks(len(unit)):
            centred = unit[rows] - self.mean
            squares = np.square(centred @ self.directions.T)
            rest = np.square(centred).sum(axis=1) - squares.sum(axis=1)
            density[rows] = -0.5 * ((squares / self.variances).sum(axis=1) + rest / self.noise + fixed)
        return density

    def share_unusual(self, X: NDArray[Any]) -> float:
        """Return how many of the vectors are less usual than 99 % of those of this model are."""
        return float((self.log_density(unit_rows(X)) < self.least).mean())

    def check(self, X: NDArray[Any], other: Fingerprint) -> None:
        """Raise a FippError if vectors are those of another model; ``other`` may be the one that they were taken for.

        Vectors of zeros, and fewer than eight vectors, say nothing.
        """
        filled = X[np.linspace(0, len(X) - 1, min(len(X), _CHECKED)).astype(int)]
        unit = unit_rows(filled[filled.any(axis=1)])
        if len(unit) < _FEWEST:
            return
        unusual = self.share_unusual(unit)
        if unusual <= _MOST_UNUSUAL:
            return
        said = f"these are not vectors of the model {self.name!r}: {100 * unusual:.0f} % of them are less usual than "
        said += "99 % of those in the sample"
        if other.dimensions == self.dimensions and other.share_unusual(unit) <= _MOST_UNUSUAL:
            raise FippError(f"{said}. They look like vectors of {other.name!r}: old and new may be swapped")
        raise FippError(f"{said}. If they are, of texts unlike those of the sample, embed a sample of such texts too")

    def to_state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the arrays, and what JSON can hold."""
        return {name: getattr(self, name) for name in _ARRAYS}, {name: getattr(self, name) for name in _NUMBERS}

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray[Any]], described: Any, dimensions: int, where: str) -> Self:
        """Return the fingerprint that `to_state` took apart; raise a MismatchError if anything is out of place."""
        check_value(described, _NUMBERS, where, Sizes())
        check_value(arrays, _ARRAYS, where, {"d": dimensions})
        if not (arrays["variances"] > 0).all():
            raise MismatchError(f"{where} has a variance that is not positive")
        return cls(**{**arrays, **described})
