"""`fipp similarity` and `fipp analogies`: how good vectors are by themselves, before, after and across an alignment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import fipp
from fipp.cli import _arguments, _console
from fipp.exceptions import FippError

if TYPE_CHECKING:
    from fipp.evaluate import AnalogyResult, SimilarityResult

_Vectors = Annotated[Path, Argument(metavar="VECTORS", help=f"Vectors, {_arguments.ANY_FORMAT}")]
_Model = Annotated[
    Path | None, Option(metavar="MODEL", help="Measure VECTORS both before and after alignment by this model.")
]
_Target = Annotated[bool, Option("--target", help="With --model: VECTORS are target vectors, not source vectors.")]
_Measured = dict[Path, dict[str, Any]]
"""For each file, a result by the name of the space: as they are, before and after, or across."""


_Measures = tuple[Callable[..., Any], Callable[..., tuple[Any, Any]], Callable[..., Any]]
"""How to measure vectors as they are, one side of an alignment before and after it, and both sides together."""


def similarity(
    vectors: _Vectors,
    files: Annotated[
        list[Path], Argument(metavar="FILE", help="Two words and a score per line: .tsv, .csv or spaces.")
    ],
    model: _Model = None,
    target: _Target = False,
    across: Annotated[
        Path | None, Option(metavar="TGT", help="With --model: the second word is in these vectors.")
    ] = None,
    limit: _arguments.Limit = None,
    strict: _arguments.Strict = False,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Correlate the cosines of word pairs with human scores, by Spearman's and Pearson's correlation.

    Pairs with a word that has no vector are left out; the coverage shows how many were found. Correlations on different
    pairs cannot be compared.
    """
    from fipp.evaluate import cross_similarity, load_similarity, similarity, similarity_before_after

    _check(model, target, across)
    sets = {path: load_similarity(path, strict=strict) for path in files}
    measures = similarity, similarity_before_after, cross_similarity
    read = partial(_arguments.load_vectors, report=_console.Reporter(quiet or as_json), limit=limit, strict=strict)
    measured = _measure(vectors, model, target, across, sets, measures, read)
    _report(vectors, measured, as_json, _show_similarity)


def analogies(
    vectors: _Vectors,
    files: Annotated[
        list[Path], Argument(metavar="FILE", help="Four words per line; a line ': name' begins a section.")
    ],
    method: Annotated[str, Option(metavar="3cosadd|3cosmul", help="The score that the answer maximises.")] = "3cosadd",
    model: _Model = None,
    target: _Target = False,
    across: Annotated[
        Path | None, Option(metavar="TGT", help="With --model: the last two words are in these vectors.")
    ] = None,
    limit: _arguments.Limit = None,
    max_memory: _arguments.MaxMemory = None,
    strict: _arguments.Strict = False,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Complete analogies "a is to b as c is to d": show how often d is the best word other than a, b and c.

    With --across, a and b are source words, c and d are target words. Questions with a word that has no vector are left
    out; the coverage shows how many were asked.
    """
    from fipp.evaluate import analogies, check_analogy_method, cross_analogies, load_analogies
    from fipp.linalg import parse_memory

    check_analogy_method(method)
    parse_memory(max_memory)
    _check(model, target, across)
    sets = {path: load_analogies(path, strict=strict) for path in files}
    within = partial(analogies, method=method, max_memory=max_memory)
    across_both = partial(cross_analogies, method=method, max_memory=max_memory)

    def before_after(alignment: fipp.Alignment, asked: Any, side: str) -> tuple[AnalogyResult, AnalogyResult]:
        mapped = alignment.transform_target() if side == "target" else alignment.transform()
        return within(getattr(alignment, side), asked), within(mapped, asked)

    measures = within, before_after, across_both
    read = partial(_arguments.load_vectors, report=_console.Reporter(quiet or as_json), limit=limit, strict=strict)
    measured = _measure(vectors, model, target, across, sets, measures, read)
    _report(vectors, measured, as_json, _show_analogies)


def _check(model: Path | None, target: bool, across: Path | None) -> None:
    """Refuse --target and --across where they make no sense, and a wrong model before the vectors are read."""
    if model is None and (target or across is not None):
        raise FippError(f"{'--target' if target else '--across'} needs a --model")
    if target and across is not None:
        raise FippError("with --across, VECTORS are source vectors: leave --target out")
    if model is not None:
        fipp.Alignment.load(model)


def _measure(
    vectors: Path,
    model: Path | None,
    target: bool,
    across: Path | None,
    sets: Mapping[Path, Any],
    measures: _Measures,
    read: Callable[[Path], fipp.Vectors],
) -> _Measured:
    measure_within, measure_before_after, measure_across = measures
    loaded = read(vectors)
    if model is None:
        return {path: {"as they are": measure_within(loaded, items)} for path, items in sets.items()}
    if across is not None:
        alignment = fipp.Alignment.load(model, loaded, read(across))
        return {path: {"across": measure_across(alignment, items)} for path, items in sets.items()}
    side = "target" if target else "source"
    alignment = fipp.Alignment.load(model, **{side: loaded})
    results = {path: measure_before_after(alignment, items, side) for path, items in sets.items()}
    return {path: {"before": before, "after": after} for path, (before, after) in results.items()}


def _report(vectors: Path, measured: _Measured, as_json: bool, show: Callable[[_Measured], None]) -> None:
    if not as_json:
        show(measured)
        return
    sets = []
    for path, found in measured.items():
        # The last result, with the one before alignment inside it if there is one.
        space, result = list(found.items())[-1]
        before = {"before": found["before"].as_dict()} if "before" in found else {}
        sets.append({"file": str(path), "vectors": space, **result.as_dict(), **before})
    _console.show_json({"vectors": str(vectors), "sets": sets})


def _show_similarity(measured: dict[Path, dict[str, SimilarityResult]]) -> None:
    table = _console.table("set", "vectors", "Spearman", "Pearson", "pairs found")
    for path, found in measured.items():
        for space, result in found.items():
            coverage = _console.share(result.pairs, result.total)
            table.add_row(path.name, space, f"{result.spearman:.4f}", f"{result.pearson:.4f}", coverage)
    _console.show(table)


def _show_analogies(measured: dict[Path, dict[str, AnalogyResult]]) -> None:
    def scores(correct: int, questions: int, total: int) -> tuple[str, str, str]:
        accuracy = f"{correct / questions:.4f}" if questions else "-"
        return accuracy, f"{correct:,}", _console.share(questions, total)

    table = _console.table("set", "section", "vectors", "accuracy", "right", "questions found")
    for path, found in measured.items():
        for space, result in found.items():
            table.add_row(path.name, "all", space, *scores(result.correct, result.questions, result.total))
        sections = list(next(iter(found.values())).sections)
        for section in sections if len(sections) > 1 else ():
            for space, result in found.items():
                table.add_row("", section, space, *scores(*result.sections[section]))
    _console.show(table)
