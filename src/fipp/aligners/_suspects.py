"""Which known pairs look wrong: cosines under maps that were learned without them, compared with those of chance."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.aligners._holdout import held_out_parts
from fipp.aligners._spectral import Spectral
from fipp.exceptions import FippError, FippWarning
from fipp.linalg import unit_rows

FEWEST_TO_JUDGE = 100
"""With fewer source words, a map learned from the others says too little about a pair."""

NOISY = 0.08
"""From this share of wrong pairs on, a dictionary is called noisy. Of the XLING dictionaries, up to .05 seem wrong."""

_FOLDS = 10
# Each source word is compared with the target words of so many other pairs.
_CHANCE_PAIRS = 10
# Nineteen in twenty wrong pairs have a lower cosine than this quantile of those of chance.
_SUSPICIOUS = 0.95


class PairCosines(NamedTuple):
    """The cosine of each known pair under a map that was learned without it, and cosines of words paired by chance."""

    cosines: NDArray[np.float32]
    chance: NDArray[np.float32]

    @property
    def wrong_share(self) -> float:
        """An estimate of the share of wrong pairs: half of them, and few right ones, are below the median of chance."""
        return min(1.0, 2 * float(np.mean(self.cosines < np.median(self.chance))))

    @property
    def suspicious(self) -> NDArray[np.bool_]:
        """The pairs that are no nearer than most words that were paired by chance."""
        below: NDArray[np.bool_] = self.cosines < np.quantile(self.chance, _SUSPICIOUS)
        return below


def pair_cosines(X: NDArray[Any], Y: NDArray[Any], pairs: NDArray[np.int64]) -> PairCosines:
    """Compare each known pair with chance under a spectral map of the pairs of other source words.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((300, 5))
    >>> pairs = np.stack([np.arange(300)] * 2, axis=1)
    >>> pairs[:60, 1] = np.roll(pairs[:60, 1], 1)  # a fifth is wrong
    >>> found = pair_cosines(X, X[:, ::-1], pairs)
    >>> round(found.wrong_share, 1), int(found.suspicious[:60].sum()), int(found.suspicious[60:].sum())
    (0.2, 58, 0)
    """
    sources = len(np.unique(pairs[:, 0]))
    if sources < FEWEST_TO_JUDGE:
        raise FippError(
            f"{FEWEST_TO_JUDGE} source words at least must have a known translation to tell which pairs look wrong; "
            f"here there are {sources}"
        )
    # All vectors of a vocabulary are looked at only once.
    prepare = Spectral()._fit_preprocess
    P, Q = prepare(X, "X").transform(X[pairs[:, 0]]), prepare(Y, "Y").transform(Y[pairs[:, 1]])
    cosines, chance = np.empty(len(pairs), np.float32), []
    for part in held_out_parts(pairs[:, 0], folds=_FOLDS):
        with warnings.catch_warnings(action="ignore", category=FippWarning):
            # Ignore warnings about vectors of zeros, which are near to nothing.
            fitted = Spectral(preprocess=None).fit(P[~part], Q[~part])
        A, B = unit_rows(fitted.transform(P[part])), unit_rows(fitted.transform_target(Q[part]))
        cosines[part] = np.einsum("ij,ij->i", A, B)
        # At many distances, because neighbours in a dictionary may be translations of the same word.
        for distance in np.unique(np.linspace(1, len(A) - 1, _CHANCE_PAIRS).astype(int)):
            chance.append(np.einsum("ij,ij->i", A, np.roll(B, distance, axis=0)))
    return PairCosines(cosines, np.concatenate(chance))
