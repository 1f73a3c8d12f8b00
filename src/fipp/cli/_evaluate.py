"""`fipp eval`, `fipp translate` and `fipp induce`: how well a model finds translations, and which ones it finds."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

import fipp
from fipp.cli import _arguments, _console
from fipp.exceptions import FippError

if TYPE_CHECKING:
    from rich.table import Table

    from fipp.evaluate import PairedComparison


def evaluate(
    model: _arguments.Model,
    source: _arguments.Source,
    target: _arguments.Target,
    test: Annotated[
        Path | None,
        Option(
            metavar="TEST",
            help="Test dictionary: pairs that the model was not learned from, one per line. Without it, the seed pairs "
            "are cross-validated.",
        ),
    ] = None,
    retrieval: _arguments.Retrieval = "nn",
    beta: _arguments.Beta = _arguments.BETA,
    against: Annotated[
        Path | None, Option(metavar="MODEL2", help="Test whether the difference from another model is chance.")
    ] = None,
    interval: Annotated[bool, Option("--interval", help="Add bootstrap confidence intervals.")] = False,
    level: Annotated[
        float, Option(metavar="L", help="Confidence level of --interval and --against, between 0 and 1.")
    ] = 0.95,
    bands: Annotated[
        bool, Option("--bands", help="Add scores by frequency of the source word, taken from its row number.")
    ] = False,
    edges: Annotated[
        str | None, Option("--band-edges", metavar="1000,5000,…", help="Rows where bands begin; implies --bands.")
    ] = None,
    reverse_dict: _arguments.ReverseDict = False,
    limit: _arguments.Limit = None,
    max_memory: _arguments.MaxMemory = None,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Measure how well a model finds the translations of a test dictionary.

    Pairs with a word that has no vector are left out; the coverage shows how many were found. If the model was learned
    from some of the pairs, the scores without them are shown as well.

    MAP counts each source word once, with all of its translations. MAP per line counts each line of the file, as in the
    papers of FIPP and XLING.

    Without --test, maps are learned from parts of the seed pairs and tested on the others. That is refused for models
    that were learned without known pairs.
    """
    from fipp.evaluate import MEASURES, compare_results

    report = _console.Reporter(quiet or as_json)
    _arguments.check_retrieval(retrieval, beta, max_memory)
    if not 0 < level < 1:
        raise FippError(f"--level must be between 0 and 1, such as 0.95, not {level:g}")
    chosen = bands if edges is None else _parse_edges(edges)
    needless = {"--against": against is not None, "--beta": beta != _arguments.BETA, "--reverse-dict": reverse_dict}
    for option in needless if test is None else ():
        if needless[option]:
            raise FippError(f"{option} needs a test dictionary: give one with --test")
    lexicon = None if test is None else _arguments.load_lexicon(test, reverse=reverse_dict)
    if against is not None:
        fipp.Alignment.load(against)  # refuse a wrong file before anything long is done
    alignment = _arguments.load_alignment(model, source, target, report, limit=limit)

    def measure(alignment: fipp.Alignment, lexicon: fipp.Lexicon | None) -> fipp.BLIResult:
        with report.progress("ranking" if lexicon is not None else "cross-validating") as progress:
            return alignment.evaluate(lexicon, retrieval=retrieval, beta=beta, max_memory=max_memory, progress=progress)

    result = measure(alignment, lexicon)
    comparisons: list[PairedComparison] = []
    if against is not None:
        other = measure(fipp.Alignment.load(against, alignment.source, alignment.target), lexicon)
        comparisons = [compare_results(result, other, name, level=level) for name in MEASURES]
    if as_json:
        told = result.as_dict(interval=level if interval else None, bands=chosen)
        if comparisons:
            measures = {comparison.measure: comparison.as_dict() for comparison in comparisons}
            told["against"] = {"model": str(against), "measures": measures}
        _console.show_json(told)
    else:
        _show(result, level if interval else None, chosen)
        _show_comparisons(comparisons, against)


def _parse_edges(text: str) -> list[int]:
    parts = text.split(",")
    edges = [int(part) for part in parts if part.strip().isdecimal()]
    if len(edges) < len(parts) or edges != sorted({*edges} - {0}):
        raise FippError(f"--band-edges takes rising row numbers such as 1000,5000,20000, not {text!r}")
    return edges


