"""Alignment without pairs by iterative closest points, in both directions at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fipp._progress import Progress, Steps
from fipp.aligners._consistency import PairlessAligner
from fipp.aligners._constraints import AT_LEAST_1, COUNT, MAX_WORDS, MEMORY, NOT_NEGATIVE
from fipp.aligners._procrustes import pair_rotation
from fipp.linalg import cross_products, matmul_blocks, ordered_map, rotation, row_blocks, single_threaded_blas
from fipp.retrieve import mutual_neighbours

_MOMENT_STEPS = 40
_FIRST_LEARNING_RATE, _LAST_LEARNING_RATE = 0.5, 0.05
# Entries of maps between spaces of the same scale are about 1.
_DIVERGED = 1e6


class ICP(PairlessAligner):
    r"""ICP: iterative closest points in both directions, from the shape of the two clouds alone, without pairs.

    .. math:: \min_{W, V} \sum_i \|x_i W - y_{n(i)}\|^2 + \sum_j \|y_j V - x_{n(j)}\|^2
              + λ \sum_i \|x_i W V - x_i\|^2 + λ \sum_j \|y_j V W - y_j\|^2

    Here n(i) and n(j) are the words nearest to x_i W and y_j V, among the most frequent words and along their first
    principal axes (Hoshen and Wolf, EMNLP 2018). The sum is descended in mini-batches from many starts. The start whose
    words end up closest is kept, and refined by Procrustes on mutual CSLS neighbours, in all dimensions and with a
    growing vocabulary.

    A start lays principal axis on principal axis with random signs. The paper runs hundreds of starts to the end; here
    each is first rotated so that the third moments of both clouds agree, which takes milliseconds, and only the few
    that agree best are run.

    If two languages or sets of vectors are not alike enough, the map is worth nothing; a warning says so if it is
    hardly better than chance. Check some translations before you trust the result. A few dozen known pairs and another
    method are worth more.

    Parameters
    ----------
    n_components : int, default=20
        Number of principal axes of the starts; fewer where a side has fewer dimensions.
    n_starts : int, default=100
        Number of random starts.
    n_candidates : int, default=10
        How many of them are run, those whose moments agree best.
    n_epochs : int, default=10
        Number of passes over all words in a run.
    cycle_weight : float, default=1.0
        λ, the weight of the cycles: how much words that are mapped there and back must come back to where they were.
    batch_size : int, default=250
        Words of either side in a step.
    max_start_words : int, default=3000
        How many of the first words of either side make the starts.
    n_iterations : int, default=5
        Rounds of Procrustes at the end.
    max_words : int or None, default=10_000
        How many words are paired in the last of these rounds; None is all of them.
    preprocess : str, transformer or None, default="unit+centre+unit"
        Preprocessing of both sides; see `fipp.preprocess`.
    random_state : int, RandomState or None, default=0
        Decides the signs of the starts and the order of the words.
    max_memory : int or str, optional
        Working memory of a search, such as ``"2GB"``.

    Attributes
    ----------
    map_ : ndarray of shape (d1, d2)
        The last rotation of the refinement; semi-orthogonal where d1 ≠ d2.
    losses_ : ndarray of shape (n_candidates,)
        Mean squared distance of words to the nearest word of the other side after each run; the run with the smallest
        was kept.
    induced_pairs_ : ndarray of shape (k, 2)
        The pairs of the last round, on which the map was fitted.
    consistency_, chance_consistency_ : float
        Mean reciprocal rank, by cosine, of half of the mutual pairs under a rotation learned from the other half, among
        the 2,000 most frequent words; and the same after refining random rotations.
    collapsed_ : bool
        Whether the first is less than a fifth of the way from the second to 1: then the method has most likely found
        nothing, and a warning says so.

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
        "n_components": [AT_LEAST_1],
        "n_starts": [AT_LEAST_1],
        "n_candidates": [AT_LEAST_1],
        "n_epochs": [COUNT],
        "cycle_weight": [NOT_NEGATIVE],
        "batch_size": [AT_LEAST_1],
        "max_start_words": [AT_LEAST_1],
        "n_iterations": [COUNT],
        "max_words": MAX_WORDS,
        "random_state": ["random_state"],
        "max_memory": MEMORY,
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **PairlessAligner._fitted_constraints,
        "losses_": "float64 runs",
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

    def _fit_vocabulary(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> None:
        source = self.source_preprocess_.transform(X[: self._last_words(X)])
        target = self.target_preprocess_.transform(Y[: self._last_words(Y)])
        steps = Steps(progress, self.n_candidates + self.n_iterations)
        pairs = self._start(source[: self.max_start_words], target[: self.max_start_words], steps)
        sizes = np.geomspace(
            self.max_start_words, max(len(source), len(target), self.max_start_words), self.n_iterations
        )
        omega = pair_rotation(source, target, pairs)
        for size in np.rint(sizes).astype(int):
            images = matmul_blocks(source[:size], omega)
            pairs = mutual_neighbours(images, target[:size], retrieval="csls", max_memory=self.max_memory).pairs
            omega = pair_rotation(source, target, pairs)
            steps()
        steps.finish()
        self.map_, self.induced_pairs_ = omega.astype(np.float32), pairs
        self._judge(
            source,
            target,
            self.map_,
            failure="the map is probably worth nothing",
            advice="Give known pairs to another method, or try another random_state or more n_starts",
        )

    def _last_words(self, X: NDArray[Any]) -> int:
        return len(X) if self.max_words is None else min(len(X), max(self.max_words, self.max_start_words))

    def _start(self, source: NDArray[np.float32], target: NDArray[np.float32], steps: Steps) -> NDArray[np.int64]:
        """Return the mutual nearest neighbours after the best run."""
        p, rng = min(self.n_components, source.shape[1], target.shape[1]), check_random_state(self.random_state)
        X, Y = PrincipalAxes.of(source, p), PrincipalAxes.of(target, p)
        moments = Moments(X.coordinates, Y.coordinates)
        starts = best_rotations(
            moments, p, n_starts=self.n_starts, n_steps=_MOMENT_STEPS, n_best=self.n_candidates, rng=rng
        )
        runs = []
        for start in starts:
            weight, epochs, size = self.cycle_weight, self.n_epochs, self.batch_size
            runs.append(cycle_icp(X, Y, start, cycle_weight=weight, n_epochs=epochs, batch_size=size, rng=rng))
            steps()
        self.losses_ = np.array([run.loss for run in runs])
        best = runs[int(np.argmin(self.losses_))]
        return mutual_neighbours(matmul_blocks(X.coordinates, best.W), Y.coordinates, retrieval="csls").pairs


class PrincipalAxes(NamedTuple):
    """Words in coordinates along their principal axes, scaled to a mean squared length of 1, with their variances."""

    coordinates: NDArray[np.float32]
    variance: NDArray[np.float64]

    @classmethod
    @single_threaded_blas
    def of(cls, X: NDArray[np.float32], p: int) -> PrincipalAxes:
        """Find the ``p`` first axes of X."""
        centred = X - X.mean(axis=0, dtype=np.float64).astype(np.float32)
        variance, axes = np.linalg.eigh(cross_products(centred, centred) / len(X))
        variance, axes = np.maximum(variance[::-1][:p], 0), axes[:, ::-1][:, :p]
        total = max(variance.sum(), 1e-30)
        return cls(matmul_blocks(centred, axes / np.sqrt(total)), np.maximum(variance / total, 1e-12))


class Moments:
    r"""How well a rotation makes the second and third moments of two sets of points agree, and how to improve it.

    .. math:: a(W) = \frac{⟨S_x(W), S_y⟩}{\|S_x\| \|S_y\|} + \frac{⟨T_x(W), T_y⟩}{\|T_x\| \|T_y\|}

    S are the moments E[x_i x_j], T the moments E[x_i x_j x_k], and S(W), T(W) those of xW. All are known without any
    pair of the centred points X and Y. Along principal axes S is diagonal, which leaves the signs open; T decides them.
    """

    def __init__(self, X: NDArray[np.float32], Y: NDArray[np.float32]) -> None:
        self._S = _scaled(cross_products(X, X)), _scaled(cross_products(Y, Y))
        self._T = _scaled(_third(X)), _scaled(_third(Y))

    @single_threaded_blas
    def agreement(self, W: NDArray[np.float64]) -> float:
        """Return a(W): 2 when all moments agree."""
        second, third = self._gradients(W)
        return float(np.sum(W * (second + third)))

    @single_threaded_blas
    def ascend(self, W: NDArray[np.float64], n_steps: int) -> NDArray[np.float64]:
        """Improve a rotation in ``n_steps`` steps, each to the rotation nearest to the gradient."""
        for _ in range(n_steps):
            second, third = self._gradients(W)
            W = rotation(2 * second + 3 * third)
        return W

    def _gradients(self, W: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return half the gradient of the first term and a third of that of the second."""
        (S_x, S_y), (T_x, T_y) = self._S, self._T
        turned = np.tensordot(np.tensordot(T_x, W, (1, 0)), W, (1, 0))  # Σ_jk T_x[i, j, k] W[j, b] W[k, c]
        return S_x @ W @ S_y, np.tensordot(turned, T_y, ((1, 2), (1, 2)))


def best_rotations(
    moments: Moments, p: int, *, n_starts: int, n_steps: int, n_best: int, rng: np.random.RandomState
) -> list[NDArray[np.float64]]:
    """Lay axis on axis with random signs, ascend from there, and return the rotations whose moments agree best."""
    signs = [rng.choice([-1.0, 1.0], p) for _ in range(n_starts)]
    found = list(ordered_map(lambda start: moments.ascend(np.diag(start), n_steps), signs))
    agreements = np.array([moments.agreement(W) for W in found])
    best: list[NDArray[np.float64]] = []
    for number in np.argsort(-agreements, kind="stable"):
        if len(best) < n_best and not any(np.allclose(found[number], other, atol=1e-3) for other in best):
            best.append(found[number])
    return best


def _third(X: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.stack([cross_products(X, X, column) for column in X.T])


def _scaled(tensor: NDArray[np.float64]) -> NDArray[np.float64]:
    length = float(np.linalg.norm(tensor))
    return tensor / length if length else tensor


class CycleMaps(NamedTuple):
    """A map from source to target, a map back, and how far words are from the nearest words of the other side."""

    W: NDArray[np.float64]
    V: NDArray[np.float64]
    loss: float


def cycle_icp(
    X: PrincipalAxes,
    Y: PrincipalAxes,
    start: NDArray[np.float64],
    *,
    cycle_weight: float,
    n_epochs: int,
    batch_size: int,
    rng: np.random.RandomState,
) -> CycleMaps:
    """Improve a rotation and its inverse as two maps in mini-batches, and measure how well they fit in the end.

    Each step goes down the gradient of the objective of `ICP` over a batch, scaled by the variances of the axes.
    """
    W, V = start, start.T
    n = min(len(X.coordinates), len(Y.coordinates))
    n_batches = max(1, n // batch_size)
    # Relative to the variances, the second derivative is about 1 + 2λ.
    rates = np.geomspace(_FIRST_LEARNING_RATE, _LAST_LEARNING_RATE, n_epochs * n_batches) / (1 + 2 * cycle_weight)
    for epoch in range(n_epochs):
        orders = rng.permutation(len(X.coordinates))[:n], rng.permutation(len(Y.coordinates))[:n]
        batches = zip(*(np.array_split(order, n_batches) for order in orders), strict=True)
        for number, (of_x, of_y) in enumerate(batches):
            x, y = X.coordinates[of_x], Y.coordinates[of_y]
            y_near, x_near = nearest(matmul_blocks(x, W), Y.coordinates), nearest(matmul_blocks(y, V), X.coordinates)
            to_W, to_V = gradients(x, y, x_near, y_near, W, V, cycle_weight)
            rate = rates[epoch * n_batches + number]
            W, V = W - rate * to_W / X.variance[:, None], V - rate * to_V / Y.variance[:, None]
            if not max(np.abs(W).max(), np.abs(V).max()) < _DIVERGED:
                # The step is too long for batches that do not resemble the whole.
                return CycleMaps(start, start.T, fit_loss(X, Y, start, start.T))
    return CycleMaps(W, V, fit_loss(X, Y, W, V))


@single_threaded_blas
def gradients(
    x: NDArray[Any],
    y: NDArray[Any],
    x_near: NDArray[Any],
    y_near: NDArray[Any],
    W: NDArray[np.float64],
    V: NDArray[np.float64],
    cycle_weight: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the gradients of half the mean loss of a batch with respect to W and V."""
    xW, yV = x @ W, y @ V
    x_cycle, y_cycle = cycle_weight * (xW @ V - x), cycle_weight * (yV @ W - y)
    to_W = x.T @ (xW - y_near + x_cycle @ V.T) + yV.T @ y_cycle
    to_V = y.T @ (yV - x_near + y_cycle @ W.T) + xW.T @ x_cycle
    return to_W / len(x), to_V / len(y)


def nearest(A: NDArray[np.float32], B: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the row of B that is nearest to each row of A."""
    half = np.einsum("ij,ij->i", B, B) / np.float32(2)

    def closest(rows: slice) -> NDArray[np.int64]:
        scores = A[rows] @ B.T
        scores -= half
        return scores.argmax(axis=1)

    return B[np.concatenate(list(ordered_map(closest, row_blocks(len(A), 512))))]


def fit_loss(X: PrincipalAxes, Y: PrincipalAxes, W: NDArray[np.float64], V: NDArray[np.float64]) -> float:
    """Return the mean squared distance of mapped words to the nearest word of the other side, in both directions."""
    total = 0.0
    for source, target, M in ((X.coordinates, Y.coordinates, W), (Y.coordinates, X.coordinates, V)):
        images = matmul_blocks(source, M)
        total += float(np.square(images - nearest(images, target), dtype=np.float64).sum()) / len(source)
    return total
