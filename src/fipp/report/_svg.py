"""Drawings of matplotlib as parts of a page: the page's colours and fonts, classes for styles, ids of their own."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple
from xml.etree import ElementTree

from fipp._printable import printable
from fipp.report import _canvas
from fipp.report._canvas import svg_of

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_COLOURS = {
    getattr(_canvas, name): f"var(--{name.lower()})"
    for name in ("SOURCE", "TARGET", "PAPER", "PANEL", "INK", "MUTED", "LINE", "RULE")
} | {"#000000": "var(--ink)"}
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_FONT = re.compile(r"(?:font: *(?:(?P<weight>bold|[5-9]00) +)?(?P<size>[\d.]+px)[^;]*|font-family:[^;]*)")
# An id of the form "class:x:y:note" gives an element a class, the place around which it is scaled, and a title.
_MARK = ":"


class Drawing(NamedTuple):
    """A drawing as SVG for screens and for phones, the rules of its style sheet, and what it shows, in words."""

    wide: str
    narrow: str
    rules: frozenset[str]
    label: str


def drawn(
    draw: Callable[[Any, bool], None], size: Callable[[bool], tuple[float, float]], label: str, **options: Any
) -> Drawing:
    """Return what a function draws as a part of a page: once for screens, and once in a narrow form for phones.

    An artist whose id is "class:x:y", in points from the top left corner, keeps its size when the page is zoomed. What
    follows a further colon is shown when a pointer rests on it.
    """
    rules: set[str] = set()
    wide, narrow = (_drawn(draw, size(narrow), label, narrow, rules, options) for narrow in (False, True))
    return Drawing(wide, narrow, frozenset(rules), label)


def _drawn(
    draw: Callable[[Any, bool], None],
    size: tuple[float, float],
    label: str,
    narrow: bool,
    rules: set[str],
    options: dict[str, Any],
) -> str:
    root = ElementTree.fromstring(svg_of(lambda figure: draw(figure, narrow), size, **options))
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    # Two drawings of a page must not have ids in common.
    prefix = f"d{sha256(f'{narrow}{label}'.encode()).hexdigest()[:6]}-"
    for element in root.iter():
        _restyle(element, rules)
        _rename(element, prefix)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", label)
    return _written(root)


def mark(name: str, x: float, y: float, note: str = "") -> str:
    """Return the id of an artist that has this class, is scaled around this place, and is explained by a note."""
    return _MARK.join((name, f"{x:.2f}", f"{y:.2f}", printable(note)))


def _restyle(element: ElementTree.Element, rules: set[str]) -> None:
    """Replace a style, which the page's security policy forbids, by a class."""
    style = element.attrib.pop("style", None)
    if style is None:
        return
    style = _FONT.sub(_size_only, style)
    style = _COLOUR.sub(lambda found: _COLOURS.get(found[0].lower(), found[0]), style)
    style = "; ".join(sorted(part.strip() for part in style.split(";") if part.strip()))
    name = f"s{sha256(style.encode()).hexdigest()[:8]}"
    rules.add(f".{name} {{ {style}; }}\n")
    element.set("class", name)


def _size_only(found: re.Match[str]) -> str:
    weight = f"; font-weight: {found['weight']}" if found["weight"] else ""
    return f"font-size: {found['size']}{weight}" if found["size"] else ""


def _rename(element: ElementTree.Element, prefix: str) -> None:
    for name, value in list(element.attrib.items()):
        if name == "id" and _MARK in value:
            kind, x, y, note = value.split(_MARK, 3)
            del element.attrib["id"]
            element.set("class", f"{element.get('class', '')} {kind}".strip())
            element.set("data-at", f"{x} {y}")
            if note:
                title = ElementTree.Element(f"{{{_SVG}}}title")
                title.text = note
                element.insert(0, title)
        elif name == "id":
            element.set("id", prefix + value)
        elif name == f"{{{_XLINK}}}href":
            del element.attrib[name]
            element.set("href", value.replace("#", f"#{prefix}"))
        elif value.startswith("url(#"):
            element.set(name, value.replace("#", f"#{prefix}"))


def _written(root: ElementTree.Element) -> str:
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode").replace(f' xmlns="{_SVG}"', "")
