"""First pairs for self-learning where none are known, most of them wrong."""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from fipp.aligners._csls_induction import from_similarity_distributions
from fipp.aligners.published._gwa import GromovWasserstein
from fipp.exceptions import FippError, FippWarning
from fipp.preprocess import make_preprocess

# Words of either side whose similarities to each other are compared, as VecMap does.
_COMPARED_WORDS = 4000
# Words of either side that are coupled; their number decides the time, which grows with its square.
_COUPLED_WORDS = 1000

_Pairs = NDArray[np.int64]


def by_similarities(X: NDArray, Y: NDArray) -> _Pairs:
    """Pair words whose similarities to the other words of their language are distributed alike.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((60, 4)).astype(np.float32)
    >>> pairs = by_similarities(X, X[:, ::-1])
    >>> float((pairs[:, 0] == pairs[:, 1]).mean())
    1.0
    """
    A, B = (make_preprocess("unit+centre+unit").fit(side).transform(side[:_COMPARED_WORDS]) for side in (X, Y))
    return np.unique(from_similarity_distributions(A, B, _COMPARED_WORDS, 10), axis=0)


def can_couple() -> bool:
    """Tell whether POT is there."""
    return find_spec("ot") is not None


def by_coupling(X: NDArray, Y: NDArray) -> _Pairs:
    """Pair words that a Gromov-Wasserstein coupling brings together; none if it cannot be calculated."""
    max_words = min(_COUPLED_WORDS, len(X), len(Y))
    with warnings.catch_warnings():
        # Whether it found anything is judged after self-learning.
        warnings.simplefilter("ignore", FippWarning)
        try:
            return GromovWasserstein(max_words).fit(X, Y).induced_pairs_
        except FippError:
            if not can_couple():
                raise
            return np.empty((0, 2), np.int64)


def by_chance(X: NDArray, Y: NDArray, random_state: int = 0) -> _Pairs:
    """Pair the first words of either side at random.

    Examples
    --------
    >>> by_chance(np.zeros((3, 2)), np.zeros((4, 2)))
    array([[0, 2],
           [1, 0],
           [2, 1]])
    """
    max_words = min(_COMPARED_WORDS, len(X), len(Y))
    return np.stack([np.arange(max_words), np.random.default_rng(random_state).permutation(max_words)], axis=1)
