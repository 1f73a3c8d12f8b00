"""Filtered Inner Product Projection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from fipp.aligners._appendix_c import Rule, induce_pairs
from fipp.aligners._base import BaseAligner
from fipp.aligners._solvers import Solution, descent_map, eigen_map, linear_map
from fipp.exceptions import FippError, warn
from fipp.linalg import (
    FilteredGram,
    FilteredObjective,
    Objective,
    Progress,
    cross_products,
    deviation_from_orthogonal,
    filtered_gram,
    ordered_map,
    residual_weights,
    rotation,
    single_threaded_blas,
    thin_svd,
)

_WEIGHT_POWERS = {"root": 0.5, "published": 1.0, "paper": 2.0}
# The published route divides by small eigenvalues of G* where pairs are fewer than about this many times the larger
# dimension; it then stretches some directions several times as much as the others.
_FEW_PAIRS, _STRETCHED = 2, 2.0


class FIPP(BaseAligner):
    r"""Filtered Inner Product Projection (Sachidananda, Yang and Zhu, ICLR 2021).

    Pulls the Gram matrix of the source's seed words towards the target's, where both agree within ε, and finds the
    vectors, and with them the linear map, that realise it:

    .. math:: \min_{X̃_s} \|X̃_s X̃_s^\top - X_s X_s^\top\|_F^2
              + γλ \|Δ^ε ∘ (X̃_s X̃_s^\top - X_t X_t^\top)\|_F^2

    with Δ^ε_ij = 1 where \|(X_sX_sᵀ − X_tX_tᵀ)_ij\| < ε and γ = c²/NNZ(Δ^ε). A weighted Procrustes rotation then
    turns the result onto the target. Source and target may differ in dimension.

    Parameters
    ----------
    epsilon : float or None, default=0.1
        ε, within which inner products must agree to be used. None switches the filter off.
    lam : float, default=1.0
        λ, the weight of the target's inner products; it is scaled by γ, as in the paper's appendix E.
    solver : {"linear", "eigen", "sgd"}, default="linear"
        ``"linear"`` minimises over what the method delivers for every word in the end, linear maps X̃_s = X_s W: one
        pass over Gram tiles and one eigenproblem of dimension d1. ``"eigen"`` is the published route: the leading
        eigenvectors of the c×c matrix G*, then least squares for the other words. ``"sgd"`` is Adam on the objective
        itself, from X_s on (appendix F), then least squares. Both G* solvers are exact for unconstrained Gram
        matrices; the linear one is G* restricted to the span of X_s, which costs nothing that the final linear map
        could have kept. See docs/linear-solver.md.
    rank : {"full", "target"} or int, default="full"
        Rank of X̃_s before the rotation. ``"target"`` is d2, as published. ``"full"`` keeps all directions of the
        source until the rotation has seen the target, which is better when d1 > d2 and the same otherwise.
    preprocess : str, transformer or None, default="isotropic"
        See `fipp.preprocess`; None switches it off.
    weighting : {"root", "published", "paper"} or None, default="root"
        Weights of the pairs in the Procrustes rotation, from the rows of G* − G_t: 1/√‖·‖, 1/‖·‖ as in the authors'
        code, 1/‖·‖² as the paper says, or none. The mildest was the best on held-out pairs.
    n_rounds : int, default=1
        How often to repeat, each time from the aligned source (appendix B).
    self_learning : int, default=0
        How many pairs to add by comparing words through their inner products with the seed words (appendix C).
    self_learning_rule : {"mutual", "one-to-one", "one-way"}, default="mutual"
        Which pairs self-learning may add. ``"mutual"``: words that are each other's best. ``"one-to-one"``, as the
        authors' code does: the best target of a source word, unless it is in a known pair or was taken by a more
        similar pair. ``"one-way"``: the best target of a source word, however many words choose it.
    eigen_method : {"auto", "dense", "subspace"}, default="auto"
        For ``solver="eigen"``: a dense eigendecomposition, or block subspace iteration from span[X_s, X_t] on, which
        never makes a c×c matrix but only approaches the eigenvectors. ``"auto"`` is dense up to 5,000 pairs.
    learning_rate : float, default=1e-3
        For ``solver="sgd"``.
    n_steps : int, default=1000
        For ``solver="sgd"``; the paper took 10,000.
    random_state : int, RandomState or None, default=0
        For ``solver="sgd"`` with d1 < d2, whose extra columns start as a little noise. Nothing else is random.
    max_memory : int or str, optional
        Working memory beside the vectors, such as ``"2GB"``.

    Attributes
    ----------
    map_ : ndarray of shape (d1, d2)
        The map of preprocessed vectors, rotation included. With d1 < d2 the mapped vocabulary has rank d1 at most;
        the equal rank of the paper holds for X̃_s of the seed pairs only.
    pairs_ : ndarray of shape (c, 2)
        The given pairs.
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
        How far X̃_s is from the nearest rotation of X_s, relative to it (appendix D.1). Calculated when first read.
    objective_ : Objective
        Reconstruction and transfer loss of X̃_s and the weight γλ between them. Calculated when first read, which takes
        about as long as the fit; a model read from a file has it if it was read before the model was saved.
    losses_ : ndarray of shape (n_steps + 1,)
        For ``solver="sgd"``, the objective at every step.
    induced_pairs_ : ndarray of shape (k, 2)
        Pairs that self-learning added, the most similar first.
    induced_similarity_ : ndarray of shape (k,)
        Their similarities; only with self-learning.
    source_preprocess_, target_preprocess_ : transformers
        Fitted preprocessing of either side.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "epsilon": [Interval(Real, 0, None, closed="left"), None],
        "lam": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"linear", "eigen", "sgd"})],
        "rank": [StrOptions({"full", "target"}), Interval(Integral, 1, None, closed="left")],
        "preprocess": "no_validation",
        "weighting": [StrOptions(set(_WEIGHT_POWERS)), None],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "self_learning": [Interval(Integral, 0, None, closed="left")],
        "self_learning_rule": [StrOptions({"mutual", "one-to-one", "one-way"})],
        "eigen_method": [StrOptions({"auto", "dense", "subspace"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "n_steps": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
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

        Solver, rank, weights, preprocessing and the rule of self-learning are those of their code, and so are the
        defaults of ε and λ, which they chose for each pair of languages in the paper. What differs from their code: it
        adds one pair more than ``self_learning`` says, and it fails where G* has fewer than d2 positive eigenvalues;
        here the other directions are dropped. Beyond 5,000 pairs, eigenvectors are approached by iteration, unless
        ``eigen_method="dense"`` is given.

        Parameters
        ----------
        epsilon, lam : float
            ε and λ.
        **settings
            Further settings, ``self_learning=14000`` for the paper's FIPP + SL. They replace the published ones.

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
        X_s, X_t, aligned = self._seed_vectors()
        weight = self.lam / self.kept_fraction_ if self.kept_fraction_ else 0.0
        return FilteredObjective(X_s, X_t, self._threshold, weight, self.max_memory)(aligned)

    @cached_property
    @single_threaded_blas
    def deviation_(self) -> float:
        """How far X̃_s is from the nearest rotation of X_s, relative to it."""
        X_s, _, aligned = self._seed_vectors()
        return deviation_from_orthogonal(X_s, aligned)

    @cached_property
    @single_threaded_blas
    def spectrum_(self) -> NDArray[np.float64]:
        """Eigenvalues of the aligned Gram matrix X̃_sX̃_sᵀ, as many as X̃_s has dimensions, falling."""
        _, _, aligned = self._seed_vectors()
        return np.maximum(np.linalg.eigvalsh(cross_products(aligned, aligned))[::-1], 0)

    def _seed_vectors(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Return X_s, X_t and X̃_s."""
        if not hasattr(self, "_seed"):
            raise AttributeError("this is known only where the model was fitted, with its seed vectors")
        X_s, X_t, solution = self._seed
        return X_s, X_t, X_s @ solution.W.astype(np.float32) if solution.aligned is None else solution.aligned

    def fit_path(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        pairs: ArrayLike | None = None,
        *,
        epsilons: Sequence[float | None],
        lams: Sequence[float],
        progress: Progress | None = None,
    ) -> list[Self]:
        """Fit a whole grid of ε and λ in one pass over the Gram tiles.

        Parameters
        ----------
        X, Y, pairs, progress
            As for `fit`.
        epsilons, lams : sequences of float
            The grid; an ε may be None.

        Returns
        -------
        list of FIPP
            A fitted aligner for each ε and λ, λ changing fastest.

        Examples
        --------
        >>> import numpy as np
        >>> from fipp import FIPP
        >>> X = np.random.default_rng(0).standard_normal((50, 8))
        >>> [(a.epsilon, a.lam) for a in FIPP().fit_path(X, X[:, ::-1], epsilons=[0.05, 0.1], lams=[1.0])]
        [(0.05, 1.0), (0.1, 1.0)]
        """
        if not self.path_settings:
            raise FippError("a path of settings shares its work with solver='linear' and one round only")
        grid = [clone(self).set_params(epsilon=epsilon, lam=lam) for epsilon in epsilons for lam in lams]
        for aligner in grid:
            aligner._validate_params()
        shared = clone(self)
        X_s, X_t = shared._prepare(X, Y, pairs, progress)
        factors = thin_svd(X_s)
        thresholds = list(dict.fromkeys(aligner._threshold for aligner in grid))
        grams = filtered_gram(X_s, X_t, factors.Q, thresholds, max_memory=self.max_memory, progress=progress)
        gram_of = dict(zip(thresholds, grams, strict=True))

        def solve(fitted: Self) -> Self:
            for name, value in vars(shared).items():
                if name.endswith("_"):
                    setattr(fitted, name, value)
            gram = gram_of[fitted._threshold]
            fitted._keep(X_s, X_t, linear_map(factors, gram, fitted.lam, self._rank_of(X_s, X_t)), gram)
            return fitted

        return list(ordered_map(solve, grid))

    @property
    def path_settings(self) -> tuple[str, ...]:
        """Names of the settings whose values share most of the work in `fit_many`: ε and λ, where there is a path."""
        return ("epsilon", "lam") if self.solver == "linear" and self.n_rounds == 1 else ()

    def fit_many(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        pairs: ArrayLike | None = None,
        *,
        settings: Sequence[Mapping[str, Any]],
        progress: Progress | None = None,
    ) -> list[Self]:
        """Fit a copy of this aligner for each of several settings: by `fit_path` if they differ in ε and λ only.

        Parameters
        ----------
        X, Y, pairs, progress
            As for `fit`.
        settings : sequence of dict
            What each copy has other than this aligner.

        Returns
        -------
        list of FIPP
            Fitted, in the order of ``settings``.
        """
        if not self.path_settings or not all(set(changed) <= set(self.path_settings) for changed in settings):
            return super().fit_many(X, Y, pairs, settings=settings, progress=progress)
        wanted = [(changed.get("epsilon", self.epsilon), changed.get("lam", self.lam)) for changed in settings]
        path = self.fit_path(
            X,
            Y,
            pairs,
            epsilons=list(dict.fromkeys(epsilon for epsilon, _ in wanted)),
            lams=list(dict.fromkeys(lam for _, lam in wanted)),
            progress=progress,
        )
        fitted = {(aligner.epsilon, aligner.lam): aligner for aligner in path}
        return [fitted[pair] for pair in wanted]

    @property
    def _threshold(self) -> float:
        return np.inf if self.epsilon is None else float(self.epsilon)

    def _rank_of(self, X_s: NDArray, X_t: NDArray) -> int:
        d1, d2 = X_s.shape[1], X_t.shape[1]
        if isinstance(self.rank, str):
            return max(d1, d2) if self.rank == "full" else d2
        return self.rank

    def _extend_pairs(self, X: NDArray, Y: NDArray, progress: Progress | None) -> NDArray[np.int64]:
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
        first = solution = self._solve(X_s, X_t, progress)
        W = solution.W
        for _ in range(self.n_rounds - 1):
            solution = self._solve(X_s @ W.astype(np.float32), X_t, progress)
            W = W @ solution.W
        self._keep(X_s, X_t, replace(solution, W=W), first.gram)

    def _solve(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> Solution:
        rank, threshold = self._rank_of(X_s, X_t), self._threshold
        shared: dict[str, Any] = {"max_memory": self.max_memory, "progress": progress}
        if self.solver == "linear":
            factors = thin_svd(X_s)
            (gram,) = filtered_gram(X_s, X_t, factors.Q, [threshold], **shared)
            return linear_map(factors, gram, self.lam, rank)
        if self.solver == "eigen":
            return eigen_map(X_s, X_t, threshold, self.lam, rank, method=self.eigen_method, **shared)
        return descent_map(
            X_s,
            X_t,
            threshold,
            self.lam,
            rank,
            learning_rate=self.learning_rate,
            n_steps=self.n_steps,
            random_state=check_random_state(self.random_state),
            **shared,
        )

    @single_threaded_blas
    def _keep(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], solution: Solution, gram: FilteredGram) -> None:
        """Rotate the solution onto the target and set the fitted attributes; ``gram`` is that of X_s itself."""
        c = len(X_s)
        self.weights_ = self._weights(solution.gram.residual_norms(self.lam))
        # The rotation is found for what words get in the end, X_s W, as the authors' code does.
        omega = rotation(solution.W.T @ cross_products(X_s, X_t, np.square(self.weights_)))
        self.map_ = (solution.W @ omega).astype(np.float32)
        self.kept_fraction_, self.kept_per_pair_ = gram.kept_fraction, gram.kept / c
        if solution.losses is not None:
            self.losses_ = solution.losses
        self._seed = X_s, X_t, solution
        self._warn(c, *self.map_.shape)

    def _weights(self, residual_norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return W of the rotation: pairs on whose inner products both spaces agree count for more."""
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
