"""Settings that every search shares: how to score, how many, whom to tell."""

from __future__ import annotations

from operator import index

from fipp.exceptions import FippError
from fipp.linalg import Progress

_NAMES = {"cosine": "cosine", "nn": "cosine", "dot": "dot", "csls": "csls"}


def check_retrieval(retrieval: str) -> str:
    """Give the full name of a way to score: ``"nn"`` is the literature's name for ``"cosine"``.

    Examples
    --------
    >>> check_retrieval("nn")
    'cosine'
    """
    try:
        return _NAMES[retrieval]
    except (KeyError, TypeError):
        raise FippError(f"retrieval {retrieval!r} is not known; choose from {', '.join(_NAMES)}") from None


def check_count(count: int, name: str) -> int:
    """Give ``count`` as an int if it is a whole number of at least 1."""
    try:
        number = index(count)
    except TypeError:
        number = 0
    if number < 1:
        raise FippError(f"{name} must be a whole number of at least 1, not {count!r}")
    return number


class Ticker:
    """Tell ``progress`` after each finished block how many are done of how many.

    Examples
    --------
    >>> heard = []
    >>> tick = Ticker(lambda done, total: heard.append((done, total)), 2)
    >>> tick()
    >>> heard
    [(1, 2)]
    """

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._done = 0
        self._total = total

    def __call__(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)
