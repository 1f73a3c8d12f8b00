"""`fipp lexicon check`: how much of a dictionary two files of vectors have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fipp.cli import _console, _files, _options, _tables
from fipp.cli._lexicon import _common

if TYPE_CHECKING:
    from fipp import Lexicon
    from fipp.io import Lookup

EXAMPLE = "Example: [bold]fipp lexicon check en-fr.tsv en.vec fr.vec -o found.tsv[/bold]"


def command(
    dictionary: _common.Dictionary,
    source: _options.Source,
    target: _options.Target,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT", help="Write the pairs that both have.")
    ] = None,
    limit: _options.Limit = None,
    alternatives: _common.Alternatives = None,
    min_score: _common.MinScore = None,
    strict: _options.Strict = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
) -> None:
    """Show how many pairs of a dictionary are in two vocabularies, and name a few words that are not."""
    report = _console.Reporter(quiet or as_json)
    if output is not None:
        _files.check_output(output, dictionary, source, target)
    lexicon = _common.load(dictionary, alternatives=alternatives, min_score=min_score, strict=strict)
    found = lexicon.filter(
        _files.load_vectors(source, report, limit=limit), _files.load_vectors(target, report, limit=limit)
    )
    assert found.coverage is not None
    figures = _figures(lexicon, found.coverage)
    if as_json:
        _console.show_json({"dictionary": str(dictionary), **figures})
    else:
        _console.show(_tables.summary(_readable(figures)))
    hint = found.coverage.hint()
    if hint:
        _console.warn(hint)
    if output is not None:
        found.save(output)
        _console.written.append(output)
        report.note(f"{output}: {len(found):,} pairs")


def _figures(lexicon: Lexicon, lookup: Lookup) -> dict[str, Any]:
    return {
        "pairs": lookup.total,
        "source_words": len({source for source, _ in lexicon}),
        "target_words": len({target for _, target in lexicon}),
        "found": lookup.found,
        "coverage": lookup.coverage,
        "duplicates": lookup.duplicates,
        "missing_source": lookup.missing_source,
        "missing_source_examples": list(lookup.missing_source_examples),
        "missing_target": lookup.missing_target,
        "missing_target_examples": list(lookup.missing_target_examples),
    }


def _readable(figures: dict[str, Any]) -> dict[str, str]:
    def missing(side: str) -> str:
        examples = ", ".join(figures[f"missing_{side}_examples"])
        return f"{figures[f'missing_{side}']:,}" + (f", such as {examples}" if examples else "")

    return {
        "pairs": f"{figures['pairs']:,} of {figures['source_words']:,} source words and "
        f"{figures['target_words']:,} target words",
        "found": f"{figures['found']:,} ({100 * figures['coverage']:.1f} %)",
        "duplicates": f"{figures['duplicates']:,} of these lead to the same vectors as an earlier pair",
        "not in the source": missing("source"),
        "not in the target": missing("target"),
    }
