"""PROC-B: Procrustes that adds pairs of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from fipp.aligners._base import BaseAligner
from fipp.linalg import Progress, cross_products, matmul_blocks, rotation
from fipp.retrieve import mutual_neighbours


class BootstrapProcrustes(BaseAligner):
    r"""PROC-B: Procrustes, fitted again on the words it made each other's nearest (Glavaš et al., ACL 2019).

    .. math:: Ω_{r+1} = \arg\min_{ΩΩ^\top = I} \sum_{(i, j) ∈ D_0 ∪ D_r} \|x_i Ω - y_j\|^2,
              \quad D_r = \{(i, j) : y_j = \mathrm{nn}(x_i Ω_r),\ x_i Ω_r = \mathrm{nn}(y_j)\}

    with D_0 the known pairs and D_r found among the most frequent words. With d1 ≠ d2 the rotations are semi-orthogonal
    as in `Procrustes`.

    Parameters
    ----------
    keep_seed : bool, default=True
        Whether the known pairs stay in: then words that have a known translation get no other one. False is the
        published way, which from the first round on knows D_r only.
    n_iterations : int, default=1
        How often pairs are looked for.
    retrieval : {"cosine", "csls"}, default="cosine"
        What is nearest. ``"csls"`` finds more pairs, which are no better.
    max_words : int or None, default=20_000
        Pairs are looked for among so many words of either side, the first ones; None is all of them.
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
        The pairs it found in the last round, which it was fitted on beside the given ones, or instead of them without
        ``keep_seed``.
    source_preprocess_, target_preprocess_ : transformers
        Fitted preprocessing of either side.

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
        "n_iterations": [Interval(Integral, 0, None, closed="left")],
        "retrieval": [StrOptions({"cosine", "csls"})],
        "max_words": [Interval(Integral, 1, None, closed="left"), None],
        "preprocess": "no_validation",
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
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

    def _fit_vocabulary(self, X: NDArray, Y: NDArray, progress: Progress | None) -> None:
        source = self.source_preprocess_.transform(X[: self.max_words])
        target = self.target_preprocess_.transform(Y[: self.max_words])
        kept = known = cross_products(*self._seed_rows(X, Y))
        if not self.keep_seed:
            kept = np.zeros_like(known)
        omega, found = rotation(known), np.empty((0, 2), np.int64)
        for done in range(self.n_iterations):
            found = self._induce(matmul_blocks(source, omega), target)
            # With nothing found, the known pairs are all there is.
            cross = kept + cross_products(source[found[:, 0]], target[found[:, 1]]) if len(found) else known
            omega = rotation(cross)
            if progress is not None:
                progress(done + 1, self.n_iterations)
        self.map_, self.induced_pairs_ = omega.astype(np.float32), found

    def _induce(self, source: NDArray[np.float32], target: NDArray[np.float32]) -> NDArray[np.int64]:
        mutual = mutual_neighbours(source, target, retrieval=self.retrieval, max_memory=self.max_memory)
        # At right angles or more, words have nothing in common.
        found = mutual.pairs[mutual.scores > 0] if self.retrieval == "cosine" else mutual.pairs
        if not self.keep_seed:
            return found
        # Words with a known translation take part in the search: who is nearest to one of them has found nothing new.
        known = self.pairs_
        return found[~np.isin(found[:, 0], known[:, 0]) & ~np.isin(found[:, 1], known[:, 1])]