def _show_comparisons(comparisons: list[PairedComparison], against: Path | None) -> None:
    if not comparisons or against is None:
        return
    _console.heading(f"against {against.name}, on the same {comparisons[0].n_queries:,} queries")
    interval = f"{100 * comparisons[0].level:g} % interval"
    table = _console.table("", "this", "other", "difference", interval, "p")
    for one in comparisons:
        ends = f"{one.low:+.4f} to {one.high:+.4f}"
        scores = f"{one.first:.4f}", f"{one.second:.4f}", f"{one.difference:+.4f}"
        table.add_row(one.measure.upper(), *scores, ends, f"{one.p_value:.4f}")
    _console.show(table)


def _show(result: fipp.BLIResult, level: float | None, bands: bool | list[int]) -> None:
    if result.folds is not None:
        _console.heading(f"no test dictionary: {result.folds}-fold cross-validation on the seed pairs")
    columns = {"score": result}
    if result.seen_pairs and result.unseen is not None:
        columns["without seed pairs"] = result.unseen
    _console.show(_table(columns, level))
    if bands:
        _console.heading("by row number of the source word, frequent words first")
        _console.show(_table(result.by_band() if bands is True else result.by_band(bands), level))
    note = result.mutual_note()
    if note is not None:
        _console.show(note)


def _table(results: Mapping[str, fipp.BLIResult], level: float | None) -> Table:
    """Return a table with a column for each result: a row for each would not fit on a narrow terminal."""
    table = _console.table("", *results)
    for cells in zip(*(_cells(result, level) for result in results.values()), strict=True):
        if any(cell for _, cell in cells):
            table.add_row(cells[0][0], *(cell for _, cell in cells))
    return table


def _cells(result: fipp.BLIResult, level: float | None) -> list[tuple[str, str]]:
    """Return names and values of what a result shows; a value is empty if it is not known."""
    from fipp.evaluate import MEASURES

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
        ("coverage", _console.share(result.n_queries, result.total)),
        ("lines", counted(result.lines)),
        ("pairs in the seed", counted(result.seen_pairs)),
        ("words in the seed", counted(result.seen_words)),
        ("retrieval", result.retrieval),
    ]


