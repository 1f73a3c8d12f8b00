"""VecMap: linear maps in several steps, and self-learning that needs few pairs or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from fipp.aligners._base import BaseAligner, LearnsFrom
from fipp.aligners._consistency import beats_chance, compare_with_chance
from fipp.aligners._csls_induction import from_similarity_distributions
from fipp.aligners._multi_step import multi_step_maps
from fipp.aligners._vecmap_loop import Schedule, self_learn
from fipp.exceptions import FippError, warn
from fipp.linalg import Progress, cross_products, rotation

# Hundreds of rounds make more of chance than the few that it is compared with, so the consistency must be farther from
# chance than elsewhere. Measured on 4,000 words a side: 0.84 of the way to 1 for English and French, where most was
# found; 0.5 for English and Finnish and 0.1 for English and Russian, where nothing was.
_MARGIN = 0.65
_LEARNS_FROM: dict[str, LearnsFrom] = {"identical": "identical", "unsupervised": "nothing"}


class VecMap(BaseAligner):
    r"""Whitened, rotated and re-weighted maps of both sides, with self-learning if asked for.

    Both sides are mapped into a space of their own (Artetxe, Labaka and Agirre, AAAI 2018), where the known pairs
    X_s, X_t are as alike as they can be:

    .. math:: \max_{U, V} \operatorname{tr}\left(U^\top S_s^{-1/2} X_s^\top X_t S_t^{-1/2} V\right), \quad
              U^\top U = V^\top V = I, \quad S_s = X_s^\top X_s, \ S_t = X_t^\top X_t

    The singular values σ of the matrix in the middle tell how well each dimension corresponds: dimensions are
    multiplied by powers of σ, and then given back the scatter that whitening took from them. Source and target may
    differ in dimension; all of it happens in the smaller one.

    Self-learning (ACL 2018) alternates between the best U, V without whitening for a dictionary and the best
    dictionary for U, V: by CSLS, in both directions, among frequent words. In each round only a part of the pairs may
    be chosen, drawn at random, and this part grows when the mean inner product of the dictionary's pairs has not for
    a while. All steps above are taken once, at the end. The first dictionary is the known pairs, words that both sides
    spell alike, or nothing but the sorted similarities of each word to the others of its language.

    Parameters
    ----------
    mode : {"supervised", "semi-supervised", "identical", "unsupervised"}, default="supervised"
        Known pairs alone; known pairs or identical words as a start of self-learning; or no pairs at all.
    preprocess : str, transformer or None, default="unit+centre+unit"
        What is done to both sides first; see `fipp.preprocess`.
    whiten : bool, default=True
        Whether the known pairs are whitened before the rotation.
    regularization : float or "auto", default="auto"
        λ of the whitening (S + λI)^(-1/2), relative to the mean eigenvalue of S. Without it, whitening fits the noise
        of few pairs, and has no solution for fewer pairs than dimensions. ``"auto"`` is 0.3 · min(1, d/c)³ for c pairs
        of dimension d, chosen on held-out seed pairs: hardly anything unless c is near d. 0 is the paper's.
    source_reweight, target_reweight : float, default=0.5
        Powers of σ.
    source_dewhiten, target_dewhiten : {"source", "target", None}
        Whose scatter the source, the target is given back; its own by default.
    n_components : int, optional
        How many dimensions are kept, the best first; all of them by default.
    max_words : int or None, default=20000
        How many of the first words of either side take part in self-learning: vocabularies are expected in the order
        of frequency. None takes all.
    max_start_words : int, default=4000
        How many of the first words the start without pairs looks at.
    n_neighbours : int, default=10
        Neighbours of CSLS.
    keep, growth : float, default=0.1 and 2.0
        Share of pairs that may be chosen in the first rounds of self-learning, and what it is multiplied by.
    window, tolerance : int and float, default=50 and 1e-6
        The share grows if the objective has not grown by ``tolerance`` in ``window`` rounds.
    random_state : int, RandomState or None, default=0
        Which pairs may be chosen.

    Attributes
    ----------
    map_ : ndarray of shape (d1, k)
        What preprocessed source vectors are multiplied by.
    target_map_ : ndarray of shape (d2, k)
        The same of the target.
    singular_values_ : ndarray of shape (min(d1, d2),)
        σ, falling.
    pairs_ : ndarray of shape (c, 2)
        The given pairs; none in mode ``"identical"``, whose identical words are guesses.
    induced_pairs_ : ndarray of shape (r, 2)
        The last dictionary of self-learning, from which the maps were made; mutual pairs stand, and count, twice.
    objectives_ : ndarray of shape (rounds,)
        The objective of self-learning in each round.
    consistency_ : float
        Of self-learning: mean reciprocal rank, by cosine, of half of the pairs that are each other's best translation
        under a rotation learned from the other half, among the 2,000 most frequent words.
    chance_consistency_ : float
        The same after refining random rotations.
    collapsed_ : bool
        Whether ``consistency_`` is less than 0.65 of the way from that to 1: then self-learning has most likely found
        nothing, and a warning says so if it began without pairs.
    source_preprocess_, target_preprocess_ : transformers
        Fitted preprocessing of either side.

    Notes
    -----
    Of the papers this differs in three things. The pairs that may be chosen are drawn for blocks of randomly dealt
    source words, not one by one: each is drawn with the same probability, and what is not drawn is not calculated. The
    means of CSLS are counted anew in every tenth round and before the last, not in each. When no pair is left out any
    more and a round repeats the dictionary of the last one, nothing can change, and no further rounds are waited for.

    References
    ----------
    Artetxe, Labaka, Agirre: Generalizing and improving bilingual word embedding mappings with a multi-step framework
    of linear transformations. AAAI 2018.

    Artetxe, Labaka, Agirre: A robust self-learning method for fully unsupervised cross-lingual mappings of word
    embeddings. ACL 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import VecMap
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((500, 20)) ** 3
    >>> X = (Y @ np.linalg.qr(rng.standard_normal((20, 20)))[0])[::-1]     # turned and in another order
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
        "preprocess": "no_validation",
        "whiten": ["boolean"],
        "regularization": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "source_reweight": [Interval(Real, 0, None, closed="left")],
        "target_reweight": [Interval(Real, 0, None, closed="left")],
        "source_dewhiten": [StrOptions({"source", "target"}), None],
        "target_dewhiten": [StrOptions({"source", "target"}), None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "max_words": [Interval(Integral, 1, None, closed="left"), None],
        "max_start_words": [Interval(Integral, 1, None, closed="left")],
        "n_neighbours": [Interval(Integral, 1, None, closed="left")],
        "keep": [Interval(Real, 0, 1, closed="right")],
        "growth": [Interval(Real, 1, None, closed="neither")],
        "window": [Interval(Integral, 1, None, closed="left")],
        "tolerance": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        mode: Literal["supervised", "semi-supervised", "identical", "unsupervised"] = "supervised",
        *,
        preprocess: Any = "unit+centre+unit",
        whiten: bool = True,
        regularization: float | Literal["auto"] = "auto",
        source_reweight: float = 0.5,
        target_reweight: float = 0.5,
        source_dewhiten: Literal["source", "target"] | None = "source",
        target_dewhiten: Literal["source", "target"] | None = "target",
        n_components: int | None = None,
        max_words: int | None = 20000,
        max_start_words: int = 4000,
        n_neighbours: int = 10,
        keep: float = 0.1,
        growth: float = 2.0,
        window: int = 50,
        tolerance: float = 1e-6,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.mode = mode
        self.preprocess = preprocess
        self.whiten = whiten
        self.regularization = regularization
        self.source_reweight = source_reweight
        self.target_reweight = target_reweight
        self.source_dewhiten = source_dewhiten
        self.target_dewhiten = target_dewhiten
        self.n_components = n_components
        self.max_words = max_words
        self.max_start_words = max_start_words
        self.n_neighbours = n_neighbours
        self.keep = keep
        self.growth = growth
        self.window = window
        self.tolerance = tolerance
        self.random_state = random_state

    @property
    def learns_from(self) -> LearnsFrom:
        """What the method learns from without known pairs, which depends on the mode."""
        return _LEARNS_FROM.get(self.mode, "pairs")

    def _fit_vocabulary(self, X: NDArray, Y: NDArray, progress: Progress | None) -> None:
        if self.mode == "supervised":
            super()._fit_vocabulary(X, Y, progress)
            return
        source_rows, source = self._frequent(X, self.source_preprocess_, "source")
        target_rows, target = self._frequent(Y, self.target_preprocess_, "target")
        if self.mode == "unsupervised":
            start = from_similarity_distributions(source, target, self.max_start_words, self.n_neighbours)
            seed_cross = cross_products(source[start[:, 0]], target[start[:, 1]])
        else:
            seed_cross = cross_products(*self._seed_rows(X, Y))
        learned = self_learn(
            source,
            target,
            seed_cross,
            Schedule(self.keep, self.growth, self.window, self.tolerance),
            k=self.n_neighbours,
            random_seed=int(check_random_state(self.random_state).randint(2**31)),
            progress=progress,
        )
        rows, columns = learned.pairs[:, 0], learned.pairs[:, 1]
        self.induced_pairs_ = np.stack([source_rows[rows], target_rows[columns]], axis=1)
        self.objectives_ = learned.objectives
        self._fit_seed(source[rows], target[columns], None)
        self._judge(source, target, rotation(cross_products(source[rows], target[columns])))

    def _judge(self, source: NDArray[np.float32], target: NDArray[np.float32], omega: NDArray[np.float64]) -> None:
        self.consistency_, self.chance_consistency_ = compare_with_chance(source, target, omega)
        self.collapsed_ = not beats_chance(self.consistency_, self.chance_consistency_, _MARGIN)
        if self.collapsed_ and self.mode == "unsupervised":
            warn(
                "self-learning has most likely found nothing: rotations learned from half of its pairs find the other "
                f"half at a mean reciprocal rank of {self.consistency_:.2f}, and of {self.chance_consistency_:.2f} "
                "after a random start. Give known pairs (mode='semi-supervised') or words spelled alike "
                "(mode='identical')"
            )

    def _frequent(self, X: NDArray, preprocess: Any, side: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return row numbers and preprocessed vectors of the first words that have any."""
        rows = np.flatnonzero(X.any(axis=1))[: self.max_words]
        if not len(rows):
            raise FippError(f"every {side} vector is zero: there is nothing to learn from")
        return rows, preprocess.transform(X[rows])

    def _fit_seed(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> None:
        maps = multi_step_maps(
            X_s,
            X_t,
            whiten=self.whiten,
            regularization=(self._ridge(X_s), self._ridge(X_t)),
            reweight=(self.source_reweight, self.target_reweight),
            dewhiten=(self.source_dewhiten, self.target_dewhiten),
            n_components=self.n_components,
        )
        self.map_, self.target_map_ = maps.source.astype(np.float32), maps.target.astype(np.float32)
        self.singular_values_ = maps.singular_values

    def _ridge(self, rows: NDArray[np.float32]) -> float:
        if self.regularization != "auto":
            return float(self.regularization)
        c, d = rows.shape
        return 0.3 * min(1.0, d / c) ** 3
