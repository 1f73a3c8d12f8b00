"""Edits of seed pairs, each of which can be undone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from fipp.exceptions import FippError
from fipp.explore._models import Pair

Action = Literal["wrong", "restore", "add", "correct"]
ACTIONS: tuple[Action, ...] = ("wrong", "restore", "add", "correct")


class ImpossibleError(FippError):
    """Something that cannot be done now, although it was asked for correctly."""


class Edit(NamedTuple):
    """An action on a pair; ``to`` is what a correction puts in its place."""

    action: Action
    pair: Pair
    to: Pair | None = None


class SeedPairs:
    """The pairs that a model was learned from, those that were added, and which of them are wrong.

    Examples
    --------
    >>> pairs = SeedPairs([(0, 0), (1, 7)])
    >>> edit = Edit("correct", (1, 7), (1, 1))
    >>> pairs.apply(edit)
    >>> pairs.right, pairs.state((1, 7)), pairs.state((1, 1))
    ([(0, 0), (1, 1)], 'wrong', 'added')
    >>> pairs.revert(edit)
    >>> pairs.right
    [(0, 0), (1, 7)]
    """

    def __init__(self, given: Iterable[Pair]) -> None:
        self.given = dict.fromkeys(given)
        self.added: dict[Pair, None] = {}
        self.wrong: set[Pair] = set()

    @property
    def right(self) -> list[Pair]:
        """The pairs to learn from: those that are not wrong, given ones first."""
        return [pair for pair in (*self.given, *self.added) if pair not in self.wrong]

    @property
    def all(self) -> list[Pair]:
        """All pairs, given ones first."""
        return [*self.given, *self.added]

    def __contains__(self, pair: object) -> bool:
        return pair in self.given or pair in self.added

    def state(self, pair: Pair) -> str:
        """Return ``"wrong"``, ``"added"`` or ``"given"``."""
        return "wrong" if pair in self.wrong else "added" if pair in self.added else "given"

    def apply(self, edit: Edit) -> None:
        """Do what an edit says, or raise an `ImpossibleError` and change nothing."""
        action, pair, to = edit
        added = pair if action == "add" else to
        if action != "add" and pair not in self:
            raise ImpossibleError("this pair is not among the seed pairs")
        if (pair in self.wrong) != (action == "restore") and action != "add":
            raise ImpossibleError(f"this pair is {'' if pair in self.wrong else 'not '}marked as wrong")
        if action == "correct" and to is None:
            raise ImpossibleError("a correction needs the right words: give them as to_source and to_target")
        if added is not None and added in self:
            raise ImpossibleError("this pair is among the seed pairs already")
        if action in ("wrong", "correct"):
            self.wrong.add(pair)
        if action == "restore":
            self.wrong.remove(pair)
        if added is not None:
            self.added[added] = None

    def revert(self, edit: Edit) -> None:
        """Undo the last edit that was applied."""
        action, pair, to = edit
        if action in ("wrong", "correct"):
            self.wrong.remove(pair)
        if action == "restore":
            self.wrong.add(pair)
        added = pair if action == "add" else to
        if added is not None:
            del self.added[added]
