"""Losses that ask for ranks: known pairs are to be nearer to each other than to the words that get in between."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fipp.linalg import ordered_map, row_blocks

Gradient = tuple[float, NDArray, NDArray]
"""A loss with its gradients by the source words and by the target words."""


class Contest(NamedTuple):
    """Known pairs, and the words that they are ranked against: positions in a list of source and one of target words.

    Both lists begin with the words of the pairs.
    """

    pairs: NDArray[np.int64]
    """Of shape (c, 2)."""
    n_paired: tuple[int, int]
    """How many source words and how many target words the pairs have."""
    near_targets: NDArray[np.int64]
    """The target words nearest to the source word of each pair, of shape (c, k)."""
    near_sources: NDArray[np.int64]
    """The source words nearest to the target word of each pair, of shape (c, k)."""

    def reversed(self) -> Contest:
        """Return the same with source and target exchanged."""
        return Contest(self.pairs[:, ::-1], self.n_paired[::-1], self.near_sources, self.near_targets)


def contrastive(S: NDArray, T: NDArray, contest: Contest, temperature: float) -> Gradient:
    r"""Return InfoNCE, the mean of both directions, with its gradients by S and T.

    From source to target it is the mean over the pairs (i, j) of

        −\log [e^{s_i·t_j / τ} / Σ_m e^{s_i·t_m / τ}],

    with m over j, the target words of all pairs except other translations of i, and the words nearest to s_i.

    Parameters
    ----------
    S, T : ndarray of shape (u, k), (v, k)
        Source and target words of the contest, of unit length.
    contest : Contest
    temperature : float
        τ.

    Examples
    --------
    >>> S, both, none = np.eye(2), np.array([[0, 0], [1, 1]]), np.empty((2, 0), int)
    >>> value, by_source, _ = contrastive(S, S, Contest(both, (2, 2), none, none), 1.0)
    >>> round(value, 4), by_source[0].round(4)  # log(1 + 1/e)
    (0.3133, array([-0.1345,  0.1345]))
    """
    there, S_there, T_there = _cross_entropy(S, T, contest, temperature)
    back, T_back, S_back = _cross_entropy(T, S, contest.reversed(), temperature)
    return (there + back) / 2, (S_there + S_back) / 2, (T_there + T_back) / 2


def _cross_entropy(S: NDArray, T: NDArray, contest: Contest, temperature: float) -> Gradient:
    """Return InfoNCE from S to T with its gradients; at most a block of pairs times all pairs is held."""
    sources, targets = contest.pairs.T
    c, n_paired = len(sources), contest.n_paired[1]
    T_paired, near = T[:n_paired], contest.near_targets
    other_pairs, other_targets = _other_translations(contest.pairs)

    def block(rows: slice) -> tuple[float, NDArray, NDArray, NDArray]:
        queries, T_near = S[sources[rows]], T[near[rows]]
        gold = np.arange(len(queries)), targets[rows]
        scores = queries @ T_paired.T / temperature
        hard = np.einsum("ij,inj->in", queries, T_near) / temperature
        right = scores[gold]
        inside = slice(*np.searchsorted(other_pairs, [rows.start, rows.stop]))
        scores[other_pairs[inside] - rows.start, other_targets[inside]] = -np.inf
        hard[near[rows] < n_paired] = -np.inf  # these are among the scores
        highest = np.maximum(scores.max(axis=1), hard.max(axis=1, initial=-np.inf))[:, None]
        P, P_near = np.exp(scores - highest), np.exp(hard - highest)
        total = P.sum(axis=1, keepdims=True) + P_near.sum(axis=1, keepdims=True)
        value = float(np.sum(np.log(total[:, 0]) + highest[:, 0] - right, dtype=np.float64))
        P, P_near = P / total, P_near / total
        P[gold] -= 1
        return value, P @ T_paired + np.einsum("in,inj->ij", P_near, T_near), P.T @ queries, P_near

    value, by_query, P_near = 0.0, np.empty((c, S.shape[1]), S.dtype), np.empty(near.shape, S.dtype)
    by_target = np.zeros_like(T)
    for rows, found in zip(row_blocks(c), ordered_map(block, row_blocks(c)), strict=True):
        value += found[0]
        by_query[rows], P_near[rows] = found[1], found[3]
        by_target[:n_paired] += found[2]
    by_target += _table(near, np.arange(c)[:, None], P_near, (len(T), c)) @ S[sources]
    by_source = _table(sources, np.arange(c), S.dtype.type(1), (len(S), c)) @ by_query
    scale = S.dtype.type(1 / (c * temperature))
    return value / c, by_source * scale, by_target * scale


def _other_translations(pairs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which pairs have another translation of their source word, pair by pair, and which."""
    c, (u, v) = len(pairs), pairs.max(axis=0) + 1
    known = _table(np.arange(c), pairs[:, 0], 1, (c, u)) @ _table(pairs[:, 0], pairs[:, 1], 1, (u, v))
    numbers, targets = known.nonzero()
    other = targets != pairs[numbers, 1]
    order = np.argsort(numbers[other], kind="stable")
    return numbers[other][order], targets[other][order]


def relaxed_csls(S: NDArray, T: NDArray, contest: Contest) -> Gradient:
    r"""Return minus the mean CSLS of the pairs, with its gradients by S and T.

    It is the mean over the pairs (i, j) of

        −2 s_i·t_j + mean_{m ∈ N(s_i)} s_i·t_m + mean_{m ∈ N(t_j)} s_m·t_j,

    with N the words near either, as found before: they stay the same while S and T are changed a little.

    Parameters
    ----------
    S, T : ndarray of shape (u, k), (v, k)
        Source and target words of the contest, of unit length.
    contest : Contest

    Examples
    --------
    >>> S, both = np.eye(2), np.array([[0, 0], [1, 1]])
    >>> value, by_source, _ = relaxed_csls(S, S, Contest(both, (2, 2), np.array([[0, 1]] * 2), np.array([[0, 1]] * 2)))
    >>> value, by_source[0]  # −2 + ½ + ½
    (-1.0, array([-0.5,  0.5]))
    """
    sources, targets = contest.pairs.T[:, :, None]
    shape, one = (len(S), len(T)), S.dtype.type(1 / len(contest.pairs))
    # How much the cosine of a source word and a target word counts.
    counts = _table(sources, targets, -2 * one, shape)
    counts += _table(sources, contest.near_targets, one / contest.near_targets.shape[1], shape)
    counts += _table(contest.near_sources, targets, one / contest.near_sources.shape[1], shape)
    by_source = counts @ T
    return float(np.sum(S * by_source, dtype=np.float64)), by_source, counts.T @ S


def _table(rows: NDArray[np.int64], columns: NDArray[np.int64], values: Any, shape: tuple[int, int]) -> csr_array:
    """Return the sparse matrix with these values; where two meet, their sum."""
    rows, columns, values = np.broadcast_arrays(rows, columns, values)
    return csr_array((values.ravel(), (rows.ravel(), columns.ravel())), shape=shape)
