"""`fipp lexicon`: check, split, reverse and make dictionaries, and find pairs that look wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import fipp
from fipp.cli import _arguments, _console
from fipp.exceptions import FippError

if TYPE_CHECKING:
    from fipp.io import Lookup

_Dictionary = Annotated[
    Path, Argument(metavar="DICT", help="One pair per line, separated by tab, spaces, comma or semicolon.")
]
_Output = Annotated[
    Path, Option("--output", "-o", metavar="OUT", help="Where to write: .csv with commas, others with tabs.")
]
_Alternatives = Annotated[
    str | None, Option(metavar="CHARS", help="Characters between translations of a word, such as ',;'.")
]
_MinScore = Annotated[
    float | None, Option(metavar="S", help="Leave out pairs whose third column is below S or not a number.")
]

# More suspicious pairs would push the summary out of sight; --output and --json have all of them.
_SHOWN = 20


def check(
    dictionary: _Dictionary,
    source: _arguments.Source,
    target: _arguments.Target,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="OUT", help="Write the pairs that were found.")
    ] = None,
    limit: _arguments.Limit = None,
    alternatives: _Alternatives = None,
    min_score: _MinScore = None,
    strict: _arguments.Strict = False,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Show how many pairs of a dictionary have vectors on both sides, with examples of words that have none."""
    report = _console.Reporter(quiet or as_json)
    _arguments.check_output(output, dictionary, source, target)
    lexicon = _arguments.load_lexicon(dictionary, strict=strict, alternatives=alternatives, min_score=min_score)
    found = lexicon.filter(*_arguments.load_both(source, target, report, limit=limit))
    assert found.coverage is not None
    figures = _figures(lexicon, found.coverage)
    if as_json:
        _console.show_json({"dictionary": str(dictionary), **figures})
    else:
        _console.show(_console.summary(_readable(figures)))
    hint = found.coverage.hint()
    if hint:
        _console.warn(hint)
    if output is not None:
        _arguments.save(found, output)
        report.note(f"{output}: {len(found):,} pairs")


def suspects(
    dictionary: _Dictionary,
    source: _arguments.Source,
    target: _arguments.Target,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="OUT", help="Write all suspicious pairs with their cosines, worst first."),
    ] = None,
    limit: _arguments.Limit = None,
    alternatives: _Alternatives = None,
    min_score: _MinScore = None,
    strict: _arguments.Strict = False,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """List the pairs of a dictionary that look wrong, worst first, and estimate how many are wrong.

    A pair is suspicious if its words are no nearer to each other than words paired by chance, under a map that was
    learned from the other pairs. Some suspicious pairs are right, such as rare words and loose translations.
    """
    report = _console.Reporter(quiet or as_json)
    _arguments.check_output(output, dictionary, source, target)
    lexicon = _arguments.load_lexicon(dictionary, strict=strict, alternatives=alternatives, min_score=min_score)
    found = fipp.evaluate.suspects(*_arguments.load_both(source, target, report, limit=limit), lexicon)
    if as_json:
        _console.show_json({"dictionary": str(dictionary), **suspects_as_dict(found)})
    else:
        _show_suspects(found)
    if output is not None:
        _arguments.save(found, output)
        report.note(f"{output}: {len(found.lexicon):,} pairs")


def suspects_as_dict(found: fipp.evaluate.Suspects) -> dict[str, Any]:
    """Return the suspicious pairs as JSON can hold them."""
    pairs = [[*pair, float(cosine)] for pair, cosine in _scored(found)]
    return {"pairs": found.n_pairs, "wrong_share": found.wrong_share, "noisy": found.noisy, "suspects": pairs}


def _scored(found: fipp.evaluate.Suspects) -> list[tuple[tuple[str, str], float]]:
    assert found.lexicon.scores is not None
    return list(zip(found.lexicon, found.lexicon.scores.tolist(), strict=True))


def _show_suspects(found: fipp.evaluate.Suspects) -> None:
    table = _console.table("source", "target", "cosine")
    for (source, target), cosine in _scored(found)[:_SHOWN]:
        table.add_row(source, target, f"{cosine:.3f}")
    if len(found.lexicon) > _SHOWN:
        table.add_row(f"… and {len(found.lexicon) - _SHOWN:,} more", "", "", style="dim")
    if len(found.lexicon):
        _console.show(table)
    _console.show(_console.summary({"dictionary": found.summary()}))


def split(
    dictionary: _Dictionary,
    output: Annotated[Path, Option("--output", "-o", metavar="FIRST", help="Where to write the first part, the seed.")],
    rest: Annotated[Path, Option(metavar="SECOND", help="Where to write the rest, the test dictionary.")],
    size: Annotated[
        str, Option(metavar="SIZE", help="Source words in the first part: a share such as 0.8, or a number.")
    ] = "0.8",
    random_state: _arguments.RandomState = 0,
    alternatives: _Alternatives = None,
    min_score: _MinScore = None,
    strict: _arguments.Strict = False,
) -> None:
    """Split a dictionary at random, to learn from one part and to test on the other.

    All pairs of a source word, whatever its case, go to the same part.
    """
    _arguments.check_output(output, dictionary)
    _arguments.check_output(rest, dictionary, output)
    try:
        first_size = int(size) if size.strip().isdecimal() else float(size)
    except ValueError:
        raise FippError(f"--size is a share such as 0.8 or a number such as 1000, not {size!r}") from None
    lexicon = _arguments.load_lexicon(dictionary, strict=strict, alternatives=alternatives, min_score=min_score)
    seed, test = lexicon.split(first_size, random_state=random_state)
    seed.save_with(output, test, rest)
    _console.written.extend((output, rest))
    _show_size(seed, output)
    _show_size(test, rest)


