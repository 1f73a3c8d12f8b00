"""The product of queries with a block of keys, in the arithmetic that is fastest here.

The product only proposes (see :mod:`fipp.retrieve._scores`), so a coarser one with a larger bound on its error leads to
the same results; there is only more to look at again.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BFLOAT16_FLAGS = {"avx512_bf16", "amx_bf16"}


class Product:
    """Multiplies with these keys in float32.

    Attributes
    ----------
    rounding : float
        How far a product with vectors of unit length may be off, beside the rounding of float32 sums.
    """

    rounding = 0.0

    def __init__(self, keys: NDArray[np.float32]) -> None:
        self._keys: Any = keys

    def convert(self, queries: NDArray[np.float32]) -> Any:
        """Give the queries in the type that is multiplied."""
        return queries

    def __call__(self, queries: Any, part: slice, out: NDArray[np.float32]) -> None:
        """Write the product of each converted query with each of these keys to ``out``."""
        np.matmul(queries, self._keys[part].T, out=out)


class Bfloat16Product(Product):
    """Multiplies in bfloat16 by torch, sums in float32."""

    # Both numbers and the sum are rounded to 8 bits; the rest covers terms of higher order.
    rounding = 3.02 * 2.0**-9

    def __init__(self, keys: NDArray[np.float32]) -> None:
        self._torch = sys.modules["torch"]
        self._keys = self.convert(keys)

    def convert(self, queries: NDArray[np.float32]) -> Any:
        """Give the queries in bfloat16."""
        return self._torch.from_numpy(np.require(queries, requirements=["C", "W"])).to(self._torch.bfloat16)

    def __call__(self, queries: Any, part: slice, out: NDArray[np.float32]) -> None:
        """Write the product to ``out``, as float32."""
        self._torch.from_numpy(out).copy_(queries @ self._keys[part].T)


def product_class() -> type[Product]:
    """Give the fastest arithmetic: bfloat16 if the program has imported torch and the processor multiplies in it."""
    return Bfloat16Product if "torch" in sys.modules and _processor_has_bfloat16() else Product


@cache
def _processor_has_bfloat16() -> bool:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return not _BFLOAT16_FLAGS.isdisjoint(flags.split())
