"""Training a network by torch: deterministic epochs, early stopping, and checkpoints in safetensors.

skorch does the same but for the checkpoints: it stores the state of an optimiser by pickle only, and without that state
an interrupted training cannot be resumed to the same result.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from fipp._progress import Progress, Steps
from fipp.exceptions import FippError
from fipp.io import read_model, write_model
from fipp.tasks._texts import EncodedTexts
from fipp.tasks._torch_networks import ESIM, TopicCNN

if TYPE_CHECKING:
    from fipp.tasks._network import NetworkClassifier

Rows = NDArray[np.int64]
LossOf = Callable[[Rows], torch.Tensor]
_MOMENTS = ("exp_avg", "exp_avg_sq")
_KIND = "training"
_LARGEST_GRADIENT = 10.0


class Epoch(NamedTuple):
    """The mean loss of an epoch during training, and afterwards on the held-out texts."""

    training: float
    holdout: float


@dataclass
class _State:
    """Everything that the next epoch depends on, and the best parameters so far."""

    network: torch.nn.Module
    optimizer: torch.optim.Optimizer
    history: list[Epoch] = field(default_factory=list)
    best_loss: float = math.inf
    best_epoch: int = -1
    best: dict[str, torch.Tensor] = field(default_factory=dict)

    def add(self, epoch: Epoch) -> None:
        """Note the losses of an epoch, and its parameters if they are the best so far."""
        if epoch.holdout < self.best_loss:
            self.best_loss, self.best_epoch = epoch.holdout, len(self.history)
            self.best = {name: tensor.detach().clone() for name, tensor in self.network.state_dict().items()}
        self.history.append(epoch)

    def write(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        """Write the state to a file, whole or not at all."""
        tensors = {f"network.{name}": _array(tensor) for name, tensor in self.network.state_dict().items()}
        tensors |= {f"best.{name}": _array(tensor) for name, tensor in self.best.items()}
        step = 0.0
        for name, parameter in self.network.named_parameters():
            adam = self.optimizer.state[parameter]
            tensors |= {f"adam.{moment}.{name}": _array(adam[moment]) for moment in _MOMENTS}
            step = float(adam["step"])
        header = {
            "kind": _KIND,
            "fingerprint": fingerprint,
            "history": [list(epoch) for epoch in self.history],
            "best_loss": self.best_loss,
            "best_epoch": self.best_epoch,
            "step": step,
        }
        write_model(path, tensors, header)

    def read(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        """Restore the state from a file; refuse the file of another training."""
        tensors, header = read_model(path)
        if header.get("kind") != _KIND:
            raise FippError(f"{path} is no checkpoint of a training")
        if header.get("fingerprint") != fingerprint:
            raise FippError(
                f"{path} is the checkpoint of another training: data, vectors, method or settings differ. "
                "Delete it, or name another file"
            )
        try:
            self.network.load_state_dict(self._parameters(tensors, "network."))
            self.best = self._parameters(tensors, "best.")
            moments = [
                {moment: torch.from_numpy(tensors[f"adam.{moment}.{name}"]) for moment in _MOMENTS}
                for name, _ in self.network.named_parameters()
            ]
            adam = self.optimizer.state_dict()
            adam["state"] = {i: {"step": torch.tensor(header["step"]), **each} for i, each in enumerate(moments)}
            self.optimizer.load_state_dict(adam)
            self.history = [Epoch(*losses) for losses in header["history"]]
            self.best_loss, self.best_epoch = float(header["best_loss"]), int(header["best_epoch"])
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            raise FippError(f"{os.fspath(path)} is damaged: {error}") from error

    def _parameters(self, tensors: dict[str, Any], prefix: str) -> dict[str, torch.Tensor]:
        device = next(self.network.parameters()).device
        return {name: torch.from_numpy(tensors[prefix + name]).to(device) for name in self.network.state_dict()}


def train(
    network: torch.nn.Module,
    loss_of: LossOf,
    n_texts: int,
    settings: NetworkClassifier,
    *,
    fingerprint: str,
    progress: Progress | None = None,
) -> tuple[list[Epoch], int]:
    """Train by Adam until the loss on the held-out texts stops improving; leave the best parameters in the network.

    With ``settings.checkpoint``, the state is written after each epoch, and an interrupted training resumes from that
    file to the same result. ``loss_of`` returns the mean loss of the texts with these row numbers; ``fingerprint``
    identifies data and settings, and a checkpoint with another one is refused.
    Return the losses of all epochs and the number of the best one.
    """
    training, holdout = _divide(n_texts, settings)
    state = _State(network, torch.optim.Adam(network.parameters(), lr=settings.learning_rate))
    if settings.checkpoint is not None and os.path.exists(settings.checkpoint):
        state.read(settings.checkpoint, fingerprint)
    n_batches = math.ceil(len(training) / settings.batch_size)
    steps = Steps(progress, settings.epochs * n_batches)
    steps(len(state.history) * n_batches)
    while (number := len(state.history)) < settings.epochs and number - 1 - state.best_epoch < settings.patience:
        training_loss = _train_epoch(state, loss_of, training, settings, steps)
        epoch = Epoch(training_loss, _mean_loss(network, loss_of, holdout, settings.batch_size))
        if not math.isfinite(sum(epoch)):
            raise FippError(f"the loss is no longer a number in epoch {number + 1}: try a smaller learning_rate")
        state.add(epoch)
        if settings.checkpoint is not None:
            state.write(settings.checkpoint, fingerprint)
    network.load_state_dict(state.best)
    network.eval()
    steps.finish()
    return state.history, state.best_epoch


def fingerprint_of(settings: Mapping[str, Any], *arrays: NDArray[Any]) -> str:
    """Return a checksum of everything that a training depends on, except how long it lasts and where it runs."""
    named = {name: settings[name] for name in settings if name not in ("epochs", "patience", "checkpoint", "device")}
    digest = hashlib.sha256(json.dumps(named, sort_keys=True, default=str).encode())
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def seeded(*numbers: int) -> int:
    """Return a seed for torch that depends on all of these numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


