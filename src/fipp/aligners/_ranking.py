"""Refinement by ranking: known pairs are brought nearer to each other than to the words that rank between them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils._param_validation import StrOptions

from fipp._progress import Progress, Steps
from fipp.aligners._base import BaseAligner
from fipp.aligners._constraints import AT_LEAST_1, COUNT, POSITIVE, SMALLER_SHARE
from fipp.aligners._holdout import EarlyStopping, enough_parts, first_and
from fipp.aligners._wrapper import WrappingAligner
from fipp.exceptions import FippError, FippWarning
from fipp.linalg import cross_products, matmul_blocks, unit_rows
from fipp.retrieve import best_reciprocal_ranks, neighbours

# With fewer source words, too few can be held out to tell a gain from chance.
_FEWEST_TO_CHOOSE = 50
# Held-out words are looked up among this many of the first target words, and their own translations.
_CANDIDATES = 50_000
# Steps without a better held-out score after which no better one is expected.
_PATIENCE = 3
STEPS_PER_CONTEST = 10
"""Finding the nearest words takes the longest, and they change slowly: they are found again after this many steps."""

PAIRS_AT_ONCE = 5_000
"""If there are more pairs, this many are drawn for each contest."""


class Ranking(WrappingAligner):
    r"""Any linear aligner, with its maps refined so that known pairs rank before the words between them.

    .. math:: \min_{P, Q} \ \sum_{(i, j)} -2 \cos(z_i P, t_j Q)
              + \frac1k \sum_{m ∈ N(z_i P)} \cos(z_i P, t_m Q) + \frac1k \sum_{m ∈ N(t_j Q)} \cos(z_m P, t_j Q)

    The sum, minus the CSLS of the pairs, is over the known pairs; z and t are both sides as the aligner maps them, and
    N are the k nearest of the frequent words on the other side, found again every few steps. P and Q begin as the
    identity, and only a few steps along the gradient help: their number is the one with the best mean reciprocal rank
    of pairs held out from the seed. A gain within a standard error does not count, and no step is then taken.

    Parameters
    ----------
    aligner : aligner, optional
        The aligner to refine; `Spectral` by default.
    target : {"mapped", "fixed"}, default="mapped"
        Whether the target is refined as well, by Q, or left as the aligner maps it.
    learning_rate : float, default=0.02
        Length of the first step, relative to the initial P and Q; the lengths of further steps are proportional to
        their gradients.
    n_steps : int, default=20
        Maximum number of steps.
    n_neighbours : int, default=10
        k, the number of nearest words on either side that a pair competes with.
    max_words : int, default=20000
        Neighbours are looked for among this many of the first words of either side.
    holdout : float or None, default=0.2
        Share of the source words that is held out to count the steps; several such shares are held out in turn until
        they make 400 words. None takes all ``n_steps``.
    random_state : int, default=0
        Decides which words are held out, and which pairs a step looks at if there are more than 5,000.

    Attributes
    ----------
    aligner_ : aligner
        The refined aligner, with P and Q in its maps.
    n_steps_ : int
        Number of steps.
    holdout_scores_ : ndarray
        Mean reciprocal rank of the held-out words before the first step and after each; empty without them.
    losses_ : ndarray of shape (n_steps_,)
        The loss before each step.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> alignment = fipp.align(demo.source, demo.target, demo.seed.head(400), "ranking", n_steps=5, max_words=3000)
    >>> alignment.translate("water", k=1)[0].word
    'eau'
    """

    default_grid: ClassVar[Mapping[str, Sequence[Any]]] = {"learning_rate": (0.01, 0.02, 0.05)}

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "target": [StrOptions({"mapped", "fixed"})],
        "learning_rate": [POSITIVE],
        "n_steps": [COUNT],
        "n_neighbours": [AT_LEAST_1],
        "max_words": [AT_LEAST_1],
        "holdout": [SMALLER_SHARE, None],
        "random_state": [COUNT],
    }

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **WrappingAligner._fitted_constraints,
        "n_steps_": [COUNT],
        "holdout_scores_": "float64 tried",
        "losses_": "float64 steps",
    }

    def __init__(
        self,
        aligner: Any = None,
        *,
        target: Literal["mapped", "fixed"] = "mapped",
        learning_rate: float = 0.02,
        n_steps: int = 20,
        n_neighbours: int = 10,
        max_words: int = 20_000,
        holdout: float | None = 0.2,
        random_state: int = 0,
    ) -> None:
        self.aligner = aligner
        self.target = target
        self.learning_rate = learning_rate
        self.n_steps = n_steps
        self.n_neighbours = n_neighbours
        self.max_words = max_words
        self.holdout = holdout
        self.random_state = random_state

    def _fit_vocabulary(self, X: NDArray[Any], Y: NDArray[Any], progress: Progress | None) -> None:
        steps = Steps(progress, 2 * self.n_steps + 1)
        self.n_steps_ = self._best_number_of_steps(X, Y, steps)
        self.aligner_ = self._start(X, Y, self.pairs_)
        steps(self.n_steps + 1 - steps.done)
        descent = self._descent(self.aligner_, X, Y, self.pairs_)
        for _ in range(self.n_steps_):
            descent.step()
            steps()
        self.losses_ = np.array(descent.losses)
        if self.n_steps_:
            self._fold(self.aligner_, descent)
        steps.finish()

    def refine(
        self, fitted: BaseAligner, X: NDArray[Any], Y: NDArray[Any], pairs: NDArray[np.int64], steps: Sequence[int]
    ) -> list[BaseAligner]:
        """Return copies of a fitted linear aligner, refined by each of several numbers of steps."""
        descent = self._descent(fitted, X, Y, pairs)
        refined = []
        for step in range(1, max(steps) + 1):
            descent.step()
            if step in steps:
                refined.append(deepcopy(fitted))
                self._fold(refined[-1], descent)
        return refined

    def _start(self, X: NDArray[Any], Y: NDArray[Any], pairs: NDArray[np.int64]) -> BaseAligner:
        return self._inner().fit(X, Y, pairs)

    def _descent(self, start: BaseAligner, X: NDArray[Any], Y: NDArray[Any], pairs: NDArray[np.int64]) -> Descent:
        _last_map(start)
        (rows_s, place_s), (rows_t, place_t) = (
            first_and(known, min(len(side), self.max_words)) for side, known in zip((X, Y), pairs.T, strict=True)
        )
        words = Words(
            unit_rows(start.transform(X[rows_s])),
            unit_rows(start.transform_target(Y[rows_t])),
            self.max_words,
            np.stack([place_s, place_t], axis=1),
        )
        rng = np.random.default_rng(self.random_state)
        return Descent(words, self.n_neighbours, self.learning_rate, self.target == "mapped", rng)

    def _best_number_of_steps(self, X: NDArray[Any], Y: NDArray[Any], steps: Steps) -> int:
        self.holdout_scores_ = np.empty(0)
        if self.holdout is None or self.n_steps == 0:
            return self.n_steps
        if len(np.unique(self.pairs_[:, 0])) < _FEWEST_TO_CHOOSE:
            return 0
        parts = enough_parts(self.pairs_[:, 0], self.holdout, self.random_state)
        with warnings.catch_warnings(action="ignore", category=FippWarning):
            # Ignore warnings about the smaller seeds.
            descents = [_HeldOutDescent(self, X, Y, self.pairs_[~part], self.pairs_[part]) for part in parts]
        ranks, stopping = [np.concatenate([each.ranks() for each in descents])], EarlyStopping(_PATIENCE)
        # Means are rounded so that equals are equal.
        while not stopping(round(float(ranks[-1].mean()), 12)) and len(ranks) <= self.n_steps:
            for each in descents:
                each.descent.step()
            ranks.append(np.concatenate([each.ranks() for each in descents]))
            steps()
        self.holdout_scores_ = np.mean(ranks, axis=1)
        gain = ranks[stopping.best_step] - ranks[0]
        return stopping.best_step if gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)) else 0

    def _fold(self, aligner: BaseAligner, descent: Descent) -> None:
        """Multiply the maps of a fitted aligner by P and, unless the target is fixed, by Q."""
        last, P, Q = _last_map(aligner), descent.P, descent.Q
        last.map_ = matmul_blocks(last.map_, P)
        if last.offset_ is not None:
            last.offset_ = matmul_blocks(last.offset_[None], P)[0]
        if self.target == "fixed":
            return
        last.target_map_ = Q.astype(np.float32) if last.target_map_ is None else matmul_blocks(last.target_map_, Q)
        if last.target_offset_ is not None:
            last.target_offset_ = matmul_blocks(last.target_offset_[None], Q)[0]


class _HeldOutDescent:
    """The descent from a part of the pairs, and how well it does on the others."""

    def __init__(
        self, ranking: Ranking, X: NDArray[Any], Y: NDArray[Any], known: NDArray[np.int64], held_out: NDArray[np.int64]
    ) -> None:
        start = ranking._start(X, Y, known)
        self.descent = ranking._descent(start, X, Y, known)
        words, self._asked = np.unique(held_out[:, 0], return_inverse=True)
        candidates, self._gold = first_and(held_out[:, 1], min(len(Y), _CANDIDATES))
        self._queries, self._keys = start.transform(X[words]), start.transform_target(Y[candidates])

    def ranks(self) -> NDArray[np.float64]:
        """Return 1 / rank of the best translation of each held-out word."""
        queries, keys = matmul_blocks(self._queries, self.descent.P), matmul_blocks(self._keys, self.descent.Q)
        return best_reciprocal_ranks(queries, keys, self._asked, self._gold)[0]


def _last_map(aligner: BaseAligner) -> BaseAligner:
    """Return the aligner that has the map: this one, or the one that it wraps."""
    while isinstance(aligner, WrappingAligner) and aligner.linear:
        aligner = aligner.aligner_
    if not aligner.linear:
        name = type(aligner).__name__
        raise FippError(
            f"ranking refines linear maps, and that of {name} is not linear: take another aligner, or {name} around "
            "ranking if it wraps an aligner"
        )
    return aligner


class Words(NamedTuple):
    """Words of either side in the shared space, the frequent ones, which pairs compete with, first; and known pairs."""

    source: NDArray[np.float32]
    target: NDArray[np.float32]
    n_frequent: int
    pairs: NDArray[np.int64]


class Descent:
    r"""Maps P and Q of the shared space, refined step by step, so that zP and tQ have a smaller ranking loss.

    Both begin as the identity. A step of length η along the gradient with respect to P changes the map W of the start
    to

        W P = W − η W Wᵀ ∇f(W)

    and so moves words most along the directions that the start weighs most, and least along those that it hardly
    trusts, where there is little but chance to learn from. ``learning_rate`` is the length of the first step relative
    to the maps, and ``both`` says whether the target is mapped too.
    """

    def __init__(
        self, words: Words, n_neighbours: int, learning_rate: float, both: bool, rng: np.random.Generator
    ) -> None:
        self.P, self.Q = np.eye(words.source.shape[1]), np.eye(words.target.shape[1])
        self._words, self._n_neighbours = words, n_neighbours
        self._learning_rate, self._both, self._rng = learning_rate, both, rng
        self.losses: list[float] = []

    def step(self) -> None:
        """Take one step."""
        if len(self.losses) % STEPS_PER_CONTEST == 0:
            self._contested = self._draw()
        value, *gradients = self._contested(self.P, self.Q)
        if not self._both:
            gradients[1][:] = 0
        if not self.losses:
            length = float(np.linalg.norm(gradients))
            self._eta = self._learning_rate * float(np.linalg.norm([self.P, self.Q])) / length if length else 0.0
        self.losses.append(value)
        self.P, self.Q = self.P - self._eta * gradients[0], self.Q - self._eta * gradients[1]

    def _draw(self) -> MappedLoss:
        """Find the words nearest to those of the pairs, as mapped now."""
        pairs, n = self._words.pairs, self._words.n_frequent
        if len(pairs) > PAIRS_AT_ONCE:
            pairs = pairs[np.sort(self._rng.choice(len(pairs), PAIRS_AT_ONCE, replace=False))]
        Z, T = matmul_blocks(self._words.source, self.P), matmul_blocks(self._words.target, self.Q)
        near_targets = neighbours(Z[pairs[:, 0]], T[:n], self._n_neighbours).indices
        near_sources = neighbours(T[pairs[:, 1]], Z[:n], self._n_neighbours).indices
        sources, source_place = _listed(pairs[:, 0], near_sources, len(Z))
        targets, target_place = _listed(pairs[:, 1], near_targets, len(T))
        paired = np.stack([source_place[pairs[:, 0]], target_place[pairs[:, 1]]], axis=1)
        contest = Contest(paired, target_place[near_targets], source_place[near_sources])
        return MappedLoss(self._words.source[sources], self._words.target[targets], contest)


class Contest(NamedTuple):
    """Known pairs and the words nearest to either side of each, as positions in lists of source and target words."""

    pairs: NDArray[np.int64]  # of shape (c, 2)
    near_targets: NDArray[np.int64]  # of shape (c, k)
    near_sources: NDArray[np.int64]


def relaxed_csls(S: NDArray[Any], T: NDArray[Any], contest: Contest) -> tuple[float, NDArray[Any], NDArray[Any]]:
    r"""Return minus the mean CSLS of the pairs, with its gradients with respect to S and T.

    It is the mean over the pairs (i, j) of

        −2 s_i·t_j + mean_{m ∈ N(s_i)} s_i·t_m + mean_{m ∈ N(t_j)} s_m·t_j,

    where N are the words near either, which are fixed while S and T, of unit length, change a little.
    """
    sources, targets = contest.pairs.T[:, :, None]
    shape, one = (len(S), len(T)), S.dtype.type(1 / len(contest.pairs))
    # The weight of the cosine of each source word with each target word.
    counts = _table(sources, targets, -2 * one, shape)
    counts += _table(sources, contest.near_targets, one / contest.near_targets.shape[1], shape)
    counts += _table(contest.near_sources, targets, one / contest.near_sources.shape[1], shape)
    by_source = counts @ T
    return float(np.sum(S * by_source, dtype=np.float64)), by_source, counts.T @ S


def _table(rows: NDArray[np.int64], columns: NDArray[np.int64], values: Any, shape: tuple[int, int]) -> csr_array:
    """Return the sparse matrix with these values, added up where two fall on the same place."""
    rows, columns, values = np.broadcast_arrays(rows, columns, values)
    return csr_array((values.ravel(), (rows.ravel(), columns.ravel())), shape=shape)


class MappedLoss(NamedTuple):
    """The ranking loss of a contest as a function of P and Q."""

    Z: NDArray[Any]
    T: NDArray[Any]
    contest: Contest

    def __call__(self, P: NDArray[np.float64], Q: NDArray[np.float64]) -> tuple[float, NDArray[Any], NDArray[Any]]:
        """Return the loss at P and Q, and its gradients."""
        (S, source_lengths), (T, target_lengths) = _unit(matmul_blocks(self.Z, P)), _unit(matmul_blocks(self.T, Q))
        value, by_S, by_T = relaxed_csls(S, T, self.contest)
        by_P = cross_products(self.Z, _before_unit(by_S, S, source_lengths))
        return value, by_P, cross_products(self.T, _before_unit(by_T, T, target_lengths))


def _unit(X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows at unit length, and the lengths that they had."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
    lengths[lengths == 0] = 1
    return X / lengths, lengths


def _before_unit(gradient: NDArray[Any], unit: NDArray[Any], lengths: NDArray[Any]) -> NDArray[Any]:
    """Return the gradient with respect to rows, given that with respect to the rows at unit length."""
    along = np.einsum("ij,ij->i", gradient, unit)[:, None]
    back: NDArray[Any] = (gradient - along * unit) / lengths
    return back


def _listed(paired: NDArray[np.int64], near: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List words once, those of pairs first; return the list and the position of each of n words in it."""
    first = np.unique(paired)
    words = np.concatenate([first, np.setdiff1d(near, first)])
    place = np.full(n, -1)
    place[words] = np.arange(len(words))
    return words, place
