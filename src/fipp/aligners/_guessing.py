"""What aligners share that need no known pairs, but may be told which words could belong together."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fipp._validation import as_pairs
from fipp.aligners._wrapper import WrappingAligner
from fipp.linalg import Progress


class GuessingAligner(WrappingAligner):
    """An aligner that can learn from guesses, pairs of which nobody knows how many are right, and from nothing."""

    _guesses: ArrayLike | None = None
    """As given to `fit`; None if known pairs were."""

    def fit(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        pairs: ArrayLike | None = None,
        *,
        guesses: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn the map from known pairs, or without them from guesses.

        Parameters
        ----------
        X : array of shape (n, d1)
            The source vocabulary.
        Y : array of shape (m, d2)
            The target vocabulary.
        pairs : array of shape (c, 2), optional
            Row numbers of known pairs. A method that needs none takes them for guesses.
        guesses : array of shape (g, 2), optional
            Row numbers of pairs that may be right, such as words spelled alike; perhaps none. No pairs are known then.
        progress : callable, optional
            Called as ``progress(done, total)`` during the long part.

        Returns
        -------
        self
        """
        self._guesses = guesses
        if guesses is None and not self.needs_pairs:
            self._guesses = pairs
        return super().fit(X, Y, pairs, progress=progress)

    def _checked_guesses(self, X: NDArray, Y: NDArray) -> NDArray[np.int64]:
        """Return the guesses that have vectors on both sides, each once."""
        if self._guesses is None or not np.size(self._guesses):
            return np.empty((0, 2), np.int64)
        guesses = as_pairs(self._guesses, len(X), len(Y))
        return guesses[X[guesses[:, 0]].any(axis=1) & Y[guesses[:, 1]].any(axis=1)]
