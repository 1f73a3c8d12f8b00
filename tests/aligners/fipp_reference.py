"""FIPP written down literally in float64, from the paper and what is known of the published code; slow, independent."""

import numpy as np


def isotropic(V):
    """Unit length, centring over the vocabulary, the top component's share of the uncentred rows taken away."""
    unit = V / np.linalg.norm(V, axis=1, keepdims=True)
    mean = unit.mean(axis=0)
    u = np.linalg.svd(unit - mean)[2][0]
    return (unit - mean) - np.outer(unit @ u, u)


def unit_length(V):
    return V / np.linalg.norm(V, axis=1, keepdims=True)


def optimal_gram(X_s, X_t, epsilon, lam):
    """G_s, G_t, Δ and G* of lemma 1, with λ scaled by γ = c²/NNZ(Δ)."""
    G_s, G_t = X_s @ X_s.T, X_t @ X_t.T
    delta = np.abs(G_s - G_t) < epsilon
    gamma = len(X_s) ** 2 / delta.sum() if delta.any() else 0.0
    G_star = np.where(delta, (G_s + gamma * lam * G_t) / (1 + gamma * lam), G_s)
    return G_s, G_t, delta, G_star


def published_aligned(X_s, X_t, epsilon, lam, rank):
    """X̃_s and its eigenvalues: the leading eigenvectors of G*, those above zero."""
    G_star = optimal_gram(X_s, X_t, epsilon, lam)[3]
    values, vectors = np.linalg.eigh(G_star)
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    positive = values > 1e-9 * values[0]
    return vectors[:, positive] * np.sqrt(values[positive]), values[positive]


def published_projection(X_s, X_t, epsilon, lam, rank):
    """W = X_sᵀ X̃ Λ⁻¹, of shape (d1, rank)."""
    aligned, values = published_aligned(X_s, X_t, epsilon, lam, rank)
    return X_s.T @ aligned / values


def linear_projection(X_s, X_t, epsilon, lam, rank):
    """W with R W Wᵀ Rᵀ = the positive part of QᵀG*Q, for the seed and one virtual pair along each axis, QR.

    The virtual pairs have the seed's mean length, and both spaces agree on all their inner products.
    """
    c, d1 = X_s.shape
    G_s, _, _, G_star = optimal_gram(X_s, X_t, epsilon, lam)
    completed = np.vstack([X_s, np.sqrt((X_s**2).sum() / c) * np.eye(d1)])
    G_completed = completed @ completed.T
    G_completed[:c, :c] += G_star - G_s
    Q, R = np.linalg.qr(completed)
    values, vectors = np.linalg.eigh(Q.T @ G_completed @ Q)
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    positive = values > 0
    return np.linalg.inv(R) @ (vectors[:, positive] * np.sqrt(values[positive]))


def pair_weights(X_s, X_t, epsilon, lam, power=0.5):
    """1/‖row of G* − G_t‖ to a power, the largest scaled to 1."""
    _, G_t, _, G_star = optimal_gram(X_s, X_t, epsilon, lam)
    weights = np.array([1 / np.sqrt(((G_star[i] - G_t[i]) ** 2).sum()) for i in range(len(X_s))]) ** power
    return weights / weights.max()


def rotated(W, X_s, X_t, weights):
    """W followed by the rotation UVᵀ of the weighted Procrustes problem."""
    w = weights[:, None]
    U, _, Vt = np.linalg.svd((w * (X_s @ W)).T @ (w * X_t), full_matrices=False)
    return W @ U @ Vt


def fipp_map(X_s, X_t, epsilon, lam, rank, solver="eigen"):
    """The whole map of preprocessed vectors: as published, or as it is by default."""
    published = solver == "eigen"
    W = (published_projection if published else linear_projection)(X_s, X_t, epsilon, lam, rank)
    return rotated(W, X_s, X_t, pair_weights(X_s, X_t, epsilon, lam, 1 if published else 0.5))


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
