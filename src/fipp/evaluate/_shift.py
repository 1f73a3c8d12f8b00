r"""Items whose neighbourhoods changed between two sets of vectors: models, corpora or times.

No alignment is needed. For an item, U is the union of its k nearest items in both spaces, and in either space s has the
cosines with them, relative to the mean and the standard deviation of cosines of that space. The change is

.. math:: c = 1 - \cos(s_{\text{old}}, s_{\text{new}}),

0 if the same items are as near as before (the local measure of Hamilton et al., 2016, for spaces of different scales).
Rare items change more, by chance, and so do all items of two different models. So c is compared with its median in the
item's band of frequency, in units of the spread there and of the item's own noise, seen by halving U at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.exceptions import FippError
from fipp.io import Vectors
from fipp.linalg import row_blocks, unit_rows
from fipp.retrieve import check_count, neighbours

# Items in a band of frequency, and how many bands there are at most.
_BAND, _MOST_BANDS = 250, 20
_FEWEST = 50
_HALVINGS, _PAIRS = 20, 20_000
# The standard deviation of a Gaussian, relative to the median of its distances from the median.
_TO_DEVIATION = 1.4826
CHANGED = 3.0
"""An item has changed if it is this many standard deviations above what is usual for its frequency."""


class ShiftedItem(NamedTuple):
    """An item, how much its neighbourhood changed, and the neighbours as evidence.

    Attributes
    ----------
    item : str
    change : float
        c, from 0 to 2.
    z : float
        c, corrected for frequency and noise.
    lost, gained, kept : list of str
        Neighbours in the old space only, in the new space only, and in both; nearest first.
    """

    item: str
    change: float
    z: float
    lost: list[str]
    gained: list[str]
    kept: list[str]


@dataclass(frozen=True, eq=False)
class Shift:
    """What changed between two sets of vectors.

    Attributes
    ----------
    items : list of ShiftedItem
        All shared items, the one that changed most first.
    bands : list of (int, float, float)
        For each band of frequency, from the most frequent: the number of items, the usual change, and its spread.
    from_null : bool
        Whether the usual change was measured on a pair of vectors between which nothing changed.
    """

    items: list[ShiftedItem]
    bands: list[tuple[int, float, float]]
    from_null: bool

    @property
    def changed(self) -> list[ShiftedItem]:
        """The items that are at least three standard deviations above what is usual for their frequency."""
        return [each for each in self.items if each.z >= CHANGED]

    def as_dict(self, n: int | None = None) -> dict[str, Any]:
        """Return it as JSON can hold it, with the first ``n`` items."""
        return {
            "n_items": len(self.items),
            "n_changed": len(self.changed),
            "from_null": self.from_null,
            "bands": [dict(zip(("n_items", "median", "spread"), band, strict=True)) for band in self.bands],
            "items": [each._asdict() for each in self.items[:n]],
        }


class _Measured(NamedTuple):
    words: list[str]
    near: tuple[NDArray[np.int64], NDArray[np.int64]]
    change: NDArray[np.float64]
    noise: NDArray[np.float64]

    @property
    def bands(self) -> list[NDArray[np.int64]]:
        """Rows by frequency, which is the order of the words."""
        return np.array_split(np.arange(len(self.words)), np.clip(len(self.words) // _BAND, 1, _MOST_BANDS))


def shift(
    old: Vectors,
    new: Vectors,
    *,
    null: tuple[Vectors, Vectors] | None = None,
    k: int = 15,
    max_words: int = 20_000,
    random_state: int = 0,
) -> Shift:
    """Find the items whose neighbourhoods changed between two models, corpora or times.

    Parameters
    ----------
    old, new : Vectors
        Vectors of the same items, from the most frequent to the rarest; they may have different dimensions. Items that
        only one of them has are left out.
    null : tuple of two Vectors, optional
        Two sets of vectors between which nothing changed, such as those of two halves of one corpus. Then the usual
        change is measured on them. Without it, most items of ``old`` and ``new`` are taken to be unchanged.
    k : int, default=15
        The number of neighbours in either space.
    max_words : int, default=20000
        Only the first shared items are compared.
    random_state : int, default=0
        Decides how neighbourhoods are halved.

    Returns
    -------
    Shift

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 5))[np.arange(300) % 60] + 0.3 * rng.standard_normal((300, 5))
    >>> Y = X + 0.05 * rng.standard_normal(X.shape)
    >>> Y[7] = X[9]
    >>> words = [f"word {row}" for row in range(300)]
    >>> found = shift(Vectors(words, X), Vectors(words, Y), k=5)
    >>> found.items[0].item, found.items[0].z > 3
    ('word 7', True)
    """
    k, rng = check_count(k, "k"), np.random.default_rng(random_state)
    measured = _measure(old, new, k, max_words, rng)
    baseline = measured if null is None else _measure(*null, k, max_words, rng)
    medians, spreads = zip(*(_usual(baseline.change[rows]) for rows in baseline.bands), strict=True)
    # Bands of the null pair are matched by their place from the most frequent to the rarest.
    at = (np.arange(len(measured.words)) + 0.5) / len(measured.words)
    places = (np.arange(len(medians)) + 0.5) / len(medians)
    usual, spread = (np.interp(at, places, each) for each in (medians, spreads))
    z = (measured.change - usual) / np.sqrt(spread**2 + measured.noise**2)
    order = np.argsort(-z, kind="stable")
    items = [_item(measured, row, float(z[row])) for row in order.tolist()]
    sizes = [len(rows) for rows in baseline.bands]
    return Shift(items, list(zip(sizes, map(float, medians), map(float, spreads), strict=True)), null is not None)


def _measure(old: Vectors, new: Vectors, k: int, max_words: int, rng: np.random.Generator) -> _Measured:
    words, sides = _shared(old, new, max_words)
    if len(words) < max(_FEWEST, 2 * k):
        raise FippError(
            f"only {len(words):,} items have vectors on both sides, which is too few to say what is usual: are they "
            "spelled alike?"
        )
    first, second = (_others(X, k) for X in sides)
    scales = [_scale(X, rng) for X in sides]
    change, noise = np.empty(len(words)), np.empty(len(words))
    halves = np.argsort(rng.random((_HALVINGS, 2 * k)), axis=1)
    for rows in row_blocks(len(words), 256):
        # Items that are near in both spaces come twice, and so weigh more.
        U = np.hstack([first[rows], second[rows]])
        s = [
            (np.einsum("ij,ikj->ik", X[rows], X[U]) - mean) / deviation
            for X, (mean, deviation) in zip(sides, scales, strict=True)
        ]
        change[rows] = _distance(*s)
        parts = [[_distance(s[0][:, half], s[1][:, half]) for half in (each[:k], each[k:])] for each in halves]
        # The mean of two halves varies by half of what separates them.
        noise[rows] = np.sqrt(np.mean([np.square(one - other) / 4 for one, other in parts], axis=0))
    return _Measured(words, (first, second), change, noise)


def _shared(old: Vectors, new: Vectors, max_words: int) -> tuple[list[str], tuple[NDArray[Any], NDArray[Any]]]:
    """Return the shared words in the order of frequency, and their unit vectors on both sides."""
    there = {word: row for row, word in enumerate(new.words)}
    pairs = [(row, there[word]) for row, word in enumerate(old.words) if word in there]
    rows = np.array(pairs, np.int64).reshape(-1, 2)
    filled = old.matrix[rows[:, 0]].any(axis=1) & new.matrix[rows[:, 1]].any(axis=1)
    # The rank on both sides counts.
    rows = rows[filled]
    rows = rows[np.argsort(np.log1p(rows).sum(axis=1), kind="stable")][: check_count(max_words, "max_words")]
    return [old.words[row] for row in rows[:, 0]], (
        unit_rows(old.matrix[rows[:, 0]]),
        unit_rows(new.matrix[rows[:, 1]]),
    )


def _others(X: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Return the k nearest rows of each row, without itself."""
    found = neighbours(X, X, k + 1).indices
    own = found == np.arange(len(X))[:, None]
    own[~own.any(axis=1), -1] = True  # an equal vector came first
    return found[~own].reshape(len(X), k)


