"""Filtered Inner Product Projection. `_fipp_reference` has the same method on one page, literal and slow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from fipp._progress import Progress
from fipp.aligners._appendix_c import Rule, induce_pairs
from fipp.aligners._base import BaseAligner
from fipp.aligners._constraints import AT_LEAST_1, COUNT, MEMORY, NOT_NEGATIVE, POSITIVE, SHARE
from fipp.aligners._solvers import SOLVERS, Seed, Solution, filtered_seeds
from fipp.exceptions import warn
from fipp.linalg import (
    FilteredGram,
    FilteredObjective,
    Objective,
    cross_products,
    deviation_from_orthogonal,
    ordered_map,
    residual_weights,
    rotation,
    single_threaded_blas,
    transfer_weight,
)

_WEIGHT_POWERS = {"root": 0.5, "published": 1.0, "paper": 2.0}
# With fewer pairs than about this many times the larger dimension, the published route divides by small eigenvalues of
# G* and stretches some directions several times as much as the others.
_FEW_PAIRS, _STRETCHED = 2, 2.0


class FIPP(BaseAligner):
    r"""Filtered Inner Product Projection (Sachidananda, Yang and Zhu, ICLR 2021).

    Moves the Gram matrix of the source's seed words towards that of the target's where both agree within ε, and finds
    vectors with that Gram matrix, and with them a linear map:

    .. math:: \min_{X̃_s} \|X̃_s X̃_s^\top - X_s X_s^\top\|_F^2
              + γλ \|Δ^ε ∘ (X̃_s X̃_s^\top - X_t X_t^\top)\|_F^2

    with Δ^ε_ij = 1 where \|(X_sX_sᵀ − X_tX_tᵀ)_ij\| < ε and γ = c²/NNZ(Δ^ε). A weighted Procrustes rotation then
    turns the result onto the target. Source and target may differ in dimension.

    =====================  ============================  =======================================================
    The paper              What it defines               Where it is (``linalg`` is `fipp.linalg`)
    =====================  ============================  =======================================================
    eq. (1)                the objective                 ``objective_``; `linalg.FilteredObjective`
    section 3.1.2          Δ^ε and NNZ(Δ^ε)              `linalg.is_kept`; `linalg.filtered_gram` sums it
    eqs. (3), (5)          G* = G_s + a Δ^ε∘(G_t − G_s)  `linalg.target_share` is a
    eq. (6)                G* of rank d2, positive part  `linalg.positive_root`, `linalg.target_gram_eigen`
    section 3.2.2, app. F  gradient descent              `linalg.descend`
    section 3.3            isotropic preprocessing       `fipp.preprocess.Isotropic`
    section 4.1            least squares for all words   the last lines of the solvers, ``aligners/_solvers.py``
    section 4.2            the weights of the pairs      `linalg.residual_weights`
    eq. (7)                the rotation Ω^W              `linalg.rotation`
    appendix B             several rounds                ``n_rounds``
    appendix C             self-learning                 ``aligners/_appendix_c.py``
    appendix E             γ = c² / NNZ(Δ^ε)             `linalg.transfer_weight` is γλ
    =====================  ============================  =======================================================

    ``aligners/_fipp_reference.py`` has all of it on one page, without regard for time and memory.

    Parameters
    ----------
    epsilon : float or None, default=0.1
        ε, within which inner products must agree to be used. None switches the filter off.
    lam : float, default=1.0
        λ, the weight of the target's inner products; it is scaled by γ, as in the paper's appendix E.
    solver : {"linear", "eigen", "sgd"}, default="linear"
        ``"linear"`` minimises over linear maps X̃_s = X_s W, which is what every word gets in the end: one pass over
        Gram tiles and one eigenproblem of dimension d1 (docs/mathematics.md). ``"eigen"`` is the published route: the
        leading eigenvectors of the c×c matrix G*, then least squares for the other words. ``"sgd"`` is Adam on the
        objective itself, starting at X_s (appendix F), then least squares.
    rank : {"full", "target"} or int, default="full"
        Rank of X̃_s before the rotation. ``"target"`` is d2, as published. ``"full"`` keeps all directions of the
        source until the rotation has seen the target, which is better when d1 > d2 and the same otherwise.
    preprocess : str, transformer or None, default="isotropic"
        Preprocessing of both sides; see `fipp.preprocess`.
    weighting : {"root", "published", "paper"} or None, default="root"
        Weights of the pairs in the Procrustes rotation, from the rows of G* − G_t: 1/√‖·‖, 1/‖·‖ as in the authors'
        code, 1/‖·‖² as in the paper's text, or none. The mildest was the best on held-out pairs.
    n_rounds : int, default=1
        How many times to align, each time starting from the aligned source (appendix B).
    self_learning : int, default=0
        How many pairs to add by comparing words through their inner products with the seed words (appendix C).
    self_learning_rule : {"mutual", "one-to-one", "one-way"}, default="mutual"
        Which pairs self-learning may add. ``"mutual"``: words that are each other's best. ``"one-to-one"``, as the
        authors' code does: the best target of a source word, unless it is in a known pair or was taken by a more
        similar pair. ``"one-way"``: the best target of a source word, however many words choose it.
    eigen_method : {"auto", "dense", "subspace"}, default="auto"
        For ``solver="eigen"``: a dense eigendecomposition, or block subspace iteration that starts at span[X_s, X_t],
        never forms a c×c matrix and approximates the eigenvectors. ``"auto"`` is dense up to 5,000 pairs.
    learning_rate : float, default=1e-3
        For ``solver="sgd"``: the length of Adam's steps.
    n_steps : int, default=1000
        For ``solver="sgd"``: the number of steps. The paper used 10,000.
    random_state : int, RandomState or None, default=0
        For ``solver="sgd"`` with d1 < d2, whose extra columns start as a little noise. Nothing else is random.
    max_memory : int or str, optional
        Working memory beside the vectors, such as ``"2GB"``.

    Attributes
    ----------
    map_ : ndarray of shape (d1, d2)
        The map of preprocessed vectors, rotation included. With d1 < d2, its rank is at most d1.
    kept_fraction_ : float
        Share of Gram entries that the filter kept.
    kept_per_pair_ : ndarray of shape (c + k,)
        The same for each pair, given pairs first, then ``induced_pairs_``: low for doubtful translations (appendix
        D.2).
    weights_ : ndarray of shape (c + k,)
        Weight of each pair in the rotation, given pairs first, then ``induced_pairs_``; the largest is 1.
    spectrum_ : ndarray of shape (r,)
        Eigenvalues of the aligned Gram matrix X̃_sX̃_sᵀ, as many as X̃_s has dimensions, falling. Calculated when first
        read.
    deviation_ : float
        Distance of X̃_s from the nearest rotation of X_s, relative to X_s (appendix D.1). Calculated when first read.
    objective_ : Objective
        Reconstruction and transfer loss of X̃_s and the weight γλ between them. Calculated when first read, which takes
        about as long as the fit. A model loaded from a file has it only if it was read before the model was saved.
    losses_ : ndarray of shape (n_steps + 1,)
        For ``solver="sgd"``, the objective at every step.
    induced_pairs_, induced_similarity_ : ndarray of shape (k, 2), (k,)
        Pairs that self-learning added, the most similar first, and their similarities.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import FIPP
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.standard_normal((500, 20))
    >>> X = Y @ rng.standard_normal((20, 12))     # the same items in a space of 12 dimensions
    >>> aligner = FIPP().fit(X, Y, pairs=[(i, i) for i in range(100)])
    >>> aligner.transform(X).shape, aligner.map_.shape
    ((500, 20), (12, 20))
    """

    # The grid of the paper.
    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {
        "epsilon": (0.01, 0.025, 0.05, 0.1, 0.15),
        "lam": (0.25, 0.5, 0.75, 1.0, 1.25),
    }

    calculated_before_saving: ClassVar[tuple[str, ...]] = ("deviation_", "spectrum_")

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "epsilon": [NOT_NEGATIVE, None],
        "lam": [NOT_NEGATIVE],
        "solver": [StrOptions({"linear", "eigen", "sgd"})],
        "rank": [StrOptions({"full", "target"}), AT_LEAST_1],
        "weighting": [StrOptions(set(_WEIGHT_POWERS)), None],
        "n_rounds": [AT_LEAST_1],
        "self_learning": [COUNT],
        "self_learning_rule": [StrOptions({"mutual", "one-to-one", "one-way"})],
        "eigen_method": [StrOptions({"auto", "dense", "subspace"})],
        "learning_rate": [POSITIVE],
        "n_steps": [COUNT],
        "random_state": ["random_state"],
        "max_memory": MEMORY,
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **BaseAligner._fitted_constraints,
        "kept_fraction_": [SHARE],
        "kept_per_pair_": "float64 f",
        "weights_": "float64 f",
        "spectrum_?": "float64 r",
        "deviation_?": [Real],
        "objective_?": Objective,
        "losses_?": "float64 steps",
        "induced_similarity_?": "float32 i",
    }

    def __init__(
        self,
        epsilon: float | None = 0.1,
        lam: float = 1.0,
        *,
        solver: Literal["linear", "eigen", "sgd"] = "linear",
        rank: Literal["full", "target"] | int = "full",
        preprocess: Any = "isotropic",
        weighting: Literal["root", "published", "paper"] | None = "root",
        n_rounds: int = 1,
        self_learning: int = 0,
        self_learning_rule: Rule = "mutual",
        eigen_method: Literal["auto", "dense", "subspace"] = "auto",
        learning_rate: float = 1e-3,
        n_steps: int = 1000,
        random_state: int | np.random.RandomState | None = 0,
        max_memory: int | str | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.lam = lam
        self.solver = solver
        self.rank = rank
        self.preprocess = preprocess
        self.weighting = weighting
        self.n_rounds = n_rounds
        self.self_learning = self_learning
        self.self_learning_rule = self_learning_rule
        self.eigen_method = eigen_method
        self.learning_rate = learning_rate
        self.n_steps = n_steps
        self.random_state = random_state
        self.max_memory = max_memory

    @classmethod
    def published(cls, epsilon: float | None = 0.05, lam: float = 1.0, **settings: Any) -> Self:
        """Return the method as its authors published it.

        All settings are those of their code; for the paper they chose ε and λ for each pair of languages. Their code
        differs in two ways: it adds one pair more than ``self_learning`` says, and it fails if G* has fewer than d2
        positive eigenvalues, where the missing directions are dropped here. Beyond 5,000 pairs, eigenvectors are
        approximated by iteration unless ``eigen_method="dense"`` is given.

        Parameters
        ----------
        epsilon, lam : float
            ε and λ.
        **settings
            Further settings, which replace the published ones. ``self_learning=14000`` is the paper's FIPP + SL.

        Returns
        -------
        FIPP

        Examples
        --------
        >>> from fipp import FIPP
        >>> FIPP.published(self_learning=14000)
        FIPP(epsilon=0.05, rank='target', self_learning=14000,
             self_learning_rule='one-to-one', solver='eigen',
             weighting='published')
        """
        published: dict[str, Any] = {
            "solver": "eigen",
            "rank": "target",
            "preprocess": "isotropic",
            "weighting": "published",
            "self_learning_rule": "one-to-one",
        }
        return cls(epsilon, lam, **(published | settings))

    @cached_property
    @single_threaded_blas
    def objective_(self) -> Objective:
        """Reconstruction and transfer loss of X̃_s, and the weight γλ between them."""
        X_s, X_t, aligned = self.seed_vectors()
        weight = transfer_weight(self.kept_fraction_, self.lam)
        return FilteredObjective(X_s, X_t, self._threshold, weight, self.max_memory)(aligned)

    @cached_property
    @single_threaded_blas
    def deviation_(self) -> float:
        """Distance of X̃_s from the nearest rotation of X_s, relative to X_s."""
        X_s, _, aligned = self.seed_vectors()
        return deviation_from_orthogonal(X_s, aligned)

    @cached_property
    @single_threaded_blas
    def spectrum_(self) -> NDArray[np.float64]:
        """Eigenvalues of the aligned Gram matrix X̃_sX̃_sᵀ, as many as X̃_s has dimensions, falling."""
        _, _, aligned = self.seed_vectors()
        return np.maximum(np.linalg.eigvalsh(cross_products(aligned, aligned))[::-1], 0)

    def seed_vectors(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Return X_s, X_t and X̃_s, the preprocessed and the aligned vectors of the pairs it was fitted on.

        Returns
        -------
        X_s, X_t, aligned : ndarray of shape (c, d1), (c, d2), (c, r)
            X̃_s before its rotation. A model that was copied or loaded from a file does not have them.

        Examples
        --------
        >>> import numpy as np
        >>> from fipp import FIPP
        >>> X = np.random.default_rng(0).standard_normal((50, 8))
        >>> [vectors.shape for vectors in FIPP().fit(X, X[:, :6]).seed_vectors()]
        [(50, 8), (50, 6), (50, 8)]
        """
        if not hasattr(self, "_seed"):
            raise AttributeError("the seed vectors are known only where the model was fitted, not in a copy or a file")
        X_s, X_t, solution = self._seed
        return X_s, X_t, X_s @ solution.W.astype(np.float32) if solution.aligned is None else solution.aligned

    def _extend_pairs(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> NDArray[np.int64]:
        if not self.self_learning:
            return self.pairs_
        self.induced_pairs_, self.induced_similarity_ = induce_pairs(
            self.source_preprocess_.transform(X),
            self.target_preprocess_.transform(Y),
            self.pairs_,
            self.self_learning,
            rule=self.self_learning_rule,
            max_memory=self.max_memory,
            progress=progress,
        )
        return np.concatenate([self.pairs_, self.induced_pairs_])

    def _fit_seed(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> None:
        solve, rank = SOLVERS[self.solver], self._rank_of(X_s, X_t)
        # Δ^ε, NNZ(Δ^ε) and Qᵀ(Δ^ε∘(G_t − G_s))Q in one pass over tiles of both Gram matrices.          (section 3.1.2)
        (first,) = filtered_seeds(X_s, X_t, [self._threshold], self, progress)
        # X̃_s X̃_sᵀ: the positive part, of that rank, of G* = G_s + a Δ^ε∘(G_t − G_s), a = γλ / (1 + γλ).     (eqs. 5, 6)
        # W: the linear map that takes every word where X̃_s takes the seed words.                         (section 4.1)
        seed, solution = first, solve(first, rank, self, progress)
        W = solution.W
        for _ in range(self.n_rounds - 1):  # again, from the aligned source on (appendix B)
            (seed,) = filtered_seeds(X_s @ W.astype(np.float32), X_t, [self._threshold], self, progress)
            solution = solve(seed, self._rank_of(seed.X_s, X_t), self, progress)
            W = W @ solution.W
        # map_ = W Ω^W, Ω^W the rotation that brings weighted pairs closest together.                            (eq. 7)
        self._rotate_onto_target(first, replace(solution, W=W), seed.gram)

    @single_threaded_blas
    def _rotate_onto_target(self, seed: Seed, solution: Solution, gram: FilteredGram) -> None:
        """Set ``map_`` and the other fitted attributes; ``gram``, that of the last round, has the rows of G* − G_t."""
        X_s, X_t, W = seed.X_s, seed.X_t, solution.W
        # The weights of the pairs, from the rows of G* − G_t.                                            (section 4.2)
        self.weights_ = self._weights(gram.residual_norms(self.lam))
        # Ω^W = UVᵀ, found for what words get in the end, X_s W, as in the authors' code.                        (eq. 7)
        omega = rotation(W.T @ cross_products(X_s, X_t, np.square(self.weights_)))
        self.map_ = (W @ omega).astype(np.float32)
        self.kept_fraction_, self.kept_per_pair_ = seed.gram.kept_fraction, seed.gram.kept / len(X_s)
        if solution.losses is not None:
            self.losses_ = solution.losses
        self._seed = X_s, X_t, solution
        self._warn(len(X_s), *self.map_.shape)

    @property
    def path_settings(self) -> tuple[str, ...]:
        """Names of the settings whose values share one pass in `fit_many`: ε and λ, for the linear solver."""
        return ("epsilon", "lam") if self.solver == "linear" and self.n_rounds == 1 else ()

    def _fit_together(
        self, copies: list[Self], X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None
    ) -> None:
        thresholds = list(dict.fromkeys(copy._threshold for copy in copies))
        seeds = dict(zip(thresholds, filtered_seeds(X_s, X_t, thresholds, self, progress), strict=True))

        def solve(copy: Self) -> None:
            seed = seeds[copy._threshold]
            solution = SOLVERS["linear"](seed, self._rank_of(X_s, X_t), copy, None)
            copy._rotate_onto_target(seed, solution, seed.gram)

        for _ in ordered_map(solve, copies):
            pass

    @property
    def _threshold(self) -> float:
        return np.inf if self.epsilon is None else float(self.epsilon)

    def _rank_of(self, X_s: NDArray[Any], X_t: NDArray[Any]) -> int:
        d1, d2 = X_s.shape[1], X_t.shape[1]
        if isinstance(self.rank, str):
            return max(d1, d2) if self.rank == "full" else d2
        return self.rank

    def _weights(self, residual_norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight of each pair in the rotation: the more both spaces agree on it, the greater."""
        if self.weighting is None:
            return np.ones_like(residual_norms)
        return residual_weights(residual_norms) ** _WEIGHT_POWERS[self.weighting]

    def _warn(self, c: int, d1: int, d2: int) -> None:
        if self.kept_fraction_ == 0:
            warn(
                f"the filter kept no inner product at ε = {self.epsilon}: the source is only rotated. Take a larger "
                "epsilon"
            )
        if c < d1:
            warn(
                f"{c} pairs are fewer than the source's {d1} dimensions: directions that no seed word has are mapped "
                "to zero. More pairs, or self_learning, will help"
            )
        stretch = self._stretch() if self.solver != "linear" and c < _FEW_PAIRS * max(d1, d2) else 1.0
        if stretch > _STRETCHED:
            warn(
                f"solver='{self.solver}' stretches one direction {stretch:.1f} times as much as the middle one: {c} "
                "pairs hardly determine it, and a rotation would translate better. Take solver='linear', or "
                f"{_FEW_PAIRS * max(d1, d2)} pairs and more"
            )

    def _stretch(self) -> float:
        """Return the largest singular value of the map as a multiple of the median one, zeros left out."""
        stretches = np.linalg.svd(self.map_.astype(np.float64), compute_uv=False)
        used = stretches[stretches > 1e-6 * stretches.max(initial=0)]
        return float(used[0] / np.median(used)) if len(used) else 1.0

    def __getstate__(self) -> dict[str, Any]:
        # The seed vectors serve `objective_` only, and are much larger than the model.
        return {name: value for name, value in super().__getstate__().items() if name != "_seed"}
