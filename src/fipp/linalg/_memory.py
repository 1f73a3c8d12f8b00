"""How much memory a calculation may take, and how many rows at a time that allows."""

from __future__ import annotations

import re

from fipp.exceptions import FippError

DEFAULT_MAX_MEMORY = 1 << 30
"""Working memory, in bytes, when the user names none: one GiB beside the inputs and the result."""

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY_UNITS = {unit: 1024**power for power, unit in enumerate(_UNITS)}


def parse_memory(size: int | float | str | None) -> int:
    """Turn ``2_000_000_000``, ``"2GB"``, ``"1.5 GiB"`` or None (the default) into a number of bytes.

    Examples
    --------
    >>> parse_memory("2GB"), parse_memory("1 MiB"), parse_memory(500)
    (2000000000, 1048576, 500)
    """
    if size is None:
        return DEFAULT_MAX_MEMORY
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)B?\s*", size.upper())
        if match is None:
            raise FippError(f"max_memory {size!r} is not a size; write it like '2GB', '500 MB' or '1.5 GiB'")
        number, unit, binary = match.groups()
        size = float(number) * (_BINARY_UNITS if binary else _UNITS)[unit]
    if not size > 0:
        raise FippError(f"max_memory must be positive, not {size}")
    return int(size)


def rows_per_block(bytes_per_row: int, max_memory: int | float | str | None = None, *, at_most: int = 4096) -> int:
    """Return the number of rows that fit in ``max_memory`` when each needs ``bytes_per_row``: at least 1.

    Examples
    --------
    >>> rows_per_block(1_000_000, "100 MB")
    100
    """
    return max(1, min(at_most, parse_memory(max_memory) // max(1, bytes_per_row)))
