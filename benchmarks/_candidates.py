"""Maps between two embedding models that a migration may use, and those of Drift-Adapter.

Each is a function of unit vectors of both models, row by row, that returns a function of other vectors of the old one.
None changes the vectors of the new model.
"""

from __future__ import annotations

import copy

import numpy as np

from fipp import FIPP, KernelRidge, Procrustes, ResidualMLP, Spectral
from fipp.linalg import unit_rows


def _plain(aligner):
    return lambda X, Y: aligner.fit(X, Y).transform


def _centred(aligner):
    """Fit an aligner on vectors without their means, and add the mean of the new model again."""

    def fit(X, Y):
        means = X.mean(axis=0), Y.mean(axis=0)
        aligner.fit(X - means[0], Y - means[1])
        return lambda rows: aligner.transform(rows - means[0]) + means[1]

    return fit


def _ridge_1(X, Y):
    from sklearn.linear_model import Ridge

    return Ridge(1.0).fit(X, Y).predict


def _mixture(X, Y):
    """One linear map for all, corrected in each cluster of the old model by a ridge regression of what it misses.

    The penalty is the one under which the corrections come closest to left-out pairs; the corrections of two clusters
    are mixed where a vector is between them.
    """
    from sklearn.cluster import KMeans

    k = max(1, min(8, len(X) // 200))
    everywhere = KernelRidge("linear")
    missed = Y - everywhere.leave_out(X, Y).predictions()
    centres = KMeans(k, n_init=1, random_state=0).fit(X).cluster_centers_

    def weights(rows):
        nearness = 20 * rows @ unit_rows(centres).T
        shares = np.exp(nearness - nearness.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def correction(part, penalty):
        """Return a weighted ridge regression, and what it predicts of each pair that it was fitted without."""
        centre = part @ X / part.sum()
        F = (X - centre) * np.sqrt(part)[:, None]
        solved = np.linalg.solve(F.T @ F + penalty * np.eye(F.shape[1]), F.T)
        W = solved @ (missed * np.sqrt(part)[:, None])
        leverage = np.einsum("ij,ji->i", F, solved)
        predicted = ((X - centre) @ W - leverage[:, None] * missed) / np.maximum(1 - leverage, 1e-3)[:, None]
        return centre, W, predicted

    shares, best = weights(X).T, (0.0, None)
    for penalty in (3.0, 10.0, 30.0):
        parts = [correction(part, penalty) for part in shares]
        left = sum(part[:, None] * predicted for part, (_, _, predicted) in zip(shares, parts, strict=True))
        gain = np.square(missed).sum() - np.square(missed - left).sum()
        best = max(best, (gain, penalty))
    parts = [] if best[1] is None else [correction(part, best[1])[:2] for part in shares]

    def mapped(rows):
        found = everywhere.transform(rows)
        for part, (centre, W) in zip(weights(rows).T, parts, strict=False):
            found = found + part[:, None] * ((rows - centre) @ W)
        return found

    return mapped


def _drift_adapter(kind):
    """Return Drift-Adapter's trained maps: "low-rank", affine of rank 64, or "mlp", 256 units beside the vector itself.

    The kinds of map are those of its paper (Vejendla, EMNLP 2025); the sizes are what we know of them, and were not
    checked against its code. Their training is ours: squared error and AdamW, until a held-out tenth of the pairs gets
    no better. Where the dimensions differ, a linear layer stands for the vector itself; it starts as the rotation of
    Procrustes.
    """

    def fit(X, Y, rate=1e-3, batch=256, most=1_000, patience=5):
        import torch
        from torch import nn

        def error(rows):
            return nn.functional.mse_loss(sum(part(inputs[rows]) for part in parts), outputs[rows])

        torch.manual_seed(0)
        inputs, outputs = torch.from_numpy(np.array(X)), torch.from_numpy(np.array(Y))
        parts = nn.ModuleList(_parts(kind, X, Y))
        held, kept = torch.randperm(len(X)).tensor_split([len(X) // 10])
        training = torch.optim.AdamW(parts.parameters(), lr=rate, weight_decay=0.01)
        best, waited, steps, state = np.inf, 0, 0, None
        while steps < most and waited < patience:
            for _ in range(max(1, 10 * batch // len(kept))):  # ten steps or more between two looks
                for rows in kept[torch.randperm(len(kept))].split(batch):
                    training.zero_grad()
                    error(rows).backward()
                    training.step()
                    steps += 1
            with torch.no_grad():
                loss = float(error(held))
            waited += 1
            if loss < 0.999 * best:
                best, waited, state = loss, 0, copy.deepcopy(parts.state_dict())
        parts.load_state_dict(state)

        @torch.no_grad()
        def mapped(rows):
            vectors = torch.from_numpy(np.array(rows))
            return sum(part(vectors) for part in parts).numpy()

        return mapped

    return fit


def _parts(kind, X, Y):
    """Return layers whose sum is the map."""
    import torch
    from torch import nn

    d1, d2 = X.shape[1], Y.shape[1]
    if kind == "low-rank":
        return [nn.Sequential(nn.Linear(d1, 64, bias=False), nn.Linear(64, d2))]
    network = nn.Sequential(nn.Linear(d1, 256), nn.GELU(), nn.Linear(256, d2))
    if d1 == d2:
        return [nn.Identity(), network]
    layer = nn.Linear(d1, d2, bias=False)
    layer.weight.data = torch.from_numpy(np.array(Procrustes(preprocess=None).fit(X, Y).map_.T))
    return [layer, network]


RIDGE_1 = "Ridge(1)"
DRIFT = ("Drift-Adapter: Procrustes", "Drift-Adapter: low-rank", "Drift-Adapter: MLP")
FILTER = ("FIPP", "FIPP, no filter")
MAPS = {
    RIDGE_1: _ridge_1,
    "Procrustes, centred": _centred(Procrustes(preprocess=None)),
    "Spectral, fixed": _centred(Spectral(target="fixed", preprocess=None)),
    "ResidualMLP": _centred(ResidualMLP(preprocess=None, n_epochs=30, patience=3)),
    "mixture of linear maps": _mixture,
    FILTER[0]: _centred(FIPP(preprocess=None)),
    FILTER[1]: _centred(FIPP(epsilon=None, preprocess=None)),
    DRIFT[0]: _plain(Procrustes(preprocess=None)),
    DRIFT[1]: _drift_adapter("low-rank"),
    DRIFT[2]: _drift_adapter("mlp"),
}
