"""Pages in one file: text that cannot do harm, colours that figures and pages share, figures that can be enlarged."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from fipp.report import PairMap, _canvas, document, draw_map, joined, layout, style_sheet, table, tag, word
from fipp.report._map import first_zooms
from fipp.report._page import figure
from fipp.report._svg import drawn

HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='x'>",
    "&amp;",
    "\x1b[2J\u202eevil",
    "]]>",
    "שלום",
    "漢字",
    "$x$",
]


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = [], []

    def handle_starttag(self, name, attributes):
        self.tags.append((name, dict(attributes)))

    def handle_data(self, data):
        self.text.append(data)

    def words(self):
        """Return all text, with ordinary spaces."""
        return " ".join(" ".join(self.text).split())


def read_page(path):
    page = Tags()
    page.feed(path.read_text(encoding="utf-8"))
    return page, page.words()


def make_map(words, n=30):
    rng = np.random.default_rng(0)
    words = [words[place % len(words)] for place in range(n)]
    places = rng.standard_normal((n, 2))
    return PairMap(words, words[::-1], places, places + 0.1, np.arange(n) % 3)


def draw(pairs):
    return drawn(
        lambda canvas, narrow: draw_map(canvas, pairs, ("here", "there")),
        lambda narrow: (3 + 3 * (not narrow), 4),
        "Map",
    )


def map_page(words, n=30):
    pairs = make_map(words, n)
    drawing = draw(pairs)
    return document("Map", tag("h1", "Map"), [("Map", figure(drawing, "A map", zoomable=True))], drawings=[drawing])


@pytest.mark.parametrize("text", HOSTILE)
def test_text_from_anywhere_is_shown_and_never_runs(text):
    shown = Tags()
    shown.feed(tag("p", text, title=text) + table(["a", text], [[word(text), text]], label=text))
    assert {name for name, _ in shown.tags} <= {
        "p",
        "div",
        "table",
        "caption",
        "span",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "bdi",
    }
    assert not any(name.startswith("on") for _, attributes in shown.tags for name in attributes)
    assert not set("\x1b\u202e") & set("".join(shown.text))


def test_only_html_is_taken_as_html():
    assert joined("<b>", tag("i", "<u>")) == "&lt;b&gt;<i>&lt;u&gt;</i>"
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'


def test_a_page_with_hostile_words_has_only_its_own_script_and_no_style_of_an_element():
    page = Tags()
    page.feed(map_page(HOSTILE))
    names = [name for name, _ in page.tags]
    assert names.count("script") == 1 and names.count("style") == 1 and "img" not in names
    assert not any("style" in attributes for _, attributes in page.tags)
    (policy,) = (found["content"] for name, found in page.tags if found.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    addresses = [attributes.get("href") or attributes.get("src") or "#" for _, attributes in page.tags]
    assert all(address.startswith("#") for address in addresses)


def test_ids_of_a_page_are_unique_and_its_links_lead_to_them():
    page = Tags()
    page.feed(map_page(["a", "b"]))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {found["href"][1:] for _, found in page.tags if "href" in found} <= set(ids)


def test_figures_have_the_colours_of_the_page():
    light = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", style_sheet().partition("@media")[0]))
    for name in ("source", "target", "paper", "panel", "ink", "muted", "line", "rule"):
        assert light[name] == getattr(_canvas, name.upper())
    drawing = draw(make_map(["a"]))
    assert any("var(--source)" in rule for rule in drawing.rules)
    assert not any(re.search("#[0-9a-f]{6}", rule) for rule in drawing.rules)


def test_the_same_map_gives_the_same_bytes():
    vectors = np.random.default_rng(0).standard_normal((40, 8))
    np.testing.assert_array_equal(layout(vectors), layout(vectors))
    assert map_page(HOSTILE) == map_page(HOSTILE)


def test_words_of_a_map_are_cut_or_turned_rather_than_reach_beyond_its_edge():
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    pairs = make_map(["an unusually long word of a compound kind", "достопримечательности", "a"], 60)
    for width in (3.1, 6.8):
        canvas = Figure(figsize=(width, 4.4), dpi=_canvas.DPI)
        FigureCanvasAgg(canvas)
        draw_map(canvas, pairs, ("here", "there"))
        ends = [text.get_window_extent().x1 for text in canvas.axes[0].texts if text.get_gid()]
        assert len(ends) == 120 and max(ends) <= canvas.bbox.width


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_few_words_have_places_too(n):
    assert np.isfinite(layout(np.random.default_rng(0).standard_normal((n, 3)))).all()


def test_labels_that_are_shown_cover_no_other_at_any_magnification():
    rng = np.random.default_rng(0)
    points, sizes = rng.uniform(0, 400, (60, 2)), np.column_stack([rng.uniform(20, 60, 60), np.full(60, 10.0)])
    zooms = np.array(first_zooms(points, sizes, 4.0))
    assert (zooms == 1).sum() > 20 and zooms.max() > 1
    for zoom in (1, 2, 4, 8):
        (shown,) = np.nonzero(zooms <= zoom)
        low = points[shown] * zoom + [4, 0]
        high = low + sizes[shown]
        apart = (low[:, None] >= high[None]).any(axis=2) | (high[:, None] <= low[None]).any(axis=2)
        assert (apart | np.eye(len(shown), dtype=bool)).all()
