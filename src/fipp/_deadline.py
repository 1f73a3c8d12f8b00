"""The time limit that may end a search early."""

from __future__ import annotations

import time


class Deadline:
    """A moment, some seconds from now or never (None), after which nothing further is begun.

    Examples
    --------
    >>> Deadline(None).passed, Deadline(3600).passed
    (False, False)
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        """Whether the moment is over."""
        return self._end is not None and time.monotonic() >= self._end
