"""Pages in one file: HTML in which text from anywhere is harmless, tables, figures, and a strict security policy."""

from __future__ import annotations

import html
import os
import platform
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from hashlib import sha256
from importlib import resources
from importlib.metadata import version
from typing import Any

from fipp._printable import printable
from fipp._version import __version__
from fipp.io import atomic_path
from fipp.report._svg import Drawing

_PACKAGES = ("numpy", "scipy", "scikit-learn")
_CHECKSUM = re.compile(r"\b([0-9a-f]{64})\b")
_NO_BREAK = "\u00a0"
_EMPTY_TAGS = frozenset({"meta", "br"})


class Html(str):
    """Text that is HTML already; any other text is escaped when it becomes part of a page."""

    __slots__ = ()


def tag(name: str, /, *children: str, **attributes: str | bool) -> Html:
    """Return an element. Children that are not `Html` are escaped; ``class_`` is the attribute ``class``.

    An attribute that is True has no value, and one that is False is left out.

    Examples
    --------
    >>> tag("p", "1 < 2 ", tag("b", "really"), class_="note", hidden=False)
    '<p class="note">1 &lt; 2 <b>really</b></p>'
    """
    named = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not False}
    shown = "".join(f" {key}" if value is True else f' {key}="{_escaped(str(value))}"' for key, value in named.items())
    if name in _EMPTY_TAGS:
        return Html(f"<{name}{shown}>")
    return Html(f"<{name}{shown}>{joined(*children)}</{name}>")


def joined(*parts: str) -> Html:
    """Return parts one after the other; those that are not `Html` are escaped."""
    return Html("".join(part if isinstance(part, Html) else _escaped(part) for part in parts))


def _escaped(text: str) -> str:
    return html.escape(printable(text))


def word(text: str, side: str | None = None) -> Html:
    """Return a word in any script, which changes the direction of nothing around it, in the colour of its side."""
    return tag("bdi", text, class_=side or False)


def pair(source: str, target: str) -> Html:
    """Return two words of a pair."""
    return joined(word(source, "source"), " – ", word(target, "target"))


def with_interval(shown: Callable[[float], str], value: float, low: float, high: float) -> Html:
    """Return a figure with its interval, smaller, below it; the unit is not repeated."""
    return joined(shown(value), " ", tag("small", f"{shown(low).partition(_NO_BREAK)[0]} to {shown(high)}"))


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, label: str, best: Iterable[int] = (), text: int = 1
) -> Html:
    """Return a table. The first ``text`` columns hold text, the others numbers; rows that are ``best`` are bold.

    A table that is wider than the page can be moved sideways, also by the keyboard.
    """
    kinds = [False if place < text else "number" for place in range(len(head))]
    marked = set(best)
    header = tag("tr", *(tag("th", cell, scope="col", class_=kind) for cell, kind in zip(head, kinds, strict=True)))
    body = (
        tag("tr", *map(_cell, row, kinds), class_="best" if number in marked else False)
        for number, row in enumerate(rows)
    )
    shown = tag("table", _caption(label), tag("thead", header), tag("tbody", *body))
    return tag("div", shown, class_="scroll", tabindex="0", role="region", aria_label=label)


def _caption(label: str) -> Html:
    return tag("caption", tag("span", label))


def _cell(content: str, kind: str | bool) -> Html:
    return tag("td", content, class_=kind)


def summary(rows: Iterable[tuple[str, str]], *, label: str) -> Html:
    """Return a table of names and values."""
    body = (tag("tr", tag("th", name, scope="row"), tag("td", checksums(value), class_="long")) for name, value in rows)
    return tag("table", _caption(label), tag("tbody", *body), class_="summary")


def checksums(text: str) -> Html:
    """Return text in which checksums are set in small type, on a line of their own; HTML stays as it is."""
    if isinstance(text, Html):
        return text
    return joined(*(tag("code", part) if _CHECKSUM.fullmatch(part) else part for part in _CHECKSUM.split(text)))


def terms(rows: Iterable[tuple[str, str]], *, label: str) -> Html:
    """Return short names and values in as many columns as there is room for."""
    shown = (tag("div", tag("dt", name), tag("dd", value)) for name, value in rows)
    return joined(tag("h3", label), tag("dl", *shown, class_="terms"))


def tiles(figures: Iterable[tuple[str, str, str]]) -> Html:
    """Return large figures: a name, the figure, and a remark for each."""
    shown = (tag("div", tag("dt", name), tag("dd", value, tag("small", note)), class_="tile")
             for name, value, note in figures)  # fmt: skip
    return tag("dl", *shown, class_="tiles")


def figure(drawing: Drawing, caption: str, *, zoomable: bool = False) -> Html:
    """Return a drawing with its caption; the style sheet shows the form that the page has room for."""
    forms = (
        tag("div", Html(svg), class_=f"drawing {form}")
        for form, svg in (("wide", drawing.wide), ("narrow", drawing.narrow))
    )
    return tag("figure", *forms, tag("figcaption", caption), class_="zoomable" if zoomable else False)


def section(title: str, *content: str) -> Html:
    """Return a part of a page, to which the contents lead."""
    name = _anchor(title)
    return tag("section", tag("h2", title, id=name), *content, aria_labelledby=name)


def contents(titles: Iterable[str]) -> Html:
    """Return links to the sections."""
    links = (tag("a", title, href=f"#{_anchor(title)}") for title in titles)
    return tag("nav", *(joined(link, " ") for link in links), class_="contents", aria_label="Contents")


def _anchor(title: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else " " for letter in title.lower()).split())


@cache
def style_sheet() -> str:
    """Return the style sheet of all pages."""
    return _beside("_page.css")


@cache
def zoom_script() -> str:
    """Return the script that makes figures zoomable."""
    return _beside("_page.js")


def _beside(name: str) -> str:
    return resources.files("fipp.report").joinpath(name).read_text(encoding="utf-8")


def document(title: str, header: str, sections: Sequence[tuple[str, Html]], *, drawings: Iterable[Drawing] = ()) -> str:
    """Return a whole page. Nothing in it can load anything, and no script or style but its own works."""
    style = style_sheet() + "".join(sorted({rule for drawing in drawings for rule in drawing.rules}))
    script = zoom_script()
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="generator", content=f"fipp {__version__}"),
        tag("title", title),
        tag("style", Html(style)),
    )
    body = tag(
        "body",
        tag("header", Html(header), contents(name for name, _ in sections), class_="page"),
        tag("main", *(section(name, content) for name, content in sections)),
        tag("footer", f"Written by fipp {__version__}. This page is one file and loads nothing.", class_="page"),
        tag("script", Html(script)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def save_page(page: str, path: str | os.PathLike[str]) -> None:
    """Write a page, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")


def versions() -> str:
    """Return the versions of everything that decides the numbers."""
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return f"fipp {__version__}, Python {platform.python_version()}, {packages}"


def percent(share: float, digits: int = 0) -> str:
    """Return a share in per cent, which no line break divides."""
    return f"{100 * share:.{digits}f}{_NO_BREAK}%"


def rounded(value: Any, digits: int = 3) -> str:
    """Return a number with a proper minus sign, and a dash if there is none."""
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")
