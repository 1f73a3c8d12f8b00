"""How far a mean over queries would move with other queries, and whether two of them differ by more than chance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError
from fipp.retrieve import check_count

_NUMBERS_AT_A_TIME = 1 << 20


class Interval(NamedTuple):
    """Two ends between which a score would lie with other queries of the same kind."""

    low: float
    high: float


def bootstrap_interval(
    values: NDArray[np.float64], level: float = 0.95, *, n_resamples: int = 1000, random_state: int = 0
) -> Interval:
    """Return the percentile bootstrap interval of a mean.

    Parameters
    ----------
    values : ndarray of shape (n,)
        A number for each query.
    level : float, default=0.95
        The share of resamples whose mean lies in the interval.
    n_resamples : int, default=1000
        How often n of the values are drawn with replacement.
    random_state : int, default=0
        The seed of the draws.

    Returns
    -------
    Interval

    Examples
    --------
    >>> low, high = bootstrap_interval(np.arange(100.0))
    >>> 40 < low < 49.5 < high < 60
    True
    """
    if not 0 < level < 1:
        raise FippError(f"level must lie between 0 and 1, such as 0.95, not {level!r}")
    means = _resampled_means(values, check_count(n_resamples, "n_resamples"), random_state)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def sign_flip_p_value(differences: NDArray[np.float64], *, n_resamples: int = 10_000, random_state: int = 0) -> float:
    """Return how often a sum at least as far from 0 comes of differences whose signs are thrown by a coin.

    This is the two-sided paired permutation test. When there are no more than ``n_resamples`` ways to choose the
    signs, all are tried and the value is exact; otherwise it is (1 + how often) / (1 + n_resamples).

    Parameters
    ----------
    differences : ndarray of shape (n,)
        The difference of two scores, for each query.
    n_resamples : int, default=10000
        How often the signs are thrown.
    random_state : int, default=0
        The seed of the throws.

    Returns
    -------
    float

    Examples
    --------
    >>> sign_flip_p_value(np.array([1.0, 2.0, 3.0]))  # +++ and --- of 8
    0.25
    """
    n_resamples = check_count(n_resamples, "n_resamples")
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0
    # Sums of the same numbers in another order differ in the last digits.
    reached = abs(moved.sum()) - 1e-9 * np.abs(moved).sum()
    exact = 2 ** min(len(moved), 63) <= n_resamples
    throws = _all_signs(len(moved)) if exact else _thrown_signs(len(moved), n_resamples, random_state)
    far = sum(int((np.abs(signs @ moved) >= reached).sum()) for signs in throws)
    return far / 2 ** len(moved) if exact else (1 + far) / (1 + n_resamples)


def _resampled_means(values: NDArray[np.float64], n_resamples: int, random_state: int) -> NDArray[np.float64]:
    draw = np.random.default_rng(random_state)
    n = len(values)
    return np.concatenate(
        [values[draw.integers(n, size=(rows, n))].mean(axis=1) for rows in _block_sizes(n_resamples, n)]
    )


def resampled_sums(counts: NDArray[np.int64], *, n_resamples: int = 1000, random_state: int = 0) -> NDArray[np.int64]:
    """Return the sums of the columns over rows drawn with replacement, for measures that are no mean, such as F1.

    Parameters
    ----------
    counts : ndarray of shape (n, k)
        Counts for each query.
    n_resamples : int, default=1000
        How often n rows are drawn.
    random_state : int, default=0
        The seed of the draws.

    Returns
    -------
    ndarray of shape (n_resamples, k)

    Examples
    --------
    >>> resampled_sums(np.ones((7, 2), dtype=np.int64), n_resamples=3).tolist()
    [[7, 7], [7, 7], [7, 7]]
    """
    draw = np.random.default_rng(random_state)
    n = len(counts)
    sums = np.empty((check_count(n_resamples, "n_resamples"), counts.shape[1]), dtype=np.int64)
    for row in range(n_resamples):
        sums[row] = np.bincount(draw.integers(n, size=n), minlength=n) @ counts
    return sums


def _all_signs(n: int) -> Iterator[NDArray[np.float64]]:
    yield _signs((np.arange(2**n)[:, None] >> np.arange(n)) & 1)


def _thrown_signs(n: int, n_resamples: int, random_state: int) -> Iterator[NDArray[np.float64]]:
    throw = np.random.default_rng(random_state)
    for rows in _block_sizes(n_resamples, n):
        yield _signs(throw.integers(2, size=(rows, n), dtype=np.int8))


def _signs(coins: NDArray[np.integer]) -> NDArray[np.float64]:
    signs: NDArray[np.float64] = 1 - 2 * coins.astype(np.float64)
    return signs


def _block_sizes(total: int, columns: int) -> list[int]:
    rows = max(1, _NUMBERS_AT_A_TIME // columns)
    return [min(rows, total - start) for start in range(0, total, rows)]
