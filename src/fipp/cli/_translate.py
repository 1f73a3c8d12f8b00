"""`fipp translate`: the target words nearest to source words."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fipp.cli import _console, _files, _options, _tables

if TYPE_CHECKING:
    from fipp import Vectors

EXAMPLE = "Example: [bold]fipp translate en-fr.fipp en.vec fr.vec house water -k 3 --retrieval csls[/bold]"


def command(
    model: _options.Model,
    source: _options.Source,
    target: _options.Target,
    words: Annotated[
        list[str], typer.Argument(metavar="WORD", help="Source words; - reads them from standard input, one a line.")
    ],
    count: Annotated[int, typer.Option("-k", metavar="K", min=1, help="How many translations of each word.")] = 5,
    retrieval: _options.Retrieval = "nn",
    beta: _options.Beta = _options.BETA,
    limit: _options.Limit = None,
    max_memory: _options.MaxMemory = None,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Show the target words nearest to each source word, with their scores.

    Unknown words are named on standard error and left out. If no word is known, that is an error (exit code 2).
    """
    from fipp.linalg import parse_memory
    from fipp.retrieve._options import check_beta, check_retrieval

    report = _console.Reporter(quiet or as_json)
    check_retrieval(retrieval)
    check_beta(beta)
    parse_memory(max_memory)
    asked = list(_read(words))
    alignment = _files.load_alignment(model, source, target, report, limit=limit)
    assert alignment.source is not None
    known, unknown = _divide(asked, alignment.source)
    with report.progress("translating") as progress:
        found = alignment.translate_all(
            known, count, retrieval=retrieval, beta=beta, max_memory=max_memory, progress=progress
        )
    translations = dict(zip(known, found, strict=True))
    if as_json:
        answers = {word: [best._asdict() for best in ranked] for word, ranked in translations.items()}
        _console.show_json({"retrieval": retrieval, "translations": answers, "unknown": unknown})
    else:
        _console.show(_tables.translations(translations))


def _read(words: Iterable[str]) -> Iterable[str]:
    """Return each word once, with the lines of standard input in place of ``-``."""
    seen = set()
    for word in words:
        for line in sys.stdin if word == "-" else [word]:
            stripped = line.strip()
            if stripped and stripped not in seen:
                seen.add(stripped)
                yield stripped


def _divide(words: Sequence[str], source: Vectors) -> tuple[list[str], list[str]]:
    """Return the words that the source has and those that it has not, and say which those are."""
    from fipp.exceptions import FippError

    if not words:
        raise FippError("there are no words to translate: standard input was empty")
    rows = source.find(words)
    known = [word for word, row in zip(words, rows, strict=True) if row >= 0]
    unknown = [word for word, row in zip(words, rows, strict=True) if row < 0]
    names = ", ".join(map(repr, unknown))
    if not known:
        raise FippError(f"not among the {len(source):,} source words: {names}")
    if unknown:
        _console.warn(f"not among the {len(source):,} source words and left out: {names}")
    return known, unknown
