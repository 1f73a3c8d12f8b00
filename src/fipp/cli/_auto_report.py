"""What a method that chooses among others has tried, what it has chosen, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fipp.cli import _console, _tables

if TYPE_CHECKING:
    from fipp.aligners import BaseAligner

Trial = dict[str, Any]

# More would push the summary out of sight; all of them are in --json and in the model.
_SHOWN = 8
# Whatever their scores: what the others are measured by.
_YARDSTICKS = ("fipp", "procrustes")


def as_dict(aligner: BaseAligner) -> dict[str, Any]:
    """Return ``trials``, ``chosen`` and ``skipped`` of a method that chooses; nothing for one that does not."""
    trials = getattr(aligner, "trials_", None)
    if trials is None:
        return {}
    return {"trials": trials, "chosen": aligner.chosen_, "skipped": aligner.skipped_}


def why(trials: list[Trial], chosen: str, skipped: Sequence[Mapping[str, Any]] = ()) -> str:
    """Say why one was chosen, and what was not tried.

    Examples
    --------
    >>> why([{"name": "a", "mrr": 0.5}, {"name": "b", "mrr": 0.6}], "b")
    'the best of 2 on held-out pairs'
    >>> why([{"name": "a", "mrr": 0.5}], "a", [{"stage": "ranking", "work": 9.0, "by": "budget"}])
    'the best of 1 on held-out pairs; the budget left out ranking'
    """
    if not trials:
        few = "too few source words to hold some out"
        return "no pairs are known" if chosen.startswith("without known pairs") else few
    best = max(trials, key=lambda trial: trial["mrr"])
    mrr = {trial["name"]: trial["mrr"] for trial in trials}
    reason = f"{best['name']} takes longer and is not better by a standard error of the difference"
    if mrr[chosen] == best["mrr"]:
        reason = f"the best of {len(trials)} on held-out pairs"
    for limit in ("budget", "deadline"):
        stages = [each["stage"] for each in skipped if each["by"] == limit]
        if stages:
            reason += f"; the {limit} left out {', '.join(stages)}"
    return reason


def show_trials(trials: list[Trial], chosen: str, skipped: Sequence[Mapping[str, Any]] = ()) -> None:
    """Show the best of what was tried, what was chosen, and the yardsticks; best first."""
    if not trials:
        return
    ranked = sorted(trials, key=lambda trial: -trial["mrr"])
    shown = [trial for i, trial in enumerate(ranked) if i < _SHOWN or trial["name"] in (chosen, *_YARDSTICKS)]
    left_out = len(ranked) - len(shown)
    _console.heading("Mean reciprocal rank of held-out pairs, ± its standard error; * is chosen")
    table = _tables.table("tried", "MRR", "±")
    for column in table.columns[1:]:
        column.no_wrap = True
    for trial in shown:
        taken = trial["name"] == chosen
        score, error = f"{trial['mrr']:.4f}{'*' if taken else ''}", f"{trial['standard_error']:.4f}"
        table.add_row(trial["name"], score, error, style="bold" if taken else None)
    if left_out:
        table.add_row(f"… and {left_out} more", "", "", style="dim")
    _console.show(table)
