"""How far a score would move with other queries, and whether two scores differ by more than chance.

Intervals are those of `scipy.stats.bootstrap`. The sign-flip test is ours, because `scipy.stats.permutation_test` takes
12 times as long on 2,000 queries and 30 times as long on 20,000.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError
from fipp.retrieve import check_count

if TYPE_CHECKING:
    from fipp.evaluate._result import BLIResult

_NUMBERS_AT_A_TIME = 1 << 20


class Interval(NamedTuple):
    """Two ends between which a score would lie with other queries of the same kind."""

    low: float
    high: float


def bootstrap_interval(
    *columns: NDArray[Any],
    level: float = 0.95,
    statistic: Callable[..., Any] = np.mean,
    n_resamples: int = 1000,
    random_state: int = 0,
) -> Interval:
    """Return the percentile bootstrap interval of ``statistic(*columns, axis=axis)``.

    Each column holds a number for each query; each resample draws the same queries of all columns.
    """
    from scipy import stats  # imported here because it takes longer than all of fipp

    if not 0 < level < 1:
        raise FippError(f"level must lie between 0 and 1, such as 0.95, not {level!r}")
    n, n_resamples = len(columns[0]), check_count(n_resamples, "n_resamples")
    if n == 1 or n_resamples == 1:  # scipy has no interval for these
        return Interval(*[float(statistic(*columns, axis=-1))] * 2)
    ends = stats.bootstrap(
        columns,
        statistic,
        n_resamples=n_resamples,
        batch=max(1, _NUMBERS_AT_A_TIME // n),
        vectorized=True,
        paired=len(columns) > 1,
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(random_state),
    ).confidence_interval
    return Interval(float(ends.low), float(ends.high))


def sign_flip_p_value(differences: NDArray[np.float64], *, n_resamples: int = 10_000, random_state: int = 0) -> float:
    """Return the p-value of the two-sided paired permutation test, which flips the signs of the differences.

    It is the share of all choices of signs whose sum is at least as far from 0. If there are no more than
    ``n_resamples`` choices, all are tried and the value is exact; otherwise it is (1 + hits) / (1 + n_resamples).
    """
    n_resamples = check_count(n_resamples, "n_resamples")
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0
    # Sums of the same numbers in another order differ in the last digits.
    reached = abs(moved.sum()) - 1e-9 * np.abs(moved).sum()

    def count_hits(coins: NDArray[np.integer]) -> int:
        return int((np.abs((1 - 2 * coins.astype(np.float64)) @ moved) >= reached).sum())

    n = len(moved)
    if 2 ** min(n, 63) <= n_resamples:
        return count_hits((np.arange(2**n)[:, None] >> np.arange(n)) & 1) / 2**n
    throw = np.random.default_rng(random_state)
    rows = max(1, _NUMBERS_AT_A_TIME // n)
    sizes = (min(rows, n_resamples - start) for start in range(0, n_resamples, rows))
    hits = sum(count_hits(throw.integers(2, size=(size, n), dtype=np.int8)) for size in sizes)
    return (1 + hits) / (1 + n_resamples)


@dataclass(frozen=True)
class PairedComparison:
    """The difference of two results on the same queries, first minus second.

    Attributes
    ----------
    measure : str
        The score that was compared, such as ``"map"``.
    first, second, difference : float
        The two scores, and the first minus the second.
    low, high, level : float
        Paired bootstrap interval of the difference, and its level.
    p_value : float
        How often swapping the two models at random, query by query, makes a difference at least as large, either way.
    n_queries : int
        The number of queries.

    Examples
    --------
    >>> print(PairedComparison("map", 0.52, 0.5, 0.02, 0.011, 0.03, 0.95, 0.0004, 1500))
    MAP 0.5200 - 0.5000 = +0.0200 (95 % interval +0.0110 to +0.0300, p = 0.0004, 1,500 queries)
    """

    measure: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    level: float
    p_value: float
    n_queries: int

    def as_dict(self) -> dict[str, Any]:
        """Return everything as numbers and text that JSON can hold."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"{self.measure.upper()} {self.first:.4f} - {self.second:.4f} = {self.difference:+.4f} "
            f"({100 * self.level:g} % interval {self.low:+.4f} to {self.high:+.4f}, p = {self.p_value:.4f}, "
            f"{self.n_queries:,} queries)"
        )


def compare_results(
    first: BLIResult,
    second: BLIResult,
    measure: str = "map",
    *,
    level: float = 0.95,
    n_resamples: int = 10_000,
    random_state: int = 0,
) -> PairedComparison:
    """Test whether two results on the same queries differ by more than chance.

    Parameters
    ----------
    first, second : BLIResult
        Results of two models, or of two kinds of retrieval, on one test dictionary. Queries are matched by their words
        if both results know them, otherwise by their row numbers.
    measure : {"map", "mrr", "p@1", "p@5", "p@10"}, default="map"
        The score to compare.
    level : float, default=0.95
        The level of the paired bootstrap interval.
    n_resamples : int, default=10000
        Resamples of the interval, and of the sign-flip permutation test.
    random_state : int, default=0
        The seed of both.

    Returns
    -------
    PairedComparison

    Raises
    ------
    FippError
        If the queries are not the same.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed, "fipp")
    >>> csls, cosine = (alignment.evaluate(demo.test, retrieval=way) for way in ("csls", "cosine"))
    >>> comparison = compare_results(csls, cosine)
    >>> comparison.n_queries, comparison.low < comparison.difference < comparison.high
    (200, True)
    """
    own, other = _names(first, second)
    place = {name: number for number, name in enumerate(other)}
    if set(own) != set(place):
        raise FippError(_difference_of_queries(own, other))
    values = first.per_query(measure)
    differences: NDArray[np.float64] = values - second.per_query(measure)[[place[name] for name in own]]
    draws: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state}
    low, high = bootstrap_interval(differences, level=level, **draws)
    return PairedComparison(
        measure=measure,
        first=float(values.mean()),
        second=float(values.mean() - differences.mean()),
        difference=float(differences.mean()),
        low=low,
        high=high,
        level=level,
        p_value=sign_flip_p_value(differences, **draws),
        n_queries=len(differences),
    )


def _names(first: BLIResult, second: BLIResult) -> tuple[Sequence[Hashable], Sequence[Hashable]]:
    if first.words is not None and second.words is not None:
        return first.words, second.words
    if first.queries is None or second.queries is None:
        raise FippError("these results do not know their queries: compare results that bli or Alignment.evaluate made")
    return first.queries.tolist(), second.queries.tolist()


def _difference_of_queries(own: Sequence[Hashable], other: Sequence[Hashable]) -> str:
    message = "the two results are not of the same queries"
    for which, these, those in (("first", own, set(other)), ("second", other, set(own))):
        alone = [name for name in these if name not in those]
        if alone:
            message += f"; only the {which} has {alone[0]!r}" + (f" and {len(alone) - 1:,} more" if alone[1:] else "")
    return message + ". Evaluate both on one dictionary whose words both vocabularies have"