def translate(
    model: _arguments.Model,
    source: _arguments.Source,
    target: _arguments.Target,
    words: Annotated[
        list[str] | None, Argument(metavar="WORD", help="Words to translate; - reads standard input, one per line.")
    ] = None,
    words_file: Annotated[
        Path | None, Option("--words", metavar="FILE", help="Translate the words of a file, one per line.")
    ] = None,
    count: Annotated[int, Option("-k", metavar="K", min=1, help="Number of translations per word.")] = 5,
    reverse: Annotated[bool, Option("--reverse", help="Translate words of TGT into SRC.")] = False,
    retrieval: _arguments.Retrieval = "nn",
    beta: _arguments.Beta = _arguments.BETA,
    limit: _arguments.Limit = None,
    max_memory: _arguments.MaxMemory = None,
    as_tsv: Annotated[
        bool, Option("--tsv", help="Print lines of word, rank, translation and score, separated by tabs.")
    ] = False,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Show the target words nearest to each source word, with their scores.

    Unknown words are listed on standard error, with words that are spelled nearly alike, and left out. If no word is
    known, the exit code is 2.
    """
    report = _console.Reporter(quiet or as_json or as_tsv)
    if as_json and as_tsv:
        raise FippError("--json and --tsv exclude each other")
    _arguments.check_retrieval(retrieval, beta, max_memory)
    asked = list(_read(words or (), words_file))
    alignment = _arguments.load_alignment(model, source, target, report, limit=limit)
    side = alignment.target if reverse else alignment.source
    assert side is not None
    known, unknown = _divide(asked, side, "target" if reverse else "source")
    with report.progress("translating") as progress:
        found = alignment.translate_all(
            known, count, retrieval=retrieval, beta=beta, reverse=reverse, max_memory=max_memory, progress=progress
        )
    translations = dict(zip(known, found, strict=True))
    if as_json:
        answers = {word: [best._asdict() for best in ranked] for word, ranked in translations.items()}
        _console.show_json({"retrieval": retrieval, "translations": answers, "unknown": unknown})
    elif as_tsv:
        _console.show_tsv(
            (word, str(rank), best.word, f"{best.score:.4f}")
            for word, ranked in translations.items()
            for rank, best in enumerate(ranked, 1)
        )
    else:
        _console.show(_translations(translations))


def _translations(ranked: Mapping[str, Sequence[fipp.Translation]]) -> Table:
    """Return a row for each translation, which fits on a terminal of any width."""
    table = _console.table("word", "translation", "score")
    table.columns[0].style, table.columns[2].style = "bold", "dim"
    for word, found in ranked.items():
        for rank, best in enumerate(found):
            table.add_row("" if rank else word, best.word, f"{best.score:.4f}")
        table.add_section()
    return table


def _read(words: Iterable[str], path: Path | None) -> Iterable[str]:
    """Yield each word once, those of the file last, with the lines of standard input in place of ``-``."""
    seen = set()
    from_file = [] if path is None else _arguments.load_words(path)
    for word in (*words, *from_file):
        for line in sys.stdin if word == "-" and path is None else [word]:
            stripped = line.strip()
            if stripped and stripped not in seen:
                seen.add(stripped)
                yield stripped


def _divide(words: Sequence[str], vectors: fipp.Vectors, side: str) -> tuple[list[str], dict[str, list[str]]]:
    """Return the words that a side has; and those that it does not have with words spelled alike, and warn of them."""
    if not words:
        raise FippError("there are no words to translate: give some, a file with --words, or - and standard input")
    rows = vectors.find(words)
    known = [word for word, row in zip(words, rows, strict=True) if row >= 0]
    unknown = {word: vectors.near(word) for word, row in zip(words, rows, strict=True) if row < 0}
    named = ", ".join(repr(word) + (f" (near: {', '.join(near)})" if near else "") for word, near in unknown.items())
    if not known:
        raise FippError(f"not among the {len(vectors):,} {side} words: {named}")
    if unknown:
        _console.warn(f"not among the {len(vectors):,} {side} words and left out: {named}")
    return known, unknown


def induce(
    model: _arguments.Model,
    source: _arguments.Source,
    target: _arguments.Target,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="Where to write the dictionary.")],
    precision: Annotated[
        float | None,
        Option(
            metavar="P",
            help="Keep as many pairs as this estimated share of right ones allows, such as 0.9. By default, keep "
            "the pairs that are more likely right than wrong.",
        ),
    ] = None,
    limit: _arguments.Limit = None,
    max_memory: _arguments.MaxMemory = None,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Write a whole dictionary: the words that are each other's nearest neighbour by CSLS.

    Each line holds a source word, a target word and an estimate of the probability that the pair is right. It is
    learned from the seed pairs, which are held out in turn. Right pairs that are not in the dictionary count as wrong,
    so that estimates are cautious.
    """
    from fipp.evaluate import check_precision

    report = _console.Reporter(quiet or as_json)
    check_precision(precision)
    _arguments.check_output(output, model, source, target)
    alignment = _arguments.load_alignment(model, source, target, report, limit=limit)
    with report.progress("looking for pairs") as progress:
        found = alignment.induce(precision=precision, max_memory=max_memory, progress=progress)
    if not len(found.lexicon):
        raise FippError(f"none of the {found.n_found:,} pairs is likely enough to be right; {output} was not written")
    _arguments.save(found.lexicon, output)
    if found.precision is None:
        _console.warn(
            "how many of the pairs are right is not known: too few known pairs were found again; scores are CSLS"
        )
    if as_json:
        told = {"pairs": len(found.lexicon), "precision": found.precision, "found": found.n_found}
        _console.show_json({**told, "judged": found.n_judged, "output": str(output)})
        return
    rows = {"pairs": f"{len(found.lexicon):,} of {found.n_found:,} words that choose each other"}
    if found.precision is not None:
        rows["precision"] = f"{found.precision:.2f}, estimated from {found.n_judged:,} held-out pairs"
    _console.show(_console.summary({**rows, "dictionary": str(output)}))
