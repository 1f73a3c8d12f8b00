"""`fipp shift`: which items changed their neighbourhoods between two models, corpora or times."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fipp.cli import _arguments, _console

if TYPE_CHECKING:
    from fipp.evaluate import Shift

# Neighbours shown as evidence in a table; --json has all of them.
_SHOWN = 5


def shift(
    old: Annotated[Path, Argument(metavar="OLD", help=f"Vectors, {_arguments.ANY_FORMAT}")],
    new: Annotated[Path, Argument(metavar="NEW", help="Vectors of the same items by another model, corpus or time.")],
    number: Annotated[int, Option("-n", metavar="N", min=1, help="How many items to show.")] = 20,
    neighbours: Annotated[
        int, Option("-k", metavar="K", min=1, help="Number of neighbours compared in each space.")
    ] = 15,
    null: Annotated[
        tuple[Path, Path] | None,
        Option(
            metavar="A B",
            help="Two files of vectors between which nothing changed, such as two halves of one corpus: what is usual "
            "is measured on them.",
        ),
    ] = None,
    limit: _arguments.Limit = 20_000,
    random_state: _arguments.RandomState = 0,
    as_json: _arguments.Json = False,
    quiet: _arguments.Quiet = False,
) -> None:
    """Find the items whose neighbours changed between OLD and NEW, and show the neighbours lost and gained.

    No alignment is needed. Change is compared with what is usual for items of the same frequency, in standard
    deviations (z); the files must list items from the most frequent to the rarest. Without --null, most items are taken
    to be unchanged.
    """
    from fipp import evaluate

    report = _console.Reporter(quiet or as_json)
    first, second = _arguments.load_both(old, new, report, limit=limit)
    pair = None if null is None else _arguments.load_both(*null, report, limit=limit)
    with report.progress("comparing neighbours"):
        found = evaluate.shift(
            first, second, null=pair, k=neighbours, max_words=limit or len(first), random_state=random_state
        )
    _console.show_json(found.as_dict(number)) if as_json else _show(found, number)


def _show(found: Shift, number: int) -> None:
    table = _console.table("item", "z", "change", "lost", "gained", "kept")
    for each in found.items[:number]:
        sides = (", ".join(words[:_SHOWN]) or "-" for words in (each.lost, each.gained, each.kept))
        table.add_row(each.item, f"{each.z:.1f}", f"{each.change:.2f}", *sides)
    _console.show(table)
    than = "what two sets of vectors show between which nothing changed" if found.from_null else "most items do"
    _console.show(
        f"{len(found.changed):,} of {len(found.items):,} items changed clearly more than {than} (z of 3 or more)"
    )
