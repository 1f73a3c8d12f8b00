"""What all pictures share: colours, text as it is, and a figure that is written to a file or put into a page."""

from __future__ import annotations

import io
import logging
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fipp._optional import require
from fipp._printable import printable
from fipp.exceptions import FippError, warn
from fipp.io import atomic_path

# The light colours of _page.css, by the same names; `fipp.report._svg` puts the page's own in their place.
SOURCE, TARGET = "#1b63b5", "#c24a08"
PAPER, PANEL, INK, MUTED, LINE, RULE = "#ffffff", "#f5f7f9", "#20262d", "#5a646e", "#b9c0c8", "#dfe4e9"
DPI, FONT = 160, 9.5
PRINT_DPI = 300
FORMATS = ("png", "pdf", "svg")

# Fonts that have what matplotlib's own lacks; those that are installed are used for such characters.
_FURTHER_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR", "PingFang SC", "Hiragino Sans", "Microsoft YaHei",
    "WenQuanYi Zen Hei", "Droid Sans Fallback", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari",
    "Noto Sans Bengali", "Noto Sans Thai", "Arial Unicode MS",
)  # fmt: skip
_MISSING = re.compile(r"Glyph (\d+) .*missing from")
_SHOWN = 5
# Text stays text, and the same figure always has the same bytes.
_SETTINGS = {"text.usetex": False, "svg.fonttype": "none", "svg.hashsalt": "fipp", "pdf.fonttype": 42}
_NO_DATE = {"pdf": {"CreationDate": None, "Producer": None}, "svg": {"Date": None}}

# Words on a figure have an id that begins so: they have an outline in the colour of the panel.
LABEL = "label"
# What a zoomable page shows only when it is enlarged has this in its id, and is invisible elsewhere.
ENLARGED = "enlarged"
_OUTLINE = 2.0


def matplotlib(module: str) -> Any:
    """Return a module of matplotlib; if it is missing, the error says how to install it."""
    return require(f"matplotlib.{module}", "drawing", extra="plot")


def check_figures(path: str | os.PathLike[str] | None = None) -> None:
    """Raise the error that says what to install or how to name a file, before work whose result could not be drawn."""
    for module in ("figure", "backends.backend_agg"):
        matplotlib(module)
    if path is not None:
        _format_of(path)


def check_figure(name: str, figures: Collection[str]) -> None:
    """Refuse a figure that does not exist."""
    if name not in figures:
        raise FippError(f"there is no figure {name!r}; choose from {', '.join(figures)}")


def plain(text: str) -> str:
    """Return text that matplotlib draws as it is: words are not formulas, and a dollar sign stays a dollar sign."""
    return printable(text).replace("$", r"\$")


@contextmanager
def drawing(
    path: str | os.PathLike[str], size: tuple[float, float], *, dpi: int = DPI, **options: Any
) -> Iterator[Any]:
    """Yield a figure of this size in inches, and write it as PNG, PDF or SVG, as a whole or not at all.

    The end of the file name decides the format.
    """
    format = _format_of(path)
    with _settings(), _one_warning_of_glyphs():
        figure = _new_figure(size, options)
        yield figure
        _finish_labels(figure)
        # To memory first: on a full disk, matplotlib's PDF fails with an error that says nothing about the disk.
        written = io.BytesIO()
        figure.savefig(written, format=format, dpi=dpi, metadata=_NO_DATE.get(format))
        with atomic_path(path) as temporary:
            temporary.write_bytes(written.getvalue())


def svg_of(draw: Callable[[Any], None], size: tuple[float, float], **options: Any) -> str:
    """Return what a function draws on a figure of this size as SVG, for a page, which has fonts of its own."""
    with _settings(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", _MISSING.pattern)
        figure, written = _new_figure(size, options), io.StringIO()
        draw(figure)
        figure.patch.set_visible(False)
        figure.savefig(written, format="svg", metadata=_NO_DATE["svg"])
    return written.getvalue()


def _finish_labels(figure: Any) -> None:
    """Do for a file what the style sheet does in a page; outlines make paths of text, which pages do not want."""
    outline = matplotlib("patheffects").withStroke(linewidth=_OUTLINE, foreground=PANEL)
    for artist in figure.findobj(lambda artist: artist.get_gid()):
        kind = artist.get_gid().partition(":")[0]
        artist.set_gid(None)
        if kind.startswith(LABEL):
            artist.set(path_effects=[outline], visible=artist.get_visible() and ENLARGED not in kind)


def _format_of(path: str | os.PathLike[str]) -> str:
    format = Path(path).suffix.lower().removeprefix(".")
    if format not in FORMATS:
        raise FippError(f"{os.fspath(path)!r}: a figure is written as {', '.join(FORMATS)}: name the file x.png, say")
    return format


def _new_figure(size: tuple[float, float], options: dict[str, Any]) -> Any:
    """Return a figure without pyplot, whose figures and backend belong to the user."""
    figure = matplotlib("figure").Figure(figsize=size, dpi=DPI, facecolor=PAPER, **options)
    matplotlib("backends.backend_agg").FigureCanvasAgg(figure)
    return figure


@contextmanager
def _settings() -> Iterator[None]:
    """Draw with our settings; never TeX, which would run the words. Fonts that have no normal weight are no news."""
    manager, logger = matplotlib("font_manager").fontManager, logging.getLogger("matplotlib.font_manager")
    families = list(require("matplotlib", "drawing", extra="plot").rcParams["font.family"])
    families += sorted(set(_FURTHER_FONTS) & set(manager.get_font_names()), key=_FURTHER_FONTS.index)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with matplotlib("style").context({**_SETTINGS, "font.family": families}):
            yield
    finally:
        logger.setLevel(level)


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
