"""A discriminative latent-variable model: Procrustes and one-to-one matching in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from fipp.aligners._base import BaseAligner
from fipp.aligners._matching import heaviest_matching
from fipp.linalg import Progress, cross_products, matmul_blocks, rotation
from fipp.retrieve import neighbours


class DLV(BaseAligner):
    r"""Procrustes and one-to-one matching in turn (Ruder, Cotterell, Kementchedjhieva and Søgaard, EMNLP 2018).

    Target words are translations of source words, y_j ~ N(x_i Ω, I), or stand alone, y_j ~ N(µ, I); which is which is a
    matching m between the most frequent words, in which each has one partner at most and known pairs are fixed:

    .. math:: \min_{ΩΩ^\top = I,\ µ,\ m} \tfrac12 \sum_{(i, j) ∈ m} \|x_i Ω - y_j\|^2
              + \tfrac12 \sum_{j ∉ m} \|y_j - µ\|^2

    Viterbi EM: given Ω and µ, the best m is the heaviest matching of a sparse graph, in which each source word has
    edges to its k nearest target words of weight ½‖y_j − µ‖² − ½‖x_iΩ − y_j‖², where this is positive; given m, Ω is a
    Procrustes rotation and µ a mean. With d1 ≠ d2 the rotation is semi-orthogonal as in `Procrustes`.

    Parameters
    ----------
    n_neighbours : int, default=3
        k.
    n_iterations : int, default=3
        Rounds of matching and rotating, at most; fewer when the matching stays as it was.
    max_words : int or None, default=10_000
        So many words of either side, the first ones, are matched; None is all of them.
    preprocess : str, transformer or None, default="unit+centre+unit"
        What is done to both sides first; see `fipp.preprocess`.
    max_memory : int or str, optional
        Working memory of the search, such as ``"2GB"``.

    Attributes
    ----------
    map_ : ndarray of shape (d1, d2)
        Ω.
    pairs_ : ndarray of shape (c, 2)
        The given pairs.
    induced_pairs_ : ndarray of shape (k, 2)
        The pairs it found, which it was fitted on beside the given ones.
    n_iter_ : int
        Number of rounds.
    source_preprocess_, target_preprocess_ : transformers
        Fitted preprocessing of either side.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import DLV
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((300, 10))
    >>> X = Y @ np.linalg.qr(rng.standard_normal((10, 10)))[0]
    >>> aligner = DLV().fit(X, Y, pairs=[(i, i) for i in range(20)])
    >>> len(aligner.pairs_), len(aligner.induced_pairs_), aligner.score(X, Y)
    (20, 280, 1.0)
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {
        "n_neighbours": (3, 10),
        "preprocess": ("unit", "unit+centre+unit", "isotropic+unit"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbours": [Interval(Integral, 1, None, closed="left")],
        "n_iterations": [Interval(Integral, 0, None, closed="left")],
        "max_words": [Interval(Integral, 1, None, closed="left"), None],
        "preprocess": "no_validation",
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
    }

    def __init__(
        self,
        n_neighbours: int = 3,
        *,
        n_iterations: int = 3,
        max_words: int | None = 10_000,
        preprocess: Any = "unit+centre+unit",
        max_memory: int | str | None = None,
    ) -> None:
        self.n_neighbours = n_neighbours
        self.n_iterations = n_iterations
        self.max_words = max_words
        self.preprocess = preprocess
        self.max_memory = max_memory

    def _fit_vocabulary(self, X: NDArray, Y: NDArray, progress: Progress | None) -> None:
        known = cross_products(*self._seed_rows(X, Y))
        free, free_targets = self._free_words(X, 0), self._free_words(Y, 1)
        source = self.source_preprocess_.transform(X[: self.max_words])[free]
        target = self.target_preprocess_.transform(Y[: self.max_words])[free_targets]
        omega, found, self.n_iter_ = rotation(known), np.empty((0, 2), np.int64), 0
        for done in range(self.n_iterations if len(free) and len(free_targets) else 0):
            alone = np.setdiff1d(np.arange(len(target)), found[:, 1])
            mean = target[alone].mean(axis=0, dtype=np.float64) if len(alone) else np.zeros(target.shape[1])
            matched = self._match(matmul_blocks(source, omega), target, mean)
            self.n_iter_ = done + 1
            if progress is not None:
                progress(done + 1, self.n_iterations)
            if np.array_equal(matched, found):
                break
            found = matched
            omega = rotation(known + cross_products(source[found[:, 0]], target[found[:, 1]]))
        self.map_ = omega.astype(np.float32)
        self.induced_pairs_ = np.stack([free[found[:, 0]], free_targets[found[:, 1]]], axis=1)

    def _free_words(self, X: NDArray, side: int) -> NDArray[np.int64]:
        """Return the words that may be matched: among the first, with a vector, and in no known pair."""
        free = np.flatnonzero(X[: self.max_words].any(axis=1))
        return np.setdiff1d(free, self.pairs_[:, side])

    def _match(
        self, source: NDArray[np.float32], target: NDArray[np.float32], mean: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        # ½‖y − µ‖² − ½‖x − y‖² = (x − µ)·y − ½‖x‖² + ½‖µ‖²: the heaviest edges of x are its nearest y by (x − µ)·y.
        queries = source - mean.astype(np.float32)
        near = neighbours(queries, target, self.n_neighbours, retrieval="dot", max_memory=self.max_memory)
        lengths = np.einsum("ij,ij->i", source, source, dtype=np.float64)
        weights = near.scores - 0.5 * lengths[:, None] + 0.5 * float(mean @ mean)
        rows = np.repeat(np.arange(len(source)), near.indices.shape[1])
        columns = near.indices.ravel()
        chosen = heaviest_matching(rows, columns, weights.ravel())
        return np.stack([rows[chosen], columns[chosen]], axis=1)
