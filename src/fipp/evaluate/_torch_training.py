"""Training a network: epochs in an order that the seed settles, early stopping, and checkpoints to go on from."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from fipp.evaluate._checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from fipp.exceptions import FippError
from fipp.linalg import Progress

Rows = NDArray[np.int64]
LossOf = Callable[[Rows], torch.Tensor]


class Epoch(NamedTuple):
    """The mean loss of an epoch while training, and then on the texts held out."""

    training: float
    holdout: float


@dataclass(frozen=True)
class TrainingSettings:
    """How to train; the same for every network.

    ``holdout`` is the share of the training texts that only early stopping sees. ``patience`` epochs without a new
    best on them end the training, and the best parameters are kept.
    """

    epochs: int = 20
    patience: int = 3
    holdout: float = 0.1
    batch_size: int = 50
    learning_rate: float = 1e-3
    clip: float = 10.0
    random_state: int = 0
    checkpoint: str | os.PathLike[str] | None = None

    def check(self) -> None:
        """Refuse settings that cannot be."""
        for name in ("epochs", "patience", "batch_size"):
            if getattr(self, name) < 1:
                raise FippError(f"{name} must be 1 or more, not {getattr(self, name)}")
        if not 0 < self.holdout < 1:
            raise FippError(f"holdout must lie between 0 and 1, such as 0.1, not {self.holdout}")
        if not (self.learning_rate > 0 and self.clip > 0):
            raise FippError("learning_rate and clip must be above 0")


class Trained(NamedTuple):
    """What a training came to."""

    history: list[Epoch]
    best_epoch: int


def train(
    network: torch.nn.Module,
    loss_of: LossOf,
    n_texts: int,
    settings: TrainingSettings,
    *,
    fingerprint: str,
    progress: Progress | None = None,
) -> Trained:
    """Train by Adam until the loss on the held-out texts grows no better; leave the best parameters in the network.

    Parameters
    ----------
    network : torch.nn.Module
        On its device, with its first parameters.
    loss_of : callable
        Gives the mean loss of the texts with these row numbers.
    n_texts : int
        How many there are.
    settings : TrainingSettings
        With ``checkpoint``, the state is written after each epoch, and training goes on from what is there: to the
        same result as without the break.
    fingerprint : str
        Of data and settings; a checkpoint with another one is refused.
    progress : callable, optional
        Called as ``progress(batches done, batches at most)``.

    Returns
    -------
    Trained
    """
    settings.check()
    training, holdout = _divide(n_texts, settings)
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
    state = _resume(network, optimizer, settings, fingerprint)
    n_batches = math.ceil(len(training) / settings.batch_size)
    while len(state.history) < settings.epochs and not _is_enough(state, settings):
        number = len(state.history)
        training_loss = _epoch(
            network, optimizer, loss_of, training, settings, number, _shifted(progress, number, n_batches, settings)
        )
        held_out_loss = _mean_loss(network, loss_of, holdout, settings.batch_size)
        if not math.isfinite(training_loss + held_out_loss):
            raise FippError(f"the loss is no number any more in epoch {number + 1}: try a smaller learning_rate")
        state.history.append(Epoch(training_loss, held_out_loss))
        if held_out_loss < state.best_loss:
            state.best_loss, state.best_epoch = held_out_loss, number
            state.best = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
        if settings.checkpoint is not None:
            write_checkpoint(settings.checkpoint, network, optimizer, state, fingerprint)
    network.load_state_dict(state.best)
    network.eval()
    if progress:
        progress(settings.epochs * n_batches, settings.epochs * n_batches)
    return Trained(list(state.history), state.best_epoch)


def fingerprint_of(settings: Mapping[str, Any] | TrainingSettings, *arrays: NDArray[Any]) -> str:
    """Return a checksum of everything that a training depends on, but how long it goes on and where.

    Examples
    --------
    >>> fingerprint_of({"filters": 8, "epochs": 1}, np.eye(2)) == fingerprint_of({"filters": 8, "epochs": 9}, np.eye(2))
    True
    """
    named = asdict(settings) if isinstance(settings, TrainingSettings) else dict(settings)
    for name in ("epochs", "patience", "checkpoint", "device"):
        named.pop(name, None)
    digest = hashlib.sha256(json.dumps(named, sort_keys=True, default=str).encode())
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def seeded(*numbers: int) -> int:
    """Return a seed for torch that depends on all of these numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


def _divide(n_texts: int, settings: TrainingSettings) -> tuple[Rows, Rows]:
    n_held_out = max(1, round(settings.holdout * n_texts))
    if n_texts - n_held_out < 1:
        raise FippError(f"{n_texts} texts are too few to train on some and to hold out others")
    order = np.random.default_rng(settings.random_state).permutation(n_texts)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def _resume(
    network: torch.nn.Module, optimizer: torch.optim.Optimizer, settings: TrainingSettings, fingerprint: str
) -> Checkpoint:
    if settings.checkpoint is not None and os.path.exists(settings.checkpoint):
        return read_checkpoint(settings.checkpoint, network, optimizer, fingerprint)
    return Checkpoint([], math.inf, -1, {})


def _is_enough(state: Checkpoint, settings: TrainingSettings) -> bool:
    return len(state.history) - 1 - state.best_epoch >= settings.patience


def _epoch(
    network: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    loss_of: LossOf,
    training: Rows,
    settings: TrainingSettings,
    number: int,
    progress: Callable[[int], None],
) -> float:
    # Order and dropout depend on the seed and the epoch alone, so that training can go on from any epoch.
    order = np.random.default_rng([settings.random_state, number]).permutation(training)
    total = 0.0
    network.train()
    with torch.random.fork_rng():
        torch.manual_seed(seeded(settings.random_state, number))
        for done, start in enumerate(range(0, len(order), settings.batch_size)):
            rows = order[start : start + settings.batch_size]
            optimizer.zero_grad()
            loss = loss_of(rows)
            loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
            torch.nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
            optimizer.step()
            total += float(loss.detach()) * len(rows)
            progress(done + 1)
    return total / len(order)


def _mean_loss(network: torch.nn.Module, loss_of: LossOf, rows: Rows, batch_size: int) -> float:
    network.eval()
    total = 0.0
    with torch.no_grad():
        for start in range(0, len(rows), batch_size):
            batch = rows[start : start + batch_size]
            total += float(loss_of(batch)) * len(batch)
    return total / len(rows)


def _shifted(
    progress: Progress | None, number: int, n_batches: int, settings: TrainingSettings
) -> Callable[[int], None]:
    def advance(done: int) -> None:
        if progress:
            progress(number * n_batches + done, settings.epochs * n_batches)

    return advance