def choose_device(device: str) -> torch.device:
    """Return the device of this name; ``"auto"`` is the GPU if there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise FippError(f"torch cannot use the device {device!r} here ({reason}); choose 'cpu' or 'auto'") from error
    return chosen


def look_up(
    texts: EncodedTexts, rows: Rows, max_words: int, network: TopicCNN | ESIM
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the vectors and lengths of texts (`EncodedTexts.padded`) on the network's device, one batch at a time.

    Vectors of unit length are scaled to length √d, because the initial weights of a network expect entries of about 1.
    """
    words, lengths = texts.padded(rows, max_words, network.min_words)
    words *= np.float32(texts.dim**0.5)
    device = next(network.parameters()).device
    return torch.from_numpy(words).to(device), torch.from_numpy(lengths).to(device)


def _divide(n_texts: int, settings: NetworkClassifier) -> tuple[Rows, Rows]:
    n_held_out = max(1, round(settings.holdout * n_texts))
    if n_texts - n_held_out < 1:
        raise FippError(f"{n_texts} texts are too few: some are trained on and others held out")
    order = np.random.default_rng(settings.random_state).permutation(n_texts)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def _train_epoch(state: _State, loss_of: LossOf, training: Rows, settings: NetworkClassifier, steps: Steps) -> float:
    network, optimizer, number = state.network, state.optimizer, len(state.history)
    # Order and dropout depend on the seed and the epoch alone, so that training can resume from any epoch.
    order = np.random.default_rng([settings.random_state, number]).permutation(training)
    total = 0.0
    network.train()
    with torch.random.fork_rng():
        torch.manual_seed(seeded(settings.random_state, number))
        for start in range(0, len(order), settings.batch_size):
            rows = order[start : start + settings.batch_size]
            optimizer.zero_grad()
            loss = loss_of(rows)
            loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
            torch.nn.utils.clip_grad_norm_(network.parameters(), _LARGEST_GRADIENT)
            optimizer.step()
            total += float(loss.detach()) * len(rows)
            steps()
    return total / len(order)


def _mean_loss(network: torch.nn.Module, loss_of: LossOf, rows: Rows, batch_size: int) -> float:
    network.eval()
    total = 0.0
    with torch.no_grad():
        for start in range(0, len(rows), batch_size):
            batch = rows[start : start + batch_size]
            total += float(loss_of(batch)) * len(batch)
    return total / len(rows)


def _array(tensor: torch.Tensor) -> Any:
    return tensor.detach().cpu().numpy()
