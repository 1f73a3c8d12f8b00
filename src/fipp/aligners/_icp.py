"""Alignment without pairs by iterative closest points."""

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
from fipp.aligners._cycle_icp import CycleMaps, PrincipalAxes, cycle_icp
from fipp.aligners._moment_start import Moments, best_rotations
from fipp.exceptions import warn
from fipp.linalg import Progress, cross_products, matmul_blocks, rotation
from fipp.retrieve import mutual_neighbours

_MOMENT_STEPS = 40


class ICP(BaseAligner):
    r"""Closest points, both ways, from the shape of the two clouds alone (Hoshen and Wolf, EMNLP 2018); no pairs.

    .. math:: \min_{W, V} \sum_i \|x_i W - y_{n(i)}\|^2 + \sum_j \|y_j V - x_{n(j)}\|^2
              + λ \sum_i \|x_i W V - x_i\|^2 + λ \sum_j \|y_j V W - y_j\|^2

    with n(i), n(j) the words nearest to x_i W and y_j V, over the most frequent words along their first principal axes,
    descended in mini-batches from many starts. The start whose words lie closest in the end is kept, and refined by
    Procrustes on words that are each other's nearest by CSLS, in all dimensions and with a growing vocabulary.

    A start lays principal axis on principal axis with random signs. Unlike in the paper, where hundreds of these are
    run to the end, each is first turned so that the third moments of both clouds agree, which takes milliseconds, and
    only the few that agree best are run.

    Without pairs there is no certainty: two languages or sets of vectors that are not alike enough end in a map that
    is worth nothing. A warning says so if it is hardly better than chance. Look at some translations before trusting
    it; a few dozen known pairs and another method are worth more.

    Parameters
    ----------
    n_components : int, default=20
        Number of principal axes of the starts; fewer where a side has fewer dimensions.
    n_starts : int, default=100
        Number of random starts.
    n_candidates : int, default=10
        How many of them are run, those whose moments agree best.
    n_epochs : int, default=10
        How often a run sees every word.
    cycle_weight : float, default=1.0
        λ.
    batch_size : int, default=250
        Words of either side in a step.
    max_start_words : int, default=3000
        So many words of either side, the first ones, make the starts.
    n_iterations : int, default=5
        Rounds of Procrustes at the end.
    max_words : int or None, default=10_000
        So many words are paired in the last of these rounds; None is all of them.
    preprocess : str, transformer or None, default="unit+centre+unit"
        What is done to both sides first; see `fipp.preprocess`.
    random_state : int, RandomState or None, default=0
        Signs of the starts and order of the words.
    max_memory : int or str, optional
        Working memory of a search, such as ``"2GB"``.

    Attributes
    ----------
    map_ : ndarray of shape (d1, d2)
        The rotation that the refinement ends in; semi-orthogonal where d1 ≠ d2.
    losses_ : ndarray of shape (n_candidates,)
        How far words lie from the nearest of the other side after each run, in the order of the runs; the smallest was
        kept.
    induced_pairs_ : ndarray of shape (k, 2)
        The pairs of the last round, which the map was fitted on.
    consistency_ : float
        Mean reciprocal rank, by cosine, of half of the pairs that are each other's best translation under a rotation
        learned from the other half, among the 2,000 most frequent words.
    chance_consistency_ : float
        The same after refining random rotations.
    collapsed_ : bool
        Whether ``consistency_`` is less than a fifth of the way from that to 1: then most likely nothing was found, and
        a warning says so.
    pairs_ : ndarray of shape (0, 2)
        No pairs were given.
    source_preprocess_, target_preprocess_ : transformers
        Fitted preprocessing of either side.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import ICP
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.exponential(size=(500, 6)) * [3, 2.5, 2, 1.5, 1, 0.5]
    >>> X = Y @ np.linalg.qr(rng.standard_normal((6, 6)))[0]
    >>> ICP(preprocess="centre").fit(X, Y).score(X, Y)
    1.0
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"n_components": (10, 20, 30)}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "n_epochs": [Interval(Integral, 0, None, closed="left")],
        "cycle_weight": [Interval(Real, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "max_start_words": [Interval(Integral, 1, None, closed="left")],
        "n_iterations": [Interval(Integral, 0, None, closed="left")],
        "max_words": [Interval(Integral, 1, None, closed="left"), None],
        "preprocess": "no_validation",
        "random_state": ["random_state"],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
    }

    def __init__(
        self,
        n_components: int = 20,
        *,
        n_starts: int = 100,
        n_candidates: int = 10,
        n_epochs: int = 10,
        cycle_weight: float = 1.0,
        batch_size: int = 250,
        max_start_words: int = 3000,
        n_iterations: int = 5,
        max_words: int | None = 10_000,
        preprocess: Any = "unit+centre+unit",
        random_state: int | np.random.RandomState | None = 0,
        max_memory: int | str | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_starts = n_starts
        self.n_candidates = n_candidates
        self.n_epochs = n_epochs
        self.cycle_weight = cycle_weight
        self.batch_size = batch_size
        self.max_start_words = max_start_words
        self.n_iterations = n_iterations
        self.max_words = max_words
        self.preprocess = preprocess
        self.random_state = random_state
        self.max_memory = max_memory

    @property
    def learns_from(self) -> LearnsFrom:
        """What the method learns from: nothing but the two vocabularies."""
        return "nothing"

    def _fit_vocabulary(self, X: NDArray, Y: NDArray, progress: Progress | None) -> None:
        source = self.source_preprocess_.transform(X[: self._last_words(X)])
        target = self.target_preprocess_.transform(Y[: self._last_words(Y)])
        total = self.n_candidates + self.n_iterations

        def tick(done: int) -> None:
            if progress is not None:
                progress(done, total)

        pairs = self._start(source[: self.max_start_words], target[: self.max_start_words], tick)
        sizes = np.geomspace(
            self.max_start_words, max(len(source), len(target), self.max_start_words), self.n_iterations
        )
        omega = rotation(cross_products(source[pairs[:, 0]], target[pairs[:, 1]]))
        for number, size in enumerate(np.rint(sizes).astype(int)):
            images = matmul_blocks(source[:size], omega)
            pairs = mutual_neighbours(images, target[:size], retrieval="csls", max_memory=self.max_memory).pairs
            omega = rotation(cross_products(source[pairs[:, 0]], target[pairs[:, 1]]))
            tick(self.n_candidates + number + 1)
        self.map_, self.induced_pairs_ = omega.astype(np.float32), pairs
        self._compare_with_chance(source, target)

    def _last_words(self, X: NDArray) -> int:
        return len(X) if self.max_words is None else min(len(X), max(self.max_words, self.max_start_words))

    def _start(self, source: NDArray[np.float32], target: NDArray[np.float32], tick: Any) -> NDArray[np.int64]:
        """Return pairs of words that are each other's nearest after the best run."""
        p, rng = min(self.n_components, source.shape[1], target.shape[1]), check_random_state(self.random_state)
        X, Y = PrincipalAxes.of(source, p), PrincipalAxes.of(target, p)
        starts = best_rotations(
            Moments(X.coordinates, Y.coordinates),
            p,
            n_starts=self.n_starts,
            n_steps=_MOMENT_STEPS,
            n_best=self.n_candidates,
            rng=rng,
        )
        runs = []
        for start in starts:
            runs.append(
                cycle_icp(
                    X,
                    Y,
                    CycleMaps(start, start.T),
                    cycle_weight=self.cycle_weight,
                    n_epochs=self.n_epochs,
                    batch_size=self.batch_size,
                    rng=rng,
                )
            )
            tick(len(runs))
        self.losses_ = np.array([run.loss for run in runs])
        best = runs[int(np.argmin(self.losses_))]
        return mutual_neighbours(matmul_blocks(X.coordinates, best.W), Y.coordinates, retrieval="csls").pairs

    def _compare_with_chance(self, source: NDArray[np.float32], target: NDArray[np.float32]) -> None:
        self.consistency_, self.chance_consistency_ = compare_with_chance(source, target, self.map_)
        self.collapsed_ = not beats_chance(self.consistency_, self.chance_consistency_)
        if self.collapsed_:
            warn(
                "the map is probably worth nothing: rotations learned from half of the words that it pairs find the "
                f"other half at a mean reciprocal rank of {self.consistency_:.2f}, and of "
                f"{self.chance_consistency_:.2f} after a random start. Take known pairs, or try another random_state "
                "or more n_starts"
            )
