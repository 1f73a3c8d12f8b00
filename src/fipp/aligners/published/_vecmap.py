"""VecMap: linear maps in several steps, and self-learning that needs few pairs or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from fipp._progress import Progress, Steps
from fipp.aligners._base import LearnsFrom
from fipp.aligners._consistency import PairlessAligner
from fipp.aligners._constraints import AT_LEAST_1, AUTO, MAX_WORDS, NOT_NEGATIVE, SHARE
from fipp.aligners._csls_induction import Induced, from_similarity_distributions, induce
from fipp.aligners._procrustes import pair_rotation
from fipp.exceptions import FippError
from fipp.linalg import cross_products, matmul_blocks, shared_directions, single_threaded_blas, unit_rows
from fipp.retrieve import Hubness, hubness

# Hundreds of rounds make more of chance than the few with which it is compared, so the consistency must be farther from
# chance than elsewhere. Measured on 4,000 words per side: 0.84 of the way to 1 for English and French, where most was
# found; 0.5 for English and Finnish and 0.1 for English and Russian, where nothing was.
_MARGIN = 0.65
# Hubs are counted again after this many rounds, because the map moves little in between, and before the last round.
_ROUNDS_BETWEEN_HUBS = 10
_LEARNS_FROM: dict[str, LearnsFrom] = {"identical": "identical", "unsupervised": "nothing"}


class VecMap(PairlessAligner):
    r"""VecMap: whitened, rotated and re-weighted maps of both sides, with optional self-learning.

    Each side has a map of its own (Artetxe, Labaka and Agirre, AAAI 2018), chosen so that the known pairs X_s, X_t are
    as alike as possible:

    .. math:: \max_{U, V} \operatorname{tr}\left(U^\top S_s^{-1/2} X_s^\top X_t S_t^{-1/2} V\right), \quad
              U^\top U = V^\top V = I, \quad S_s = X_s^\top X_s, \ S_t = X_t^\top X_t

    The singular values σ of the matrix in the middle say how well each dimension corresponds: dimensions are multiplied
    by powers of σ, and then get back the scatter that whitening removed. Source and target may differ in dimension; the
    shared space has the smaller one.

    Self-learning (ACL 2018) alternates between the best U, V without whitening for a dictionary and the best dictionary
    for U, V: by CSLS, in both directions, among frequent words. In each round, only a random part of the pairs may be
    chosen, which grows when the mean inner product of the dictionary's pairs has stopped growing. The steps above are
    taken once, at the end. The first dictionary consists of known pairs, of words that both sides spell alike, or of
    words whose sorted similarities to the other words of their own language match.

    Parameters
    ----------
    mode : {"supervised", "semi-supervised", "identical", "unsupervised"}, default="supervised"
        Learn from known pairs alone; start self-learning from known pairs or from identical words; or use no pairs.
    preprocess : str, transformer or None, default="unit+centre+unit"
        Preprocessing of both sides; see `fipp.preprocess`.
    whiten : float, default=1
        How far the known pairs are whitened before the rotation, S^(-whiten/2): 1 flattens their spectra, 0 leaves
        them as they are.
    ridge : float or "auto", default="auto"
        λ of the whitening (S + λI)^(-1/2), as a multiple of the mean eigenvalue of S. Without it, whitening fits the
        noise of few pairs, and has no solution for fewer pairs than dimensions. ``"auto"`` is 0.3 · min(1, d/c)³ for c
        pairs of dimension d, chosen on held-out seed pairs: next to nothing unless c is near d. The paper has 0.
    source_reweight, target_reweight : float, default=0.5
        Powers of the singular values σ by which the mapped source and target are multiplied: the larger the power, the
        more the dimensions count that correspond well.
    source_dewhiten, target_dewhiten : {"source", "target", None}
        The side whose scatter is given back to the mapped source and target after whitening; by default, their own.
    n_components : int, optional
        How many dimensions are kept, the best first; by default, all.
    max_words : int or None, default=20000
        How many of the first words of either side take part in self-learning; vocabularies are expected in order of
        frequency. None takes all.
    max_start_words : int, default=4000
        How many of the first words the start without pairs looks at.
    n_neighbours : int, default=10
        Number of neighbours over which CSLS averages.
    initial_share, growth : float, default=0.1 and 2.0
        Share of the pairs that may be chosen in the first rounds of self-learning, and the factor by which it grows.
    window, tolerance : int and float, default=50 and 1e-6
        The share grows if the objective has not grown by ``tolerance`` in ``window`` rounds.
    random_state : int, RandomState or None, default=0
        Decides which pairs may be chosen.

    Attributes
    ----------
    map_, target_map_ : ndarrays of shape (d1, k), (d2, k)
        The maps of preprocessed source and target vectors.
    singular_values_ : ndarray of shape (min(d1, d2),)
        σ, in descending order.
    induced_pairs_ : ndarray of shape (r, 2)
        The last dictionary of self-learning, from which the maps were made. Mutual pairs occur, and count, twice.
    objectives_ : ndarray of shape (rounds,)
        The objective of self-learning in each round.
    consistency_, chance_consistency_ : float
        In mode ``"unsupervised"`` only, the mean reciprocal rank, by cosine, of half of the mutual pairs under a
        rotation learned from the other half, among the 2,000 most frequent words; and the same after refining random
        rotations.
    collapsed_ : bool
        In mode ``"unsupervised"`` only, whether the first is less than 0.65 of the way from the second to 1: then
        self-learning has most likely found nothing, and a warning says so.

    Notes
    -----
    Three things differ from the papers. The pairs that may be chosen are drawn for blocks of randomly assigned source
    words, not one by one: each pair is drawn with the same probability, and scores of other pairs need not be computed.
    The means of CSLS are updated in every tenth round and before the last, not in each. Once no pair is left out any
    more and a round repeats the previous dictionary, nothing can change, and self-learning ends.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import VecMap
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((500, 20)) ** 3
    >>> X = (Y @ np.linalg.qr(rng.standard_normal((20, 20)))[0])[::-1]     # rotated and in another order
    >>> aligner = VecMap("unsupervised", window=2).fit(X, Y)
    >>> aligner.score(X[::-1], Y), aligner.collapsed_
    (1.0, False)
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {
        "source_reweight": (0.25, 0.5, 1.0),
        "target_reweight": (0.25, 0.5, 1.0),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "mode": [StrOptions({"supervised", "semi-supervised", "identical", "unsupervised"})],
        "whiten": [SHARE],
        "ridge": [AUTO, NOT_NEGATIVE],
        "source_reweight": [NOT_NEGATIVE],
        "target_reweight": [NOT_NEGATIVE],
        "source_dewhiten": [StrOptions({"source", "target"}), None],
        "target_dewhiten": [StrOptions({"source", "target"}), None],
        "n_components": [AT_LEAST_1, None],
        "max_words": MAX_WORDS,
        "max_start_words": [AT_LEAST_1],
        "n_neighbours": [AT_LEAST_1],
        "initial_share": [Interval(Real, 0, 1, closed="right")],
        "growth": [Interval(Real, 1, None, closed="neither")],
        "window": [AT_LEAST_1],
        "tolerance": [NOT_NEGATIVE],
        "random_state": ["random_state"],
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **PairlessAligner._fitted_constraints,
        "singular_values_": "float64 s",
        "objectives_?": "float64 rounds",
    }

    def __init__(
        self,
        mode: Literal["supervised", "semi-supervised", "identical", "unsupervised"] = "supervised",
        *,
        preprocess: Any = "unit+centre+unit",
        whiten: float = 1.0,
        ridge: float | Literal["auto"] = "auto",
        source_reweight: float = 0.5,
        target_reweight: float = 0.5,
        source_dewhiten: Literal["source", "target"] | None = "source",
        target_dewhiten: Literal["source", "target"] | None = "target",
        n_components: int | None = None,
        max_words: int | None = 20000,
        max_start_words: int = 4000,
        n_neighbours: int = 10,
        initial_share: float = 0.1,
        growth: float = 2.0,
        window: int = 50,
        tolerance: float = 1e-6,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.mode = mode
        self.preprocess = preprocess
        self.whiten = whiten
        self.ridge = ridge
        self.source_reweight = source_reweight
        self.target_reweight = target_reweight
        self.source_dewhiten = source_dewhiten
        self.target_dewhiten = target_dewhiten
        self.n_components = n_components
        self.max_words = max_words
        self.max_start_words = max_start_words
        self.n_neighbours = n_neighbours
        self.initial_share = initial_share
        self.growth = growth
        self.window = window
        self.tolerance = tolerance
        self.random_state = random_state

    @property
    def learns_from(self) -> LearnsFrom:
        """What the method learns from, which depends on the mode."""
        return _LEARNS_FROM.get(self.mode, "pairs")

    def _fit_vocabulary(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> None:
        if self.mode == "supervised":
            super()._fit_vocabulary(X, Y, progress)
            return
        source_rows, source = self._frequent(X, "source", self.max_words)
        target_rows, target = self._frequent(Y, "target", self.max_words)
        if self.mode == "unsupervised":
            start = from_similarity_distributions(source, target, self.max_start_words, self.n_neighbours)
            seed_cross = cross_products(source[start[:, 0]], target[start[:, 1]])
        else:
            seed_cross = cross_products(*self._seed_rows(X, Y))
        learned = self_learn(
            source,
            target,
            seed_cross,
            Schedule(self.initial_share, self.growth, self.window, self.tolerance),
            k=self.n_neighbours,
            random_seed=int(check_random_state(self.random_state).randint(2**31)),
            progress=progress,
        )
        rows, columns = learned.pairs.T
        self.induced_pairs_ = np.stack([source_rows[rows], target_rows[columns]], axis=1)
        self.objectives_ = learned.objectives
        self._fit_seed(source[rows], target[columns], None)
        if self.mode == "unsupervised":
            self._judge(
                source,
                target,
                pair_rotation(source, target, learned.pairs),
                failure="self-learning has most likely found nothing",
                advice="Give known pairs (mode='semi-supervised') or words spelled alike (mode='identical')",
                margin=_MARGIN,
            )

    def _fit_seed(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> None:
        # S^(-1/2) and S^(1/2) of either side, ridged.
        white = {
            side: whitening(cross_products(rows, rows), self.whiten, self._ridge(rows))
            for side, rows in (("source", X_s), ("target", X_t))
        }
        C = white["source"].apply @ cross_products(X_s, X_t) @ white["target"].apply
        U, self.singular_values_, V = shared_directions(C)
        rotations = {"source": U, "target": V}

        def steps(side: str, reweight: float, dewhiten: str | None) -> NDArray[np.float32]:
            # Whiten, rotate, re-weight; then give back the scatter of one side, as seen in the shared space.
            with np.errstate(over="ignore", invalid="ignore"):  # a map that is not finite is refused
                linear = (white[side].apply @ rotations[side]) * self.singular_values_**reweight
                if dewhiten is not None:
                    linear = linear @ (rotations[dewhiten].T @ white[dewhiten].undo @ rotations[dewhiten])
                return linear[:, : self.n_components].astype(np.float32)

        self.map_ = steps("source", self.source_reweight, self.source_dewhiten)
        self.target_map_ = steps("target", self.target_reweight, self.target_dewhiten)

    def _ridge(self, rows: NDArray[np.float32]) -> float:
        if self.ridge != "auto":
            return float(self.ridge)
        c, d = rows.shape
        return 0.3 * min(1.0, d / c) ** 3


class Whitening(NamedTuple):
    """A power of a scatter matrix, and its inverse."""

    apply: NDArray[np.float64]
    undo: NDArray[np.float64]


@single_threaded_blas
def whitening(scatter: NDArray[np.float64], whiten: float, ridge: float) -> Whitening:
    """Return (S + λI)^(-whiten/2) and (S + λI)^(whiten/2), where λ is ``ridge`` times the mean eigenvalue of S.

    Both come from one eigendecomposition, and are zero on directions in which S + λI is zero.

    Examples
    --------
    >>> whitening(np.diag([4.0, 0.0]), 1.0, 0.0)
    Whitening(apply=array([[0.5, 0. ], [0. , 0. ]]), undo=array([[2., 0.], [0., 0.]]))
    """
    values, V = np.linalg.eigh(scatter)
    values = values + ridge * max(np.trace(scatter) / len(scatter), 0.0)
    present = values > np.finfo(np.float32).eps * values.max(initial=0)
    root, V = values[present] ** (whiten / 2), V[:, present]
    return Whitening((V / root) @ V.T, (V * root) @ V.T)


class Schedule(NamedTuple):
    """When fewer pairs are left out of self-learning, and when it ends; see `VecMap`."""

    initial_share: float
    growth: float
    window: int
    tolerance: float

    def rounds_left(self, share: float, since: int) -> int:
        """Return the number of rounds that are left if nothing improves any more."""
        stages = 0
        while share < 1:
            share, stages = share * self.growth, stages + 1
        return max(0, self.window - since) + stages * self.window


class LearnedDictionary(NamedTuple):
    """The last dictionary of self-learning, and the mean inner product of the mapped pairs in each round."""

    pairs: NDArray[np.int64]
    objectives: NDArray[np.float64]


def self_learn(
    X: NDArray[np.float32],
    Z: NDArray[np.float32],
    seed_cross: NDArray[np.float64],
    schedule: Schedule,
    *,
    k: int = 10,
    random_seed: int = 0,
    progress: Progress | None = None,
) -> LearnedDictionary:
    """Alternate between the best orthogonal maps for a dictionary and the best dictionary for the maps.

    X and Z are preprocessed vocabularies without rows of zeros, and ``seed_cross`` is X_sᵀX_t of the first dictionary.
    The total of ``progress`` is a lower bound, which grows.
    """
    share, best, last_better = schedule.initial_share, -np.inf, 0
    hubs = Hubness(np.zeros(len(X), np.float32), np.zeros(len(Z), np.float32))
    induced: Induced | None = None
    C, settled = seed_cross, False
    objectives: list[float] = []
    steps = Steps(progress, schedule.rounds_left(share, 0))
    while True:
        U, s, V = shared_directions(C)
        if not s.any():
            raise FippError(
                "the vectors of the first pairs are zero after preprocessing, as they are if all vectors of a side are "
                "the same: there is nothing to learn from"
            )
        # The first dictionary is of another kind: its objective cannot be compared with later ones.
        if induced is not None:
            objectives.append(float(s.sum() / len(induced.pairs())))
            if objectives[-1] >= best + schedule.tolerance:
                best, last_better = objectives[-1], len(objectives)
            elif len(objectives) - last_better >= schedule.window:
                if share >= 1:
                    break
                share, last_better = min(1.0, share * schedule.growth), len(objectives)
            steps.total = len(objectives) + schedule.rounds_left(share, len(objectives) - last_better)
            steps()
        A, B = unit_rows(matmul_blocks(X, U)), unit_rows(matmul_blocks(Z, V))
        counted = settled or len(objectives) % _ROUNDS_BETWEEN_HUBS == 0
        if counted:
            hubs = hubness(A, B, k)
        before, induced = induced, induce(A, B, hubs, share, (random_seed, len(objectives)))
        settled = share >= 1 and _same(before, induced)
        if settled and counted:
            break  # nothing will ever change again
        C = dictionary_cross(X, Z, induced.pairs())
    return LearnedDictionary(induced.pairs(), np.array(objectives))


def dictionary_cross(X: NDArray[np.float32], Z: NDArray[np.float32], pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return XᵀDZ, where D_ij counts the pair (i, j) in a dictionary large enough to contain every word."""
    ones = np.ones(len(pairs), dtype=Z.dtype)
    D = scipy.sparse.csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(len(X), len(Z)))
    return cross_products(X, D @ Z)


def _same(one: Induced | None, other: Induced) -> bool:
    return one is not None and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
