r"""What a search would find in a collection many times as large as the sample.

Near the top, the scores of a query fall off about exponentially: τ higher up there are e times fewer items. Such a tail
looks the same however large the collection is. If the scores of converted items differ from the true ones by a noise
of ρτ, then of the k best items by the true score, with k large,

.. math:: 2 Φ(-ρ/2)

are among the k best by the noisy one. With few items fewer are found, because each may be pushed out by the next. So
the recall in the sample gives ρ, and ρ the recall in the collection: the item at rank k of n in the sample is as far up
the tail as that at rank kN/n of N. Whether ρ changes along the tail is seen from the ranks 1 to 10 of the sample;
beyond them its course is continued.

Ranks of answers are forecast in two other ways. A random part of the sample shows them in a smaller collection, exactly
and without drawing it, and the curve over the logarithm of the size is continued. And if the scores of answers and of
other items are normal, the share of items above an answer is Φ(-z) with z normal too: the ranks in the sample give the
mean and the width of z, and those the ranks in a collection of any size. The forecast is the mean of both, because they
tend to be wrong in opposite directions, and how far they are apart is part of its error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import expit, gammaincc, log_ndtr, logit, ndtr, pdtr

from fipp.migrate._maps import DEPTH

_LARGEST_NOISE = 8.0
# Parts of the sample in which the curve over the size is followed.
_PARTS = np.geomspace(0.1, 1, 6)
# The z of which Φ(-z) is the share of items above an answer.
_HEIGHTS = np.linspace(-5, 9, 281)


class Estimate(NamedTuple):
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def around(cls, value: float, error: float) -> Estimate:
        """Return a share with the interval of a standard error."""
        return cls(value, max(value - 1.96 * error, 0.0), min(value + 1.96 * error, 1.0))

    def times(self, share: float) -> Estimate:
        """Return a share of it, with the same share of the interval."""
        return Estimate(*(share * number for number in self))

    def __str__(self) -> str:
        return f"{_short(self.value)} ({_short(self.low)}-{_short(self.high)})"


def _short(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")


def tail_recall(noise: float, k: float) -> float:
    """Return the share of the k best by the true score that are among the k best by the noisy one.

    Examples
    --------
    >>> round(tail_recall(1.0, 1e9), 3), round(tail_recall(1.0, 1), 3)
    (0.617, 0.536)
    """
    # Measured on simulated tails: what the limit for many items overestimates for few.
    return float(2 * ndtr(-noise / 2) * (1 - 0.26 * (1 - np.exp(-0.7 * noise)) / k**0.75))


def noise_of(recall: float, k: float) -> float:
    """Return the noise, relative to the slope of the tail, with which a recall at k would be found.

    Examples
    --------
    >>> round(noise_of(tail_recall(0.8, 3), 3), 6)
    0.8
    """
    if recall >= 1:
        return 0.0
    if recall <= tail_recall(_LARGEST_NOISE, k):
        return _LARGEST_NOISE
    return float(brentq(lambda noise: tail_recall(noise, k) - recall, 0, _LARGEST_NOISE))


def recall_in(recalls: NDArray[np.float64], n: int, size: int) -> float:
    """Return the recall of the ten nearest of ``size`` items from that of the 1, 2, … 10 nearest of ``n``.

    Examples
    --------
    >>> same = [tail_recall(1.0, k) for k in range(1, 11)]
    >>> round(recall_in(np.array(same), 1000, 10_000) - same[-1], 6)
    0.0
    """
    ranks = np.arange(1, len(recalls) + 1)
    noises = np.array([noise_of(recall, k) for k, recall in enumerate(recalls.tolist(), 1)])
    levels, wanted = np.log(ranks / n), np.log(DEPTH / size)
    if wanted >= levels[0]:
        return tail_recall(float(np.interp(wanted, levels, noises)), DEPTH)
    slope, height = np.polyfit(levels, noises, 1, w=np.sqrt(ranks))
    return tail_recall(float(np.clip(height + slope * wanted, 0, _LARGEST_NOISE)), DEPTH)


def wider_recall(recall: float, wider: float) -> float:
    r"""Return the share of the ten nearest found among ``wider`` times as many, given that found among ten.

    With L the logarithm of ``wider`` it is :math:`Φ(L/ρ - ρ/2) + e^L Φ(-L/ρ - ρ/2)`.

    Examples
    --------
    >>> round(wider_recall(0.5, 1.0), 2), round(wider_recall(0.5, 10.0), 2)
    (0.51, 0.95)
    """
    noise, L = max(noise_of(recall, DEPTH), 1e-6), np.log(wider)
    return float(ndtr(L / noise - noise / 2) + wider * ndtr(-L / noise - noise / 2))


def continued(mean_in: Callable[[float], float], larger: float) -> tuple[float, float]:
    """Continue a share that is known in parts of the sample to a collection that many times as large.

    The share is the mean of a line and a parabola over the logarithm of the size, on the scale of log odds; how far the
    two are apart says how uncertain it is. Returns the share and its standard error.

    Examples
    --------
    >>> continued(lambda part: 0.5, 10.0)
    (0.5, 0.0)
    """
    known = np.clip([mean_in(part) for part in _PARTS], 1e-6, 1 - 1e-6)
    if larger <= 1:
        return float(mean_in(larger)), 0.0
    line, curve = (np.polyval(np.polyfit(np.log(_PARTS), logit(known), d), np.log(larger)) for d in (1, 2))
    shares = expit([line, curve, (line + curve) / 2])
    return round(float(shares[2]), 12), round(float(abs(shares[0] - shares[1]) / 2), 12)


def reciprocal_rank_in(part: float, ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of 1 / rank in random parts of the sample, given the ranks in the whole of it.

    Examples
    --------
    >>> reciprocal_rank_in(1.0, np.array([1, 4])), reciprocal_rank_in(0.5, np.array([2]))
    (array([1.  , 0.25]), array([0.75]))
    """
    return np.asarray((1 - (1 - part) ** ranks) / (ranks * part))


