"""The result of a comparison: a score for each method, the best of them, and the table in several formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fipp.evaluate import BLIResult, Seen, compare_results
from fipp.exceptions import FippError
from fipp.experiments._tables import Figure, Table, Value, check_format, render, to_csv, to_json

RETRIEVALS = {"cosine": "NN", "csls": "CSLS"}
"""How target words are ranked, with the names that the table shows."""

# A difference from the best that chance produces at least this often is not significant.
_SIGNIFICANT = 0.05
_RESAMPLES = 2000
_SHOWN = {"map": "MAP", "p@1": "P@1"}
_COLUMNS = [(measure, retrieval) for measure in _SHOWN for retrieval in RETRIEVALS]
_DESCRIBED = ("name", "aligner", "pairs", "seconds", "memory", "error")


@dataclass(frozen=True)
class Setting:
    """The data that methods were compared on: sizes, counts, the queries of the test dictionary."""

    dimensions: tuple[int, int]
    words: tuple[int, int]
    seed: Mapping[str, tuple[int, int]]
    queries: NDArray[np.int64]
    query_words: tuple[str, ...]
    total: int
    level: float
    threads: int
    checksums: tuple[str, str]
    seen: Seen

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the queries as numbers and text that JSON can hold."""
        sides = zip(("source", "target"), self.words, self.dimensions, self.checksums, strict=True)
        return {
            **{side: {"words": n, "dimensions": d, "checksum": checksum} for side, n, d, checksum in sides},
            "pairs": {kind: {"found": found, "total": total} for kind, (found, total) in self.seed.items()},
            "test": {
                "n_queries": len(self.queries),
                "total": self.total,
                "coverage": len(self.queries) / self.total,
                "seen_pairs": int(self.seen.pairs.sum()),
                "seen_words": int(self.seen.words.sum()),
            },
            "threads": self.threads,
        }


@dataclass(frozen=True)
class MethodScore:
    """The scores of one method.

    Attributes
    ----------
    name : str
        Its name in the table.
    aligner : str
        The class with its settings.
    pairs : {"seed", "identical words", "words spelled alike", "none"}
        What it learned from.
    results : dict of str to BLIResult
        Under ``"cosine"`` and ``"csls"``; empty if it failed.
    seconds : float or None
        Time of the fit alone, including the import of what the method needs beside numpy and scipy.
    memory : int or None
        Peak memory of the fit in bytes, not counting the vocabularies; None if it could not be measured.
    error : str or None
        Why there is no result.
    warnings : tuple of str
        Warnings of the method.
    """

    name: str
    aligner: str
    pairs: str
    results: Mapping[str, BLIResult] = field(default_factory=dict, repr=False)
    seconds: float | None = None
    memory: int | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.name}: {self.error}"
        scores = (f"{RETRIEVALS[way]} {result.map:.4f}" for way, result in self.results.items())
        return f"{self.name}: MAP {', '.join(scores)}, {self.seconds:.1f} s"


