"""The state of a training in a safetensors file: parameters, the best so far, the moments of Adam; never a pickle."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fipp.exceptions import FippError
from fipp.io import read_model, write_model

_MOMENTS = ("exp_avg", "exp_avg_sq")
_KIND = "training"


@dataclass
class Checkpoint:
    """Where a training stands: losses of its epochs, and the best parameters with their loss and epoch."""

    history: list[Any]
    best_loss: float
    best_epoch: int
    best: dict[str, torch.Tensor]


def write_checkpoint(
    path: str | os.PathLike[str],
    network: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    state: Checkpoint,
    fingerprint: str,
) -> None:
    """Write everything that the next epoch depends on, whole or not at all."""
    tensors = {f"network.{name}": _array(tensor) for name, tensor in network.state_dict().items()}
    tensors |= {f"best.{name}": _array(tensor) for name, tensor in state.best.items()}
    step = 0.0
    for name, parameter in network.named_parameters():
        kept = optimizer.state[parameter]
        tensors |= {f"adam.{moment}.{name}": _array(kept[moment]) for moment in _MOMENTS}
        step = float(kept["step"])
    header = {
        "kind": _KIND,
        "fingerprint": fingerprint,
        "history": [list(epoch) for epoch in state.history],
        "best_loss": state.best_loss,
        "best_epoch": state.best_epoch,
        "step": step,
    }
    write_model(path, tensors, header)


def read_checkpoint(
    path: str | os.PathLike[str], network: torch.nn.Module, optimizer: torch.optim.Optimizer, fingerprint: str
) -> Checkpoint:
    """Put network and optimiser into the state that was written; refuse one of another training."""
    from fipp.evaluate._torch_training import Epoch

    tensors, header = read_model(path)
    if header.get("kind") != _KIND:
        raise FippError(f"{path} is no checkpoint of a training")
    if header.get("fingerprint") != fingerprint:
        raise FippError(
            f"{path} is the checkpoint of another training: data, vectors, method or settings differ. "
            "Delete it, or name another file"
        )
    try:
        network.load_state_dict(_named(tensors, "network.", network))
        best = _named(tensors, "best.", network)
        moments = [
            {moment: torch.from_numpy(tensors[f"adam.{moment}.{name}"]) for moment in _MOMENTS}
            for name, _ in network.named_parameters()
        ]
        whole = optimizer.state_dict()
        whole["state"] = {i: {"step": torch.tensor(header["step"]), **each} for i, each in enumerate(moments)}
        optimizer.load_state_dict(whole)
        history = [Epoch(*losses) for losses in header["history"]]
        return Checkpoint(history, float(header["best_loss"]), int(header["best_epoch"]), best)
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise FippError(f"{Path(path)} is damaged: {error}") from error


def _array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = tensor.detach().cpu().numpy()
    return array


def _named(tensors: dict[str, Any], prefix: str, network: torch.nn.Module) -> dict[str, torch.Tensor]:
    device = next(network.parameters()).device
    return {name: torch.from_numpy(tensors[prefix + name]).to(device) for name in network.state_dict()}
