"""Couplings of two sets of vectors by their inner products alone."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError
from fipp.linalg import Progress, single_threaded_blas

Matrix = NDArray[np.float64]

# Each linearised problem starts where the last one ended, so that few rounds of Sinkhorn do.
_SINKHORN_ROUNDS = 100
_SINKHORN_TOLERANCE = 1e-7
# Of the whole mass, how much may be out of place in the end.
_MISPLACED = 0.05


class Coupling(NamedTuple):
    """How much of each source item goes to each target item, and how it was found."""

    gamma: Matrix
    """Γ, of shape (n, m)."""
    cross: Matrix
    """AᵀΓB, of shape (d1, d2)."""
    distance: float
    n_iter: int
    converged: bool


@single_threaded_blas
def couple(
    A: Matrix, B: Matrix, epsilon: float, n_iterations: int, tolerance: float, progress: Progress | None = None
) -> Coupling:
    r"""Solve the entropic Gromov-Wasserstein problem of the inner products of A and of B, all items of equal weight.

    With C_s = AAᵀ and C_t = BBᵀ, and given marginals, only −2⟨C_s Γ C_t, Γ⟩ = −2 \|AᵀΓB\|² depends on Γ. Its gradient
    −4 A(AᵀΓB)Bᵀ takes nmd steps, where general similarities take n²m: each round (Peyré, Cuturi and Solomon, ICML
    2016) solves the transport problem with the gradient as its cost. Γ is uniform at first.

    Examples
    --------
    >>> A = np.array([[3.0], [1.0], [0.0]])
    >>> found = couple(A, A[::-1].copy(), 0.1, 100, 1e-6)
    >>> found.gamma.argmax(axis=1), round(found.distance, 2), found.converged
    (array([2, 1, 0]), 0.0, True)
    """
    ot = transport()
    p, q = np.full(len(A), 1 / len(A)), np.full(len(B), 1 / len(B))
    cross = np.outer(p @ A, q @ B)
    f, g = np.zeros(len(A)), np.zeros(len(B))
    gamma, converged, round_ = np.outer(p, q), False, 0
    while round_ < n_iterations and not converged:
        gamma, f, g = _transport_step(ot, (p, q), -4 * (A @ cross) @ B.T, (f, g), epsilon)
        last, cross = cross, A.T @ gamma @ B
        converged = bool(np.linalg.norm(cross - last) <= tolerance * np.linalg.norm(cross))
        round_ += 1
        if progress is not None:
            progress(n_iterations if converged else round_, n_iterations)
    if max(np.abs(gamma.sum(axis=1) - p).sum(), np.abs(gamma.sum(axis=0) - q).sum()) > _MISPLACED:
        raise _too_small(epsilon)
    return Coupling(gamma, cross, _distance(A, B, cross), round_, converged)


def _transport_step(
    ot: Any, weights: tuple[Matrix, Matrix], cost: Matrix, potentials: tuple[Matrix, Matrix], epsilon: float
) -> tuple[Matrix, Matrix, Matrix]:
    """Solve one entropic transport problem; give the coupling and the potentials, where the next one starts."""
    # Potentials change nothing in the solution. Those of the last problem, taken off the cost, leave little to do, and
    # exponents near zero; the minimum keeps exp(−cost/ε) from overflowing where they do not fit yet.
    f, g = potentials
    cost -= f[:, None]
    cost -= g
    cost -= cost.min()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # that numbers vanished, which is looked at below
        gamma, log = ot.sinkhorn(
            *weights, cost, epsilon, numItermax=_SINKHORN_ROUNDS, stopThr=_SINKHORN_TOLERANCE, log=True, warn=False
        )
        f, g = f + epsilon * np.log(log["u"]), g + epsilon * np.log(log["v"])
    if not (np.isfinite(gamma).all() and np.isfinite(f).all() and np.isfinite(g).all()):
        raise _too_small(epsilon)
    return gamma, f, g


def _too_small(epsilon: float) -> FippError:
    return FippError(
        f"epsilon={epsilon:g} is too small for these vectors: the coupling cannot be calculated in double precision. "
        f"Take a larger one, such as {10 * epsilon:g}"
    )


def _distance(A: Matrix, B: Matrix, cross: Matrix) -> float:
    """Return Σ (C_s,ik − C_t,jl)² Γ_ij Γ_kl."""
    own = [np.square(side.T @ side).sum() / len(side) ** 2 for side in (A, B)]
    return float(own[0] + own[1] - 2 * np.square(cross).sum())


def transport() -> Any:
    """Import POT, or say how to get it."""
    try:
        return import_module("ot")
    except ImportError as error:
        raise FippError("Gromov-Wasserstein alignment needs the package POT: pip install 'fipp[ot]'") from error
