"""How much work the stages of `Auto` are: multiply-adds, estimated from sizes alone, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

# An eigendecomposition or a singular value decomposition of d × d takes about so many times d³.
_DECOMPOSITION = 10


class Work(NamedTuple):
    """Multiply-adds of what is done to two vocabularies, in trillions (10¹²).

    Counted are products of matrices, which take nearly all of the time; the pairs that self-learning will find are not
    known beforehand, and are taken to be as many as they can be.

    Examples
    --------
    >>> Work(n=50_000, m=50_000, d1=300, d2=300, c=4000).score(max_words=1800)
    0.0315
    """

    n: int
    """Source words."""
    m: int
    """Target words."""
    d1: int
    """Dimensions of the source."""
    d2: int
    """Dimensions of the target."""
    c: int
    """Known pairs."""

    def fit(self) -> float:
        """Fit a map in closed form: second moments of both vocabularies and of the pairs, and a few decompositions."""
        moments = self.n * self.d1**2 + self.m * self.d2**2 + self.c * (self.d1 + self.d2) ** 2
        return _trillions(moments + 3 * _DECOMPOSITION * max(self.d1, self.d2) ** 3)

    def filter_gram(self) -> float:
        """Go once over the Gram tiles of FIPP."""
        return _trillions(self.c**2 * (self.d1 + self.d2))

    def score(self, max_words: int) -> float:
        """Map the target vocabulary, and compare it with so many words."""
        return _trillions(self.m * self.d2 * (self.d2 + max_words))

    def learn(self, rounds: Iterable[int]) -> float:
        """Find pairs in rounds of self-learning over so many words: a fit, hubs, and pairs that choose each other."""
        products = [2 * min(max_words, self.n) * min(max_words, self.m) * self.d2 for max_words in rounds]
        return len(products) * self.fit() + _trillions(sum(products))

    def rank(self, n_steps: int, n_pairs: int, max_words: int) -> float:
        """Take steps of ranking: search so many words both ways in every second one, map and multiply in each."""
        source, target = min(max_words, self.n), min(max_words, self.m)
        searched = -(-n_steps // 2) * n_pairs * (source + target) * self.d2
        return _trillions(searched + 2 * n_steps * (source + target) * self.d2**2)


def _trillions(multiply_adds: float) -> float:
    return multiply_adds / 1e12
