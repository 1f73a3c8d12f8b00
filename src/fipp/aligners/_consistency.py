"""Whether pairs that a method found itself hold together better than chance explains.

Wrong pairs lead to a map that fits them, so neither their number nor their similarity shows whether they are right. But
right pairs agree with each other: a map learned from half of them finds the other half. Wrong ones do so as well to
some degree, the more the fewer the dimensions, which is why the same is done from a random start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fipp.aligners._base import BaseAligner, LearnsFrom, rows_with_vectors
from fipp.aligners._constraints import SHARE
from fipp.aligners._procrustes import Procrustes, pair_rotation
from fipp.exceptions import warn
from fipp.linalg import matmul_blocks, rotation
from fipp.retrieve import mutual_neighbours, ranks_of_gold

MARGIN = 0.2
"""How far from chance, 0, to certainty, 1, the consistency must be. Measured on real vectors: where a method worked, at
least 0.2 to 0.3 (self-learning from 25 to 100 pairs, English to Finnish and Russian) and otherwise above 0.49 (from
spelling, English to Russian; GWA 0.59, MUSE 0.78 and ICP 0.84, English to French); where it found next to nothing, at
most 0.16 (from spelling, Finnish to Russian; ICP 0.15, MUSE 0.07 and GWA 0.03, English to Finnish)."""

SURE = 0.8
"""From this consistency on, a method that was given pairs is not compared with chance."""

TELLING = 0.7
"""Where a random start reaches this consistency, as it does in few dimensions, the comparison says nothing."""

JUDGED_WORDS = 2000
"""Maps learned without pairs are judged by this many words of either side."""

# In few dimensions random starts differ; the best of these is taken for chance.
_RANDOM_STARTS = 3
# After this many rounds, if not before, the pairs found from a random start hardly change any more.
_MOST_ROUNDS = 6


def beats_chance(found: float, chance: float, margin: float = MARGIN, least: float = 0.0) -> bool:
    """Return whether a consistency is far enough above that of a random start."""
    return found >= required(chance, margin, least)


def required(chance: float, margin: float = MARGIN, least: float = 0.0) -> float:
    """Return the consistency that is far enough above chance."""
    return chance + max(margin * (1 - chance), least)


def consistency(
    X: NDArray[Any], Y: NDArray[Any], pairs: NDArray[np.int64], aligner: Any, max_words: int, random_state: int = 0
) -> float:
    """Return the mean reciprocal rank of half of the pairs under a map that ``aligner`` learns from the other half.

    The pairs are ranked among the first ``max_words`` target words. With too few pairs, the result is 0.
    """
    order = np.random.default_rng(random_state).permutation(len(pairs))
    learned, asked = pairs[order[::2]], pairs[order[1::2]]
    asked = asked[asked[:, 1] < max_words]
    if len(learned) < 2 or not len(asked):
        return 0.0
    fitted = clone(aligner).fit(X, Y, learned)
    queries, keys = fitted.transform(X[asked[:, 0]]), fitted.transform_target(Y[:max_words])
    ranks = ranks_of_gold(queries, keys, np.arange(len(asked)), asked[:, 1])
    return float(np.mean(1 / ranks))


def compare_with_chance(
    X: NDArray[np.float32], Y: NDArray[np.float32], omega: NDArray[Any], random_state: int = 0
) -> tuple[float, float]:
    """Return the `consistency` of the mutual neighbours under a rotation, and the highest that chance comes to.

    For chance, a few random rotations are refined by their mutual neighbours until these hardly change. X and Y are
    preprocessed; their first 2,000 words are judged.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.standard_normal((2, 200, 20)).astype(np.float32)
    >>> found, chance = compare_with_chance(X, X, np.eye(20))
    >>> found, beats_chance(found, chance), beats_chance(*compare_with_chance(X, Y, np.eye(20)))
    (1.0, True, False)
    """
    X, Y = X[:JUDGED_WORDS], Y[:JUDGED_WORDS]
    rng, shape = np.random.default_rng(random_state), (X.shape[1], Y.shape[1])
    random = [_refined(X, Y, rotation(rng.standard_normal(shape))) for _ in range(_RANDOM_STARTS)]
    found, *by_chance = (
        consistency(X, Y, pairs, Procrustes(None), len(Y)) for pairs in (_mutual(X, Y, omega), *random)
    )
    return found, max(by_chance)


class PairlessAligner(BaseAligner):
    """An aligner that can learn without pairs, and warns if its map is then hardly better than chance."""

    _fitted_constraints: ClassVar[Mapping[str, Any]] = {
        **BaseAligner._fitted_constraints,
        "consistency_?": [SHARE],
        "chance_consistency_?": [SHARE],
        "collapsed_?": ["boolean"],
    }

    consistency_: float
    """The `consistency` of the mutual neighbours under its rotation."""
    chance_consistency_: float
    """The highest consistency after a random start."""
    collapsed_: bool
    """Whether the first of them is not far enough above the second."""

    @property
    def learns_from(self) -> LearnsFrom:
        """What the method learns from: only the two vocabularies."""
        return "nothing"

    def _frequent(
        self, X: NDArray[Any], side: Literal["source", "target"], max_words: int | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return row numbers and preprocessed vectors of the first words that have vectors."""
        rows = rows_with_vectors(X, side)[:max_words]
        return rows, getattr(self, f"{side}_preprocess_").transform(X[rows])

    def _judge(
        self,
        X: NDArray[np.float32],
        Y: NDArray[np.float32],
        omega: NDArray[Any],
        *,
        failure: str,
        advice: str,
        random_state: int = 0,
        margin: float = MARGIN,
    ) -> None:
        """Compare a rotation with chance, and warn of the failure if it is hardly better."""
        self.consistency_, self.chance_consistency_ = compare_with_chance(X, Y, omega, random_state)
        self.collapsed_ = not beats_chance(self.consistency_, self.chance_consistency_, margin)
        if self.collapsed_:
            warn(
                f"{failure}: rotations learned from half of the words that it pairs find the other half at a mean "
                f"reciprocal rank of {self.consistency_:.2f}, and of {self.chance_consistency_:.2f} after a random "
                f"start. {advice}"
            )


def _mutual(X: NDArray[np.float32], Y: NDArray[np.float32], omega: NDArray[Any]) -> NDArray[np.int64]:
    return mutual_neighbours(matmul_blocks(X, omega), Y, retrieval="csls").pairs


def _refined(X: NDArray[np.float32], Y: NDArray[np.float32], omega: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the pairs that a rotation comes to when it is learned from mutual neighbours again and again."""
    pairs = np.empty((0, 2), np.int64)
    for _ in range(_MOST_ROUNDS):
        found = _mutual(X, Y, omega)
        if not len(found) or np.array_equal(found, pairs):
            break
        pairs, omega = found, pair_rotation(X, Y, found)
    return pairs