@dataclass(frozen=True)
class MethodComparison:
    """Methods side by side, as returned by `fipp.compare`.

    Attributes
    ----------
    scores : tuple of MethodScore
        In the order in which the methods were given.
    setting : Setting
        The data that they were compared on.
    """

    scores: tuple[MethodScore, ...]
    setting: Setting

    def best(self, retrieval: str = "cosine", measure: str = "map") -> MethodScore:
        """Return the method with the highest score; the first one of equals."""
        done = [score for score in self.scores if score.error is None]
        if not done:
            raise FippError(f"no method could run; {self.scores[0]}")
        return max(done, key=lambda score: score.results[retrieval].per_query(measure).mean())

    @cached_property
    def p_values(self) -> dict[tuple[str, str, str], float]:
        """How often chance alone puts a method this far behind the best, by name, retrieval and measure.

        From the paired sign-flip test of `fipp.evaluate.compare_results`; not corrected for the number of methods.
        """
        values: dict[tuple[str, str, str], float] = {}
        done = [score for score in self.scores if score.error is None]
        for measure, retrieval in _COLUMNS if done else ():
            best = self.best(retrieval, measure)
            for score in done:
                sides = best.results[retrieval], score.results[retrieval]
                p = 1.0 if score is best else compare_results(*sides, measure, n_resamples=_RESAMPLES).p_value
                values[score.name, retrieval, measure] = p
        return values

    def as_dict(self) -> dict[str, Any]:
        """Return everything as numbers and text that JSON can hold."""
        return {**self.setting.as_dict(), "methods": [self._describe(score) for score in self.scores]}

    def _describe(self, score: MethodScore) -> dict[str, Any]:
        described = {name: getattr(score, name) for name in _DESCRIBED} | {"warnings": list(score.warnings)}
        for retrieval, result in score.results.items():
            p_values = {measure: self.p_values[score.name, retrieval, measure] for measure in _SHOWN}
            described[retrieval] = {**result.as_dict(interval=self.setting.level), "p_values": p_values}
        return described

    def render(self, format: str = "markdown") -> str:
        """Return the table as text: "markdown", "csv", "latex" or "json"."""
        check_format(format)
        if format == "json":
            return to_json(self.as_dict())
        if format == "csv":
            return self._csv()
        if format == "latex":
            return render([self._table(f"{self._title()}. {self._legend()}")], format)
        return render([self._table(self._title())], format) + f"\n{self._legend()}\n"

    def __str__(self) -> str:
        return self.render()

    def _title(self) -> str:
        s, seen = self.setting, self.setting.seen.pairs.sum()
        seed = "".join(f", {found:,} of {total:,} pairs ({kind})" for kind, (found, total) in s.seed.items())
        return (
            f"{s.words[0]:,} × {s.dimensions[0]} → {s.words[1]:,} × {s.dimensions[1]}{seed}, "
            f"{len(s.queries):,} of {s.total:,} test words"
            f"{f', {seen:,} of them with the same translation in the seed' if seen else ''}"
        )

    def _legend(self) -> str:
        return (
            f"In brackets: {100 * self.setting.level:g} % bootstrap intervals over the test words. The best is bold; "
            f"≈: not significantly worse than the best (paired sign flips, p ≥ {_SIGNIFICANT}). Seconds and memory "
            f"(not counting the vocabularies) are those of the fit; threads: {self.setting.threads}."
        )

    def _table(self, title: str) -> Table:
        failed = any(score.error for score in self.scores)
        rows: list[list[Value]] = [
            [
                score.name,
                *(self._figure(score, measure, retrieval) for measure, retrieval in _COLUMNS),
                None if score.seconds is None else Figure(f"{score.seconds:.1f}"),
                None if score.memory is None else Figure(f"{score.memory / 1e6:,.0f}"),
                score.pairs,
                *([score.error or ""] if failed else []),
            ]
            for score in self.scores
        ]
        header = ["method", *(f"{_SHOWN[measure]} {RETRIEVALS[retrieval]}" for measure, retrieval in _COLUMNS)]
        header += ["s", "MB", "pairs", *(["failed"] if failed else [])]
        return Table("methods", "", title, header, rows)

    def _figure(self, score: MethodScore, measure: str, retrieval: str) -> Value:
        if score.error is not None:
            return None
        value, low, high, p = self._numbers(score, measure, retrieval)
        best = score is self.best(retrieval, measure)
        near = " ≈" if p >= _SIGNIFICANT and not best else ""
        return Figure(f"{value:.3f} ({low:.3f}–{high:.3f}){near}", best)

    def _numbers(self, score: MethodScore, measure: str, retrieval: str) -> tuple[float, float, float, float]:
        """Return the score, its interval, and the p-value of the difference from the best."""
        result = score.results[retrieval]
        low, high = result.interval(measure, self.setting.level)
        return float(result.per_query(measure).mean()), low, high, self.p_values[score.name, retrieval, measure]

    def _csv(self) -> str:
        """Return one line per method."""
        names = [f"{measure}_{RETRIEVALS[retrieval].lower()}" for measure, retrieval in _COLUMNS]
        parts = [f"{name}{part}" for name in names for part in ("", "_low", "_high", "_p")]
        further = ["seconds", "memory", "pairs", "error"]
        rows = []
        for score in self.scores:
            figures = [None] * len(parts) if score.error else [x for c in _COLUMNS for x in self._numbers(score, *c)]
            rows.append([score.name, *figures, *(getattr(score, name) for name in further)])
        return to_csv(["method", *parts, *further], rows)
