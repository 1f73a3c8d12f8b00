"""How much work the stages of `Auto` take, estimated from sizes alone: the choice is the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fipp.aligners._ranking import STEPS_PER_CONTEST

# An eigendecomposition or a singular value decomposition of a d × d matrix takes about this many times d³.
_DECOMPOSITION = 10
# Preprocessing looks at every number of both vocabularies so many times.
_PASSES = 4


class Work(NamedTuple):
    """Estimates of the work on n × d1 and m × d2 vectors and c known pairs, in trillions (10¹²) of multiply-adds.

    Only matrix products are counted, which take nearly all of the time. How many pairs self-learning will find is not
    known beforehand; the estimate assumes the largest possible number.

    Examples
    --------
    >>> Work(n=50_000, m=50_000, d1=300, d2=300, c=4000).score(max_words=1800, max_targets=50_000)
    0.0315
    """

    n: int
    m: int
    d1: int
    d2: int
    c: int

    def fit(self) -> float:
        """Fit a map in closed form: second moments of the pairs, and a few decompositions."""
        return _trillions(self.c * (self.d1 + self.d2) ** 2 + 3 * _DECOMPOSITION * max(self.d1, self.d2) ** 3)

    def preprocess(self) -> float:
        """Find the lengths and means of all words, which all maps share.

        What takes a few operations for each number, and not a product, takes as long as ten times as many in a product.
        """
        return _trillions(10 * _PASSES * (self.n * self.d1 + self.m * self.d2))

    def isotropic(self) -> float:
        """Find the components that isotropic preprocessing removes: second moments of both vocabularies."""
        return _trillions(self.n * self.d1**2 + self.m * self.d2**2)

    def filter_gram(self) -> float:
        """Make one pass over the Gram tiles of FIPP."""
        return _trillions(self.c**2 * (self.d1 + self.d2))

    def score(self, max_words: int, max_targets: int) -> float:
        """Map at most ``max_targets`` target words, and compare them with ``max_words`` words."""
        return _trillions(min(self.m, max_targets) * self.d2 * (self.d2 + max_words))

    def learn(self, rounds: Iterable[int]) -> float:
        """Find pairs in rounds of self-learning over given numbers of words: a fit, hubs, and mutual pairs in each."""
        products = [2 * min(max_words, self.n) * min(max_words, self.m) * self.d2 for max_words in rounds]
        return len(products) * self.fit() + _trillions(sum(products))

    def rank(self, n_steps: int, n_pairs: int, max_words: int) -> float:
        """Take steps of ranking: search ``max_words`` words in both directions now and then, map them in each step."""
        source, target = min(max_words, self.n), min(max_words, self.m)
        searched = -(-n_steps // STEPS_PER_CONTEST) * n_pairs * (source + target) * self.d2
        return _trillions(searched + 2 * n_steps * (source + target) * self.d2**2)


def _trillions(multiply_adds: float) -> float:
    return multiply_adds / 1e12
