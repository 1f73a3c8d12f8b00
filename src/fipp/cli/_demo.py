"""`fipp demo`: what an alignment does, shown on the bundled English and French vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from typer import Option

import fipp
from fipp._progress import stages
from fipp.cli import _align, _arguments, _console
from fipp.exceptions import FippError

if TYPE_CHECKING:
    from rich.table import Table

    from fipp._progress import Progress
    from fipp.datasets import Demo

# Words of the test dictionary, which the map never sees. It gets the last two wrong, as it does one word in six.
WORDS = (
    "coffee", "family", "money", "queen", "white", "guitar",
    "sunday", "learn", "tired", "switzerland", "wife", "eleven",
)  # fmt: skip

# Words of the test dictionary as well: numbers, places, the body, the table, animals.
PICTURE = (
    "two", "eleven", "thirteen", "hundred", "thousand",
    "london", "vienna", "switzerland", "mexico",
    "wrist", "neck", "beard", "eyebrows", "nails",
    "bowl", "fork", "coffee", "mustard", "broth",
    "goat", "tiger", "sheep", "mouse", "eagle",
)  # fmt: skip

# The default takes this many times as long as each of the others.
_WORK = 20
_SHOWN = 3
_FILTERED = 10

# Names, methods and settings. First the default, which makes the model, the translations and the picture; then FIPP,
# ours and as published; then Procrustes as commonly used, and preprocessed like FIPP, which is the fair comparison.
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
    alignment: fipp.Alignment
    cosine: fipp.BLIResult
    csls: fipp.BLIResult


def demo(
    output: Annotated[
        Path, Option("--output", "-o", metavar="DIR", help="Where to put the model, the picture and the report.")
    ] = Path("demo-output"),
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Align the bundled English and French vectors, show translations and scores, and write a report to look at.

    The demo needs no data and no network, and takes about a minute. All results are measured on your machine.
    """
    from fipp.datasets import load_demo

    report = _console.Reporter(quiet or as_json)
    output.mkdir(parents=True, exist_ok=True)
    model, picture, page = (output / f"en-fr.{kind}" for kind in ("fipp", "png", "html"))
    _arguments.check_output(model)
    data = load_demo()
    report.note(f"English: {len(data.source):,} words x {data.source.dim}")
    report.note(f"French: {len(data.target):,} words x {data.target.dim}")
    report.note(f"dictionary: {len(data.seed):,} pairs to learn from, {len(data.test):,} others to test on")
    report.note("choosing the best of several methods for these vectors takes about a minute")

    with report.progress("aligning and testing") as progress:
        parts = stages(progress, {name: _WORK if method == "auto" else 1 for name, method, _ in _RIVALS})
        scored = [_score(data, *rival, part) for rival, part in zip(_RIVALS, parts, strict=True)]
    alignment = scored[0].alignment
    _arguments.save(alignment, model)
    drawn = _draw(alignment, data, (model, picture, page), report)
    if as_json:
        scores = {row.name: {"cosine": row.cosine.as_dict(), "csls": row.csls.as_dict()} for row in scored}
        files = {
            "model": str(model),
            "picture": str(picture) if drawn else None,
            "report": str(page) if drawn else None,
        }
        _console.show_json({**_align.choice(alignment.aligner), "scores": scores, **files})
        return
    _show(scored, data)
    _console.show("", f"The model is in {model}.")
    if drawn:
        _console.show(f"A picture of {len(PICTURE)} pairs before and after alignment is in {picture}.")
        _console.show(f"The report is in {page}: open it in a browser to look at all of this.")


def _show(scored: list[_Scored], data: Demo) -> None:
    alignment = scored[0].alignment
    choice = _align.choice_rows(alignment.aligner)
    if choice:
        _console.heading("The method, chosen on held-out pairs of the dictionary")
        _console.show(_console.summary(choice))
    _console.heading("Words that the map was not learned from; translations in the dictionary are green")
    ranked = dict(zip(WORDS, alignment.translate_all(WORDS, _SHOWN), strict=True))
    _console.show(_translations(ranked, right=dict(data.test)))
    _console.heading(f"Scores on the {len(data.test)} test pairs, by nearest neighbours (NN) and by CSLS")
    _console.show(_scores(scored), *_verdict(scored))
    _console.heading("FIPP's filter: seed pairs with the smallest and the largest share of inner products kept")
    _console.show(_filtered(next(row.alignment for row in scored if row.name == "FIPP")))


