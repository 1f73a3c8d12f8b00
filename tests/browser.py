"""A real browser for tests of pages: Debian's Chromium, driven by Playwright."""

import shutil
from contextlib import contextmanager

import pytest

WIDTHS = (360, 768, 1440)
SCHEMES = ("light", "dark")
_QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip


@contextmanager
def chromium():
    """Yield a browser; the test is skipped with a reason if there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=list(_QUIET))
        yield browser
        browser.close()


def serious_findings(page):
    """Return the rules of axe-core that a page breaks seriously, with the elements that do."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    # What is inside of a drawing is an image to axe, and takes it most of its time.
    found = axe.Axe().run(page, context={"exclude": [["svg > *"]]}).response["violations"]
    return {
        each["id"]: [node["html"][:200] for node in each["nodes"]]
        for each in found
        if each["impact"] in ("serious", "critical")
    }


def looks(page):
    """Show a page at every width, in light and in dark, and yield after each change."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            yield width, scheme


def scrolls_sideways(page):
    """Return whether the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
