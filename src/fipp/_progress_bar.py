"""Progress as a person sees it, in a terminal or a notebook: what is being done, how much of it, and the time left."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from fipp._optional import require
from fipp._printable import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_BAR_WIDTH = 30
_REFRESHES_PER_SECOND = 4
# Work that takes so many seconds longer than expected is said to.
_TOLERANCE = 2.0


class Pace:
    """How long work will still take, from its speed since it was first reported.

    Examples
    --------
    >>> pace = Pace()
    >>> pace.report(0.0, now=100.0)
    >>> pace.report(0.25, now=110.0)
    >>> pace.left(now=110.0), pace.left(now=115.0)
    (30.0, 25.0)
    """

    def __init__(self) -> None:
        self.share: float | None = None
        self._first = self._last = (0.0, 0.0)

    def report(self, share: float, now: float) -> None:
        """Note which share of the work is done; a smaller one than before begins another pass with its own speed."""
        if self.share is None or share < self.share:
            self._first = share, now
        self.share, self._last = share, (share, now)

    def left(self, now: float) -> float | None:
        """Return the seconds left, less than 0 if work takes longer than its speed promised, None if none is known."""
        (begun, start), (done, reported) = self._first, self._last
        if done <= begun:
            return None
        return (reported - start) * (1 - done) / (done - begun) - (now - reported)


class ProgressBar:
    """Long work as a line that tells how far it is, in a terminal or a notebook.

    The line has the current stage, the share that is done, the time so far, and the time left, which is estimated from
    the speed so far. It disappears when the work is finished. Notebooks need ``pip install 'fipp[notebook]'``.

    Parameters
    ----------
    doing : str
        What is being done.
    console : rich.console.Console, optional
        Where it is shown; by default standard error, or the cell of a notebook.

    Examples
    --------
    >>> import fipp
    >>> demo = fipp.datasets.load_demo()
    >>> with fipp.ProgressBar("aligning") as progress:
    ...     alignment = fipp.align(demo.source, demo.target, demo.seed, "procrustes", progress=progress)
    """

    def __init__(self, doing: str, console: Console | None = None) -> None:
        self._doing = self._shown = printable(doing)
        self._console = console
        self._pace = Pace()
        self._live: Any = None

    def __enter__(self) -> ProgressBar:
        from rich.console import Console
        from rich.live import Live

        console = self._console or Console(stderr=True)
        if console.is_jupyter:
            require("ipywidgets", "progress in a notebook", extra="notebook")
        if console.is_jupyter or console.is_interactive:
            self._live = Live(self, console=console, refresh_per_second=_REFRESHES_PER_SECOND, transient=True)
        self._started = time.monotonic()
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` steps are done."""
        self._pace.report(done / max(total, 1), time.monotonic())

    def stage(self, name: str) -> None:
        """Show the name of the stage that begins."""
        self._shown = f"{self._doing}: {printable(name)}"

    def __rich__(self) -> RenderableType:
        """Return the line as it is now."""
        from rich.progress_bar import ProgressBar as Bar
        from rich.table import Table
        from rich.text import Text

        now, share = time.monotonic(), self._pace.share
        elapsed = Text(f"{_clock(now - self._started)} elapsed", style="dim")
        line = Table.grid(padding=(0, 1))
        if share is None:  # nothing is known but the time
            line.add_row(Text(self._shown), elapsed)
        else:
            bar = Bar(total=1.0, completed=share, width=_BAR_WIDTH)
            line.add_row(Text(self._shown), bar, f"{100 * share:.0f} %", elapsed, Text(self._left(now), style="dim"))
        return line

    def _left(self, now: float) -> str:
        left = self._pace.left(now)
        if left is None or self._pace.share == 1:
            return ""
        return f"about {_clock(max(left, 0))} left" if left > -_TOLERANCE else "longer than expected"


def _clock(seconds: float) -> str:
    """Return a time as people read it.

    Examples
    --------
    >>> _clock(75), _clock(3725)
    ('1:15', '1:02:05')
    """
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
