"""What is printed, and where: results and tables to standard output; notes, warnings and progress to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from fipp import Translation

# In a file or a pipe, a table may be as wide as it needs: 80 columns would break its cells.
_WIDTH_WITHOUT_TERMINAL = 200

written: list[Path] = []
"""Files that this run has written; they are listed if it is interrupted."""


@cache
def _console(to_stderr: bool) -> Console:
    from rich.console import Console

    stream = sys.stderr if to_stderr else sys.stdout
    fixed = not stream.isatty() and "COLUMNS" not in os.environ
    # Words are shown as they are: "[b]" is not markup and ":cat:" is not an emoji.
    return Console(
        stderr=to_stderr, width=_WIDTH_WITHOUT_TERMINAL if fixed else None, markup=False, emoji=False, highlight=False
    )


def say(message: str, style: str = "") -> None:
    """Write a line of any length to standard error; ``style`` applies to the part before the first colon."""
    from rich.text import Text

    text = Text(message)
    if style:
        text.stylize(style, 0, message.index(":") + 1)
    _console(to_stderr=True).print(text, soft_wrap=True)


def warn(message: str) -> None:
    """Write a warning to standard error."""
    say(f"warning: {message}", style="bold yellow")


def show(*results: RenderableType) -> None:
    """Write results to standard output."""
    for result in results:
        _console(to_stderr=False).print(result, soft_wrap=isinstance(result, str))


def heading(title: str) -> None:
    """Write the title of a table to standard output."""
    _console(to_stderr=False).print(f"\n{title}", style="bold", soft_wrap=True)


def show_json(result: Mapping[str, Any]) -> None:
    """Write one JSON object to standard output."""
    _console(to_stderr=False).print_json(data=result, ensure_ascii=False)


@dataclass(frozen=True)
class Reporter:
    """Reports what a command is doing, unless it is to be quiet."""

    quiet: bool = False

    def note(self, message: str) -> None:
        """Write a note to standard error."""
        if not self.quiet:
            say(message, style="dim" if ":" in message else "")

    @contextmanager
    def progress(self, doing: str) -> Iterator[Callable[[int, int], None]]:
        """Show a progress bar on a terminal; yield the function that moves it, ``progress(done, total)``."""
        console = _console(to_stderr=True)
        if self.quiet or not console.is_interactive:
            yield lambda done, total: None
            return
        from rich import progress as rich_progress

        columns = (
            rich_progress.TextColumn("{task.description}"),
            rich_progress.BarColumn(),
            rich_progress.TaskProgressColumn(),
            rich_progress.TimeElapsedColumn(),
            rich_progress.TextColumn("[dim]elapsed,[/dim]", markup=True),
            rich_progress.TimeRemainingColumn(),
            rich_progress.TextColumn("[dim]left[/dim]", markup=True),
        )
        with rich_progress.Progress(*columns, console=console, transient=True) as bars:
            bar = bars.add_task(doing, total=None)
            before = 0

            def advance(done: int, total: int) -> None:
                nonlocal before
                if done < before:  # another pass begins: its speed has nothing to do with that of the last one
                    bars.reset(bar, description=doing, total=total)
                before = done
                bars.update(bar, completed=done, total=total)

            yield advance


def table(*columns: str) -> Table:
    """Return an empty table."""
    from rich import box
    from rich.table import Table

    return Table(*columns, box=box.SIMPLE_HEAD, header_style="dim")


def summary(rows: Mapping[str, str]) -> Table:
    """Return a table of two columns without lines."""
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
        cells = zip(found, styles, strict=True)
        rows.add_row(
            Text(word), *(Text.assemble((best.word, style), (f" {best.score:.2f}", "dim")) for best, style in cells)
        )
    return rows


def share(count: int, total: int) -> str:
    """Return a count as ``1,500 of 2,000 (75.0 %)``."""
    return f"{count:,} of {total:,} ({100 * count / total:.1f} %)"
