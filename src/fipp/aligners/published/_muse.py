"""MUSE: a rotation refined by the dictionaries that it finds itself, from known pairs or from an adversarial start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from fipp._optional import require
from fipp._progress import Progress, Steps
from fipp.aligners._base import LearnsFrom
from fipp.aligners._consistency import PairlessAligner
from fipp.aligners._constraints import AT_LEAST_1, COUNT, MEMORY, POSITIVE, SHARE_BELOW_1
from fipp.aligners._procrustes import pair_rotation
from fipp.exceptions import FippError
from fipp.linalg import cross_products, matmul_blocks, one_torch_thread, rotation, single_threaded_blas, unit_rows
from fipp.retrieve import mutual_neighbours

_LEAK = 0.2


class MUSE(PairlessAligner):
    r"""MUSE: a rotation refined by mutual CSLS neighbours, from known pairs or an adversarial start without any.

    .. math:: Ω_{i+1} = \arg\min_{ΩΩ^\top = I} \sum_{(x, y) ∈ D(Ω_i)} \|xΩ - y\|^2

    D(Ω) are the pairs among the ``max_words`` most frequent words of both sides that are each other's best translation
    by CSLS under Ω (Conneau, Lample, Ranzato, Denoyer and Jégou, ICLR 2018). The first Ω is that of the known pairs
    (``"supervised"``), or the generator of a game (``"adversarial"``): a discriminator learns to tell mapped source
    vectors from target vectors, and Ω, kept nearly orthogonal, learns to deceive it.

    The map whose translations of the most frequent source words have the highest mean cosine is kept. (The published
    code chooses by the *test* dictionary when it learns from pairs.) Every game is refined before it is compared.

    Parameters
    ----------
    mode : {"supervised", "adversarial"}, default="supervised"
        What to start from. ``"adversarial"`` needs no pairs, but torch: ``pip install 'fipp[torch]'``. It often finds
        nothing, and a warning then says so.
    n_iterations : int, default=3
        How many times the dictionary is found again.
    max_words : int, default=10000
        How many of the most frequent words of either side make up the dictionary. Rows must be in order of frequency.
    n_restarts : int, default=2
        Number of games with different random numbers; each is refined, and the best by the criterion is taken.
    n_components : int, default=50
        Number of principal components of either side between which the game is played, starting from their axes. The
        published game is played in all dimensions and takes hours without a graphics processor.
    n_steps : int, default=6000
        Steps of the map in a game; published: 156,250.
    hidden : int, default=256
        Width of the discriminator's two hidden layers; published: 2048.
    batch_size : int, default=32
        Vectors of either side in a step.
    n_discriminator_steps : int, default=2
        Steps of the discriminator for each step of the map; published: 5.
    learning_rate : float, default=0.3
        Learning rate of both, falling to a tenth by the end of the game; published: 0.1.
    dropout, smoothing : float, default=0.1
        Dropout of the discriminator's input, and smoothing of the labels that it learns.
    orthogonality : float, default=0.01
        β of Ω ← (1 + β)Ω − βΩΩᵀΩ, which keeps the map nearly orthogonal.
    max_start_words : int, default=5000
        How many of the most frequent words the game draws from, evenly; published: 75,000.
    preprocess : str, transformer or None, default="unit+centre+unit"
        Preprocessing of both sides; see `fipp.preprocess`.
    random_state : int, default=0
        Seed of the games; nothing is random when learning from pairs.
    max_memory : int or str, optional
        Working memory of a search, such as ``"2GB"``.

    Attributes
    ----------
    map_ : ndarray of shape (d1, d2)
        Ω.
    criterion_ : float
        Mean cosine between the most frequent source words and their translations.
    n_iterations_ : int
        Number of refinements after which the map was best.
    restart_criteria_ : ndarray of shape (n_restarts,)
        With ``"adversarial"``, the criterion of each game after refinement.
    consistency_, chance_consistency_ : float
        With ``"adversarial"``, the mean reciprocal rank, by cosine, of half of the mutual pairs under a rotation
        learned from the other half, among the 2,000 most frequent words; and the same after refining random rotations.
        In few dimensions, chance pairs agree with each other too.
    collapsed_ : bool
        With ``"adversarial"``, whether the first is less than a fifth of the way from the second to 1: then the method
        has most likely found nothing, and a warning says so.
    induced_pairs_ : ndarray of shape (k, 2)
        The pairs of the last dictionary that the map was learned from; none if it is that of the given pairs alone.

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
        "n_iterations": [COUNT],
        "max_words": [AT_LEAST_1],
        "n_restarts": [AT_LEAST_1],
        "n_components": [AT_LEAST_1],
        "n_steps": [AT_LEAST_1],
        "hidden": [AT_LEAST_1],
        "batch_size": [AT_LEAST_1],
        "n_discriminator_steps": [AT_LEAST_1],
        "learning_rate": [POSITIVE],
        "dropout": [SHARE_BELOW_1],
        "smoothing": [Interval(Real, 0, 0.5, closed="left")],
        "orthogonality": [Interval(Real, 0, 0.5, closed="both")],
        "max_start_words": [AT_LEAST_1],
        "random_state": [COUNT],
        "max_memory": MEMORY,
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **PairlessAligner._fitted_constraints,
        "criterion_": [Real],
        "n_iterations_": [COUNT],
        "restart_criteria_?": "float64 games",
    }

    def __init__(
        self,
        mode: str = "supervised",
        *,
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
        orthogonality: float = 0.01,
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
        self.orthogonality = orthogonality
        self.max_start_words = max_start_words
        self.preprocess = preprocess
        self.random_state = random_state
        self.max_memory = max_memory

    @property
    def learns_from(self) -> LearnsFrom:
        """What the method learns from: pairs with ``mode="supervised"``, otherwise only the vocabularies."""
        return "pairs" if self.mode == "supervised" else "nothing"

    def _fit_vocabulary(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> None:
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
        self.map_, self.criterion_, self.n_iterations_ = refined.map, refined.criterion, refined.n_iterations
        self.induced_pairs_ = refined.pairs
        if self.mode == "adversarial":
            self._judge(
                refinement.source,
                refinement.target,
                self.map_,
                failure="the adversarial start has most likely found nothing",
                advice="Give known pairs, or try another random_state, more n_restarts or n_steps",
                random_state=self.random_state,
            )

    def _play(self, X: NDArray[Any], Y: NDArray[Any], refinement: Refinement, progress: Progress | None) -> Refined:
        """Play several games, refine each, and return the best."""
        X_drawn = self.source_preprocess_.transform(X[: self.max_start_words])
        Y_drawn = self.target_preprocess_.transform(Y[: self.max_start_words])
        if not (X_drawn.any() and Y_drawn.any()):
            raise FippError("one side has no vectors that are not zero: there is nothing to learn from")
        results = []
        steps = Steps(progress, self.n_restarts)
        for number in range(self.n_restarts):
            start = adversarial_map(X_drawn, Y_drawn, self, self.random_state + number, steps.part())
            results.append(refinement.best(start, keep_start=False))
        self.restart_criteria_ = np.array([result.criterion for result in results])
        return results[int(np.argmax(self.restart_criteria_))]


class Refined(NamedTuple):
    """A map, the pairs it was learned from (none for the start), its criterion, and the number of refinements."""

    map: NDArray[np.float32]
    pairs: NDArray[np.int64]
    criterion: float
    n_iterations: int


@dataclass(frozen=True)
class Refinement:
    """Repeated Procrustes on mutual CSLS neighbours among the most frequent words.

    Examples
    --------
    >>> Y = np.random.default_rng(0).standard_normal((200, 4)).astype(np.float32)
    >>> refinement = Refinement(Y, Y, n_iterations=3)
    >>> nearly = np.linalg.qr(np.eye(4) + 0.1 * Y[:4])[0].astype(np.float32)
    >>> refined = refinement.best(nearly * np.sign(np.diag(nearly)))
    >>> bool(np.allclose(refined.map, np.eye(4), atol=1e-5))
    True
    """

    source: NDArray[np.float32]
    target: NDArray[np.float32]
    n_iterations: int
    max_memory: int | str | None = None

    def best(self, start: NDArray[np.float32], *, keep_start: bool = True, progress: Progress | None = None) -> Refined:
        """Return the map whose translations have the highest mean cosine, among those of all iterations.

        A start of low rank has high cosines, because it discards most of each vector, and cannot be compared with
        rotations; without ``keep_start`` it is returned only if it leads to no pairs.
        """
        omega, pairs, best = start, np.empty((0, 2), np.int64), None
        steps = Steps(progress, self.n_iterations + 1)
        for done in range(self.n_iterations + 1):
            mutual, criterion = self._translate(omega)
            comparable = best is not None and (keep_start or best.n_iterations > 0)
            if best is None or not comparable or criterion > best.criterion:
                best = Refined(omega, pairs, criterion, done)
            if done < self.n_iterations:
                pairs = mutual
                if not len(pairs):
                    break
                omega = pair_rotation(self.source, self.target, pairs).astype(np.float32)
            steps()
        steps.finish()
        assert best is not None  # there is always the start
        return best

    def _translate(self, omega: NDArray[np.float32]) -> tuple[NDArray[np.int64], float]:
        """Return the words that are each other's best by CSLS, and the mean cosine of all best translations."""
        moved = matmul_blocks(self.source, omega)
        mutual = mutual_neighbours(moved, self.target, retrieval="csls", max_memory=self.max_memory)
        cosines = np.einsum("ij,ij->i", unit_rows(moved), unit_rows(self.target[mutual.nearest]))
        return mutual.pairs, float(cosines.mean(dtype=np.float64))


def adversarial_map(
    X: NDArray[np.float32], Y: NDArray[np.float32], game: MUSE, random_state: int, progress: Progress | None = None
) -> NDArray[np.float32]:
    """Play the game between the principal components of both sides, and return its map of shape (d1, d2)."""
    torch = require("torch", "the adversarial start of MUSE", extra="torch")
    p = min(game.n_components, X.shape[1], Y.shape[1])
    sides = principal_axes(X, p), principal_axes(Y, p)
    source, target = (_of_mean_length_1(V @ axes) for V, axes in zip((X, Y), sides, strict=True))
    with one_torch_thread(torch), torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_state)
        played = _play(torch, torch.from_numpy(source), torch.from_numpy(target), game, Steps(progress, game.n_steps))
    if not np.isfinite(played).all():
        raise FippError(f"the game has diverged: take a learning_rate below {game.learning_rate:g}")
    # The game leaves the map nearly orthogonal; what counts is the nearest orthogonal one.
    omega = rotation(played.astype(np.float64)).astype(np.float32)
    return np.asarray(sides[0] @ omega @ sides[1].T, dtype=np.float32)


@single_threaded_blas
def principal_axes(X: NDArray[np.float32], p: int) -> NDArray[np.float32]:
    """Return the p directions in which X varies most, each signed to have positive skewness.

    Spaces that differ by a rotation have the same axes in the same order; only the signs would be left to chance.

    Examples
    --------
    >>> X = np.float32([[3.0, 0.0], [-1.0, 0.5], [-1.0, -0.5], [-1.0, 0.0]])
    >>> np.allclose(principal_axes(X, 1), [[1], [0]]), np.allclose(principal_axes(-X, 1), [[-1], [0]])
    (True, True)
    """
    axes = np.linalg.eigh(cross_products(X, X))[1][:, ::-1][:, :p].astype(np.float32)
    skewness = np.power(X @ axes, 3).mean(axis=0, dtype=np.float64)
    signed: NDArray[np.float32] = axes * np.where(skewness < 0, -1, 1).astype(np.float32)
    return np.ascontiguousarray(signed)


def _of_mean_length_1(X: NDArray[np.float32]) -> NDArray[np.float32]:
    return X / np.float32(max(float(np.linalg.norm(X, axis=1).mean()), 1e-12))


def _play(torch: Any, X: Any, Y: Any, game: MUSE, steps: Steps) -> NDArray[np.float32]:
    # The entries of vectors of length 1 in many dimensions are small; the layers are made for entries of about 1.
    X, Y = (V * (V.shape[1] ** 0.5) for V in (X, Y))
    omega = torch.eye(X.shape[1]).requires_grad_()
    discriminator = _discriminator(torch, Y.shape[1], game)
    judge = torch.nn.BCEWithLogitsLoss()
    answers = torch.full((2 * game.batch_size,), float(game.smoothing))
    answers[: game.batch_size] = 1 - game.smoothing  # mapped source vectors come first
    optimisers = [torch.optim.SGD(what, lr=game.learning_rate) for what in ([omega], discriminator.parameters())]
    for step in range(game.n_steps):
        rate = game.learning_rate * 0.1 ** (step / game.n_steps)
        for optimiser in optimisers:
            optimiser.param_groups[0]["lr"] = rate
        discriminator.train()
        for _ in range(game.n_discriminator_steps):
            with torch.no_grad():
                batch = _draw(torch, X, Y, omega, game.batch_size)
            optimisers[1].zero_grad()
            judge(discriminator(batch)[:, 0], answers).backward()
            optimisers[1].step()
        discriminator.eval()
        optimisers[0].zero_grad()
        judge(discriminator(_draw(torch, X, Y, omega, game.batch_size))[:, 0], 1 - answers).backward()
        optimisers[0].step()
        with torch.no_grad():
            omega.copy_((1 + game.orthogonality) * omega - game.orthogonality * (omega @ omega.T @ omega))
        steps()
    found: NDArray[np.float32] = omega.detach().numpy()
    return found


def _draw(torch: Any, X: Any, Y: Any, omega: Any, size: int) -> Any:
    rows = [torch.randint(len(V), (size,)) for V in (X, Y)]
    return torch.cat([X[rows[0]] @ omega, Y[rows[1]]])


def _discriminator(torch: Any, d: int, game: MUSE) -> Any:
    layers = torch.nn
    return layers.Sequential(
        layers.Dropout(game.dropout),
        layers.Linear(d, game.hidden),
        layers.LeakyReLU(_LEAK),
        layers.Linear(game.hidden, game.hidden),
        layers.LeakyReLU(_LEAK),
        layers.Linear(game.hidden, 1),
    )
