"""`fipp eval`: how well a model finds the translations of a test dictionary."""

from __future__ import annotations

from collections.abc import Mapping
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
    reverse_dict: _options.ReverseDict = False,
    limit: _options.Limit = None,
    max_memory: _options.MaxMemory = None,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Measure how well MODEL finds the translations of a test dictionary.

    Pairs that are not in both vocabularies cannot be looked up; the coverage says how many could. Pairs that the model
    was learned from are counted, and the scores without them stand below.

    MAP takes each source word once, with all of its translations; per line, each line of the file counts by itself, as
    in the papers of FIPP and XLING.

    Without a test dictionary, maps are learned from parts of the seed pairs and tried on the others, and mutual nearest
    neighbours counted; models that learned from no known pairs are refused.
    """
    from fipp import Alignment
    from fipp.evaluate._slices import BANDS
    from fipp.exceptions import FippError
    from fipp.linalg import parse_memory
    from fipp.retrieve._options import check_beta, check_retrieval

    report = _console.Reporter(quiet or as_json)
    check_retrieval(retrieval)
    check_beta(beta)
    parse_memory(max_memory)
    if not 0 < level < 1:
        raise FippError(f"--level must be between 0 and 1, such as 0.95, not {level:g}")
    chosen = _parse_edges(edges) if edges is not None else list(BANDS) if bands else None
    needless = {"--against": against is not None, "--beta": beta != _options.BETA, "--reverse-dict": reverse_dict}
    for option in needless if dictionary is None else ():
        if needless[option]:
            raise FippError(f"{option} is for a test dictionary: give one with --dict")
    lexicon = None if dictionary is None else _files.load_lexicon(dictionary, reverse=reverse_dict)
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
    from fipp.evaluate._slices import check_edges
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
    columns = {"score": scores}
    if scores.seen_pairs and scores.unseen is not None:
        columns["without seed pairs"] = scores.unseen
    _console.show(_table(columns, level))
    if edges is not None:
        _console.heading("by row number of the source word, frequent words first")
        _console.show(_table(scores.by_band(edges), level))
    if not isinstance(result, BLIResult):
        _console.show(
            f"mutual nearest neighbours: {100 * result.mutual_rate:.1f} % of the first {result.words:,} words, "
            f"mean CSLS {result.mean_csls:.4f}"
        )


def _table(results: Mapping[str, BLIResult], level: float | None) -> Table:
    """Return a table with a column for each result: many columns of numbers would not fit on a narrow terminal."""
    table = _tables.table("", *results)
    for cells in zip(*(_cells(result, level) for result in results.values()), strict=True):
        if any(cell for _, cell in cells):
            table.add_row(cells[0][0], *(cell for _, cell in cells))
    return table


def _cells(result: BLIResult, level: float | None) -> list[tuple[str, str]]:
    """Return what a result says, each with its name; empty where it is not known."""
    from fipp.evaluate._bli import MEASURES

    def scored(measure: str) -> tuple[str, str]:
        score = f"{result.per_query(measure).mean():.4f}"
        if level is not None:
            score += " ({:.4f}-{:.4f})".format(*result.interval(measure, level))
        return measure.upper(), score

    def counted(number: float | None, digits: str = ",") -> str:
        return "" if number is None else format(number, digits)

    return [
        scored("map"),
        ("MAP per line", counted(result.map_per_line, ".4f")),
        *(scored(measure) for measure in MEASURES if measure != "map"),
        ("coverage", f"{result.pairs:,} of {result.total:,} ({100 * result.coverage:.1f} %)"),
        ("lines", counted(result.lines)),
        ("pairs in the seed", counted(result.seen_pairs)),
        ("words in the seed", counted(result.seen_words)),
        ("retrieval", result.retrieval),
    ]
