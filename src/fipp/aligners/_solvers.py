r"""Three ways to the map before its rotation: over linear maps, as published, and by gradient descent.

All of them minimise, exactly or nearly, the objective (1) of the paper over X̃_s,

    \|X̃_s X̃_sᵀ − G_s\|² + γλ \|Δ∘(X̃_s X̃_sᵀ − G_t)\|²,

whose unconstrained minimiser is G* = G_s + a Δ∘(G_t − G_s) with a = γλ / (1 + γλ) (eqs. 3 and 5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fipp._progress import Progress
from fipp.linalg import (
    FilteredGram,
    FilteredObjective,
    GramTiles,
    ThinFactors,
    descend,
    filtered_gram,
    positive_root,
    single_threaded_blas,
    target_gram_eigen,
    target_share,
    thin_svd,
    transfer_weight,
)

if TYPE_CHECKING:
    from fipp.aligners._fipp import FIPP


class Seed(NamedTuple):
    """The vectors of the seed pairs, and the sums over their filtered Gram matrices for one ε."""

    X_s: NDArray[np.float32]
    X_t: NDArray[np.float32]
    gram: FilteredGram
    factors: ThinFactors | None
    """X_s = Q diag(σ) Vᵀ, for the linear solver."""


@dataclass(frozen=True)
class Solution:
    """A map W of shape (d1, r) before its rotation; X_s W is rotated onto X_t afterwards."""

    W: NDArray[np.float64]
    aligned: NDArray[np.float32] | None = None
    """X̃_s if it is not X_s W."""
    losses: NDArray[np.float64] | None = None
    """The objective at each step of the descent."""


def filtered_seeds(
    X_s: NDArray[np.float32],
    X_t: NDArray[np.float32],
    epsilons: Sequence[float],
    settings: FIPP,
    progress: Progress | None,
) -> list[Seed]:
    """Compare both Gram matrices of the seed in one pass over their tiles, for several ε."""
    if settings.solver != "linear":  # the others need the row sums only, and their long part comes later
        grams = filtered_gram(X_s, X_t, None, epsilons, max_memory=settings.max_memory)
        return [Seed(X_s, X_t, gram, None) for gram in grams]
    factors = thin_svd(X_s)
    grams = filtered_gram(X_s, X_t, factors.Q, epsilons, max_memory=settings.max_memory, progress=progress)
    return [Seed(X_s, X_t, gram, factors) for gram in grams]


@single_threaded_blas
def linear_map(seed: Seed, rank: int, settings: FIPP, progress: Progress | None = None) -> Solution:
    """Minimise over linear maps X̃_s = X_s W, given X_s = Q diag(σ) Vᵀ and the one pass over Gram tiles.

    The seed is completed by one virtual pair along each axis, of the seed's mean length √α, on whose inner products
    both spaces agree: [X_s; √α I] has the singular values r = √(σ² + α), and Q diag(σ/r) are the seed's rows in its
    basis. With R = diag(r)Vᵀ the best R W Wᵀ Rᵀ is the positive part of diag(r²) + a diag(σ/r) Qᵀ(Δ∘(G_t − G_s))Q
    diag(σ/r), an eigenproblem of the source's dimension. Where the seed has little, W is close to the identity instead
    of dividing by next to nothing; directions in which it has nothing are mapped to zero.
    """
    assert seed.factors is not None  # `filtered_seeds` provides them for this solver
    Q, sigma, V = seed.factors
    r = np.sqrt(sigma**2 + np.sum(sigma**2) / max(len(Q), 1))  # α = ‖X_s‖² / c
    covered = sigma / r
    # G* in the coordinates of the completed seed.                                                            (eq. 5)
    a = target_share(seed.gram.kept_fraction, settings.lam)
    M = np.diag(r**2) + a * seed.gram.transfer * np.outer(covered, covered)
    # R W Wᵀ Rᵀ = its positive part of that rank.                                                             (eq. 6)
    return Solution((V / r) @ positive_root(M, rank))


def eigen_map(seed: Seed, rank: int, settings: FIPP, progress: Progress | None = None) -> Solution:
    """Minimise as published: X̃_s from the leading eigenvectors of G*, then least squares for all other words."""
    X_s, X_t, gram, _ = seed
    a = target_share(gram.kept_fraction, settings.lam)
    # X̃_s = Q √Λ for the leading positive eigenpairs of G*.                                               (eqs. 5, 6)
    values, vectors = target_gram_eigen(
        GramTiles(X_s, X_t, settings.max_memory),
        gram.epsilon,
        a,
        rank,
        method=settings.eigen_method,
        max_memory=settings.max_memory,
        progress=progress,
    )
    # (X̃_sᵀX̃_s)⁻¹ X̃_sᵀ X_s: a division, because X̃_sᵀX̃_s = Λ is diagonal.                             (section 4.1)
    W = (X_s.T @ vectors).astype(np.float64) / np.sqrt(values)
    return Solution(W, aligned=vectors * np.sqrt(values).astype(np.float32))


def descent_map(seed: Seed, rank: int, settings: FIPP, progress: Progress | None = None) -> Solution:
    """Minimise with Adam from X_s on (section 3.2.2, appendix F), then project by least squares."""
    X_s, X_t, gram, _ = seed
    weight = transfer_weight(gram.kept_fraction, settings.lam)
    objective = FilteredObjective(X_s, X_t, gram.epsilon, weight, settings.max_memory)  # (eq. 1)
    aligned, losses = descend(
        objective,
        _resized(X_s, rank, check_random_state(settings.random_state)),
        learning_rate=settings.learning_rate,
        n_steps=settings.n_steps,
        progress=progress,
    )
    # (X̃_sᵀX̃_s)⁻¹ X̃_sᵀ X_s, by X̃_s = Q diag(σ) Vᵀ.                                                   (section 4.1)
    Q, sigma, V = thin_svd(aligned)
    W = (X_s.T @ Q).astype(np.float64) / sigma @ V.T
    return Solution(W, aligned, losses)


Solver = Callable[[Seed, int, "FIPP", Progress | None], Solution]

SOLVERS: dict[str, Solver] = {"linear": linear_map, "eigen": eigen_map, "sgd": descent_map}


def _resized(X: NDArray[np.float32], n_columns: int, random_state: np.random.RandomState) -> NDArray[np.float32]:
    """Return ``X`` with this many columns: its leading directions, or itself with a little noise beside it."""
    n_rows, d = X.shape
    if n_columns == d:
        return X
    if n_columns < d:
        return X @ thin_svd(X).V[:, :n_columns].astype(np.float32)
    # A column of zeros has no gradient and would stay zero.
    noise = 1e-3 * random_state.standard_normal((n_rows, n_columns - d)).astype(np.float32)
    return np.concatenate([X, noise], axis=1)
