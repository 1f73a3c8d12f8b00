"""Loops that numba compiles: once on each machine, then they are loaded from its cache.

This module imports numba, which takes longer than importing all of fipp. So it is imported only by modules of compiled
loops, and these only when a loop is to run. All that is compiled for one of them, even functions that are only called
by others, is in the same file, because numba notices only changes of the file that a cached function is in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

instruction: Any = intrinsic
"""Makes a function that compiled code may call out of one that writes LLVM's instructions for it."""


def compiled(signature: Any, *, any_order: bool = False) -> Callable[[Function], Function]:
    """Compile a function now, or load it from numba's cache; it runs without Python's lock.

    With ``any_order``, sums may be added in another order than written, which vector instructions need.

    The cache is in ``__pycache__`` beside the function's file or, if that cannot be written, in the user's own cache
    folder. Like the ``.pyc`` files there it is code, and as safe as the folder; no file that a user gives to fipp leads
    to it.
    """
    freedom: Any = {"reassoc", "contract", "nsz"} if any_order else False

    def decorate(function: Function) -> Any:
        try:
            return njit(signature, nogil=True, fastmath=freedom, cache=True)(function)
        except (OSError, RuntimeError):  # there is nowhere to write: compile for this process alone
            return njit(signature, nogil=True, fastmath=freedom)(function)

    return decorate
