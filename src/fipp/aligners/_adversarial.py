"""The game of MUSE: a discriminator tells mapped source vectors from target vectors, the map learns to deceive it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp.linalg import Progress
from fipp.linalg._torch import one_torch_thread, torch_for

_LEAK = 0.2
_REPORTS = 100


@dataclass(frozen=True)
class Game:
    """How it is played; see `MUSE`."""

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
    """Play the game and give the map of shape (d1, d2), near orthogonal.

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
    torch = torch_for("the adversarial start of MUSE")
    with one_torch_thread(torch), torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_state)
        return _play(torch, torch.from_numpy(X), torch.from_numpy(Y), game, progress)


def _play(torch: Any, X: Any, Y: Any, game: Game, progress: Progress | None) -> NDArray[np.float32]:
    # Vectors of about length 1 in many dimensions are small numbers; the layers are made for entries of about 1.
    X, Y = (V * (V.shape[1] ** 0.5) for V in (X, Y))
    start = torch.linalg.qr(torch.randn(max(X.shape[1], Y.shape[1]), min(X.shape[1], Y.shape[1])))[0]
    omega = torch.eye(X.shape[1]) if X.shape[1] == Y.shape[1] else start.T if X.shape[1] < Y.shape[1] else start
    omega = omega.contiguous().requires_grad_()
    discriminator = _discriminator(torch, Y.shape[1], game)
    judge = torch.nn.BCEWithLogitsLoss()
    sizes = torch.full((2 * game.batch_size,), game.smoothing)
    answers = sizes.clone()
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