def _translations(ranked: Mapping[str, Sequence[fipp.Translation]], right: Mapping[str, str]) -> Table:
    """Return a row for each word and a column for each rank; translations known to be ``right`` stand out."""
    longest = max(map(len, ranked.values()))
    rows = _console.table("word", *map(str, range(1, longest + 1)))
    rows.columns[0].style = "bold"
    for word, found in ranked.items():
        styles = ["bold green" if right.get(word) == best.word else "" for best in found]
        cells = zip(found, styles, strict=True)
        rows.add_row(word, *(_console.text((best.word, style), (f" {best.score:.2f}", "dim")) for best, style in cells))
    return rows


def _score(data: Demo, name: str, method: str, settings: Mapping[str, Any], progress: Progress) -> _Scored:
    alignment = fipp.align(data.source, data.target, data.seed, method, progress=progress, **settings)
    by_cosine, by_csls = (alignment.evaluate(data.test, retrieval=way) for way in ("cosine", "csls"))
    return _Scored(name, alignment, by_cosine, by_csls)


def _scores(scored: list[_Scored]) -> Table:
    table = _console.table("", "NN P@1", "P@5", "MAP", "CSLS P@1", "P@5", "MAP")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in scored:
        results = (row.cosine, row.csls)
        table.add_row(row.name, *(f"{score:.3f}" for r in results for score in (r.p_at_1, r.p_at_5, r.map)))
    return table


def _verdict(scored: list[_Scored]) -> list[str]:
    """Return the best score, and how large a difference may be chance."""
    lines = []
    for way, results in [("NN", [row.cosine for row in scored]), ("CSLS", [row.csls for row in scored])]:
        best = max(result.p_at_1 for result in results)
        winners = [row.name for row, result in zip(scored, results, strict=True) if result.p_at_1 == best]
        lines.append(f"Best P@1 by {way}: {best:.3f} ({'; '.join(winners)}).")
    pairs, share = scored[0].cosine.n_queries, scored[0].cosine.p_at_1
    error = (share * (1 - share) / pairs) ** 0.5
    lines.append(f"One standard error is {error:.3f} with {pairs} pairs: smaller differences may be chance.")
    return lines


def _filtered(alignment: fipp.Alignment) -> Table:
    """Return the seed pairs whose inner products the filter kept least and most (appendix D.2 of the paper)."""
    aligner, source, target = alignment.aligner, alignment.source, alignment.target
    assert source is not None and target is not None
    kept = aligner.kept_per_pair_
    order = kept.argsort(kind="stable")
    table = _console.table("most filtered", "kept", "least filtered", "kept")

    def cells(place: int) -> tuple[str, str]:
        left, right = aligner.pairs_[place]
        return f"{source.words[left]} – {target.words[right]}", f"{100 * kept[place]:.0f} %"

    for most, least in zip(order[:_FILTERED], order[::-1][:_FILTERED], strict=True):
        table.add_row(*cells(most), *cells(least))
    return table


def _draw(alignment: fipp.Alignment, data: Demo, files: tuple[Path, Path, Path], reporter: _console.Reporter) -> bool:
    """Draw the picture and write the report; return whether that worked: the rest is useful without matplotlib too."""
    from fipp.report import plot_pairs, write_report

    model, picture, page = files
    right, names = dict(data.test), ("English", "French")
    details = {"Model file": _arguments.with_checksum(model)}
    try:
        plot_pairs(alignment, [(word, right[word]) for word in PICTURE], picture, names=names)
        with reporter.progress("writing the report") as progress:
            write_report(alignment, page, data.test, names=names, details=details, progress=progress)
    except FippError as error:
        _console.warn(f"neither picture nor report were written: {error}")
        return False
    _console.written += [picture, page]
    return True
