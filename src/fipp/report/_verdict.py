"""The sentences of a report: how good an alignment is beside others, and how that was measured."""

from __future__ import annotations

from fipp.evaluate import BLIResult
from fipp.report._charts import rivals_of
from fipp.report._findings import Findings, Scored
from fipp.report._page import joined, percent, word

_LOW_COVERAGE = 0.8


def verdict(findings: Findings) -> str:
    """Return the sentence that says how good the alignment is, as HTML if it names both sides."""
    source, target = map(word, findings.names)
    if not findings.scores:
        return joined(
            f"{percent(findings.mutual)} of the most frequent words of ", source, " and ", target,
            " are each other's nearest neighbour by CSLS. Without known pairs, nobody can say how many of them are "
            "right.",
        )  # fmt: skip
    result = _own(findings)
    asked = f"{result.n_queries:,} {'seed' if findings.test is None else 'test'} word{'s' * (result.n_queries != 1)}"
    if findings.test is None:
        asked += " when they are held out"
    elif not result.seen_pairs:
        asked = f"{asked.replace('test ', '')} it did not learn from"
    said = f"This model finds the right translation first for {percent(result.p_at_1, 1)} of {asked}"
    said += f"{_beside(rivals_of(findings)[1:], result.p_at_1)}."
    if result.seen_pairs:
        which = "all" if result.seen_pairs == result.n_queries else f"{result.seen_pairs:,}"
        said += f" It learned from {which} of these words, which says little about others."
    if result.coverage < _LOW_COVERAGE:
        said += f" Only {percent(result.coverage)} of the dictionary's words could be looked up."
    return said


def _own(findings: Findings) -> BLIResult:
    assert findings.scores is not None  # asked for only if there are any
    return findings.scores[0].result


def _beside(rivals: list[Scored], own: float) -> str:
    """Return how this compares with the best of the yardsticks."""
    if not rivals:
        return ""
    best = max(rivals, key=lambda each: each.result.p_at_1)
    assert best.behind is not None  # only the model itself has nothing to be compared with
    share = percent(best.result.p_at_1, 1)
    if best.behind.low > 0:
        return f", clearly more than {best.name} with {share}"
    if best.behind.high < 0:
        return f", clearly less than {best.name} with {share}"
    if best.result.p_at_1 == own:
        return f", as many as {best.name}"
    return f"; {best.name} gets {share}, and the difference may be chance"


def how_measured(result: BLIResult) -> str:
    """Return which words were looked up, by what map, and how target words were ranked."""
    ranked = "CSLS" if result.retrieval == "csls" else result.retrieval
    if result.folds is None:
        asked = f"{result.n_queries:,} of {result.total:,} words of the test dictionary"
        told = f"{asked} could be looked up; target words are ranked by {ranked}."
    else:
        told = (
            f"Without a test dictionary, the {result.n_queries:,} source words of the seed were held out in "
            f"{result.folds} parts and looked up, by {ranked}, with maps learned from the other parts."
        )
    note = result.seed_note()
    return f"{told} {note[0].upper()}{note[1:]}." if note else told
