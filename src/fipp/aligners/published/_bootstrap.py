"""Procrustes that finds further pairs itself: PROC-B by mutual nearest neighbours, DLV by one-to-one matching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from sklearn.utils._param_validation import StrOptions

from fipp._progress import Progress, Steps
from fipp.aligners._base import BaseAligner
from fipp.aligners._constraints import AT_LEAST_1, COUNT, MAX_WORDS, MEMORY
from fipp.linalg import cross_products, matmul_blocks, rotation
from fipp.retrieve import mutual_neighbours, neighbours


class BootstrapProcrustes(BaseAligner):
    r"""PROC-B: Procrustes, fitted again on the words that it makes mutual nearest neighbours.

    .. math:: Ω_{r+1} = \arg\min_{ΩΩ^\top = I} \sum_{(i, j) ∈ D_0 ∪ D_r} \|x_i Ω - y_j\|^2,
              \quad D_r = \{(i, j) : y_j = \mathrm{nn}(x_i Ω_r),\ x_i Ω_r = \mathrm{nn}(y_j)\}

    D_0 are the known pairs, and D_r is found among the most frequent words (Glavaš et al., ACL 2019). With d1 ≠ d2 the
    rotations are semi-orthogonal, as in `Procrustes`.

    Parameters
    ----------
    keep_seed : bool, default=True
        Whether the known pairs stay in: words that have a known translation then get no other one. False is the
        published way, which uses only D_r from the first round on.
    n_iterations : int, default=1
        How many times pairs are found.
    retrieval : {"cosine", "csls"}, default="cosine"
        How neighbours are scored. ``"csls"`` finds more pairs, which are no better.
    max_words : int or None, default=20_000
        How many of the first words of either side may be paired; None is all of them.
    preprocess : str, transformer or None, default="unit+centre+unit"
        Preprocessing of both sides; see `fipp.preprocess`.
    max_memory : int or str, optional
        Working memory of the search, such as ``"2GB"``.

    Attributes
    ----------
    map_ : ndarray of shape (d1, d2)
        Ω.
    induced_pairs_ : ndarray of shape (k, 2)
        The pairs found in the last round, on which it was fitted together with the given ones, or instead of them
        without ``keep_seed``.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import BootstrapProcrustes
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((300, 10))
    >>> X = Y @ np.linalg.qr(rng.standard_normal((10, 10)))[0]
    >>> aligner = BootstrapProcrustes().fit(X, Y, pairs=[(i, i) for i in range(20)])
    >>> len(aligner.pairs_), len(aligner.induced_pairs_), aligner.score(X, Y)
    (20, 280, 1.0)
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {
        "n_iterations": (1, 2, 3),
        "preprocess": ("unit", "unit+centre+unit", "isotropic"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "keep_seed": ["boolean"],
        "n_iterations": [COUNT],
        "retrieval": [StrOptions({"cosine", "csls"})],
        "max_words": MAX_WORDS,
        "max_memory": MEMORY,
    }

    def __init__(
        self,
        keep_seed: bool = True,
        *,
        n_iterations: int = 1,
        retrieval: Literal["cosine", "csls"] = "cosine",
        max_words: int | None = 20_000,
        preprocess: Any = "unit+centre+unit",
        max_memory: int | str | None = None,
    ) -> None:
        self.keep_seed = keep_seed
        self.n_iterations = n_iterations
        self.retrieval = retrieval
        self.max_words = max_words
        self.preprocess = preprocess
        self.max_memory = max_memory

    def _fit_vocabulary(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> None:
        source = self.source_preprocess_.transform(X[: self.max_words])
        target = self.target_preprocess_.transform(Y[: self.max_words])
        kept = known = cross_products(*self._seed_rows(X, Y))
        if not self.keep_seed:
            kept = np.zeros_like(known)
        omega, found = rotation(known), np.empty((0, 2), np.int64)
        steps = Steps(progress, self.n_iterations)
        for _ in range(self.n_iterations):
            found = self._induce(matmul_blocks(source, omega), target)
            # If nothing is found, the known pairs are all there is.
            cross = kept + cross_products(source[found[:, 0]], target[found[:, 1]]) if len(found) else known
            omega = rotation(cross)
            steps()
        self.map_, self.induced_pairs_ = omega.astype(np.float32), found

    def _induce(self, source: NDArray[np.float32], target: NDArray[np.float32]) -> NDArray[np.int64]:
        mutual = mutual_neighbours(source, target, retrieval=self.retrieval, max_memory=self.max_memory)
        # Words at right angles or more have nothing in common.
        found = mutual.pairs[mutual.scores > 0] if self.retrieval == "cosine" else mutual.pairs
        if not self.keep_seed:
            return found
        # Words with a known translation take part in the search, so that a word nearest to one of them stays unpaired.
        known = self.pairs_
        return found[~np.isin(found[:, 0], known[:, 0]) & ~np.isin(found[:, 1], known[:, 1])]


class DLV(BaseAligner):
    r"""DLV: Procrustes and one-to-one matching in turn, a discriminative latent-variable model.

    Target words are translations of source words, y_j ~ N(x_i Ω, I), or stand alone, y_j ~ N(µ, I) (Ruder, Cotterell,
    Kementchedjhieva and Søgaard, EMNLP 2018). Which is which is a matching m between the most frequent words, in which
    each word has at most one partner and known pairs are fixed:

    .. math:: \min_{ΩΩ^\top = I,\ µ,\ m} \tfrac12 \sum_{(i, j) ∈ m} \|x_i Ω - y_j\|^2
              + \tfrac12 \sum_{j ∉ m} \|y_j - µ\|^2

    It is fitted by Viterbi EM. Given Ω and µ, the best m is the heaviest matching of a sparse graph, in which each
    source word has edges to its k nearest target words, of weight ½‖y_j − µ‖² − ½‖x_iΩ − y_j‖² where this is positive.
    Given m, Ω is a Procrustes rotation and µ a mean. With d1 ≠ d2 the rotation is semi-orthogonal, as in `Procrustes`.

    Parameters
    ----------
    n_neighbours : int, default=3
        k, the number of target words that each source word may be matched with.
    n_iterations : int, default=3
        Maximum number of rounds of matching and rotating; it ends earlier when the matching does not change.
    max_words : int or None, default=10_000
        How many of the first words of either side are matched; None is all of them.
    preprocess : str, transformer or None, default="unit+centre+unit"
        Preprocessing of both sides; see `fipp.preprocess`.
    max_memory : int or str, optional
        Working memory of the search, such as ``"2GB"``.

    Attributes
    ----------
    map_ : ndarray of shape (d1, d2)
        Ω.
    induced_pairs_ : ndarray of shape (k, 2)
        The pairs that it found, on which it was fitted together with the given ones.
    n_iter_ : int
        Number of rounds.

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
        "n_neighbours": [AT_LEAST_1],
        "n_iterations": [COUNT],
        "max_words": MAX_WORDS,
        "max_memory": MEMORY,
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **BaseAligner._fitted_constraints,
        "n_iter_": [COUNT],
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

    def _fit_vocabulary(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> None:
        known = cross_products(*self._seed_rows(X, Y))
        free, free_targets = self._free_words(X, 0), self._free_words(Y, 1)
        source = self.source_preprocess_.transform(X[: self.max_words])[free]
        target = self.target_preprocess_.transform(Y[: self.max_words])[free_targets]
        omega, found, self.n_iter_ = rotation(known), np.empty((0, 2), np.int64), 0
        steps = Steps(progress, self.n_iterations)
        for _ in range(self.n_iterations if len(free) and len(free_targets) else 0):
            alone = np.setdiff1d(np.arange(len(target)), found[:, 1])
            mean = target[alone].mean(axis=0, dtype=np.float64) if len(alone) else np.zeros(target.shape[1])
            matched = self._match(matmul_blocks(source, omega), target, mean)
            self.n_iter_ += 1
            steps()
            if np.array_equal(matched, found):
                break
            found = matched
            omega = rotation(known + cross_products(source[found[:, 0]], target[found[:, 1]]))
        steps.finish()
        self.map_ = omega.astype(np.float32)
        self.induced_pairs_ = np.stack([free[found[:, 0]], free_targets[found[:, 1]]], axis=1)

    def _free_words(self, X: NDArray[Any], side: int) -> NDArray[np.int64]:
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


def heaviest_matching(
    rows: NDArray[np.int64], columns: NDArray[np.int64], weights: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the numbers of edges of the largest total weight such that no row and no column has two, in row order.

    No edge may occur twice; those without a positive weight are never chosen.

    Examples
    --------
    >>> heaviest_matching(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([3.0, 2.0, 2.0]))
    array([1, 2])
    """
    useful = np.flatnonzero(weights > 0)
    if not len(useful):
        return np.empty(0, np.int64)
    row_names, row = np.unique(rows[useful], return_inverse=True)
    column_names, column = np.unique(columns[useful], return_inverse=True)
    n, m = len(row_names), len(column_names)
    # Each row may also take a column of its own for nothing, so that every row has one. All weights are raised alike,
    # because a weight of 0 would count as no edge; this changes no choice among matchings of n edges.
    alone = np.arange(n)
    raised = 1 + np.concatenate([weights[useful] / weights[useful].max(), np.zeros(n)])
    graph = scipy.sparse.csr_array(
        (raised, (np.concatenate([row, alone]), np.concatenate([column, m + alone]))), shape=(n, m + n)
    )
    matched_rows, matched_columns = min_weight_full_bipartite_matching(graph, maximize=True)
    number = scipy.sparse.csr_array((1 + np.arange(len(useful)), (row, column)), shape=(n, m + n))
    chosen = np.asarray(number[matched_rows, matched_columns]).ravel()
    return useful[chosen[chosen > 0] - 1]