def _scale(X: NDArray[np.float32], rng: np.random.Generator) -> tuple[float, float]:
    """Return the mean and the standard deviation of the cosines of random pairs."""
    one, other = rng.integers(len(X), size=(2, _PAIRS))
    cosines = np.einsum("ij,ij->i", X[one], X[other], dtype=np.float64)[one != other]
    return float(cosines.mean()), max(float(cosines.std()), 1e-9)


def _distance(A: NDArray[Any], B: NDArray[Any]) -> NDArray[np.float64]:
    """Return 1 − cosine of each row of A with the same row of B."""
    lengths = np.linalg.norm(A, axis=1) * np.linalg.norm(B, axis=1)
    return np.asarray(1 - np.einsum("ij,ij->i", A, B) / np.maximum(lengths, 1e-12), np.float64)


def _usual(change: NDArray[np.float64]) -> tuple[float, float]:
    """Return the median, and the spread that a Gaussian would have."""
    median = float(np.median(change))
    return median, _TO_DEVIATION * float(np.median(np.abs(change - median))) + 1e-9


def _item(measured: _Measured, row: int, z: float) -> ShiftedItem:
    old, new = (near[row].tolist() for near in measured.near)
    lost, gained, kept = ([measured.words[each] for each in rows] for rows in (
        [each for each in old if each not in new],
        [each for each in new if each not in old],
        [each for each in old if each in new],
    ))  # fmt: skip
    return ShiftedItem(measured.words[row], float(measured.change[row]), z, lost, gained, kept)
