"""Small problems on which FIPP is compared with its literal reference."""

import numpy as np


def unit_length(V):
    return V / np.linalg.norm(V, axis=1, keepdims=True)


def related_vocabularies(rng, n, d1, d2, noise=0.3):
    """Two vocabularies of the same n items that see most of the same geometry."""
    hidden = rng.standard_normal((n, max(d1, d2))) * np.geomspace(2, 1, max(d1, d2))
    turn = np.linalg.qr(rng.standard_normal((d2, d2)))[0]
    X = hidden[:, :d1] + noise * rng.standard_normal((n, d1))
    Y = (hidden[:, :d2] + noise * rng.standard_normal((n, d2))) @ turn
    return X, Y


def epsilon_in_a_gap(X_s, X_t, share=0.6):
    """An ε that keeps about this share of the inner products, none of them so close to it that rounding decides."""
    differences = np.unique(np.abs(X_s @ X_s.T - X_t @ X_t.T))
    if len(differences) < 3:
        return float(differences.max() + 1)
    near = slice(int(0.8 * share * len(differences)), max(int(1.2 * share * len(differences)), 2))
    place = near.start + int(np.argmax(np.diff(differences)[near]))
    return float((differences[place] + differences[place + 1]) / 2)