def reverse(
    dictionary: _Dictionary,
    output: _Output,
    alternatives: _Alternatives = None,
    min_score: _MinScore = None,
    strict: _arguments.Strict = False,
) -> None:
    """Swap the words of each pair: a dictionary from target to source."""
    _arguments.check_output(output, dictionary)
    lexicon = _arguments.load_lexicon(dictionary, strict=strict, alternatives=alternatives, min_score=min_score)
    _write(lexicon.reverse(), output)


def identical(
    source: _arguments.Source,
    target: _arguments.Target,
    output: _Output,
    min_length: Annotated[int, Option(metavar="N", min=1, help="Leave out shorter words.")] = 1,
    no_numerals: Annotated[bool, Option("--no-numerals", help="Leave out numerals.")] = False,
    limit: _arguments.Limit = None,
    quiet: _arguments.Quiet = False,
) -> None:
    """Pair the words that two vocabularies spell alike. Some are alike by chance; long ones are more often right."""
    _arguments.check_output(output, source, target)
    vectors = _arguments.load_both(source, target, _console.Reporter(quiet), limit=limit)
    found = fipp.Lexicon.identical(*vectors, min_length=min_length, numerals=not no_numerals)
    _write(found, output, "for words in different scripts, use `fipp lexicon cognates`")


def numerals(
    source: _arguments.Source,
    target: _arguments.Target,
    output: _Output,
    limit: _arguments.Limit = None,
    quiet: _arguments.Quiet = False,
) -> None:
    """Pair equal numerals, even if they are written in different digits."""
    _arguments.check_output(output, source, target)
    vectors = _arguments.load_both(source, target, _console.Reporter(quiet), limit=limit)
    _write(fipp.Lexicon.numerals(*vectors), output)


def cognates(
    source: _arguments.Source,
    target: _arguments.Target,
    output: _Output,
    max_distance: Annotated[
        float, Option(metavar="D", help="Largest number of edits per letter of the longer word, below 0.5.")
    ] = 0.15,
    min_length: Annotated[int, Option(metavar="N", min=1, help="Leave out words with fewer letters.")] = 5,
    max_rank_ratio: Annotated[
        float, Option(metavar="R", help="Largest ratio of the two frequency ranks; 0 for no limit.")
    ] = 7.5,
    limit: _arguments.Limit = None,
    quiet: _arguments.Quiet = False,
) -> None:
    """Pair words that look alike in Latin letters and are similarly frequent; the third column is their similarity.

    Both files must be sorted by frequency, as most are; if they are not, use --max-rank-ratio 0. Many pairs will be
    wrong.
    """
    report = _console.Reporter(quiet)
    _arguments.check_output(output, source, target)
    vectors = _arguments.load_both(source, target, report, limit=limit)
    with report.progress("comparing") as progress:
        found = fipp.Lexicon.cognates(
            *vectors,
            max_distance=max_distance,
            min_length=min_length,
            max_rank_ratio=max_rank_ratio or None,
            progress=progress,
        )
    _write(found, output, "a larger --max-distance finds more")


def cldr(
    source: Annotated[str, Argument(metavar="SOURCE_LANG", help="Source language, such as en, pt-BR or zh-Hant.")],
    target: Annotated[str, Argument(metavar="TARGET_LANG", help="Target language.")],
    output: _Output,
    kinds: Annotated[
        str | None,
        Option(
            metavar="KIND,…",
            help="Which names: territories, languages, scripts, months, weekdays, currencies, units, cities, emoji.",
        ),
    ] = None,
    phrases: Annotated[bool, Option("--phrases", help="Include names of several words.")] = False,
    keep_case: Annotated[bool, Option("--keep-case", help="Keep capital letters.")] = False,
) -> None:
    r"""Pair the names that Unicode's CLDR has in two languages: a seed for languages without a dictionary.

    This needs Babel and emoji: [bold]pip install 'fipp\[cldr]'[/bold]. Languages without emoji names have fewer pairs.
    """
    _arguments.check_output(output)
    found = fipp.Lexicon.from_cldr(
        source, target, kinds=_arguments.split_names(kinds), single_words=not phrases, lower=not keep_case
    )
    _write(found, output, "the two languages share no names of these kinds")


def _write(lexicon: fipp.Lexicon, path: Path, hint: str = "") -> None:
    """Write a dictionary and print how many pairs it has; ``hint`` is for one that has none."""
    if not len(lexicon):
        raise FippError(f"no pairs were found, so {path} was not written{hint and '; '}{hint}")
    _arguments.save(lexicon, path)
    _show_size(lexicon, path)


def _show_size(lexicon: fipp.Lexicon, path: Path) -> None:
    _console.show(f"{path}: {len(lexicon):,} pair{'' if len(lexicon) == 1 else 's'}")


def _figures(lexicon: fipp.Lexicon, lookup: Lookup) -> dict[str, Any]:
    return {
        "pairs": lookup.total,
        "source_words": len({source for source, _ in lexicon}),
        "target_words": len({target for _, target in lexicon}),
        "found": lookup.found,
        "coverage": lookup.coverage,
        "duplicates": lookup.duplicates,
        **{f"missing_{side}": getattr(lookup, f"missing_{side}") for side in ("source", "target")},
        **{f"missing_{side}_examples": getattr(lookup, f"missing_{side}_examples") for side in ("source", "target")},
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
