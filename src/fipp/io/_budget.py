"""How much memory a reader may take: a share of the machine's unless the user sets another, counted as it is taken."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from sys import getsizeof

from fipp.exceptions import FippError
from fipp.linalg import parse_memory

WORD_BYTES = 150
"""Roughly the memory of a short word besides its vector: its text, and its place in the list and in the index."""

_JSON_BYTES = 32
"""The most memory that a byte of JSON becomes; small objects are the worst."""

_SMALL_JSON = 2 << 20
_UNKNOWN_MEMORY = 16 << 30
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUPS = Path("/proc/self/cgroup")


class Budget:
    """What one file may take of ``max_bytes``, which None makes half of the machine's memory.

    Readers count what they are about to keep, and what a header promises, before they make room for it. ``on_disk``
    says that vectors are kept in a temporary file, and are thus not counted.
    """

    def __init__(self, path: Path, max_bytes: int | float | str | None = None, *, on_disk: bool = False) -> None:
        self._path, self._on_disk = path, on_disk
        self.max_bytes = bytes_allowed(max_bytes)
        self._taken = 0

    def take(self, count: int) -> None:
        """Count memory that is kept; raise a FippError if it is more than allowed."""
        self.expect(count)
        self._taken += count

    def take_numbers(self, count: int) -> None:
        """Count the bytes of vectors that are kept, unless they are kept on disk."""
        if not self._on_disk:
            self.take(count)

    def take_words(self, words: Iterable[str]) -> None:
        """Count words that are kept, and their places in the list and in the index."""
        self.take(sum(getsizeof(word) + WORD_BYTES // 2 for word in words))

    @property
    def left(self) -> int:
        """The bytes that may still be taken."""
        return self.max_bytes - self._taken

    def expect(self, count: int) -> None:
        """Raise a FippError if ``count`` bytes more would be too many."""
        if count > self.left:
            raise FippError(
                f"{self._path} needs more than {self.max_bytes:,} bytes of memory; max_bytes sets the limit, and "
                "limit takes fewer words"
            )

    def expect_rows(self, rows: int, dimensions: int, itemsize: int = 4) -> None:
        """Raise a FippError if so many words with vectors would be too many."""
        self.expect(rows * (WORD_BYTES + dimensions * itemsize))

    def expect_json(self, length: int) -> None:
        """Raise a FippError if JSON of this length could take too much, whatever it holds; a few megabytes never do."""
        self.expect(_JSON_BYTES * (length - _SMALL_JSON))


def bytes_allowed(max_bytes: int | float | str | None) -> int:
    """Return the number of bytes that ``max_bytes`` means: None is half of the memory that this process can have."""
    return machine_memory() // 2 if max_bytes is None else parse_memory(max_bytes)


@cache
def machine_memory() -> int:
    """Return the bytes of physical memory, or of the limit of the process's control group if that is less."""
    limits = [_UNKNOWN_MEMORY]
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with suppress(OSError):
        for line in _OWN_CGROUPS.read_text().splitlines():
            _, controllers, place = line.split(":", 2)
            if not controllers:  # version 2; a limit of any group above holds too
                group = _CGROUPS / place.lstrip("/")
                files = [above / "memory.max" for above in (group, *group.parents) if above.is_relative_to(_CGROUPS)]
            elif controllers == "memory":
                files = [_CGROUPS / "memory" / part / "memory.limit_in_bytes" for part in (place.lstrip("/"), "")]
            else:
                continue
            for file in files:
                with suppress(OSError, ValueError):  # "max", or a group that cannot be seen from inside
                    limits.append(int(file.read_text()))
    return min(limits)
