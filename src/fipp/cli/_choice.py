"""What a method that chooses among others has tried, what it has chosen, and why."""

from __future__ import annotations

import json
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
    """Give ``trials``, ``chosen`` and ``timed_out`` of a method that chooses; nothing for one that does not."""
    trials = getattr(aligner, "trials_", None)
    if trials is None:
        return {}
    return {"trials": json.loads(trials), "chosen": aligner.chosen_, "timed_out": aligner.timed_out_}


def why(trials: list[Trial], chosen: str, timed_out: bool = False) -> str:
    """Say why one was chosen.

    Examples
    --------
    >>> why([{"name": "a", "mrr": 0.5}, {"name": "b", "mrr": 0.6}], "b")
    'the best of 2 on held-out pairs'
    """
    if not trials:
        few = "too few source words to hold some out"
        return "no pairs are known" if chosen.startswith("without known pairs") else few
    best = max(trials, key=lambda trial: trial["mrr"])
    mrr = {trial["name"]: trial["mrr"] for trial in trials}
    late = "; time ran out before everything was tried" if timed_out else ""
    if mrr[chosen] == best["mrr"]:
        return f"the best of {len(trials)} on held-out pairs{late}"
    return f"{best['name']} takes longer and is not better by a standard error of the difference{late}"


def show_trials(trials: list[Trial], chosen: str, timed_out: bool = False) -> None:
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
