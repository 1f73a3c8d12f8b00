"""VecMap's dictionaries: the best partner of every word by CSLS, in both directions, with pairs left out at random.

CSLS(x, z) = 2 cos(x, z) − r_x − r_z, where r is the mean cosine of a word with its nearest words on the other side.
Hubs are measured by `fipp.retrieve`. With pairs left out, scores are float32 products: enough for one of many rounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fipp.linalg import cross_products, ordered_map, row_blocks, single_threaded_blas, unit_rows
from fipp.retrieve import Hubness, mutual_neighbours

# The source words of a block leave out the same target words. More blocks than these make no difference.
_BLOCKS, _LARGEST_BLOCK = 64, 128


class Induced(NamedTuple):
    """The best target word of each source word, and the best source word of each target word; -1 for none."""

    forward: NDArray[np.int64]
    backward: NDArray[np.int64]

    def pairs(self) -> NDArray[np.int64]:
        """Return the pairs of both directions; a mutual pair is listed, and counted, twice."""
        there = np.stack([np.arange(len(self.forward)), self.forward], axis=1)
        back = np.stack([self.backward, np.arange(len(self.backward))], axis=1)
        both = np.concatenate([there, back])
        return both[(both >= 0).all(axis=1)]


def induce(
    A: NDArray[np.float32], B: NDArray[np.float32], hubs: Hubness, keep: float = 1.0, seed: tuple[int, ...] = (0,)
) -> Induced:
    """Find the best partner of every row by CSLS, in both directions, among a random share of the pairs.

    Only kept pairs are multiplied: the source words are divided into blocks at random, and each block is compared with
    its own random share of the target words. Rows have unit length. The same ``seed`` leaves out the same pairs.

    Examples
    --------
    >>> from fipp.retrieve import hubness
    >>> A = np.eye(3, dtype=np.float32)
    >>> induce(A, A[::-1], hubness(A, A[::-1], 1))
    Induced(forward=array([2, 1, 0]), backward=array([2, 1, 0]))
    """
    n, m = len(A), len(B)
    order = np.random.default_rng(seed).permutation(n) if keep < 1 else np.arange(n)
    blocks = list(row_blocks(n, max(1, min(_LARGEST_BLOCK, n // _BLOCKS))))
    half = Hubness(hubs.source / np.float32(2), hubs.target / np.float32(2))

    def kept_by(number: int) -> NDArray[np.int64]:
        if keep >= 1:
            return np.arange(m)
        draw = np.random.default_rng((*seed, number))
        return np.sort(draw.choice(m, max(1, round(keep * m)), replace=False))

    def work(number: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        rows, columns = order[blocks[number]], kept_by(number)
        cosines = A[rows] @ (B if keep >= 1 else B[columns]).T
        forward = columns[(cosines - half.target[columns]).argmax(axis=1)]
        cosines -= half.source[rows, None]
        return forward, columns, cosines.max(axis=0)

    forward, best, best_block = np.empty(n, np.int64), np.full(m, -np.inf, np.float32), np.full(m, -1)
    for number, (found, columns, scores) in enumerate(ordered_map(work, range(len(blocks)))):
        forward[order[blocks[number]]] = found
        better = columns[scores > best[columns]]
        best[columns] = np.maximum(best[columns], scores)
        best_block[better] = number
    return Induced(forward, _rows_in_blocks(A, B, half.source, order, blocks, best_block))


def _rows_in_blocks(
    A: NDArray[np.float32],
    B: NDArray[np.float32],
    half: NDArray[np.float32],
    order: NDArray[np.int64],
    blocks: list[slice],
    best_block: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Find the best source word of each target word within the block that is known to hold it.

    Multiplying these few again is faster than finding the rows of the column maxima in every block.
    """
    backward = np.full(len(B), -1)

    def work(number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows, columns = order[blocks[number]], np.flatnonzero(best_block == number)
        return columns, rows[(B[columns] @ A[rows].T - half[rows]).argmax(axis=1)]

    for columns, rows in ordered_map(work, np.unique(best_block[best_block >= 0])):
        backward[columns] = rows
    return backward


def from_similarity_distributions(
    X: NDArray[np.float32], Z: NDArray[np.float32], max_words: int, k: int
) -> NDArray[np.int64]:
    r"""Pair words without any seed: translations have similar distributions of similarities to other words.

    The rows of :math:`\sqrt{X X^\top}`, sorted, no longer depend on which word is which, nor on the dimension. They
    are normalised like vectors and compared by CSLS with ``k`` neighbours, in both directions. Only the first
    ``max_words`` words of either side take part; as many on one side as on the other.
    """
    max_words = min(max_words, len(X), len(Z))
    A, B = _sorted_similarities(X[:max_words]), _sorted_similarities(Z[:max_words])
    found = mutual_neighbours(A, B, retrieval="csls", n_neighbours=k)
    return Induced(found.nearest, found.nearest_back).pairs()


def _sorted_similarities(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the sorted rows of √(XXᵀ) = X (XᵀX)^(-1/2) Xᵀ, at unit length, centred, and at unit length again."""
    with single_threaded_blas:
        squared, V = np.linalg.eigh(cross_products(X, X))
    present = squared > np.finfo(np.float32).eps * squared.max(initial=0)
    root = ((V[:, present] / np.sqrt(squared[present])) @ V[:, present].T).astype(np.float32)
    rows = np.empty((len(X), len(X)), dtype=np.float32)

    def fill(part: slice) -> None:
        similarities = (X[part] @ root) @ X.T
        similarities.sort(axis=1)
        rows[part] = unit_rows(similarities)

    for _ in ordered_map(fill, row_blocks(len(X))):
        pass
    rows -= rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    return unit_rows(rows)
