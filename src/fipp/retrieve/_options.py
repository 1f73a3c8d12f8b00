"""Settings that every search shares: how to score, and numbers that must make sense."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index

from numpy.typing import ArrayLike

from fipp.exceptions import FippError
from fipp.retrieve._scan import Rows

_NAMES = {"cosine": "cosine", "nn": "cosine", "dot": "dot", "csls": "csls", "isf": "isf", "dualis": "dualis"}
# With a larger β, scores could leave the range of float32.
_LARGEST_BETA = 1e30


def check_retrieval(retrieval: str) -> str:
    """Return the full name of a way to score: ``"nn"`` is the literature's name for ``"cosine"``."""
    try:
        return _NAMES[retrieval]
    except (KeyError, TypeError):
        raise FippError(f"retrieval {retrieval!r} is not known; choose from {', '.join(_NAMES)}") from None


def corrects_hubs(retrieval: str) -> bool:
    """Return whether a way to score compares the keys with a reference, the whole mapped source vocabulary."""
    return check_retrieval(retrieval) in ("csls", "isf", "dualis")


def check_beta(beta: float) -> float:
    """Return ``beta`` as a float if it is a number above 0 with which scores stay finite."""
    try:
        number = float(beta)
    except (TypeError, ValueError):
        number = 0.0
    if not 0 < number <= _LARGEST_BETA:
        raise FippError(f"beta must be a number above 0, {_LARGEST_BETA:g} at most, not {beta!r}")
    return number


@dataclass(frozen=True)
class Settings:
    """How a query and a key are scored, after all names and numbers were checked."""

    retrieval: str
    n_neighbours: int
    beta: float

    @classmethod
    def checked(cls, retrieval: str, n_neighbours: int, beta: float, *, symmetric: bool = False) -> Settings:
        """Refuse settings that make no sense, and scores that are not symmetric where these are asked for."""
        if symmetric and check_retrieval(retrieval) not in ("cosine", "dot", "csls"):
            raise FippError(f"mutual neighbours by {retrieval!r} are not defined; choose from cosine, nn, dot, csls")
        return cls(check_retrieval(retrieval), check_count(n_neighbours, "n_neighbours"), check_beta(beta))

    @property
    def unit(self) -> bool:
        """Whether vectors are compared at unit length."""
        return self.retrieval != "dot"

    def reference(self, queries: Rows, given: ArrayLike | None) -> Rows:
        """Return the vectors that hubs are measured against: those given for it, or the queries."""
        if given is None or not corrects_hubs(self.retrieval):
            return queries
        return Rows(given, "hub_reference", unit=True)


def check_count(count: int, name: str) -> int:
    """Return ``count`` as an int if it is a whole number of at least 1."""
    try:
        number = index(count)
    except TypeError:
        number = 0
    if number < 1:
        raise FippError(f"{name} must be a whole number of at least 1, not {count!r}")
    return number
