"""What all pictures share: colours, text as it is, and a figure that is written as PNG. They need matplotlib."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fipp._optional import require
from fipp._printable import printable
from fipp.exceptions import warn
from fipp.io import atomic_path

SOURCE, TARGET, LINE, INK, MUTED = "#1b63b5", "#d1500a", "#b9c0c8", "#20262d", "#66707a"
DPI, FONT = 160, 9.5

_MISSING = re.compile(r"Glyph (\d+) .*missing from")
_SHOWN = 5


def matplotlib(module: str) -> Any:
    """Return a module of matplotlib; if it is missing, the error says how to install it."""
    return require(f"matplotlib.{module}", "drawing", extra="plot")


def check_figures() -> None:
    """Raise the error that says what to install, before work whose result could not be drawn."""
    for module in ("figure", "backends.backend_agg"):
        matplotlib(module)


def plain(text: str) -> str:
    """Return text that matplotlib draws as it is: words are not formulas, and a dollar sign stays a dollar sign."""
    return printable(text).replace("$", r"\$")


@contextmanager
def drawing(path: str | os.PathLike[str], size: tuple[float, float], **options: Any) -> Iterator[Any]:
    """Yield a figure of this size in inches, and write it as PNG, as a whole or not at all.

    It does not use pyplot, whose figures and backend belong to the user, and never TeX, which would run the words.
    """
    with matplotlib("style").context({"text.usetex": False}), _one_warning_of_glyphs():
        figure = matplotlib("figure").Figure(figsize=size, dpi=DPI, facecolor="white", **options)
        matplotlib("backends.backend_agg").FigureCanvasAgg(figure)
        yield figure
        with atomic_path(path) as temporary:
            figure.savefig(temporary, format="png", dpi=DPI)


@contextmanager
def _one_warning_of_glyphs() -> Iterator[None]:
    """Warn once of characters that the font lacks; matplotlib would warn of each of them, several times."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", _MISSING.pattern)
        yield
    missing: dict[str, None] = {}
    for each in caught:
        if found := _MISSING.match(str(each.message)):
            missing[chr(int(found[1]))] = None
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    if missing:
        shown = " ".join(list(missing)[:_SHOWN]) + (" …" if len(missing) > _SHOWN else "")
        warn(
            f"the font has no {shown} and shows boxes instead; name fonts that have them in matplotlib's setting "
            "font.family, such as font.family: DejaVu Sans, Noto Sans CJK JP in a file matplotlibrc"
        )
