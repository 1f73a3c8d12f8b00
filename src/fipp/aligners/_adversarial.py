"""The game of MUSE: a discriminator tells mapped source vectors from target vectors, the map learns to deceive it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp._optional import require
from fipp.linalg import Progress, cross_products, one_torch_thread, rotation, single_threaded_blas

_LEAK = 0.2
_REPORTS = 100


@dataclass(frozen=True)
class Game:
    """How it is played; see `MUSE`."""

    n_components: int
    n_steps: int
    hidden: int
    batch_size: int
    n_discriminator_steps: int
    learning_rate: float
    dropout: float
    smoothing: float
    beta: float


def adversarial_map(
    X: NDArray[np.float32], Y: NDArray[np.float32], game: Game, random_state: int, progress: Progress | None = None
) -> NDArray[np.float32]:
    """Play the game between the principal components of both sides, and give the map of shape (d1, d2).

    Parameters
    ----------
    X, Y : ndarray of shape (n, d1), (m, d2)
        Preprocessed vectors of both sides, from which the game draws evenly.
    game : Game
        Its settings.
    random_state : int
        Of the first weights and of all draws: the same bits come of the same number.
    progress : callable, optional
        Called as ``progress(done, total)``.
    """
    torch = require("torch", "the adversarial start of MUSE", extra="torch")
    p = min(game.n_components, X.shape[1], Y.shape[1])
    sides = principal_axes(X, p), principal_axes(Y, p)
    source, target = (_of_mean_length_1(V @ axes) for V, axes in zip((X, Y), sides, strict=True))
    with one_torch_thread(torch), torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_state)
        played = _play(torch, torch.from_numpy(source), torch.from_numpy(target), game, progress)
    # The game leaves it near orthogonal; the nearest orthogonal one is what counts.
    omega = rotation(played.astype(np.float64)).astype(np.float32)
    return np.asarray(sides[0] @ omega @ sides[1].T, dtype=np.float32)


@single_threaded_blas
def principal_axes(X: NDArray[np.float32], p: int) -> NDArray[np.float32]:
    """Return the p directions in which X varies most, falling, each turned to where its distribution is skewed.

    Spaces that differ by a rotation have the same axes in the same order; only their signs would be left to chance.

    Examples
    --------
    >>> X = np.float32([[3.0, 0.0], [-1.0, 0.5], [-1.0, -0.5], [-1.0, 0.0]])
    >>> np.allclose(principal_axes(X, 1), [[1], [0]]), np.allclose(principal_axes(-X, 1), [[-1], [0]])
    (True, True)
    """
    axes = np.linalg.eigh(cross_products(X, X))[1][:, ::-1][:, :p].astype(np.float32)
    skewness = np.power(X @ axes, 3).mean(axis=0, dtype=np.float64)
    turned: NDArray[np.float32] = axes * np.where(skewness < 0, -1, 1).astype(np.float32)
    return np.ascontiguousarray(turned)


def _of_mean_length_1(X: NDArray[np.float32]) -> NDArray[np.float32]:
    return X / np.float32(max(float(np.linalg.norm(X, axis=1).mean()), 1e-12))


def _play(torch: Any, X: Any, Y: Any, game: Game, progress: Progress | None) -> NDArray[np.float32]:
    # Vectors of about length 1 in many dimensions are small numbers; the layers are made for entries of about 1.
    X, Y = (V * (V.shape[1] ** 0.5) for V in (X, Y))
    omega = torch.eye(X.shape[1]).requires_grad_()
    discriminator = _discriminator(torch, Y.shape[1], game)
    judge = torch.nn.BCEWithLogitsLoss()
    answers = torch.full((2 * game.batch_size,), game.smoothing)
    answers[: game.batch_size] = 1 - game.smoothing  # mapped source vectors come first
    optimisers = [torch.optim.SGD(what, lr=game.learning_rate) for what in ([omega], discriminator.parameters())]
    for step in range(game.n_steps):
        rate = game.learning_rate * 0.1 ** (step / game.n_steps)
        for optimiser in optimisers:
            optimiser.param_groups[0]["lr"] = rate
        discriminator.train()
        for _ in range(game.n_discriminator_steps):
            with torch.no_grad():
                batch = _draw(torch, X, Y, omega, game.batch_size)
            optimisers[1].zero_grad()
            judge(discriminator(batch)[:, 0], answers).backward()
            optimisers[1].step()
        discriminator.eval()
        optimisers[0].zero_grad()
        judge(discriminator(_draw(torch, X, Y, omega, game.batch_size))[:, 0], 1 - answers).backward()
        optimisers[0].step()
        with torch.no_grad():
            omega.copy_((1 + game.beta) * omega - game.beta * (omega @ omega.T @ omega))
        if progress is not None and (step + 1) % max(1, game.n_steps // _REPORTS) == 0:
            progress(step + 1, game.n_steps)
    found: NDArray[np.float32] = omega.detach().numpy()
    return found


def _draw(torch: Any, X: Any, Y: Any, omega: Any, size: int) -> Any:
    rows = [torch.randint(len(V), (size,)) for V in (X, Y)]
    return torch.cat([X[rows[0]] @ omega, Y[rows[1]]])


def _discriminator(torch: Any, d: int, game: Game) -> Any:
    layers = torch.nn
    return layers.Sequential(
        layers.Dropout(game.dropout),
        layers.Linear(d, game.hidden),
        layers.LeakyReLU(_LEAK),
        layers.Linear(game.hidden, game.hidden),
        layers.LeakyReLU(_LEAK),
        layers.Linear(game.hidden, 1),
    )
