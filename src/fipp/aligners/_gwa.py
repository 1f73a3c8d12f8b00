"""Gromov-Wasserstein alignment: words are matched by their similarities to the other words of their own language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from fipp.aligners._base import BaseAligner, LearnsFrom
from fipp.aligners._consistency import beats_chance, compare_with_chance
from fipp.aligners._coupling import couple, transport
from fipp.exceptions import FippError, warn
from fipp.linalg import Progress, rotation, unit_rows

# The coupled words are judged themselves if there are fewer others than this.
_ENOUGH_WORDS = 50


class GromovWasserstein(BaseAligner):
    r"""A rotation learned without pairs, from a Gromov-Wasserstein coupling of frequent words.

    Words that belong together have similar similarities to the other words of their own language (Alvarez-Melis and
    Jaakkola, EMNLP 2018). With the cosines C_s, C_t of the n most frequent words of either side,

    .. math:: Γ^* = \arg\min_{Γ ≥ 0} \sum_{ijkl} (C_{s,ik} - C_{t,jl})^2 Γ_{ij} Γ_{kl} - ε H(Γ), \quad
              Γ 1 = Γ^\top 1 = \tfrac{1}{n} 1,

    and the rotation that brings coupled words closest together, that of :math:`X_s^\top Γ^* X_t`, maps all words.
    Source and target may differ in dimension. Known pairs are not used.

    The problem is not convex and has no guarantee: similar languages and vectors of similar corpora work best. Needs
    POT: ``pip install 'fipp[ot]'``.

    Parameters
    ----------
    max_words : int, default=2000
        How many of the first words of either side are coupled; vocabularies are expected in the order of frequency.
        Time and memory grow with the square of it.
    epsilon : float, default=1.5e-3
        ε, the weight of the entropy H. Too large, and any word may be any other; too small, and the coupling settles
        near where it began.
    preprocess : str, transformer or None, default="unit+centre+unit"
        What is done to both sides first; see `fipp.preprocess`.
    n_iterations : int, default=100
        At most so many linearised problems are solved.
    tolerance : float, default=1e-4
        It is enough when :math:`X_s^\top Γ X_t` has changed by no more than this share of itself.
    random_state : int, RandomState or None, default=0
        The random rotation that the result is compared with; the coupling itself has nothing random.

    Attributes
    ----------
    map_ : ndarray of shape (d1, d2)
        The rotation.
    distance_ : float
        The sum above without the entropy.
    pairs_ : ndarray of shape (0, 2)
        No pairs were given.
    induced_pairs_ : ndarray of shape (max_words, 2)
        Each of the source's words that were coupled, and the target's word that most of it goes to.
    consistency_ : float
        Mean reciprocal rank, by cosine, of half of the pairs that are each other's best translation under a rotation
        learned from the other half, among the next ``max_words`` of either side, which were not coupled; among the
        coupled words if there are hardly any others.
    chance_consistency_ : float
        The same after refining random rotations.
    collapsed_ : bool
        Whether ``consistency_`` is less than a fifth of the way from that to 1. The coupling is most likely no better
        than chance then, and a warning says so.
    n_iter_ : int
        How many linearised problems were solved.
    converged_ : bool
        Whether the coupling stopped changing before ``n_iterations``.
    source_preprocess_, target_preprocess_ : transformers
        Fitted preprocessing of either side.

    Notes
    -----
    Cosines are inner products, so that all the similarities C_s Γ C_t of a round come from the small matrix
    :math:`X_s^\top Γ X_t`. A round takes n²d steps instead of n³; its transport problem is solved by POT.

    References
    ----------
    Alvarez-Melis, Jaakkola: Gromov-Wasserstein alignment of word embedding spaces. EMNLP 2018.

    Peyré, Cuturi, Solomon: Gromov-Wasserstein averaging of kernel and distance matrices. ICML 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import GromovWasserstein
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((200, 20)) ** 3
    >>> X = (Y @ np.linalg.qr(rng.standard_normal((20, 20)))[0])[::-1]     # turned and in another order
    >>> aligner = GromovWasserstein().fit(X, Y)
    >>> aligner.score(X[::-1], Y), aligner.collapsed_
    (1.0, False)
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"epsilon": (1e-3, 1.5e-3, 2e-3)}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_words": [Interval(Integral, 2, None, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "preprocess": "no_validation",
        "n_iterations": [Interval(Integral, 1, None, closed="left")],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        max_words: int = 2000,
        *,
        epsilon: float = 1.5e-3,
        preprocess: Any = "unit+centre+unit",
        n_iterations: int = 100,
        tolerance: float = 1e-4,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.max_words = max_words
        self.epsilon = epsilon
        self.preprocess = preprocess
        self.n_iterations = n_iterations
        self.tolerance = tolerance
        self.random_state = random_state

    @property
    def learns_from(self) -> LearnsFrom:
        """What the method learns from: nothing but the two vocabularies."""
        return "nothing"

    def _fit_vocabulary(self, X: NDArray, Y: NDArray, progress: Progress | None) -> None:
        transport()  # if it is missing, say so before anything takes long
        source_rows, X_s, later_source = self._frequent(X, self.source_preprocess_, "source")
        target_rows, X_t, later_target = self._frequent(Y, self.target_preprocess_, "target")
        found = couple(
            X_s.astype(np.float64), X_t.astype(np.float64), self.epsilon, self.n_iterations, self.tolerance, progress
        )
        self.map_ = rotation(found.cross).astype(np.float32)
        self.distance_, self.n_iter_, self.converged_ = found.distance, found.n_iter, found.converged
        self.induced_pairs_ = np.stack([source_rows, target_rows[found.gamma.argmax(axis=1)]], axis=1)
        if min(len(later_source), len(later_target)) >= _ENOUGH_WORDS:
            X_s, X_t = later_source, later_target
        self._judge(X_s, X_t)

    def _frequent(
        self, X: NDArray, preprocess: Any, side: str
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
        """Return row numbers and unit vectors of the first words that have any, and the vectors of as many more."""
        rows = np.flatnonzero(X.any(axis=1))[: 2 * self.max_words]
        if not len(rows):
            raise FippError(f"every {side} vector is zero: there is nothing to learn from")
        vectors = unit_rows(preprocess.transform(X[rows]))
        return rows[: self.max_words], vectors[: self.max_words], vectors[self.max_words :]

    def _judge(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32]) -> None:
        """Warn if the rotation is hardly better than a random one."""
        seed = int(check_random_state(self.random_state).randint(2**31))
        self.consistency_, self.chance_consistency_ = compare_with_chance(X_s, X_t, self.map_, seed)
        self.collapsed_ = not beats_chance(self.consistency_, self.chance_consistency_)
        if self.collapsed_:
            warn(
                "the coupling is most likely no better than chance: rotations learned from half of the words that it "
                f"pairs find the other half at a mean reciprocal rank of {self.consistency_:.2f}, and of "
                f"{self.chance_consistency_:.2f} after a random start. Take another epsilon, more max_words, or a "
                "method with known pairs"
            )
