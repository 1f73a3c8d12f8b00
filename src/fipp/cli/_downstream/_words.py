"""`fipp downstream words`: word similarity across languages, and within each before and after alignment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from fipp.cli import _console, _options, _tables
from fipp.cli._downstream import _common

if TYPE_CHECKING:
    from fipp.evaluate import ScoredPair, SimilarityResult
    from fipp.tasks import Outcome

EXAMPLE = (
    "Example: [bold]fipp downstream words en.vec fr.vec --dict seed.tsv --source-set simlex999.tsv "
    "--across en-fr.rg65.csv[/bold]"
)

_Items = dict[str, dict[Path, "list[ScoredPair]"]]


class _Row(NamedTuple):
    """One set of words by one method: where it stands, and before and after alignment; across there is no before."""

    kind: str
    path: Path
    before: SimilarityResult | None
    after: SimilarityResult


def command(
    source: _options.Source,
    target: _options.Target,
    dictionary: _common.Dictionary,
    source_sets: Annotated[
        list[Path] | None,
        typer.Option("--source-set", metavar="FILE", help="Scored pairs of source words. Repeatable."),
    ] = None,
    target_sets: Annotated[
        list[Path] | None,
        typer.Option("--target-set", metavar="FILE", help="Scored pairs of target words. Repeatable."),
    ] = None,
    across_sets: Annotated[
        list[Path] | None,
        typer.Option("--across", metavar="FILE", help="Scored pairs of a source and a target word. Repeatable."),
    ] = None,
    methods: _common.Methods = None,
    limit: _options.Limit = None,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Compare cosines with human scores: within each language before and after alignment, and across the languages.

    Appendix D.3 of the paper asks whether alignment harms English; its figures, for fastText vectors aligned to
    Turkish, stand beside those of the same sets of English words.
    """
    from fipp.evaluate import load_similarity
    from fipp.exceptions import FippError
    from fipp.tasks import NOT_ALIGNED, each_method

    report = _console.Reporter(quiet or as_json)
    chosen = [method for method in _common.split(methods) if method != NOT_ALIGNED]
    kinds = {"source": source_sets, "target": target_sets, "across": across_sets}
    items: _Items = {kind: {path: load_similarity(path) for path in paths or ()} for kind, paths in kinds.items()}
    if not any(items.values()):
        raise FippError("name a set of scored words: --source-set, --target-set or --across")
    if not chosen:
        raise FippError("name a method besides none: before alignment is shown anyway")
    vectors = _common.load(source, target, dictionary, report, limit)
    outcomes = list(each_method(*vectors, chosen, lambda method, space: _measure(space, items)))
    _common.check_outcomes(outcomes)
    if as_json:
        _console.show_json({"methods": [_as_dict(outcome) for outcome in outcomes]})
    else:
        _show(outcomes)


def _measure(alignment: Any, items: _Items) -> list[_Row]:
    from fipp.evaluate import cross_similarity, similarity_before_after

    rows = [
        _Row(kind, path, *similarity_before_after(alignment, pairs, kind))
        for kind in ("source", "target")
        for path, pairs in items[kind].items()
    ]
    return rows + [
        _Row("across", path, None, cross_similarity(alignment, pairs)) for path, pairs in items["across"].items()
    ]


def _as_dict(outcome: Outcome[list[_Row]]) -> dict[str, Any]:
    sets = [
        {
            "kind": row.kind,
            "file": str(row.path),
            **({} if row.before is None else {"before": row.before.as_dict()}),
            "after": row.after.as_dict(),
        }
        for row in outcome.result or ()
    ]
    return {"method": outcome.method, "error": outcome.error, "sets": sets}


def _show(outcomes: list[Outcome[list[_Row]]]) -> None:
    from rich.text import Text

    from fipp.reproduce._paper_tasks import printed_similarity

    table = _tables.table("set", "words of", "method", "before", "after", "pairs found", "paper: before", "after")
    for outcome in outcomes:
        if outcome.result is None:
            table.add_row("", "", outcome.method, "", "", Text(outcome.error or ""))
        for row in outcome.result or ():
            paper = printed_similarity(row.path.name) if row.kind == "source" else None
            table.add_row(
                Text(row.path.name),
                "both" if row.kind == "across" else row.kind,
                outcome.method,
                "" if row.before is None else f"{row.before.spearman:.3f}",
                f"{row.after.spearman:.3f}",
                f"{row.after.pairs:,} of {row.after.total:,}",
                *(() if paper is None else (f"{paper.before:.3f}", f"{paper.after:.3f}")),
            )
    _console.heading("word similarity: Spearman's correlation")
    _console.show(table)
