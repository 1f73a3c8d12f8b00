"""The progress of long work: its stages and steps, reported to a callback if there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

Progress = Callable[[int, int], object]
"""Called as ``progress(done, total)``. If it has a method ``stage``, it is told the name of each stage that begins."""

# A step that reports its own progress is divided into this many parts, so that all reports are whole numbers.
_FINE = 100
# Stages that take different shares of the whole are measured in so many steps.
_SHARES = 1000


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
        return _Part(self, before, count)

    def stage(self, name: str) -> None:
        """Tell ``progress`` the name of the stage that begins, if it shows stages."""
        tell = getattr(self._progress, "stage", None)
        if tell is not None:
            tell(name)

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


class _Part:
    """The progress of work that is some of the steps of other work."""

    def __init__(self, steps: Steps, before: int, count: int) -> None:
        self._steps, self._before, self._count = steps, before, count
        self.stage = steps.stage

    def __call__(self, done: int, total: int) -> None:
        self._steps._report(int((self._before + self._count * done / max(total, 1)) * _FINE))


def stages(progress: Progress | None, works: Mapping[str, float]) -> Iterator[Progress]:
    """Yield the progress of each of several named stages, whose shares of the whole are proportional to their work.

    Examples
    --------
    >>> class Told(list):
    ...     def __call__(self, done, total):
    ...         self.append(done / total)
    ...     stage = list.append
    >>> told = Told()
    >>> for part in stages(told, {"reading": 1.0, "searching": 3.0}):
    ...     part(1, 2)
    >>> told
    ['reading', 0.0, 0.125, 0.25, 'searching', 0.625, 1.0]
    """
    steps, whole, begun = Steps(progress, _SHARES), sum(works.values()), 0.0
    for name, work in works.items():
        steps.stage(name)
        steps(0)
        begun += work
        yield steps.part(round(_SHARES * begun / whole) - steps.done)
        steps(0)
    steps.finish()
