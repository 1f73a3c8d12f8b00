"""What is printed, and where: results and tables to standard output; notes, warnings and progress to standard error.

Everything that commands print goes through here, where `printable` makes it harmless. No other command
uses rich.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fipp._printable import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from fipp._progress import Progress

# In a file or a pipe, a table may be as wide as it needs: 80 columns would break its cells.
_WIDTH_WITHOUT_TERMINAL = 200

written: list[Path | str] = []
"""Files and parts of collections that this run has written; they are listed if it is interrupted."""


@cache
def _console(to_stderr: bool) -> Console:
    from rich.console import Console

    stream = sys.stderr if to_stderr else sys.stdout
    fixed = not stream.isatty() and "COLUMNS" not in os.environ
    # Words are shown as they are: "[b]" is not markup and ":cat:" is not an emoji.
    return Console(
        stderr=to_stderr, width=_WIDTH_WITHOUT_TERMINAL if fixed else None, markup=False, emoji=False, highlight=False
    )


def text(*parts: str | tuple[str, str]) -> Text:
    """Return harmless text from parts, each perhaps with its style."""
    from rich.text import Text

    styled = ((part, "") if isinstance(part, str) else part for part in parts)
    return Text.assemble(*((printable(words), style) for words, style in styled))


def say(message: str, style: str = "") -> None:
    """Write a line of any length to standard error; ``style`` applies to the part before the first colon."""
    line = text(message)
    if style:
        line.stylize(style, 0, line.plain.index(":") + 1)
    _console(to_stderr=True).print(line, soft_wrap=True)


def warn(message: str) -> None:
    """Write a warning to standard error."""
    say(f"warning: {message}", style="bold yellow")


def show(*results: str | Table) -> None:
    """Write results, tables or lines, to standard output."""
    for result in results:
        shown = text(result) if isinstance(result, str) else result
        _console(to_stderr=False).print(shown, soft_wrap=isinstance(result, str))


def heading(title: str) -> None:
    """Write the title of a table to standard output."""
    show("")
    _console(to_stderr=False).print(text((title, "bold")), soft_wrap=True)


def show_json(result: Mapping[str, Any]) -> None:
    """Write one JSON object to standard output; what could do harm is escaped, so that the data stay exact."""
    from rich.highlighter import JSONHighlighter

    lines = printable(json.dumps(result, ensure_ascii=False, indent=2), lines=True)
    _console(to_stderr=False).print(JSONHighlighter()(lines), soft_wrap=True)


def show_tsv(rows: Iterable[Sequence[str]]) -> None:
    """Write rows of cells separated by tabs; on a terminal, what could do harm is escaped."""
    harmless = printable if sys.stdout.isatty() else str
    for row in rows:
        sys.stdout.write("\t".join(map(harmless, row)) + "\n")


@dataclass(frozen=True)
class Reporter:
    """Reports what a command is doing, unless it is to be quiet."""

    quiet: bool = False

    def note(self, message: str) -> None:
        """Write a note to standard error."""
        if not self.quiet:
            say(message, style="dim" if ":" in message else "")

    @contextmanager
    def progress(self, doing: str) -> Iterator[Progress]:
        """Show on a terminal what is being done and how much is left; yield the function that is told of steps."""
        console = _console(to_stderr=True)
        if self.quiet or not console.is_interactive:
            yield lambda done, total: None
            return
        from fipp import ProgressBar

        with ProgressBar(doing, console) as bar:
            yield bar


@cache
def _harmless_table() -> type[Table]:
    from rich.table import Table

    class HarmlessTable(Table):
        """A table of cells that are words as they are in files, or come from `text`."""

        def add_row(self, *cells: Any, **options: Any) -> None:
            super().add_row(*(text(cell) if isinstance(cell, str) else cell for cell in cells), **options)

    return HarmlessTable


def table(*columns: str) -> Table:
    """Return an empty table."""
    from rich import box

    return _harmless_table()(*map(printable, columns), box=box.SIMPLE_HEAD, header_style="dim")


def summary(rows: Mapping[str, str]) -> Table:
    """Return a table of two columns without lines."""
    grid = _harmless_table().grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, value in rows.items():
        grid.add_row(name, value)
    return grid


def share(count: int, total: int) -> str:
    """Return a count as ``1,500 of 2,000 (75.0 %)``."""
    return f"{count:,} of {total:,} ({100 * count / total:.1f} %)"