def gain_in(part: float, ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of 1 / log2(1 + rank) within the first ten, what an answer adds to nDCG@10, in random parts."""
    from scipy.stats import binom

    places = np.arange(DEPTH)
    chances = binom.pmf(places[:, None], ranks - 1, part)
    return np.asarray((1 / np.log2(2 + places)) @ chances)


class Answers:
    """How high up answers stand, from their ranks in a sample, with the heights z of all of them taken as normal.

    Parameters
    ----------
    ranks : array of shape (q,)
        Of the answers, among the items of the sample.
    n : int
        Items in the sample.

    Examples
    --------
    >>> answers = Answers(np.array([1, 1, 1, 2, 30]), 1000)
    >>> answers.expected(reciprocal_rank_among(10_000)).round(1)
    array([0.7, 0.7, 0.7, 0.2, 0. ])
    """

    def __init__(self, ranks: NDArray[np.int64], n: int) -> None:
        above, self.places = np.unique(ranks - 1, return_inverse=True)
        likelihood = above[:, None] * log_ndtr(-_HEIGHTS) + (n - 1 - above)[:, None] * log_ndtr(_HEIGHTS)
        self.likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
        self.start = np.array([2.0, 0.0])
        self.start, self.weights = self._fit(self.places)

    def expected(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expected value for each answer, given the value at each height."""
        chances = self.likelihood * self.weights
        return np.asarray((chances @ values / chances.sum(axis=1))[self.places])

    def mean_of(self, drawn: NDArray[np.int64], values: NDArray[np.float64]) -> float:
        """Return the mean value of some of the answers, by their rows, as if there were no others."""
        chances = self.likelihood * self._fit(self.places[drawn])[1]
        return float((chances @ values / chances.sum(axis=1))[self.places[drawn]].mean())

    def _fit(self, places: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and log width of z under which these ranks are likeliest, and the weights of the heights."""
        counts = np.bincount(places, minlength=len(self.likelihood))

        def weights(x: NDArray[np.float64]) -> NDArray[np.float64]:
            density = np.exp(-0.5 * np.square((_HEIGHTS - x[0]) / np.exp(np.clip(x[1], -3, 3))))
            return np.asarray(density / max(density.sum(), np.finfo(np.float64).tiny))

        def unlikeliness(x: NDArray[np.float64]) -> float:
            return -float(counts @ np.log(self.likelihood @ weights(x) + np.finfo(np.float64).tiny))

        options = {"xatol": 0.01, "fatol": 0.01}
        best = minimize(unlikeliness, self.start, method="Nelder-Mead", options=options).x
        return best, weights(best)


def reciprocal_rank_among(size: float) -> NDArray[np.float64]:
    """Return the mean of 1 / rank among that many items of an answer at each height."""
    above = np.maximum(size * ndtr(-_HEIGHTS), 1e-9)
    return np.asarray(-np.expm1(-above) / above)


def gain_among(size: float) -> NDArray[np.float64]:
    """Return the mean of what an answer at each height adds to nDCG@10 among that many items."""
    above = size * ndtr(-_HEIGHTS)
    within = pdtr(np.arange(DEPTH)[:, None], above)
    chances = np.diff(within, axis=0, prepend=0)
    return np.asarray((1 / np.log2(2 + np.arange(DEPTH))) @ chances)


def chance_among(first: int, ranks: NDArray[np.int64], n: int, size: int) -> NDArray[np.float64]:
    """Return the chance to be among the ``first`` of ``size`` items for those found at given ranks of ``n``.

    Examples
    --------
    >>> chance_among(100, np.array([1, 6, 40]), 1000, 10_000).round(2)
    array([1., 1., 0.])
    """
    return np.asarray(gammaincc(first, np.maximum((ranks - 1) * size / n, 1e-12)))
