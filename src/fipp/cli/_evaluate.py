"""`fipp eval`: how well a model finds the translations of a test dictionary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fipp.cli import _console, _files, _options, _tables

if TYPE_CHECKING:
    from rich.table import Table

    from fipp import Alignment, BLIResult, Lexicon
    from fipp.evaluate import Comparison, SelfEvaluation

EXAMPLE = (
    "Example: [bold]fipp eval en-fr.fipp en.vec fr.vec --dict test.tsv --retrieval csls --against older.fipp[/bold]"
)


def command(
    model: _options.Model,
    source: _options.Source,
    target: _options.Target,
    dictionary: Annotated[
        Path | None,
        typer.Option(
            "--dict",
            metavar="TEST",
            help="Pairs that the model was not learned from, one a line. Without it, seed pairs are cross-validated.",
        ),
    ] = None,
    retrieval: _options.Retrieval = "nn",
    beta: _options.Beta = _options.BETA,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL2",
            help="Compare with another model of the same vectors, query by query: is the difference more than chance?",
        ),
    ] = None,
    interval: Annotated[
        bool, typer.Option("--interval", metavar=_options.FLAG, help="Add bootstrap confidence intervals.")
    ] = False,
    level: Annotated[
        float, typer.Option(metavar="L", help="Confidence level of --interval and --against, between 0 and 1.")
    ] = 0.95,
    bands: Annotated[
        bool,
        typer.Option(
            "--bands",
            metavar=_options.FLAG,
            help="Add scores by frequency of the source word, whose row number tells it.",
        ),
    ] = False,
    edges: Annotated[
        str | None,
        typer.Option(
            "--band-edges", metavar="1000,5000,…", help="Row numbers at which the next band begins; implies --bands."
        ),
    ] = None,
    limit: _options.Limit = None,
    max_memory: _options.MaxMemory = None,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Measure how well MODEL finds the translations of a test dictionary.

    Pairs that are not in both vocabularies cannot be looked up; the coverage says how many could. Without a test
    dictionary, maps are learned from parts of the seed pairs and tried on the others, and mutual nearest neighbours
    counted; models that learned from no known pairs are refused.
    """
    from fipp import Alignment
    from fipp.evaluate._parts import BANDS
    from fipp.exceptions import FippError
    from fipp.linalg._memory import parse_memory
    from fipp.retrieve._options import check_beta, check_retrieval

    report = _console.Reporter(quiet or as_json)
    check_retrieval(retrieval)
    check_beta(beta)
    parse_memory(max_memory)
    if not 0 < level < 1:
        raise FippError(f"--level must be between 0 and 1, such as 0.95, not {level:g}")
    chosen = _parse_edges(edges) if edges is not None else list(BANDS) if bands else None
    if against is not None and dictionary is None:
        raise FippError("--against compares two models on a test dictionary: give one with --dict")
    if beta != _options.BETA and dictionary is None:
        raise FippError("--beta is for a test dictionary: give one with --dict")
    lexicon = None if dictionary is None else _files.load_lexicon(dictionary)
    if against is not None:
        Alignment.load(against)  # a wrong file is refused before anything long is done
    alignment = _files.load_alignment(model, source, target, report, limit=limit)

    def evaluate(alignment: Alignment, lexicon: Lexicon | None) -> BLIResult | SelfEvaluation:
        with report.progress("ranking" if lexicon is not None else "cross-validating") as progress:
            if lexicon is None:
                return alignment.evaluate(retrieval=retrieval, max_memory=max_memory, progress=progress)
            return alignment.evaluate(lexicon, retrieval=retrieval, beta=beta, max_memory=max_memory, progress=progress)

    result = evaluate(alignment, lexicon)
    comparisons: list[Comparison] = []
    if against is not None:
        other = Alignment.load(against, alignment.source, alignment.target)
        comparisons = _compare(result, evaluate(other, lexicon), level)
    if as_json:
        told = result.as_dict(interval=level if interval else None, bands=chosen or False)
        if comparisons:
            told["against"] = {
                "model": str(against),
                "measures": {comparison.measure: comparison.as_dict() for comparison in comparisons},
            }
        _console.show_json(told)
    else:
        _show(result, level if interval else None, chosen)
        _show_comparisons(comparisons, against)


def _parse_edges(text: str) -> list[int]:
    from fipp.evaluate._parts import check_edges
    from fipp.exceptions import FippError

    try:
        edges = [int(part) for part in text.split(",")]
    except ValueError:
        raise FippError(f"--band-edges takes row numbers such as 1000,5000,20000, not {text!r}") from None
    check_edges(edges)
    return edges


def _compare(first: BLIResult | SelfEvaluation, second: BLIResult | SelfEvaluation, level: float) -> list[Comparison]:
    from fipp import BLIResult
    from fipp.evaluate import compare
    from fipp.evaluate._bli import MEASURES

    assert isinstance(first, BLIResult) and isinstance(second, BLIResult)
    return [compare(first, second, measure, level=level) for measure in MEASURES]


def _show_comparisons(comparisons: list[Comparison], against: Path | None) -> None:
    if not comparisons or against is None:
        return
    _console.heading(f"against {against.name}, on the same {comparisons[0].pairs:,} queries")
    interval = f"{100 * comparisons[0].level:g} % interval"
    table = _tables.table("", "this", "other", "difference", interval, "p")
    for one in comparisons:
        ends = f"{one.low:+.4f} to {one.high:+.4f}"
        scores = f"{one.first:.4f}", f"{one.second:.4f}", f"{one.difference:+.4f}"
        table.add_row(one.measure.upper(), *scores, ends, f"{one.p_value:.4f}")
    _console.show(table)


def _show(result: BLIResult | SelfEvaluation, level: float | None, edges: list[int] | None) -> None:
    from fipp import BLIResult

    scores = result if isinstance(result, BLIResult) else result.cross_validation
    if not isinstance(result, BLIResult):
        _console.heading(f"no test dictionary: {result.folds}-fold cross-validation on the seed pairs")
    table = _tables.table("MAP", "MRR", "P@1", "P@5", "P@10", "pairs", "coverage", "retrieval")
    _add_rows(table, scores, level)
    _console.show(table)
    if edges is not None:
        _console.heading("by row number of the source word, frequent words first")
        table = _tables.table("rows", "MAP", "MRR", "P@1", "P@5", "P@10", "pairs", "coverage", "retrieval")
        for name, part in scores.by_band(edges).items():
            _add_rows(table, part, level, name)
        _console.show(table)
    if not isinstance(result, BLIResult):
        _console.show(
            f"mutual nearest neighbours: {100 * result.mutual_rate:.1f} % of the first {result.words:,} words, "
            f"mean CSLS {result.mean_csls:.4f}"
        )


def _add_rows(table: Table, result: BLIResult, level: float | None, *name: str) -> None:
    """Add the scores, and below each its interval."""
    from fipp.evaluate._bli import MEASURES

    scores = (result.map, result.mrr, result.p_at_1, result.p_at_5, result.p_at_10)
    coverage = f"{result.pairs:,} of {result.total:,} ({100 * result.coverage:.1f} %)"
    table.add_row(*name, *(f"{score:.4f}" for score in scores), f"{result.pairs:,}", coverage, result.retrieval)
    if level is not None:
        ends = (result.interval(measure, level) for measure in MEASURES)
        table.add_row(*("" for _ in name), *(f"{low:.4f}-{high:.4f}" for low, high in ends))
