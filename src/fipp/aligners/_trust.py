"""How far pairs can be trusted: weights for any aligner that takes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from fipp.linalg import filtered_gram, residual_weights
from fipp.preprocess import make_preprocess


def agreement(X: NDArray, Y: NDArray, pairs: NDArray[np.int64], epsilon: float = 0.05) -> NDArray[np.float64]:
    """Return how far both spaces agree on each pair's inner products with the others, 1 in the mean.

    It is FIPP's weight of the pair: what its filter keeps counts as agreed.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)
    >>> Y = np.concatenate([-X[:1], X[1:]])
    >>> bool(agreement(X, Y, np.stack([np.arange(50)] * 2, axis=1)).argmin() == 0)
    True
    """
    sides = zip((X, Y), pairs.T, strict=True)
    X_s, X_t = (make_preprocess("isotropic").fit(side).transform(side[rows]) for side, rows in sides)
    (gram,) = filtered_gram(X_s, X_t, None, [epsilon])
    weights = residual_weights(gram.residual_norms(lam=1.0))
    return weights / weights.mean()


def confidence(csls: NDArray) -> NDArray[np.float64]:
    """Return how far each found pair can be trusted among all, 1 in the mean: the square of its rank by CSLS.

    Of the words that choose each other, those that are nearest are translations several times as often as the others.

    Examples
    --------
    >>> confidence(np.array([0.4, -0.2, 0.1, 0.1])).round(2)
    array([2.17, 0.14, 0.85, 0.85])
    """
    squares = rankdata(csls).astype(np.float64) ** 2
    return squares / squares.mean() if len(squares) else squares
