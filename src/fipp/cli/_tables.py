"""Tables of results, all of one look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from fipp import Translation


def table(*columns: str) -> Table:
    """Return an empty table."""
    from rich import box
    from rich.table import Table

    return Table(*columns, box=box.SIMPLE_HEAD, header_style="dim")


def plain(value: Any) -> Any:
    """Return a setting as JSON can hold it; a transformer is named as Python would write it.

    Examples
    --------
    >>> from fipp.preprocess import Centre
    >>> plain(0.5), plain(Centre())
    (0.5, 'Centre()')
    """
    return value if isinstance(value, (str, int, float, bool, type(None))) else " ".join(str(value).split())


def summary(rows: Mapping[str, str]) -> Table:
    """Return names and what they stand for, without lines."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, value in rows.items():
        grid.add_row(name, value)
    return grid


def translations(ranked: Mapping[str, Sequence[Translation]], right: Mapping[str, str] | None = None) -> Table:
    """Return a row for each word and a column for each rank; translations known to be ``right`` stand out."""
    from rich.text import Text

    longest = max(map(len, ranked.values()))
    rows = table("word", *map(str, range(1, longest + 1)))
    rows.columns[0].style = "bold"
    known = right or {}
    for word, found in ranked.items():
        styles = ["bold green" if known.get(word) == best.word else "" for best in found]
        rows.add_row(
            Text(word),
            *(
                Text.assemble((best.word, style), (f" {best.score:.2f}", "dim"))
                for best, style in zip(found, styles, strict=True)
            ),
        )
    return rows
