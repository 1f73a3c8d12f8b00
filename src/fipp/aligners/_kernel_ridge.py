"""Kernel ridge regression from source to target, with everything chosen by leaving each pair out in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from fipp._progress import Progress, Steps
from fipp.aligners._base import BaseAligner
from fipp.aligners._constraints import AT_LEAST_1, AUTO, COUNT, NOT_NEGATIVE, POSITIVE
from fipp.linalg import affine, single_threaded_blas, unit_rows

# Penalties that "auto" tries, relative to the mean eigenvalue of the kernel.
_PENALTIES = tuple(10.0 ** (step / 2) for step in range(-12, 5))
# Directions of the kernel that are smaller than this, relative to the largest, are rounding errors.
_SMALLEST = 1e-7


class KernelRidge(BaseAligner):
    r"""Kernel ridge regression: a smooth map from source to target that need not be linear.

    .. math:: ŷ(x) = p(x) + b + \sum_j k(x, l_j)\,c_j, \quad
              \min_{b, c} \ \sum_i \|ŷ(x_i) - y_i\|^2 + α \sum_{jj'} k(l_j, l_{j'})\, c_j · c_{j'}

    The landmarks l are the source vectors of the known pairs, k(x, l) = exp(−γ‖x − l‖²), and p is what is assumed of
    words that are far from all of them: nothing, or that both spaces share their axes, as two versions of a model do,
    or as many of them as the smaller one has, as shortened vectors of a model and its whole ones do. With
    ``kernel="linear"``, k is the inner product, and the map is xW + b. The target is left as it is.

    It is the method for replacing an embedding model: from a thousand pairs on it keeps on average more of the new
    model's neighbours than any linear map (docs/results/migration.md). Everything is chosen by the mean cosine of ŷ(x)
    and y when each pair is left out in turn, which needs no refitting.

    Parameters
    ----------
    kernel : {"rbf", "linear"}, default="rbf"
        k. A linear map is smaller and many times as fast; see ``landmarks``.
    gamma : float, default=0.5
        γ. Vectors are of unit length by default, so that ‖x − l‖² is between 0 and 4.
    ridge : float or "auto", default="auto"
        α, as a multiple of the mean eigenvalue of the kernel of the pairs.
    prior : {"auto", "zero", "identity"}, default="auto"
        p: 0, or x itself, cut or filled with zeros to the dimensions of the target. ``"auto"`` tries both.
    landmarks : int, default=2000
        At most this many pairs, drawn at random, are landmarks. Mapping a vector takes ``landmarks · (d1 + d2)``
        multiply-adds, a linear map d1 · d2.
    preprocess : str, transformer or None, default="unit"
        Preprocessing of both sides; see `fipp.preprocess`.
    random_state : int, default=0
        Decides which pairs are landmarks if there are too many.

    Attributes
    ----------
    map_, offset_ : ndarray of shape (d1, d2), (d2,)
        W or the matrix of p, and b.
    landmarks_, coefficients_ : ndarray of shape (m, d1), (m, d2)
        l and c; none with a linear kernel.
    ridge_ : float
        The ridge that was used.
    prior_ : str
        The prior that was used.
    held_out_cosine_ : float
        The mean cosine of ŷ(x) and y with each pair left out in turn.

    Examples
    --------
    >>> import numpy as np
    >>> from fipp import KernelRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 3))
    >>> Y = np.hstack([X, np.abs(X)])
    >>> linear, smooth = (KernelRidge(kernel).fit(X[:300], Y[:300]) for kernel in ("linear", "rbf"))
    >>> linear.score(X[300:], Y[300:]) < smooth.score(X[300:], Y[300:])
    True
    """

    linear: ClassVar[bool] = False

    _left_out: LeftOut

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"gamma": (0.25, 0.5, 1.0), "kernel": ("linear", "rbf")}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions({"rbf", "linear"})],
        "gamma": [POSITIVE],
        "ridge": [NOT_NEGATIVE, AUTO],
        "prior": [StrOptions({"auto", "zero", "identity"})],
        "landmarks": [AT_LEAST_1],
        "random_state": [COUNT],
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **BaseAligner._fitted_constraints,
        "offset_": "float32 k",
        "landmarks_": "float32 m d1",
        "coefficients_": "float32 m k",
        "ridge_": [NOT_NEGATIVE],
        "prior_": [StrOptions({"zero", "identity"})],
        "held_out_cosine_": [Interval(Real, -1.001, 1.001, closed="both")],
    }

    def __init__(
        self,
        kernel: Literal["rbf", "linear"] = "rbf",
        *,
        gamma: float = 0.5,
        ridge: float | Literal["auto"] = "auto",
        prior: Literal["auto", "zero", "identity"] = "auto",
        landmarks: int = 2000,
        preprocess: Any = "unit",
        random_state: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.ridge = ridge
        self.prior = prior
        self.landmarks = landmarks
        self.preprocess = preprocess
        self.random_state = random_state

    def leave_out(self, X: NDArray[Any], Y: NDArray[Any]) -> LeftOut:
        """Fit on all rows, row i of X with row i of Y, and return what the map would be without one or two of them.

        Parameters
        ----------
        X, Y : array of shape (n, d1), (n, d2)
            Row i of both is a pair; no row is zero.

        Returns
        -------
        LeftOut
        """
        self.fit(X, Y)
        return self._left_out

    def _fit_seed(self, X_s: NDArray[np.float32], X_t: NDArray[np.float32], progress: Progress | None) -> None:
        (d1, d2), steps = (X_s.shape[1], X_t.shape[1]), Steps(progress, 2)
        if self.kernel == "rbf":
            drawn = np.random.default_rng(self.random_state).permutation(len(X_s))[: self.landmarks]
            self.landmarks_ = X_s[np.sort(drawn)]
        else:
            self.landmarks_ = np.empty((0, d1), np.float32)
        problem = self._problem(X_s)
        steps()
        # Where no prior is better, the first one, which assumes nothing.
        solutions = (self._solution(problem, X_s, X_t, prior) for prior in self._priors())
        best = max(solutions, key=lambda solution: round(solution.cosine, 12))
        self.prior_, self.ridge_, self.held_out_cosine_ = best.prior, best.ridge, best.cosine
        P = np.eye(d1, d2) if best.prior == "identity" else np.zeros((d1, d2))
        self.coefficients_ = np.empty((0, d2), np.float32)
        if self.kernel == "rbf":
            self.coefficients_ = best.weights.astype(np.float32)
        else:
            P = P + best.weights
        self.map_, self.offset_ = P.astype(np.float32), best.offset.astype(np.float32)
        self._left_out = best.left_out
        steps()

    def _priors(self) -> list[str]:
        return ["zero", "identity"] if self.prior == "auto" else [self.prior]

    def _solution(self, problem: _Problem, X_s: NDArray[Any], X_t: NDArray[Any], prior: str) -> _Solution:
        penalties = _PENALTIES if self.ridge == "auto" else [float(self.ridge)]
        rest = X_t
        if prior == "identity":
            shared = min(X_s.shape[1], X_t.shape[1])
            rest = X_t.copy()
            rest[:, :shared] -= X_s[:, :shared]
        return problem.solve(rest, X_t, penalties, prior)

    def _problem(self, X_s: NDArray[np.float32]) -> _Problem:
        """Return the problem in features whose inner products are the kernel: Nyström's with few landmarks."""
        if self.kernel == "linear":
            return _Problem.of(X_s, np.eye(X_s.shape[1]))
        if len(self.landmarks_) == len(X_s):
            return _Problem.of_kernel(self._kernel(X_s))
        values, vectors = np.linalg.eigh(self._kernel(self.landmarks_).astype(np.float64))
        kept = values > _SMALLEST * values[-1]
        T = vectors[:, kept] / np.sqrt(values[kept])
        return _Problem.of(self._kernel(X_s) @ T, T)

    def _kernel(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return k(x, l) of each row with each landmark."""
        squared = X @ self.landmarks_.T
        squared *= -2
        squared += np.einsum("ij,ij->i", X, X)[:, None]
        squared += np.einsum("ij,ij->i", self.landmarks_, self.landmarks_)
        np.maximum(squared, 0, out=squared)
        squared *= np.float32(-self.gamma)
        return np.exp(squared, out=squared)

    def _map_source(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        mapped = affine(rows, self.map_, self.offset_)
        if len(self.landmarks_):
            mapped = mapped + self._kernel(rows) @ self.coefficients_
            mapped[~rows.any(axis=1)] = 0  # a vector of zeros says nothing
        return mapped


class _Solution(NamedTuple):
    """The weights of a prior and a ridge, and what they predict of each pair when it is left out."""

    prior: str
    ridge: float
    cosine: float
    weights: NDArray[np.float64]
    offset: NDArray[np.float64]
    left_out: LeftOut


class LeftOut(NamedTuple):
    """What a map, fitted on all pairs, would predict had it been fitted without some of them.

    Leaving out a set S of pairs turns their residuals r into (I − H)⁻¹r, where H = FFᵀ + 1/n is the part of the hat
    matrix that belongs to S.
    """

    Y: NDArray[np.float32]
    residuals: NDArray[np.float32]  # y − ŷ
    factors: NDArray[np.float32]  # F

    def predictions(self, without: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return ŷ of every pair by the map without it and without another pair, whose row ``without`` has, or −1."""
        squared = np.einsum("ij,ij->i", self.factors, self.factors, dtype=np.float64) + 1 / len(self.Y)
        others = np.full(len(self.Y), -1) if without is None else without
        known = others >= 0
        i = np.where(known, others, 0)
        h = np.where(known, np.einsum("ij,ij->i", self.factors, self.factors[i], dtype=np.float64) + 1 / len(self.Y), 0)
        h_i = np.where(known, squared[i], 0)
        determinant = np.maximum((1 - h_i) * (1 - squared) - h * h, _SMALLEST)
        missed = ((1 - h_i)[:, None] * self.residuals + h[:, None] * self.residuals[i]) / determinant[:, None]
        return (self.Y - missed).astype(np.float32)

    def cosines(self, queries: NDArray[np.float32], own: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the cosine of each query with every ŷ, by the map without that pair and without the query's own.

        A map that has seen the answer to a query, but not the other items, ranks the answer too high; one that has seen
        all but the answer ranks it too low. ``own`` is the pair of each query, −1 if it has none.
        """
        c, (n, _) = len(queries), self.Y.shape
        known = own >= 0
        i = np.where(known, own, 0)
        h = self.factors[i] @ self.factors.T + np.float32(1 / n)
        h[~known] = 0
        h_j = _dots(self.factors, self.factors) + np.float32(1 / n)
        h_i = np.where(known, h_j[i], 0).astype(np.float32)[:, None]
        determinant = np.maximum((1 - h_i) * (1 - h_j) - h * h, np.float32(_SMALLEST))
        # ŷ_j = y_j − a r_j − b r_i with the inverse of the 2 × 2 matrix I − H of i and j.
        a, b = (1 - h_i) / determinant, h / determinant
        R, Y = self.residuals, self.Y
        r_i = R[i]
        a[np.arange(c)[known], own[known]] = 1 / np.maximum(1 - h_i[known, 0], np.float32(_SMALLEST))
        b[np.arange(c)[known], own[known]] = 0
        products = queries @ Y.T - a * (queries @ R.T) - b * _dots(queries, r_i)[:, None]
        squares = _dots(Y, Y) + a * a * _dots(R, R) + b * b * _dots(r_i, r_i)[:, None]
        squares += 2 * (a * b * (r_i @ R.T) - a * _dots(Y, R) - b * (r_i @ Y.T))
        lengths = np.sqrt(np.maximum(squares, np.float32(1e-12))) * np.linalg.norm(queries, axis=1)[:, None]
        return (products / lengths).astype(np.float32)

    def cosines_to(self, rows: NDArray[np.int64], n: int, own: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the cosine of ŷ of some rows with y of the first ``n``, by the map without either.

        ``own`` is a further pair to leave out of each row, −1 if there is none. It is cosine(ŷ_i, y_j) with the pairs
        A = {i, own} and j left out: with M = I − H and z = M_AA⁻¹ r_A, leaving out j as well turns the residual z_i
        into z_i − c (r_j − M_jA z) / s, where c = (M_AA⁻¹ M_Aj)_i and s = M_jj − M_jA M_AA⁻¹ M_Aj.
        """
        F, R, Y = self.factors, self.residuals, self.Y
        other = np.full(len(rows), -1) if own is None else own
        known = (other >= 0) & (other != rows)
        g = np.where(known, other, 0)
        mean = np.float32(1 / len(Y))
        h_i, h_g = (_dots(F[each], F[each]) + mean for each in (rows, g))
        h_ig = np.where(known, _dots(F[rows], F[g]) + mean, 0)
        h_g = np.where(known, h_g, 0)
        determinant = np.maximum((1 - h_i) * (1 - h_g) - h_ig**2, _SMALLEST).astype(np.float32)
        a, b, d = ((each / determinant)[:, None].astype(np.float32) for each in (1 - h_g, h_ig, 1 - h_i))  # M_AA⁻¹
        z_i, z_g = a * R[rows] + b * R[g], np.where(known[:, None], b * R[rows] + d * R[g], 0)
        m_i, m_g = -(F[rows] @ F[:n].T + mean), np.where(known[:, None], -(F[g] @ F[:n].T + mean), 0)
        c, e = a * m_i + b * m_g, b * m_i + d * m_g
        s = np.maximum(1 - _dots(F[:n], F[:n]) - mean - c * m_i - e * m_g, np.float32(_SMALLEST))
        t = c / s
        t[rows[:, None] == np.arange(n)] = 0
        t[known, other[known]] = 0  # these are left out already
        # ŷ = u + t (r_j − m_i z_i − m_g z_g), of which only inner products are needed.
        u, R_n, Y_n = Y[rows] - z_i, R[:n], Y[:n]
        products = u @ Y_n.T + t * (_dots(R_n, Y_n) - m_i * (z_i @ Y_n.T) - m_g * (z_g @ Y_n.T))
        along = u @ R_n.T - m_i * _dots(u, z_i)[:, None] - m_g * _dots(u, z_g)[:, None]
        step = _dots(R_n, R_n) - 2 * m_i * (z_i @ R_n.T) - 2 * m_g * (z_g @ R_n.T)
        step += m_i**2 * _dots(z_i, z_i)[:, None] + m_g**2 * _dots(z_g, z_g)[:, None]
        step += 2 * m_i * m_g * _dots(z_i, z_g)[:, None]
        squares = np.maximum(_dots(u, u)[:, None] + 2 * t * along + t * t * step, np.float32(1e-12))
        return (products / np.sqrt(squares * _dots(Y_n, Y_n))).astype(np.float32)


def _dots(A: NDArray[np.float32], B: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the inner product of each row of A with the same row of B."""
    return np.einsum("ij,ij->i", A, B)


class _Problem(NamedTuple):
    """Centred features in the basis in which they do not correlate, so that each penalty takes only a division.

    In float64, because what is left over of a pair that the map nearly reaches is divided by a number as small.
    """

    projected: NDArray[np.float64]  # (F − mean) V
    squared: NDArray[np.float64]
    TV: NDArray[np.float64]
    mean: NDArray[np.float64]

    @classmethod
    @single_threaded_blas
    def of_kernel(cls, K: NDArray[np.float32]) -> _Problem:
        """Return the problem of a kernel between all pairs, whose centred features are its centred eigenvectors."""
        mean = K.mean(axis=0, dtype=np.float64)
        values, U = np.linalg.eigh(K - mean - mean[:, None] + mean.mean())
        kept = values > _SMALLEST * max(values[-1], np.finfo(np.float32).tiny)
        values, U = values[kept], U[:, kept]
        T = U / np.sqrt(values)
        return cls(U * np.sqrt(values), values, T, mean @ T)

    @classmethod
    @single_threaded_blas
    def of(cls, F: NDArray[np.float32], T: NDArray[np.float64]) -> _Problem:
        """Return the problem of features F = kT, in the basis in which they do not correlate."""
        mean = F.mean(axis=0, dtype=np.float64)
        centred = F - mean
        squared, V = np.linalg.eigh(centred.T @ centred)
        V = V[:, squared > _SMALLEST * max(squared[-1], np.finfo(np.float32).tiny)]
        projected = centred @ V
        return cls(projected, np.square(projected).sum(axis=0), T @ V, mean @ V)

    @single_threaded_blas
    def solve(self, R: NDArray[Any], Y: NDArray[Any], penalties: Sequence[float], prior: str) -> _Solution:
        """Return the solution for the residuals R of a prior with the penalty under which left-out pairs fare best."""
        offset = R.mean(axis=0, dtype=np.float64)
        R = R - offset
        cross, scale = self.projected.T @ R, float(self.squared.mean()) if len(self.squared) else 0.0
        gold, squares = unit_rows(Y), np.square(self.projected)

        def left_over(ridge: float) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
            shrunk = 1 / (self.squared + ridge * scale)
            W = cross * shrunk[:, None]
            return shrunk, W, R - self.projected @ W

        def cosine(ridge: float) -> float:
            shrunk, _, residuals = left_over(ridge)
            # Leaving a pair out divides its residual by 1 − h, where h is its leverage.
            missed = residuals / np.maximum(1 - squares @ shrunk - 1 / len(Y), _SMALLEST)[:, None]
            return float(np.einsum("ij,ij->i", unit_rows(Y - missed), gold).mean(dtype=np.float64))

        ridge, reached = _best_of(penalties, cosine)
        shrunk, W, residuals = left_over(ridge)
        left_out = LeftOut(Y, residuals.astype(np.float32), (self.projected * np.sqrt(shrunk)).astype(np.float32))
        return _Solution(prior, ridge, reached, self.TV @ W, offset - self.mean @ W, left_out)


def _best_of(penalties: Sequence[float], score: Callable[[float], float]) -> tuple[float, float]:
    """Return the penalty with the highest score, and that score: every fourth is tried, then those beside the best."""
    scores: dict[int, float] = {}
    candidates: Iterable[int] = range(0, len(penalties), 4)
    for step in (2, 1, 0):
        scores |= {at: round(score(penalties[at]), 12) for at in candidates if at not in scores}
        best = max(scores, key=lambda at: (scores[at], -at))
        candidates = [at for at in (best - step, best + step) if 0 <= at < len(penalties)]
    return float(penalties[best]), scores[best]
