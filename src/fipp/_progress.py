"""The progress of long work, reported to a callback if there is one."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], object]
"""Called as ``progress(done, total)``."""

# A step that reports its own progress is divided into this many parts, so that all reports are whole numbers.
_FINE = 100


class Steps:
    """Counts the steps of long work and reports them to ``progress``, which may be None.

    Examples
    --------
    >>> reports = []
    >>> steps = Steps(lambda done, total: reports.append(done / total), 4)
    >>> steps()
    >>> steps(2)
    >>> inner = steps.part()  # the progress of something that is the fourth step
    >>> inner(1, 2)
    >>> inner(2, 2)
    >>> reports
    [0.25, 0.75, 0.875, 1.0]
    """

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self.total = progress, total
        self.done = 0
        self._reported = -1

    def __call__(self, count: int = 1) -> None:
        """Report that ``count`` more steps are done; 0 reports that work has begun."""
        self.done += count
        self._report(self.done * _FINE)

    def part(self, count: int = 1) -> Progress:
        """Return the progress of work that takes the next ``count`` steps."""
        before, self.done = self.done, self.done + count
        return lambda done, total: self._report(int((before + count * done / max(total, 1)) * _FINE))

    def finish(self) -> None:
        """Report that everything is done."""
        self.done = self.total
        self._report(self.total * _FINE)

    def _report(self, reached: int) -> None:
        # Work may pass over its items several times; what is done stays done.
        if self._progress is not None and reached > self._reported:
            self._reported = reached
            if reached % _FINE:
                self._progress(reached, self.total * _FINE)
            else:
                self._progress(reached // _FINE, self.total)
