"""Where large products are made: by numpy, or by torch on a device that the user names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp._optional import require
from fipp.exceptions import FippError
from fipp.linalg._parallel import one_torch_thread

Multiply = Callable[[NDArray[Any], NDArray[Any], "NDArray[Any] | None"], NDArray[Any]]


def product(A: NDArray[Any], B: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return A B, which is also written to ``out`` if given: by numpy, or where `use_device` says.

    This is the one place for the products of Gram tiles, searches and maps. Only float32 leaves the processor: few
    devices are fast with float64, some do not have it, and what needs it here is small.
    """
    multiply = _chosen()
    if multiply is None or A.dtype != np.float32 or B.dtype != np.float32:
        result: NDArray[Any] = np.matmul(A, B, out=out)
        return result
    return multiply(A, B, out)


@contextmanager
def use_device(device: str | None) -> Iterator[None]:
    """Make the large float32 products of fits, searches and maps with torch on a device: ``pip install 'fipp[torch]'``.

    These are the tiles of Gram matrices, the tiles of searches, cross-covariances, and products of vectors with a map.
    All else stays with numpy: preparing vectors, small decompositions, and looking through the products of a search.
    Searches find exactly the same, because a product only proposes neighbours there. Maps differ by the rounding of
    float32 products, which changes cosines between mapped vectors by less than 1e-4. Torch is told to multiply float32
    in full precision, on which the exactness of searches relies.

    The environment variable ``FIPP_DEVICE`` names a device for a whole process, for every command, and for the
    processes that it starts. Nothing is imported from torch without one of the two. No GPU has been measured so far.

    Parameters
    ----------
    device : str or None
        A device of torch, such as ``"cuda"``, ``"cuda:1"`` or ``"cpu"``; None for numpy. It applies to all threads of
        this process inside the ``with`` block. On ``"cpu"``, torch has one thread, and fipp as many as always.

    Raises
    ------
    FippError
        If torch is not installed, or cannot use the device.

    Examples
    --------
    >>> import numpy as np, fipp
    >>> X = np.random.default_rng(0).standard_normal((50, 5))
    >>> with fipp.use_device(None):  # or "cuda"
    ...     aligner = fipp.FIPP().fit(X, X)
    """
    global _chosen
    before = _chosen
    with ExitStack() as settings:
        multiply = None if device is None else _by_torch(device, settings)
        _chosen = partial(_same, multiply)
        try:
            yield
        finally:
            _chosen = before


def _same(multiply: Multiply | None) -> Multiply | None:
    return multiply


@cache
def _of_environment() -> Multiply | None:
    device = os.environ.get("FIPP_DEVICE")
    # These settings of torch stay for as long as the process.
    return _by_torch(device, ExitStack()) if device else None


_chosen: Callable[[], Multiply | None] = _of_environment


def _by_torch(device: str, settings: ExitStack) -> Multiply:
    """Return a function that multiplies on the device, and set torch to full precision."""
    torch = require("torch", f"the device {device!r}", extra="torch")
    try:
        place = torch.device(device)
        torch.ones(2, 2, device=place).sum().item()  # a device can have a name and not be there
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise FippError(f"torch cannot use the device {device!r}: {str(error).splitlines()[0]}") from error
    settings.callback(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
    torch.set_float32_matmul_precision("highest")
    if place.type == "cpu":
        settings.enter_context(one_torch_thread(torch))

    def sent(array: NDArray[Any]) -> Any:
        # Torch warns of memory that it may not write to, such as that of a mapped file, and has no negative strides.
        fits = array.flags.writeable and min(array.strides) >= 0
        return torch.from_numpy(array if fits else array.copy()).to(place)

    def multiply(A: NDArray[Any], B: NDArray[Any], out: NDArray[Any] | None) -> NDArray[Any]:
        result = torch.matmul(sent(A), sent(B))
        if out is None:
            found: NDArray[Any] = result.cpu().numpy()
            return found
        torch.from_numpy(out).copy_(result)
        return out

    return multiply
