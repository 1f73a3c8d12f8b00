"""Pages in a real browser."""

import pytest
from test_report_alignment import small_space
from test_report_page import map_page
from test_report_probe import sample_of

import fipp
from browser import WIDTHS, looks, scrolls_sideways, serious_findings


@pytest.fixture(scope="module")
def map_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "map.html"
    path.write_text(map_page(["house", "שלום", "漢字", "<b>"], 60), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def report_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    source, target, seed, test = small_space(hostile=True)
    fipp.report.write_report(fipp.align(source, target, seed, "fipp"), path, test, names=("English", "עברית"))
    return path.as_uri()


@pytest.fixture(scope="module")
def probe_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "probe.html"
    fipp.report.write_probe_report(fipp.migrate.probe(sample_of(queries=True), size=5000), path)
    return path.as_uri()


@pytest.fixture
def open_page(browser):
    """Open a page and collect what the browser complains about, such as a style or a script that was refused."""
    opened = []

    def opening(address, *, width=1280, **options):
        page = browser.new_page(viewport={"width": width, "height": 800}, **options)
        page.complaints = []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("request", lambda request: request.url == address or page.complaints.append(request.url))
        page.goto(address)
        opened.append(page)
        return page

    yield opening
    for page in opened:
        assert page.complaints == []
        page.close()


def test_a_map_is_enlarged_by_buttons_keys_and_wheel_and_words_keep_their_size(open_page, map_file):
    page = open_page(map_file)
    svg, shown = page.locator(".wide svg"), page.locator(".wide svg .label:visible")
    whole, few = svg.get_attribute("viewBox"), shown.count()
    height = page.locator(".wide svg .label.z1").first.bounding_box()["height"]
    page.get_by_role("button", name="Zoom in").click()
    assert float(svg.get_attribute("viewBox").split()[2]) == pytest.approx(float(whole.split()[2]) / 2)
    assert page.locator(".wide svg .label.z1").first.bounding_box()["height"] == pytest.approx(height, rel=0.02)
    assert shown.count() > few
    svg.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("-")
    page.keyboard.press("0")
    assert svg.get_attribute("viewBox").replace(",", " ").split() == whole.split()
    page.keyboard.down("Control")
    svg.hover()
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    assert float(svg.get_attribute("viewBox").split()[2]) < float(whole.split()[2])


def test_without_scripts_the_map_is_there(open_page, map_file):
    page = open_page(map_file, java_script_enabled=False)
    assert page.locator("svg .label.z1:visible").count() > 5 and page.get_by_role("button").count() == 0


@pytest.mark.parametrize("name", ["map_file", "report_file", "probe_file"])
def test_a_page_can_be_read_and_reached_at_every_width_in_both_colour_schemes(open_page, request, name):
    page = open_page(request.getfixturevalue(name))
    for width, scheme in looks(page):
        assert not scrolls_sideways(page)
        assert page.locator(".wide").first.is_visible() == (width > 600) != page.locator(".narrow").first.is_visible()
        if (width, scheme) in ((WIDTHS[0], "dark"), (WIDTHS[-1], "light")):
            assert serious_findings(page) == {}


def test_a_report_without_scripts_has_all_its_figures_and_tables(open_page, report_file):
    page = open_page(report_file, java_script_enabled=False)
    assert page.locator("figure svg:visible").count() == 7 and page.locator("table").count() >= 10
    assert page.locator("svg .label.z1:visible").count() > 20


def test_a_report_has_contents_that_lead_to_its_parts_and_can_be_printed(open_page, report_file):
    page = open_page(report_file, color_scheme="dark", width=360)
    page.get_by_role("link", name="Hubs").click()
    assert page.get_by_role("heading", name="Hubs").is_visible() and page.url.endswith("#hubs")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.get_by_role("navigation").is_visible() and page.locator(".tools:visible").count() == 0
    assert page.locator("figure svg:visible").count() == 7
    assert page.pdf().startswith(b"%PDF")


def test_on_a_phone_the_buttons_of_a_map_cover_nothing(open_page, map_file):
    page = open_page(map_file, width=360)
    tools, svg = (page.locator(f".narrow {each}").bounding_box() for each in (".tools", "svg"))
    assert tools["y"] + tools["height"] <= svg["y"]


def test_the_words_of_a_point_are_told_when_the_pointer_rests_on_it(open_page, map_file):
    page = open_page(map_file)
    assert page.locator(".wide .point title").first.text_content() == "house – <b>: found at rank 0"
