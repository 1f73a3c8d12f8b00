"""What goes where: results to standard output; notes, warnings, errors and progress to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Progress = Callable[[int, int], None]

# A table in a file or a pipe is as wide as it needs: 80 columns would break its cells.
_WIDTH_WITHOUT_TERMINAL = 200

written: list[Path] = []
"""Files that this run has written, for whoever interrupts it."""


@cache
def _console(to_stderr: bool) -> Console:
    from rich.console import Console

    stream = sys.stderr if to_stderr else sys.stdout
    fixed = not stream.isatty() and "COLUMNS" not in os.environ
    # Words are shown as they are: "[b]" is no markup and ":cat:" no emoji.
    return Console(
        stderr=to_stderr,
        width=_WIDTH_WITHOUT_TERMINAL if fixed else None,
        markup=False,
        emoji=False,
        highlight=False,
    )


def say(message: str, style: str = "") -> None:
    """Write a line to standard error, whatever its length; ``style`` is for what stands before the first colon."""
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
    """Write a line above a table to standard output."""
    _console(to_stderr=False).print(f"\n{title}", style="bold", soft_wrap=True)


def show_json(result: dict[str, Any]) -> None:
    """Write one JSON object to standard output."""
    _console(to_stderr=False).print_json(data=result, ensure_ascii=False)


@dataclass(frozen=True)
class Reporter:
    """Tells what a command is doing, unless it is to be quiet."""

    quiet: bool = False

    def note(self, message: str) -> None:
        """Write a remark to standard error."""
        if not self.quiet:
            say(message, style="dim" if ":" in message else "")

    @contextmanager
    def progress(self, doing: str) -> Iterator[Progress]:
        """Return a function to call as ``progress(done, total)``; until then the bar only shows that work goes on."""
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
            rich_progress.TextColumn("[dim]left[/dim]", markup=True),
            rich_progress.TimeRemainingColumn(),
        )
        with rich_progress.Progress(*columns, console=console, transient=True) as bars:
            bar = bars.add_task(doing, total=None)
            before = 0

            def advance(done: int, total: int) -> None:
                nonlocal before
                if done < before:  # the next of several passes: its speed has nothing to do with the last one's
                    bars.reset(bar, description=doing, total=total)
                before = done
                bars.update(bar, completed=done, total=total)

            yield advance
