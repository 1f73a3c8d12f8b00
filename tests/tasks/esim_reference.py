"""ESIM's forward pass in plain numpy, written from Chen et al. (2017), section 3, one pair of sentences at a time.

Sentences come without padding, so that there is nothing to mask. Numbers of equations are the paper's. Weights go by
torch's names: an LSTM stacks input gate, forget gate, update and output gate, and has two biases, the paper none.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = Mapping[str, Array]


def scores(premise: Array, hypothesis: Array, weights: Weights) -> Array:
    """Return the scores of the labels, before the softmax, of two sentences given as vectors of shape (words, d)."""
    a, b = (bilstm(sentence, "encoder", weights) for sentence in (premise, hypothesis))  # eqs. 1 and 2
    e = np.array([[a_i @ b_j for b_j in b] for a_i in a])  # eq. 11
    a_soft = np.array([softmax(e[i]) @ b for i in range(len(a))])  # ã, eq. 12
    b_soft = np.array([softmax(e[:, j]) @ a for j in range(len(b))])  # b̃, eq. 13
    v = np.concatenate([*pooled(compose(a, a_soft, weights)), *pooled(compose(b, b_soft, weights))])  # eq. 20
    return linear(np.tanh(linear(v, "inner", weights)), "outer", weights)


def compose(own: Array, soft: Array, weights: Weights) -> Array:
    m = [np.concatenate([x, y, x - y, x * y]) for x, y in zip(own, soft, strict=True)]  # eqs. 14 and 15
    projected = np.array([np.maximum(linear(m_i, "projection", weights), 0) for m_i in m])  # F
    return bilstm(projected, "composer", weights)  # eqs. 16 and 17


def pooled(v: Array) -> tuple[Array, Array]:
    """Return the mean and the maximum over the words (eqs. 18 and 19)."""
    return sum(v) / len(v), np.array([max(column) for column in v.T])


def bilstm(words: Array, name: str, weights: Weights) -> Array:
    """Return at each word the states of both directions, one behind the other."""
    forward = lstm(words, name, "", weights)
    backward = lstm(words[::-1], name, "_reverse", weights)[::-1]
    return np.concatenate([forward, backward], axis=1)


def lstm(words: Array, name: str, direction: str, weights: Weights) -> Array:
    W, U, b_W, b_U = (
        weights[f"{name}.{part}_l0{direction}"] for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    h = c = np.zeros(U.shape[1])
    states = []
    for x in words:
        i, f, u, o = np.split(W @ x + b_W + U @ h + b_U, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(u)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states)


def linear(x: Array, name: str, weights: Weights) -> Array:
    return weights[f"{name}.weight"] @ x + weights[f"{name}.bias"]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    return np.exp(x) / np.exp(x).sum()
