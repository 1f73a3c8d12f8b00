"""Whether one result is better than another on the same queries, or the difference is chance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp.evaluate._result import BLIResult
from fipp.evaluate._statistics import bootstrap_interval, sign_flip_p_value
from fipp.exceptions import FippError


@dataclass(frozen=True)
class PairedComparison:
    """The difference of two results on the same queries, first minus second.

    Attributes
    ----------
    measure : str
        The score that was compared, such as ``"map"``.
    first, second : float
        The two scores.
    difference : float
        First minus second.
    low, high : float
        Paired bootstrap interval of the difference.
    level : float
        The level of that interval.
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
