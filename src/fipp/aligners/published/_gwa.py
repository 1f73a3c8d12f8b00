"""Gromov-Wasserstein alignment: words are matched by their similarities to the other words of their own language."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from fipp._optional import require
from fipp._progress import Progress, Steps
from fipp.aligners._consistency import PairlessAligner
from fipp.aligners._constraints import AT_LEAST_1, COUNT, NOT_NEGATIVE, POSITIVE
from fipp.exceptions import FippError
from fipp.linalg import rotation, single_threaded_blas, unit_rows

# The coupled words are judged themselves if there are fewer others than this.
_ENOUGH_WORDS = 50
# Each linearised problem starts where the previous one ended, so that a few rounds of Sinkhorn are enough.
_SINKHORN_ROUNDS = 100
_SINKHORN_TOLERANCE = 1e-7
# The share of the whole mass that may be out of place in the end.
_MISPLACED = 0.05

Matrix = NDArray[np.float64]


class GromovWasserstein(PairlessAligner):
    r"""Gromov-Wasserstein: a rotation learned without pairs, from an optimal-transport coupling of frequent words.

    Words that belong together have similar similarities to the other words of their own language (Alvarez-Melis and
    Jaakkola, EMNLP 2018). With the cosines C_s, C_t of the n most frequent words of either side,

    .. math:: Γ^* = \arg\min_{Γ ≥ 0} \sum_{ijkl} (C_{s,ik} - C_{t,jl})^2 Γ_{ij} Γ_{kl} - ε H(Γ), \quad
              Γ 1 = Γ^\top 1 = \tfrac{1}{n} 1,

    and the rotation that brings coupled words closest together, that of :math:`X_s^\top Γ^* X_t`, maps all words.
    Source and target may differ in dimension. Known pairs are not used.

    The problem is not convex, and there is no guarantee: similar languages and vectors of similar corpora work best.
    It needs POT: ``pip install 'fipp[ot]'``.

    Parameters
    ----------
    max_words : int, default=2000
        How many of the first words of either side are coupled; vocabularies are expected in order of frequency. Time
        and memory grow with its square.
    entropy : float, default=1.5e-3
        ε, the weight of the entropy H. If it is too large, any word may be coupled to any other; if it is too small,
        the coupling stays near its start.
    preprocess : str, transformer or None, default="unit+centre+unit"
        Preprocessing of both sides; see `fipp.preprocess`.
    n_iterations : int, default=100
        Maximum number of linearised problems to solve.
    tolerance : float, default=1e-4
        It ends when :math:`X_s^\top Γ X_t` has changed by no more than this share of itself.
    random_state : int, RandomState or None, default=0
        Decides the random rotation with which the result is compared; the coupling itself is not random.

    Attributes
    ----------
    map_ : ndarray of shape (d1, d2)
        The rotation.
    distance_ : float
        The sum above without the entropy.
    induced_pairs_ : ndarray of shape (max_words, 2)
        Each coupled source word, and the target word to which most of it goes.
    consistency_, chance_consistency_ : float
        Mean reciprocal rank, by cosine, of half of the mutual pairs under a rotation learned from the other half, among
        the next ``max_words`` of either side, which were not coupled (the coupled words if there are hardly any
        others); and the same after refining random rotations.
    collapsed_ : bool
        Whether the first is less than a fifth of the way from the second to 1. The coupling is then most likely no
        better than chance, and a warning says so.
    n_iter_ : int
        How many linearised problems were solved.
    converged_ : bool
        Whether the coupling stopped changing before ``n_iterations``.

    Notes
    -----
    Cosines are inner products, so that all the similarities C_s Γ C_t of a round come from the small matrix
    :math:`X_s^\top Γ X_t`. A round takes n²d steps instead of n³; its transport problem is solved by POT.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import GromovWasserstein
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((200, 20)) ** 3
    >>> X = (Y @ np.linalg.qr(rng.standard_normal((20, 20)))[0])[::-1]     # rotated and in another order
    >>> aligner = GromovWasserstein().fit(X, Y)
    >>> aligner.score(X[::-1], Y), aligner.collapsed_
    (1.0, False)
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"entropy": (1e-3, 1.5e-3, 2e-3)}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_words": [Interval(Integral, 2, None, closed="left")],
        "entropy": [POSITIVE],
        "n_iterations": [AT_LEAST_1],
        "tolerance": [NOT_NEGATIVE],
        "random_state": ["random_state"],
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **PairlessAligner._fitted_constraints,
        "distance_": [Real],
        "n_iter_": [COUNT],
        "converged_": ["boolean"],
    }

    def __init__(
        self,
        max_words: int = 2000,
        *,
        entropy: float = 1.5e-3,
        preprocess: Any = "unit+centre+unit",
        n_iterations: int = 100,
        tolerance: float = 1e-4,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.max_words = max_words
        self.entropy = entropy
        self.preprocess = preprocess
        self.n_iterations = n_iterations
        self.tolerance = tolerance
        self.random_state = random_state

    def _fit_vocabulary(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> None:
        _transport()  # if POT is missing, say so before anything takes long
        # As many more words as are coupled judge the result.
        source_rows, source = self._frequent(X, "source", 2 * self.max_words)
        target_rows, target = self._frequent(Y, "target", 2 * self.max_words)
        (X_s, later_source), (X_t, later_target) = (
            (vectors[: self.max_words], vectors[self.max_words :]) for vectors in map(unit_rows, (source, target))
        )
        found = couple(
            X_s.astype(np.float64), X_t.astype(np.float64), self.entropy, self.n_iterations, self.tolerance, progress
        )
        self.map_ = rotation(found.cross).astype(np.float32)
        self.distance_, self.n_iter_, self.converged_ = found.distance, found.n_iter, found.converged
        self.induced_pairs_ = np.stack([source_rows[: self.max_words], target_rows[found.gamma.argmax(axis=1)]], axis=1)
        if min(len(later_source), len(later_target)) >= _ENOUGH_WORDS:
            X_s, X_t = later_source, later_target
        self._judge(
            X_s,
            X_t,
            self.map_,
            failure="the coupling is most likely no better than chance",
            advice="Try another entropy, more max_words, or a method with known pairs",
            random_state=int(check_random_state(self.random_state).randint(2**31)),
        )


def _transport() -> Any:
    return require("ot", "Gromov-Wasserstein alignment", extra="ot")


class Coupling(NamedTuple):
    """How much of each source item goes to each target item, Γ, with AᵀΓB, and how this was found."""

    gamma: Matrix
    cross: Matrix
    distance: float
    n_iter: int
    converged: bool


@single_threaded_blas
def couple(
    A: Matrix, B: Matrix, entropy: float, n_iterations: int, tolerance: float, progress: Progress | None = None
) -> Coupling:
    r"""Solve the entropic Gromov-Wasserstein problem of the inner products of A and of B, all items of equal weight.

    With C_s = AAᵀ and C_t = BBᵀ, and given marginals, only −2⟨C_s Γ C_t, Γ⟩ = −2 \|AᵀΓB\|² depends on Γ. Its gradient
    −4 A(AᵀΓB)Bᵀ takes nmd steps, where general similarities take n²m: each round (Peyré, Cuturi and Solomon, ICML
    2016) solves the transport problem with the gradient as its cost. Γ is uniform at first.
    """
    ot, steps = _transport(), Steps(progress, n_iterations)
    p, q = np.full(len(A), 1 / len(A)), np.full(len(B), 1 / len(B))
    cross = np.outer(p @ A, q @ B)
    f, g = np.zeros(len(A)), np.zeros(len(B))
    gamma, converged, n_iter = np.outer(p, q), False, 0
    while n_iter < n_iterations and not converged:
        gamma, f, g = _transport_step(ot, (p, q), -4 * (A @ cross) @ B.T, (f, g), entropy)
        last, cross = cross, A.T @ gamma @ B
        converged = bool(np.linalg.norm(cross - last) <= tolerance * np.linalg.norm(cross))
        n_iter += 1
        steps()
    steps.finish()
    if max(np.abs(gamma.sum(axis=1) - p).sum(), np.abs(gamma.sum(axis=0) - q).sum()) > _MISPLACED:
        raise _too_small(entropy)
    # Σ (C_s,ik − C_t,jl)² Γ_ij Γ_kl.
    own = [np.square(side.T @ side).sum() / len(side) ** 2 for side in (A, B)]
    distance = float(own[0] + own[1] - 2 * np.square(cross).sum())
    return Coupling(gamma, cross, distance, n_iter, converged)


def _transport_step(
    ot: Any, weights: tuple[Matrix, Matrix], cost: Matrix, potentials: tuple[Matrix, Matrix], entropy: float
) -> tuple[Matrix, Matrix, Matrix]:
    """Solve one transport problem; return the coupling and the potentials, from which the next one starts."""
    # Potentials do not change the solution. Those of the last problem, subtracted from the cost, leave little to do and
    # exponents near zero; the minimum keeps exp(−cost/ε) from overflowing where they do not fit yet.
    f, g = potentials
    cost -= f[:, None]
    cost -= g
    cost -= cost.min()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # underflow is checked below
        gamma, log = ot.sinkhorn(
            *weights, cost, entropy, numItermax=_SINKHORN_ROUNDS, stopThr=_SINKHORN_TOLERANCE, log=True, warn=False
        )
        f, g = f + entropy * np.log(log["u"]), g + entropy * np.log(log["v"])
    if not (np.isfinite(gamma).all() and np.isfinite(f).all() and np.isfinite(g).all()):
        raise _too_small(entropy)
    return gamma, f, g


def _too_small(entropy: float) -> FippError:
    return FippError(
        f"entropy={entropy:g} is too small for these vectors: the coupling cannot be computed in double precision. "
        f"Take a larger one, such as {10 * entropy:g}"
    )
