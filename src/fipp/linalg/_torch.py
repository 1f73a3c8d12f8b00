"""torch, for those who have it: looked up when it is needed, never imported unasked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from fipp.exceptions import FippError


def torch_for(purpose: str) -> Any:
    """Return torch, or say what needs it and how to get it."""
    try:
        return import_module("torch")
    except ImportError as error:
        raise FippError(f"{purpose} needs torch: pip install 'fipp[torch]'") from error


@contextmanager
def one_torch_thread(torch: Any) -> Iterator[None]:
    """Let torch use one thread, so that the same bits come out whatever the number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
