"""`fipp demo`: what an alignment does, shown on the bundled English and French vectors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from fipp.cli import _auto_report, _console, _files, _options, _tables

if TYPE_CHECKING:
    from rich.table import Table

    from fipp import Alignment, BLIResult
    from fipp.datasets import Demo

EXAMPLE = "Example: [bold]fipp demo --output /tmp/demo[/bold]"

# Of the test dictionary, which the map never sees; the last two it gets wrong, as it does one word in six.
WORDS = (
    "coffee", "family", "money", "queen", "white", "guitar",
    "sunday", "learn", "tired", "switzerland", "wife", "eleven",
)  # fmt: skip

# Of the test dictionary as well: numbers, places, the body, the table, animals.
PICTURE = (
    "two", "eleven", "thirteen", "hundred", "thousand",
    "london", "vienna", "switzerland", "mexico",
    "wrist", "neck", "beard", "eyebrows", "nails",
    "bowl", "fork", "coffee", "mustard", "broth",
    "goat", "tiger", "sheep", "mouse", "eagle",
)  # fmt: skip

_SHOWN = 3
_FILTERED = 10

# Names, methods and settings. First the default, of which the model, the translations and the picture are; then FIPP,
# ours and as it was published; then Procrustes as it is commonly used, and on vectors that were prepared as
# FIPP's are, which is the fair comparison.
_RIVALS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("auto", "auto", {}),
    ("FIPP", "fipp", {}),
    ("FIPP as published", "fipp-published", {}),
    ("Procrustes", "procrustes", {}),
    ("Procrustes, isotropic", "procrustes", {"preprocess": "isotropic"}),
)


class _Scored(NamedTuple):
    """An alignment and how it did."""

    name: str
    alignment: Alignment
    cosine: BLIResult
    csls: BLIResult


def command(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where to put model and picture.")
    ] = Path("demo-output"),
    quiet: _options.Quiet = False,
) -> None:
    """Align the bundled English and French vectors, show translations and scores, and draw a picture.

    Needs no data and no network. Everything that is shown is measured on this machine, now.
    """
    from fipp.datasets import load_demo

    report = _console.Reporter(quiet)
    output.mkdir(parents=True, exist_ok=True)
    model, picture = output / "en-fr.fipp", output / "en-fr.png"
    _files.check_output(model)
    demo = load_demo()
    report.note(f"English: {len(demo.source):,} words x {demo.source.dim}")
    report.note(f"French: {len(demo.target):,} words x {demo.target.dim}")
    report.note(f"dictionary: {len(demo.seed):,} pairs to learn from, {len(demo.test):,} others to test with")
    report.note("choosing the best of several methods for these vectors takes half a minute or so")

    scored = []
    with report.progress("aligning and testing") as progress:
        for done, (name, method, settings) in enumerate(_RIVALS, 1):
            scored.append(_score(demo, name, method, settings))
            progress(done, len(_RIVALS))
    alignment = scored[0].alignment
    choice = _auto_report.as_dict(alignment.aligner)
    if choice:
        _console.heading("The method: chosen on pairs held out from those to learn from")
        _console.show(_tables.summary({"chosen": choice["chosen"], "why": _auto_report.why(**choice)}))
    _console.heading("Words that the map was not learned from; the dictionary's translation in green")
    _console.show(_translations(alignment, demo))
    _console.heading(f"Scores on the {len(demo.test)} test pairs, by nearest neighbours (NN) and by CSLS")
    _console.show(_scores(scored), _verdict(scored))
    _console.heading("FIPP's filter: seed pairs with the smallest and the largest share of inner products kept")
    _console.show(_filtered(next(row.alignment for row in scored if row.name == "FIPP")))

    alignment.save(model)
    _console.written.append(model)
    _console.show("", f"The model is in {model}.")
    _draw(alignment, demo, picture)


def _score(demo: Demo, name: str, method: str, settings: Mapping[str, Any]) -> _Scored:
    import fipp

    alignment = fipp.align(demo.source, demo.target, demo.seed, method, **settings)
    by_cosine, by_csls = (alignment.evaluate(demo.test, retrieval=way) for way in ("cosine", "csls"))
    return _Scored(name, alignment, by_cosine, by_csls)


def _translations(alignment: Alignment, demo: Demo) -> Table:
    ranked = alignment.translate_all(WORDS, _SHOWN)
    return _tables.translations(dict(zip(WORDS, ranked, strict=True)), right=dict(demo.test))


def _scores(scored: list[_Scored]) -> Table:
    table = _tables.table("", "NN P@1", "P@5", "MAP", "CSLS P@1", "P@5", "MAP")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in scored:
        results = (row.cosine, row.csls)
        table.add_row(row.name, *(f"{score:.3f}" for r in results for score in (r.p_at_1, r.p_at_5, r.map)))
    return table


def _verdict(scored: list[_Scored]) -> str:
    """Say who is ahead, and whether that means anything."""
    lines = []
    for way, results in [("NN", [row.cosine for row in scored]), ("CSLS", [row.csls for row in scored])]:
        best = max(result.p_at_1 for result in results)
        winners = [row.name for row, result in zip(scored, results, strict=True) if result.p_at_1 == best]
        lines.append(f"Best P@1 by {way}: {best:.3f} ({'; '.join(winners)}).")
    pairs, share = scored[0].cosine.n_queries, scored[0].cosine.p_at_1
    error = (share * (1 - share) / pairs) ** 0.5
    lines.append(f"One standard error is {error:.3f} with {pairs} pairs: smaller differences may be chance.")
    return "\n".join(lines)


def _filtered(alignment: Alignment) -> Table:
    """Return the seed pairs whose inner products the filter kept least and most (appendix D.2 of the paper)."""
    aligner, source, target = alignment.aligner, alignment.source, alignment.target
    assert source is not None and target is not None
    kept = aligner.kept_per_pair_
    order = kept.argsort(kind="stable")
    table = _tables.table("most filtered", "kept", "least filtered", "kept")

    def cells(place: int) -> tuple[str, str]:
        left, right = aligner.pairs_[place]
        return f"{source.words[left]} – {target.words[right]}", f"{100 * kept[place]:.0f} %"

    for most, least in zip(order[:_FILTERED], order[::-1][:_FILTERED], strict=True):
        table.add_row(*cells(most), *cells(least))
    return table


def _draw(alignment: Alignment, demo: Demo, path: Path) -> None:
    from fipp.exceptions import FippError
    from fipp.report import plot_pairs

    right = dict(demo.test)
    try:
        plot_pairs(alignment, [(word, right[word]) for word in PICTURE], path, names=("English", "French"))
    except FippError as error:  # without matplotlib everything else still is of use
        _console.warn(f"no picture was drawn: {error}")
        return
    _console.written.append(path)
    _console.show(f"A picture of {len(PICTURE)} pairs before and after is in {path}.")
