"""Properties of a set of vectors: lengths, isotropy and hubness."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from fipp._progress import Progress, Steps
from fipp.exceptions import FippError
from fipp.io import Vectors, as_floats
from fipp.linalg import mean_and_scatter, row_blocks, single_threaded_blas, unit_rows


@dataclass(frozen=True)
class SpaceReport:
    """Figures about a set of vectors.

    Attributes
    ----------
    rows, dimensions : int
        The size of the matrix.
    norm_min, norm_mean, norm_max : float
        Lengths of the vectors.
    zero_rows : int
        Vectors of zeros only; the figures below leave them out.
    repeated_rows : int
        Vectors equal to an earlier one.
    mean_length : float
        Length of the mean of the unit vectors: 0 if they point in all directions, 1 if all in the same.
    top_1, top_2, top_10 : float
        Share of the variance, around the mean, of the first 1, 2, 10 principal components of the unit vectors.
    effective_dimensions : float
        (Σλ)² / Σλ² of the variances λ: how many dimensions of equal variance this corresponds to.
    isotropy : float
        min Z(c) / max Z(c) over the principal directions c and −c, with Z(c) = Σ exp(⟨c, w⟩) over the unit vectors w
        (Mu and Viswanath 2018): 1 if they fill the space evenly.
    hubness : float
        Skewness, within a sample, of how often a vector is among the ``neighbours`` nearest of another. It is 0 without
        hubs; above about 1, nearest neighbours are often the same few words, and CSLS should help.
    largest_hub : int
        How many vectors have the most frequent neighbour among their nearest.
    sample, neighbours : int
        The number of vectors that hubness was measured on, and of neighbours of each.
    """

    rows: int
    dimensions: int
    norm_min: float
    norm_mean: float
    norm_max: float
    zero_rows: int
    repeated_rows: int
    mean_length: float
    top_1: float
    top_2: float
    top_10: float
    effective_dimensions: float
    isotropy: float
    hubness: float
    largest_hub: int
    sample: int
    neighbours: int

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as numbers that JSON can hold."""
        return asdict(self)


@single_threaded_blas
def describe_space(
    vectors: Vectors | ArrayLike,
    *,
    sample: int = 2000,
    neighbours: int = 10,
    random_state: int = 0,
    progress: Progress | None = None,
) -> SpaceReport:
    """Measure lengths, isotropy and hubness of a set of vectors.

    Parameters
    ----------
    vectors : Vectors or array-like of shape (n, d)
        The vectors.
    sample : int, default=2000
        Hubness is measured on this many vectors, chosen at random.
    neighbours : int, default=10
        How many nearest neighbours of each of them count.
    random_state : int, default=0
        The seed of that choice.
    progress : callable, optional
        Called as ``progress(done, total)``.

    Returns
    -------
    SpaceReport

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> even = describe_space(rng.standard_normal((1000, 5)))
    >>> far = describe_space(rng.standard_normal((1000, 5)) + 3)
    >>> even.isotropy > 0.8 > far.isotropy, even.mean_length < 0.1 < 0.8 < far.mean_length
    (True, True)
    """
    matrix = vectors.matrix if isinstance(vectors, Vectors) else as_floats(vectors)
    steps = Steps(progress, 4)
    steps(0)
    if not all(np.isfinite(matrix[rows]).all() for rows in row_blocks(len(matrix))):
        raise FippError("vectors must be finite; drop or repair those with NaN or infinity first")
    if matrix.size == 0:
        raise FippError("there are no vectors to describe")
    blocks = (matrix[rows] for rows in row_blocks(len(matrix)))
    norms = np.sqrt(np.concatenate([np.einsum("ij,ij->i", rows, rows, dtype=np.float64) for rows in blocks]))
    steps()
    mean, scatter = mean_and_scatter(matrix, unit_rows)
    steps()
    variances = np.clip(np.linalg.eigvalsh(scatter)[::-1], 0, None)
    total = variances.sum() or 1.0
    top_1, top_2, top_10 = (float(variances[:count].sum() / total) for count in (1, 2, 10))
    used = np.flatnonzero(norms > 0)
    occurrences = _occurrences(matrix, used, sample, neighbours, random_state)
    isotropy = _isotropy(matrix, mean, scatter, used)
    steps()
    repeated = _repeated(matrix)
    steps.finish()
    return SpaceReport(
        rows=matrix.shape[0],
        dimensions=matrix.shape[1],
        norm_min=float(norms.min()),
        norm_mean=float(norms.mean()),
        norm_max=float(norms.max()),
        zero_rows=len(matrix) - len(used),
        repeated_rows=repeated,
        mean_length=float(np.linalg.norm(mean)),
        top_1=top_1,
        top_2=top_2,
        top_10=top_10,
        effective_dimensions=float(total**2 / ((variances**2).sum() or 1.0)),
        isotropy=isotropy,
        hubness=_skewness(occurrences),
        largest_hub=int(occurrences.max(initial=0)),
        sample=len(occurrences),
        neighbours=max(0, min(neighbours, len(occurrences) - 1)),
    )


def _repeated(matrix: NDArray[np.float32]) -> int:
    seen: set[bytes] = set()
    for rows in row_blocks(len(matrix)):
        # Adding 0 turns -0 into 0.
        seen.update(row.tobytes() for row in matrix[rows] + np.float32(0))
    return len(matrix) - len(seen)


def _isotropy(
    matrix: NDArray[np.float32], mean: NDArray[np.float64], scatter: NDArray[np.float64], used: NDArray[np.int64]
) -> float:
    if not len(used):
        return 1.0
    _, directions = np.linalg.eigh(scatter + np.outer(mean, mean))
    sums = []
    for rows in row_blocks(len(used)):
        along = unit_rows(matrix[used[rows]]) @ directions
        sums.append(logsumexp(np.concatenate([along, -along], axis=1), axis=0))
    partition = logsumexp(np.array(sums), axis=0)
    return float(np.exp(partition.min() - partition.max()))


def _occurrences(
    matrix: NDArray[np.float32], used: NDArray[np.int64], sample: int, neighbours: int, random_state: int
) -> NDArray[np.int64]:
    """Count how often each vector of a sample is among the nearest of another."""
    if sample < 1 or neighbours < 1:
        raise FippError("sample and neighbours must be at least 1")
    if len(used) > sample:
        used = np.sort(np.random.default_rng(random_state).choice(used, sample, replace=False))
    unit = unit_rows(matrix[used])
    count = min(neighbours, len(unit) - 1)
    if count < 1:
        return np.zeros(len(unit), dtype=np.int64)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -np.inf)
    nearest = np.argpartition(-similarity, count - 1, axis=1)[:, :count]
    return np.bincount(nearest.ravel(), minlength=len(unit))


def _skewness(counts: NDArray[np.int64]) -> float:
    from scipy.stats import skew  # imported here because it takes longer than all of fipp

    return float(skew(counts)) if len(np.unique(counts)) > 1 else 0.0
