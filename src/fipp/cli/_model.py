"""What is known of a fitted model: what it chose and why, where it began, and the pairs it learned from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import fipp
from fipp.cli import _arguments, _console

if TYPE_CHECKING:
    from fipp.aligners import BaseAligner

Trial = dict[str, Any]

# More would push the summary out of sight; --json and the model have all of them.
_SHOWN = 8
# These are always shown, so that the others can be compared with them.
_YARDSTICKS = ("fipp", "procrustes")


def as_dict(alignment: fipp.Alignment) -> dict[str, Any]:
    """Return settings, pairs, what was chosen and where it began, as JSON can hold them."""
    aligner = alignment.aligner
    return {
        "settings": _arguments.plain_settings(aligner),
        "seed": alignment.seed,
        "pairs": len(aligner.pairs_),
        "induced_pairs": len(aligner.induced_pairs_),
        **choice(aligner),
        **_start(aligner),
    }


def rows(alignment: fipp.Alignment) -> dict[str, str]:
    """Return the same for people, as rows of a summary."""
    aligner = alignment.aligner
    told = {"pairs": f"{len(aligner.pairs_):,}"}
    if len(aligner.induced_pairs_):
        told["pairs"] += f", and {len(aligner.induced_pairs_):,} found by the method itself"
    return told | choice_rows(aligner) | _start_rows(aligner)


def choice(aligner: BaseAligner) -> dict[str, Any]:
    """Return ``trials``, ``chosen`` and ``skipped`` of a method that chooses among others, nothing for others."""
    if not hasattr(aligner, "trials_"):
        return {}
    return {"trials": aligner.trials_, "chosen": aligner.chosen_, "skipped": aligner.skipped_}


def choice_rows(aligner: BaseAligner) -> dict[str, str]:
    """Return what was chosen and why, as rows of a summary."""
    chosen = choice(aligner)
    return {"chosen": chosen["chosen"], "why": why(**chosen)} if chosen else {}


def why(trials: list[Trial], chosen: str, skipped: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the reason for a choice, and what was not tried."""
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
    _console.heading("Mean reciprocal rank of held-out pairs, ± its standard error; * marks the choice")
    table = _console.table("tried", "MRR", "±")
    for column in table.columns[1:]:
        column.no_wrap = True
    for trial in shown:
        taken = trial["name"] == chosen
        score, error = f"{trial['mrr']:.4f}{'*' if taken else ''}", f"{trial['standard_error']:.4f}"
        table.add_row(trial["name"], score, error, style="bold" if taken else None)
    if left_out:
        table.add_row(f"… and {left_out} more", "", "", style="dim")
    _console.show(table)


def _start(aligner: BaseAligner) -> dict[str, Any]:
    """Return where a method without known pairs began and how well the result holds together; nothing for others."""
    began = _began(aligner)
    if began is None:
        return {}
    return {
        "start": began.start_,
        "guesses": began.n_guesses_,
        "starts": began.starts_,
        "skipped": began.skipped_,
        "consistency": began.consistency_,
        "chance_consistency": began.chance_consistency_,
    }


def _start_rows(aligner: BaseAligner) -> dict[str, str]:
    began = _began(aligner)
    if began is None:
        return {}
    tried = [f"{each['consistency']:.2f} from {each['start']}" for each in began.starts_]
    told = {
        "start": began.describe(),
        "consistency": f"{', '.join(tried)}, {began.chance_consistency_:.2f} from random pairs",
    }
    skipped = [each["start"] for each in began.skipped_]
    return {**told, "not tried": f"{', '.join(skipped)}, because of the deadline"} if skipped else told


def _began(aligner: BaseAligner) -> Any:
    return next((each for each in _inside(aligner) if hasattr(each, "starts_")), None)


def _inside(aligner: BaseAligner) -> Iterator[BaseAligner]:
    """Yield an aligner, and the ones that it fitted and delegates to."""
    yield aligner
    if hasattr(aligner, "aligner_"):
        yield from _inside(aligner.aligner_)
