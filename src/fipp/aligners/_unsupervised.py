"""Alignment without any pairs, which says when it failed."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from fipp.aligners._consistency import consistency
from fipp.aligners._dictionary import from_similarity_distributions
from fipp.aligners._self_learned import Learned, learn, plan
from fipp.aligners._spectral import Spectral
from fipp.aligners._wrapper import WrappingAligner
from fipp.exceptions import FippError
from fipp.linalg import Progress
from fipp.preprocess import make_preprocess

# Words of either side whose similarities to each other are compared at the start, as VecMap does.
_START_WORDS = 4000


class Unsupervised(WrappingAligner):
    """Words paired by how similar they are to others of their language, then self-learning; refuses to guess.

    Translations have similar distributions of similarities to other words, which needs no pairs to see (Artetxe et
    al., 2018). These first pairs, most of them wrong, are the start of self-learning over a growing vocabulary; see
    `SelfLearning`. What comes of it is either right or nothing at all, and this is told from the found pairs alone:
    a map is learned from half of them, and the other half must find each other again, clearly better than after a
    start from random pairs. If they do not, an error says so, and no map is given.

    Parameters
    ----------
    aligner : aligner, optional
        What is fitted in self-learning; `Spectral` without it.
    n_words : int, default=12000
        So many of the first words of either side are paired.
    n_rounds : int, default=4
        Rounds with all of these words.
    margin : float, default=0.1
        How much better than from a random start the other half must find each other, as mean reciprocal rank.

    Attributes
    ----------
    aligner_ : aligner
        The last one.
    learned_pairs_ : ndarray of shape (k, 2)
        The pairs found in the last round.
    consistency_ : float
        Mean reciprocal rank of half of the found pairs by a map that was learned from the other half.
    chance_consistency_ : float
        The same after a start from random pairs.
    pairs_ : ndarray of shape (0, 2)
        No pairs were known.

    Examples
    --------
    >>> import fipp
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> centres = rng.standard_normal((12, 10))
    >>> X = centres[rng.integers(12, size=800)] + 0.6 * rng.standard_normal((800, 10))
    >>> turn = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    >>> round(fipp.Unsupervised().fit(X, X @ turn).score(X, X @ turn), 2)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "aligner": "no_validation",
        "n_words": [Interval(Integral, 1, None, closed="left")],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "margin": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(self, aligner: Any = None, *, n_words: int = 12_000, n_rounds: int = 4, margin: float = 0.1) -> None:
        self.aligner = aligner
        self.n_words = n_words
        self.n_rounds = n_rounds
        self.margin = margin

    @property
    def needs_pairs(self) -> bool:
        """False: known pairs are ignored."""
        return False

    def _fit_vocabulary(self, X: NDArray, Y: NDArray, progress: Progress | None) -> None:
        aligner = Spectral(reweight=1.0) if self.aligner is None else self.aligner
        A, B = (make_preprocess("unit+centre+unit").fit(side).transform(side[:_START_WORDS]) for side in (X, Y))
        start = np.unique(from_similarity_distributions(A, B, _START_WORDS, 10), axis=0)
        rounds = plan(self.pairs_, X, Y, self.n_words, self.n_rounds)
        learned = learn(X, Y, self.pairs_, aligner, rounds, start=Learned(start, 0.0), progress=progress)
        self.consistency_ = consistency(X, Y, learned.pairs, aligner, self.n_words)
        shuffled = np.stack([start[:, 0], np.random.default_rng(0).permutation(start[:, 1])], axis=1)
        chance = learn(X, Y, self.pairs_, aligner, rounds, start=Learned(shuffled, 0.0), progress=progress)
        self.chance_consistency_ = consistency(X, Y, chance.pairs, aligner, self.n_words)
        if self.consistency_ < self.chance_consistency_ + self.margin:
            raise FippError(
                "the alignment without pairs has failed: maps learned from half of the words that it paired find the "
                f"other half at a mean reciprocal rank of {self.consistency_:.2f}, hardly better than the "
                f"{self.chance_consistency_:.2f} after a start from random pairs. The languages or the texts behind "
                "the vectors differ too much, or words do not stand in the order of their frequency. Give known pairs "
                "(a hundred may do), or words spelled alike (fipp lexicon identical)"
            )
        self.learned_pairs_ = learned.pairs
        self.aligner_ = learned.fit(X, Y, self.pairs_, aligner, 1.0)
