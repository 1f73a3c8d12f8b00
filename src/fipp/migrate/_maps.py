"""The map of a migration: linear, or a kernel where that comes closer to items that it was not fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp._progress import Progress, Steps
from fipp.aligners import KernelRidge, LeftOut
from fipp.linalg import unit_rows
from fipp.migrate._sample import PairedSample
from fipp.retrieve import neighbours

DEPTH = 10
"""Recall is that of the ten nearest neighbours."""

Direction = Literal["documents", "queries"]
"""Stored vectors of the old model become vectors of the new one, or queries of the new model become old ones."""

# A linear map is smaller and faster; the mean cosine of left-out pairs must be this much higher to be worth a kernel.
# Asking for .01 more recall of left-out neighbours, as before, missed kernels that kept up to .027 more in validation.
_WORTH = 0.005


class BestMap(NamedTuple):
    """A fitted map, and what it would predict had it been fitted without some of its pairs."""

    name: str
    """``"linear"`` or ``"kernel"``."""
    aligner: KernelRidge
    left_out: LeftOut
    recall: float
    """The share of the new model's ten nearest neighbours that it keeps of items that it was not fitted on."""


def best_map(sample: PairedSample, direction: Direction = "documents", *, progress: Progress | None = None) -> BestMap:
    """Return the map that comes closest to items that it was not fitted on; a linear one unless a kernel is worth it.

    The vectors of the model that is mapped to stay as they are. With ``direction="queries"`` the map is fitted on the
    queries too if both models have embedded them; their rows follow those of the items.
    """
    X, Y = pairs_of(sample, direction)
    steps = Steps(progress, 2)
    fitted = {}
    for name, aligner in (("linear", KernelRidge("linear")), ("kernel", KernelRidge("rbf"))):
        fitted[name] = aligner, aligner.leave_out(X, Y)
        steps()
    gain = fitted["kernel"][0].held_out_cosine_ - fitted["linear"][0].held_out_cosine_
    name = "kernel" if gain > _WORTH else "linear"
    aligner, left_out = fitted[name]
    return BestMap(name, aligner, left_out, _recall(sample, direction, X, Y, left_out))


def _recall(sample: PairedSample, direction: Direction, X: NDArray[Any], Y: NDArray[Any], left_out: LeftOut) -> float:
    new, n = unit_rows(sample.new), len(sample)
    asked = new if direction == "documents" else X
    own = np.concatenate([np.arange(n), np.full(len(asked) - n, -1)])
    mapped = unit_rows(left_out.predictions())
    queries, pool = (asked, mapped) if direction == "documents" else (mapped, Y[:n])
    recalls = shares_found(nearest_others(queries, pool, own), nearest_others(asked, new, own))
    return float(recalls[:, -1].mean())


def pairs_of(sample: PairedSample, direction: Direction) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the unit vectors that a map is fitted on: those that it takes, and what they become."""
    old, new = unit_rows(sample.old), unit_rows(sample.new)
    if direction == "documents":
        return old, new
    if sample.old_queries is None or sample.new_queries is None:
        return new, old
    return np.vstack([new, unit_rows(sample.new_queries)]), np.vstack([old, unit_rows(sample.old_queries)])


def nearest_others(queries: NDArray[Any], pool: NDArray[Any], own: NDArray[np.int64]) -> list[list[int]]:
    """Return the ten nearest rows of the pool for each query, without its own, which is −1 if it has none."""
    found = neighbours(queries, pool, DEPTH + 1).indices.tolist()
    return [[row for row in rows if row != mine][:DEPTH] for rows, mine in zip(found, own.tolist(), strict=True)]


def shares_found(found: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Return, for each query, the share of its 1, 2, … 10 wanted rows among as many found ones."""
    shares = [
        [len(set(one[:k]) & set(other[:k])) / k for k in range(1, DEPTH + 1)]
        for one, other in zip(found, wanted, strict=True)
    ]
    return np.array(shares)
