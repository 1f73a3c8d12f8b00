"""Procrustes refined by dictionaries that it finds itself, from known pairs or from an adversarial start (MUSE)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from fipp.aligners._adversarial import Game, adversarial_map
from fipp.aligners._base import BaseAligner, LearnsFrom
from fipp.aligners._consistency import beats_chance, compare_with_chance
from fipp.aligners._procrustes_refinement import Refined, Refinement
from fipp.exceptions import FippError, warn
from fipp.linalg import Progress, cross_products, rotation

_AT_LEAST_1 = Interval(Integral, 1, None, closed="left")


class MUSE(BaseAligner):
    r"""Rotation, refined by mutual CSLS neighbours; from known pairs, or from none by an adversarial start.

    .. math:: Ω_{i+1} = \arg\min_{ΩΩ^\top = I} \sum_{(x, y) ∈ D(Ω_i)} \|xΩ - y\|^2

    where D(Ω) are the pairs of the ``max_words`` most frequent words of both sides that are each other's best
    translation by CSLS under Ω. The first Ω is that of the known pairs (``"supervised"``), or the generator of a game
    (``"adversarial"``): a discriminator learns to tell mapped source vectors from target vectors, and Ω, kept near
    orthogonal, to be mistaken.

    Of all maps the one is kept whose deemed translations of the most frequent source words have the highest mean
    cosine; no dictionary is looked at for that. (The published code chooses by the *test* dictionary when it learns
    from pairs.) Every game is refined before it is compared; its own map, of low rank, is left out of the choice.

    Parameters
    ----------
    mode : {"supervised", "adversarial"}, default="supervised"
        What to start from. ``"adversarial"`` needs no pairs, but torch: ``pip install 'fipp[torch]'``. It may fail
        to find anything; a warning says so. From English to French one of three games found the way (.665 / .689 by
        cosine / CSLS, 109 seconds of one processor), from English to Finnish none of two, which was announced.
    n_iterations : int, default=3
        How often the dictionary is found again.
    max_words : int, default=10000
        The most frequent words of either side, which the dictionary is made of. Rows must be in order of frequency.
    n_restarts : int, default=2
        Games with different random numbers, each refined, of which the best by the criterion is taken.
    n_components : int, default=50
        The game is played between so many principal components of either side, whose axes, in order and turned to
        where they are skewed, are its start. The published one is played in all dimensions and takes hours without a
        graphics processor.
    n_steps : int, default=6000
        Steps of the map in a game; published: 156,250.
    hidden : int, default=256
        Width of the discriminator's two hidden layers; published: 2048.
    batch_size : int, default=32
        Vectors of either side in a step.
    n_discriminator_steps : int, default=2
        Steps of the discriminator for one of the map; published: 5.
    learning_rate : float, default=0.3
        Of both, falling to a tenth by the end of the game; published: 0.1.
    dropout, smoothing : float, default=0.1
        Of the discriminator's input, and of the answers that it learns.
    beta : float, default=0.01
        β of Ω ← (1 + β)Ω − βΩΩᵀΩ, which keeps the map near orthogonal.
    max_start_words : int, default=5000
        The most frequent words, which the game draws from, evenly; published: 75,000.
    preprocess : str, transformer or None, default="unit+centre+unit"
        What is done to both sides first; see `fipp.preprocess`.
    random_state : int, default=0
        Of the games; from pairs nothing is random.
    max_memory : int or str, optional
        Working memory.

    Attributes
    ----------
    map_ : ndarray of shape (d1, d2)
        Ω.
    criterion_ : float
        Mean cosine of the deemed translations of the most frequent words.
    n_rounds_ : int
        After how many refinements the map was best.
    restart_criteria_ : ndarray of shape (n_restarts,)
        With ``"adversarial"``, the criterion of each game, refined.
    consistency_ : float
        With ``"adversarial"``, the mean reciprocal rank, by cosine, of half of the pairs that are each other's best
        translation under a rotation learned from the other half, among the 2,000 most frequent words.
    chance_consistency_ : float
        The same after refining random rotations. In few dimensions pairs by chance agree with each other too.
    collapsed_ : bool
        With ``"adversarial"``, whether ``consistency_`` is less than a fifth of the way from that to 1: then most
        likely nothing was found, and a warning says so.
    pairs_ : ndarray of shape (c, 2)
        The given pairs; none with ``"adversarial"``.
    induced_pairs_ : ndarray of shape (k, 2)
        The pairs of the last dictionary that the map was learned from; none if it is that of the given pairs alone.

    References
    ----------
    Conneau, Lample, Ranzato, Denoyer, Jégou: Word translation without parallel data. ICLR 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import MUSE
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((300, 5))
    >>> turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    >>> aligner = MUSE(preprocess="unit").fit(Y @ turn.T, Y, [(i, i) for i in range(20)])
    >>> bool(np.allclose(aligner.map_, turn, atol=1e-5))
    True
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"preprocess": ("unit", "unit+centre+unit", "isotropic")}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "mode": [StrOptions({"supervised", "adversarial"})],
        "n_iterations": [Interval(Integral, 0, None, closed="left")],
        "max_words": [_AT_LEAST_1],
        "n_restarts": [_AT_LEAST_1],
        "n_components": [_AT_LEAST_1],
        "n_steps": [_AT_LEAST_1],
        "hidden": [_AT_LEAST_1],
        "batch_size": [_AT_LEAST_1],
        "n_discriminator_steps": [_AT_LEAST_1],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "smoothing": [Interval(Real, 0, 0.5, closed="left")],
        "beta": [Interval(Real, 0, 0.5, closed="both")],
        "max_start_words": [_AT_LEAST_1],
        "preprocess": "no_validation",
        "random_state": [Interval(Integral, 0, None, closed="left")],
        "max_memory": "no_validation",
    }

    def __init__(
        self,
        mode: str = "supervised",
        n_iterations: int = 3,
        max_words: int = 10_000,
        n_restarts: int = 2,
        n_components: int = 50,
        n_steps: int = 6000,
        hidden: int = 256,
        batch_size: int = 32,
        n_discriminator_steps: int = 2,
        learning_rate: float = 0.3,
        dropout: float = 0.1,
        smoothing: float = 0.1,
        beta: float = 0.01,
        max_start_words: int = 5000,
        preprocess: Any = "unit+centre+unit",
        random_state: int = 0,
        max_memory: int | str | None = None,
    ) -> None:
        self.mode = mode
        self.n_iterations = n_iterations
        self.max_words = max_words
        self.n_restarts = n_restarts
        self.n_components = n_components
        self.n_steps = n_steps
        self.hidden = hidden
        self.batch_size = batch_size
        self.n_discriminator_steps = n_discriminator_steps
        self.learning_rate = learning_rate
        self.dropout = dropout
        self.smoothing = smoothing
        self.beta = beta
        self.max_start_words = max_start_words
        self.preprocess = preprocess
        self.random_state = random_state
        self.max_memory = max_memory

    @property
    def learns_from(self) -> LearnsFrom:
        """What the method learns from: pairs with ``mode="supervised"``, otherwise nothing but the vocabularies."""
        return "pairs" if self.mode == "supervised" else "nothing"

    def _fit_vocabulary(self, X: NDArray, Y: NDArray, progress: Progress | None) -> None:
        refinement = Refinement(
            self.source_preprocess_.transform(X[: self.max_words]),
            self.target_preprocess_.transform(Y[: self.max_words]),
            self.n_iterations,
            self.max_memory,
        )
        if self.mode == "supervised":
            start = rotation(cross_products(*self._seed_rows(X, Y))).astype(np.float32)
            refined = refinement.best(start, progress=progress)
        else:
            refined = self._play(X, Y, refinement, progress)
        self.map_, self.criterion_, self.n_rounds_ = refined.map, refined.criterion, refined.rounds
        self.induced_pairs_ = refined.pairs
        if self.mode == "adversarial":
            self._compare_with_chance(refinement)

    def _play(self, X: NDArray, Y: NDArray, refinement: Refinement, progress: Progress | None) -> Refined:
        """Play several games, refine each, and give the best."""
        X_drawn = self.source_preprocess_.transform(X[: self.max_start_words])
        Y_drawn = self.target_preprocess_.transform(Y[: self.max_start_words])
        if not (X_drawn.any() and Y_drawn.any()):
            raise FippError("one side has no vectors that are not zero: there is nothing to learn from")
        game = Game(
            n_components=self.n_components,
            n_steps=self.n_steps,
            hidden=self.hidden,
            batch_size=self.batch_size,
            n_discriminator_steps=self.n_discriminator_steps,
            learning_rate=self.learning_rate,
            dropout=self.dropout,
            smoothing=self.smoothing,
            beta=self.beta,
        )
        results = []
        for number in range(self.n_restarts):
            advance = None if progress is None else _part(progress, number, self.n_restarts)
            start = adversarial_map(X_drawn, Y_drawn, game, self.random_state + number, advance)
            results.append(refinement.best(start, keep_start=False))
        self.restart_criteria_ = np.array([result.criterion for result in results])
        return results[int(np.argmax(self.restart_criteria_))]

    def _compare_with_chance(self, refinement: Refinement) -> None:
        """Warn if the dictionary agrees with itself hardly better than after a random start: then nothing was found."""
        self.consistency_, self.chance_consistency_ = compare_with_chance(
            refinement.source, refinement.target, self.map_, self.random_state
        )
        self.collapsed_ = not beats_chance(self.consistency_, self.chance_consistency_)
        if self.collapsed_:
            warn(
                "the adversarial start has most likely found nothing: rotations learned from half of its pairs find "
                f"the other half at a mean reciprocal rank of {self.consistency_:.2f}, and of "
                f"{self.chance_consistency_:.2f} after a random start. Give known pairs, or try another random_state, "
                "more n_restarts or n_steps"
            )


def _part(progress: Progress, number: int, parts: int) -> Progress:
    return lambda done, total: progress(number * total + done, parts * total)
