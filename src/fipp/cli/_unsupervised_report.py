"""Where a method without known pairs has begun, and what tells that it has found something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fipp.aligners import BaseAligner


def inside(aligner: BaseAligner) -> Iterator[BaseAligner]:
    """Return an aligner, and those that it has fitted to be them in the end."""
    yield aligner
    if hasattr(aligner, "aligner_"):
        yield from inside(aligner.aligner_)


def as_dict(aligner: BaseAligner) -> dict[str, Any]:
    """Return the start that was taken, what was tried and how it holds together; nothing for other methods."""
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


def rows(aligner: BaseAligner) -> dict[str, str]:
    """Say the same to people, in rows of a summary."""
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
    return next((each for each in inside(aligner) if hasattr(each, "starts_")), None)
