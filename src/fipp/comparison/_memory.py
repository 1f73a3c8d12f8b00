"""How much memory a piece of work took at its peak, beside what the process held before."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")


class PeakMemory:
    """Measures from when it is made.

    Linux tells the peak of this process alone and lets it be set back; ``getrusage`` does neither there: a new
    process begins with the peak of the one that started it. Elsewhere ``getrusage`` is what there is.

    Examples
    --------
    >>> peak = PeakMemory()
    >>> block = bytearray(20_000_000)
    >>> grown = peak.growth()
    >>> grown is None or grown >= 0
    True
    """

    def __init__(self) -> None:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # set the peak back to what is held now
        self._before = _peak()

    def growth(self) -> int | None:
        """Return the bytes by which the peak has grown, None where the system does not tell."""
        now = _peak()
        return None if now is None or self._before is None else max(0, now - self._before)


def _peak() -> int | None:
    with suppress(OSError):
        found = re.search(r"VmHWM:\s*(\d+) kB", _STATUS.read_text())
        if found:
            return 1024 * int(found[1])
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
