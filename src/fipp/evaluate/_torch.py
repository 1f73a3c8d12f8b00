"""torch, if it is there, and what it should calculate on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fipp.exceptions import FippError

if TYPE_CHECKING:
    import torch


def require_torch(what: str) -> Any:
    """Return torch, or say how to install it.

    Examples
    --------
    >>> require_torch("the CNN").tanh  # doctest: +SKIP
    <built-in method tanh of type object>
    """
    try:
        import torch
    except ImportError as error:
        raise FippError(f"{what} needs torch: pip install 'fipp[torch]'") from error
    return torch


def choose_device(device: str) -> torch.device:
    """Return the device of this name; ``"auto"`` is the GPU if there is one.

    Examples
    --------
    >>> choose_device("cpu")  # doctest: +SKIP
    device(type='cpu')
    """
    torch = require_torch(f"device={device!r}")
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise FippError(f"torch cannot use the device {device!r} here ({reason}); take 'cpu' or 'auto'") from error
    return chosen
